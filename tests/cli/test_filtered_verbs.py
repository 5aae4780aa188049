#!/usr/bin/env python3
"""A verb with a filter that leaves out nothing says what it says without one, for traces of the
vectors, so what a filter keeps is whole: values, times, losses, threads, files, paths, blocks; and
with --below what `report` says by its own means. What cannot be filtered is refused in words."""
import csv
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

COMMAND, SOURCE = os.environ["TTAPE_BIN"], Path(os.environ["TTAPE_SRC"])
THOROUGH = os.environ.get("TTAPE_THOROUGH") == "1"
WORK = Path(tempfile.mkdtemp())
VERBS = (("dump", "--format", "csv"), ("report", "--json", "--exact"), ("tree", "--json", "--full"),
         ("slow", "--json", "--limit", "40"), ("graph", "--json", "--all"), ("syscalls", "--json"),
         ("lines", "--json"), ("export", "--format", "folded"))
# Of the file's inside: which parts were read, where events stand in it.
INSIDE = {"decoded_partitions", "decoded_for_enters", "partitions", "id", "event", "end_event",
          "partition", "pruned", "enters_decoded", "exact", "part_count", "file", "node",
          "decoded", "depth"}
# Of frames over several partitions the tree does not look for all of these.
SOUGHT = {"arguments", "results"}


def run(*arguments):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL, timeout=60)
    return done.returncode, done.stdout, done.stderr


def plain(value, left):
    if isinstance(value, dict):
        return {key: plain(each, left) for key, each in value.items()
                if key not in left and key.split("_")[0] + "s" not in left}
    return [plain(each, left) for each in value] if isinstance(value, list) else value


def said(verb, path, *options):
    status, out, errors = run(*verb, path, *options)
    if "--json" in verb and out:
        left = INSIDE | SOUGHT if verb[0] == "tree" else INSIDE
        return status, plain(json.loads(out), left), errors
    if verb[0] == "dump": # depths are of what is left, not as some recorder has told them
        rows = csv.DictReader(io.StringIO(out))
        return status, [{**row, "depth": ""} for row in rows], errors
    return status, out, errors


def check_same(path):
    for verb in VERBS:
        one, other = said(verb, path), said(verb, path, "--filter", "*")
        if "nothing that was called matches" in other[2]:
            continue # no functions at all
        if one[:2] != other[:2]:
            print(f"{path} {verb}:\n{one}\n{other}")
            sys.exit(1)


def vectors():
    """Those that are sound, and small."""
    for path in sorted((SOURCE / "spec/vectors").glob("*.ttape")):
        if run("verify", path)[0] == 0:
            yield path


def check_refusals():
    text = WORK / "t.txt"
    text.write_text("1 1 enter main 5\n9 1 exit - -1\n")
    trace = WORK / "t.ttape"
    run("convert", text, "-o", trace)
    for filters, status, words in (
            (("f(n>",), 2, "filter 'f(n>': a value is missing"),
            (("main", "a b"), 2, "filter 'a b': this belongs to no rule"),
            (("/(/",), 2, "cannot use '(' as a regular expression"),
            (("x",), 4, "nothing that was called matches '^x$'"),
            (("main(n=5)",), 0, "does not have the values that the filter asks for"),
            (("!x",), 0, ""), (("main(arg1=5) = -1",), 0, "")):
        options = [word for each in filters for word in ("--filter", each)]
        got = run("report", trace, *options)
        assert got[0] == status and words in got[2] and (words or not got[2]), (filters, got)
    for verb, options in (("dump", ("--follow",)), ("syscalls", ("--interval", "1s"))):
        got = run(verb, trace, "--filter", "main", *options)
        assert got[0] == 2 and "--filter" in got[2], got


def check_diff():
    """Two runs with a filter differ as two traces do that have what it leaves."""
    def make(name, times, kept):
        lines, now = [], 0
        for step in range(40):
            for call in ("a", "b", "c"):
                took = times[call] + step % 3
                if call in kept:
                    lines += [f"{now} 1 enter {call} {step}", f"{now + took} 1 exit"]
                now += took + 1
        text = WORK / f"{name}.txt"
        text.write_text("\n".join(lines) + "\n")
        assert run("convert", text, "--force", "-o", WORK / name)[0] == 0
        return WORK / name
    before, after = {"a": 1000, "b": 5000, "c": 300}, {"a": 3000, "b": 5000, "c": 600}
    whole = [make(f"all-{i}.ttape", times, "abc") for i, times in enumerate((before, after))]
    for text, kept in (("a, b", "ab"), ("!a", "bc"), ("c(arg1>=0)", "c")):
        part = [make(f"some-{i}.ttape", times, kept) for i, times in enumerate((before, after))]
        for options in (("--json", "--all"), ("--first",)):
            one, other = (run("diff", *traces, *options, *words)
                          for traces, words in ((whole, ("--filter", text)), (part, ())))
            said = [each[1].replace("all-", "").replace("some-", "") for each in (one, other)]
            assert one[0] == other[0] and comparable(said[0]) == comparable(said[1]), (text, said)
    got = run("diff", *whole, "--filter", "nothing")
    assert got[0] == 4 and "nothing that was called matches" in got[2], got


def comparable(text):
    return plain(json.loads(text), INSIDE) if text.startswith("{") else text


def main():
    checked = 0
    for path in vectors():
        if THOROUGH or checked % 16 == 0:
            check_same(path)
        checked += 1
    check_refusals()
    check_diff()
    print(f"filtered verbs: ok, {checked} traces")


main()
