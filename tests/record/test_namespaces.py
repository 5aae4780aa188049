#!/usr/bin/env python3
"""Processes that a program forks into another namespace of process ids are recorded, by the ids
that the recorder knows, and the recording ends. A second signal to end, once the command has gone,
ends a recording whatever still runs."""
import os
import signal
import subprocess
import time
from pathlib import Path

import setting
import traces

WAYS = ("unshare", "clone", "setns")
CALLS = 4000  # of the command, the first process there, its thread, its child
PATIENCE = 120


def forks(checks, work, program):
    for way in WAYS:
        alone = setting.run([program, way])
        if alone.status == 77:
            print(f"left out: the kernel refuses this user '{way}'")
            continue
        trace = Path(work, f"{way}.ttape")
        done = setting.run(setting.record_words(trace, [program, way]), timeout=PATIENCE)
        if not checks.that(not done.timed_out, f"{way}: the recording ends"):
            continue
        checks.equal((done.status, done.out), (alone.status, alone.out), f"{way}: {done.err}")
        about = traces.info(trace)
        checks.equal(traces.lost(about), 0, f"{way}: lost")
        checks.equal(traces.call_counts(trace)["enter"]["leaf"], CALLS, f"{way}: calls")
        streams = {(s["pid"], s["tid"]) for s in about["stream_list"]}
        checks.equal(len({pid for pid, _ in streams}), 3, f"{way}: processes of {streams}")
        checks.that(all(pid > 2 and tid > 2 for pid, tid in streams), f"{way}: ids", streams)


def unknown(checks, work, program):
    """Where the namespace has a /proc of its own, a forked child cannot know its id as the recorder
    does: it is counted, with its calls."""
    alone = setting.run([program, "proc"])
    if alone.status != 0:
        print(f"left out: the kernel refuses this user a /proc: {alone.status}")
        return
    trace = Path(work, "proc.ttape")
    done = setting.run(setting.record_words(trace, [program, "proc"]), timeout=PATIENCE)
    checks.equal((done.status, done.out), (3, alone.out), f"own /proc: {done.err}")
    about = traces.info(trace)
    checks.equal(about["unrecorded"], {"other_namespace": 1}, "own /proc: the reason")
    checks.equal(traces.call_counts(trace)["enter"]["leaf"], CALLS - 1000, "own /proc: calls")


def has_command(recorder):
    """Whether the recorder has not waited for its command yet."""
    listed = subprocess.run(["ps", "-o", "comm=", "--ppid", str(recorder)], check=False,
                            capture_output=True, text=True).stdout
    return "p_namespaces" in listed


def signals(checks, work, program):
    for number in (signal.SIGINT, signal.SIGTERM):
        trace = Path(work, f"signal-{int(number)}.ttape")
        words = setting.record_words(trace, [program, "stays"])
        recorder = setting.start(words, cwd=work)
        recorder.stdout.readline()  # the child has called
        until = time.monotonic() + PATIENCE
        while has_command(recorder.pid) and time.monotonic() < until:
            time.sleep(0.01)
        while recorder.poll() is None and time.monotonic() < until:
            recorder.send_signal(number)
            time.sleep(0.01)
        checks.equal(recorder.poll(), 0, f"{number.name}: the recorder's status")
        setting.kill_group(recorder)
        recorder.communicate()
        if trace.is_file():
            checks.equal(traces.call_counts(trace)["enter"]["leaf"], 2000, f"{number.name}: calls")


def main():
    setting.need_verb("record")
    checks = setting.Checks("namespaces")
    program = setting.build("p_namespaces.c", log=False)
    with setting.work_dir("ttape-namespaces.") as work:
        os.chmod(work, 0o777)
        signals(checks, work, program)
        forks(checks, work, program)
        unknown(checks, work, program)
    checks.verdict()


main()
