#!/usr/bin/env python3
"""Random recordings of other tools (foreign_model.py, foreign_folders.py): every call of theirs is
one of ours, at its times and in what is around it. TTAPE_SLOW: 10,000 files."""
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import foreign_folders
import foreign_model

BIN = os.environ["TTAPE_BIN"]
COUNT = int(os.environ.get("TTAPE_FILES", "10000" if os.environ.get("TTAPE_SLOW") else "240"))


def run(*arguments, good=(0,)):
    done = subprocess.run([BIN, *map(str, arguments)], capture_output=True, check=False)
    assert done.returncode in good, (arguments, done.returncode, done.stderr[-500:])
    return done.stdout, done.stderr


def attempt(seed, folder):
    """Every third file is of each kind. What is wrong with it, or None."""
    kind = (foreign_model.Chrome, foreign_folders.Folder, foreign_folders.Text)[seed % 3]
    model = kind(seed)
    path, trace = f"{folder}/{seed}", f"{folder}/{seed}.ttape"
    model.write(path)
    try:
        odd = getattr(model, "odd", False)
        _, errors = run("convert", path, "-o", trace, good=(0, 3) if odd else (0,))
        assert b"lie across" not in errors and b"skipped" not in errors, errors
        lines, _ = run("dump", "--format", "ndjson", trace)
        shift = model.shift() if kind is foreign_model.Chrome else 0
        model.check(foreign_model.read_calls(lines.splitlines(), shift))
    except AssertionError as problem:
        return f"{kind.__name__} {seed}: {problem}"
    if os.path.isdir(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)
    os.unlink(trace)
    return None


def main():
    first = int(os.environ.get("TTAPE_SEED", "1"))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        failures = [f for f in pool.map(lambda s: attempt(s, folder), range(first, first + COUNT))
                    if f is not None]
    for failure in failures[:5]:
        print(failure[:2000])
    print(f"{len(failures)} of {COUNT} files are not what they were")
    sys.exit(1 if failures else 0)


main()
