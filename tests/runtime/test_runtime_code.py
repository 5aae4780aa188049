#!/usr/bin/env python3
"""The runtime's code uses general registers only: what a program has in vector, mask and x87
registers stays there, and patched functions save none of them. One function of the API takes a
double, and is called as any function is. Nothing goes by the direction flag, which a program may
have set."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

BUILD = Path(os.environ.get("TTAPE_BUILD") or "build/release")
LIBRARY = BUILD / "libtracetape-rt.so.0"
TAKES_DOUBLE = {"ttape_rt_mark_double"}
# What functions and marks are given in vector registers is put aside, and never changed.
KEEPS = {"ttp_probe_enter_valued_entry", "ttp_probe_exit_valued_entry", "ttp_probe_mark_entry",
         "ttp_library_enter_floats_entry", "ttp_library_exit_floats_entry"}
KEPT = re.compile(r"\tmovsd +%xmm(\d|1[0-5]),-0x[0-9a-f]+\(%rbp\)$")
REACHED = {"ttp_probe_enter_entry", "ttp_probe_exit_entry", "ttp_probe_enter", "ttp_probe_exit",
           *KEEPS, "ttp_stub_enter", "ttp_stub_exit", "ttp_enter_slow", "ttp_block_next"}
OTHER = re.compile(r"%[xyz]?mm\d|%st\b|%k[0-7]|%bnd|\t(f[a-z]\w*|emms|[a-z]*mxcsr|v?zero\w+|"
                   r"xsave\w*|xrstor\w*)(\s|$)|%[de]s:\(%r[sd]i\)")


def main():
    if shutil.which("objdump") is None or not LIBRARY.is_file():
        print("SKIPPED: no objdump, or no runtime")
        return 77
    done = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "-j", ".text", LIBRARY],
                          capture_output=True, text=True, check=True)
    function, seen, found = "", set(), []
    for line in done.stdout.splitlines():
        start = re.match(r"[0-9a-f]+ <(.*)>:$", line)
        if start:
            function = start[1].split(".")[0]
            seen.add(function)
        elif OTHER.search(line) and function not in TAKES_DOUBLE and \
                not (function in KEEPS and KEPT.search(line)):
            found.append(f"{function}: {line.strip()}")
    missing = sorted(REACHED - seen)
    for text in [*found[:10], *(f"'{name}' is not there" for name in missing)]:
        print(text)
    print(f"runtime code: {'FAILED' if found or missing else 'ok'}, {len(seen)} functions")
    return 1 if found or missing else 0


if __name__ == "__main__":
    sys.exit(main())
