#!/usr/bin/env python3
"""Twenty programs whose calls, threads, forks, exceptions, coroutines and ends are known: what each
verb says equals that, or carries its mark. Here each program in one of twelve ways to build it, and
each way at least once; all of them in test_known_calls_slow.py. PROGRAM WAY: that one only."""
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import known_calls
import setting

STEP = 5  # from a program's way to the next one's


def chosen(words):
    ways = list(known_calls.WAYS)
    if words:
        return [(known_calls.FOLDER / words[0], words[1])]
    return [(source, ways[(number * STEP) % len(ways)])
            for number, source in enumerate(known_calls.programs())]


def main():
    setting.need_verb("record", "report", "tree", "slow", "last", "graph", "context")
    checks = setting.Checks("known calls")
    with setting.work_dir() as folder:
        setting.plans(Path(folder, "cache"))
        with ThreadPoolExecutor(4) as pool:  # most of it is waiting
            list(pool.map(lambda one: known_calls.prove(checks, *one, Path(folder)),
                          chosen(sys.argv[1:])))
    checks.verdict()


if __name__ == "__main__":
    main()
