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
    allowed = max(ERROR_NS, told or 0)
    checks.that(off is not None and off <= allowed,
                f"{clock}: {off} ns beside the program's own readings")
    if number(about, "realtime_steps") is None:  # else a reading may be from before it was seen
        off = outside(calls(trace, "--origin", "utc"), said, 0, 3)
        allowed += number(about, "realtime_error_ns")
        checks.that(off is not None and off <= allowed, f"{clock}: {off} ns beside UTC")
    since = calls(trace, "--origin", "start")
    first = min(reading[0] for thread in found.values() for reading in thread)
    checks.equal(since, {thread: [(a - first, b - first) for a, b in one]
                         for thread, one in found.items()}, f"{clock}: times since the start")


def test_step(checks, work, program):
    """CLOCK_REALTIME is set while recording goes on: metadata say when and to what, and so does the
    time of day that dump prints."""
    shim, trace = Path(work, "shim_realtime.so"), Path(work, "step.ttape")
    setting.call(["gcc", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", "-o", shim,
                  setting.PROGRAMS / "shim_realtime.c"])
    half, said = Path(work, "half"), Path(work, "said")  # it is set when half of all is done
    done = setting.run(setting.record_words(trace, [program, TIMES, half, said]),
                       env=setting.environment(LD_PRELOAD=shim, STEP_FROM=half, STEP_SAID=said))
    checks.equal(done.status, 0, f"step: status; {done.err!r}")
    about = traces.info(trace)
    before, after = number(about, "realtime_offset_ns"), number(about, "realtime_offset_1_ns")
    since = number(about, "realtime_step_1_ns")
    if not checks.that(None not in (before, after, since), "step: it is told", about["metadata"]):
        return
    checks.that(abs(after - before - 5 * 10**9) <= 10**6, f"step: by {after - before} ns")
    utc = calls(trace, "--origin", "utc")
    wanted = {thread: [tuple(time + (after if time >= since else before) for time in call)
                       for call in one] for thread, one in calls(trace).items()}
    checks.equal(utc, wanted, "step: times of day")
    kinds = {call[0] >= since for one in calls(trace).values() for call in one}
    checks.equal(kinds, {False, True}, "step: there are calls before and after it")


def test_none(checks, work, program):
    trace = Path(work, "none.ttape")
    setting.run(setting.record_words(trace, [program, "3"], "--clock", "none"))
    for origin in ("start", "utc"):
        done = setting.tracetape("dump", "--origin", origin, trace)
        checks.equal(done.status, 4, f"no clock, --origin {origin}")
    checks.equal(setting.tracetape("dump", "--origin", "noon", trace).status, 2, "--origin noon")


def main():
    setting.need_verb("record")
    checks = setting.Checks("clock")
    program = setting.build("p_clock.c", log=False)
    with setting.work_dir() as work:
        for clock in CLOCKS:
            test_clock(checks, work, program, clock)
        test_step(checks, work, program)
        test_none(checks, work, program)
    checks.verdict()


main()
