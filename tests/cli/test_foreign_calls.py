#!/usr/bin/env python3
"""Random recordings of other tools (foreign_model.py): every call of theirs is one of ours, at its
times and in what is around it. TTAPE_SLOW: 10,000 files."""
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import foreign_model

BIN = os.environ["TTAPE_BIN"]
COUNT = int(os.environ.get("TTAPE_FILES", "10000" if os.environ.get("TTAPE_SLOW") else "240"))


def run(*arguments, good=(0,)):
    done = subprocess.run([BIN, *map(str, arguments)], capture_output=True, check=False)
    assert done.returncode in good, (arguments, done.returncode, done.stderr[-500:])
    return done.stdout, done.stderr


def try_chrome(seed, folder):
    model = foreign_model.Chrome(seed)
    path, trace = f"{folder}/{seed}.json", f"{folder}/{seed}.ttape"
    with open(path, "wb") as file:
        file.write(model.bytes())
    _, errors = run("convert", path, "-o", trace, good=(0, 3) if model.odd else (0,))
    assert b"lie across" not in errors and b"skipped" not in errors, errors
    got = foreign_model.read_calls(run("dump", "--format", "ndjson", trace)[0].splitlines(),
                                   model.shift())
    for key, top in model.threads.items():
        foreign_model.check(top, got[key[1]], model.pairs(top))
    os.unlink(path)
    os.unlink(trace)


def attempt(seed, folder):
    try:
        try_chrome(seed, folder)
    except AssertionError as problem:
        return f"seed {seed}: {problem}"
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
