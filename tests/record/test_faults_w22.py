#!/usr/bin/env python3
"""W22: clocks. Each of them gives times that never run backwards in a thread, also when threads
move between cores, when the program has another monotonic clock (a time namespace), when the
clock's system call is forbidden; what follows by cause across cores follows in time."""
import subprocess

import faults
import oracle
import setting
import traces
from oracle import Case

BOUND_NS = 1000  # across cores; within a thread it is 0


def order(checks, work, clock):
    """Turns of two threads alternate in the order of their times."""
    program = setting.build("p_order.c")
    out = oracle.Path(work, f"order.{clock}.ttape")
    done = setting.run(setting.record_words(out, [program, 20000], "--clock", clock), cwd=work)
    if not checks.equal(done.status, 0, f"order, {clock}: status"):
        return
    dump = setting.tracetape("dump", "--format", "csv", out)
    events = {}
    for line in dump.out.decode().splitlines()[1:]:
        stream, _, time, kind, _, _, symbol = line.split(",", 6)
        if symbol == "take_turn":
            events.setdefault(stream, []).append((int(time), kind))
    checks.that(len(events) == 2, f"order, {clock}: {len(events)} streams")
    backwards = sum(b[0] < a[0] for s in events.values() for a, b in zip(s, s[1:]))
    checks.equal(backwards, 0, f"order, {clock}: steps backwards in a thread")
    turns = [[(a[0], b[0]) for a, b in zip(s[::2], s[1::2])] for s in events.values()]
    merged = [turn for pair in zip(*sorted(turns)) for turn in pair]
    worst = max((a[1] - b[0] for a, b in zip(merged, merged[1:])), default=0)
    print(f"order, {clock}: {len(merged)} turns, worst {worst} ns")
    checks.that(worst <= BOUND_NS, f"order, {clock}: {worst} ns too late, {BOUND_NS} allowed")


def namespace(checks, work):
    """The program's monotonic clock is an hour ahead of the recorder's."""
    words = ["unshare", "-T", "--monotonic", "3600", "--boottime", "3600", "--fork"]
    if subprocess.run([*words, "true"], check=False, capture_output=True).returncode:
        print("left out: no time namespaces here")
        return
    host = faults.Host(work, "p_calls.c", [4])
    for clock in ("tsc", "monotonic", "coarse"):
        outcome = host.run(f"another clock, {clock}", ["--clock", clock], inner=words)
        host.check_lives(checks, outcome, may_refuse=False)
        trace = faults.recover(checks, outcome)
        if checks.that(trace is not None, f"{outcome.label}: no trace"):
            backwards = sum(s.backwards for s in traces.streams(trace))
            checks.equal(backwards, 0, f"{outcome.label}: steps backwards")


def span(checks, label, run):
    """The trace is not longer than the run."""
    about = traces.info(run.trace)
    if about["time_first_ns"] is None:
        return
    seconds = (about["time_last_ns"] - about["time_first_ns"]) / 1e9
    checks.that(0 <= seconds <= run.result.wall + 0.05,
                f"{label}: the trace is {seconds:.3f} s long, the run {run.result.wall:.3f} s")


def main():
    setting.need_verb("record")
    checks = setting.Checks("W22")
    with setting.work_dir() as work:
        for clock in ("auto", "tsc", "monotonic", "coarse", "none"):
            oracle.observe(checks, Case(f"W22 {clock}", "p_threads.c", [8, 40], after=span,
                                        options=["--clock", clock]), "gcc", work)
        for clock in ("tsc", "monotonic"):
            order(checks, work, clock)
        namespace(checks, work)
        for clock in ("tsc", "monotonic", "coarse", "none"):
            oracle.observe(checks, Case(f"W22 forbidden clock, {clock}", "p_confined.c",
                                        ["seccomp"], options=["--clock", clock], frames="opens",
                                        loss=True, after=span), "gcc", work)
    checks.verdict()


main()
