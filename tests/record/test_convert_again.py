#!/usr/bin/env python3
"""Traces brought to another level: whatever is in them is in the new file, in the same partitions,
with each number that it had. Files of the specification, a converted text, recordings."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import setting

LEVELS = ("0", "1", "3", "9")
VIEWS = (("dump", "--format", "ndjson"), ("dump", "--paths"), ("tree",), ("report", "--json"))
# What a level changes: bytes, where things lie, and how many chunks there are.
OF_BYTES = ("bytes", "offset", "file_bytes", "bytes_per_event", "chunks", "unknown_chunks",
            "minor_version", "required_minor", "by_index", "complete")
STRUCTURES = "metadata-kinds.ttape"  # of metadata, text and numbers are kept
WITHOUT_SUMMARY = "no-summary.ttape"  # which the copy has
PROGRAM = """
__attribute__((noinline)) int twice(int n, const char *s) { return n * 2 + s[0]; }
__attribute__((noinline)) int work(int n)
{
    volatile int x = 0;
    for (int i = 0; i < n; i++)
        x += twice(i, "abc");
    return x;
}
int main(void) { return work(500) & 1; }
"""


def text():
    """Two threads with values, gaps, depths, blocks and a clock that steps."""
    yield from (f"0 {t} enter main{t}" for t in (1, 2))
    for i in range(1, 6001):
        thread, at = i % 2 + 1, i * 10 + i * i % 7
        yield f"{at} {thread} {f'enter f{i % 11}' if i % 40 < 20 else 'exit -'} {i}"
        if i % 997 == 0:
            yield f"{at} {thread} gap {i}"
        if i % 500 == 0:
            yield f"{at} {thread} block here"
        if i == 3000:
            yield "5 1 marker back depth=9"


def without(value):
    if isinstance(value, dict):
        return {k: without(v) for k, v in value.items() if k not in OF_BYTES}
    return [without(v) for v in value] if isinstance(value, list) else value


def views(checks, path, name):
    """What the verbs say of a file, its name apart."""
    found = []
    for words in VIEWS:
        if words[0] == "report" and name == WITHOUT_SUMMARY:
            continue
        done = setting.tracetape(*words, path)
        checks.that(done.status in (0, 3), f"{name}: {words[0]}: status {done.status}")
        found.append(done.out.replace(str(path).encode(), b"FILE"))
    about = without(json.loads(setting.tracetape("info", "--json", path).out))
    about.pop("file")
    if name == STRUCTURES:
        about.pop("metadata")
    return [*found, about]


def check(checks, path, work, levels=LEVELS):
    name, wanted = path.name, views(checks, path, path.name)
    out = work / "again.ttape"
    for level in levels:
        done = setting.tracetape("convert", path, "-f", "-o", out, "--level", level)
        checks.equal(done.status, 3 if name == STRUCTURES else 0, f"{name}, {level}: {done.err}")
        checks.equal(setting.tracetape("verify", out).status, 0, f"{name}, {level}: verify")
        for word, a, b in zip((*(v[0] for v in VIEWS), "info"), wanted, views(checks, out, name)):
            checks.that(a == b, f"{name}, level {level}: {word} differs")
    return out


def check_vectors(checks, work):
    count = 0
    for path in sorted((setting.SOURCE / "spec" / "vectors").glob("*.ttape")):
        if path.stem == "many-values": # others may write what our writer does not
            done = setting.tracetape("convert", path, "-f", "-o", work / "none.ttape")
            checks.equal(done.status, 4, f"convert {path.name}")
            checks.that(b"an event with 5000 values: at most 255 can be written" in done.err,
                        f"{done.err!r}")
            checks.that(not (work / "none.ttape").exists(), f"{path.name}: half a trace")
        elif setting.tracetape("verify", path).status == 0:
            check(checks, path, work, setting.cut(LEVELS, LEVELS[count % 4:][:1]))
            count += 1
    checks.that(count >= 50, f"{count} files of the specification")


def check_text(checks, work):
    (work / "in.txt").write_text("\n".join(text()) + "\n")
    first, again = work / "first.ttape", work / "again.ttape"
    for size in ("700", "100000"):
        done = setting.tracetape("convert", work / "in.txt", "-f", "-o", first, "-l1", "-p", size)
        checks.equal((done.status, done.err), (0, b""), "convert")
        check(checks, first, work)
    # There and back: the bytes that the recording itself has at that level.
    setting.tracetape("convert", work / "in.txt", "-f", "-o", first, "--level", "9")
    for level in ("0", "3", "9"):
        setting.tracetape("convert", again, "-f", "-o", work / "next.ttape", "--level", level)
        (work / "next.ttape").rename(again)
    checks.that(first.stat().st_size == again.stat().st_size, "9 by way of 0 and 3 has other bytes")
    threads = setting.tracetape("convert", first, "-f", "-o", work / "t.ttape", "-l1", "-j3").status
    checks.equal(threads, 0, "convert --jobs 3")
    setting.tracetape("convert", first, "-f", "-o", again, "-l1")
    checks.equal((work / "t.ttape").read_bytes(), again.read_bytes(), "bytes by three threads")
    for data, how in ((first.open("rb"), {}), (None, {"input": first.read_bytes()})):
        done = subprocess.run([setting.COMMAND, "convert", "-", "-o", "-", "-l1"], check=False,
                              capture_output=True, **(how or {"stdin": data}))
        checks.that(done.stdout == again.read_bytes(), f"by standard input: {done.stderr!r}")


def check_refusals(checks, work):
    path, out = work / "first.ttape", work / "refused.ttape"
    for words, said in ((("--resolution", "1us"), "keeps its times"), (("-o", path, "-f"), "place"),
                        (("--trace-id", "0" * 32), "its id")):
        done = setting.tracetape("convert", path, "-o", out, *words)
        checks.that(done.status == 4 and said in done.err.decode(), f"{words}: {done.err}")
    (work / "half.ttape").write_bytes(path.read_bytes()[:-700])
    done = setting.tracetape("convert", work / "half.ttape", "-o", out)
    checks.that(done.status in (3, 4) and b"half.ttape" in done.err, f"half a file: {done}")
    if done.status == 4:
        checks.that(not out.exists(), "half a file left an output")
    full = setting.tracetape("convert", path, "-o", "/dev/full")
    checks.that(full.status == 4 and b"'/dev/full'" in full.err and b"space" in full.err,
                f"a full disk: {full.err}")


def check_recordings(checks, work):
    (work / "p.c").write_text(PROGRAM)
    setting.call(["gcc", "-g", "-O1", "-o", work / "p", work / "p.c"])
    environment = {**os.environ, "XDG_CACHE_HOME": str(setting.plans(work / "cache"))}
    for options, program in ((("--patch", "twice|work|main", "--args", "--retval"), work / "p"),
                             (("--syscalls", "--stacks"), "/bin/true")):
        path = work / "recorded.ttape"
        done = setting.tracetape("record", "-q", "-f", "-o", path, *options, "--", program,
                                 env=environment)
        if not path.exists():
            checks.that(False, f"{options}: {done.err}")
            continue
        check(checks, path, work)
        dump = setting.tracetape("dump", path).out.decode()
        checks.that(re.search(r'twice.*"abc"|exit_group', dump), f"{options}: nothing of it in it")


def main():
    setting.need_verb("record", "convert")
    setting.need_command("gcc")
    checks = setting.Checks("convert again")
    with setting.work_dir() as work:
        check_text(checks, Path(work))
        check_refusals(checks, Path(work))
        check_vectors(checks, Path(work))
        check_recordings(checks, Path(work))
    return checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
