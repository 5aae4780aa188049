#!/usr/bin/env python3
"""W12: hooks fire inside malloc, free, realloc, dlsym and pthread_mutex_lock of a program that
brings its own, instrumented: no recursion, no deadlock, no call missing. The same while signals
arrive, and in a program that forks."""
import oracle
import setting
from oracle import Case

FLAGS = ("-O2", "-fno-builtin")


def main():
    setting.need_verb("record")
    checks = setting.Checks("W12")
    with setting.work_dir() as work:
        for compiler in setting.COMPILERS:
            for level in ("-O0", "-O2"):
                oracle.observe(checks, Case(f"W12 own malloc {level}", "p_own_malloc.c",
                                            flags=(level, "-fno-builtin"), frames="counts",
                                            expect={"work": 4}, balanced=True, timeout=30),
                               compiler, work)
        oracle.observe(checks, Case("W12 own malloc, lazy binding", "p_own_malloc.c",
                                    flags=(*FLAGS, "-Wl,-z,lazy"), frames="counts",
                                    expect={"work": 4}, balanced=True, timeout=30), "gcc", work)
        oracle.observe(checks, Case("W12 own malloc, bound at start", "p_own_malloc.c",
                                    flags=FLAGS, env={"LD_BIND_NOW": "1"}, frames="counts",
                                    expect={"work": 4}, balanced=True, timeout=30), "gcc", work)
        oracle.observe(checks, Case("W12 mutexes", "p_mutexes.c", [8, 5000], frames="counts",
                                    balanced=True, timeout=30), "gcc", work)
    checks.verdict()


main()
