#!/usr/bin/env python3
"""Every kind of program, over and over, two at a time with busy processes beside them: each time
the program cannot tell, and the trace says all that it did. At the end nothing is left in shared
memory. For scripts/soak.

  soak.py SECONDS [BUSY [SEED]]"""
import concurrent.futures
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import matrix_cases
import oracle
import setting


def left():
    """Arenas of this user."""
    return [path for path in Path("/dev/shm").glob("tracetape-*")
            if path.stat().st_uid == os.geteuid()]


def one(task, until, work, number):
    case, compiler = task
    checks = setting.Checks(case.name)
    if time.monotonic() < until:
        folder = Path(work, str(number))
        folder.mkdir()
        try:
            oracle.observe(checks, case, compiler, folder)
        except Exception as error:  # the others go on
            checks.that(False, f"{case.name} ({compiler}): {type(error).__name__}: {error}")
    return checks


def tasks(seed):
    """Without an end: all cases in which nothing may be lost, each time in another order."""
    drawn = random.Random(seed)
    cases = [(case, compiler) for case in matrix_cases.all_cases() if not case.loss
             for compiler in case.compilers]
    while True:
        drawn.shuffle(cases)
        yield from cases


def main():
    seconds = float(sys.argv[1])
    busy = int(sys.argv[2]) if sys.argv[2:] else 2 * (os.cpu_count() or 1)
    seed = int(sys.argv[3]) if sys.argv[3:] else int(time.time())
    print(f"seed {seed}, {busy} busy processes, user {os.geteuid()}", flush=True)
    setting.need_verb("record")
    checks, before = setting.Checks("soak"), left()
    until = time.monotonic() + seconds
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    runs, endless = 0, tasks(seed)
    try:
        with setting.work_dir() as work, concurrent.futures.ThreadPoolExecutor(2) as pool:
            while time.monotonic() < until:
                some = [(next(endless), until, work, runs + i) for i in range(20)]
                for done in pool.map(lambda words: one(*words), some):
                    runs += done.count != 0
                    checks.count += done.count
                    checks.problems += done.problems
                print(f"{runs} programs, {len(checks.problems)} problems", flush=True)
    finally:
        for other in others:
            other.kill()
            other.wait()
    checks.equal([str(path) for path in left() if path not in before], [], "left in /dev/shm")
    print(f"{runs} programs recorded")
    checks.verdict()


main()
