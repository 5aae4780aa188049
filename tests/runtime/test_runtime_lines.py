#!/usr/bin/env python3
"""What each hook reads and writes of its thread lies in one line of the cache, wherever a loader
puts the thread-local memory. That blocks share none is asserted in recorder/arena/arena.h."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

BUILD = Path(os.environ.get("TTAPE_BUILD") or "build/release")
LIBRARY = BUILD / "libtracetape-rt.so.0"
HOT_BYTES, LINE = 24, 64


def said(*words):
    return subprocess.run(["readelf", *words, LIBRARY], capture_output=True, text=True,
                          check=True).stdout


def thread_state_problems():
    """Wherever a loader may put the library's thread-local memory."""
    alignment = [int(m, 16) for m in re.findall(r"^ *TLS .* (0x[0-9a-f]+)$", said("-lW"), re.M)]
    place = [int(m, 16) for m in re.findall(r"^ *\d+: ([0-9a-f]+) +\d+ TLS .* ttp_thread$",
                                            said("-sW"), re.M)]
    if len(alignment) != 1 or len(place) != 1:
        return [f"{len(alignment)} thread-local segments, {len(place)} states of threads"]
    step = min(alignment[0], LINE)
    return [f"at {at} of a line, its {HOT_BYTES} bytes lie in two" for at in
            range(place[0] % step, LINE, step) if at + HOT_BYTES > LINE]


def main():
    if shutil.which("readelf") is None or not LIBRARY.is_file():
        print("SKIPPED: no readelf, or no runtime")
        return 77
    found = thread_state_problems()
    for text in found:
        print(text)
    print(f"runtime lines: {'FAILED' if found else 'ok'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
