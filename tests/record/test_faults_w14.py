#!/usr/bin/env python3
"""W14: vfork and exec, posix_spawn, system, popen, clone with shared memory: what runs in the
parent's memory makes no event of the parent, no event has the wrong thread, and no descriptor,
signal setting or limit leaks into a child."""
import oracle
import setting
from oracle import Case

SHOWS = ("for f in /proc/self/fd/*; do readlink $f; done | grep -v '^/proc/.*/fd$' | sort;"
         "grep -E '^(Sig[^Q]|Shd)' /proc/self/status; ulimit -a; umask; pwd;"
         "env | grep -vE '^(LD_PRELOAD|TRACETAPE.*|_|OWN_.*)=' | sort")


def main():
    setting.need_verb("record")
    checks = setting.Checks("W14")
    with setting.work_dir() as work:
        for way in ("vfork", "spawn", "system", "popen", "clone"):
            for compiler in setting.COMPILERS:
                oracle.observe(checks, Case(f"W14 {way}", "p_spawn.c", [way, 20],
                                            forbid=["borrowed_call"]), compiler, work)
        inherited(checks, work)
    checks.verdict()


def inherited(checks, work):
    """What a program finds that was started under `record`: as without."""
    alone = setting.run(["sh", "-c", SHOWS], cwd=work)
    traced = setting.run(setting.record_words(oracle.Path(work, "sh.ttape"), ["sh", "-c", SHOWS]),
                         cwd=work)
    pipes = [line for line in alone.out.splitlines() if not line.startswith((b"pipe:", b"socket:"))]
    found = [line for line in traced.out.splitlines()
             if not line.startswith((b"pipe:", b"socket:"))]
    extra = sorted(set(found) - set(pipes))
    missing = sorted(set(pipes) - set(found))
    checks.that(not extra and not missing, "a command finds other surroundings",
                f"more: {extra}", f"less: {missing}")
    count = [len(r.out.splitlines()) for r in (alone, traced)]
    checks.equal(count[1], count[0], "lines about the surroundings")


main()
