#!/usr/bin/env python3
"""Which modules a program has is told where the list found no place as it began: behind a switch
that was off, and, with --drop, in a buffer that was full. Its recorder learns of the calls when the
program is gone, so that nobody else can say whose functions they are."""
import os
import signal
import subprocess
import time
from pathlib import Path

import setting
import traces

MANY, CALLS = 100_000, 1000  # more than a buffer has room for, and less
SMALL = ["--drop", "--buffer", "128K"]


def stat_of(pid):
    """The kernel's words behind its name, with the name in front."""
    name, rest = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)
    return [name.split("(", 1)[1], *rest.split()]


def wait_for_end(pid):
    """Until it is one that is only waited for."""
    until = time.monotonic() + 120
    while stat_of(pid)[1] != "Z" and time.monotonic() < until:
        time.sleep(0.01)


class Run:
    """A recording of p_waits, whose recorder is stopped and goes on as it is told to."""

    def __init__(self, work, options, *counts):
        program = setting.build("p_waits.c", log=False)
        self.trace = Path(work, "told.ttape")
        words = [setting.COMMAND, "record", "--no-patch", "-f", *options, "-o", self.trace, "--",
                 program, *counts]
        self.recorder = subprocess.Popen([str(w) for w in words], stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, stdin=subprocess.PIPE,
                                         env=setting.environment(XDG_CACHE_HOME=work))
        self.wait_for_begin()
        self.program = next(pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
                            if self.is_program(pid))

    def is_program(self, pid):
        try:
            name, _, parent = stat_of(pid)[:3]
        except OSError:
            return False
        return name == "p_waits" and int(parent) == self.recorder.pid

    def wait_for_begin(self):
        self.recorder.stdout.read(1)

    def control(self, request):
        return setting.tracetape("control", str(self.program), request).status

    def stop(self):
        os.kill(self.recorder.pid, signal.SIGSTOP)

    def go_on(self):
        os.kill(self.recorder.pid, signal.SIGCONT)

    def call(self):
        self.recorder.stdin.write(b"\n")
        self.recorder.stdin.flush()

    def end(self):
        """The program's calls are seen when it is gone."""
        self.stop()
        self.call()
        wait_for_end(self.program)
        self.go_on()
        err = self.recorder.communicate(timeout=120)[1].decode()
        return self.recorder.returncode, err, dict(traces.call_counts(self.trace)["enter"])


def check_switched(checks, work):
    run = Run(work, ["--off"], CALLS)
    turned = run.control("on")
    status, err, calls = run.end()
    checks.equal((turned, status, calls), (0, 0, {"leaf": CALLS}), f"switched on; {err}")


def check_dropped(checks, work):
    """The first program fills the buffer, and the second one begins while it is full."""
    run = Run(work, SMALL, MANY, CALLS)
    run.stop()
    run.call()
    run.wait_for_begin()
    run.go_on()
    flushed = run.control("flush")
    status, err, calls = run.end()
    checks.equal((flushed, status), (0, 3), f"status of one that drops; {err}")
    checks.that(set(calls) == {"leaf"} and calls["leaf"] > CALLS, "calls of one that drops", calls)


def main():
    setting.need_verb("record", "control")
    checks = setting.Checks("told modules")
    with setting.work_dir() as work:
        check_switched(checks, work)
        check_dropped(checks, work)
    checks.verdict()


main()
