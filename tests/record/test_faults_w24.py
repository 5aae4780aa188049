#!/usr/bin/env python3
"""W24: the threads of the recorder cannot be made, never run, or it is stopped for good; the same
of the helper thread where a program records itself: nobody waits for ever, and what is lost is
counted."""
import os
import signal
import time
from pathlib import Path

import faults
import setting
import traces


def no_threads(checks, work):
    host = faults.Host(work, "p_calls.c", [6])
    for number in ("1", "2", "1+"):
        outcome = host.run(f"recorder's thread {number} cannot be made", ["--jobs", "3"],
                           env=faults.disturbed(f"pthread_create:error=11:{number}"))
        host.check_lives(checks, outcome, may_refuse=False)
        faults.recover(checks, outcome)
        checks.equal(outcome.result.status, 0, f"{outcome.label}: status")


def stopped_for_good(checks, work):
    """With --block the program waits for a recorder that lives, not for one that does nothing."""
    host = faults.Host(work, "p_steady.c", [400, 2])
    for options in ([], ["--block"]):
        label = f"recorder stopped for good {' '.join(options)}"
        begin = time.monotonic()

        def then(process, outcome):
            time.sleep(0.1)
            os.kill(process.pid, signal.SIGSTOP)
            until = time.monotonic() + 20
            while not (outcome.folder / "status").exists() and time.monotonic() < until:
                time.sleep(0.02)
            time.sleep(0.05)
            os.kill(process.pid, signal.SIGKILL)
        outcome = host.run(label, options, then=then)
        seconds = time.monotonic() - begin
        host.check_lives(checks, outcome, may_refuse=False)
        checks.that(seconds < 15, f"{label}: the program took {seconds:.1f} s")
        faults.recover(checks, outcome)


def starved(checks, work):
    """The recorder runs only when nobody else wants to."""
    host = faults.Host(work, "p_steady.c", [500, 3])
    outcome = host.run("recorder starved", prefix=["chrt", "-i", "0"],
                       inner=["chrt", "-o", "0"])
    host.check_lives(checks, outcome, may_refuse=False)
    trace = faults.recover(checks, outcome)
    if checks.that(trace is not None, "recorder starved: no trace"):
        lines = (outcome.folder / "report").read_text(encoding="ascii").splitlines()
        made = {name: int(count) for name, count in (line.split() for line in lines)}
        faults.check_calls(checks, outcome.label, trace, made, loss=True)


def helper(checks, work):
    """A program that records itself, TRACETAPE=FILE, with and without a thread for it."""
    runtime = sorted(setting.BUILD.glob("**/libtracetape-rt.so.0"))
    if not checks.that(runtime, "this build has no runtime library"):
        return
    program = setting.build("p_calls.c")
    alone = setting.run([program, 5])
    plans = {"": "recorded", "pthread_create:error=11:1+": "helper cannot be made"}
    for plan, label in plans.items():
        out = Path(work, f"self.{len(plan)}.ttape")
        preload = f"{runtime[0]}:{faults.shim()}" if plan else str(runtime[0])
        env = setting.environment(LD_PRELOAD=preload, TRACETAPE=out, FAULTS=plan,
                                  FAULTS_IN=program.name)
        done = setting.run([program, 5], env=env, cwd=work)
        checks.equal((done.status, done.out), (alone.status, alone.out), f"by itself, {label}")
        checks.that(len(done.err.splitlines()) <= 1, f"by itself, {label}: messages", done.err)
        if not plan and checks.that(out.is_file(), "by itself: no trace"):
            checks.that(traces.verify(out) is None, f"by itself: {traces.verify(out)}")
            # names may be for `tracetape symbolize`: calls are counted, whatever they are called
            whole = Path(work, "recorded.ttape")
            setting.run(setting.record_words(whole, [program, 5]), cwd=work)
            enters = [sum(traces.call_counts(path)["enter"].values()) for path in (out, whole)]
            checks.equal(enters[0], enters[1], "by itself: calls")


def main():
    setting.need_verb("record", "recover")
    setting.need_command("chrt")
    checks = setting.Checks("W24")
    with setting.work_dir() as work:
        no_threads(checks, work)
        stopped_for_good(checks, work)
        starved(checks, work)
        helper(checks, work)
    checks.verdict()


main()
