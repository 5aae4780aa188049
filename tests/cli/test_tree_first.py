#!/usr/bin/env python3
"""What `tracetape tree` shows without being asked: a loop's rounds once each shape, the largest
calls, also where waiting takes nearly all time, and in each bracket the names of what is in it."""
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

COMMAND = os.environ["TTAPE_BIN"]
failures = []


def check(holds, *what):
    if not holds:
        failures.append(what)
        print("FAILED:", *what, file=sys.stderr)


def run(*words, status=0):
    ended = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True,
                           check=False)
    check(ended.returncode == status, words, ended.returncode, ended.stderr)
    return ended.stdout + ended.stderr


class Calls:
    def __init__(self):
        self.time, self.lines = 1000, []

    def call(self, name, *inner, ns=10):
        self.lines.append(f"{self.time} 1 enter {name}")
        self.time += ns
        for one in inner:
            one()
        self.lines.append(f"{self.time} 1 exit")
        self.time += 3

    def write(self, folder, name):
        text, trace = folder / f"{name}.txt", folder / f"{name}.ttape"
        text.write_text("\n".join(self.lines) + "\n", encoding="utf-8")
        run("convert", text, "-f", "-o", trace)
        return trace


def check_simulator(folder):
    """8,000 short calls in rounds of four shapes."""
    calls, draw = Calls(), random.Random(4)
    shapes = [["load", "add"], ["load", "mul", "store"], ["load", "jump"], ["load", "add", "mul"]]
    for name in ["loop"]:
        def rounds():
            for _ in range(2000):
                inner = [lambda n=n: calls.call(n) for n in draw.choice(shapes)]
                calls.call("step", *inner)
        calls.call(name, rounds)
    shown = run("tree", calls.write(folder, "simulator"))
    lines = shown.splitlines()
    check(len(lines) < 30, "a screen", len(lines))
    counts = [int(n) for n in re.findall(r" step x (\d+), not in a row", shown)]
    check(len(counts) == 4 and sum(counts) == 2000, "rounds", counts)
    for name in ("load", "add", "mul", "store", "jump"):
        check(re.search(rf" {name}$", shown, re.M), "name", name)
    bracket = run("tree", "--limit", "8", folder / "simulator.ttape")
    check(re.search(r"[\d,]+ .*\[shorter: load x \d+, \S+ x \d+, ", bracket), "names", bracket)
    every = run("tree", "--all", folder / "simulator.ttape").splitlines()
    check(len(every) == 1 + 1 + 1 + sum(line.count("enter") for line in calls.lines) - 1, "all",
          len(every))


def check_button(folder):
    """Three rounds that wait for 0.2 s, and then call a handler."""
    calls = Calls()
    sine = lambda: calls.call("sine")
    handler = lambda: calls.call("on_button", sine)
    start = [lambda k=k: calls.call(f"start{k % 7}", ns=900 + k) for k in range(3000)]

    def rounds():
        for _ in range(3):
            calls.call("poll", ns=200_000_000)
            calls.call("dispatch", handler)
    calls.call("main", lambda: calls.call("set_up", *start), lambda: calls.call("events", rounds))
    trace = calls.write(folder, "button")
    shown = run("tree", trace)
    check(len(shown.splitlines()) < 40, "a screen", shown)
    for name in ("on_button", "sine", "poll", "3 times:", "dispatch"):
        check(f" {name}" in shown, name, shown)
    slow = run("slow", "--limit", "5", trace).splitlines()
    check(" events " in slow[1] and all(" poll " in line for line in slow[2:5]) and
          " set_up " in slow[5], "calls of which one callee is not nearly all", slow)
    few = run("tree", "--limit", "46", trace)
    check(re.search(r" sine$", few, re.M), "few lines", few)


def check_unlike(folder):
    """Siblings that are all different, more than are kept while the rest is read."""
    calls = Calls()

    def rounds():
        for k in range(30000):
            calls.call(f"f{k % 400}", *[lambda: calls.call("leaf")] * (k % 3), ns=k % 50)
        calls.call("long", lambda: calls.call("leaf"), ns=10_000_000)
    calls.call("main", rounds)
    trace = calls.write(folder, "unlike")
    shown = run("tree", trace)
    check(len(shown.splitlines()) < 160, "as many as asked", len(shown.splitlines()))
    check(" long" in shown and "[shorter: " in shown, shown[:2000])
    numbers = [int(n.replace(",", "")) for n in re.findall(
        r"^ *[\d.]+ \S+ +(?:[\d.]+ \S+ +)?([\d,]+) .*(?:f\d+|long|leaf|shorter: )", shown, re.M)]
    check(sum(numbers) >= 30001, "each call is a line's or a bracket's", sum(numbers))


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        check_simulator(folder)
        check_button(folder)
        check_unlike(folder)
        trace = folder / "button.ttape"
        for words in (["--all", "--fold"], ["--all", "--limit", "3"], ["-n", "3", "-m", "1us"],
                      ["--json", "--limit", "3"]):
            run("tree", *words, trace, status=2)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
