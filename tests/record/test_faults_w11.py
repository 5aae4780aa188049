#!/usr/bin/env python3
"""W11: SIGPROF a thousand times a second and more on busy threads, the handler itself instrumented
and nested five deep: no deadlock in two minutes, and every event is there or counted as lost. With
each clock, and with buffers that run out."""
import oracle
import setting
import traces
from matrix_cases import signals_ended
from oracle import Case


def counted(checks, label, run):
    """With losses: handlers that were seen to begin have ended, or a gap says what is missing."""
    about = traces.info(run.trace)
    counts = traces.call_counts(run.trace)
    made, seen = run.report.get("node", 0), counts["enter"]["node"]
    missing = made - seen
    checks.that(missing >= 0, f"{label}: {seen} calls of 'node', it made {made}")
    checks.that(missing == 0 or traces.lost(about) >= missing,
                f"{label}: {missing} calls of 'node' missing, {traces.lost(about)} counted as lost")


def main():
    setting.need_verb("record")
    checks = setting.Checks("W11")
    with setting.work_dir() as work:
        for clock in ("tsc", "monotonic", "coarse", "none"):
            oracle.observe(checks, Case(f"W11 {clock}", "p_profiled.c", [2, setting.cut(120, 20)],
                                        options=["--clock", clock, "--block"],
                                        frames="counts",
                                        balanced=True, after=signals_ended),
                           "gcc", work)
        for threads in (1, 4, 16):
            oracle.observe(checks, Case(f"W11 {threads} threads", "p_profiled.c",
                                        [threads, setting.cut(100, 20)], frames="counts", loss=True,
                                        after=counted),
                           "gcc", work)
        oracle.observe(checks, Case("W11 little room", "p_profiled.c", [4, setting.cut(150, 40)],
                                    options=["--buffer", "256K", "--spill", "64K"],
                                    frames="counts", loss=True, after=counted),
                       "gcc", work)
    checks.verdict()


main()
