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
    with setting.work_dir() as work:
        oracle.observe(checks, short_threads("W16 10,000 threads", 10000, 1000, timeout=120,
                                             loss=True), "gcc", work)
        oracle.observe(checks, short_threads("W16 10,000 threads, --block", 10000, 1000,
                                             timeout=120, options=["--block"], slack=5.0), "gcc",
                       work)
        oracle.observe(checks, short_threads("W16 10 at once", 3000, 10, loss=True), "clang", work)
        oracle.observe(checks, short_threads("W16 10 at once, --block", 3000, 10,
                                             options=["--block"]), "clang", work)
        oracle.observe(checks, Case("W16 cancelled threads", "p_thread_exit.cc", [120],
                                    transparent=True, tolerate=AFTER_THREAD), "gcc", work)
    checks.verdict()


main()
