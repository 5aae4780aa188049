#!/usr/bin/env python3
"""Calls and returns as `perf script --itrace=cr` prints them of Intel PT, in the words of several
versions and choices of -F: what is open, where tracing stops, what is lost. All text here was
written by hand after perf's sources: no machine with Intel PT was at hand."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TOOL = os.environ["TTAPE_BIN"]
HEAD = "        my prog  4242/4243  [001]  100.{:09d}:  1  branches:uH:   {:<14} "
PLACE = "{:>16x} {} ({})"


def run(*words, data=None, good=0):
    done = subprocess.run([TOOL, *map(str, words)], check=False, capture_output=True, input=data)
    assert done.returncode == good, (words, done.returncode, done.stderr.decode()[:500])
    return done


def place(name, offset=0):
    where = {"main": 0x401000, "work": 0x402000, "leaf<int, (x)>(a, b)": 0x403000, "tail": 0x404000,
             "handler": 0x405000}.get(name)
    if where is None:
        return PLACE.format(0, "[unknown]", "[unknown]")
    return PLACE.format(where + offset, f"{name}+0x{offset:x}", "/usr/bin/a (b)")


def line(at, flags, source, target):
    return HEAD.format(at, flags) + f"{place(*source)} => {place(*target)}"


NONE = (None,)
LEAF = "leaf<int, (x)>(a, b)"
LINES = [
    "# captured by hand", "",
    line(10, "tr strt", NONE, ("main", 4)),
    line(20, "call", ("main", 9), ("work", 0)),
    line(30, "call", ("work", 7), (LEAF, 0)),
    line(40, "return", (LEAF, 9), ("work", 12)),
    line(50, "tr end  syscall", ("work", 20), NONE),
    line(90, "tr strt", NONE, ("work", 22)),
    line(100, "call", ("work", 30), (LEAF, 0)),
    line(110, "tr end  hw int", (LEAF, 3), NONE),
    line(130, "tr strt", NONE, ("handler", 0)),
    line(140, "return", ("handler", 9), NONE),
    line(150, "jmp", (LEAF, 5), ("tail", 0)),
    line(155, "jcc", ("tail", 5), ("tail", 9)),
    line(160, "return", ("tail", 11), ("main", 14)),       # out of work, too: its exit was not seen
    " instruction trace error type 1 time 100.000000170 cpu 1 pid 4242 tid 4243 ip 0 code 8: "
    "Lost trace data",
    line(180, "return", ("main", 99), NONE),
    line(190, "return", ("work", 2), NONE),
]
WANTED = [
    (10, "open", "main"), (20, "enter", "work"), (30, "enter", LEAF), (40, "exit", LEAF),
    (50, "enter", "(system call)"), (90, "exit", "(system call)"), (100, "enter", LEAF),
    (110, "enter", "(interrupt)"), (130, "exit", "(interrupt)"), (130, "enter", "handler"),
    (140, "exit", "handler"), (150, "exit", LEAF), (150, "enter", "tail"), (160, "unwind", None),
    (160, "exit", "work"), (170, "gap", None), (180, "exit", "main"), (190, "exit", "work")]


def events(trace):
    rows = map(json.loads, run("dump", "--format", "ndjson", trace).stdout.splitlines())
    return [(row["time_ns"] - 100 * 10**9, row["kind"],
             (row.get("symbol") or row.get("name") or None)) for row in rows]


def main():
    with tempfile.TemporaryDirectory(prefix="ttape-perf.") as folder:
        work = Path(folder)
        out, text = work / "out.ttape", work / "perf.txt"
        text.write_text("\n".join(LINES) + "\n", encoding="utf-8")
        done = run("convert", text, "-o", out)
        assert not done.stderr, done.stderr
        run("verify", out)
        found = events(out)
        assert [(t, k, None if k in ("unwind", "gap") else n) for t, k, n in found] == WANTED, found
        report = json.loads(run("report", "--json", out).stdout)
        row = next(row for row in report["rows"] if row["name"] == LEAF)
        assert row["module"] == "/usr/bin/a (b)" and row["calls"] == 2, row
        assert row["address"] == "0x403000", row
        info = json.loads(run("info", "--json", "--all", out).stdout)
        stream, = info["stream_list"]
        assert (stream["pid"], stream["tid"], stream["name"]) == (4242, 4243, "my prog"), stream

        # fewer fields: no CPU, period, event, offset or file; one number; microseconds; a pipe
        short = ("prog 77 5.000001: call 401009 main => 402000 work\n"
                 "prog 77 5.000003: return 402010 work => 40100e main\n")
        run("convert", "-", "-o", out, "--force", data=short.encode())
        assert [(t + 95 * 10**9, k, n) for t, k, n in events(out)] == [
            (1000, "open", "main"), (1000, "enter", "work"), (3000, "exit", "work")], events(out)

        # lines of other kinds are counted; samples alone are refused; threads are told apart
        mixed = short + "some words\n" + short.replace(" 77 ", " 77/78 ")
        done = run("convert", "-", "-o", out, "--force", data=mixed.encode(), good=3)
        assert b"1 lines are neither calls nor returns" in done.stderr and b"line 3" in done.stderr
        assert len(events(out)) == 6
        (work / "samples.txt").write_text("ls 8777/8778 [001] 6231.220477: cycles: \n\t7fb0 f\n",
                                          encoding="utf-8")
        done = run("convert", work / "samples.txt", "-o", out, "--force", good=4)
        assert b"samples, no calls" in done.stderr
        hostile = "a 1 99999999999999999999.000001: call 1 a => 2 b\n" * 3 + short
        run("convert", "-", "--from-format", "perf", "-o", out, "--force", data=hostile.encode(),
            good=3)
    print("ok")


sys.exit(main())
