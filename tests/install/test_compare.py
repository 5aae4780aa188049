#!/usr/bin/env python3
"""scripts/compare prints the table of doc/compare.md: the same rows, those of a tool that is not
there with a word on it; where the program does not run, it says so and prints no table."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ["TTAPE_SRC"])
OURS = 3  # rows of tracetape itself


def run(path, *words):
    return subprocess.run([sys.executable, SOURCE / "scripts" / "compare", "--runs", "1", *words],
                          env={**os.environ, "PATH": path}, capture_output=True, text=True,
                          check=False)


def rows(text):
    return [[cell.strip() for cell in line.strip("|").split("|")]
            for line in re.findall(r"^\|.*\|$", text, re.M)]


def main():
    if os.environ.get("TTAPE_SANITIZE"):
        print("SKIPPED: a program is recorded by the release's runtime")
        sys.exit(77)
    page = (SOURCE / "doc" / "compare.md").read_text(encoding="utf-8")
    shown = rows(page.split("## What recording costs")[1])
    with tempfile.TemporaryDirectory() as folder:
        for tool in ("gcc", "as", "ld"):  # and none of the others
            Path(folder, tool).symlink_to(shutil.which(tool))
        done = run(folder, "--size", "2")
        assert done.returncode == 0 and not done.stderr, done
        got = rows(done.stdout)
        assert [row[:2] for row in got] == [row[:2] for row in shown], (got, shown)
        absent = [row for row in got if "is not installed" in row[-1]]
        measured = [row for row in got if re.fullmatch(r"[0-9.]+ x", row[2])]
        assert len(measured) == OURS and len(absent) == len(got) - OURS - 3, got
        done = run(folder, "--size", "99")
        assert done.returncode == 1 and not done.stdout, done
        assert "the program does not run" in done.stderr, done
    print(f"compare: ok, {len(measured)} rows measured")


main()
