#!/usr/bin/env python3
"""W5: somebody truncates the arena while it is in use: the recorder does not die of SIGBUS, keeps
what it had, and says so. Programs that go on recording into it do die of that, as they would of any
memory of theirs that is taken away: here they are stopped and killed before, too. Somebody removes
it: who has mapped it goes on."""
import json
import os
import signal
import time
from pathlib import Path

import faults
import setting
import traces

BLOCKS_AT, BLOCK = 98304, 32768
SAID = "somebody truncated the memory"
MANY = 200  # events in the trace, or naps of the program


def arena_of(process):
    """The arena's path, once it is there."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for path in Path("/dev/shm").glob("tracetape-*/arena"):
            try:
                with open(path, "rb") as file:
                    if int.from_bytes(file.read(32)[28:], "little") == process.pid:
                        return path
            except OSError:
                continue
        time.sleep(0.01)
    return None


def stop(pid):
    """Until all of its threads have stopped."""
    os.kill(pid, signal.SIGSTOP)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        states = [path.read_text("ascii").rsplit(")", 1)[1].split()[0]
                  for path in Path(f"/proc/{pid}/task").glob("*/stat")]
        if set(states) == {"T"}:
            return
        time.sleep(0.01)


def has_events(process):
    """Whether enough is out of the arena: what blocks have so far is looked at each second."""
    said = setting.tracetape("control", process.pid, "status", "--json")
    return said.status == 0 and json.loads(said.out).get("events", 0) >= MANY


def naps(pid):
    """How often the program's threads have napped; None: it is gone."""
    try:
        texts = [path.read_text("ascii") for path in Path(f"/proc/{pid}/task").glob("*/status")]
    except OSError:
        return None
    found = [int(line.split()[1]) for text in texts for line in text.splitlines()
             if line.startswith("voluntary_ctxt_switches:")]
    return sum(found) if found else None


def wait_until(holds):
    until = time.monotonic() + 60
    while not holds() and time.monotonic() < until:
        time.sleep(0.02)


def go_on(process, pid):
    """Until the program has called some more, or is gone; then it ends well."""
    before = naps(pid)
    wait_until(lambda: before is None or (naps(pid) or before + MANY) >= before + MANY)
    faults.end_steady(process)


def one(checks, host, size, kills):
    def then(process, _):
        path = arena_of(process)
        pid = None
        while pid is None and process.poll() is None:
            pid = faults.child_named(process, "p_steady")
        wait_until(lambda: has_events(process))
        if kills:
            stop(pid)
        os.truncate(path, size)
        if kills:
            time.sleep(0.1)
            os.kill(pid, signal.SIGKILL)
        else:
            go_on(process, pid)
    label = f"arena cut to {size}, {'killed' if kills else 'goes on'}"
    outcome = host.run(label, then=then, wrapped=False)
    ends = {setting.DIED + (signal.SIGKILL if kills else signal.SIGBUS)}
    if size > 0 and not kills:  # the recorder said in the head that it is over, before a call
        ends.add(faults.LOSS)
    checks.that(not outcome.result.timed_out, f"{label}: does not end")
    checks.that(outcome.result.status in ends, f"{label}: status {outcome.result.status}")
    said = [line for line in outcome.result.said() if SAID in line]
    checks.equal(len(said), 1, f"{label}: says {outcome.result.said()}")
    if checks.that(outcome.trace.is_file(), f"{label}: no trace"):
        trace = faults.recover(checks, outcome)
        about, enters = traces.info(trace), traces.call_counts(trace)["enter"]
        checks.that(enters["node"] > 10 and enters["leaf"] > 30, f"{label}: calls {dict(enters)}")
        checks.that(traces.lost_and_told(about) > 0, f"{label}: nothing is said to be lost")
    setting.forget_arena(outcome.recorder)


def removed(checks, work):
    """Programs that began before somebody removed it are recorded; of later ones it is said."""
    trace = Path(work, "removed.ttape")
    program = setting.build("p_calls.c")
    script = '"$0" 3; rm -r "${TRACETAPE_ARENA%/*}"; "$0" 3'
    once = setting.tracetape("record", "-o", Path(work, "once.ttape"), "--", program, "3")
    done = setting.tracetape("record", "-o", trace, "--", "sh", "-c", script, program)
    checks.equal((once.status, done.status), (0, 0), f"removed: {once.err} {done.err}")
    checks.that(any("somebody removed '/dev/shm/tracetape-" in line for line in done.said()),
                f"removed: says {done.said()}")
    checks.equal(*(traces.call_counts(path)["enter"] for path in (trace, Path(work, "once.ttape"))),
                 "removed: calls")


def main():
    setting.need_verb("record")
    if not os.access("/dev/shm", os.W_OK):
        setting.skip("no /dev/shm here")
    setting.go_apart()
    checks = setting.Checks("W5, truncated")
    with setting.work_dir() as work:
        removed(checks, work)
        host = faults.Host(work, "p_steady.c", [200, 3, 1000])
        host.args[0] = faults.STEADY_MS
        for size in (0, BLOCKS_AT + BLOCK):
            for kills in (False, True):
                one(checks, host, size, kills)
    checks.verdict()


main()
