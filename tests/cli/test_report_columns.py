#!/usr/bin/env python3
"""Columns of a report that are asked for, in the table and as CSV: the numbers of its JSON, in the
order that was asked for; names with signs in them; what a report does not have."""
import csv
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

COMMAND = os.environ["TTAPE_BIN"]
WORK = Path(tempfile.mkdtemp())
TRACE = r'''process 7 prog
thread 7 1 one
thread 7 2 two
module 0x1000 0x2000 /bin/prog
symbol 0x1100 main main.c:3
symbol 0x1200 "a<b, c>(\"d\")" a.c:9
symbol 0x1300 leaf leaf.c
0 1 enter 0x1100
100 1 enter 0x1200
150 1 enter 0x1300
170 1 exit
300 1 exit
310 1 enter 0x1200
330 1 exit
400 1 exit
0 2 enter 0x1300
70 2 exit
'''
KEYS = {"total_ns": "total_ns", "self_ns": "self_ns", "calls": "calls", "min_ns": "min_ns",
        "max_ns": "max_ns", "p50_ns": "p50_ns", "p99_ns": "p99_ns", "name": "name",
        "module": "module", "span_ns": "span_ns", "events": "events", "pid": "pid", "tid": "tid"}


def run(*arguments, status=0):
    done = subprocess.run([COMMAND, "report", *map(str, arguments)], capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL, timeout=60)
    assert done.returncode == status, (arguments, done)
    return done.stdout if status == 0 else done.stderr


def table_of(text):
    """Titles, and rows by them; columns stand two blanks apart."""
    lines = text.split("\n\n")[1].splitlines()
    return lines[0].split(), [line.split() for line in lines[1:]]


def check_csv(trace, *options):
    rows = list(csv.DictReader(io.StringIO(run(trace, "--format", "csv", *options))))
    wanted = json.loads(run(trace, "--json", *options))["rows"]
    assert len(rows) == len(wanted) > 0, (rows, wanted)
    for row, want in zip(rows, wanted):
        for key in row:
            if key in KEYS:
                known = want.get(KEYS[key])
                assert row[key] == ("" if known is None else str(known)), (options, key, row, want)
        if "mean_ns" in row and want.get("mean_ns") is not None:
            mean_ns = want.get("duration_mean_ns", want["mean_ns"])  # of recursion, too
            assert abs(float(row["mean_ns"]) - mean_ns) < 0.1, (row, want)
    return rows


def own_times():
    """The own time of each call of the text that has ended, by function."""
    symbols = [line.split() for line in TRACE.splitlines() if line.startswith("symbol")]
    names = {words[1]: words[2].strip('",')[:4] for words in symbols}
    own, stacks, before = {}, {}, {}
    for line in TRACE.splitlines():
        words = line.split()
        if not words[0].isdigit():
            continue
        time, thread = int(words[0]), words[1]
        stack = stacks.setdefault(thread, [])
        if stack:
            stack[-1][1] += time - before[thread]
        before[thread] = time
        if words[2] == "enter":
            stack.append([names[words[3]], 0])
        else:
            name, took = stack.pop()
            own.setdefault(name, []).append(took)
    return own


def check_self_times(text, trace):
    """Least and largest own times, also of calls that are open at edges of partitions."""
    wanted = {name: (min(times), max(times)) for name, times in own_times().items()}
    small = WORK / "small.ttape"
    subprocess.run([COMMAND, "convert", text, "-o", small, "--partition-events", "3"], check=True,
                   capture_output=True)
    for path in (trace, small):
        for row in csv.DictReader(io.StringIO(run(path, "--format", "csv", "--columns",
                                                  "self-max,name,self-min"))):
            got = int(row["self-min_ns"]), int(row["self-max_ns"])
            assert got == wanted[row["name"][:4].rstrip(",")], (row, wanted)
        rows = json.loads(run(path, "--json", "--exact", "--by", "call"))["rows"]
        assert {row["self_max_ns"] for row in rows} >= {180, 70}, rows
    titles, rows = table_of(run(trace, "--sort", "self-max", "--no-pager"))
    assert "SELF MAX" in run(trace, "--sort", "self-max"), titles
    assert [row[-1] for row in rows][::2] == ["main", "leaf"], rows
    text.write_text(TRACE.replace("prog", "again"))
    other = WORK / "other.ttape"
    subprocess.run([COMMAND, "convert", text, "-o", other], check=True, capture_output=True)
    said = run(trace, other, "--columns", "name,self-max", status=2)
    assert "no column 'self-max': a trace has it" in said, said
    assert "is for one trace" in run(trace, other, "--sort", "self-min", status=2)
    assert "self_max_ns" not in run(trace, "--json")


def main():
    text, trace = WORK / "t.txt", WORK / "t.ttape"
    text.write_text(TRACE)
    subprocess.run([COMMAND, "convert", text, "-o", trace], check=True, capture_output=True)
    rows = check_csv(trace)
    assert [row["name"] for row in rows] == ["main", 'a<b, c>("d")', "leaf"], rows
    assert "p50_ns" in check_csv(trace, "--exact")[0]
    for options in (("--by", "thread"), ("--by", "module"), ("--by", "call"), ("--sort", "calls"),
                    ("--callers", "leaf"), ("--limit", "1"), ("--filter", "!leaf")):
        check_csv(trace, *options)
    roles = [row["role"] for row in check_csv(trace, "--butterfly", "leaf")]
    assert "caller" in roles and "function" in roles, roles
    check_self_times(text, trace)
    asked = "name,self-mean,calls,source,self,share"
    rows = list(csv.reader(io.StringIO(run(trace, "--format", "csv", "--columns", asked))))
    assert rows[0] == ["name", "self-mean_ns", "calls", "source", "self_ns", "share"], rows
    assert rows[2] == ['a<b, c>("d")', "100.0", "2", "a.c:9", "200", "42.55"], rows
    assert rows[3][3] == "leaf.c" and rows[1][4] == "180", rows
    titles, rows = table_of(run(trace, "--columns", "calls,self,name", "--function", "^[lm]"))
    assert titles == ["CALLS", "SELF", "FUNCTION"], titles
    assert rows == [["1", "0.180", "us", "main"], ["2", "0.090", "us", "leaf"]], rows
    text.write_text(TRACE.replace("prog", "other"))
    subprocess.run([COMMAND, "convert", text, "-o", WORK / "u.ttape"], check=True,
                   capture_output=True)
    both = run(trace, WORK / "u.ttape", "--format", "csv", "--columns", "name,calls")
    assert both.startswith("name,calls\n") and "leaf,2\n" in both, both
    for options, words in ((("--columns", "self,speed"), "no column 'speed'"),
                           (("--columns", "self,"), "no column ''"),
                           (("--columns", "self,self"), "'self' is asked for twice"),
                           (("--columns", "p50"), "no column 'p50': --exact or --histogram"),
                           (("--columns", "tid"), "no column 'tid'"),
                           (("--columns", "self", "--json"), "JSON has all"),
                           (("--format", "xml"), "unknown format 'xml'"),
                           (("--format", "csv", "--json"), "exclude each other")):
        said = run(trace, *options, status=2)
        assert words in said, (options, said)
    print("report's columns: ok")
    sys.exit(0)


main()
