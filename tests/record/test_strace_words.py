#!/usr/bin/env python3
"""System calls in strace's words: programs with a family of calls each, and of their lines how many
are what strace says of the same program, character for character but for addresses and what another
run has otherwise; by ptrace, and by ptrace and in process (--complete). Counts of calls are equal.
The long form runs all."""
import os
import sys
import tempfile

import faults
import setting
import strace_words

SHARE = 95  # of 100 lines, at least
PROGRAMS = strace_words.PROGRAMS if setting.cut(1, 0) else ("files", "network")


def main():
    setting.need_syscalls()
    faults.need_strace()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        scores = {engine: strace_words.Score() for engine in strace_words.ENGINES}
        for program in PROGRAMS:
            strace_words.build(program)
            expected = strace_words.by_strace(program)
            for engine, score in scores.items():
                score.add(program, expected, strace_words.by_us(program, engine))
    for engine, score in scores.items():
        print(f"by {engine}: {score.share():.1f} % of {sum(score.lines.values())} lines")
        if score.share() < SHARE or score.counts:
            print(score.table(), *score.differences, *score.counts, sep="\n")
            failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main())
