#!/usr/bin/env python3
"""A tracer leaves a program that makes children which no tracer may follow, at any moment of it:
registers are what they were, in both processes, and nothing stays stopped."""
import signal
import subprocess
import sys
import time
from pathlib import Path

import setting

ROUNDS, CHILDREN = 30, 2000


def leave(checks, program, trace, number):
    with subprocess.Popen([program, str(CHILDREN)], stdout=subprocess.PIPE) as process:
        words = [setting.COMMAND, "record", "-q", "-f", "-o", trace, "--attach", str(process.pid)]
        with subprocess.Popen(words, stderr=subprocess.DEVNULL) as recorder:
            time.sleep(0.2 + number * 0.005)
            recorder.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[0]
    checks.equal((process.returncode, said), (0, f"{CHILDREN} children\n".encode()),
                 f"round {number}")


def main():
    setting.need_syscalls()
    checks = setting.Checks("left children")
    program = setting.build("p_untraced.c", flags=("-O1",), hooks=False, log=False)
    with setting.work_dir() as folder:
        for number in range(ROUNDS):
            leave(checks, program, Path(folder, "left.ttape"), number)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
