#!/usr/bin/env python3
"""A handler forks, and its child goes on in the hook that was interrupted, when the parent's block
is somebody else's by now: it must not store there. Run as root and as an ordinary user."""
import re
import sys
from pathlib import Path

import setting
import traces

FORKS = setting.cut(5000, 200)


def check(checks, work, compiler):
    program = setting.build("p_fork_late.c", compiler, flags=("-O2",), log=False)
    trace = work / "out.ttape"
    done = setting.tracetape("record", "-q", "-f", "-o", trace, "--buffer", "512K", "--block", "--",
                             program, FORKS)
    checks.equal((done.status, done.err), (0, b""), f"{compiler}: status, messages")
    ran = {name: int(count) for name, count in re.findall(r"(branch|leaf) (\d+)",
                                                          done.out.decode())}
    about = traces.info(trace)
    checks.equal(traces.lost_and_told(about), 0, f"{compiler}: lost")
    first = work / f"parent-{compiler}.ttape"
    stream = min(about["stream_list"], key=lambda one: one["start_time_ns"])
    cut = setting.tracetape("cut", trace, "-o", first, "--thread", stream["tid"])
    checks.equal(cut.status, 0, f"{compiler}: the parent alone; {cut.err}")
    counts = traces.call_counts(first)
    for name, count in ran.items():
        checks.equal((counts["enter"][name], counts["exit"][name]), (count, count),
                     f"{compiler}: calls and ends of {name} in the parent")
    checks.equal(len(ran), 2, f"{compiler}: what the program says")


def main():
    setting.need_verb("record", "dump")
    checks = setting.Checks("fork late")
    with setting.work_dir() as folder:
        for compiler in setting.COMPILERS:
            check(checks, Path(folder), compiler)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
