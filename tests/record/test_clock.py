#!/usr/bin/env python3
"""Times agree with CLOCK_MONOTONIC to a microsecond, in each process of a recording and whatever
the clock: a call between two readings that the program makes itself has times between these. What
the metadata says of the clocks is true."""
import collections
from pathlib import Path

import setting
import traces

ERROR_NS = 1000
TIMES = setting.cut(20_000, 400)
CLOCKS = ["tsc", "monotonic", "auto"]


def number(about, key):
    found = [item["value"] for item in about["metadata"] if item["key"] == key]
    return found[-1] if found else None


def stamps(text):
    """{thread: [(realtime, monotonic, monotonic, realtime)]}"""
    found = collections.defaultdict(list)
    for line in text.splitlines():
        thread, *times = map(int, line.split())
        found[thread].append(tuple(times))
    return found


def calls(trace, *options):
    """{thread: [(enter, exit)]}"""
    done = setting.tracetape("dump", "--format", "csv", *options, trace)
    found, begun = collections.defaultdict(list), {}
    for line in done.out.decode().splitlines()[1:]:
        _, thread, time, kind, _, _, symbol = line.split(",")
        if symbol == "between" and kind == "enter":
            begun[thread] = int(time)
        elif symbol == "between":
            found[int(thread)].append((begun[thread], int(time)))
    return found


def outside(one, other, before, after):
    """By how much the calls are outside of the readings, at most; None: there are others."""
    if {t: len(c) for t, c in one.items()} != {t: len(c) for t, c in other.items()}:
        return None
    return max(max(reading[before] - enter, leave - reading[after])
               for thread in one
               for (enter, leave), reading in zip(one[thread], other[thread]))


def test_clock(checks, work, program, clock):
    trace = Path(work, f"{clock}.ttape")
    done = setting.run(setting.record_words(trace, [program, TIMES], "--clock", clock))
    checks.equal(done.status, 0, f"{clock}: status; {done.err!r}")
    about = traces.info(trace)
    told = number(about, "clock_error_ns")
    print(f"{clock}: clock_error_ns {told}, clock_drift_ppb {number(about, 'clock_drift_ppb')}")
    checks.that(told is not None, f"{clock}: the error is told")
    checks.equal(number(about, "clock_jumps"), None, f"{clock}: jumps")
    found, said = calls(trace), stamps(done.out.decode())
    checks.equal(len(said), 2, f"{clock}: processes")
    off = outside(found, said, 1, 2)
    print(f"{clock}: {off} ns beside the program's own readings")
    checks.that(off is not None and off <= max(ERROR_NS, told or 0),
                f"{clock}: {off} ns beside the program's own readings")


def main():
    setting.need_verb("record")
    checks = setting.Checks("clock")
    program = setting.build("p_clock.c", log=False)
    with setting.work_dir() as work:
        for clock in CLOCKS:
            test_clock(checks, work, program, clock)
    checks.verdict()


main()
