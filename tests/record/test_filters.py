#!/usr/bin/env python3
"""A recording with a filter has what a recording of everything shows with it: for programs with
hooks, and for such that are patched, with system calls and calls of libraries, threads, handlers
and jumps. What a recording cannot go by is refused; what is left out by name is not patched."""
import csv
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

COMMAND = os.environ["TTAPE_BIN"]
WORK = Path(tempfile.mkdtemp())
PROGRAM = r"""
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
static jmp_buf back;
static volatile int sum;
__attribute__((noinline)) static int leaf(int n) { sum += n; return sum; }
__attribute__((noinline)) static int mid(int n)
{
    for (int i = 0; i < 3; i++)
        leaf(n + i);
    return sum;
}
__attribute__((noinline)) static int other(int n)
{
    sum += leaf(2 * n);
    return sum + 1;
}
__attribute__((noinline)) static int fact(int n)
{
    int before = n < 2 ? 1 : fact(n - 1);
    sum += before;
    return n * before;
}
__attribute__((noinline)) static void jump(void)
{
    leaf(1);
    longjmp(back, 1);
}
__attribute__((noinline)) static void handle(int number) { sum += leaf(number); }
__attribute__((noinline)) static void *work(void *none)
{
    for (int i = 0; i < 200; i++) {
        mid(i);
        if (i % 3 == 0)
            other(i);
    }
    fact(6);
    return none;
}
__attribute__((noinline)) static void files(void)
{
    char bytes[8];
    int fd = open("/dev/zero", O_RDONLY);
    sum += (int)read(fd, bytes, 8);
    close(fd);
}
int main(void)
{
    pthread_t thread;
    signal(SIGUSR1, handle);
    work(0);
    if (setjmp(back) == 0)
        jump();
    files();
    raise(SIGUSR1);
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    return 0;
}
"""
FILTERS = ("leaf", "!leaf", "below other", "!below mid", "to other", "depth 2", "fact; depth 2",
           "to leaf; !leaf", "*@p.c", "leaf@hooks, leaf@plain", "size 60", "/^[mw]/; !below fact",
           "below work; !below mid, other; depth 3", "below handle", "!below jump",
           "to fact; depth 3", "below handle, files; !leaf", "depth 1 below mid, fact; !other",
           "below work; depth 1; depth 2 below other", "time 100s below mid, handle; to leaf",
           "time 100s; time 0ns below fact, jump; depth 9 below main")
BY_CHANCE = {"(the recorder)", "futex"} # whether a thread has to wait for another
CONDITIONS = ("below other(n=3), fact(n=3)", "to leaf(n=4)", "mid(n>=198); depth 1",
              "!below fact(n=3) = 6; !leaf(n>3)", "to other(n=6) != 0", "below mid > 0ns; !leaf",
              "!below jump > 0ns, files; leaf < 100s", "leaf(other=1), fact(n>2) > 2",
              "depth 2 below fact(n=4); leaf(n<9), fact, mid",
              "time 100s below mid(n=2), other; time 0ns below leaf(n=3) ; !fact > 100s")
VALUES = ("read(count=8) = 8; depth 1", "!read, write, close = 0", "open*(flags=0), close = EBADF")
SYSTEM = ("read, open*", "to read", "below files", "!below files; !exit*")


def run(*arguments, status=0):
    done = subprocess.run([str(each) for each in arguments], capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL, timeout=120)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    return done.stdout if status == 0 else done.stderr


def record(name, program, *options):
    path = WORK / f"{name}.ttape"
    run(COMMAND, "record", "--quiet", "--force", *options, "-o", path, program)
    return path


def calls(path, *options):
    """What happens in each thread, without times: threads in the order in which they come."""
    threads = {}
    for row in csv.DictReader(io.StringIO(run(COMMAND, "dump", "--format", "csv", path, *options))):
        if not row["symbol"].startswith("tracetape:") and row["kind"] not in ("gap", "switch") and \
                row["symbol"] not in BY_CHANCE:
            threads.setdefault(row["stream"], []).append((row["kind"], row["symbol"]))
    return [without_handlers(each) for each in threads.values()]


def without_handlers(events):
    """A handler is seen by what it calls: not where nothing of that is patched."""
    left = []
    for event in events:
        if event[0] == "signal_end" and left and left[-1][0] == "signal":
            left.pop()
        else:
            left.append(event)
    return left


def check(program, filters, *options, handlers=True):
    everything = record("all", program, *options)
    for each in filters:
        filtered = record("filtered", program, *options, "--filter", each)
        one, other = calls(everything, "--filter", each), calls(filtered)
        if not handlers: # what a handler calls is patched, the handler is not
            one, other = ([[event for event in thread if "signal" not in event[0]]
                           for thread in threads] for threads in (one, other))
        if one != other:
            print(f"{program.name} {each!r}:")
            for at, (left, right) in enumerate(zip(one, other)):
                for place in range(max(len(left), len(right))):
                    if left[place:place + 1] != right[place:place + 1]:
                        print(f"thread {at}, {place}: {left[place:place + 3]}, recorded: "
                              f"{right[place:place + 3]}")
                        break
            print(f"{len(one)} threads, recorded: {len(other)}")
            sys.exit(1)


def check_plan(program):
    """Functions that no rule needs are not in the plan."""
    def chosen(*options):
        plan = json.loads(run(COMMAND, "record", "--plan", "--json", *options, program))
        return {row["name"] for row in plan["functions"]}
    everything = chosen()
    assert {"leaf", "mid", "fact", "main"} <= everything, everything
    for text, gone in (("leaf", everything - {"leaf"}), ("!leaf, mid", {"leaf", "mid"}),
                       ("below mid; !leaf", {"leaf"}), ("!mid; below mid", set()),
                       ("leaf@plain", everything - {"leaf"}), ("!leaf@plain", {"leaf"}),
                       ("!leaf@nowhere", set()), ("!leaf@p.c", set())):
        left = everything - chosen("--filter", text)
        assert left == gone, (text, left, gone)


def check_asked(program):
    """Values that conditions ask for are recorded, of these functions alone."""
    path = record("asked", program, "--filter", "fact(n=3) = 6, leaf(n=99)")
    rows = csv.DictReader(io.StringIO(run(COMMAND, "dump", "--format", "csv", path)))
    entered = [row["symbol"] for row in rows if row["kind"] == "enter"]
    assert entered == ["fact", "fact"] or set(entered) == {"fact", "leaf"}, entered
    said = run(COMMAND, "tree", path)
    assert "fact(n=3)" in said and " = 6" in said and "leaf(n=98)" not in said, said


def main():
    source = WORK / "p.c"
    source.write_text(PROGRAM)
    for name, flags in (("hooks", ["-finstrument-functions"]), ("plain", [])):
        run("cc", "-g", "-O1", "-fno-optimize-sibling-calls", *flags, "-pthread", "-o", WORK / name,
            source)
    check(WORK / "hooks", FILTERS, "--no-patch")
    check(WORK / "plain", FILTERS[1::3])
    check(WORK / "plain", SYSTEM, "--syscalls")
    check(WORK / "plain", CONDITIONS, "--args", handlers=False)
    check(WORK / "plain", VALUES, "--args", "--syscalls", handlers=False)
    check_asked(WORK / "plain")
    check_plan(WORK / "plain")
    for text, words in ((("leaf(",), "an argument's name is missing"),
                        (("leaf > 5ms", "--clock", "none"), "--clock none has none")):
        said = run(COMMAND, "record", "--filter", *text, "-o", WORK / "none.ttape",
                   WORK / "plain", status=2)
        assert words in said and not (WORK / "none.ttape").exists(), said
    said = run(COMMAND, "record", "--filter", "leaf", "--no-symbols", WORK / "plain", status=2)
    assert "needs names" in said, said
    print("recorded filters: ok")


main()
