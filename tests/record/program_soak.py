#!/usr/bin/env python3
"""Programs of the system, drawn by a seed with the ways to record them, two at a time with busy
processes beside them (program_runs.py): nobody can tell. For scripts/programs.

  program_soak.py RUNS [SEED [BUSY [TASK]]]

RUNS is a number, or `all`: each task in each way. TASK: a regular expression of its words."""
import concurrent.futures
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import program_runs
import setting

SECONDS_MOST = 4 * 3600


def runs_of(count, seed, pattern):
    if count != "all":
        drawn = program_runs.draw(seed, int(count))
    else:
        drawn = [(words, way) for words in program_runs.tasks()
                 for way in [*program_runs.WAYS, "syscalls command"]]
    return [one for one in drawn if re.search(pattern, program_runs.quote(one[0]))]


def main():
    seed = int(sys.argv[2]) if sys.argv[2:] else int(time.time())
    busy = int(sys.argv[3]) if sys.argv[3:] else os.cpu_count() or 1
    drawn = runs_of(sys.argv[1], seed, sys.argv[4] if sys.argv[4:] else "")
    setting.need_verb("record", "syscalls")
    listed = program_runs.tasks()
    print(f"seed {seed}, {busy} busy processes, user {os.geteuid()}: {len(drawn)} runs of "
          f"{len(listed)} tasks of {len({words[0] for words in listed})} programs", flush=True)
    checks, left_out = setting.Checks("programs"), set()
    others = [subprocess.Popen(["timeout", str(SECONDS_MOST), sys.executable, "-c",
                                "while True: pass"]) for _ in range(busy)]
    try:
        with setting.work_dir() as work, concurrent.futures.ThreadPoolExecutor(2) as pool:
            runner = program_runs.Runner(Path(work))
            todo = pool.map(lambda one: (one, runner.check(*one)), drawn)
            for number, ((words, way), found) in enumerate(todo, 1):
                if found is None:
                    left_out.add(program_runs.quote(words))
                else:
                    checks.that(not found, f"{way}: {program_runs.quote(words)}", *(found or []))
                if number % 50 == 0:
                    print(f"{number} runs, {len(checks.problems)} problems", flush=True)
    finally:
        for other in others:
            other.kill()
            other.wait()
    for task in sorted(left_out):
        print(f"left out, differs from itself: {task}")
    checks.verdict()


if __name__ == "__main__":
    main()
