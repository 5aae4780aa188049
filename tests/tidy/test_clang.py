#!/usr/bin/env python3
"""Clang gate: the product's sources as clang reads them, with the warnings of the build as errors.
The gate builds with gcc only."""
import json
import os
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tidy

DROPPED = ("-fexcess-precision=standard", "-fno-partial-inlining",
           "-fno-tree-loop-distribute-patterns", "-mstringop-strategy=unrolled_loop", "-MD")
WITH_WORD = ("-MT", "-MF", "-o", "-c")


def arguments(command):
    """Of a line of the build: without compiler, launcher, source and outputs."""
    words = iter(shlex.split(command))
    kept = []
    for word in words:
        if word in WITH_WORD:
            next(words)
        elif word not in DROPPED:
            kept.append(word)
    return kept[next(i for i, word in enumerate(kept) if word.startswith("-")):]


def check(entry):
    words = ["clang", "-fsyntax-only", "-Qunused-arguments", *arguments(entry["command"])]
    done = subprocess.run([*words, entry["file"]], cwd=entry["directory"], capture_output=True,
                          text=True, check=False)
    return done.stderr if done.returncode else ""


def main():
    listed = Path(os.environ.get("TTAPE_BUILD") or tidy.ROOT / "build" / "release",
                  "compile_commands.json")
    if shutil.which("clang") is None or not listed.is_file():
        print(f"SKIPPED: needs clang, and '{listed}'")
        sys.exit(77)
    entries = {}
    for entry in json.loads(listed.read_text(encoding="utf-8")):
        path = Path(entry["file"])
        if path.is_relative_to(tidy.ROOT) and path.relative_to(tidy.ROOT).parts[0] in tidy.PRODUCT:
            entries.setdefault(path.relative_to(tidy.ROOT), entry)
    all_entries, entries = entries, {path: entries[path] for path in tidy.recent(entries)}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = [text for text in pool.map(check, entries.values()) if text]
    print("".join(said)[:4000], end="")
    print(f"clang: {'FAILED' if said else 'ok'}, {len(entries)} of {len(all_entries)} sources, "
          f"{len(said)} with findings")
    sys.exit(bool(said) or not all_entries)


main()
