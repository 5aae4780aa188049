#!/usr/bin/env python3
"""A recorder is killed while a forked child, which has loaded a library of its own, is within
calls: in what is recovered they end as what they began as, and no function is two."""
import collections
import json
import signal
import subprocess
import time
from pathlib import Path

import setting
import traces

SHARED = ("-O2", "-fPIC", "-shared")
NAPS = "1500"  # of the child: three seconds
ENOUGH = 30_000  # events: some three hundred naps


def wait_for_events(pid, seconds=120):
    """Until so many are in the trace, whatever else the machine does."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        said = setting.tracetape("control", pid, "status", "--json")
        if said.status == 0 and json.loads(said.out)["events"] >= ENOUGH:
            return
        time.sleep(0.02)


def record(work):
    """A killed recorder's process id, and the folder that it left."""
    program = setting.build("p_fork_loads.c")
    library = setting.build("p_plugin.c", flags=SHARED, output="more.so", log=False)
    out = Path(work, "run.ttape")
    words = setting.record_words(out, [program, library, NAPS], "--partition-events", "2000")
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as recorder:
        wait_for_events(recorder.pid)
        recorder.send_signal(signal.SIGKILL)
    time.sleep(0.4)
    return recorder.pid, next(path for path in Path(work).iterdir() if path.is_dir())


def main():
    setting.need_verb("record")
    setting.go_apart()
    checks = setting.Checks("R16, parted")
    with setting.work_dir() as work:
        pid, folder = record(work)
        trace = Path(work, "recovered.ttape")
        done = setting.run([setting.COMMAND, "recover", folder, "-o", trace], cwd=work)
        setting.forget_arena(pid)
        checks.that(done.status in (0, 3), f"recover: {done.status}: {done.err}")
        checks.equal(traces.verify(trace), None, "verify")
        counts = traces.call_counts(trace)
        checks.that(counts["enter"]["nap"] > 150, f"only {counts['enter']['nap']} naps")
        checks.equal(sum(counts["exit_unseen"].values()), 0, "exits without a call")
        report = setting.run([setting.COMMAND, "report", trace], cwd=work).out.decode()
        rows = collections.Counter(line.split()[-1] for line in report.splitlines()[3:] if line)
        checks.equal([name for name in ("main", "leaf", "nap", "load") if rows[name] != 1], [],
                     f"rows of functions: {report}")
    checks.verdict()


main()
