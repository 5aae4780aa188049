#!/usr/bin/env python3
"""A recorder that gets little of a core, and a spill file that is full at once: a program that
calls all the time waits for half of the time at most, whatever clock there is, and goes on; what is
lost is counted and said. Where it is asked to wait, it does, and loses nothing."""
import os
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import setting
import traces

RUN_S = setting.cut(12, 4)
AT_ONCE_S = 2  # of waiting
LATE_S = 0.3   # by which a busy machine may end a wait
STOPPED_S, RUNNING_S = 0.2, 0.01
TOLD_S = 0.001  # of clocks
NODE_EVENTS = 8  # of each call of node, and of those in it
SMALL = ["--buffer", "1M", "--spill", "256K", "--partition-events", "20000"]
BEGIN = 'echo begins; exec "$0" "$@"'


def slow_down(process, done, turns):
    """Lets the recorder run for a twentieth of the time."""
    while not done.is_set():
        os.kill(process.pid, signal.SIGSTOP)
        done.wait(turns * STOPPED_S)
        os.kill(process.pid, signal.SIGCONT)
        done.wait(turns * RUNNING_S)


def record(trace, report, words, turns, *options):
    """(status, what was said): the recorder is slow from when the program calls until it ends."""
    words = setting.record_words(trace, ["sh", "-c", BEGIN, *words], *SMALL, *options, quiet=False)
    with subprocess.Popen([str(w) for w in words], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=setting.environment(OWN_REPORT=report)) as process:
        process.stdout.readline()  # it begins
        done = threading.Event()
        slow = threading.Thread(target=slow_down, args=(process, done, turns))
        slow.start()
        process.stdout.readline()  # it ends
        done.set()
        slow.join()
        return process.wait(120), process.stderr.read()


def run(checks, label, work, program, seconds, threads, *options, turns=1):
    """What is known of the trace, with calls and waits; it has all that it does not say is lost.
    The recorder is stopped for so many turns at once."""
    trace, report = Path(work, f"{label}.ttape"), Path(work, f"{label}.report")
    status, said = record(trace, report, [program, int(seconds * 1000), threads], turns, *options)
    about = traces.info(trace)
    waited = {m["key"]: m["value"] for m in about["metadata"]}.get("recorder_wait_ns", 0) / 1e9
    made = NODE_EVENTS * int(report.read_text(encoding="ascii").split()[1])
    lost = traces.lost_and_told(about)
    print(f"{label}: {made} events, {about['events']} recorded, {lost} lost, waited {waited:.3f} s")
    checks.equal(status, 3 if lost else 0, f"{label}: status; {said}")
    checks.equal(f"{lost} events were lost" in said, lost > 0, f"{label}: {said}")
    checks.that(about["events"] + lost >= made, f"{label}: {made} events, some are not counted")
    checks.equal(traces.verify(trace), None, f"{label}: verify")
    calls, own = traces.recorder_calls(trace)
    if "none" in options:
        checks.equal(calls, 0, f"{label}: calls of the recorder's without times")
    else:  # a wait that is on when the process ends has no more records
        checks.that(waited - AT_ONCE_S / 2 - LATE_S <= own / 1e9 <= waited + TOLD_S,
                    f"{label}: {own / 1e9:.3f} s of {waited:.3f} s are the recorder's")
    return about["events"], lost, waited


def waits_for_a_share(checks, work, program):
    most = (RUN_S + AT_ONCE_S) / 2 + LATE_S
    recorded, lost, waited = run(checks, "share", work, program, RUN_S, 1)
    checks.that(waited <= most, f"it waited {waited:.3f} s of {RUN_S} s, of {most} s at most")
    checks.that(lost > 0 or waited <= RUN_S / 2,  # where the program got little of a core
                f"it lost nothing, waited {waited:.3f} s: {recorded} were recorded")


def waits_without_times(checks, work, program):
    """It is stopped for so long that what is made meanwhile has no room on any machine."""
    recorded, lost, _ = run(checks, "no-times", work, program, RUN_S, 3, "--clock", "none", turns=5)
    checks.that(lost > 0, f"without times it lost nothing, and stood: {recorded} recorded")


def waits_as_asked(checks, work, program):
    _, lost, _ = run(checks, "block", work, program, 0.5, 1, "--block")
    checks.equal(lost, 0, "with --block")


def main():
    setting.need_verb("record")
    checks = setting.Checks("slow recorder")
    with setting.work_dir() as work, ThreadPoolExecutor(3) as pool:
        program = setting.build("p_steady.c")
        for done in [pool.submit(one, checks, work, program)
                     for one in (waits_for_a_share, waits_without_times, waits_as_asked)]:
            done.result()
    checks.verdict()


main()
