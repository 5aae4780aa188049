#!/usr/bin/env python3
"""W18: longjmp, exceptions of both compilers, coroutines on 4 KiB stacks, endless recursion, many
times over: the depth is never negative and comes back; the fault of the recursion is the program's
own."""
import oracle
import setting
from oracle import Case

CASES = (("p_jumps.c", [], {}), ("p_throwing.cc", [40], {"transparent": True}),
         ("p_coroutines.c", [60, 4096], {}), ("p_coroutines.c", [20, 16384], {}),
         ("p_signals.c", [60], {}), ("p_tails.c", [20], {}))


def main():
    setting.need_verb("record")
    checks = setting.Checks("W18")
    every = ("-O0", "-O1", "-O2", "-O3")
    levels = {"gcc": setting.cut(every, ("-O0", "-O2")),
              "clang": setting.cut(every, ("-O1", "-O3"))}
    with setting.work_dir() as work:
        for compiler in setting.COMPILERS:
            for level in levels[compiler]:
                for source, args, more in CASES:
                    oracle.observe(checks, Case(f"W18 {source} {level}", source, args,
                                                flags=(level,), **more), compiler, work)
            for way in ("default", "handler", "thread", "recover"):
                oracle.observe(checks, Case(f"W18 overflow {way}", "p_overflow.c", [way],
                                            frames="opens"), compiler, work)
    checks.verdict()


main()
