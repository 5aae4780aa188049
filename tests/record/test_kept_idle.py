#!/usr/bin/env python3
"""What a recording keeps last: a thread that waits since before that weighs as much as any other,
not what it has waited in all, and has the name that it gave itself. So it is in copies that are
made meanwhile, and in what `recover` makes of a recording whose recorder was killed."""
import json
import subprocess
import sys
from pathlib import Path

import setting
import traces


def check_weight(checks, label, trace):
    """No thread weighs more than the window, the one that waits no less than nothing."""
    told = json.loads(setting.tracetape("report", "--json", trace).out)
    info = traces.info(trace)
    window_ns = info["time_last_ns"] - info["time_first_ns"]
    rows = {row["name"]: row for row in told["rows"]}
    checks.equal(traces.verify(trace), None, f"{label}: verify")
    checks.that(0 < rows["waits"]["total_ns"] <= window_ns, f"{label}: it weighs the window",
                rows["waits"], window_ns)
    checks.that(told["span_ns"] <= 2 * window_ns, f"{label}: all threads", told["span_ns"],
                window_ns)
    names = [stream["name"] for stream in info["stream_list"]]
    checks.that("idler" in names, f"{label}: a thread's name", names)
    exact = json.loads(setting.tracetape("report", "--json", "--exact", trace).out)
    checks.equal([row["total_ns"] for row in exact["rows"]],
                 [row["total_ns"] for row in told["rows"]], f"{label}: exact")


def check_left(checks, folder, program):
    """A copy while it is recorded, and a recovery."""
    trace = Path(folder, "left.ttape")
    words = setting.record_words(trace, [program, "600000", "stay"], "-f", "--keep-last", "32K")
    with subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, env=setting.environment()) as recorder:
        for said in (b"begins\n", b"awake\n"):
            checks.equal(recorder.stdout.readline(), said, "what it says")
            done = setting.tracetape("control", str(recorder.pid), "flush", "--wait", "110s")
            checks.equal(done.status, 0, f"flush: {done.err}")
            recorder.stdin.write(b"x" * (said == b"begins\n"))
            recorder.stdin.flush()
        done = setting.tracetape("control", str(recorder.pid), "snapshot", "-w", "110s")
        checks.equal(done.status, 0, f"copy: {done.err}")
        recorder.kill()
    check_weight(checks, "copy", f"{trace}.snapshot-1")
    done = setting.tracetape("recover", f"{trace}.recording", "-o", trace)
    checks.that(done.status in (0, 3), f"recover: {done.err}")
    check_weight(checks, "recovered", trace)


def main():
    setting.need_verb("record", "report")
    setting.go_apart()
    checks = setting.Checks("kept idle")
    with setting.work_dir() as folder:
        trace = Path(folder, "kept.ttape")
        program = setting.build("p_idle_thread.c", flags=("-O1",), log=False)
        for switches in ([], ["--no-switches"]):
            words = setting.record_words(trace, [program, "600000"], "-f", "--keep-last", "32K",
                                         *switches)
            done = setting.run(words)
            checks.equal(done.status, 0, f"status: {done.err}")
            check_weight(checks, f"whole {switches}", trace)
        check_left(checks, folder, program)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
