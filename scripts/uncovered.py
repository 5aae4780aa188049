#!/usr/bin/env python3
"""Prints what gcovr's JSON says was not covered: lines that never ran, branches never taken."""
import json
import sys
from pathlib import Path


def runs(numbers):
    """1, 2, 3, 7 as "1-3 7"."""
    text, start, last = [], None, None
    for number in [*sorted(numbers), None]:
        if last is not None and number == last + 1:
            last = number
            continue
        if start is not None:
            text.append(str(start) if start == last else f"{start}-{last}")
        start = last = number
    return " ".join(text)


def measure(file):
    """(lines, lines run, branches, branches taken, missed lines, lines with missed branches)"""
    lines = [line for line in file["lines"] if not line.get("gcovr/noncode")]
    branches = [b for line in lines for b in line.get("branches", [])]
    missed = [line["line_number"] for line in lines if line["count"] == 0]
    partly = [line["line_number"] for line in lines
              if line["count"] and any(b["count"] == 0 for b in line.get("branches", []))]
    return (len(lines), len(lines) - len(missed), len(branches),
            sum(b["count"] > 0 for b in branches), missed, partly)


def main():
    files = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["files"]
    totals = {}
    print("\nnot covered (lines never run; lines with a branch that was never taken)")
    for file in sorted(files, key=lambda f: f["file"]):
        *numbers, missed, partly = measure(file)
        total = totals.setdefault(file["file"].split("/")[0], [0, 0, 0, 0])
        for i, number in enumerate(numbers):
            total[i] += number
        if missed or partly:
            print(f"  {file['file']}")
        if missed:
            print(f"    lines     {runs(missed)}")
        if partly:
            print(f"    branches  {runs(partly)}")
    for folder, (lines, ran, branches, taken) in sorted(totals.items()):
        print(f"{folder}: lines {ran}/{lines} {100 * ran / max(lines, 1):.2f} %, "
              f"branches {taken}/{branches} {100 * taken / max(branches, 1):.2f} %")


if __name__ == "__main__":
    main()
