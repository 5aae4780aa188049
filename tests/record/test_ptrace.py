#!/usr/bin/env python3
"""`record --engine ptrace`: system calls of programs that nothing is loaded into, dynamic and
static: exact counts with threads, handlers, jumps, cancellation, fork, vfork and exec; what
programs write and how they end is as without; the same counts as strace's. The recorder's death
leaves them running. Run as root and as an ordinary user."""
import ctypes
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

import faults
import setting

# Calls of p_known_calls in its own images: number and failures.
KNOWN = {"getppid": (403, 0), "close": (None, 1), "vfork": (1, 0), "kill": (3, 0),
         "exit_group": (5, 0), "pipe2": (1, 0), "wait4": (4, 0)}
NUMBERS = {"clock_nanosleep": "230", "read": "0", "restart_syscall": "219"}
FAILED_READS = 1  # that a signal interrupted
# strace never counts the first two. How many of a shell's children end before it looks, and so are
# told by one signal, depends on the machine.
STRACE_NEVER = {"exit", "exit_group", "rt_sigreturn"}


def record(trace, *command, engine=("--engine", "ptrace"), **options):
    return subprocess.run([setting.COMMAND, "record", *engine, "-q", "-f", "-o", trace,
                           "--", *command], capture_output=True, timeout=120, **options)


def calls_of(trace):
    done = subprocess.run([setting.COMMAND, "syscalls", "--json", trace], capture_output=True,
                          timeout=60, check=True)
    return {row["call"]: (row["sum"]["calls"], row["sum"]["errors"])
            for row in json.loads(done.stdout)["rows"]}


def test_known(program):
    alone = subprocess.run([program], capture_output=True, timeout=60)
    done = record("known.ttape", program)
    assert (done.returncode, done.stdout, done.stderr) == (11, alone.stdout, alone.stderr) and \
        alone.returncode == 11, (done, alone)
    found = calls_of("known.ttape")
    for name, (calls, errors) in KNOWN.items():
        assert name in found, (name, found)
        got = found[name]
        assert (calls is None or got[0] == calls) and got[1] == errors, (name, got, found)
    # What the loader reads, and true's, is not known here.
    listed = subprocess.run([setting.COMMAND, "syscalls", "--list", "--calls", "read",
                             "known.ttape"], capture_output=True, text=True, check=True, timeout=60)
    ends = [line.split("\t")[2:] for line in listed.stdout.splitlines()]
    left = [end for end in ends if end[0] == "left"]
    assert len(left) == 2, ends  # by a jump, and by cancellation
    failed = ["exit", "read = -1 EINTR (Interrupted system call)"]
    assert sum(end == failed for end in ends) == FAILED_READS, ends
    subprocess.run([setting.COMMAND, "verify", "-q", "known.ttape"], check=True, timeout=60)


def test_in_process(program):
    """The other engine sees the same, but for what comes before its constructor."""
    done = record("inside.ttape", program, engine=["--no-patch", "--syscalls"])
    assert done.returncode == 11 and done.stderr == b"", done
    found = calls_of("inside.ttape")
    for name, (calls, errors) in KNOWN.items():
        if calls is not None:
            assert found.get(name) == (calls, errors), (name, found)
    # system() starts its child by clone3 or clone, in the parent's memory: nothing is lost.
    done = record("system.ttape", "awk", 'BEGIN { system("echo y") }',
                  engine=["--no-patch", "--syscalls"])
    assert (done.returncode, done.stdout, done.stderr) == (0, b"y\n", b""), done
    found = calls_of("system.ttape")
    assert sum(found.get(name, (0, 0))[0] for name in ("clone", "clone3", "vfork")) == 1, found


def paths_of(trace):
    done = subprocess.run([setting.COMMAND, "syscalls", "--json", "--by", "path", trace],
                          capture_output=True, timeout=60, check=True)
    return {tuple(row["path"]): row["exclusive"]["calls"]
            for row in json.loads(done.stdout)["rows"]}


def test_stacks(program):
    """Both engines see the same paths to the calls that are known."""
    seen = []
    for trace, engine in (("outside.ttape", ["--engine", "ptrace", "--stacks"]),
                          ("inside.ttape", ["--no-patch", "--syscalls", "--stacks"])):
        done = record(trace, program, engine=engine)  # true may have no names, which is said
        assert done.returncode == 11, done
        subprocess.run([setting.COMMAND, "verify", "-q", trace], check=True, timeout=60)
        seen.append({path: calls for path, calls in paths_of(trace).items()
                     if path[-1] in ("getppid", "kill")})
    outside, inside = seen
    assert outside == inside, (outside, inside)
    by_threads = [path for path in outside if "start_thread" in path]
    assert [outside[path] for path in by_threads] == [400] and "calls" in by_threads[0], outside
    handled = [path for path in outside if "count" in path and "read_one" in path]
    assert sum(outside[path] for path in handled) == 3, outside  # through frames of signals


def test_some_stacks(program):
    """Of one in ten calls of a thread: exactly that many, and all calls are counted."""
    for engine in (["--engine", "ptrace"], []):
        done = record("some.ttape", program, engine=[*engine, "--no-patch", "--syscalls=getppid",
                                                     "--stack-every", "10"])
        assert done.returncode == 11, done
        assert calls_of("some.ttape") == {"getppid": (403, 0)}, calls_of("some.ttape")
        done = subprocess.run([setting.COMMAND, "syscalls", "--json", "--by", "path", "some.ttape"],
                              capture_output=True, timeout=60, check=True)
        found = json.loads(done.stdout)
        by_threads = sum(row["exclusive"]["calls"] for row in found["rows"]
                         if "start_thread" in row["path"])
        # Three more are the main thread's, which may be in one group or in two.
        assert by_threads == 40 and 40 <= found["shown"]["calls"] <= 41, found
        assert found["all"]["calls"] == found["shown"]["calls"], found
        assert found["all"]["calls"] + found["without_stack"]["calls"] == 403, found
        drawn = subprocess.run([setting.COMMAND, "export", "--format", "folded", "some.ttape"],
                               capture_output=True, text=True, timeout=60, check=True)
        assert "the stacks of some system calls only" in drawn.stderr, drawn
    done = subprocess.run([setting.COMMAND, "syscalls", "--json", "--report", "some.json", "--by",
                           "path", "--calls", "getppid", "--stack-every", "10", "--", program],
                          capture_output=True, timeout=60)
    assert done.returncode == 11, done
    with open("some.json") as file:
        found = json.load(file)
    assert 40 <= found["shown"]["calls"] <= 41 and found["without_stack"]["calls"] >= 362, found
    done = record("some.ttape", program,
                  engine=["--no-patch", "--syscalls=getppid", "--stack-rate", "1000000/s"])
    assert done.returncode == 11 and sum(
        calls for path, calls in paths_of("some.ttape").items() if "start_thread" in path) > 0


def test_application_stacks(program):
    """What the program's own code calls, without the C library's frames; the rule may be said."""
    for engine in (["--engine", "ptrace"], []):
        for own, last in (([], "calls"), (["--own", "/libc"], "getppid")):
            done = record("own.ttape", program, engine=[*engine, "--no-patch", "--syscalls=getppid",
                                                        "--stacks=application", *own])
            assert done.returncode == 11, done
            found = paths_of("own.ttape")
            # Of handlers and in threads: one path each, or the C library's part of them.
            threads = [path for path, calls in found.items() if calls == 400]
            assert len(threads) == 1 and threads[0][-2:] == (last, "getppid"), found
            assert ("'main'" in str(found)) == (not own) and sum(found.values()) == 403, found
            assert ("start_thread" in str(found)) == bool(own), found


def test_as_strace():
    if not setting.shutil.which("strace"):
        print("SKIPPED: strace is not installed")
        return
    loop = ["sh", "-c", "for i in 1 2 3; do /bin/true; echo $i | cat; done; exit 3"]
    for command in (loop, ["ls", "-lR", "/usr/share/doc/dash"]):
        expected = faults.calls_by_strace(command)
        done = record("loop.ttape", *command)
        assert done.stdout == subprocess.run(command, capture_output=True).stdout
        found = {name: sums for name, sums in calls_of("loop.ttape").items()
                 if name not in STRACE_NEVER}
        expected.pop("rt_sigreturn", None)
        for name, (calls, errors) in expected.items():  # of restarted calls it counts each try
            more = calls - found.get(name, (0, 0))[0]
            if 0 < more == errors - found.get(name, (0, 0))[1]:
                expected[name] = found[name]
        if found != expected:
            for verb in ("info", "dump"):  # what is in it instead
                subprocess.run([setting.COMMAND, verb, "loop.ttape"], check=False)
        assert found == expected, {name: (found.get(name), expected.get(name))
                                   for name in set(found) | set(expected)
                                   if found.get(name) != expected.get(name)}


def deny_ptrace():
    """In the recorder and its tracer: ptrace fails, as in a container."""
    code = [(0x20, 0, 0, 0), (0x15, 0, 1, 101), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
    room = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
    filter_ = ctypes.create_string_buffer(struct.pack("HP", len(code), ctypes.addressof(room)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, filter_, 0, 0):
        os._exit(99)


def test_refused():
    """Where nobody may trace, the command is not run, and the reason is said."""
    done = record("refused.ttape", "touch", "ran", preexec_fn=deny_ptrace)
    assert done.returncode == 4 and b"cannot trace process" in done.stderr, done
    assert not os.path.exists("ran") and not os.path.exists("refused.ttape")
    assert not os.path.exists("refused.ttape.recording")


def test_killed_recorder():
    """kill -9 of the recorder: the program runs on, and is not stopped."""
    os.mkfifo("started")
    os.mkfifo("go")
    os.mkfifo("end")
    script = "echo a > started; read word < go; /bin/true; echo $word > end"
    recorder = subprocess.Popen([setting.COMMAND, "record", "--engine", "ptrace", "-q", "-f", "-o",
                                 "killed.ttape", "--", "sh", "-c", script])
    with open("started") as file:
        assert file.read() == "a\n"
    recorder.send_signal(signal.SIGKILL)
    recorder.wait()
    setting.forget_arena(recorder.pid)  # else another recorder finds it, and says so
    with open("go", "w") as file:
        file.write("on\n")
    with open("end") as file:
        assert file.read() == "on\n"


def test_stopped():
    """Where recording ends before the command does, nobody traces it any more."""
    script = "echo $$; while read word; do /bin/true; echo $word; done; exit 3"
    recorder = subprocess.Popen([setting.COMMAND, "record", "--engine", "ptrace", "-q", "-f", "-o",
                                 "stopped.ttape", "--", "sh", "-c", script], text=True, bufsize=1,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    pid = int(recorder.stdout.readline())
    subprocess.run([setting.COMMAND, "control", str(pid), "stop"], check=True, timeout=60)
    rounds = 0
    while "TracerPid:\t0\n" not in open(f"/proc/{pid}/status").read():
        recorder.stdin.write("on\n")
        assert recorder.stdout.readline() == "on\n"
        rounds += 1
        assert rounds < 20
    recorder.communicate()
    assert recorder.returncode == 3
    subprocess.run([setting.COMMAND, "verify", "-q", "stopped.ttape"], check=True, timeout=60)


def test_off():
    """What is called while recording is off is left out, and a gap counts it."""
    script = f"cd /; cd /; {setting.COMMAND} control $$ on >/dev/null; cd /tmp"
    subprocess.run([setting.COMMAND, "record", "--off", "--syscalls=chdir", "--engine", "ptrace",
                    "-q", "-f", "-o", "off.ttape", "--", "sh", "-c", script],
                   check=True, timeout=60)
    text = subprocess.run([setting.COMMAND, "dump", "off.ttape"], check=True, timeout=60,
                          capture_output=True, text=True).stdout
    assert text.count("chdir()") == 1 and "gap: 4 events lost, reason: stopped" in text, text


def test_attached():
    """What a thread waits in while it is attached to has waited that long, in sums, too, by its own
    name; and nobody has ended who lives."""
    sleeper = subprocess.Popen(["sleep", "1000"], stdout=subprocess.DEVNULL)
    reader = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        for process, now, call in ((sleeper, "clock_nanosleep", "clock_nanosleep"),
                                   (sleeper, "restart_syscall", "clock_nanosleep"),
                                   (reader, "read", "read")):
            while open(f"/proc/{process.pid}/syscall").read().split()[0] != NUMBERS[now]:
                pass  # it is about to
            begun = time.monotonic_ns()
            done = subprocess.run([setting.COMMAND, "record", "--attach", str(process.pid),
                                   "--max-time", "1s", "-q", "-f", "-o", "attached.ttape"],
                                  capture_output=True, timeout=60)
            took = time.monotonic_ns() - begun
            assert done.returncode == 0 and process.poll() is None, done
            told = subprocess.run([setting.COMMAND, "last", "--json", "attached.ttape"],
                                  capture_output=True, check=True, timeout=60)
            thread, = json.loads(told.stdout)["threads"]
            assert thread["end"] == "went on when recording ended", thread
            assert thread["stop_reason"] == 2, thread
            assert [frame["function"] for frame in thread["open"]] == [call], thread
            table = subprocess.run([setting.COMMAND, "syscalls", "--json", "attached.ttape"],
                                   capture_output=True, check=True, timeout=60)
            row, = json.loads(table.stdout)["rows"]
            assert (row["call"], row["sum"]["calls"]) == (call, 1), row
            assert 0 < row["sum"]["time_ns"] <= took, (row, took)
            waited = thread["end_time_ns"] - thread["open"][0]["enter_time_ns"]
            assert row["sum"]["time_ns"] == waited, (row, thread)
            subprocess.run([setting.COMMAND, "verify", "-q", "attached.ttape"], check=True,
                           timeout=60)
    finally:
        for process in (sleeper, reader):
            process.kill()
            process.wait()
            if process.stdin is not None:
                process.stdin.close()


def main():
    setting.need_syscalls()
    setting.go_apart()
    source = setting.PROGRAMS / "p_known_calls.c"
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, options in (("dynamic", []), ("static", ["-static"])):
            built = subprocess.run(["gcc", "-O1", "-pthread", *options, source, "-o", name])
            if built.returncode == 0 or not options:
                test_known(f"./{name}")
        test_in_process("./dynamic")
        test_stacks("./dynamic")
        test_some_stacks("./dynamic")
        test_application_stacks("./dynamic")
        test_as_strace()
        test_killed_recorder()
        test_off()
        test_attached()
        test_stopped()
        test_refused()
    return 0


sys.exit(main())
