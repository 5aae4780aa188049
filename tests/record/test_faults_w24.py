#!/usr/bin/env python3
"""W24: the threads of the recorder cannot be made, never run, or it is stopped for good or killed;
the same of the helper thread where a program records itself: nobody waits for ever, and what is
lost is counted, each event."""
import contextlib
import os
import signal
import time
from pathlib import Path

import failing
import faults
import setting
import traces


NO_THREAD = "pthread_create:error=11:1+"
LITTLE = ["--spill", "1M", "--buffer", "1M"]


def no_threads(checks, work):
    host = faults.Host(work, "p_calls.c", [6])
    for number in ("1", "2", "1+"):
        outcome = host.run(f"recorder's thread {number} cannot be made", ["--jobs", "3"],
                           env=faults.disturbed(f"pthread_create:error=11:{number}"))
        host.check_lives(checks, outcome, may_refuse=False)
        trace = faults.recover(checks, outcome)
        checks.equal(outcome.result.status, 0, f"{outcome.label}: status")
        if checks.that(trace == outcome.trace, f"{outcome.label}: no trace"):
            faults.check_calls(checks, outcome.label, trace, host.made(outcome))


def nobody_empties(checks, work):
    """Without its thread the recorder encodes at the end: who waits before that is served too, the
    program for room in the spill file, and `control` for a flush."""
    host = faults.Host(work, "p_steady.c", [300, 2, *faults.PACE])
    for options in ([], ["--block"]):
        outcome = host.run(f"no thread, little spill {' '.join(options)}", LITTLE + options,
                           env=faults.disturbed(NO_THREAD))
        host.check_lives(checks, outcome, may_refuse=False)
        if checks.that(outcome.trace.is_file(), f"{outcome.label}: no trace"):
            lost = faults.check_exact(checks, host, outcome, faults.recover(checks, outcome))
            checks.that(not options or lost == 0, f"{outcome.label}: {lost} lost")
    answers = []

    def flush(process, _):
        faults.wait_for_start(process, "p_steady")
        answers.append(setting.tracetape("control", process.pid, "flush"))
        faults.end_steady(process)
    host = faults.Host(work, "p_steady.c", [300, 2, 100])
    host.args[0] = faults.STEADY_MS
    outcome = host.run("no thread, flush", env=faults.disturbed(NO_THREAD), then=flush)
    host.check_lives(checks, outcome, may_refuse=False)
    faults.recover(checks, outcome)
    checks.that(answers[0].status == 0, f"no thread: flush: {answers[0].status}",
                answers[0].err.decode(errors="replace"))


def gone(checks, work):
    """A recorder that is stopped for good or killed while threads record: with --block the program
    waits for one that lives, not for one that does nothing."""
    runs = failing.Runs(at_once=4)  # they wait, mostly
    host = faults.Host(work, "p_steady.c", [1500, 3, *faults.PACE])

    def one(number, options):
        def then(process, outcome):
            faults.wait_for_start(process, "p_steady")
            os.kill(process.pid, number)
            until = time.monotonic() + 90
            while not (outcome.folder / "status").exists() and time.monotonic() < until:
                time.sleep(0.02)
            time.sleep(0.05)
            process.kill()
        # few blocks: what is made on a busy machine would find room in more of them
        outcome = host.run(f"recorder: {number.name} {' '.join(options)}",
                           ["--buffer", "1M", *options], then=then)
        host.check_lives(checks, outcome, may_refuse=False)
        trace = faults.recover(checks, outcome)
        if checks.that(trace is not None, f"{outcome.label}: nothing is left"):
            lost = faults.check_exact(checks, host, outcome, trace)
            checks.that(lost > 0, f"{outcome.label}: nothing lost: it ended before that")
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for options in ([], ["--block"]):
            runs.add(one, number, options)
    runs.run(checks)


def feed(process, outcome):
    """Where others are busy all the time it would not come to its end: when the program has, it is
    a process as any other."""
    until = time.monotonic() + 240
    while not (outcome.folder / "status").exists() and process.poll() is None and \
            time.monotonic() < until:
        time.sleep(0.02)
    for task in os.listdir(f"/proc/{process.pid}/task"):
        with contextlib.suppress(ProcessLookupError):
            os.sched_setscheduler(int(task), os.SCHED_OTHER, os.sched_param(0))


def starved(checks, work):
    """The recorder runs only when nobody else wants to, while the program runs."""
    host = faults.Host(work, "p_steady.c", [setting.cut(500, 200), 3, *faults.PACE])
    outcome = host.run("recorder starved", prefix=["chrt", "-i", "0"],
                       inner=["chrt", "-o", "0"], then=feed)
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
    plans = {"": "recorded", NO_THREAD: "helper cannot be made"}
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
    setting.go_apart()
    checks = setting.Checks("W24")
    with setting.work_dir() as work:
        no_threads(checks, work)
        nobody_empties(checks, work)
        gone(checks, work)
        starved(checks, work)
        helper(checks, work)
    checks.verdict()


main()
