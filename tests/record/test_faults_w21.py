#!/usr/bin/env python3
"""W21: the recorder is stopped for a while, its disk stalls, the program is stopped: raw records
spill within their bound, then events are dropped and counted; the program waits only with --block,
and then nothing is lost."""
import os
import signal
import time

import faults
import setting
import traces

BUSY_MS = 900


def report_of(outcome):
    lines = (outcome.folder / "report").read_text(encoding="ascii").splitlines()
    return {name: int(count) for name, count in (line.split() for line in lines)}


def stopped(seconds, number=signal.SIGSTOP, pid_of=None):
    """What to do while it runs: stop the recorder (or the program) and let it go on."""
    def then(process, outcome):
        time.sleep(0.2)
        pid = pid_of(process) if pid_of else process.pid
        os.kill(pid, number)
        time.sleep(seconds)
        os.kill(pid, signal.SIGCONT)
    return then


def check(checks, host, outcome, loss):
    host.check_lives(checks, outcome, may_refuse=False)
    trace = faults.recover(checks, outcome)
    if not checks.that(trace == outcome.trace, f"{outcome.label}: no trace"):
        return None
    faults.check_calls(checks, outcome.label, trace, report_of(outcome), loss)
    about = traces.info(trace)
    if traces.lost(about) == 0:
        counts = traces.call_counts(trace)
        checks.equal(counts["exit"]["node"], counts["enter"]["node"], f"{outcome.label}: returns")
    return about


def main():
    setting.need_verb("record")
    checks = setting.Checks("W21")
    with setting.work_dir() as work:
        host = faults.Host(work, "p_steady.c", [BUSY_MS, 2])
        begin = time.monotonic()
        outcome = host.run("recorder stopped for 0.6 s", then=stopped(0.6))
        about = check(checks, host, outcome, loss=True)
        checks.that(about and traces.lost(about) > 0,
                    "a recorder that was stopped lost nothing: no full speed?")
        checks.that(time.monotonic() - begin < 30, "recorder stopped: takes too long")
        outcome = host.run("recorder stopped for 0.6 s, --block", ["--block"], then=stopped(0.6))
        check(checks, host, outcome, loss=False)
        plan = "write:delay=200:3,pwrite:delay=200:3,write:delay=200:9,pwrite:delay=200:9"
        outcome = host.run("disk stalls", env=faults.disturbed(plan))
        check(checks, host, outcome, loss=True)
        outcome = host.run("disk stalls, --block", ["--block"], env=faults.disturbed(plan))
        check(checks, host, outcome, loss=False)
        outcome = host.run("little spill", ["--spill", "1M", "--buffer", "1M"],
                           env=faults.disturbed("write:delay=30:1+,pwrite:delay=30:1+"))
        check(checks, host, outcome, loss=True)
        slow = faults.Host(work, "p_steady.c", [400, 2, 50])
        outcome = slow.run("program stopped", then=stopped(
            0.4, pid_of=lambda p: faults.child_named(p, "p_steady") or p.pid))
        check(checks, slow, outcome, loss=False)
    checks.verdict()


main()
