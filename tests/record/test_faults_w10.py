#!/usr/bin/env python3
"""W10: the program dies by SIGSEGV, SIGABRT, _exit, quick_exit, abort; its own handler runs on an
alternate stack; its core is dumped as without tracing; what it had recorded is in the trace, the
frames that were open included."""
import resource

import oracle
import setting
import traces
from oracle import Case

ENDS = ("abort", "abort_handled", "null", "null_handled", "trap", "_exit", "quick_exit",
        "exit_group", "sigkill")


def has_core(checks, label, run):
    """Alone it left a core file: `files` compares names, here the size must be one of a core."""
    cores = [p for p in run.own.iterdir() if p.name.startswith("core")]
    checks.that(cores and cores[0].stat().st_size > 4096, f"{label}: no core")


def open_frames(checks, label, run):
    """The stack overflow's frames are all open at the end."""
    info = traces.info(run.trace)
    counts = traces.call_counts(run.trace)
    checks.that(counts["enter"]["recurse"] > 5000, f"{label}: {counts['enter']['recurse']} calls")
    checks.that(traces.lost(info) == 0, f"{label}: {traces.lost(info)} events lost")
    checks.that(counts["exit"]["recurse"] == 0, f"{label}: a call returned")


def core_case(way):
    case = Case(f"core of {way}", "p_ends.c", [way], after=has_core,
                limits={resource.RLIMIT_CORE: resource.RLIM_INFINITY})
    return case


def main():
    setting.need_verb("record")
    checks = setting.Checks("W10")
    with setting.work_dir() as work:
        for way in ENDS:
            oracle.observe(checks, Case(f"W10 {way}", "p_ends.c", [way]), "gcc", work)
        for way in ("default", "handler", "thread"):
            oracle.observe(checks, Case(f"W10 overflow {way}", "p_overflow.c", [way],
                                        frames="opens", after=open_frames), "gcc", work)
        pattern = open("/proc/sys/kernel/core_pattern", encoding="ascii").read().strip()
        if pattern.startswith("|") or "/" in pattern:
            print(f"left out: cores go to '{pattern}', not to the working folder")
        else:
            for way in ("abort", "null"):
                observe_core(checks, core_case(way), work)
    checks.verdict()


def observe_core(checks, case, work):
    """Cores differ in their bytes: only that there is one is compared."""
    original = oracle.digests
    oracle.digests = lambda folder: {"core": "" for name in original(folder)
                                     if name.startswith("core")}
    try:
        oracle.observe(checks, case, "gcc", work)
    finally:
        oracle.digests = original


main()
