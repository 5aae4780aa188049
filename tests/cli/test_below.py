#!/usr/bin/env python3
"""Reports and graphs below a function equal a plain walk over the dump: its time is all of the
time, calls outside of it have none. A library that a program loads twice, and a program that is
executed twice, have one row for each function, with summaries and without; copies that are loaded
at once never count a moment twice."""
import csv
import io
import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from graph_model import TOOL, make_text, run

WORK = Path(tempfile.mkdtemp())
NAMES = ("alpha", "beta", "gamma", "delta", "eps", "zeta", "eta")


def convert(name, text):
    source, path = WORK / f"{name}.txt", WORK / f"{name}.ttape"
    source.write_text(text)
    run("convert", source, "-o", path, "--force")
    return path


class Sums(dict):
    def __missing__(self, key):
        return 0


class Below:
    """Own and total times, calls and edges of frames that are on or above a chosen one."""

    def __init__(self, path, pattern):
        self.chosen = re.compile(pattern)
        self.self_ns, self.total_ns, self.calls = Sums(), Sums(), Sums()
        self.edges, self.span_ns = Sums(), 0
        threads = {}
        for row in csv.DictReader(io.StringIO(run("dump", "--format", "csv", path))):
            threads.setdefault(row["tid"], []).append(row)
        for rows in threads.values():
            self.add(rows)

    def pass_time(self, stack, step):
        inner = self.inner(stack)
        if not inner:
            return
        self.span_ns += step
        if stack[-1] != "!":
            self.self_ns[stack[-1]] += step
        for name in set(inner):
            self.total_ns[name] += step

    def inner(self, stack):
        chosen = [i for i, name in enumerate(stack) if self.chosen.search(name)]
        return stack[chosen[0]:] if chosen else []

    def add(self, rows):
        stack, now = [], None
        for row in rows:
            time, kind, depth = int(row["time_ns"]), row["kind"], int(row["depth"])
            self.pass_time(stack, 0 if now is None else time - now)
            now = time
            if kind in ("enter", "signal"):
                stack.append("!" if kind == "signal" else row["symbol"])
                inner = self.inner(stack)
                if inner:
                    self.calls[stack[-1]] += 1
                    self.edges[inner[-2] if len(inner) > 1 else "", inner[-1]] += 1
            elif kind in ("exit", "signal_end", "unwind"):
                del stack[depth:]


def check_report(path, pattern, want):
    got = json.loads(run("report", "--json", path, "--below", pattern))
    for field, sums in (("self_ns", want.self_ns), ("total_ns", want.total_ns),
                        ("calls", want.calls)):
        rows = {row["name"]: row[field] for row in got["rows"] if row[field]}
        assert rows == {k: v for k, v in sums.items() if v and k != "!"}, (pattern, field, rows)
    assert got["span_ns"] == want.span_ns, (got["span_ns"], want.span_ns)
    threads = json.loads(run("report", "--json", path, "--below", pattern, "--by", "thread"))
    assert sum(row["span_ns"] for row in threads["rows"]) == want.span_ns


def check_graph(path, pattern, want):
    got = json.loads(run("graph", "--json", path, "--below", pattern))
    assert got["span_ns"] == want.span_ns, (got["span_ns"], want.span_ns)
    nodes = {node["node"]: node for node in got["nodes"]}
    sums = {name: [0, 0, 0] for name in NAMES}
    for node in got["nodes"]:  # first routines of started threads are nodes of their own
        for i, field in enumerate(("self_ns", "total_ns", "calls")):
            sums.setdefault(node["name"], [0, 0, 0])[i] += node[field]
    assert {name: sums[name] for name in NAMES} == \
        {name: [want.self_ns[name], want.total_ns[name], want.calls[name]] for name in NAMES}
    edges = Sums()
    for edge in got["edges"]:
        start, end = nodes[edge["from"]], nodes[edge["to"]]
        started = edge["calls"] if edge["from"] == 0 else edge["started"]
        edges["", end["name"]] += started
        edges[start["name"], end["name"]] += edge["calls"] - started
    plain = {ends: calls for ends, calls in want.edges.items() if "!" not in ends}
    assert {ends: edges[ends] for ends in plain} == plain, (pattern, edges, plain)


def check_random(seed):
    rng = random.Random(seed)
    text, _ = make_text(seed, 3, 400)
    path = convert("random", text)
    for pattern in ("^beta$", "^(alpha|eta)$", rng.choice(NAMES)):
        want = Below(path, pattern)
        assert want.span_ns > 0
        check_report(path, pattern, want)
        check_graph(path, pattern, want)


# ---- a library that is loaded twice ----

def loaded(first, second, lines, processes=(1, 1)):
    """Two mappings of one file, at these addresses, with f at 0x10 and g at 0x20 in each."""
    head = [f"process {p} p" for p in sorted(set(processes))]
    head += [f"thread {p} {p}" for p in sorted(set(processes))]
    text = []
    for process, base in zip(processes, (first, second)):
        text.append(f"module {base:#x} {base + 0x1000:#x} /lib/libx.so build-id=0011")
        text += [f"symbol {base + 0x10:#x} f", f"symbol {base + 0x20:#x} g"]
    return convert("loaded", "\n".join(head + text + lines) + "\n")


def rows_of(path, *words):
    got = json.loads(run("report", "--json", path, *words))
    rows = {row["name"]: (row["calls"], row["total_ns"], row["self_ns"]) for row in got["rows"]}
    return got, rows


def check_loaded():
    one, two = 0x10000, 0x10800  # the second lies where the first lay: never both at once
    lines = ["0 1 enter main", f"1 1 enter {one + 0x10:#x}", "5 1 exit",
             f"6 1 enter {two + 0x10:#x}", "9 1 exit", "10 1 exit"]
    path = loaded(one, two, lines)
    got, rows = rows_of(path)
    assert len(got["rows"]) == 2 and rows["f"] == (2, 7, 7), got["rows"]
    assert got["decoded_partitions"] == 0, "summaries tell it"
    assert rows_of(path, "--exact")[1] == rows
    two = 0x90000  # both may be there: f calls f
    lines = ["0 1 enter main", f"1 1 enter {one + 0x10:#x}", f"3 1 enter {two + 0x10:#x}",
             "7 1 exit", "9 1 exit", "10 1 exit"]
    got, rows = rows_of(loaded(one, two, lines))
    assert rows["f"] == (2, 8, 8), "a moment counts once"
    assert rows_of(loaded(one, two, lines), "--exact")[1] == rows


def check_started():
    """What a thread calls is not below what started it: that is said."""
    path = convert("starts", "0 1 enter main\n1 1 enter pthread_create\n2 1 exit\n3 2 enter alone\n"
                   "5 2 exit\n9 1 exit\n")
    for below, count in (("main", 1), ("alone", 0)):
        done = subprocess.run([TOOL, "report", path, "--below", below], capture_output=True,
                              text=True, check=False)
        assert done.returncode == 0 and \
            done.stderr.count(f"1 thread was started below '{below}': of its") == count, done.stderr


def check_refusals():
    path = convert("small", "0 1 enter main\n5 1 exit\n")
    for verb in ("report", "graph"):
        done = subprocess.run([TOOL, verb, path, "--below", "nothing"], capture_output=True,
                              text=True, check=False)
        assert done.returncode == 4 and "nothing that was called matches 'nothing'" in done.stderr
        run(verb, path, "--below", "(", status=2)
    done = subprocess.run([TOOL, "report", path, "--sort", "speed"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 2 and "total, self, on-cpu, calls" in done.stderr, done.stderr


for seed in range(1, 5):
    check_random(seed)
check_loaded()
check_started()
check_refusals()
sys.exit(0)
