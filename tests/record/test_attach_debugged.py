#!/usr/bin/env python3
"""gdb comes to a program that is attached to: all is put back while it holds the threads, its
breakpoint in a function that was patched works, and the trace is whole up to there. It knows the
callers of whoever is in a hook or a stub, at each instruction, with nothing typed. Where it is
there first, attaching is refused in words."""
import re
import subprocess
import sys
from pathlib import Path

import setting
import test_attach
import traces

STEPPED = setting.cut(("mix", "add_up", "descend", "halve", "serve"), ("mix",))
WAITS = setting.cut((), ("clock_nanosleep",)) # programs of long tests do not wait
TIMES = setting.cut(40, 0) # stacks of a busy program
SCRIPT = setting.SOURCE / "tools" / "attach" / "gdb" / "tracetape_attached.py"
STAYS_AWAY = "it is traced already"


def data_of_gdb(folder):
    """gdb's own folder, with the file where packages install it."""
    done = subprocess.run(["gdb", "-nx", "-batch", "-ex", "python print(gdb.PYTHONDIR)"],
                          check=True, capture_output=True, text=True)
    own, copied = Path(done.stdout.strip()).parent, Path(folder) / "gdb"
    folders = [own, own / "python", own / "python" / "gdb", own / "python" / "gdb" / "command"]
    for at in folders:
        (copied / at.relative_to(own)).mkdir()
        for each in at.iterdir():
            if each not in folders and each.name != "__pycache__":
                (copied / each.relative_to(own)).symlink_to(each)
    (copied / "python" / "gdb" / "command" / SCRIPT.name).symlink_to(SCRIPT)
    return copied


def gdb(program, *commands, data=None):
    words = ["gdb", "-nx", *(("-data-directory", str(data)) if data else ()), "-batch", "-p",
             str(program.pid), "-x", str(setting.HERE / "in_gdb.py")]
    return subprocess.Popen([*words, *(w for c in commands for w in ("-ex", c))], text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL)


def attach_and_debug(checks, program, trace, data, *commands, options=()):
    """What gdb says that comes while it is recorded."""
    attached = test_attach.recorder(program.pid, trace, *options, most="64G")
    test_attach.until("a recording", lambda: test_attach.has_events(attached))
    told = gdb(program, *commands, data=data).communicate(timeout=test_attach.GIVE_UP)[0]
    said = attached.communicate(timeout=test_attach.GIVE_UP)[1]
    checks.that(attached.returncode == 3 and "a debugger has come" in said, f"gdb later: {said}")
    checks.equal(traces.verify(trace), None, "gdb later: the trace")
    wrong = [word for word in program.state()["wrong"] if "differs" in word]
    checks.equal(wrong, [], "gdb later: the code")
    return told


def check_later(checks, program, trace, data):
    told = attach_and_debug(checks, program, trace, data, "break mix", "continue", "backtrace",
                            "continue", "delete", "detach")
    checks.equal((told.count("hit Breakpoint 1"), told.count(" in answer ")), (2, 1),
                 f"gdb later: {told}")


def check_stacks(checks, program, trace, data):
    """Of threads that are in a hook or a stub most of the time."""
    for number in range(TIMES):
        told = attach_and_debug(checks, program, trace, data, "python print_stacks()")
        stacks = re.findall(r"^stack (.*)", told, re.M)
        wrong = [each for each in stacks if not re.search(r" (main|clone3?)$", each)]
        checks.equal((len(stacks), wrong), (2, []), f"stacks {number}: {told[-600:]}")


def check_steps(checks, program, trace, data):
    told = attach_and_debug(checks, program, trace, data,
                            f"python step_in_stubs({STEPPED}, {WAITS})", options=("--syscalls",))
    steps = [line.split()[1:] for line in told.splitlines() if line.startswith("stepped ")]
    checks.equal({name for name, *_ in steps}, set(STEPPED + WAITS), f"steps: {told[-600:]}")
    wrong = [each for each in steps if int(each[1]) < 15 or each[2] != "0" or
             each[3] not in ("main", "clone", "clone3")]
    checks.equal(wrong, [], "steps: stacks")


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
        data = data_of_gdb(folder)
        program = test_attach.Program(["threads", "1"])
        check_later(checks, program, Path(folder) / "gdb.ttape", data)
        check_steps(checks, program, Path(folder) / "steps.ttape", data)
        check_first(checks, program, Path(folder) / "first.ttape")
        checks.equal(program.end(), (0, "right\n", ""), "its answers")
        if TIMES != 0:
            program = test_attach.Program(["busy", "threads", "1"])
            check_stacks(checks, program, Path(folder) / "busy.ttape", data)
            checks.equal(program.end(), (0, "right\n", ""), "its answers, when it was busy")
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
