#!/usr/bin/env python3
"""Programs of the system, drawn by a seed with the ways to record them, two at a time with busy
processes beside them (program_runs.py): nobody can tell. For scripts/programs."""
import argparse
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


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000, help="0: each task in each way")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--busy", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--task", default="", help="a regular expression of its words")
    parser.add_argument("--way", default="", help="a regular expression of its name")
    return parser.parse_args()


def runs_of(asked):
    if asked.runs:
        drawn = program_runs.draw(asked.seed, asked.runs)
    else:
        drawn = [(words, way) for words in program_runs.tasks() for way in program_runs.WAYS
                 if program_runs.fits(words, way)]
    return [(words, way) for words, way in drawn
            if re.search(asked.task, program_runs.quote(words)) and re.search(asked.way, way)]


def run_all(drawn, checks):
    """The tasks that could not be compared, with how often."""
    left_out = {}
    with setting.work_dir() as work, concurrent.futures.ThreadPoolExecutor(2) as pool:
        runner = program_runs.Runner(Path(work))
        todo = pool.map(lambda one: (one, runner.check(*one)), drawn)
        for number, ((words, way), found) in enumerate(todo, 1):
            task = program_runs.quote(words)
            if found is None:
                left_out[task] = left_out.get(task, 0) + 1
            else:
                checks.that(not found, f"{way}: {task}", *(found or []))
            if number % 50 == 0:
                print(f"{number} runs, {len(checks.problems)} differ", flush=True)
    return left_out, runner.reasons


def main():
    asked = options()
    setting.need_verb("record", "syscalls")
    drawn, listed = runs_of(asked), program_runs.tasks()
    print(f"seed {asked.seed}, {asked.busy} busy processes, user {os.geteuid()}: {len(drawn)} runs "
          f"of {len(listed)} tasks of {len({words[0] for words in listed})} programs in "
          f"{len({way for _, way in drawn})} ways", flush=True)
    checks = setting.Checks("programs")
    others = [subprocess.Popen(["timeout", str(SECONDS_MOST), sys.executable, "-c",
                                "while True: pass"]) for _ in range(asked.busy)]
    try:
        left_out, reasons = run_all(drawn, checks)
    finally:
        for other in others:
            other.terminate()  # timeout passes it on
            other.wait()
    for task, count in sorted(left_out.items()):
        print(f"LEFT OUT, it differs from itself, {count} runs: {task}")
    for (status, way), count in sorted(reasons.items()):
        print(f"status {status} with a printed reason in the place of 0: {count} runs, {way}")
    checks.verdict()


if __name__ == "__main__":
    main()
