#!/usr/bin/env python3
"""Library calls that no relocation of the executable tells of: of functions that it has by dlsym,
in libraries that were there and in ones that are loaded later; and with --nest-libcalls those of
libraries into one another. uftrace, which is told of the same, sees the same."""
import collections
import csv
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import setting
import traces

SHARED = ("-O1", "-fPIC", "-shared", "-Wl,--build-id")
FLAGS = ("-O1", "-fno-builtin", "-U_FORTIFY_SOURCE")


def build(work):
    """The program, and what it loads: one library that needs the other."""
    made = {"log": False, "hooks": False}
    below = setting.build("p_nested.c", flags=(*SHARED, "-DLIBRARY_BELOW"), output="below.so",
                          **made)
    above = setting.build("p_nested.c", flags=(*SHARED, "-DLIBRARY_ABOVE"), output="above.so",
                          libraries=(below, f"-Wl,-rpath,{below.parent}"), **made)
    (work / "above.so").symlink_to(above)
    return [setting.build("p_nested.c", flags=FLAGS, **made), work]


def record(checks, work, command, *options):
    """Once more where a busy machine did not make a plan in time."""
    trace = work / "nested.ttape"
    for _ in range(5):
        done = setting.tracetape("record", "-q", "-f", "-o", trace, *options, "--", *command)
        if traces.number(traces.info(trace), "unpatched_modules") == 0:
            break
    checks.equal((done.status, done.err, traces.verify(trace)), (3, b"", None), f"{options}")
    return done.out.decode(), collections.Counter(dict(traces.call_counts(trace)["enter"]))


def check(checks, work, command, word, *options):
    for again in ("first", "again"):
        out, found = record(checks, work, command, *options)
        wanted = {name: int(n) for name, n in re.findall(rf"(?m)^{word} (\w+) (\d+)$", out)}
        checks.that(len(wanted) == 8, f"{options}: {out}")
        checks.equal({name: found[name] for name in wanted}, wanted, f"{options}, {again}")
    return found


def check_joined(checks, work):
    """Of the recording that is there: calloc and memset end where they return, not with the next
    call, though they share returns with others."""
    done = setting.tracetape("export", "--format", "csv", work / "nested.ttape", "-o", "-")
    ends = collections.Counter((row["symbol"], row["kind"])
                               for row in csv.DictReader(io.StringIO(done.out.decode())))
    for name in ("calloc", "memset", "malloc"):
        checks.equal((ends[name, "exit"], ends[name, "unwind"]), (ends[name, "enter"], 0),
                     f"ends of {name}")
    checks.that(ends["calloc", "enter"] >= 25, f"calloc: {ends['calloc', 'enter']}")


def check_uftrace(checks, work, command, ours):
    """What both can see: uftrace knows calls through the linker's tables only."""
    if shutil.which("uftrace") is None:
        print("left out: uftrace is not installed")
        return
    place = work / "uftrace"
    subprocess.run(["uftrace", "record", "--force", "--nest-libcall", "-d", place,
                    *map(str, command)], capture_output=True, check=False, timeout=60)
    told = subprocess.run(["uftrace", "report", "-d", place, "-f", "call"], capture_output=True,
                          text=True, check=False, timeout=60).stdout
    theirs = {name: int(n) for n, name in re.findall(r"(?m)^ +(\d+) +(\w+)$", told)}
    if "dlsym" not in theirs:
        print(f"left out: uftrace says nothing of it: {told[:200]}")
        return
    print("calls, ours and uftrace's:",
          {name: (ours[name], theirs.get(name, 0))
           for name in sorted({*theirs, "above", "getenv"})})
    checks.equal({name: (n, ours[name]) for name, n in theirs.items() if ours[name] < n}, {},
                 "uftrace sees more")


def main():
    setting.need_verb("record")
    checks = setting.Checks("nested library calls")
    with setting.work_dir() as folder:
        work = Path(folder)
        os.environ["XDG_CACHE_HOME"] = str(setting.plans(work / "cache"))
        command = build(work)
        check(checks, work, command, "count", "--libcalls")
        check_joined(checks, work)
        ours = check(checks, work, command, "nested", "--nest-libcalls")
        some = record(checks, work, command, "--nest-libcalls", "--libcalls=^(below|getenv)$")[1]
        checks.equal((some["below"], some["getenv"], some["above"]), (25, 25, 0), "chosen ones")
        check_uftrace(checks, work, command, ours)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
