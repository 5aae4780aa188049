#!/usr/bin/env python3
"""W19: hooks on an alternate signal stack of 8 KiB and in a thread with the smallest stack there
is, so often that new blocks are needed there: no overflow (a guard page is below), all calls
there."""
import oracle
import setting
from oracle import Case


def main():
    setting.need_verb("record")
    checks = setting.Checks("W19")
    with setting.work_dir() as work:
        for compiler in setting.COMPILERS:
            for level in ("-O0", "-O2"):
                oracle.observe(checks, Case(f"W19 {level}", "p_altstack.c", [300], flags=(level,)),
                               compiler, work)
            for clock in ("monotonic", "none"):
                oracle.observe(checks, Case(f"W19 {clock}", "p_altstack.c", [300],
                                            options=["--clock", clock]), compiler, work)
        oracle.observe(checks, Case("W19 little room", "p_altstack.c", [400], loss=True,
                                    frames="opens", options=["--buffer", "128K"]), "gcc", work)
    checks.verdict()


main()
