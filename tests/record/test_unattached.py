#!/usr/bin/env python3
"""Programs that the runtime is loaded into and that find no arena, as those do that outlive their
recorder and start others: what they print and how they end is as without the runtime, whatever they
do that it stands in front of."""
import shutil
import sys
from pathlib import Path

import setting

RUNTIME = setting.BUILD / "libtracetape-rt.so"
# Those that say the same in each run, with arguments that make them short.
PROGRAMS = {"p_calls.c": ["2"], "p_coroutines.c": [], "p_dlopen.c": [], "p_endings.c": ["exit"],
            "p_ends.c": ["quick_exit"], "p_exec_self.c": ["2"], "p_executes.c": [],
            "p_forks.c": ["2"], "p_jumps.c": ["2"], "p_known_calls.c": [], "p_probes.c": [],
            "p_signals.c": ["2"], "p_spawn.c": [], "p_syscalls.c": [], "p_thread_exit.cc": [],
            "p_threads.c": ["2", "10"], "p_throwing.cc": []}
ENDS = {"sh": "exit 3", "bash": "(exit 4); exec /bin/sh -c 'exit 5'",
        "python3": "import os; os._exit(6)", "perl": "fork; exit 7"}


def run(words, work, environment):
    done = setting.run(words, cwd=work, timeout=60, env=setting.environment(**environment))
    return done.status, done.out, done.err


def main():
    setting.need_verb("record")
    checks = setting.Checks("unattached")
    with setting.work_dir() as folder:
        work = Path(folder)
        other = work / "other"
        other.write_bytes(bytes(200000))
        other.chmod(0o600)
        arenas = {"none": {}, "gone": {"TRACETAPE_ARENA": str(work / "gone")},
                  "no arena": {"TRACETAPE_ARENA": str(other)}}
        commands = [[setting.build(name, flags=("-O1", "-pthread"), log=True,
                                   libraries=("-lpthread", "-ldl", "-lm")), *words]
                    for name, words in PROGRAMS.items()]
        commands += [[name, "-e" if name == "perl" else "-c", text] for name, text in ENDS.items()
                     if shutil.which(name)]
        for command in commands:
            alone = run(command, work, {})
            if run(command, work, {}) != alone:
                print(f"left out: {command} says something else each time")
                continue
            for what, arena in arenas.items():
                found = run(command, work, {"LD_PRELOAD": str(RUNTIME), **arena})
                checks.equal(found, alone, f"{what}: {' '.join(map(str, command))}")
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
