#!/usr/bin/env python3
"""Programs that look at their own state, and unwind, call without a pause while they are attached
to and left: what patching at start must leave alone (test_patch, test_unwinds), attaching must.
And other functions are chosen meanwhile: those are recorded from then on, to a call, whatever else
the program does, and whenever the recorder is killed over it."""
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import process_state
import setting
import test_attach
import traces

STATES = (("p_patch_state.c", ("-O1",), setting.cut(50, 2)),
          ("p_patch_unwinds.cc", ("-O2",), setting.cut(50, 3)))


CHANGES = 10
BUSY = setting.cut((["threads", "2", "forks", "starts"], ["signals", "coroutines"]), ())
KILLS = setting.cut(range(1, 150), (4, 17, 95))  # the last: lists have just been unmapped
PROGRAM = """#include <unistd.h>
#define F __attribute__((noinline, noclone))
volatile int sum;
F int leaf(int n) { sum += n; return n + 1; }
F int inner(int n) { return leaf(n) + leaf(n + 1); }
F int outer(int n) { return inner(n) * 2; }
F int take(void) { char byte; return read(0, &byte, 1) == 1 ? byte : -1; }
int main(void)
{
    char byte = 'x';
    if (write(1, "ready\\n", 6) != 6) return 1;
    for (int n; (n = take()) >= 0;) {
        byte = (char)n;
        if (outer(n) != 4 * n + 6 || write(1, &byte, 1) != 1) return 2;
    }
    return 0;
}
"""


class Changed:
    """A program that is attached to for some functions."""
    def __init__(self, checks, work, *options, **environment):
        (work / "changed.c").write_text(PROGRAM)
        path = setting.build(str(work / "changed.c"), flags=("-O1", "-fno-optimize-sibling-calls"),
                             log=False, hooks=False)
        self.checks, self.trace = checks, work / "changed.ttape"
        self.program = test_attach.Asked(path)
        self.before = self.program.state()
        self.begin(*options, **environment)

    def begin(self, *options, **environment):
        self.attached = test_attach.recorder(self.program.pid, self.trace, *options, most="64G",
                                             **environment)
        test_attach.until("a recording", lambda: not self.program.ask() or
                          self.attached.poll() is not None or
                          test_attach.count_events(self.attached.pid) > 0)

    def choose(self, *words, status=0):
        """What is said of it, while the program waits to be asked."""
        test_attach.until("that it waits", lambda: process_state.number(
            self.program.pid, "State") == "S")
        done = setting.tracetape("control", self.program.pid, *words)
        self.checks.equal(done.status, status, f"control {words}: {done.err}")
        return (done.err if status else done.out).decode()

    def ask(self, times):
        self.checks.that(all(self.program.ask() for _ in range(times)), "its answers")

    def end(self):
        self.attached.send_signal(signal.SIGINT)
        said = self.attached.communicate(timeout=test_attach.GIVE_UP)[1]
        self.checks.that(self.attached.returncode == 0 and "is as it was" in said, said)
        self.checks.equal(self.program.state(), self.before, "afterwards")
        self.checks.that(self.program.ask(), "it goes on without")
        self.checks.equal(self.program.end(), (b"", 0), "its end")
        self.checks.equal(traces.verify(self.trace), None, "the trace")
        return said


def count_calls(trace):
    said = json.loads(setting.tracetape("report", "--json", trace).out)
    return {row["name"]: row["calls"] for row in said["rows"]}


def check_change(checks, work):
    """Each call of what is chosen is there, and none of what is not."""
    one = Changed(checks, work, "-F", "^outer$")
    checks.that("2 functions were added, 1 removed: 2 are recorded; it stood still" in
                one.choose("-F", "^inner$", "-F", "^leaf$"), "others")
    one.ask(30)
    said = one.choose("-F", "^(take|leaf)$")
    checks.that("1 functions were added, 1 removed: 2 are recorded" in said, said)
    one.ask(20)
    said = one.choose("-F", "^inner$")  # it had stubs before
    checks.that("1 functions were added, 1 removed: 2 are recorded; as they were, as somebody was "
                "inside each time: take; it stood still" in said, said)
    one.ask(10)
    for words, why in ((("-F", "(",), "'(' is no regular expression"),
                       (("-F", "^there is none$"), "it has no such function"),
                       (("-F", "_Z5inneri"), "names as linkers have them")):
        said = one.choose(*words, status=4)
        checks.that("its functions stay as they were: " in said and why in said, said)
    said = one.choose("-F", "f", "--filter", "g", status=2)
    checks.that("without --filter" in said, f"two at once: {said}")
    checks.that("nothing is changed: 2 are recorded; as they were" in one.choose("-F", "^inner$"),
                "the same once more")
    one.ask(5)
    said = one.choose("-F", "")
    checks.that("1 functions were added, 1 removed: 2 are recorded" in said, f"as at first: {said}")
    before = count_calls(one.choose("snapshot").strip())
    one.ask(7)
    said = one.end()
    checks.that("attached to: 2 functions, 0 not" in said, said)
    calls = count_calls(one.trace)
    checks.equal([calls[name] for name in ("inner", "leaf", "outer")],
                 [30 + 10 + 5, 60 + 40, before["outer"] + 7], f"calls: {calls}")
    # the last one begins as it is left
    checks.that(20 + 10 + 5 + 7 - 1 <= calls["take"] <= 50, f"calls: {calls}")
    told = setting.tracetape("info", one.trace).out.decode()
    checks.that("'^inner$" in told and "events: '^(take|leaf)$'" in told, f"info: {told}")


def check_waited(checks, work):
    """A function that a trigger waits for is patched all the time, and recorded while it is
    chosen."""
    one = Changed(checks, work, "-F", "^leaf$", "--on", "inner times 1000000 do finish")
    one.choose("-F", "^inner$")
    one.ask(10)
    one.choose("-F", "^outer$")
    one.ask(5)
    one.choose("-F", "")
    before = count_calls(one.choose("snapshot").strip())
    one.ask(3)
    one.end()
    calls = count_calls(one.trace)
    checks.equal([calls.get(name) for name in ("inner", "outer", "leaf")],
                 [10, 5, before["leaf"] + 6], f"calls: {calls}")


STAYS = r"""
#include <unistd.h>
#define F __attribute__((noinline))
F int hold(int file) { char byte; return (int)read(file, &byte, 1) + 1; }
F int rest(int file) { char byte; return read(file, &byte, 1) == 1 && write(1, &byte, 1) == 1; }
int main(void)
{
    if (write(1, "ready\n", 6) != 6 || hold(0) != 2 || write(1, "x", 1) != 1) return 2;
    while (rest(0) == 1) continue;
    return 0;
}
"""


class Held:
    """A program whose recorder stops itself before a stop, until it is told to go on."""
    def __init__(self, checks, work):
        (work / "stays.c").write_text(STAYS)
        path = setting.build(str(work / "stays.c"), flags=("-O1",), log=False, hooks=False)
        self.checks, self.program = checks, test_attach.Asked(path)
        self.begun, self.trace = work / "begun", work / "held.ttape"

    def begin(self, stop):
        self.attached = test_attach.recorder(
            self.program.pid, self.trace, "-F", "^(hold|rest)$", most="64G", HOLD_AT=str(stop),
            HOLD_FROM=str(self.begun), LD_PRELOAD=str(test_attach.kill_library()))

    def until(self, is_so, other):
        """Or this process has ended too soon."""
        test_attach.until("that it is held", lambda: is_so() or other.poll() is not None)

    def is_held(self):
        return process_state.number(self.attached.pid, "State") == "T"

    def ask(self, functions):
        words = [setting.COMMAND, "control", str(self.program.pid), "-F", functions]
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def go_on(self, control, wanted):
        self.begun.unlink()
        self.attached.send_signal(signal.SIGCONT)
        said = control.communicate(timeout=test_attach.GIVE_UP)[0]
        self.checks.that(wanted in said and "inside" not in said, said)
        self.attached.send_signal(signal.SIGINT)
        ended = self.attached.communicate(timeout=test_attach.GIVE_UP)[1]
        self.checks.that("is as it was" in ended, ended)


def check_held(checks, work):
    """Functions are asked for before anybody can answer: the answer comes when it records. And one
    that somebody is inside for longer than eight stops take is taken away when it is left."""
    one = Held(checks, work)
    one.begun.touch()
    one.begin(5)  # the arena is there, and no function is patched yet
    one.until(one.is_held, one.attached)
    control = one.ask("^(hold|rest)$")
    one.until(Path(f"{one.trace}.recording", "change.functions").exists, control)
    one.go_on(control, "2 are recorded")
    one.begin(10)
    one.until(lambda: test_attach.count_events(one.attached.pid) > 0, one.attached)
    one.begun.touch()
    control = one.ask("^rest$")
    one.until(one.is_held, control)
    checks.that(one.program.ask(), "who was inside goes on")
    one.go_on(control, "0 functions were added, 1 removed: 1 are recorded")
    checks.that(one.program.ask() and one.program.end() == (b"", 0), "held: its end")


def check_started(checks, work):
    """What was started for recording has its functions for good."""
    trace = work / "started.ttape"
    started = subprocess.Popen([setting.COMMAND, "record", "-q", "-o", trace, "--", "cat"],
                               stdin=subprocess.PIPE)
    test_attach.until("a recording", lambda: setting.tracetape(
        "control", started.pid, "status").status == 0)
    done = setting.tracetape("control", started.pid, "-F", "main")
    checks.that(done.status == 4 and b"it was started for recording" in done.err, done.err)
    started.communicate(timeout=test_attach.GIVE_UP)


def check_busy_change(checks, work):
    """Threads, handlers, children and coroutines are in these functions all the time."""
    for words in BUSY:
        program, trace = test_attach.Program(words), work / "busy.ttape"
        before = program.state()
        for number in range(CHANGES):
            attached = test_attach.recorder(program.pid, trace, "-F", "^serve$", most="64G")
            test_attach.until("a recording", lambda: test_attach.has_events(attached))
            for functions in ("^(answer|mix)$", ".", "^(descend|halve)$", ""):
                done = setting.tracetape("control", program.pid, "-F", functions)
                checks.equal(done.status, 0, f"{words} {number}, {functions}: {done.err}")
            attached.send_signal(signal.SIGINT)
            said = attached.communicate(timeout=test_attach.GIVE_UP)[1]
            checks.that(attached.returncode in (0, 3) and "is as it was" in said, said)
            checks.equal(program.state(), before, f"{words} {number}: afterwards")
            checks.equal(traces.verify(trace), None, f"{words} {number}: the trace")
        checks.equal(program.end(), (0, "right\n", ""), f"{words}: its answers")


def check_kills(checks, work):
    """The recorder is killed before one of the calls by which it changes functions."""
    begun = work / "begun"
    one = Changed(checks, work, "-F", "^outer$")
    one.attached.send_signal(signal.SIGINT)
    one.attached.communicate(timeout=test_attach.GIVE_UP)
    for number in KILLS:
        one.begin("-F", "^outer$", KILL_AT=str(number), KILL_FROM=str(begun),
                  LD_PRELOAD=str(test_attach.kill_library()))
        begun.touch()
        setting.tracetape("control", one.program.pid, "-F", "^(inner|leaf)$")
        one.ask(3)
        if one.attached.poll() is None:
            one.attached.send_signal(signal.SIGINT)
        said = one.attached.communicate(timeout=test_attach.GIVE_UP)[1]
        checks.that(one.attached.returncode in (-signal.SIGKILL, 0), f"kill {number}: {said}")
        begun.unlink()
        setting.run([setting.COMMAND, "recover", "--clean", "-f", f"{one.trace}.recording", "-o",
                     work / "gone.ttape"], timeout=test_attach.GIVE_UP)
    one.begin("-F", "^(inner|leaf)$")
    one.ask(3)
    one.end()


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
SAID = re.compile(r"for \d{3,}[.]\d\d ms at most, \d{3,}[.]\d\d ms in all, and is as it was")


def check_tries(checks, work):
    """A thread waits for a child of vfork: the others stand still for nothing, which is said."""
    (work / "waits.c").write_text(WAITS)
    path = setting.build(str(work / "waits.c"), flags=("-O1", "-pthread"), log=False, hooks=False)
    end, start = os.pipe()
    program = test_attach.Asked(path, str(end), ready=b"r", pass_fds=(end,))
    os.close(end)
    test_attach.until("its child", lambda: process_state.number(program.pid, "State") == "D")
    server = process_state.second_thread(program.pid)
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


SHADOWED = """#include <unistd.h>
int main(void) {
    long result = 158; /* arch_prctl(ARCH_SHSTK_ENABLE, ARCH_SHSTK_SHSTK); nobody returns then */
    char byte;
    __asm__ volatile("syscall" : "+a"(result) : "D"(0x5001L), "S"(1L) : "rcx", "r11", "memory");
    (void)!write(1, result == 0 ? "s" : "-", 1);
    _exit(read(0, &byte, 1) < 0);
}
"""


def check_shadow_stack(checks, work):
    """Nobody can go back over a frame that the processor does not know of."""
    (work / "shadowed.c").write_text(SHADOWED)
    path = setting.build(str(work / "shadowed.c"), flags=("-O1",), log=False, hooks=False)
    program = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    if program.stdout.read(1) == b"s":
        test_attach.refused(checks, [str(program.pid)], "has a shadow stack", "a shadow stack")
    else:
        print("SKIPPED, of the machine's state: it has no shadow stacks")
    program.communicate(timeout=test_attach.GIVE_UP)
    checks.equal(program.returncode, 0, "a shadow stack: the program's end")


# Without optimization hooks take more.
COMMON_BELOW, MOST_BELOW = 160, 1024


def check_stack(checks, work):
    """Most calls change as little of the stack below the red zone as was asked for, and none
    much: also while blocks are changed, and while there are none."""
    path = setting.build("p_attach_stack.c", flags=("-O1", "-mno-red-zone"), log=False, hooks=False)
    program = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask():
        program.stdin.write("\n")
        program.stdin.flush()
        return tuple(map(int, program.stdout.readline().split()))
    checks.equal(ask(), (0, 0), "stack: of a program that nobody records")
    attached = test_attach.recorder(program.pid, work / "stack.ttape", "-F", "^work$",
                                    "--buffer", "64K", most="64G")
    test_attach.until("a recording", lambda: ask()[1] > 0)
    seen = [ask() for _ in range(3)]
    attached.send_signal(signal.SIGSTOP)
    test_attach.until("events that are dropped", lambda: ask()[0] > max(seen)[0])
    seen.append((0, ask()[1]))
    attached.send_signal(signal.SIGCONT)
    attached.send_signal(signal.SIGINT)
    said = attached.communicate(timeout=test_attach.GIVE_UP)[1]
    checks.that("is as it was" in said, f"stack: {said}")
    if not os.environ.get("TTAPE_SANITIZE"):
        checks.that(max(common for common, _ in seen) <= COMMON_BELOW and
                    max(most for _, most in seen) <= MOST_BELOW, f"stack: bytes below: {seen}")
    checks.equal(ask(), (0, 0), "stack: afterwards")
    program.communicate(timeout=test_attach.GIVE_UP)


def check_unasked(checks, work):
    """A library that looks for rows in a way of its own is named where it is loaded, and only
    there; a static program asks a function of its own. It goes on, and is as it was."""
    (work / "unasked.c").write_text(PROGRAM)
    for libraries in ((), ("-static",), ("-static-pie",), ("-Wl,--no-as-needed", "-lunwind")):
        try:
            path = setting.build(str(work / "unasked.c"), flags=("-O1", "-fPIE"),
                                 libraries=libraries, log=False, hooks=False)
        except RuntimeError as error:
            print(f"SKIPPED, of unwinding by libunwind: it cannot be linked: {error}")
            return
        program = test_attach.Asked(path)
        before = program.state()
        attached = test_attach.recorder(program.pid, work / "unasked.ttape", "-F", "^leaf$",
                                        most="64G")
        test_attach.until("a recording", lambda one=program, of=attached: one.ask() and
                          test_attach.count_events(of.pid) > 0)
        attached.send_signal(signal.SIGINT)
        said = attached.communicate(timeout=test_attach.GIVE_UP)[1]
        is_named = re.search(r"unwinds within the process by 'libunwind[.]so", said) is not None
        is_asked = "-lunwind" not in libraries
        checks.equal((attached.returncode, is_named, test_attach.ENDS in said),
                     (0, not is_asked, not is_asked),
                     f"a library that does not ask: {libraries}: {said}")
        checks.equal((program.state(), program.ask(), program.end()), (before, True, (b"", 0)),
                     f"a library that does not ask: {libraries}: afterwards")


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
    for check in (check_held, check_change, check_waited, check_started, check_busy_change,
                  check_kills):
        check(checks, work)


def main():
    setting.need_verb("attach")
    setting.go_apart()
    checks = setting.Checks("state while attached")
    with setting.work_dir() as folder:
        if test_attach.LACKS in setting.tracetape("attach", "--duration", "10ms", "1").err.decode():
            setting.skip("this machine lacks rdfsbase")
        check_tries(checks, Path(folder))
        check_shadow_stack(checks, Path(folder))
        check_stack(checks, Path(folder))
        check_unasked(checks, Path(folder))
        check_all(checks, Path(folder))
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
