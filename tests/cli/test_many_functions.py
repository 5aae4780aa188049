#!/usr/bin/env python3
"""W25: more different functions than fit into the memory that a verb may take by default. It reads
them with --memory; without, each that cannot says so, in less than that. `test_many_functions.py
[COUNT]`; the slow form has ten million."""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import bounded

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 60_000 if bounded.SANITIZED else 300_000
VERBS = [["info"], ["verify"], ["dump", "--limit", "2"], ["tree"], ["report", "--limit", "2"],
         ["report", "--exact", "--limit", "2"], ["graph"], ["diff", "{}", "--limit", "2"],
         ["cut", "--events", "2..", "-o", "{out}"], ["merge", "-o", "{out}"],
         ["recover", "-o", "{out}"], ["symbolize", "-o", "{out}"],
         ["export", "--format", "callgrind"], ["export", "--format", "folded"]]
WRITING = ("cut", "merge", "recover", "symbolize")  # the bound is of what they read
ALWAYS = {"info", "verify", "dump", "tree", "recover"}  # that many are read by default
# Verbs that refuse are given more: in the gate those whose answer is read, and one that writes.
FREELY = {verb[0] for verb in VERBS} if os.environ.get("TTAPE_THOROUGH") == "1" else \
    {"report", "info", "cut"}
HINT = b"--memory allows more"
LIMIT = "16G" if COUNT > 1_000_000 else "2G"


def convert(path, count, call_of):
    with subprocess.Popen([bounded.TOOL, "convert", "-", "-o", path], stdin=subprocess.PIPE,
                          text=True) as process:
        for start in range(0, count, 10_000):
            process.stdin.write("".join("{0} {2} enter {3}\n{1} {2} exit {3}\n".format(
                i * 10, i * 10 + 5, *call_of(i)) for i in range(start, min(start + 10_000, count))))
    assert process.returncode == 0, f"convert: {process.returncode}"


def writing_comes_on_top(folder):
    """The reader fits into what is allowed, reader and writer together do not."""
    trace, out = Path(folder, "threads.ttape"), Path(folder, "merged.ttape")
    convert(trace, 60_000, lambda i: (i + 1, "f"))
    assert HINT in bounded.run("merge", trace, "-o", out, "--memory", "8M", good=(4,)).err
    bounded.run("merge", trace, "-o", out, "--memory", "14M")


def short_of_memory(folder):
    """What is being looked at stays, however little memory there is for what is asked beside it."""
    trace, out = Path(folder, "short.ttape"), Path(folder, "short.out")
    convert(trace, 20_000, lambda i: (1, f"f_{i:x}"))
    for kib in range(1000, 14_000, 1_000 if "merge" in FREELY else 3_000):
        bounded.run("verify", trace, "--memory", f"{kib}K", good=(0, 1))
        bounded.run("recover", trace, "-q", "-f", "-o", out, "--memory", f"{kib}K", good=(0, 3))


def words_of(verb, trace):
    """With a file for its output that is not there yet."""
    out = trace.parent / "out.ttape"
    out.unlink(missing_ok=True)
    return [word.format(trace, out=out) for word in verb] + [trace]


def freely(words):
    done = subprocess.run([bounded.TOOL, *map(str, words), "--memory", LIMIT], check=False,
                          stdin=subprocess.DEVNULL, capture_output=True)
    assert done.returncode == 0, f"{words}: status {done.returncode}: {done.stderr[-300:]}"
    return done.stdout


def main():
    refused = 0
    with tempfile.TemporaryDirectory(prefix="ttape-many.") as folder:
        trace = Path(folder, "many.ttape")
        writing_comes_on_top(folder)
        short_of_memory(folder)
        convert(trace, COUNT, lambda i: (1, f"f_{i:x}"))
        for verb in VERBS if COUNT < 1_000_000 else VERBS[:4]:
            most = 512 << 10 if verb[0] in WRITING else bounded.MOST_KIB
            ended = bounded.run(*words_of(verb, trace), good=(0, 1, 4), most_kib=most)
            refused += ended.status != 0
            if ended.status == 1:  # told like other findings
                assert verb == ["verify"] and all(b"more memory" in line for line in
                                                  ended.out.splitlines()), ended.out[-500:]
            elif ended.status == 4:
                assert HINT in ended.err and not ended.out, str(ended)
            assert ended.status == 0 or COUNT > 300_000 or verb[0] not in ALWAYS, str(ended)
            assert not (ended.status and (trace.parent / "out.ttape").exists()), str(ended)
            said = ended.out
            if ended.status and verb[0] in FREELY:
                said = freely(words_of(verb, trace))
            if verb[0] == "report":
                rest = re.search(rb"(\d+) more rows", said)
                assert rest and int(rest[1]) == COUNT - 2, said[-300:]
            elif verb[0] == "info":
                assert b"%d sites" % COUNT in said, said[:300]
        if not bounded.SANITIZED and COUNT < 1_000_000:  # the verb's own tables, not the reader's
            own = bounded.run("graph", trace, "--memory", "100M", good=(4,), most_kib=110 << 10)
            assert own.err.startswith(b"tracetape: needs more memory") and HINT in own.err, str(own)
            for verb in (["verify"], ["slow"], ["report"]):  # reader and answer together
                bounded.run(*verb, trace, "--memory", "100M", good=(0, 1, 4), most_kib=106 << 10)
        tight, tries = bounded.run("info", trace, "--memory", "1M", good=(4,)), 0
        while tight.status == 4 and tries < 5:  # each says what to try next
            assert HINT in tight.err and b"at least" in tight.err, str(tight)
            more = re.search(rb"--memory (\d+[MG])\)", tight.err)[1].decode()
            kib = int(more[:-1]) << (20 if more[-1] == "G" else 10)
            tight, tries = bounded.run("info", trace, "--memory", more, good=(0, 4),
                                       most_kib=max(kib, bounded.MOST_KIB)), tries + 1
        assert tight.status == 0, str(tight)
    assert bounded.SANITIZED or refused > 1, "all fits: nothing is tried"
    print(f"{COUNT} functions: ok, {refused} verbs refuse by default")


main()
