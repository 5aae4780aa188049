"""Twenty recordings of small programs, in most of the ways in which `record` can: threads, signals,
exceptions, long jumps, coroutines, forks, losses, patched programs, system calls, arguments, lines,
time off the processor."""
import os
import subprocess
from pathlib import Path

from view_client import COMMAND, problems

THREADS = r"""
#include <pthread.h>
#include <poll.h>
__attribute__((noinline)) int leaf(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
__attribute__((noinline)) int twice(int n) { return leaf(n) + leaf(n + 1); }
__attribute__((noinline)) int fall(int n) { return n <= 0 ? leaf(n) : fall(n - 1) + twice(n); }
__attribute__((noinline)) int nap(int n) {
    poll(0, 0, 1);
    return leaf(n);
}
void *work(void *arg) {
    long sum = 0;
    for (int i = 0; i < 40; i++) sum += i % 10 ? fall(i) : nap(i);
    return (void *)(sum + (long)arg);
}
int main(void) {
    pthread_t threads[3];
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, (void *)i);
    work(0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    return 0;
}
"""
SIGNALS = r"""
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
static sigjmp_buf back;
static volatile int turns;
__attribute__((noinline)) void note(int n) { turns += n; }
void on_usr1(int n) { note(n); }
void on_usr2(int n) { note(n); siglongjmp(back, 1); }
__attribute__((noinline)) void strike(int n) { raise(n); note(1); }
__attribute__((noinline)) void deeper(int depth, int n) {
    if (depth > 0) deeper(depth - 1, n);
    else strike(n);
}
int main(void) {
    signal(SIGUSR1, on_usr1);
    signal(SIGUSR2, on_usr2);
    for (int i = 0; i < 60; i++) {
        strike(SIGUSR1);
        if (sigsetjmp(back, 1) == 0) deeper(i % 5, SIGUSR2);
    }
    return turns == 0;
}
"""
EXCEPTIONS = r"""
#include <stdexcept>
#include <string>
struct guard { ~guard(); int n; };
__attribute__((noinline)) int count(int n) { static volatile int all; return all += n; }
guard::~guard() { count(n); }
__attribute__((noinline)) int risky(int n) {
    guard g{n};
    if (n % 3 == 0) throw std::runtime_error("three");
    return n == 0 ? 0 : count(n);
}
__attribute__((noinline)) int way(int n) {
    guard g{1};
    return n > 0 ? way(n - 1) + risky(n) : risky(7);
}
int main() {
    int caught = 0;
    for (int i = 0; i < 200; i++)
        try { count(way(i % 9)); } catch (const std::exception &) { caught++; }
    return caught == 0;
}
"""
COROUTINES = r"""
#include <ucontext.h>
static ucontext_t home, other[2];
static char stacks[2][65536];
__attribute__((noinline)) int step(int n) { static volatile int all; return all += n; }
__attribute__((noinline)) void yield_to(int from, int n) {
    step(n);
    swapcontext(&other[from], &home);
    step(n);
}
static void run(int which) { for (int i = 0;; i++) yield_to(which, i); }
int main(void) {
    for (int i = 0; i < 2; i++) {
        getcontext(&other[i]);
        other[i].uc_stack.ss_sp = stacks[i];
        other[i].uc_stack.ss_size = sizeof stacks[i];
        makecontext(&other[i], (void (*)(void))run, 1, i);
    }
    for (int i = 0; i < 200; i++) swapcontext(&home, &other[i % 2]);
    return 0;
}
"""
FILES = r"""
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) int open_it(const char *path, int flags) { return open(path, flags); }
__attribute__((noinline)) long look(const char *path) {
    char text[256];
    int file = open_it(path, O_RDONLY);
    long got = file < 0 ? -1 : read(file, text, sizeof text);
    if (file >= 0) close(file);
    return got;
}
int main(void) {
    const char *paths[] = {"/etc/hostname", "/proc/self/stat", "/nowhere", "/etc/passwd"};
    for (int i = 0; i < 40; i++) look(paths[i % 4]);
    int pid = fork();
    for (int i = 0; i < 10; i++) look(paths[(i + 1) % 4]);
    if (pid == 0) _exit(0);
    waitpid(pid, 0, 0);
    return 0;
}
"""
LONG = r"""
__attribute__((noinline)) int leaf(int n) { static volatile int all; return all += n; }
__attribute__((noinline)) int deep(int n) { return n == 0 ? leaf(1) : deep(n - 1) + leaf(n); }
int main(void) { for (int i = 0; i < 20000; i++) deep(i % 40); return 0; }
"""
SOURCES = {"threads.c": THREADS, "signals.c": SIGNALS, "exceptions.cc": EXCEPTIONS,
           "coroutines.c": COROUTINES, "files.c": FILES, "long.c": LONG}
HOOKS, PLAIN = ("-finstrument-functions",), ()
LINES = (*HOOKS, "-fsanitize-coverage=trace-pc")
BLOCKS = ("-Wl,--whole-archive", f"{os.environ['TTAPE_BUILD']}/libtracetape-blocks.a",
          "-Wl,--no-whole-archive", "-ldl")
PATCH = ("--patch", ".")
RECORDINGS = {
    "threads": ("threads.c", HOOKS, ()),
    "threads-patched": ("threads.c", PLAIN, PATCH),
    "threads-args": ("threads.c", PLAIN, (*PATCH, "--args")),
    "threads-syscalls": ("threads.c", HOOKS, ("--syscalls",)),
    "threads-no-switches": ("threads.c", HOOKS, ("--no-switches",)),
    "threads-coarse": ("threads.c", HOOKS, ("--resolution", "1us", "--partition-events", "1000")),
    "threads-untimed": ("threads.c", HOOKS, ("--clock", "none")),
    "signals": ("signals.c", HOOKS, ()),
    "signals-patched": ("signals.c", PLAIN, PATCH),
    "signals-syscalls": ("signals.c", PLAIN, ("--syscalls",)),
    "exceptions": ("exceptions.cc", HOOKS, ()),
    "exceptions-patched": ("exceptions.cc", PLAIN, PATCH),
    "coroutines": ("coroutines.c", HOOKS, ()),
    "coroutines-patched": ("coroutines.c", PLAIN, PATCH),
    "files": ("files.c", HOOKS, ("--libcalls",)),
    "files-syscalls": ("files.c", PLAIN, ("--syscalls", "--data")),
    "files-args": ("files.c", PLAIN, (*PATCH, "--args", "--syscalls")),
    "long-drop": ("long.c", HOOKS, ("--drop", "--buffer", "256K", "--spill", "1M")),
    "long-last": ("long.c", HOOKS, ("--keep-last", "200K", "--partition-events", "20000")),
    "threads-lines": ("threads.c", LINES, ()),
}
CORE = "threads-args", "signals", "files-syscalls"


def build(folder, source, flags):
    program = Path(folder, f"{Path(source).stem}-{len(flags)}")
    text = Path(folder, source)
    if program.exists():
        return program
    text.write_text(SOURCES[source])
    compiler = "g++" if source.endswith(".cc") else "gcc"
    subprocess.run([compiler, "-g", "-O1", "-fno-omit-frame-pointer", "-D_GNU_SOURCE", *flags,
                    "-o", program, text, *(BLOCKS if flags == LINES else ()), "-pthread"],
                   check=True)
    return program


def record(folder, names):
    """The traces; what cannot be recorded is a problem."""
    traces = []
    for name in names:
        source, flags, options = RECORDINGS[name]
        program, trace = build(folder, source, flags), Path(folder, f"{name}.ttape")
        done = subprocess.run([COMMAND, "record", "-o", trace, *options, "--", program], text=True,
                              capture_output=True, env={**os.environ, "LC_ALL": "C"}, timeout=120)
        if done.returncode not in (0, 3) or not trace.exists():
            problems.append(f"recording {name}: status {done.returncode}: {done.stderr[-300:]}")
        else:
            traces.append(trace)
    return traces
