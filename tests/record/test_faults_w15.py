#!/usr/bin/env python3
"""W15: events from destructors of threads and keys, atexit handlers, static destructors, after our
own destructor, and of threads that are alive at the end: no crash, and the calls are there."""
import oracle
import setting
from matrix_cases import AFTER_THREAD
from oracle import Case


def main():
    setting.need_verb("record")
    checks = setting.Checks("W15")
    with setting.work_dir() as work:
        for compiler in setting.COMPILERS:
            for way in ("return", "exit", "quick", "nested"):
                oracle.observe(checks, Case(f"W15 statics {way}", "p_statics.cc", [way],
                                            transparent=True, cut_short=True), compiler, work)
            oracle.observe(checks, Case("W15 thread exit", "p_thread_exit.cc", [40],
                                        transparent=True, tolerate=AFTER_THREAD), compiler, work)
        for turn in range(20):  # who is first at the end differs from run to run
            oracle.observe(checks, Case(f"W15 thread_exits {turn}", "p_ends.c", ["thread_exits"],
                                        cut_short=True), "gcc", work)
            for way in ("main_leaves", "main_leaves_last"):
                oracle.observe(checks, Case(f"W15 {way} {turn}", "p_ends.c", [way]), "gcc", work)
    checks.verdict()


main()
