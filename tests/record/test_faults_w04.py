#!/usr/bin/env python3
"""W4: the file system that the trace goes to is full: a tmpfs of 1 MiB, a small ext4 image. The
program ends as it would, without a SIGBUS; one message; what was written verifies."""
import subprocess
from pathlib import Path

import faults
import setting
import traces


def on_tmpfs(checks, host, size, work):
    """The recording's folder is a small file system; what is on it is copied out at the end."""
    place, kept = Path(work, "small"), host.folder()
    place.mkdir(exist_ok=True)
    script = (f"mount -t tmpfs -o size={size} none {faults.quoted(place)}; "
              f'"$@"; s=$?; cp -a {faults.quoted(place)}/. {faults.quoted(kept)}/; exit $s; :')
    outcome = host.run(f"tmpfs of {size}", prefix=faults.private_mounts(script),
                       output=place / "out.ttape", folder=kept)
    outcome.trace = kept / "out.ttape"
    return outcome


def check(checks, host, outcome):
    host.check_lives(checks, outcome)
    trace = faults.recover(checks, outcome)
    report = outcome.folder / "report"
    if trace and report.is_file():
        made = dict(line.split() for line in report.read_text(encoding="ascii").splitlines())
        faults.check_calls(checks, outcome.label, trace,
                           {name: int(count) for name, count in made.items()}, loss=True)
    return trace


def on_ext4(checks, host, work):
    """Space that runs out when the pages are written back, not when they are written."""
    image, place, kept = Path(work, "image"), Path(work, "disk"), host.folder()
    with open(image, "wb") as file:
        file.truncate(4 << 20)
    place.mkdir()
    done = subprocess.run(["mkfs.ext4", "-q", "-O", "^has_journal", image], check=False,
                          capture_output=True)
    probe = subprocess.run(faults.private_mounts(
        f"mount -o loop {faults.quoted(image)} {faults.quoted(place)}", "true"), check=False,
        capture_output=True)
    if done.returncode or probe.returncode:
        print("left out: no loop devices or no mkfs.ext4 here")
        return
    script = (f"mount -o loop {faults.quoted(image)} {faults.quoted(place)}; "
              f'"$@"; s=$?; cp -a {faults.quoted(place)}/out* {faults.quoted(kept)}/; exit $s; :')
    outcome = host.run("ext4 of 4 MiB", prefix=faults.private_mounts(script),
                       output=place / "out.ttape", folder=kept)
    outcome.trace = kept / "out.ttape"
    check(checks, host, outcome)


def main():
    setting.need_verb("record", "recover")
    faults.need_mounts()
    checks = setting.Checks("W4")
    with setting.work_dir() as work:
        host = faults.Host(work, "p_steady.c", [700, 2])
        for size in ("64k", "1m", "6m", "12m"):
            check(checks, host, on_tmpfs(checks, host, size, work))
        on_ext4(checks, host, work)
        # the program's own writes to that file system fail as they do without tracing, no more
        limits = faults.Host(work, "p_limits.c", [100])
        outcome = on_tmpfs(checks, limits, "1m", work)
        limits.check_lives(checks, outcome)
        trace = faults.recover(checks, outcome)
        checks.that(trace is None or traces.verify(trace) is None, "limits: the trace is damaged")
    checks.verdict()


main()
