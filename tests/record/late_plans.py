"""Recordings whose recorder is stopped before the program wants its plan, by the program itself."""
import os
import signal
import subprocess
import time

import setting

BEGIN = 'kill -STOP $PPID; echo $PPID; exec "$0" "$@"'
PULSE_S, PAUSE_S = 0.001, 1


def starve(recorder, for_s):
    """It gets a little time now and then, too little for a plan."""
    until = time.monotonic() + for_s
    while time.monotonic() < until:
        os.kill(recorder, signal.SIGCONT)
        time.sleep(PULSE_S)
        os.kill(recorder, signal.SIGSTOP)
        time.sleep(PAUSE_S)


def record(work, trace, for_s, starves=False):
    """Status, and what the recorder says, which is stopped or starved for so long."""
    program = setting.build("p_tight.c", log=False, hooks=False)
    words = [setting.COMMAND, "record", "-o", trace, "--patch", "^leaf$", "--", "sh", "-c", BEGIN,
             program, "1", "1000"]
    process = subprocess.Popen([str(w) for w in words], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                               env=setting.environment(XDG_CACHE_HOME=work))
    recorder = int(process.stdout.readline())
    if starves:
        starve(recorder, for_s)
    else:
        time.sleep(for_s)
    os.kill(recorder, signal.SIGCONT)
    _, err = process.communicate(timeout=300)
    return process.returncode, err
