#!/usr/bin/env python3
"""A recorder that is given no core for longer than a plan is usually waited for: the program waits
on while the recorder lives, and its functions are patched."""
import os
import signal
import subprocess
import time
from pathlib import Path

import setting
import traces

STOPPED_S = 2.5  # more than PLAN_WAIT_S of recorder/runtime/patch/plan_map.c
BEGIN = 'echo $PPID; kill -STOP $PPID; exec "$0" "$@"'


def start(work, trace, program):
    """The recording, and the recorder that the command has stopped."""
    words = [setting.COMMAND, "record", "-q", "-o", trace, "--patch", ".", "--", "sh", "-c", BEGIN,
             program, "1", "1000"]
    process = subprocess.Popen([str(w) for w in words], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                               env=setting.environment(XDG_CACHE_HOME=work))
    return process, int(process.stdout.readline())


def main():
    setting.need_verb("record")
    checks = setting.Checks("late plans")
    with setting.work_dir() as work:
        program = setting.build("p_tight.c", log=False, hooks=False)
        trace = Path(work, "late.ttape")
        process, recorder = start(work, trace, program)
        time.sleep(STOPPED_S)
        os.kill(recorder, signal.SIGCONT)
        out, err = process.communicate(timeout=120)
        checks.equal(process.returncode, 0, f"status; {out} {err}")
        checks.equal(traces.call_counts(trace)["enter"]["leaf"], 1000, f"calls; {err}")
    checks.verdict()


main()
