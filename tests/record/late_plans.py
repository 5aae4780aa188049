"""Recordings whose recorder is stopped before the program wants its plan, by the program itself."""
import os
import signal
import subprocess
import time

import setting

BEGIN = 'echo $PPID; kill -STOP $PPID; exec "$0" "$@"'


def record(work, trace, stopped_s, *options):
    """Status, and what the recorder says, which goes on after so long."""
    program = setting.build("p_tight.c", log=False, hooks=False)
    words = [setting.COMMAND, "record", "-o", trace, "--patch", "^leaf$", *options, "--", "sh",
             "-c", BEGIN, program, "1", "1000"]
    process = subprocess.Popen([str(w) for w in words], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                               env=setting.environment(XDG_CACHE_HOME=work))
    recorder = int(process.stdout.readline())
    time.sleep(stopped_s)
    os.kill(recorder, signal.SIGCONT)
    _, err = process.communicate(timeout=120)
    return process.returncode, err
