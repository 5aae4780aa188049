#!/usr/bin/env python3
"""As test_attach.py: programs that never nap are attached to and left 50 times each, and the
recorder is killed before each of its first 600 calls; then one of 8 busy threads a thousand times,
and one of 200 threads a hundred times."""
import os
import sys
from pathlib import Path

os.environ["TTAPE_THOROUGH"] = "1"  # read when test_attach is
import setting  # noqa: E402
import test_attach  # noqa: E402
import test_attach_state  # noqa: E402

MANY = {"8": 1000, "200": 100}


def main():
    setting.need_verb("attach")
    checks = setting.Checks("attach, many times")
    with setting.work_dir() as folder:
        for threads, cycles in MANY.items():
            program = test_attach.Program(["threads", threads])
            before = program.state()
            for number in range(cycles):
                test_attach.cycle(checks, program, Path(folder) / "many.ttape",
                                  f"{threads} threads, {number}")
            checks.equal(program.state(), before, f"{threads} threads: afterwards")
            checks.equal(program.end(), (0, "right\n", ""), f"{threads} threads: its answers")
        test_attach_state.check_all(checks, Path(folder))
        test_attach.check_all(checks, Path(folder))
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
