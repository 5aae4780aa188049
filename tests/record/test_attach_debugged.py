#!/usr/bin/env python3
"""gdb comes to a program that is attached to: all is put back while it holds the threads, its
breakpoint in a function that was patched works, and the trace is whole up to there. Where it is
there first, attaching is refused in words."""
import subprocess
import sys
from pathlib import Path

import setting
import test_attach
import traces

STAYS_AWAY = "it is traced already"


def gdb(program, *commands):
    words = ["gdb", "-nx", "-batch", "-p", str(program.pid)]
    return subprocess.Popen([*words, *(w for c in commands for w in ("-ex", c))], text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL)


def check_later(checks, program, trace):
    attached = test_attach.recorder(program.pid, trace, most="64G")
    test_attach.until("a recording", lambda: test_attach.has_events(attached))
    debugger = gdb(program, f"shell tail --pid={attached.pid} -f /dev/null", "break mix",
                   "continue", "backtrace", "continue", "delete", "detach")
    said = attached.communicate(timeout=test_attach.GIVE_UP)[1]
    told = debugger.communicate(timeout=test_attach.GIVE_UP)[0]
    checks.equal(attached.returncode, 3, f"gdb later: {said}")
    checks.equal((told.count("hit Breakpoint 1"), told.count(" in answer ")), (2, 1),
                 f"gdb later: {told}")
    checks.equal(traces.verify(trace), None, "gdb later: the trace")
    wrong = [word for word in program.state()["wrong"] if "differs" in word]
    checks.equal(wrong, [], "gdb later: the code")


def check_first(checks, program, trace):
    debugger = gdb(program, "python print('there', flush=True)", "shell read line", "detach")
    test_attach.until("gdb", lambda: debugger.stdout.readline() in ("there\n", ""))
    done = setting.tracetape("attach", "--duration", "10ms", "-f", "-o", trace, program.pid)
    checks.that(done.status == 4 and STAYS_AWAY in done.err.decode(), f"gdb first: {done.err}")
    debugger.communicate(timeout=test_attach.GIVE_UP)
    done = setting.tracetape("attach", "--duration", "10ms", "-f", "-o", trace, program.pid)
    checks.that(b"is as it was" in done.err, f"when gdb has gone: {done.err}")
    checks.that(b"compiles while" not in done.err, f"what was left is called code: {done.err}")
    checks.equal(program.state()["wrong"], [], "when gdb has gone: afterwards")


def main():
    setting.need_verb("attach")
    setting.need_command("gdb")
    checks = setting.Checks("attached to, and debugged")
    with setting.work_dir() as folder:
        program = test_attach.Program(["threads", "1"])
        check_later(checks, program, Path(folder) / "gdb.ttape")
        check_first(checks, program, Path(folder) / "first.ttape")
        checks.equal(program.end(), (0, "right\n", ""), "its answers")
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
