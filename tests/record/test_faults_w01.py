#!/usr/bin/env python3
"""W1: the k-th malloc, calloc, realloc, mmap fails, once and from then on: in the recorder, and in
the runtime's own system calls inside the program. The program does not notice, and what is on
disk verifies."""
import faults
import setting

MOST = 24


def recorder_calls(checks, host):
    counts = faults.calls_of_recorder(host)
    checks.that(counts.get("malloc", 0) > 0, f"the recorder's calls were not seen: {counts}")
    for name in ("malloc", "mmap"):
        for number in faults.spread(counts.get(name, 0), MOST):
            for plus in ("", "+"):
                label = f"recorder: {name} {number}{plus} fails"
                env = faults.disturbed(f"{name}:error={faults.ERRNO['ENOMEM']}:{number}{plus}")
                outcome = host.run(label, env=env)
                if host.check_lives(checks, outcome):
                    faults.recover(checks, outcome)


def runtime_calls(checks, host):
    names = ("mmap", "madvise", "mprotect", "openat", "prctl", "sigaltstack", "rt_sigaction")
    found = faults.runtime_calls(host, names)
    checks.that(found.get("mmap"), f"the runtime's calls were not seen: {found}")
    for name, numbers in found.items():
        for number in numbers:
            for plus in ("", "+"):
                label = f"runtime: {name} {number}{plus} fails"
                rule = f"inject={name}:error=ENOMEM:when={number}{plus}"
                outcome = host.run(label, inner=faults.strace_words(f"trace={name}", rule))
                if host.check_lives(checks, outcome, may_refuse=False):
                    faults.recover(checks, outcome)


def main():
    setting.need_verb("record", "recover")
    faults.need_strace()
    checks = setting.Checks("W1")
    with setting.work_dir() as work:
        recorder_calls(checks, faults.Host(work, "p_calls.c", [5]))
        runtime_calls(checks, faults.Host(work, "p_calls.c", [3]))
    checks.verdict()


main()
