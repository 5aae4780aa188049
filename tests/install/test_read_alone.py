#!/usr/bin/env python3
"""What reads a trace can be built without threads (TTAPE_THREADS=OFF): the sources that use
threads, mmap or random numbers are compiled so, and need none of them then. The slow form,
test_read_alone_slow.py, builds all of it, and compares answers."""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import read_alone

SOURCE = Path(os.environ["TTAPE_SRC"])
BUILD = Path(os.environ["TTAPE_BUILD"])
COMPILER = os.environ.get("TTAPE_CC") or "cc"


def sources_that_need(objects):
    """Of the objects of the usual build."""
    for line in read_alone.unwanted(objects):
        yield SOURCE / re.sub(r".*\.dir/(.*)\.o(\[.*)?: needs .*$", r"\1", line)


def main():
    listing = BUILD / "gates" / "read_objects.txt"
    if os.environ.get("TTAPE_SANITIZE") or not listing.is_file():
        print("SKIPPED: a sanitizer build needs its runtime, or this one has no tests")
        sys.exit(77)
    needing = sorted(set(sources_that_need(listing.read_text(encoding="utf-8").split())))
    with tempfile.TemporaryDirectory() as work:
        made = [Path(work, f"{path.stem}.o") for path in needing]
        for path, target in zip(needing, made):
            subprocess.run([COMPILER, "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror",
                            "-DTTP_NO_THREADS", f"-I{SOURCE}", f"-I{SOURCE / 'libtrace/include'}",
                            "-c", path, "-o", target], check=True)
        found = read_alone.unwanted(made)
    for line in found:
        print(line)
    if len(needing) < 4:
        print(f"only {len(needing)} sources use threads, mmap or random numbers: is that all?")
    print(f"read alone: {'FAILED' if found or len(needing) < 4 else 'ok'}, {len(needing)} sources")
    sys.exit(1 if found or len(needing) < 4 else 0)


if __name__ == "__main__":
    main()
