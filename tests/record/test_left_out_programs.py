#!/usr/bin/env python3
"""What is recorded of a program whose hooks leave out what is not wanted is what its recorder
leaves in: the same events of each thread, in the same order, at the same depths."""
import sys
from pathlib import Path

import setting
import traces

KEPT = "keep_"
WAYS = (("gcc", "-O0"), ("gcc", "-O2"), ("clang", "-O2"))
RUNS = setting.cut(20, 2)
WANTED = {  # calls: 3 threads of 60 rounds, 80 rounds of main, 30 of a child
    "keep_sort": 291, "keep_between": 1, "keep_thread": 3, "keep_child": 1, "keep_jumper": 290}


def events(trace):
    """Each stream's, without times; of the starts and names of threads, nothing."""
    done = setting.tracetape("dump", "--format", "csv", trace)
    streams = {}
    for line in done.out.decode().splitlines()[1:]:
        stream, _, _, kind, depth, _, symbol = line.split(",", 6)
        if kind != "leaf" and "tracetape:" not in symbol:
            streams.setdefault(stream, []).append((kind, depth, traces.plain_name(symbol)))
    return sorted(streams.values())


def record(checks, work, program, label, *words):
    trace = work / "out.ttape"
    done = setting.tracetape("record", "-q", "-f", "-o", trace, "--function", KEPT, "--", program,
                             *words)
    checks.equal((done.status, done.out, done.err), (0, b"done\n", b""), f"{label}: the program")
    checks.equal(traces.verify(trace), None, f"{label}: verify")
    counts = traces.call_counts(trace)["enter"]
    checks.equal({name: counts[name] for name in WANTED}, WANTED, f"{label}: calls")
    checks.that(all(name.startswith(KEPT) for name in counts), f"{label}: names", dict(counts))
    return events(trace)


def first_difference(got, wanted):
    for number, (one, two) in enumerate(zip(got, wanted)):
        for at, (a, b) in enumerate(zip(one, two)):
            if a != b:
                near = slice(max(0, at - 4), at + 4)
                return f"stream {number}, event {at}: {one[near]}, not {two[near]}"
    return f"lengths {[len(s) for s in got]}, not {[len(s) for s in wanted]}"


def main():
    setting.need_verb("record", "dump")
    checks = setting.Checks("calls left out of programs")
    with setting.work_dir() as folder:
        for compiler, level in WAYS:
            program = setting.build("p_left_out.cc", compiler, flags=(level,), log=False)
            label = f"{compiler} {level}"
            wanted = record(checks, Path(folder), program, f"{label}, by the recorder", "whole")
            for _ in range(RUNS):
                got = record(checks, Path(folder), program, label)
                checks.that(got == wanted, label, first_difference(got, wanted))
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
