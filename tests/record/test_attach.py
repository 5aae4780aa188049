#!/usr/bin/env python3
"""Programs that are attached to, looked at and left: they answer right all the time, and afterwards
their code is their files', and maps, descriptors and signal masks are as before. So it is when the
recorder is killed before any of the calls by which it changes them. Refusals change nothing."""
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import process_state
import setting
import traces

WORDS = {"threads": ["threads", "3", "waits", "rings", "starts"],
         "forks": ["forks", "threads", "1"], "signals": ["signals", "coroutines", "faults"]}
CYCLES = setting.cut(50, 4)
KILLS = setting.cut(range(1, 600), ())
FIRST = setting.cut(["busy"], [])
# However long a busy machine lets it run.
MOST = "256K"
ALL_BLOCKED = "fffffffffffbfeff"
EVERYTHING = ("--module", ".")
FILTERED = ("-F", "^(answer|descend|mix|serve)$", "--min-time", "10ns", "--syscalls")
VALUED = ("--args=.",)
STOPS = ("", "often", "stays")  # by a signal, while it is let go
EVENTS = 500
# A busy machine lets threads stand still inside hooks for longer than a record is waited for
# (HOLE_WAIT_MS in recorder/drain/drain.c): each of so many threads once in that time.
HOLES, HOLE_WAIT_S = 64, 0.2
GIVE_UP = 120
LACKS = "rdfsbase"
ENDS = "stacks end in the recorder's code"


def until(what, is_so):
    end = time.monotonic() + GIVE_UP
    while not is_so():
        if time.monotonic() > end:
            print(f"FAILED: {what} does not come")
            sys.exit(1)
        time.sleep(0.005)


class Program:
    """p_attached with those words, or another one, in its own session; what /proc says of it."""
    def __init__(self, words, source="p_attached.c", flags=("-O2", "-pthread")):
        path = setting.build(source, flags=flags, log=False, hooks=False)
        first = FIRST if source == "p_attached.c" else []
        self.process = subprocess.Popen([path, *first, *words], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.pid = self.process.pid
        assert self.process.stdout.readline() == "ready\n"

    def proc(self, name):
        return Path(f"/proc/{self.pid}/{name}").read_text(encoding="utf-8")

    def state(self):
        """What must be as before. An empty mapping, which holds no page, may be left by a kill."""
        return {"wrong": process_state.absolute(self.pid), "mask": self.mask(),
                "private KiB of code": process_state.own_code_kib(self.pid)}

    def mask(self):
        """While it forks, the C library blocks all signals: that is waited for."""
        def get():
            return re.search(r"^SigBlk:\s*(\w+)", self.proc("status"), re.M)[1]
        seen = [ALL_BLOCKED]
        until("a mask of its own", lambda: seen.append(get()) or seen[-1] != ALL_BLOCKED)
        return seen[-1]

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=GIVE_UP)
        return self.process.returncode, out, err


class Asked(Program):
    """A program that answers each byte of its input: with the same one, or with that answer."""
    def __init__(self, *words, ready=b"ready\n", answer=b"", **how):
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        bufsize=0, **how)
        self.pid, self.answer = self.process.pid, answer
        assert self.process.stdout.read(len(ready)) == ready

    def ask(self, byte=b"x"):
        self.process.stdin.write(byte)
        return self.process.stdout.read(1) == (self.answer or byte)

    def ask_often(self):
        """Between two looks at what came of it, each of which takes a process."""
        return all(self.ask() for _ in range(EVENTS // 5))

    def end(self):
        self.process.stdin.close()
        return self.process.stdout.read(), self.process.wait(timeout=GIVE_UP)


def recorder(pid, trace, *options, most=MOST, **environment):
    words = [setting.COMMAND, "attach", "--max-size", most, *options, "-f", "-o", trace, str(pid)]
    return subprocess.Popen(words, env=setting.environment(**environment),
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def has_events(attached):
    done = subprocess.run([setting.COMMAND, "control", str(attached.pid), "status", "--json"],
                          check=False, capture_output=True, text=True)
    return attached.poll() is not None or (
        done.returncode == 0 and json.loads(done.stdout).get("events", 0) >= EVENTS)


def stop_often(program, is_over):
    """Each stop comes, one in a system call for the recorder as well, and so does its end."""
    while not is_over():
        program.process.send_signal(signal.SIGSTOP)
        until("a stop", lambda: "State:\tT" in program.proc("status"))
        program.process.send_signal(signal.SIGCONT)
        until("its end", lambda: "State:\tT" not in program.proc("status"))


def stay_stopped(program, attached):
    program.process.send_signal(signal.SIGSTOP)
    until("a stop", lambda: "State:\tT" in program.proc("status"))
    attached.send_signal(signal.SIGINT)
    until("the recorder's end", lambda: attached.poll() is not None)
    until("a stop that stays", lambda: "State:\tT" in program.proc("status"))
    program.process.send_signal(signal.SIGCONT)


def steer(checks, program, trace):
    """Off, on, a copy, and the end, by `control`."""
    def control(word):
        done = setting.tracetape("control", program.pid, word)
        checks.equal(done.status, 0, f"control {word}: {done.err}")
        return done.out.decode()
    control("off")
    checks.that(re.search(r"^mode +off$", control("status"), re.M), "it is not off")
    control("on")
    copy = control("snapshot").strip()
    checks.equal((copy, traces.verify(copy)), (f"{trace}.snapshot-1", None), "a copy")
    control("stop")


def leave(attached, program, stops):
    """Ctrl-C is how people do it."""
    if stops == "stays" and attached.poll() is None:
        stay_stopped(program, attached)
    if attached.poll() is None:
        attached.send_signal(signal.SIGINT)
    if stops == "often":
        stop_often(program, lambda: attached.poll() is not None)
    return attached.communicate(timeout=GIVE_UP)[1]


def cycle(checks, program, trace, what, *options, stops="", most=MOST):
    """Attaches, waits for events, and leaves."""
    begin = time.monotonic()
    attached = recorder(program.pid, trace, *options, most=most)
    until(f"{what}: a recording", lambda: has_events(attached))
    if stops == "control" and attached.poll() is None:
        steer(checks, program, trace)
    said = attached.communicate(timeout=GIVE_UP)[1] if stops == "control" else leave(
        attached, program, stops)
    checks.that(attached.returncode in (0, 3), f"{what}: {attached.returncode}: {said}")
    return look_at_end(checks, trace, what, said, time.monotonic() - begin)


def look_at_end(checks, trace, what, said, took):
    """What is said and written after a cycle that took so many seconds; returns the dump."""
    checks.that("is as it was" in said, f"{what}: {said}")
    checks.equal(traces.verify(trace), None, f"{what}: the trace")
    told = setting.tracetape("dump", trace).out
    wrong = re.findall(rb"gap: .*reason: (?:damage|sandbox)", told)
    checks.equal(wrong, [], f"{what}: records that nobody could have written")
    holes = traces.count_holes(told)
    checks.that(holes <= HOLES * max(took / HOLE_WAIT_S, 1),
                f"{what}: {holes} records were not written")
    return told


def mixed(a):
    a %= 2**64
    a ^= a >> 33
    a = a * 0xff51afd7ed558ccd % 2**64
    return a ^ a >> 29


def look_at_values(checks, what, told):
    """Of each thread, handler and coroutine: what goes in fits what comes out. Where faults are
    minded `mix` is left out."""
    found = re.findall(rb" (?:mix\(a=(\d+)|add_up\(a=(\d+), n=3)\) = (\d+);", told)[:5000]
    wrong = [(one, three, result) for one, three, result in found if int(result) != (
        mixed(int(one)) if one else mixed(mixed(mixed(int(three)) + 1) + 2))]
    checks.equal((found != [], wrong), (True, []), f"{what}: values")


def look_at_trace(checks, trace):
    said = json.loads(setting.tracetape("report", "--json", trace).out)
    calls = {row["name"]: row["calls"] for row in said["rows"]}
    for name in ("answer", "descend", "mix"):
        checks.that(calls.get(name, 0) > 0, f"'{name}' is not in the trace: {calls}")
    checks.that(calls["descend"] * 10 >= calls["answer"], f"calls do not fit: {calls}")


def look_at_open_calls(checks, trace, names, depth="1"):
    """Each thread's outermost function was running, also that of one that only waits."""
    nodes = json.loads(setting.tracetape("tree", "--all", "--depth", depth, "--json", trace).out)
    for name in names:
        calls = {(node.get("was_open"), node["end"]) for node in nodes["nodes"]
                 if node["kind"] == "call" and node["name"] == name}
        checks.equal(calls, {(True, "open")}, f"{name} was running already")
    said = setting.tracetape("report", trace).out
    checks.that(b"CALLS 0: was running already" in said, f"the report does not say so: {said}")


def find_server(program):
    """A thread that serves all the time: numbers are given again, and others wait or end."""
    for name in os.listdir(f"/proc/{program.pid}/task"):
        try:
            if program.proc(f"task/{name}/comm") == "serves\n":
                return int(name)
        except OSError: # it has ended
            continue
    return None


def look_at_one(checks, program, trace):
    """A thread by its number; calls of others are not lost, but none of the trace."""
    until("a thread that serves", lambda: find_server(program))
    tid = find_server(program)
    cycle(checks, program, trace, "one thread", "--thread", str(tid))
    said = json.loads(setting.tracetape("tree", "--depth", "0", "--json", trace).out)
    checks.equal([node["tid"] for node in said["nodes"]], [tid], "the thread that was named")


def test_cycles(checks, work):
    for name, words in WORDS.items():
        program = Program(words)
        before = program.state()
        trace = work / f"{name}.ttape"
        for number in range(CYCLES):
            options = ((), FILTERED, EVERYTHING, VALUED)[number % 4]
            told = cycle(checks, program, trace, f"{name} {number}", *options,
                         stops=STOPS[number % 3] if name == "forks" else "")
            if options == VALUED:
                look_at_values(checks, f"{name} {number}", told)
            checks.equal(program.state(), before, f"{name} {number}: afterwards")
        if name == "threads":
            look_at_one(checks, program, trace)
        if name == "signals":
            cycle(checks, program, trace, "by control", "-F", "^serve$", stops="control",
                  most="64G")
        else:
            cycle(checks, program, trace, f"{name}, at last",
                  most="1M" if name == "threads" else MOST)
        checks.equal(program.state(), before, f"{name}, at last: afterwards")
        if name == "threads":
            look_at_trace(checks, trace)
            look_at_open_calls(checks, trace, ("main", "serve_on", "wait_on", "start_on"))
        checks.equal(program.end(), (0, "right\n", ""), f"{name}: its answers")


def test_waits(checks, work):
    """With a size, the end is little. Jumps of all modules take many stops: it waits in a stub."""
    program, trace = Program(["threads", "1", "waits"]), work / "waits.ttape"
    before = program.state()
    cycle(checks, program, trace, "all waits", *EVERYTHING, "--syscalls")
    look_at_open_calls(checks, trace, ("main", "serve_on", "wait_on", "epoll_wait"), "9")
    done = setting.tracetape("attach", "--max-size", "64K", "-o", trace, program.pid)
    checks.that(done.status in (0, 3) and b"is as it was" in done.err, f"waits: {done.err}")
    checks.equal(program.state(), before, "waits: afterwards")
    look_at_open_calls(checks, trace, ("main", "serve_on", "wait_on"))
    said = json.loads(setting.tracetape("tree", "--all", "--depth", "1", "--json", trace).out)
    ends = {node["name"]: node["end_ns"] for node in said["nodes"] if node["level"] == 1}
    checks.equal(ends["wait_on"], ends["main"], f"as long as it waited: {ends}")
    said = json.loads(setting.tracetape("graph", "--summary", "--json", trace).out)
    told = said["summary"]["direct_calls_by"]
    checks.that(told["missing_files"] == 0 and told["name"] > 0, f"builds of modules: {told}")
    checks.equal(program.end(), (0, "right\n", ""), "waits: its answers")


def test_stays(checks, work):
    """Threads that are in a hook nearly always when a signal stops the program, which stays stopped
    while it is let go."""
    program = Program(["busy", "threads", "2"])
    before = program.state()
    for number in range(setting.cut(20, 1)):
        cycle(checks, program, work / "stays.ttape", f"stays {number}", *EVERYTHING, stops="stays")
        checks.equal(program.state(), before, f"stays {number}: afterwards")
    checks.equal(program.end(), (0, "right\n", ""), "stays: its answers")


def test_interrupted(checks, work):
    """Before anything was changed: Ctrl-C is answered in words, but for the first moments."""
    program, said = Program(["threads", "1"]), [""]
    before = program.state()
    while len(said) < 200 and "was not attached to" not in said[-1]:
        attached = recorder(program.pid, work / "interrupted.ttape", most="64G")
        status = Path(f"/proc/{attached.pid}/status")
        until("a handler", lambda: re.search(r"^SigCgt:.*[2367abef]$", status.read_text(), re.M))
        said.append(leave(attached, program, ""))
    checks.that("was not attached to" in said[-1], f"interrupted: {said}")
    checks.equal(program.state(), before, "interrupted: afterwards")
    checks.equal(program.end(), (0, "right\n", ""), "interrupted: its answers")


def library_of(name, source, *flags):
    path = setting.programs() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_suffix(f".{os.getpid()}")
    setting.call(["gcc", "-O1", "-shared", "-fPIC", *flags, source, "-o", made])
    made.rename(path)
    return path


def count_events(pid):
    setting.tracetape("control", pid, "flush")
    done = setting.run([setting.COMMAND, "control", str(pid), "status", "--json"], timeout=GIVE_UP)
    return json.loads(done.out)["events"] if done.status == 0 else 0


def test_loaded(checks, work):
    """A library that is loaded meanwhile is recorded, and the one before is gone; a filter is
    exchanged by control."""
    source, trace = work / "g.c", work / "loaded.ttape"
    source.write_text("char room[ADD << 20]; int f(int n) { volatile int m[ADD * 40]; m[0] = n;"
                      " return room[m[0]] + m[0] + ADD; }\n")
    libraries = [library_of(f"lib-g{number}.so", source, f"-DADD={number}") for number in (1, 2)]
    program = Asked(setting.build("p_loads.c", flags=("-O1",), log=False, hooks=False), *libraries)
    pid, ask, before = program.pid, program.ask, program.state()
    attached = recorder(pid, trace, "--module", "/lib-g|/p_loads", most="64G")
    until("a recording", lambda: not program.ask_often() or has_events(attached))
    checks.that(ask(b"c"), "it goes on with the other library")
    now = count_events(pid)
    until("calls of it", lambda: not program.ask_often() or count_events(pid) > now + EVENTS)
    done = setting.tracetape("control", pid, "--filter", "!f")
    checks.equal(done.status, 0, f"a filter meanwhile: {done.err}")
    now = count_events(pid)
    checks.that(all(ask() for _ in range(EVENTS)), "it goes on")
    checks.that(count_events(pid) < now + EVENTS, "what the filter leaves is not there")
    attached.send_signal(signal.SIGINT)
    said = attached.communicate(timeout=GIVE_UP)[1]
    checks.that(attached.returncode in (0, 3) and "is as it was" in said, f"loaded: {said}")
    checks.that("loaded meanwhile (1), and are recorded" in said, f"it does not say so: {said}")
    checks.that(ask(), "it goes on without")
    checks.equal(program.state(), before, "loaded: afterwards")
    said = json.loads(setting.tracetape("report", "--json", "--by", "module", trace).out)
    names = [row["name"] for row in said["rows"]]
    checks.that(sum("/lib-g" in name for name in names) == 2, f"not both are there: {names}")
    checks.equal(program.end(), (b"right\n", 0), "loaded: its answers")


CALLS = """#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static int undone;
static pthread_t one;
static int ends[2];
static void undo(int *unused) { (void)unused; undone++; }
static void *wait_here(void *unused) {
    int mark __attribute__((cleanup(undo))) = 0;
    char byte;
    while (read(ends[0], &byte, 1) > 0) mark++;
    return unused;
}
__attribute__((noinline)) int work(int n) {
    for (int i = 0; i < 10; i++) n += getppid() > 0;
    return n + (fork() == 0 ? (_exit(getppid() > 0), 0) : wait(NULL) > 0) + close(-5);
}
static int cancel(void) {
    undone = 0;
    return pthread_cancel(one) == 0 && pthread_join(one, NULL) == 0 && undone == 1 &&
           pthread_create(&one, NULL, wait_here, NULL) == 0;
}
int main(void) {
    char byte;
    if (pipe(ends) != 0 || pthread_create(&one, NULL, wait_here, NULL) != 0) return 1;
    for (byte = 'r'; write(1, &byte, 1) == 1 && read(0, &byte, 1) == 1;)
        byte = (byte == 'c' ? cancel() : byte == 's' ? system("exit 3") == 3 << 8 : work(0) == 10)
                   ? 'y' : 'n';
    return 0;
}
"""


def test_system_calls(checks, work):
    """Each of them, with what it is given and returns; who waits in one is cancelled, and unwound,
    while it does; children and stubs are left as any."""
    (work / "calls.c").write_text(CALLS)
    path = setting.build(str(work / "calls.c"), flags=("-O1", "-pthread", "-fexceptions"),
                         log=False, hooks=False)
    program, trace = Asked(path, ready=b"r", answer=b"y"), work / "calls.ttape"
    ask = program.ask
    checks.that(ask() and ask(b"c") and ask(b"s"), "untraced")
    before = program.state()
    attached = recorder(program.pid, trace, "--syscalls", "--args", most="64G")
    until("a recording", lambda: ask() and has_events(attached))
    checks.that(ask(b"s") and ask(b"c") and ask(b"c"), "cancelled in a stub, and programs started")
    attached.send_signal(signal.SIGINT)
    ended = attached.communicate(timeout=GIVE_UP)[1]
    told = setting.tracetape("dump", trace).out
    said, holes = told.decode(), traces.count_holes(told)
    checks.equal((attached.returncode, "is as it was" in ended), (3 if holes else 0, True),
                 f"calls: {ended}")
    checks.that(ask(b"c") and ask(b"s") and ask(), "afterwards")
    checks.equal(program.state(), before, "calls: afterwards")
    rounds = len(re.findall(r"close\(-5\) = -1 EBADF", said))
    parents = len(re.findall(rf"getppid\(\) = {os.getpid()}\b", said))
    checks.that(rounds > 0 and abs(parents - 10 * rounds) <= 10 * (1 + holes),
                f"{rounds}, {parents}, {holes} not written: {said}")
    children = re.search(r"calls of (\d+) children or more", ended)
    checks.that(children and int(children[1]) >= rounds - 1,  # that of the first was before jumps
                f"{rounds} rounds, but: {ended}")
    checks.that("read() { /* open before the start */" in said, f"who waited is not there: {said}")
    checks.equal(program.end(), (b"", 0), "calls: its end")


def kill_library():
    return library_of("attach-ends.so", setting.PROGRAMS / "p_attach_ends.c", "-D_GNU_SOURCE")


def test_unloaded(checks, work):
    """A library that is patched is unloaded, and another one lies there when all is put back."""
    source = work / "f.c"
    source.write_text("int f(int n) { volatile int m[ADD * 40]; m[0] = n; return m[0] + ADD; }\n")
    libraries = [library_of(f"lib-f{number}.so", source, f"-DADD={number}") for number in (1, 2)]
    program = Asked(setting.build("p_loads.c", flags=("-O1",), log=False, hooks=False), *libraries)
    ask = program.ask
    attached = recorder(program.pid, work / "unloaded.ttape", "--module", "/lib-f1")
    until("a recording", lambda: not program.ask_often() or has_events(attached))
    checks.that(ask(b"c") and ask(), "it goes on with the other library")
    attached.send_signal(signal.SIGINT)
    said = attached.communicate(timeout=GIVE_UP)[1]
    checks.that(attached.returncode in (0, 3) and "is as it was" in said, f"unloaded: {said}")
    checks.that("libraries were loaded meanwhile (1) whose functions are not" in said,
                f"it does not say so: {said}")
    checks.that(ask(), "it goes on")
    library_of("lib-f2.so", source, "-DADD=3")  # while it is loaded
    done = setting.tracetape("attach", "--duration", "10ms", "--module", "/lib-f2", "-o",
                             work / "replaced.ttape", program.pid)
    checks.that(done.status == 4 and b"lib-f2.so (deleted)' are not recorded: " in done.err,
                f"a library that was replaced: {done.status}, {done.err}")
    checks.equal(program.end(), (b"right\n", 0), "unloaded: its answers")


def test_storms(checks, work):
    """A handler that is not recorded, on a stack of its own, whose calls are; it interrupts each
    hook, and leaves it by a jump, also where a recording begins in it."""
    program = Program(["storms", "faults"])
    before = program.state()
    for turn in range(setting.cut(20, 2)):
        done = setting.tracetape("attach", "--duration", "700ms", "--force", *FILTERED,
                                 *(VALUED if turn % 2 else ()), "-o",
                                 work / "storms.ttape", program.pid)
        checks.that(done.status in (0, 3) and b"is as it was" in done.err,
                    f"storms {turn}: {done.status}: {done.err}")
        checks.equal(program.state(), before, f"storms {turn}: afterwards")
    checks.equal(traces.verify(work / "storms.ttape"), None, "storms: the trace")
    checks.equal(program.end(), (0, "right\n", ""), "storms: its answers")


LEAVES = """#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) int f(int n) { volatile int m[4]; m[0] = n; return m[0] + 1; }
static void *serve(void *path) {
    int (*g)(int) = NULL;
    for (char byte; read(0, &byte, 1) == 1;) {
        if (byte == 'l') g = (int (*)(int))dlsym(dlopen(path, RTLD_NOW), "g");
        byte = f(g == NULL ? 'x' : g('x'));
        if (write(1, &byte, 1) != 1) break;
    }
    return path;
}
int main(int count, char **words) {
    pthread_t one; int end = atoi(words[count - 1]);
    if (pthread_create(&one, NULL, serve, words[1]) != 0 || read(end, &one, 1) != 0) return 1;
    pthread_exit(NULL);
}
"""


def test_first_thread(checks, work):
    """The first thread ends, and the process goes on; a library that comes then is recorded."""
    (work / "leaves.c").write_text(LEAVES)
    (work / "l.c").write_text("int g(int n) { volatile int m[4]; m[0] = n; return m[0]; }")
    path = setting.build(str(work / "leaves.c"), flags=("-O1", "-pthread"), log=False, hooks=False)
    end, start = os.pipe()
    program = Asked(path, library_of("lib-l.so", work / "l.c"), str(end), ready=b"", answer=b"y",
                    pass_fds=(end,))
    os.close(end)
    process, ask = program.process, program.ask
    until("its second thread", lambda: ask() and len(os.listdir(f"/proc/{process.pid}/task")) == 2)
    program.pid = process_state.second_thread(process.pid)
    before = program.state()
    attached = recorder(process.pid, work / "left.ttape", "--module", "/leaves|/lib-l", most="64G")
    until("a recording", lambda: all(ask() for _ in range(EVENTS)) and has_events(attached))
    os.close(start)
    until("its end", lambda: process_state.number(process.pid, "State") == "Z")
    checks.that(ask(b"l") and count_events(process.pid), "it goes on without its first thread")
    until("jumps in the library", lambda: not ask() or any(
        "lib-l" in path for path in process_state.changed_code(program.pid)))
    checks.that(all(ask() for _ in range(EVENTS)), "it goes on with the library")
    attached.send_signal(signal.SIGINT)
    said = attached.communicate(timeout=GIVE_UP)[1]
    checks.that(attached.returncode in (0, 3) and "is as it was" in said, f"leaves: {said}")
    told = setting.tracetape("report", "--json", "-F", "^g$", work / "left.ttape")
    checks.equal((told.status, told.out.count(b'"name": "g"')), (0, 1), f"its calls: {told}")
    checks.equal((program.state(), ask()), (before, True), "without its first thread: afterwards")
    checks.equal(program.end(), (b"", 0), "without its first thread: its end")


def test_kills(checks, work):
    """A stop that the recorder does not come to undo ends waits with EINTR: nobody waits here."""
    program, library = Program(["threads", "2", "forks"]), kill_library()
    before = program.state()
    trace = work / "killed.ttape"
    for number in KILLS:
        attached = recorder(program.pid, trace, *(("--syscalls",) if number % 2 else ()),
                            KILL_AT=str(number), LD_PRELOAD=str(library))
        until(f"kill {number}", lambda: has_events(attached))
        if attached.poll() is None:
            attached.send_signal(signal.SIGINT)
        _, said = attached.communicate(timeout=GIVE_UP)
        checks.that(attached.returncode in (-signal.SIGKILL, 0, 3),
                    f"kill {number}: {attached.returncode}: {said}")
        checks.equal(program.process.poll(), None, f"kill {number}: the program")
        setting.run([setting.COMMAND, "recover", "--clean", "-f", f"{trace}.recording", "-o",
                     work / "gone.ttape"], timeout=GIVE_UP)
    cycle(checks, program, trace, "after kills")
    checks.equal(program.state(), before, "after kills")
    checks.equal(program.end(), (0, "right\n", ""), "after kills: its answers")


def test_stops(checks, work):
    """A thread makes calls in two steps, then the agent runs once; the recorder is near it."""
    program, said, library = Program(["threads", "2"]), work / "stops", str(kill_library())
    attached = recorder(program.pid, work / "a.ttape", LD_PRELOAD=library, STOPS_SAID=str(said))
    until("a recording", lambda: has_events(attached))
    until("any processor", lambda: os.sched_getaffinity(attached.pid) == os.sched_getaffinity(0))
    checks.that("is as it was" in leave(attached, program, ""), "stops: it is not left")
    steps, near = zip(*(map(int, line.split()) for line in said.read_text().splitlines()))
    first = steps[:steps.index(1) + 1] # later who is in a hook may be led out
    checks.equal((set(first), set(near)), ({0, 1, 2}, {1}), f"steps: {steps}")
    checks.equal(program.end(), (0, "right\n", ""), "stops: its answers")


def refused(checks, words, reason, what):
    done = setting.tracetape("attach", "--duration", "10ms", "-o", "refused.ttape", *words)
    checks.equal((done.status, len(done.said())), (4, 1), f"{what}: {done.err}")
    checks.that(reason in done.said()[0], f"{what}: {done.err}")


def test_refusals(checks, work):
    refused(checks, ["2147483646"], "there is none", "no such process")
    refused(checks, ["no such program"], "no process is called", "no such name")
    program = Program(["threads", "1"])
    before = program.state()
    attached = recorder(program.pid, work / "first.ttape", most="64G")  # it stays
    until("a recording", lambda: has_events(attached))
    refused(checks, [str(program.pid)], "another recorder is attached", "attached already")
    attached.send_signal(signal.SIGINT)
    attached.communicate(timeout=GIVE_UP)
    program.process.send_signal(signal.SIGSTOP)
    until("a stop", lambda: "State:\tT" in program.proc("status"))
    refused(checks, [str(program.pid)], "it is stopped", "stopped")
    program.process.send_signal(signal.SIGCONT)
    refused(checks, ["-F", "^there is none$", str(program.pid)], "no function of", "no function")
    checks.equal(program.state(), before, "after refusals")
    checks.equal(program.end(), (0, "right\n", ""), "after refusals: its answers")


def check_all(checks, work):
    probe = setting.run([setting.COMMAND, "attach", "--duration", "10ms", "1"], timeout=60)
    if LACKS.encode() in probe.err:
        setting.skip("this machine lacks rdfsbase")
    for test in (test_refusals, test_unloaded, test_loaded, test_system_calls, test_first_thread,
                 test_waits, test_stays, test_interrupted, test_storms, test_stops, test_cycles):
        test(checks, work)
    if KILLS:
        test_kills(checks, work)


def main():
    setting.need_verb("attach")
    checks = setting.Checks("attach")
    with setting.work_dir() as folder:
        check_all(checks, Path(folder))
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
