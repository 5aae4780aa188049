#!/usr/bin/env python3
"""W12: hooks fire inside malloc, free, realloc, dlsym and pthread_mutex_lock of a program that
brings its own, instrumented: no recursion, no deadlock, no call missing."""
import oracle
import setting
from oracle import Case

# What is freed when a thread's memory goes is counted, not recorded: loss is allowed.
MORE = {"frames": "counts", "expect": {"work": 4}, "balanced": True, "loss": True}


def own_malloc(name, *flags, **more):
    return Case(f"W12 own malloc{name}", "p_own_malloc.c", flags=("-fno-builtin", *flags), **MORE,
                **more)


def main():
    setting.need_verb("record")
    checks = setting.Checks("W12")
    with setting.work_dir() as work:
        for compiler in setting.COMPILERS:
            for level in ("-O0", "-O2"):
                oracle.observe(checks, own_malloc(f" {level}", level), compiler, work)
        oracle.observe(checks, own_malloc(", lazy binding", "-O2", "-Wl,-z,lazy"), "gcc", work)
        oracle.observe(checks, own_malloc(", bound at start", "-O2", env={"LD_BIND_NOW": "1"}),
                       "gcc", work)
        oracle.observe(checks, Case("W12 mutexes", "p_mutexes.c", [8, 5000], frames="counts",
                                    balanced=True), "gcc", work)
    checks.verdict()


main()
