#!/usr/bin/env python3
"""Programs that look at their own state, and unwind, call without a pause while they are attached
to and left: what patching at start must leave alone (test_patch, test_unwinds), attaching must."""
import json
import os
import re
import signal
import sys
from pathlib import Path

import process_state
import setting
import test_attach
import traces

STATES = (("p_patch_state.c", ("-O1",), setting.cut(50, 2)),
          ("p_patch_unwinds.cc", ("-O2",), setting.cut(50, 3)))


def look_at_unwinds(checks, program, ends):
    """No stack was cut, not even in the last moment, and exceptions went on all the time."""
    status, out, err = program.end()
    checks.equal((status, out), (0, "right\n"), f"unwinds: its answers: {err}")
    throws, samples, cuts = (int(word) for word in re.search(
        r"(\d+) throws, (\d+) samples, (\d+) of them cut", err).groups())
    checks.that(throws > 0 and samples > 0, f"unwinds: {err}")
    if ends:
        print(f"SKIPPED, of unwinding from code of ours: {ends}")
        return
    checks.equal(cuts, 0, f"unwinds: samples that end in code of ours: {err}")


WAITS = """#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) int f(int n) { volatile int m[4]; m[0] = n; return m[0]; }
static void *serve(void *unused) {
    for (char byte; read(0, &byte, 1) == 1;) { byte = f(byte); if (write(1, &byte, 1) != 1) break; }
    return unused;
}
int main(int count, char **words) {
    pthread_t one; char byte;
    if (pthread_create(&one, NULL, serve, NULL) != 0 || write(1, "r", 1) != 1) return 1;
    if (vfork() == 0) _exit(read(atoi(words[count - 1]), &byte, 1) != 0);
    return pthread_join(one, NULL);
}
"""
# for a thread in the kernel it is waited for 100 ms: PATIENCE_NS
SAID = re.compile(r"for \d{3,}[.]\d ms at most, \d{3,}[.]\d ms in all, and is as it was")


def check_tries(checks, work):
    """A thread waits for a child of vfork: the others stand still for nothing, which is said."""
    (work / "waits.c").write_text(WAITS)
    path = setting.build(str(work / "waits.c"), flags=("-O1", "-pthread"), log=False, hooks=False)
    end, start = os.pipe()
    program = test_attach.Asked(path, str(end), ready=b"r", pass_fds=(end,))
    os.close(end)
    test_attach.until("its child", lambda: process_state.number(program.pid, "State") == "D")
    server = max(int(name) for name in os.listdir(f"/proc/{program.pid}/task"))
    attached = test_attach.recorder(program.pid, work / "waits.ttape", most="64G")
    for tracer in (lambda pid: pid != "0", lambda pid: pid == "0"):
        test_attach.until("a try", lambda is_it=tracer: is_it(
            process_state.number(f"{program.pid}/task/{server}", "TracerPid")))
    os.close(start)
    test_attach.until("a recording", lambda: program.ask() and test_attach.has_events(attached))
    attached.send_signal(signal.SIGINT)
    said = attached.communicate(timeout=test_attach.GIVE_UP)[1]
    checks.that(SAID.search(said), f"a try that failed is not said: {said}")
    checks.equal(program.end(), (b"", 0), "a try that failed: the program's end")


def has_calls(trace, name):
    """Each thread runs now and then."""
    rows = json.loads(setting.tracetape("report", "--json", trace).out)["rows"]
    return any(row["name"] == name and row["calls"] > 0 for row in rows)


def check_all(checks, work):
    """Registers, flags, red zones and vectors are whole, stacks are found by whoever unwinds, and
    exceptions arrive, while recordings begin and end."""
    for source, flags, cycles in STATES:
        program = test_attach.Program(["again"], source, flags)
        trace, ends = work / "state.ttape", ""
        before, number, is_seen = {**program.state(), "mask": None}, 0, False
        while number < cycles or not is_seen:
            done = setting.tracetape("attach", "--max-size", "32K", "-f", "-o", trace, program.pid)
            said = done.err.decode()
            checks.that(done.status in (0, 3) and "is as it was" in said,
                        f"{source} {number}: {done.status}: {said}")
            checks.equal({**program.state(), "mask": None}, before,
                         f"{source} {number}: afterwards")
            checks.equal(traces.verify(trace), None, f"{source} {number}: the trace")
            ends = ends or (said if test_attach.ENDS in said else "")
            is_seen = is_seen or has_calls(trace, "throws" if "unwinds" in source else "plain")
            number += 1
        if "unwinds" in source:
            look_at_unwinds(checks, program, ends)
            continue
        status, out, err = program.end()
        checks.equal((status, out), (0, "right\n"), f"{source}: its answers")
        if "without" in err:
            print("SKIPPED, of the machine's state: it has no AVX-512")


def main():
    setting.need_verb("attach")
    checks = setting.Checks("state while attached")
    with setting.work_dir() as folder:
        if test_attach.LACKS in setting.tracetape("attach", "--duration", "10ms", "1").err.decode():
            setting.skip("this machine lacks rdfsbase")
        check_tries(checks, Path(folder))
        check_all(checks, Path(folder))
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
