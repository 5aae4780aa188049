#!/usr/bin/env python3
"""Processes that share their parent's memory and thread pointer and run beside it (clone with
CLONE_VM): the program does the same, what the parent calls before and behind them is recorded as
it was, what it calls meanwhile is recorded or counted as lost, and nothing is theirs."""
from pathlib import Path

import setting
import traces

LOSS = 3
RUNS, CALLS = setting.cut((40, 200_000), (3, 50_000))


def check(checks, work, program, children, run):
    label, words = f"{children} children, run {run}", [program, str(children), str(CALLS)]
    trace = Path(work, "beside.ttape")
    alone = setting.run(words)
    traced = setting.run(setting.record_words(trace, words, "-f"))
    checks.that((alone.status, traced.status in (0, LOSS)) == (0, True),
                f"{label}: statuses {alone.status}, {traced.status}")
    checks.equal(traced.out, alone.out, f"{label}: the program's output")
    checks.that(traces.verify(trace) is None, f"{label}: {traces.verify(trace)}")
    counts, lost = traces.call_counts(trace), traces.lost_and_told(traces.info(trace))
    for name in ("before", "behind"):
        for kind in ("enter", "exit"):
            # the first call behind them may be the one that finds that they are gone
            wanted = range(CALLS - 64 if name == "behind" else CALLS, CALLS + 1)
            checks.that(counts[kind][name] in wanted,
                        f"{label}: {counts[kind][name]} times {kind} {name}, of {CALLS}")
    found = sum(counts[kind][name] for kind in ("enter", "exit")
                for name in ("before", "beside", "behind"))
    checks.equal(found + lost, 6 * CALLS, f"{label}: events recorded and lost ({lost})")
    for name in ("borrowed_call", "borrowed_inner"):
        checks.equal(counts["enter"][name], 0, f"{label}: calls of '{name}', a child's")


def main():
    setting.need_verb("record")
    checks = setting.Checks("beside")
    with setting.work_dir() as work:
        program = setting.build("p_beside.c", log=False)
        for run in range(RUNS):
            for children in (1, 3):
                check(checks, work, program, children, run)
    checks.verdict()


main()
