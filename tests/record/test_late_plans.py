#!/usr/bin/env python3
"""A recorder that is given no core for longer than a plan is usually waited for: the program waits
on while the recorder lives, and its functions are patched. Where a plan is waited for in vain, that
is the reason that is said (it takes five minutes: test_late_plans_slow; here the count is set)."""
import shutil
from pathlib import Path

import late_plans
import setting
import traces

STOPPED_S = 2.5  # more than FREE_NS of recorder/runtime/patch/plan_wait.c
LATE_PLANS_AT = 2560  # in the arena's head
COUNT = f'printf "\\2" | dd of=$TRACETAPE_ARENA bs=1 seek={LATE_PLANS_AT} conv=notrunc status=none'
TOO_LATE = ("not made in time, as the recorder was given too little processor time")
WRONG = ("none of its functions", "no name matches", "made none of these", "filters left none")


def check_waits(checks, work):
    trace = Path(work, "late.ttape")
    status, err = late_plans.record(work, trace, STOPPED_S)
    checks.equal(status, 0, f"status; {err}")
    checks.equal(traces.call_counts(trace)["enter"]["leaf"], 1000, f"calls; {err}")


def check_says(checks, work, *options):
    """Of a program that says that two of its plans came too late, and records nothing."""
    trace = Path(work, "none.ttape")
    done = setting.tracetape("record", "-o", trace, *options, "--", "sh", "-c", COUNT,
                             env=setting.environment(XDG_CACHE_HOME=work))
    err = done.err.decode()
    checks.equal(done.status, 4, f"{options}: status; {err}")
    checks.that(TOO_LATE in err and not any(words in err for words in WRONG) and
                not trace.exists(), f"{options}: what is said", err)


def check_tells(checks, work):
    """Of one that records its shell."""
    trace = Path(work, "some.ttape")
    done = setting.tracetape("record", "-o", trace, "--patch", ".", "--", "sh", "-c", COUNT,
                             env=setting.environment(XDG_CACHE_HOME=work))
    err = done.err.decode()
    checks.that(done.status == 0 and "the plans of 2 modules were" in err and TOO_LATE in err,
                "what is said with a trace", err)
    checks.equal(traces.number(traces.info(trace), "late_plans"), 2, "what the trace says")


def check_unanswered(checks, work):
    """Nobody can make a plan of a file whose path has no room in a note: that is no lack of time,
    and is not waited for."""
    folder = Path(work, "x" * 120, "y" * 120)
    folder.mkdir(parents=True)
    library = shutil.copy(setting.build("p_notes.c", flags=("-shared", "-fPIC", "-DLIBRARY"),
                                        output="notes.so", log=False, hooks=False), folder)
    done = setting.tracetape("record", "-o", Path(work, "long.ttape"), "--patch", "^answers$",
                             "--module", "/notes.so$", "--", "env", f"LD_PRELOAD={library}", "true",
                             env=setting.environment(XDG_CACHE_HOME=work))
    checks.that(done.status == 4 and b"a file was replaced while it ran, or cannot be read" in
                done.err, f"a path that is too long: {done.status}", done.err)


def main():
    setting.need_verb("record")
    checks = setting.Checks("late plans")
    with setting.work_dir() as work:
        check_waits(checks, work)
        check_says(checks, work, "--patch", "^leaf$")
        check_says(checks, work, "--patch", "^leaf$", "--syscalls=swapoff")
        check_tells(checks, work)
        check_unanswered(checks, work)
    checks.verdict()


main()
