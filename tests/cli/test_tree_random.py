#!/usr/bin/env python3
"""Properties of execution trees of random traces: whatever is pruned, folded, cut in depth or left
out as too short, the totals are those of the whole tree, path by path; the tree is that of the
events, for any number of threads."""
import csv
import io
import json
import os
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from graph_model import make_text, run


class Node:
    def __init__(self, row):
        self.row, self.children = row, []

    def __getitem__(self, key):
        return self.row[key]

    def walk(self):
        yield self
        for child in self.children:
            yield from child.walk()


def tree(path, *options):
    out = json.loads(run("tree", "--json", path, *options))
    top, way = [], []
    for row in out["nodes"]:
        node = Node(row)
        del way[row["level"]:]
        (way[-1].children if way else top).append(node)
        way.append(node)
    return top, out.get("shorter", {})


def label(node):
    return f"thread {node['tid']}" if node["kind"] == "thread" else \
        f"signal {node['signal']}" if node["kind"] == "signal" else node["name"]


def by_path(top):
    """{names from the thread on: Counter of calls, time and own time}; series are see-through, and
    what they hold is counted for all their repeats already."""
    found = {}

    def add(node, way):
        if node["kind"] != "sequence":
            way = way + (label(node),)
            counts = found.setdefault(way, Counter())
            counts["calls"] += node.row.get("calls", 1)
            counts["time"] += node["time_ns"]
            counts["self"] += node.row.get("self_ns", 0)
        for child in node.children:
            add(child, way)

    for node in top:
        add(node, ())
    return found


def model(path):
    """The same out of the events; frames that are open at the end last until there."""
    found, threads = {}, {}

    def pop(stack, now, height):
        while len(stack) > height:
            way, start = stack.pop()
            found[way]["time"] += now - start

    for row in csv.DictReader(io.StringIO(run("dump", "--format", "csv", path))):
        root = (f"thread {row['tid']}",)
        thread = threads.setdefault(root, {"stack": [], "now": None})
        stack, now = thread["stack"], int(row["time_ns"])
        if thread["now"] is not None:
            step = now - thread["now"]
            found.setdefault(root, Counter({"calls": 1}))["time"] += step
            found[stack[-1][0] if stack else root]["self"] += step
        found.setdefault(root, Counter({"calls": 1}))
        thread["now"] = now
        if row["kind"] in ("enter", "signal"):
            way = stack[-1][0] if stack else root
            way += ("signal 11" if row["kind"] == "signal" else row["symbol"],)
            found.setdefault(way, Counter())["calls"] += 1
            stack.append((way, now))
        elif row["kind"] in ("exit", "signal_end"):
            pop(stack, now, len(stack) - 1)
        elif row["kind"] == "unwind":
            pop(stack, now, int(row["depth"]))
    for thread in threads.values():
        pop(thread["stack"], thread["now"], 0)
    return found


def same(got, wanted, what):
    for key in set(got) | set(wanted):
        one, two = +got.get(key, Counter()), +wanted.get(key, Counter())
        assert one == two, (what, key, one, two)


def check_shown(node):
    """Time is own time, what is below, and what was left out below."""
    inside = sum(c["time_ns"] for c in node.children)
    inside += node.row.get("shorter", {}).get("time_ns", 0)
    if node["kind"] == "sequence":
        assert node["time_ns"] == inside, node.row
    elif "self_ns" in node.row and not node["deeper"]:
        assert node["time_ns"] == node["self_ns"] + node["rest_ns"] + inside, node.row


def total(top, shorter):
    """Calls: shown, left out, and below what was left out; and the threads' time."""
    calls = shorter.get("calls", 0)
    for node in (n for t in top for n in t.walk()):
        calls += node["calls"] if node["kind"] == "call" else 0
        calls += node.row.get("shorter", {}).get("calls", 0)
    return calls, sum(t["time_ns"] for t in top) + shorter.get("time_ns", 0)


SEEDS = 8 if os.environ.get("TTAPE_THOROUGH") == "1" else 3
CUTS = (["--min-time", "20ns"], ["--min-time", "300ns"], ["--min-time", "5us"],
        ["--min-time", "1s"])


def check(path, wanted):
    calls = sum(c["calls"] for way, c in wanted.items()
                if len(way) > 1 and not way[-1].startswith("signal "))
    span = sum(c["time"] for way, c in wanted.items() if len(way) == 1)
    whole, _ = tree(path, "--full", "--min-time", "0")
    same(by_path(whole), wanted, "whole")
    folded, _ = tree(path, "--full", "--min-time", "0", "--fold")
    same(by_path(folded), wanted, "folded")
    size, small = (sum(1 for t in top for _ in t.walk()) for top in (whole, folded))
    assert small <= size
    for options in CUTS:
        for fold in ([], ["--fold"]):
            top, shorter = tree(path, "--full", *options, *fold)
            for node in (n for t in top for n in t.walk()):
                check_shown(node)
            assert total(top, shorter) == (calls, span), (options, fold, total(top, shorter),
                                                          calls, span)
    for depth in range(1, 6):
        top, shorter = tree(path, "--full", "--min-time", "0", "--depth", depth)
        assert not shorter
        cut = {way: counts for way, counts in wanted.items() if len(way) <= depth + 1}
        got = by_path(top)
        assert set(got) == set(cut), depth
        for way, counts in got.items():
            assert (counts["calls"], counts["time"]) == (cut[way]["calls"], cut[way]["time"])
    # the overview, from summaries alone: nothing is lost among the partitions
    top, _ = tree(path, "--partitions", "--min-time", "0")
    pruned = [t.row.get("pruned", {}) for t in top]
    assert sum(t["time_ns"] for t in top) == span
    assert sum(p.get("calls", 0) for p in pruned) == calls
    parts = [n["pruned"] for t in top for n in t.walk() if n["kind"] == "part"]
    assert sum(p["events"] for p in parts) == sum(p.get("events", 0) for p in pruned)
    # opening a frame over several partitions: threads change nothing
    spans = [n["node"] for t in top for n in t.walk() if n["kind"] == "call"]
    for node in spans[:4]:
        one, more = (run("tree", "--json", path, "--open", node, "--jobs", jobs)
                     for jobs in (1, 4))
        assert one == more, node
    return size - small


def make_repeats(seed):
    """Calls that come in series, and series of series: as a program does the same again."""
    rng = random.Random(seed)
    lines, now = [], 1000

    def call(shape):
        nonlocal now
        name, below = shape
        now += rng.choice((0, 1, 5, 90))
        lines.append(f"{now} 1 enter {name}")
        for repeats, inner in below:
            for _ in range(repeats):
                for one in inner:
                    call(one)
        now += rng.choice((0, 2, 30, 700))
        lines.append(f"{now} 1 exit")

    def shape(depth):
        below = [] if depth == 0 else [
            (rng.randrange(1, 5), [shape(depth - 1) for _ in range(rng.randrange(1, 4))])
            for _ in range(rng.randrange(0, 3))]
        return rng.choice("abc"), below

    call(("main", [(rng.randrange(2, 7), [shape(rng.randrange(3)) for _ in range(3)])
                   for _ in range(3)]))
    return "\n".join(lines) + "\n"


def make_long():
    """Blocks of times through which a grandchild stays open; waits that are wide differences."""
    rng = random.Random(99)
    lines, now = ["1000 1 enter main"], 1000
    for part in range(3):
        for name in ("quick", "quick", "outer", "inner"):
            now += rng.randrange(1, 50)
            lines.append(f"{now} 1 enter {name}")
            if name == "quick":
                lines.append(f"{now + 3} 1 exit")
                now += 5
        for turn in range(18000):
            now += rng.choice((1, 2, 40)) + (turn % 7001 == 7000) * (6 << 32)
            lines += [f"{now} 1 enter deep", f"{now + 1} 1 enter deeper", f"{now + 4} 1 exit",
                      f"{now + 5} 1 exit"]
            now += 6
        lines += [f"{now + 9} 1 exit", f"{now + 11 + part} 1 exit"]
        now += 20
    return "\n".join([*lines, f"{now} 1 exit"]) + "\n"


def check_long(path, wanted):
    whole, _ = tree(path, "--full", "--min-time", "0")
    same(by_path(whole), wanted, "long")
    nodes = [n["node"] for t in whole for n in t.walk() if n["kind"] == "call"][:12]
    top, _ = tree(path, "--partitions", "--min-time", "0")
    nodes += [n["node"] for t in top for n in t.walk() if n["kind"] == "call"]
    for node in sorted(set(nodes)):
        one, more = (run("tree", "--json", path, "--open", node, "--min-time", "0", "--jobs", jobs)
                     for jobs in (1, 4))
        assert one == more, node


def main():
    saved = count = 0
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for seed in range(1, SEEDS + 1):
            text = make_text(seed, 1 + seed % 4, 30 + 40 * seed)[0] if seed % 2 else \
                make_repeats(seed)
            (work / "in.txt").write_text(text, encoding="utf-8")
            wanted = None  # the same, whatever the partitions
            for events in (20, 150, 100000):
                run("convert", work / "in.txt", "-o", work / "a.ttape", "--force", "--strict",
                    "--partition-events", events)
                wanted = wanted or model(work / "a.ttape")
                saved += check(work / "a.ttape", wanted)
                count += 1
        (work / "in.txt").write_text(make_long(), encoding="utf-8")
        wanted = None
        for events in (140000, 1000000):
            run("convert", work / "in.txt", "-o", work / "a.ttape", "--force", "--strict",
                "--partition-events", events)
            wanted = wanted or model(work / "a.ttape")
            check_long(work / "a.ttape", wanted)
            count += 1
    assert saved > 1000, f"hardly anything was folded: {saved}"
    print(f"ok: {count} trees, {saved} nodes folded")
    return 0


sys.exit(main())
