#!/usr/bin/env python3
"""Programs of the system print what they print otherwise, write what they write, and end as they
end, in whatever way they are recorded: a small draw of scripts/programs (debian_programs.txt). The
list is long enough. Run as root and as an ordinary user, with another draw each."""
import os
import sys
from pathlib import Path

import program_runs
import setting

RUNS = setting.cut(1000, 8)
PROGRAMS_LEAST = 200


def main():
    setting.need_verb("record", "syscalls")
    checks = setting.Checks("programs")
    lines = program_runs.LIST.read_text(encoding="utf-8").splitlines()
    listed = {line.split()[0] for line in lines if line and not line.startswith("#")}
    checks.that(len(listed) >= PROGRAMS_LEAST, f"{len(listed)} programs are listed")
    tried = 0
    with setting.work_dir() as work:
        runner = program_runs.Runner(Path(work))
        # the system calls of a set-user-id program too: an ordinary user takes no rights from it
        for words, way in [(["passwd", "-S"], "syscalls"),
                           *program_runs.draw(os.geteuid(), RUNS)]:
            found = runner.check(words, way)
            if found:  # who differs by itself now and then does so not each time
                print(f"once more: {way}: {program_runs.quote(words)}: {found}", flush=True)
                found = runner.check(words, way)
            tried += found is not None
            checks.that(not found, f"{way}: {program_runs.quote(words)}", *(found or []))
    checks.that(tried > RUNS // 2, f"only {tried} of {RUNS} runs could be compared")
    print(f"{tried} runs")
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
