#!/usr/bin/env python3
"""W26: the recorder under helgrind and memcheck while it records 16 threads, snapshots, flushes and
forks: no report, no leak; the program with the runtime in it under memcheck. (Not under helgrind:
it orders things by atomic operations, which helgrind does not take for that.)"""
import time
from pathlib import Path

import faults
import setting
import traces

# glibc passes a signal on inside of a wait, without the lock, and helgrind takes that for the
# program's.
SUPPRESSED = """{
   glibc_passes_a_signal_on
   Helgrind:Misc
   ...
   fun:__pthread_cond_wait_common
   ...
}
"""
# The runtime asks the kernel whether a page can be read by a set of signals that it has it take.
ASKED = """{
   the_runtime_asks_for_a_page
   Memcheck:Param
   rt_sigprocmask(set)
   fun:can_read
   ...
}
"""
TOOLS = {"helgrind": ["--tool=helgrind", "--history-level=approx"],
         "memcheck": ["--tool=memcheck", "--leak-check=full", "--errors-for-leak-kinds=definite"]}
REPORT = 88


def reports(log):
    """What a tool found, without its remarks on system calls that it does not know."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    kept = [line.split("== ", 1)[-1] for line in lines if line.startswith("==")]
    first = next((i for i, line in enumerate(kept) if "Possible" in line or " lost " in line), 0)
    return "\n".join(kept[first:])


def control(process, outcome):
    """Asks for everything that `control` knows while it runs."""
    for _ in range(6):
        time.sleep(0.5)
        for verb in ("flush", "snapshot", "off", "on", "status"):
            setting.tracetape("control", process.pid, verb)


def runtime(checks, work, milliseconds=4000):
    """Memory of the runtime, in programs of 16 threads that fork and are controlled meanwhile."""
    suppressions = Path(work, "suppressions.runtime")
    suppressions.write_text(ASKED, encoding="ascii")
    for name, args in (("p_threads.c", [16, 10]), ("p_fork_busy.c", [5, 15]),
                       ("p_steady.c", [milliseconds, 16, 500])):
        host = faults.Host(work, name, args, timeout=300)
        log = Path(work, f"runtime.{name}.log")
        inner = ["valgrind", *TOOLS["memcheck"][:1], f"--log-file={log}",
                 f"--suppressions={suppressions}", f"--error-exitcode={REPORT}", "-q"]
        outcome = host.run(f"runtime, memcheck, {name}", ["--jobs", "2"], inner=inner,
                           then=control if name == "p_steady.c" else None)
        found = log.read_text("utf-8", "replace").splitlines()
        checks.that(outcome.status != REPORT and not any(line.startswith("==") for line in found),
                    f"{outcome.label}: reports", reports(log))
        host.check_lives(checks, outcome, may_refuse=False)
        trace = faults.recover(checks, outcome)
        checks.that(trace and traces.info(trace)["events"] > 1000, f"{outcome.label}: no events")


def main():
    setting.need_verb("record", "recover")
    setting.need_command("valgrind")
    checks = setting.Checks("W26")
    with setting.work_dir() as work:
        runtime(checks, work)
        suppressions = Path(work, "suppressions")
        suppressions.write_text(SUPPRESSED, encoding="ascii")
        for name, args in (("p_threads.c", [16, 30]), ("p_fork_busy.c", [30, 15]),
                           ("p_steady.c", [4000, 16, 500])):
            host = faults.Host(work, name, args, timeout=300)
            for tool, words in TOOLS.items():
                log = Path(work, f"{tool}.{name}.log")
                prefix = ["valgrind", *words, f"--suppressions={suppressions}",
                          "--trace-children=no", f"--log-file={log}",
                          f"--error-exitcode={REPORT}", "-q"]
                outcome = host.run(f"{tool}, {name}", ["--jobs", "2"], prefix=prefix,
                                   then=control if name == "p_steady.c" else None)
                checks.that(outcome.result.status != REPORT, f"{tool}, {name}: reports",
                            reports(log))
                host.check_lives(checks, outcome, may_refuse=False)
                faults.recover(checks, outcome)
    checks.verdict()


main()
