#!/usr/bin/env python3
"""W16: short threads, 1,000 at once, some ended by pthread_exit from inside, some detached: memory
comes back to within a tenth, no thread is missing; a cancellation is not acted on inside a hook."""
import oracle
import setting
from matrix_cases import AFTER_THREAD, short_threads
from oracle import Case


def main():
    setting.need_verb("record")
    checks = setting.Checks("W16")
    many, few = setting.cut(10000, 3000), setting.cut(3000, 1000)
    with setting.work_dir() as work:
        oracle.observe(checks, short_threads("W16 1,000 threads at once", many, 1000, timeout=120,
                                             loss=True), "gcc", work)
        oracle.observe(checks, short_threads("W16 1,000 at once, --block", many, 1000,
                                             timeout=120, options=["--block"], slack=5.0), "gcc",
                       work)
        oracle.observe(checks, short_threads("W16 10 at once", few, 10, loss=True), "clang", work)
        oracle.observe(checks, short_threads("W16 10 at once, --block", few, 10,
                                             options=["--block"]), "clang", work)
        oracle.observe(checks, Case("W16 cancelled threads", "p_thread_exit.cc", [120],
                                    transparent=True, tolerate=AFTER_THREAD), "gcc", work)
    checks.verdict()


main()
