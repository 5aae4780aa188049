#!/usr/bin/env python3
"""`--measure`: what system calls cost of a counter of their thread, in the place of time. Counters
of software are there on any machine that lets us count; of others it is said where they are not."""
import json
import sys
from pathlib import Path

import setting
import traces

REFUSED = (b"is not permitted", b"does not count")


def measure(program, counter, *options):
    return setting.tracetape("syscalls", "--measure", counter, "--json", *options, "--", program)


def amounts(done):
    answer = json.loads(done.err)
    return answer["measure"], {row["call"]: (row["sum"]["calls"], row["sum"]["measured"],
                                             row["sum"]["most"]) for row in answer["rows"]}


def check_known(checks, program, *options):
    done = measure(program, "page-faults", *options)
    if done.status == 4 and any(word in done.err for word in REFUSED):
        setting.skip(f"no counters here: {done.err.decode().strip()}")
    checks.equal(done.status, 3, f"page faults: status; {done.err}")
    name, found = amounts(done)
    checks.equal((name, found["pread64"][1:], found["getppid"]),
                 ("page-faults", (64, 64), (20, 0, 0)), "page faults")
    _, found = amounts(measure(program, "context-switches", *options))
    checks.that(5 <= found["clock_nanosleep"][1] <= 10, f"switches of pauses: {found}")
    checks.that(found["getppid"][1] <= 5, f"switches of what does not wait: {found}")
    _, found = amounts(measure(program, "cpu-time", *options))
    checks.that(all(found[call][1] > 0 for call in ("getppid", "pread64", "clock_nanosleep")),
                f"time on a processor: {found}")
    checks.that(found["clock_nanosleep"][1] < 5_000_000, f"which pauses are not: {found}")


def check_inside(checks, program):
    """As each thread asks for itself: no rights, and no stop at a call."""
    check_known(checks, program)
    done = measure(program, "cpu-time")
    _, found = amounts(done)
    checks.that(b"ptrace" not in done.err, done.err)
    checks.that(found["clock_nanosleep"][1] < 5 * found["pread64"][1] + 5_000_000, found)
    text = setting.tracetape("syscalls", "--measure", "cpu-time", "--", program).err
    checks.that(b"CPU-TIME" in text, text)


def check_file(checks, program, trace):
    """Kept in a trace, beside its times."""
    done = setting.tracetape("record", "-q", "-f", "-o", trace, "--measure", "page-faults",
                             "--args", "--data", "--", program)
    checks.equal((done.status, done.err, traces.verify(trace)), (3, b"", None), "record, verify")
    text = setting.tracetape("syscalls", trace, "--measure", "page-faults", "--no-pager").out
    checks.that(b"PAGE-FAULTS" in text and b" page-faults in them" in text, text)
    rows = json.loads(setting.tracetape("syscalls", "--json", trace).out)["rows"]
    checks.that(all("time_ns" in row["sum"] for row in rows), "times are there, too")
    listed = setting.tracetape("syscalls", "--list", "--calls", "pread64", trace).out.decode()
    checks.that("= 262144" in listed and '"\\0\\0' in listed, f"contents and result: {listed}")
    done = setting.tracetape("syscalls", trace, "--measure", "cpu-time")
    checks.equal((done.status, b"has 'page-faults', not 'cpu-time'" in done.err), (4, True),
                 done.err)


def check_refused(checks, program, trace):
    for options, status, said in (
            (["--measure", "luck"], 2, b"cannot use 'luck'"),
            (["--measure", "cycles", "--engine", "in-process"], 2, b"needs --engine ptrace")):
        done = setting.tracetape("record", "-f", "-o", trace, *options, "--", program)
        checks.equal((done.status, said in done.err), (status, True), f"{options}: {done.err}")
    done = measure(program, "instructions")
    if done.status != 3:  # a machine without them
        checks.equal((done.status, b"does not count 'instructions'" in done.err,
                      done.err.count(b"\n")), (4, True, 1), done.err)
    else:
        checks.that(amounts(done)[1]["getppid"][1] > 0, "instructions")


def main():
    setting.need_syscalls()
    checks = setting.Checks("measure")
    with setting.work_dir() as folder:
        program = setting.build("p_measure.c", flags=("-O1",), log=False, hooks=False)
        check_inside(checks, program)
        check_known(checks, program, "--engine", "ptrace")
        check_file(checks, program, Path(folder, "counted.ttape"))
        check_refused(checks, program, Path(folder, "refused.ttape"))
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
