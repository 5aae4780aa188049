#!/usr/bin/env python3
"""Handlers of faults find the place where their program has the instruction, and go on where they
like, though it was moved: in functions, their calls and returns, beside system calls. Whoever asks
for a handler is told the program's own."""
import os
import subprocess
import sys
from pathlib import Path

import setting
import traces

WAYS = (("--patch", "."), ("--patch", ".", "--args", "--retval"), ("--no-patch", "--syscalls"),
        ("--patch", ".", "--syscalls", "--stacks"), ("--patch", ".", "--module", "."))
LEVELS = setting.cut([(compiler, level) for compiler in setting.COMPILERS
                      for level in ("-O0", "-O1", "-O2", "-O3", "-Os")],
                     [("gcc", "-O1"), ("gcc", "-Os"), ("clang", "-Os")])


class Run:
    def __init__(self, checks, work):
        self.checks, self.trace = checks, work / "out.ttape"
        setting.plans(work / "cache")
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(work / "cache")}

    def check(self, program, *options):
        plain = subprocess.run([program], capture_output=True, check=False, timeout=60)
        done = setting.tracetape("record", "-q", "-f", "-o", self.trace, *options, "--", program,
                                 env=self.environment)
        self.checks.equal((done.status, done.out, done.err), (plain.returncode, plain.stdout, b""),
                          f"{program.name} {options}: status, output, messages")
        self.checks.equal(plain.returncode, 0, f"{program.name} by itself")


def check_counts(run, program):
    """A call that faults, and goes on, is one call."""
    run.check(program, "--patch", "^(first|second|calls|otherwise)$")
    calls = dict(traces.call_counts(run.trace)["enter"])
    run.checks.equal(calls, {"first": 11, "second": 5, "calls": 4, "otherwise": 11}, "calls")


def main():
    setting.need_verb("record")
    checks = setting.Checks("places of faults")
    with setting.work_dir() as folder:
        run = Run(checks, Path(folder))
        program = setting.build("p_faults.c", flags=["-O1"], hooks=False, log=False)
        for way in WAYS:
            run.check(program, *way)
        check_counts(run, program)
        for compiler, level in LEVELS:
            run.check(setting.build("p_fault_table.c", compiler, [level], hooks=False, log=False),
                      "--patch", ".")
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
