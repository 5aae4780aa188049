#!/usr/bin/env python3
"""Triggers of a recording: what is in the trace of a program with hooks, and of a patched one,
when its calls switch recording on and off, end it, or ask for copies; what control changes while a
program runs; and what is refused."""
import contextlib
import csv
import fcntl
import io
import os
import subprocess
import tempfile
from pathlib import Path

COMMAND = os.environ["TTAPE_BIN"]
WORK = Path(tempfile.mkdtemp())
PROGRAM = r"""
#include <signal.h>
#include <unistd.h>
static volatile int sum;
__attribute__((noinline)) static int leaf(int n) { sum += n; return sum; }
__attribute__((noinline)) static int mark(int n) { sum ^= n; return n * 2; }
__attribute__((noinline)) static void handle(int number) { sum += leaf(number); }
__attribute__((noinline)) static int slow(int n) { return sum += leaf(n); }
int main(int count, char **arguments)
{
    int status = count > 1 && arguments[1][0] == '=' ? arguments[1][1] - '0' : -1;
    count = status < 0 ? count : 0;
    signal(SIGUSR1, handle);
    for (int i = 1; i <= 4; i++) {
        leaf(i);
        mark(i);
    }
    leaf(5);
    slow(0);
    slow(1);
    for (int i = 0; i < 6000 && count > 1 && access(arguments[1], F_OK) != 0; i++)
        usleep(10000);
    raise(SIGUSR1);
    leaf(6);
    if (status > 9)
        raise(SIGKILL);
    return status < 0 ? 0 : status;
}
"""


def run(*arguments, status=0):
    done = subprocess.run([str(each) for each in arguments], capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL, timeout=120)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    return done


def record(program, *options, status=0, wait_for=()):
    path = WORK / "t.ttape"
    for old in WORK.glob("t.ttape*"):
        old.unlink()
    said = run(COMMAND, "record", "--no-switches", *options, "-o", path, program, *wait_for,
               status=status)
    return path, said.stderr


def calls(path, kinds=("enter",), options=()):
    """What begins in the main thread, of the program's own functions."""
    rows = csv.DictReader(io.StringIO(run(COMMAND, "dump", "--format", "csv", path,
                                          *options).stdout))
    return " ".join(row["symbol"] for row in rows if row["kind"] in kinds and
                    row["symbol"] in ("main", "leaf", "mark", "slow", "handle"))


def check(program, triggers, wanted, *options):
    path, said = record(program, *(word for each in triggers for word in ("--on", each)), *options)
    found = calls(path)
    assert found == wanted, (program.name, triggers, found, wanted, said)
    off, rest = options[:1] == ("--off",), [each for each in options if each != "--off"]
    read = [word for each in ("after 0s do off",) * off + triggers for word in ("--on", each)]
    found = calls(WORK / f"{program.name}-all.ttape", options=[*read, *rest])
    assert found == wanted, (program.name, "read", triggers, found, wanted)
    return path, said


def check_switches(program):
    check(program, ("mark times 2 do off",), "main leaf mark leaf mark")
    check(program, ("mark times 2 do off; slow do on",), "main leaf mark leaf mark slow leaf slow "
          "leaf handle leaf leaf")
    check(program, ("mark do off", "end mark do on"), "main leaf mark leaf mark leaf mark leaf "
          "mark leaf slow leaf slow leaf handle leaf leaf")
    check(program, ("end slow times 2 do on",), "handle leaf leaf", "--off")
    check(program, ("signal USR1 do on",), "handle leaf leaf", "--off")
    check(program, ("leaf times 5 do on; slow do off",), "leaf slow", "--off", "--filter", "!mark")
    check(program, ("slow > 100s do off; after 100s do off",), "main leaf mark leaf mark leaf mark "
          "leaf mark leaf slow leaf slow leaf handle leaf leaf")


def check_limits(program):
    """What holds of all calls changes at an event, for what begins behind it."""
    check(program, ("mark times 2 do depth 1; slow times 2 do depth 2",
                    "end slow times 2 do depth 9"),
          "main leaf mark leaf mark leaf handle leaf leaf")
    check(program, ("end mark times 3 do time 100s; slow times 2 do time 0ns",),
          "main leaf mark leaf mark leaf mark leaf handle leaf leaf", "--filter", "!nothing")
    check(program, ("mark(n=2) do time 100s, depth 2; slow(n=1) do time 0ns",),
          "main leaf mark leaf mark leaf handle leaf", "--filter", "depth 9; depth 1 below handle")


def check_copies(program):
    path, _ = record(program, "--on", "end slow(n=1) do checkpoint",
                     wait_for=[WORK / "t.ttape.snapshot-1"])
    copies = sorted(WORK.glob("t.ttape.snapshot-*"))
    assert len(copies) == 1, copies
    found = calls(copies[0], ("enter", "exit"))
    assert found.endswith("slow leaf leaf slow slow leaf leaf slow"), found
    assert len(calls(path)) > len(calls(copies[0]))
    run(COMMAND, "verify", copies[0])


def check_values(program):
    """Conditions of triggers have their values recorded; the filter does not leave out calls that
    triggers wait for."""
    check(program, ("mark(n=3) do off",), "main leaf mark leaf mark leaf mark")
    check(program, ("mark = 4 do off",), "main leaf mark leaf mark")
    check(program, ("mark(n=2) = 4 do off",), "leaf leaf", "--filter", "leaf")


def check_keep(program):
    """What nothing keeps leaves nothing, however it is written; what is there already stays."""
    failed = "exit != 0 do keep"
    for trigger, asked, status, is_kept in (
            (failed, "=0", 0, False), (failed, "=3", 3, True),
            ("exit=137 do keep", "=K", 137, True),
            ("exit=4 do keep; exit > 4 do keep", "=3", 3, False), ("exit=3 do keep", "=3", 3, True),
            ("slow > 100s do keep; exit = 1 do keep", "=0", 0, False),
            ("mark(n=3) = 6 do keep; exit = 1 do keep", "=0", 0, True)):
        path, said = record(program, "--on", trigger, wait_for=(asked,), status=status)
        assert path.exists() == is_kept, (trigger, asked, said)
        assert is_kept or "no trace: nothing came" in said, said
    before = path.read_bytes()
    for options in (("--keep-last", "1M"), ("--rotate", "64K"), ("--files",), ()):
        run(COMMAND, "record", "--on", failed, *options, "-o", path, program, "=0")
        left = sorted(each.name for each in WORK.glob("t.*") if each != path)
        assert not left and path.read_bytes() == before, (options, left)
    path, _ = record(program, "--on", failed, "--live", wait_for=("=0",))
    assert not path.exists() and not run(COMMAND, "record", "--on", failed, "-o", "-", program,
                                         "=0").stdout
    done = run(COMMAND, "record", "--on", failed, "-o", "tcp://localhost:1", program, status=2)
    assert "does not go with -o tcp:" in done.stderr, done.stderr
    _, said = record(program, "--on", "nowhere do keep", wait_for=("=0",))
    assert "'nowhere do keep': no call of such a function was recorded" in said, said


def check_said(program):
    _, said = record(program, "--on", "nowhere do off; mark times 1000 do finish")
    assert "'nowhere do off': no call of such a function was recorded" in said, said
    assert "mark times" not in said, said
    everything = WORK / "hooks-all.ttape"
    done = run(COMMAND, "report", everything, "--on", "mark do checkpoint", status=2)
    assert "checkpoint is of recordings" in done.stderr, done.stderr
    done = run(COMMAND, "report", everything, "--on", "mark times do on", status=2)
    assert "a number is missing, at 'do on' (character 12)" in done.stderr, done.stderr
    done = run(COMMAND, "report", everything, "--on", "nowhere do off; end slow do finish")
    assert "nothing that was called matches '^nowhere$'" in done.stderr, done.stderr
    assert "slow" in done.stdout and "handle" not in done.stdout, done.stdout
    for text, words in ((("mark",), "'do' and an action are missing"),
                        (("mark do jump",), "no action"),
                        (("exit = 1 do off",), "'keep' is the only action"),
                        (("after 1s do off", "--clock", "none"), "--clock none has none"),
                        (("mark do time 1s", "--clock", "none"), "--clock none has none"),
                        (("mark do off", "--no-symbols"), "needs names")):
        _, said = record(program, "--on", *text, status=2)
        assert words in said and not (WORK / "t.ttape").exists(), said


SERVER = r"""
#include <unistd.h>
static volatile int sum;
__attribute__((noinline)) static int leaf(int n) { sum += n; return sum; }
__attribute__((noinline)) static int mark(int n) { leaf(n); sum ^= n; return n * 2; }
__attribute__((noinline)) static int step(int n) { mark(n); leaf(n); return n; }
__attribute__((noinline)) static int serve(void)
{
    char byte;
    while (read(0, &byte, 1) == 1) {
        step(byte);
        if (write(1, &byte, 1) != 1)
            break;
    }
    return sum;
}
int main(void) { serve(); return 0; }
"""
ROUNDS = ( # what control is asked for before a round, and what there is of that
    (("--filter", "!mark"), "step leaf leaf"),
    (("--filter", "below mark"), "mark leaf"),
    (("--filter", "depth 1", "--on", "after 100s do off"), "step"),
    (("--filter", "time 100s"), ""),
    (("--filter", "time 100s; time 0ns below mark; to leaf"), "mark leaf"),
    (("--filter", "!serve, leaf", "--on", "mark do off; end step do on"), "step mark"),
    (("--filter", "!serve", "--on", "mark do depth 1; step times 9 do time 9s"), "step mark"),
    (("--filter", "below serve", "--on", ""), ""),
    (("--filter", ""), "step mark leaf leaf"))


def control(pid, *options, status=0):
    done = run(COMMAND, "control", pid, *options, status=status)
    return done.stdout + done.stderr


@contextlib.contextmanager
def serving(server, *options):
    """A recording of the server, which has served once, and how to let it serve again. It ends with
    the block."""
    with subprocess.Popen([COMMAND, "record", "--quiet", "--force", "--no-patch", *options, "-o",
                           WORK / "control.ttape", server], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as recorder:
        def play():
            recorder.stdin.write(b"x")
            recorder.stdin.flush()
            assert recorder.stdout.read(1) == b"x"
        play()
        yield recorder, play
        recorder.stdin.close()
        assert recorder.wait() == 0


def check_control(server):
    """Each round of a program goes by what control has asked for before it; what is open all the
    time begins and ends once, or not at all."""
    for first, serves in (("", "main serve"), ("!serve", "main")):
        path = WORK / "control.ttape"
        with serving(server, "--filter", first) as (recorder, play):
            for options, _ in ROUNDS:
                said = control(recorder.pid, *options)
                assert f"recording into '{path}' goes by the new " in said, said
                play()
            said = control(recorder.pid, "--filter", "leaf; !mark(", status=2)
            assert "an argument's name is missing, or arg1, arg2 ..., at its end" in said, said
            said = control(recorder.pid, "on", "--filter", "leaf", status=2)
            assert "without 'on'" in said, said
            play()
            left = sorted(each.name for each in (WORK / "control.ttape.recording").iterdir())
            assert not [name for name in left if name.startswith("change")], left
        rounds = ["step mark leaf leaf", *(wanted for _, wanted in ROUNDS), "step mark leaf leaf"]
        wanted = " ".join([serves, *(each for each in rounds if each)])
        rows = list(csv.DictReader(io.StringIO(run(COMMAND, "dump", "--format", "csv",
                                                   path).stdout)))
        for kind in ("enter", "exit"):
            found = [row["symbol"] for row in rows if row["kind"] == kind and row["symbol"] in
                     ("main", "serve", "step", "mark", "leaf")]
            assert sorted(found) == sorted(wanted.split()), (first, kind, found, wanted)
            assert kind == "exit" or found == wanted.split(), (first, found, wanted)
        run(COMMAND, "verify", path)
        said = run(COMMAND, "info", path).stdout
        assert "filter '!mark'; behind " in said and said.count("events: ") == 13, said


def check_control_refused(server):
    """A recording that keeps no frames, and one without names, say so; nothing changes."""
    for options, words in (((), "with --filter '' they can be changed"),
                           (("--on", "exit = 0 do keep"), "but of an exit status"),
                           (("--depth", "9", "--no-symbols"), "begun with --no-symbols"),
                           (("--filter", "", "--clock", "none"), "begun with --clock none")):
        with serving(server, *options) as (recorder, _):
            for asked in (("--filter", "leaf; time 1s"), ("--on", "after 1s do off"),
                          ("--on", "step do time 1s")):
                said = control(recorder.pid, *asked, status=4)
                assert words in said, (options, said)
            folder = WORK / "control.ttape.recording"
            for name in ("change", "change.refused"):  # of a control that was killed
                (folder / name).write_text("")
        assert not folder.exists()


def check_control_keep(server):
    """What control asks for is what keeps the trace, or does not; what was kept before stays."""
    path = WORK / "control.ttape"
    for first, then, is_kept in (("", "exit = 7 do keep", False), ("step do keep", "exit = 7 do "
                                 "keep", True), ("exit = 7 do keep; step do off", "", True)):
        path.unlink(missing_ok=True)
        with serving(server, "--filter", "", "--on", first) as (recorder, _):
            control(recorder.pid, "--on", then)
        assert path.exists() == is_kept, (first, then)


def check_control_many(server):
    """Of any number of long filters the trace names the last ones, and recording goes on."""
    path = WORK / "control.ttape"
    with serving(server, "--filter", "") as (recorder, _):
        for number in range(6):
            control(recorder.pid, "--filter", f"f{number};" + " " * 65000)
        folder = os.open(f"{path}.recording", os.O_RDONLY)
        fcntl.flock(folder, fcntl.LOCK_EX)  # as another control does until it is answered
        said = control(recorder.pid, "--filter", "g", "--wait", "1ms", status=4)
        os.close(folder)
        assert "another change has not been answered yet" in said, said
    said = run(COMMAND, "info", path).stdout
    assert "earlier ones are not kept; behind " in said, said[:200]
    assert "'f5;" in said and "'f0;" not in said and said.count("events: filter") < 6


def main():
    server = WORK / "server.c"
    server.write_text(SERVER)
    run("cc", "-g", "-O1", "-finstrument-functions", "-o", WORK / "server", server)
    check_control(WORK / "server")
    check_control_refused(WORK / "server")
    check_control_many(WORK / "server")
    check_control_keep(WORK / "server")
    source = WORK / "p.c"
    source.write_text(PROGRAM)
    for name, flags in (("hooks", ["-finstrument-functions"]), ("plain", [])):
        run("cc", "-g", "-O1", "-fno-optimize-sibling-calls", *flags, "-o", WORK / name, source)
        run(COMMAND, "record", "--args", "--retval", "-o", WORK / f"{name}-all.ttape", WORK / name)
    check_switches(WORK / "hooks")
    check_limits(WORK / "plain")
    check_values(WORK / "plain")
    check_copies(WORK / "plain")
    check_keep(WORK / "plain")
    check_said(WORK / "hooks")
    print("triggers: ok")


main()
