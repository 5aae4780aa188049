#!/usr/bin/env python3
"""Recording where memory is short: a control group of 256 MiB or 64 MiB, a shared-memory folder of
64 MiB (as containers have it), one that others have nearly filled. Nothing is killed, the program
ends as it does alone, and what is lost is said. Recorder and program are an ordinary user's and
root's."""
import os
import shutil
from pathlib import Path

import faults
import groups
import setting
import traces

CALLS = setting.cut(12_000_000, 1_500_000)  # two events each
MANY = ("--jobs", "16", "--partition-events", "4000000")
LARGE = ("--buffer", "400M")
GROUPS = setting.cut([(size, options) for size in (256, 64)  # MiB
                      for options in ((), ("--block",), ("--drop",), MANY, LARGE)],
                     [(256, ()), (256, LARGE), (64, MANY)])
LOST = 3  # the command's status
USER = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--bounding-set=-all",
        "--inh-caps=-all"]
SHARED = "mount -t tmpfs -o size=64m,mode=1777 none /dev/shm"
FILLED = SHARED + "; head -c 60M /dev/zero >/dev/shm/others"


# ---- runs ----

def record(work, program, who, script=None, group=None, options=(), threads=4):
    """(result, trace) of one recording."""
    trace = Path(work, "small.ttape")
    trace.unlink(missing_ok=True)
    words = setting.record_words(trace, [program, threads, CALLS], *options, quiet=False)
    words = [*who, *words]
    if script:
        words = faults.private_mounts(script, *words)
    shutil.rmtree(f"{trace}.recording", ignore_errors=True)
    result = setting.run(words, timeout=600, cwd=work, before=group.enter if group else None)
    return result, trace


def check(checks, label, result, trace):
    """What was made is in the trace, or is said to be lost."""
    said = result.err.decode(errors="replace")
    if not checks.that(result.status in (0, LOST), f"{label}: status {result.status}; {said}"):
        return
    made = CALLS // 4 * 4
    about = traces.info(trace)
    kept, lost = about["events"], traces.lost_and_told(about)
    checks.equal(result.status, LOST if lost else 0, f"{label}: status; {lost} events lost")
    checks.that(traces.verify(trace) is None, f"{label}: the trace does not verify")
    checks.that(kept + lost >= 2 * made, f"{label}: {kept} events kept, {lost} lost")
    checks.equal(lost != 0, "lost" in said, f"{label}: {lost} events lost; what is said: {said}")
    waited = "".join(f"; {line}" for line in said.splitlines() if "waited" in line)
    print(f"{label}: {lost} of {2 * made} events lost{waited}", flush=True)


def check_groups(checks, work, program, who, name):
    for mebibytes, options in GROUPS:
        with groups.small(mebibytes) as group:
            if group is None:
                print("left out: no control groups with a limit of memory here", flush=True)
                return
            label = " ".join([f"a control group of {mebibytes} MiB, {name}", *options])
            result, trace = record(work, program, who, group=group, options=options)
            check(checks, label, result, trace)
            checks.equal(group.kill_count(), 0, f"{label}: processes that were killed")
            print(f"    {group.peak_bytes() >> 20} MiB at most", flush=True)


def main():
    setting.need_verb("record")
    faults.need_mounts()
    setting.need_command("setpriv")
    checks = setting.Checks("small memory")
    whos = setting.cut({"an ordinary user": USER, "root": []}, {"an ordinary user": USER})
    with setting.work_dir() as work:
        os.chmod(work, 0o777)
        program = setting.build("p_tight.c", log=False)
        for name, who in whos.items():
            check_groups(checks, work, program, who, name)
            for script, what in ((SHARED, "/dev/shm of 64 MiB"), (FILLED, "4 MiB left of it")):
                result, trace = record(work, program, who, script)
                check(checks, f"{what}, {name}", result, trace)
    checks.verdict()


main()
