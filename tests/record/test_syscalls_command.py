#!/usr/bin/env python3
"""`syscalls -- COMMAND`: output and exit status are the command's, the report goes elsewhere, the
engine fits the program and is told, and nothing is left behind."""
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

import setting


def run(*words, **options):
    return subprocess.run([setting.COMMAND, "syscalls", *words], capture_output=True, text=True,
                          timeout=120, **options)


def test_command():
    done = run("--", "sh", "-c", "echo out; echo err >&2; exit 5")
    assert (done.returncode, done.stdout) == (5, "out\n") and done.stderr.startswith("err\n"), done
    rows = done.stderr.splitlines()
    assert rows[1].split()[-1] == "syscall" and rows[-2].split()[-1] == "total", rows
    assert rows[-1].startswith("Recorded in process, without what the loader did"), rows
    died = run("--report", "died.txt", "--", "sh", "-c", "kill -9 $$")
    assert (died.returncode, died.stderr) == (128 + 9, ""), died
    assert "kill" in Path("died.txt").read_text()


def test_choice():
    """Only these are recorded; the trace is kept where it has a name."""
    done = run("--calls", "%file,!/^new/", "-o", "kept.ttape", "--report", "-", "--json", "--",
               "sh", "-c", ": < /dev/null; cd /")
    assert done.returncode == 0 and done.stderr == "", done
    found = {row["call"]: row["sum"]["calls"] for row in json.loads(done.stdout)["rows"]}
    assert found.get("chdir") == 1 and "close" not in found and "newfstatat" not in found, found
    info = subprocess.run([setting.COMMAND, "info", "--json", "kept.ttape"], check=True,
                          capture_output=True, text=True, timeout=60).stdout
    for text in ('"in-process"', '"constructor"', '"%file,!/^new/"'):
        assert text in info, info


def test_paths():
    done = run("--by", "path", "--json", "--calls", "write", "--", "sh", "-c", "echo a")
    found = json.loads(done.stderr)
    assert done.stdout == "a\n" and sum(row["exclusive"]["calls"] for row in found["rows"]) == 1
    assert any(len(row["path"]) > 1 for row in found["rows"]), found


def test_static():
    Path("static.c").write_text("int main(void) { return 3; }\n")
    if subprocess.run(["gcc", "-static", "static.c", "-o", "static"]).returncode:
        return
    for words in ([], ["--engine", "ptrace"]):
        done = run(*words, "--json", "--", "./static")
        found = json.loads(done.stderr)
        assert (done.returncode, found["engine"], found["from"]) == \
            (3, "ptrace", "first instruction"), (done, found)


RUNNING = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void *calls(void *unused)
{
    for (;;) { getppid(); usleep(500); }
    return unused;
}
int main(void)
{
    char byte;
    pthread_t thread;
    if (pthread_create(&thread, NULL, calls, NULL) != 0 || write(1, "r", 1) != 1)
        return 1;
    return read(0, &byte, 1) == 1 && byte == 'x' ? 7 : 2;
}
"""


def table(text):
    """What the table says: calls by name."""
    rows = [line.split() for line in text.splitlines()]
    return {row[-1]: int(row[3]) for row in rows if len(row) in (5, 6) and row[3].isdigit()}


def test_attach():
    """A process that runs, with two threads, one of which waits: it is as it was afterwards,
    however the recording ended."""
    Path("running.c").write_text(RUNNING)
    subprocess.run(["gcc", "-O1", "running.c", "-o", "running", "-pthread"], check=True)
    with subprocess.Popen(["./running"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout.read(1) == b"r"
        pid = str(program.pid)
        done = run("--duration", "500ms", "--attach", pid)
        found = table(done.stderr)
        assert done.returncode == 0 and found.get("getppid", 0) > 0, done
        assert "from the moment when it was attached to" in done.stderr.splitlines()[-1], done
        recorder = subprocess.Popen([setting.COMMAND, "syscalls", "--attach", pid, "-o", "a.ttape",
                                     "--report", "a.txt"])
        control = [setting.COMMAND, "control", pid]
        while subprocess.run(control + ["stop"], capture_output=True).returncode:
            assert recorder.poll() is None
        assert recorder.wait(120) in (0, 4)  # 4: it was stopped before a call
        again = subprocess.Popen([setting.COMMAND, "syscalls", "--attach", pid, "--calls",
                                  "getppid", "--report", "b.txt"])
        while subprocess.run(control + ["status"], capture_output=True).returncode:
            assert again.poll() is None
        again.send_signal(signal.SIGINT)
        assert again.wait(120) in (0, 4)
        program.stdin.write(b"x")
        program.stdin.flush()
        assert program.wait(120) == 7
    assert run("--attach", pid).returncode == 4
    assert run("--attach", pid, "--", "true").returncode == 2


def test_interval():
    """The table comes again and again, each time of more; the last is of all."""
    with subprocess.Popen([setting.COMMAND, "syscalls", "--interval", "50ms", "--calls", "getppid",
                           "--", "./running"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE) as program:
        counts = []
        for line in program.stderr:
            words = line.decode().split()
            if words[-1:] == ["getppid"]:
                counts.append(int(words[3]))
            if len(counts) == 3 and not program.stdin.closed:
                program.stdin.write(b"x")
                program.stdin.close()
        assert program.wait(120) == 7
    assert len(counts) >= 4 and counts == sorted(counts) and counts[0] < counts[-1], counts


KNOWN = """
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static int ends[2];
static char byte;
static __attribute__((noinline)) void few(void) { getppid(); getppid(); }
static void on_signal(int number)
{
    if (read(0, &byte, 1) == 1)
        getppid();
}
static void *waits(void *unused) { return read(ends[0], &byte, 1) == 1 ? unused : 0; }
int main(void)
{
    pthread_t thread;
    if (pipe(ends) != 0 || pthread_create(&thread, 0, waits, 0) != 0)
        return 1;
    for (int part = 0; part < 3; part++) {
        for (int i = 0; i < 100; i++)
            few();
        if (read(0, &byte, 1) != 1)
            return 1;
    }
    signal(SIGALRM, on_signal);
    raise(SIGALRM);
    return write(ends[1], "", 1) == 1 && pthread_join(thread, 0) == 0 ? 0 : 1;
}
"""


def tables(stream):
    """JSON after JSON, as they come."""
    text = ""
    for line in stream:
        text += line.decode()
        try:
            found = json.loads(text)
        except ValueError:
            continue
        yield found
        text = ""


def test_parts():
    """A trace is read part by part while it is recorded: calls over several parts count once, those
    under way too, and the table comes to what it is in the end."""
    Path("known.c").write_text(KNOWN)
    subprocess.run(["gcc", "-O1", "known.c", "-o", "known", "-pthread"], check=True)
    steps = [{"getppid": 200, "read": 2, "tgkill": 0}, {"getppid": 400, "read": 3, "tgkill": 0},
             {"getppid": 600, "read": 4, "tgkill": 0}, {"getppid": 600, "read": 5, "tgkill": 1},
             {"getppid": 601, "read": 5, "tgkill": 1}]
    left, found = list(steps), {}
    with subprocess.Popen([setting.COMMAND, "syscalls", "--interval", "1ms", "--by", "path",
                           "--json", "--calls", "getppid,read,tgkill", "--", "./known"],
                          stdin=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        for table_of_all in tables(program.stderr):
            found = dict.fromkeys(steps[0], 0)
            for row in table_of_all["rows"]:
                found[row["path"][-1]] += row["exclusive"]["calls"]
            assert all(found[name] <= left[0][name] for name in found), (found, left)
            waited_ns = sum(row["exclusive"]["time_ns"] for row in table_of_all["rows"]
                            if row["path"][-1] == "read")
            assert waited_ns >= 100_000 * (found["read"] - 2), table_of_all
            if found == left[0] and len(left) > 1:  # it waits: that is all that was called
                left.pop(0)
                program.stdin.write(b"x")
                program.stdin.flush()
        assert program.wait(120) == 0
    assert left == [found], (found, left)


DEEP = """
#include <unistd.h>
static __attribute__((noinline)) int deep(int n) { return n > 0 ? deep(n - 1) + 1 : getppid(); }
int main(void)
{
    char byte;
    for (int i = 0; i < 1000; i++) {
        deep(1500);
        usleep(1000);
    }
    return read(0, &byte, 1) == 1 ? 7 : 2;
}
"""


def test_whole_tables():
    """Where the recording ends while a table is written, the table comes to its end first."""
    Path("deep.c").write_text(DEEP)
    subprocess.run(["gcc", "-O0", "deep.c", "-o", "deep"], check=True)
    with subprocess.Popen([setting.COMMAND, "syscalls", "--interval", "1ms", "--by", "path",
                           "--json", "--calls", "getppid", "--", "./deep"],
                          stdin=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        room = fcntl.fcntl(program.stderr, fcntl.F_SETPIPE_SZ, 4096)
        held, until = 0, time.monotonic() + 120
        while held < room and time.monotonic() < until:  # a table is longer: its writer waits
            held = int.from_bytes(fcntl.ioctl(program.stderr, termios.FIONREAD, b"\0" * 4),
                                  sys.byteorder)
            time.sleep(0.02)
        assert held == room, held
        program.stdin.write(b"x")
        program.stdin.close()
        folder = next(Path("temporary").iterdir())
        while not list(folder.glob("deep.ttape")) or list(folder.glob("*.recording")):
            assert time.monotonic() < until
            time.sleep(0.02)
        time.sleep(0.2)  # so that it would be ended while it writes
        text = program.stderr.read().decode()
        assert program.wait(120) == 7
    found = list(tables(line.encode() for line in text.splitlines(True)))
    assert len(found) > 1 and "".join(text.split()).count('"rows"') == len(found), text[-500:]


EXECS = r"""
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
static char large[9000];
static void try(char **list) { syscall(SYS_execve, "/none", list, 0L); }
int main(void)
{
    char *page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char **end = (char **)(page + 4096), *many[5001];
    if (page == MAP_FAILED || munmap(page + 4096, 4096) != 0)
        return 1;
    memset(large, 'q', sizeof large - 1);
    for (int i = 0; i < 5000; i++)
        many[i] = "x";
    many[5000] = NULL;
    try((char *[]){NULL});
    try((char *[]){"ls", "", "a \"b\"", NULL});
    try((char *[]){"a", (char *)8, NULL}); /* no address */
    try((char *[]){"l", large, "m", NULL});
    try(many);
    end[-3] = "c", end[-2] = "d", end[-1] = NULL;
    try(end - 3);
    end[-1] = "e"; /* memory ends before the list does */
    try(end - 1);
    try(NULL);
    return 0;
}
"""


def test_lists():
    """What a program is given, in both engines; a list that is none is an address."""
    Path("execs.c").write_text(EXECS)
    subprocess.run(["gcc", "-O1", "-w", "execs.c", "-o", "execs"], check=True)
    wanted = ['[]', r'["ls", "", "a \"b\""]', "0x", f'["l", "{"q" * 4094}"..., ...]',
              "[" + 2047 * '"x", ' + '"x"..., ...]', '["c", "d"]',
              "0x", "NULL"]
    for engine in ("in-process", "ptrace"):
        done = run("--engine", engine, "--calls", "execve", "--list", "--", "./execs")
        found = [re.sub("^0x.*", "0x", text) for text in
                 re.findall(r'\texit\texecve\("/none", (.*), NULL\) = -1 ENOENT', done.stderr)]
        assert found == wanted, (engine, found)


def test_signals():
    """What was ignored is ignored after the recording, too: the report is written to its end."""
    script = "i=0; while [ $i -lt 1000 ]; do i=$((i+1)); cd /; done"
    with subprocess.Popen(["sh", "-c", 'trap "" HUP; exec "$@"', "sh", setting.COMMAND, "syscalls",
                           "--list", "--", "sh", "-c", script], stderr=subprocess.PIPE) as command:
        text = command.stderr.read(1)  # more than a pipe holds
        command.send_signal(signal.SIGHUP)
        text += command.stderr.read()
        assert command.wait(120) == 0 and text.count(b'\tchdir("') == 2000, (command, text[-200:])


def test_nothing():
    done = run("--calls", "ptrace", "--", "true")
    assert done.returncode == 4 and done.stderr.count("\n") == 1, done
    assert "none of these system calls" in done.stderr and "temporary" not in done.stderr, done


def test_errors():
    assert run("--", "./absent").returncode == 127
    assert run("--report", "absent/r.txt", "--", "touch", "ran").returncode == 4
    assert not os.path.exists("ran")
    for words in ([], ["a.ttape", "--", "true"], ["--report", "r.txt", "a.ttape"],
                  ["--decode-fds", "--", "true"]):
        assert run(*words).returncode == 2, words
    for option in ("--own", "--api"):  # before the command runs
        done = run(option, "(", "--", "touch", "ran")
        assert done.returncode == 2 and option in done.stderr, done
        assert not os.path.exists("ran")


def main():
    setting.need_syscalls()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.mkdir("temporary")
        os.environ["TMPDIR"] = os.path.join(folder, "temporary")
        test_command()
        test_choice()
        test_paths()
        test_static()
        test_attach()
        test_interval()
        test_parts()
        test_whole_tables()
        test_lists()
        test_signals()
        test_nothing()
        test_errors()
        assert os.listdir("temporary") == []
    return 0


sys.exit(main())
