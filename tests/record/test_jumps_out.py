#!/usr/bin/env python3
"""Handlers that jump out of the hooks that they interrupt, again and again: nothing is lost, nobody
waits, and frames stay whole. Run as root and as an ordinary user."""
import collections
import re
import subprocess
import sys
from pathlib import Path

import setting
import traces

JUMPS = setting.cut(30000, 200)
DEPTH = 8  # main, run, branch, leaf, a signal, its handler; a jump that left a frame would add it


def scan(path):
    """Counts by kind and name, and the deepest event."""
    counts, deepest = collections.Counter(), 0
    with subprocess.Popen([setting.COMMAND, "dump", "--format", "csv", path], text=True,
                          stdout=subprocess.PIPE) as dump:
        next(dump.stdout)
        for line in dump.stdout:
            parts = line.rstrip("\n").split(",", 7)
            counts[parts[3], parts[6]] += 1
            deepest = max(deepest, int(parts[4]))
    return counts, deepest


def check(checks, work, program, how, options):
    label, trace = f"{how} {' '.join(options)}", work / "out.ttape"
    done = setting.tracetape("record", "-f", "-o", trace, *options, "--", program, JUMPS, how)
    checks.equal(done.status, 0, f"{label}: status; {done.err}")
    ran = {name: int(count) for name, count in re.findall(r"(branch|leaf) (\d+)",
                                                          done.out.decode())}
    checks.equal(len(ran), 2, f"{label}: what the program says")
    about = traces.info(trace)
    checks.equal((traces.lost(about), about["gaps"]), (0, 0), f"{label}: lost, gaps")
    checks.that(b"waited" not in done.err, f"{label}: waits", done.err)
    checks.equal(traces.verify(trace), None, f"{label}: verify")
    counts, deepest = scan(trace)
    for name, count in ran.items():
        found = counts["enter", name]
        checks.that(count <= found <= count + JUMPS,
                    f"{label}: {found} calls of {name}, {count} ran")
    checks.that(deepest <= DEPTH, f"{label}: {deepest} frames")
    told = counts["enter", "told"] if how != "untold" else JUMPS
    checks.that(told >= JUMPS, f"{label}: {told} handlers")


def main():
    setting.need_verb("record", "dump")
    checks = setting.Checks("jumps out")
    with setting.work_dir() as folder:
        for compiler in setting.COMPILERS:
            program = setting.build("p_jumps_out.c", compiler, flags=("-O2",), log=False)
            for how in ("told", "untold", "alternate"):
                check(checks, Path(folder), program, how, [])
            check(checks, Path(folder), program, "told", ["--block"])
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
