#!/usr/bin/env python3
"""The recorder under limits that leave it little room, or none: the command does as it does alone,
with its own limits and signals, whatever was asked for. It is recorded where there is room; where
not, nothing is left behind, and one line says what is missing. As an ordinary user."""
import os
import resource
import sys
from pathlib import Path

import setting
import traces

MIB = 1 << 20
NOBODY = 65534
STATUS = 34
CALLS = 10000
LIMITS = {  # name: which, soft, hard (None: as it is), whether there is room
    "address space 500 MB": (resource.RLIMIT_AS, 512_000_000, 512_000_000, True),
    "address space 64 MB": (resource.RLIMIT_AS, 64 * MIB, 64 * MIB, True),
    "little, soft": (resource.RLIMIT_AS, 24 * MIB, None, True),
    "data 1 MB": (resource.RLIMIT_DATA, MIB, MIB, False),
    "file size 0": (resource.RLIMIT_FSIZE, 0, 0, False),
    "file size 10 KB": (resource.RLIMIT_FSIZE, 10240, 10240, False),
    "file size 1 MB": (resource.RLIMIT_FSIZE, MIB, MIB, True),
    "file size 0, soft": (resource.RLIMIT_FSIZE, 0, None, True),
    "4 descriptors": (resource.RLIMIT_NOFILE, 4, 4, False),
    "6 descriptors": (resource.RLIMIT_NOFILE, 6, 6, False),
    "8 descriptors": (resource.RLIMIT_NOFILE, 8, 8, False),
    "10 descriptors": (resource.RLIMIT_NOFILE, 10, 10, False),
    "14 descriptors": (resource.RLIMIT_NOFILE, 14, 14, False),
    "24 descriptors": (resource.RLIMIT_NOFILE, 24, 24, True),
    "6 descriptors, soft": (resource.RLIMIT_NOFILE, 6, None, True),
    "1 process": (resource.RLIMIT_NPROC, 1, 1, False)}
WAYS = {"as it is": ("-q",), "patched": ("-q", "--patch", ".", "--syscalls"),
        "by ptrace": ("-q", "--syscalls", "--engine", "ptrace")}


def limit(which, soft, hard):
    """In a process that is to be limited, as an ordinary user."""
    def enter():
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        resource.setrlimit(which, (soft, resource.getrlimit(which)[1] if hard is None else hard))
    return enter


def check(checks, work, program, name, way):
    """What the command prints are its limits, and what becomes of signals."""
    which, soft, hard, has_room = LIMITS[name]
    place, label = work / "place", f"{name}, {way}"
    trace = place / "limits.ttape"
    before = limit(which, soft, hard)
    env = setting.environment(XDG_CACHE_HOME=place / "cache", HOME=place, TMPDIR=place)
    alone = setting.run([program], before=before, env=env)
    checks.equal(alone.status, STATUS, f"{label}: alone; {alone.err}")
    done = setting.run([setting.COMMAND, "record", *WAYS[way], "-o", trace, "--", program],
                       before=before, env=env, cwd=place)
    checks.equal((done.status, done.out), (alone.status, alone.out), f"{label}: {done.err}")
    caches = ("cache", ".cache", f"tracetape-{NOBODY if os.geteuid() == 0 else os.geteuid()}")
    left = [path.name for path in place.iterdir() if path.name not in caches]
    checks.equal(left, ["limits.ttape"] if has_room else [], f"{label}: what is left; {done.err}")
    checks.equal(b"not recorded: " in done.err, not has_room, f"{label}: {done.err}")
    if has_room and way != "by ptrace" and trace.exists():
        calls = traces.call_counts(trace)["enter"]
        checks.equal(calls.get("f", 0), CALLS, f"{label}: calls")
    trace.unlink(missing_ok=True)


def main():
    setting.need_verb("record", "syscalls")
    checks = setting.Checks("limits")
    with setting.work_dir() as folder:
        work = Path(folder)
        place = work / "place"
        place.mkdir()
        (place / "cache").mkdir(mode=0o700)
        if os.geteuid() == 0:
            for path in (place, place / "cache"):
                os.chown(path, NOBODY, NOBODY)
        program = setting.build("p_own_limits.c", flags=("-O1",), hooks=False, log=False)
        for number, name in enumerate(LIMITS):
            for way in WAYS if number % 2 == 0 or setting.cut(True, False) else ("patched",):
                check(checks, work, program, name, way)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
