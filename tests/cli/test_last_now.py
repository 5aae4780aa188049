#!/usr/bin/env python3
"""`tracetape last --pid`: threads that wait for each other, by name; recursion in a line; a process
goes on as if nobody had looked; who may not look is told why."""
import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import test_last_core

COMMAND = os.environ["TTAPE_BIN"]
SOURCE = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <unistd.h>
pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
pthread_barrier_t both;
pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static void *left(void *p)
{
    pthread_mutex_lock(&first);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&second);
    return p;
}
static void *right(void *p)
{
    pthread_mutex_lock(&second);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&first);
    return p;
}
__attribute__((noinline)) int deep(int n)
{
    char c;
    if (n == 0)
        return read(0, &c, 1) == 1 ? 7 : 9;
    int got = deep(n - 1);
    return got < 0 ? 0 : got;
}
static void *idle(void *p)
{
    pthread_mutex_lock(&first);
    pthread_cond_wait(&never, &first);
    return p;
}
int main(int count, char **words)
{
    pthread_t a, b;
    pthread_barrier_init(&both, NULL, 2);
    if (count > 1 && strcmp(words[1], "lock") == 0) {
        pthread_create(&a, NULL, left, NULL);
        pthread_create(&b, NULL, right, NULL);
        pthread_setname_np(a, "left");
        pthread_setname_np(b, "right");
    }
    for (int i = 0; i < 30 && count > 1 && strcmp(words[1], "pool") == 0; i++)
        pthread_create(&a, NULL, idle, NULL);
    _exit(deep(500));
}
"""
FAULT = r"""
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
volatile int ready;
static void told(int number, siginfo_t *info, void *context)
{
    signal(number, SIG_DFL);
}
__attribute__((noinline)) void write_there(int *p) { *p = 8; }
static void *work(void *p) { ready = 1; write_there((int *)8); return p; }
int main(void)
{
    pthread_t thread;
    struct sigaction action = {.sa_sigaction = told, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    pthread_create(&thread, NULL, work, NULL);
    for (;;)
        pause();
}
"""
KILLED = """
#include <signal.h>
void done(void) {}
int main(void) { done(); return raise(SIGKILL); }
"""
WHOLE = "(the same 1 call, 500 more times)"  # a program of SOURCE has come to where it waits
failures = []


def check(holds, *what):
    if not holds:
        failures.append(what)
        print("FAILED:", *what, file=sys.stderr)


def look(pid, *words):
    """Of as many columns as numbers of threads take where other processes begin among them."""
    return subprocess.run([COMMAND, "last", "--pid", str(pid), *words], capture_output=True,
                          text=True, check=False, env={**os.environ, "COLUMNS": "2000"})


def look_until(pid, *words):
    """What is shown once all of the program is there: it may be looked at in the middle of its
    way, and threads before they have their names."""
    until = time.monotonic() + 60
    while True:
        shown = look(pid)
        if all(word in shown.stdout for word in words) or time.monotonic() > until:
            return shown


def state_of(pid):
    return Path(f"/proc/{pid}/stat").read_text("utf-8").rsplit(")", 1)[1].split()[0]


def finish(process):
    process.stdin.write(b"x")
    process.stdin.close()
    return process.wait(60)


def check_deadlock(program):
    with subprocess.Popen([program, "lock"], stdin=subprocess.PIPE) as process:
        shown = look_until(process.pid, "deadlock: ", "(left) waits for second", "(right)", WHOLE)
        head = shown.stdout.split("\n\n", maxsplit=1)[0]
        for word in ("(left) waits for second, held by thread", "(right)", "waits for first"):
            check(word in head, "deadlock", word, shown.stdout, shown.stderr)
        check("left (now.c:13)" in shown.stdout, "file and line", shown.stdout)
        check(shown.stdout.count("\n") < 20 and "futex" not in shown.stdout, "short", shown.stdout)
        said = json.loads(look(process.pid, "--json").stdout)["threads"]
        tids = {thread["name"]: thread["tid"] for thread in said}
        held = {thread["name"]: thread["held_by"] for thread in said}
        check(held["left"] == tids["right"] and held["right"] == tids["left"], "json", said)
        check(finish(process) == 7, "it goes on", process.returncode)


def check_recursion(program):
    with subprocess.Popen([program], stdin=subprocess.PIPE) as process:
        shown = look_until(process.pid, WHOLE)
        check("deep (now.c:" in shown.stdout, shown.stdout)
        check(WHOLE in shown.stdout, shown.stdout)
        check("main (now.c:" in shown.stdout and "deadlock" not in shown.stdout, shown.stdout)
        check(finish(process) == 7, "it goes on", process.returncode)


def check_pool(program):
    """Threads that wait alike are one, and all of them are named; nothing but the program's."""
    with subprocess.Popen([program, "pool"], stdin=subprocess.PIPE) as process:
        shown = look_until(process.pid, "30 threads (now) with equal stacks\n",
                           "  pthread_cond_wait (", WHOLE)
        check(re.search(r"^30 threads \(now\) with equal stacks\n  [0-9].*\n"
                        r"  pthread_cond_wait \(.*\n  idle \(now.c:\d+\)$", shown.stdout, re.M),
              "pool", shown.stdout)
        which = re.search(r"equal stacks\n  (.*)$", shown.stdout, re.M)[1]
        said = json.loads(look(process.pid, "--json").stdout)["threads"]
        tids = [thread["tid"] for thread in said if thread["tid"] != process.pid]
        ranges = [list(map(int, part.split(" to "))) for part in which.split(", ")]
        named = [tid for part in ranges for tid in range(part[0], part[-1] + 1)]
        check(sorted(tids) == sorted(named), "which", which, tids)  # numbers may begin anew
        check(len(said) == 31 and "start_thread" in str(said[-1]), "json has all", said)
        check(shown.stdout.count("\n") < 20 and "_start" not in shown.stdout and
              "GLIBC" not in shown.stdout, "a screen", shown.stdout)
        check(finish(process) == 7, "it goes on", process.returncode)


def check_nameless(program):
    """Code without a name is called as in a trace, by its module and where it is there."""
    nameless = f"{program}.bare"
    subprocess.run(["strip", "-o", nameless, program], check=True)
    with subprocess.Popen([nameless], stdin=subprocess.PIPE) as process:
        shown = look_until(process.pid, "now.bare+0x", "  read (")
        check(re.search(r"^  now\.bare\+0x[0-9a-f]{1,5}$", shown.stdout, re.M), shown.stdout)
        check(" 0x" not in shown.stdout, shown.stdout)
        check(finish(process) == 7, "it goes on", process.returncode)


def check_stopped(program):
    """A process that somebody stopped stays so."""
    with subprocess.Popen([program], stdin=subprocess.PIPE) as process:
        look_until(process.pid, WHOLE)
        process.send_signal(19)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        check("deep" in look(process.pid).stdout, "stopped")
        until = time.monotonic() + 60  # let go, the kernel wakes it to stop again
        while state_of(process.pid) != "T" and time.monotonic() < until:
            continue
        state = state_of(process.pid)
        check(state == "T", "still stopped", state)
        process.send_signal(18)
        check(finish(process) == 7, "it goes on", process.returncode)


def check_refused(program):
    def be_traced():
        ctypes.CDLL(None).ptrace(0, 0, None, None)
    with subprocess.Popen(["sleep", "60"], preexec_fn=be_traced) as process:
        shown = look(process.pid)
        check(shown.returncode == 4 and "may not be looked at" in shown.stderr, shown)
        check(shown.stderr.count("\n") == 1, shown.stderr)
        os.kill(process.pid, 9)
        while not os.WIFSIGNALED(os.waitpid(process.pid, 0)[1]):
            pass
        process.returncode = -9
    gone = look(process.pid)
    check(gone.returncode == 4 and "it has ended" in gone.stderr, gone)
    for words in (["last"], ["last", "--pid", "1", "file"], ["last", "--pid", "99999999999"]):
        check(subprocess.run([COMMAND, *words], capture_output=True,
                             check=False).returncode == 2, words)


BARE = """#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) void store(long *p) { *p = 1; }
__attribute__((noinline)) static char first_threads_state(void)
{
    char state = 'R';
    FILE *file = fopen("/proc/self/stat", "r");
    if (fscanf(file, "%*d (bare) %c", &state) != 1) return 'R';
    fclose(file);
    return state;
}
__attribute__((noinline)) void bad(void)
{
    for (int seen = 0; seen < 500; seen++) /* it waits for most of its time */
        while (first_threads_state() != 'S') continue;
    store((long *)8);
    __asm__("");
}
void *begin(void *a) { bad(); return a; }
int main(void) { pthread_t t; pthread_create(&t, 0, begin, 0); pause(); }
"""


def check_waiting(folder):
    """Without a handler nobody tells who met the fault: a thread that waited did not."""
    Path(folder, "bare.c").write_text(BARE, encoding="utf-8")
    subprocess.run(["gcc", "-g", "-O1", "-pthread", "bare.c", "-o", "bare"], cwd=folder, check=True)
    subprocess.run([COMMAND, "record", "-q", "-o", "b.ttape", "--", "./bare"], cwd=folder,
                   check=False, capture_output=True)
    told = json.loads(subprocess.run([COMMAND, "last", "--json", "b.ttape"], cwd=folder,
                                     capture_output=True, check=False).stdout)
    report = json.loads(subprocess.run([COMMAND, "report", "--json", "b.ttape"], cwd=folder,
                                       capture_output=True, check=False).stdout)
    if report["idle_source"] != "switches":
        print("left out: who waited (switches are not known here)")
        return
    check(told["threads"][1].get("ran_then") is True, "ran", told)  # the other one: if it is known
    shown = subprocess.run([COMMAND, "last", "b.ttape"], cwd=folder, capture_output=True,
                           text=True, check=False).stdout
    first = shown.split("\n\n")[0]
    check("it ran when SIGSEGV came, " in first and "store (bare.c:4)" in first,
          "who did not wait", shown)


def check_core(folder, tid):
    """A core file has the instruction, its module's own file the line."""
    symbols = subprocess.run(["nm", "fault"], cwd=folder, capture_output=True, text=True,
                             check=True).stdout
    place = int(re.search(r"^(\w+) T write_there$", symbols, re.M)[1], 16)
    line = FAULT[:FAULT.index("void write_there")].count("\n") + 1
    for code, wanted in ((place, f", in write_there (fault.c:{line})"), (8, "")):
        Path(folder, "core").write_bytes(test_last_core.core_of(tid, 11, 1, 8, code))
        shown = subprocess.run([COMMAND, "last", "f.ttape", "--core", "core"], cwd=folder,
                               capture_output=True, text=True, check=False)
        check(f"SIGSEGV at address 0x8{wanted}\n" in shown.stdout, "core", shown)


def check_trace(folder):
    """The thread that met the fault is first, though it began second; recursion is one line."""
    Path(folder, "fault.c").write_text(FAULT, encoding="utf-8")
    subprocess.run(["gcc", "-g", "-O0", "-pthread", "-no-pie", "-finstrument-functions", "fault.c",
                    "-o", "fault"], cwd=folder, check=True)
    subprocess.run([COMMAND, "record", "-q", "-o", "f.ttape", "--", "./fault"], cwd=folder,
                   check=False, capture_output=True)
    shown = subprocess.run([COMMAND, "last", "f.ttape"], cwd=folder, capture_output=True,
                           text=True, check=False).stdout
    first = shown.split("\n\n")[0]
    check("SIGSEGV at address 0x8\n" in first and "write_there" in first, "first", shown)
    check_core(folder, int(first.split()[1]))
    calls = "".join(f"{n * 10} 1 enter f\n" for n in range(2000))
    Path(folder, "r.txt").write_text("0 1 enter main\n" + calls, encoding="utf-8")
    subprocess.run([COMMAND, "convert", "r.txt", "-o", "r.ttape"], cwd=folder, check=False,
                   capture_output=True)
    shown = subprocess.run([COMMAND, "last", "r.ttape"], cwd=folder, capture_output=True,
                           text=True, check=False).stdout
    check("(the same 1 call, 1999 more times)" in shown, "recursion", shown)
    check(shown.count("\n") < 40, "a screen", shown.count("\n"))


def check_pools(folder):
    """Of 56 threads: the one with the fault, then those of a pool as one; others by themselves."""
    lines = ["process 7 prog", "thread 7 7 main"]
    lines += [f"thread 7 {tid} {'work' if tid > 10 else 'other'}" for tid in range(8, 63)]
    lines += [f"{tid} {tid} enter {f}" for tid in range(7, 63) for f in ("start", "take", "wait")]
    lines += ["90 9 enter bad", "95 7 enter late"]
    lines += [f'100 {tid} marker "tracetape:thread_end" 2' for tid in range(8, 63)]
    lines += ['100 7 marker "tracetape:process_end" 3 11']
    Path(folder, "p.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    subprocess.run([COMMAND, "convert", "p.txt", "-o", "p.ttape"], cwd=folder, check=True)
    Path(folder, "core").write_bytes(test_last_core.core_of(9, 11, 1, 0xdead0))

    def shown(*words):
        return subprocess.run([COMMAND, "last", "p.ttape", "--core", "core", *words], cwd=folder,
                              capture_output=True, text=True, check=False).stdout
    groups = shown().split("\n\n")
    check(groups[0].startswith("thread 9 of process 7, other: ") and "0xdead0" in groups[0] and
          "last calls" in groups[0], "the fault's thread", groups)
    check(groups[1].startswith("thread 7 of process 7, main: ") and "late" in groups[1], groups)
    check(groups[2].startswith("54 threads of process 7 with equal stacks: each\n  ended with its "
                               "process\n  8 (other), 10 (other), 11 to 62 (work)\n") and
          "last calls" not in groups[2], "the pool", groups)
    check("--all shows each thread" in groups[3] and len(groups) == 4, groups)
    check("last calls of the first" in shown("--limit", "5"), "calls that are asked for")
    for words, wanted in ((["--all"], 56), (["--thread", "11", "--thread", "12"], 2)):
        check(shown(*words).count("last calls") == wanted, words, shown(*words))
    lines = [line.replace("other", "work") for line in lines]
    Path(folder, "p.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    subprocess.run([COMMAND, "convert", "-f", "p.txt", "-o", "p.ttape"], cwd=folder, check=True)
    check("54 threads of process 7, work, with equal stacks: each\n  ended with its process\n"
          "  8, 10 to 62\n" in shown(), "a name for all", shown())


def check_plain(folder):
    """What has no name is said once; and that nothing was open is said."""
    Path(folder, "n.txt").write_text("module 0x1000 0x2000 /opt/app\n0 1 enter 0x1010\n9 1 exit\n",
                                     encoding="utf-8")
    Path(folder, "killed.c").write_text(KILLED, encoding="utf-8")
    for line in ("$0 convert n.txt -o n.ttape", "gcc -finstrument-functions killed.c -o killed",
                 "$0 record -q -F '^done$' -o k.ttape ./killed"):
        subprocess.run(["bash", "-c", line, COMMAND], cwd=folder, check=False)
    shown = [subprocess.run([COMMAND, "last", "--all", name], cwd=folder, capture_output=True,
                            text=True, check=False).stdout for name in ("n.ttape", "k.ttape")]
    check(re.search(r"  app\+0x10$", shown[0], re.M), "a name, once", shown[0])
    check("\n  no function that was recorded was open at the end\n" in shown[1], shown[1])


def main():
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        print("SKIPPED: no compiler")
        return 77
    with tempfile.TemporaryDirectory() as name:
        program = Path(name) / "now"
        Path(name, "now.c").write_text(SOURCE, encoding="utf-8")
        subprocess.run([compiler, "-g", "-O0", "-pthread", "now.c", "-o", program], cwd=name,
                       check=True)
        for part in (check_deadlock, check_recursion, check_pool, check_nameless, check_stopped,
                     check_refused):
            part(program)
        check_trace(name)
        check_waiting(name)
        check_plain(name)
        check_pools(name)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
