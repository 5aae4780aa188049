#!/usr/bin/env python3
"""Every path that leads to a function, as `graph --reach` has it, against a model that follows the
events of `dump` one by one; limits, pictures, the hottest path, what is refused."""
import csv
import io
import json
import os
import sys
import tempfile
import xml.dom.minidom
from pathlib import Path
from shutil import which

from graph_model import Counts, make_text, run

SEEDS = range(40) if os.environ.get("TTAPE_THOROUGH") == "1" else range(3)


class Paths:
    """{path: Counts} of a trace. A step that repeats the one before is none."""

    def __init__(self, trace):
        self.found, self.span = {}, 0
        threads = {}
        for row in csv.DictReader(io.StringIO(run("dump", "--format", "csv", trace))):
            threads.setdefault(int(row["tid"]), []).append(row)
        for rows in threads.values():
            self.add(rows)

    def add(self, rows):
        stack, now = [], int(rows[0]["time_ns"])
        for row in rows:
            time, kind = int(row["time_ns"]), row["kind"]
            self.span += time - now
            if stack:
                self.found[stack[-1][0]]["self"] += time - now
            now = time
            if kind in ("enter", "signal"):
                name = "(signal 11)" if kind == "signal" else row["symbol"]
                path = stack[-1][0] if stack else ()
                is_own = path[-1:] == (name,)
                path = path if is_own else (*path, name)
                counts = self.found.setdefault(path, Counts())
                counts["calls"] += 1
                counts["recursion"] += is_own
                stack.append((path, now, is_own))
            height = len(stack)
            if kind in ("exit", "signal_end"):
                height -= 1
            elif kind == "unwind":
                height = int(row["depth"])
            self.leave(stack, height, now)
        self.leave(stack, 0, now)

    def leave(self, stack, height, now):
        while len(stack) > height:
            path, start, is_own = stack.pop()
            self.found[path]["total"] += 0 if is_own else now - start

    def to(self, name):
        return {path: (c["calls"], c["recursion"], c["total"], c["self"])
                for path, c in self.found.items() if path[-1] == name}


def reach(trace, name, *options):
    return json.loads(run("graph", "--json", "--reach", name, *options, trace))


def as_model(answer):
    found = {tuple(p["path"]): (p["calls"], p["recursive_calls"], p["total_ns"], p["self_ns"])
             for p in answer["paths"]}
    assert len(found) == len(answer["paths"]), "a path is there twice"
    return found


def check_function(trace, model, name):
    answer = reach(trace, name)
    wanted = model.to(name)
    assert as_model(answer) == wanted, (name, set(wanted) ^ set(as_model(answer)))
    assert answer["span_ns"] == model.span and answer["pruned"] == {"paths": 0, "calls": 0}
    times = [p["total_ns"] for p in answer["paths"]]
    assert times == sorted(times, reverse=True), times
    for options, test in ((["--min-calls", "2"], lambda c: c[0] >= 2),
                          (["--min-time", "300ns"], lambda c: c[2] >= 300),
                          (["--min-time", "60ns", "--weight", "self"], lambda c: c[3] >= 60)):
        some = reach(trace, name, *options)
        kept = {path: c for path, c in wanted.items() if test(c)}
        assert as_model(some) == kept, (name, options)
        assert some["pruned"] == {"paths": len(wanted) - len(kept),
                                  "calls": sum(c[0] for p, c in wanted.items() if p not in kept)}
    assert as_model(reach(trace, name, "--limit", "2")) == as_model(
        {"paths": answer["paths"][:2]})
    text = run("graph", "--reach", name, "--no-pager", trace).splitlines()
    assert len(text) == 1 + len(wanted), text
    callers = [" < ".join(reversed(p["path"][:-1])) or "(nothing)" for p in answer["paths"]]
    assert [line.split("  ")[-1].strip() for line in text[1:]] == callers, (text, callers)


def check_hottest(trace, model):
    found = json.loads(run("graph", "--summary", "--json", trace))["summary"]["hottest_path"]
    most = max(counts["self"] for counts in model.found.values())
    counts = model.found[tuple(found["path"])]
    assert (found["self_ns"], found["calls"]) == (counts["self"], counts["calls"]), found
    assert found["self_ns"] == most, (found, most)
    text = run("graph", "--summary", "--no-pager", trace)
    assert " < ".join(reversed(found["path"])) in text, (found, text)


def check_picture(trace, model, name):
    dot = run("graph", "--reach", name, "--format", "dot", trace)
    steps = {path[:i] for path in model.to(name) for i in range(1, len(path) + 1)}
    assert dot.count("[label=") == len(steps), (dot.count("[label="), len(steps))
    assert dot.count(" -> ") == sum(len(path) > 1 for path in steps)
    if which("dot"):
        xml.dom.minidom.parseString(run("graph", "--reach", name, "--format", "svg", trace))


def main():
    with tempfile.TemporaryDirectory() as work:
        trace = Path(work, "paths.ttape")
        for seed in SEEDS:
            text = Path(work, "paths.txt")
            text.write_text(make_text(seed, 4, 200)[0], encoding="ascii")
            run("convert", "-f", text, "-o", trace, "--partition-events", "97")
            model = Paths(trace)
            names = sorted({path[-1] for path in model.found} - {"(signal 11)"})
            assert len(names) == 7, names
            for name in names:
                check_function(trace, model, name)
            check_picture(trace, model, names[seed % 7])
            check_hottest(trace, model)
        run("graph", "--reach", "nothing", trace, status=4)
        for option in ("--list", "--summary", "--split-levels"):
            run("graph", "--reach", names[0], option, trace, status=2)
    print("paths: ok")


if __name__ == "__main__":
    sys.exit(main())
