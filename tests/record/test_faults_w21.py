#!/usr/bin/env python3
"""W21: the recorder is stopped for a while, its disk stalls, the program is stopped: raw records
spill within their bound. As it comes the arena grows meanwhile, and nothing is lost; with --drop
and no room events are dropped and counted, each one; with --block the program waits, and nothing is
lost."""
import contextlib
import os
import signal
import time
from pathlib import Path

import faults
import setting
import traces

BUSY_MS, STOP = setting.cut((900, 0.6), (450, 0.3))
MIB = 1 << 20
LITTLE = ["--spill", "1M", "--buffer", "1M"]
ARENA_OVERHEAD, ARENA_THREAD = 96 << 10, 896 << 10  # what stands before blocks; see --buffer
THREADS = 3  # of the program, with its first
WITH_BLOCKS = THREADS + 2  # and the shell and the cat around it
TRIES = 5
STALLS = "write:delay=30:1+,pwrite:delay=30:1+"


class Sizes:
    """The largest that a recording's spill file and arena have been while it ran."""

    def __init__(self):
        self.spill, self.arena, self.looks, self.was_late = 0, 0, 0, False

    def look(self, process, outcome):
        self.looks += 1
        try:
            self.spill = max(self.spill, (outcome.remains / "spill").stat().st_size)
        except OSError:
            pass  # not there yet, or no more
        for path in Path("/dev/shm").glob("tracetape-*/arena"):
            try:
                with open(path, "rb") as file:
                    if int.from_bytes(file.read(32)[28:], "little") == process.pid:
                        self.arena = max(self.arena, os.fstat(file.fileno()).st_blocks * 512)
            except OSError:
                continue

    def watch(self, process, outcome, seconds=60.0):
        """Until the program has ended; it is looked at on its way."""
        until = time.monotonic() + seconds
        while process.poll() is None and time.monotonic() < until:
            self.look(process, outcome)
            time.sleep(0.004)

    def is_full(self):
        """Whether the spill file has been as large as it may be, nearly."""
        return self.spill > MIB * 0.9

    def check(self, checks, label, must_be_full):
        checks.that(self.looks > 2, f"{label}: {self.looks} looks")
        checks.that(self.spill <= MIB, f"{label}: a spill file of {self.spill} bytes")
        checks.that(not must_be_full or self.is_full(),
                    f"{label}: the spill file had {self.spill} bytes: its bound is not tried")
        bound = MIB + WITH_BLOCKS * ARENA_THREAD + ARENA_OVERHEAD
        checks.that(0 < self.arena <= bound,
                    f"{label}: an arena of {self.arena} bytes, {bound} allowed")


def stopped(seconds, number=signal.SIGSTOP, pid_of=None):
    """What to do while it runs: stop the recorder (or the program) and let it go on."""
    def then(process, outcome):
        faults.wait_for_start(process, "p_steady")
        pid = pid_of(process) if pid_of else process.pid
        with contextlib.suppress(ProcessLookupError):  # it has come to its end just now
            os.kill(pid, number)
            time.sleep(seconds)
            os.kill(pid, signal.SIGCONT)
    return then


def check(checks, host, outcome, loss):
    host.check_lives(checks, outcome, may_refuse=False)
    trace = faults.recover(checks, outcome)
    if not checks.that(trace == outcome.trace, f"{outcome.label}: no trace"):
        return None
    faults.check_calls(checks, outcome.label, trace, host.made(outcome), loss)
    faults.check_exact(checks, host, outcome, trace)
    about = traces.info(trace)
    if traces.lost(about) == 0:
        counts = traces.call_counts(trace)
        checks.equal(counts["exit"]["node"], counts["enter"]["node"], f"{outcome.label}: returns")
    return about


def bounded(checks, host):
    """Both files keep to what the options say, while the disk stalls or nobody drains the arena."""
    for options in (["--drop"], ["--block"]):
        for _ in range(TRIES):  # on a busy machine the program may come to little in its time
            sizes = Sizes()
            outcome = host.run(f"little spill, disk stalls {' '.join(options)}", LITTLE + options,
                               env=faults.disturbed(STALLS), then=sizes.watch)
            about = check(checks, host, outcome, loss=options == ["--drop"])
            if sizes.is_full() and about and (traces.lost(about) > 0) == (options == ["--drop"]):
                break
        sizes.check(checks, outcome.label, must_be_full=True)
        checks.that(about and (traces.lost(about) > 0) == (options == ["--drop"]),
                    f"{outcome.label}: {about and traces.lost(about)} lost")

    for _ in range(TRIES):  # or all may have ended before the recorder is stopped
        sizes = Sizes()

        def stop_and_watch(process, outcome, sizes=sizes):
            faults.wait_for_start(process, "p_steady")
            os.kill(process.pid, signal.SIGSTOP)
            sizes.watch(process, outcome, 0.5)
            sizes.was_late = process.poll() is not None
            if not sizes.was_late:
                os.kill(process.pid, signal.SIGCONT)
                sizes.watch(process, outcome)
        outcome = host.run("little spill, recorder stopped", LITTLE + ["--drop"],
                           then=stop_and_watch)
        about = check(checks, host, outcome, loss=True)
        if not sizes.was_late and about and traces.lost(about) > 0:
            break
    sizes.check(checks, outcome.label, must_be_full=False)
    checks.that(about and traces.lost(about) > 0, f"{outcome.label}: nothing lost")


def main():
    setting.need_verb("record")
    checks = setting.Checks("W21")
    with setting.work_dir() as work:
        host = faults.Host(work, "p_steady.c", [BUSY_MS, 2, *faults.PACE])
        outcome = host.run("recorder stopped", then=stopped(STOP))
        check(checks, host, outcome, loss=False)
        fast = faults.Host(work, "p_steady.c", [BUSY_MS, 2])
        for _ in range(TRIES):  # on a busy machine the program may get little while it is stopped
            outcome = fast.run("recorder stopped, --drop", ["--drop", "--buffer", "1M"],
                               then=stopped(STOP))
            about = check(checks, fast, outcome, loss=True)
            if about and traces.lost(about) > 0:
                break
        else:
            checks.that(False, f"a recorder that was stopped lost nothing, {TRIES} times")
        outcome = host.run("recorder stopped, --block", ["--block"], then=stopped(STOP))
        check(checks, host, outcome, loss=False)
        plan = "write:delay=200:3,pwrite:delay=200:3,write:delay=200:9,pwrite:delay=200:9"
        outcome = host.run("disk stalls", env=faults.disturbed(plan))
        check(checks, host, outcome, loss=True)
        outcome = host.run("disk stalls, --block", ["--block"], env=faults.disturbed(plan))
        check(checks, host, outcome, loss=False)
        bounded(checks, faults.Host(work, "p_steady.c", [400, THREADS - 1]))
        slow = faults.Host(work, "p_steady.c", [400, 2, 50])
        outcome = slow.run("program stopped", then=stopped(
            0.4, pid_of=lambda p: faults.child_named(p, "p_steady") or p.pid))
        check(checks, slow, outcome, loss=False)
    checks.verdict()


main()
