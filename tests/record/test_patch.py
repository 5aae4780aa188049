#!/usr/bin/env python3
"""Functions without compiled-in hooks, patched where the program starts: the same calls as with
hooks, alone and mixed with them; every register, flag and byte below the stack pointer as it was;
whoever unwinds finds what it finds otherwise, at each instruction of a probe. Run as root and as an
ordinary user."""
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import setting
import traces

BUILDS = setting.cut([(compiler, level) for compiler in setting.COMPILERS
                      for level in ("-O0", "-O1", "-O2", "-O3", "-Os")],
                     [("gcc", "-O0"), ("gcc", "-O2"), ("clang", "-O1")])
WAYS = [("gcc", "-pg", "-mfentry"),
        ("clang", "-fxray-instrument", "-fxray-instruction-threshold=1"),
        *setting.cut([("gcc", "-pg"), ("gcc", "-fpatchable-function-entry=5")], [])]
SIZES = setting.cut((0, 16, 300), (300,))
STATE = {"plain": 275, "tail": 100, "maybe": 100, "tight": 100}
UNWINDS = "^(tells|goes|throws|catches|jumps|sorts|cleans|waits|yields|resumes|leaf|chain|tail|" \
          "steps_in|single_steps|main)$"


class Run:
    """One program, recorded and beside it not."""

    def __init__(self, checks, work):
        self.checks, self.work = checks, work
        self.trace = work / "patched.ttape"
        (work / "cache").mkdir(mode=0o700)
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(work / "cache")}

    def start(self, program, *options):
        return setting.tracetape("record", "-f", "-o", self.trace, *options, "--", program,
                                 env=self.environment, cwd=self.work)

    def record(self, program, *options):
        done = self.start(program, "-q", *options)
        plain = subprocess.run([program], capture_output=True, check=False, timeout=60,
                               cwd=self.work)
        self.checks.equal((done.status, done.out, done.err), (plain.returncode, plain.stdout, b""),
                          f"{program.name} {options}: status, output, messages")
        self.checks.equal(traces.verify(self.trace), None, f"{program.name}: verify")
        return dict(traces.call_counts(self.trace)["enter"])

    def deepest(self):
        done = setting.tracetape("dump", "--format", "csv", self.trace)
        return max(int(line.split(",")[4]) for line in done.out.decode().splitlines()[1:])

    def number(self, key):
        return traces.number(traces.info(self.trace), key)


def check_steps(run):
    """A handler at each instruction, of hooks too, and recorded itself: what cannot be written is
    left out, and counted."""
    for flags in (["-O2"], ["-Os"]):
        program = setting.build("p_patch_unwinds.cc", flags=flags, hooks=False, log=False)
        done = run.start(program, "-q", "--patch", ".")
        plain = subprocess.run([program], capture_output=True, check=False, timeout=60,
                               cwd=run.work)
        run.checks.equal((done.status in (0, 3), done.out), (True, plain.stdout), "steps: output")
        run.checks.equal(traces.verify(run.trace), None, "steps: verify")
        calls = traces.call_counts(run.trace)["enter"]
        run.checks.that(calls["goes"] > 0 and calls["on_step"] > 100, f"steps: {calls}")


def check_counts(run, compiler, level):
    """As often as with hooks, each function; and so where some have hooks."""
    label = f"{compiler} {level}"
    made = {"log": False, "compiler": compiler}
    hooked = run.record(setting.build("p_patched.c", flags=[level], **made))
    depth = run.deepest()
    chosen = f"^({'|'.join(hooked)})$"
    plain = run.record(setting.build("p_patched.c", flags=[level], hooks=False, **made),
                       "--patch", chosen)
    run.checks.equal(plain, hooked, f"{label}: calls of patched functions")
    run.checks.that(run.number("unpatched_functions") <= 1, f"{label}: functions left")
    run.checks.equal(run.deepest(), depth, f"{label}: depth")  # of ends that are not seen, too
    mixed = run.record(setting.build("p_patched.c", flags=[level, "-DMIXED"], **made),
                       "--patch", chosen)
    run.checks.equal(mixed, hooked, f"{label}: calls where some functions have hooks")
    run.checks.that(run.number("unpatched_hooked") >= 8, f"{label}: functions with hooks")


def check_ways(run):
    """What compilers leave room for, or call themselves, is patched as anything else is."""
    made = {"log": False, "hooks": False}
    wanted = None
    for compiler, *flags in [("gcc",), *WAYS]:
        found = run.record(setting.build("p_patched.c", compiler, ["-O2", *flags], **made),
                           "--patch", "^[a-z_]*$", "--no-function", "^_|register_tm|frame_dummy")
        wanted = wanted or found
        found["deep"] = wanted["deep"]  # each compiler makes a loop of another part of it
        run.checks.equal(found, wanted, f"calls with {flags}")


def check_tables(run):
    """Jumps by tables that are in one segment with the code."""
    names = ("first", "second", "third", "fourth", "fifth")
    for compiler, *flags in (("gcc",), ("clang",), ("gcc", "-no-pie"), ("clang", "-no-pie"),
                             ("gcc", "-DUNBOUNDED")):
        program = setting.build("p_patch_tables.c", compiler, hooks=False, log=False,
                                flags=["-O2", "-Wl,-z,noseparate-code", "-Wl,--build-id", *flags])
        calls = run.record(program, "--patch", f"^(chooses|{'|'.join(names)})$")
        run.checks.equal(calls, {**({} if "-DUNBOUNDED" in flags else {"chooses": 600}),
                                 **{name: 120 for name in names}},
                         f"tables: {compiler} {flags}")


def check_words(run):
    program = setting.build("p_patch_state.c", flags=["-O1"], hooks=False, log=False)
    done = run.start(program, "--patch", "^(plain|tight)$")
    run.checks.that(b"tracetape: 2 functions were patched\n" in done.err, "what is said", done.err)
    done = run.start(program, "--patch", "^no_such_function$")
    run.checks.that(b"tracetape: no function was patched: no name matches" in done.err,
                    "that nothing matches", done.err)


def check_calls(run):
    """System calls and functions at once: where both want the same bytes the call has them."""
    program = setting.build("p_patch_calls.c", flags=["-O1"], hooks=False, log=False)
    calls = run.record(program, "--syscalls=getppid", "--patch", "^(asks|asks_late|other)$")
    run.checks.equal(calls, {"asks_late": 10, "other": 10, "getppid": 20}, "calls of both kinds")
    run.checks.equal(run.number("unpatched_functions"), 1, "functions that begin with a call")


def check_reasons(run):
    """The trace says which functions of the command, and of libraries, have no room for a jump."""
    program = setting.build("p_too_near.c", flags=["-O1"], hooks=False, log=False)
    libraries = ("--patch", ".", "--module", "near|libc.so")
    for options in (("--patch", "."), ("--patch", "near|behind"), libraries):
        run.start(program, "-q", *options)
        texts = [item["value"] for item in traces.info(run.trace)["metadata"]
                 if item["key"] == "unpatched_reasons"]
        run.checks.equal(len(texts) == 1 and "the next function is too near" in texts[0] and
                         "too_near" in texts[0], True, f"reasons {options}: {texts}")
        run.checks.equal(any("; libc.so.6: " in text for text in texts), options is libraries,
                         f"of libraries, {options}: {texts}")
    long = texts[0]  # of libc with its reasons
    run.checks.that(len(long) > 256 and not long.endswith((",", ":", " ")) and
                    (long.endswith(" more") or long.endswith("those that it calls")),
                    "no reason is cut off", long)


def spoil_bytes(plan, entry, code):
    """The entry's first byte is another one than in the program."""
    plan[code + struct.unpack_from("<I", plan, entry + 8)[0]] ^= 1


def spoil_host(plan, entry, _):
    """The exit's jump is said to be in a host's window, and there is no host."""
    struct.pack_into("<I", plan, entry + 32 + 16,
                     struct.unpack_from("<I", plan, entry + 32)[0] + 10)


def check_spoiled(run, program):
    """What the program's code does not bear out is not used."""
    listed = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    tight = int(next(line for line in listed.splitlines() if line.endswith(" T tight"))[:16], 16)
    without = {name: count for name, count in STATE.items() if name != "tight"}
    for spoil, calls, left in ((spoil_bytes, without, (1, 0)), (spoil_host, STATE, (0, 1))):
        for path in (run.work / "cache" / "tracetape" / "plan-v2").glob("*.patch"):
            whole = path.read_bytes()
            if len(whole) <= 300:
                continue  # another program's, damaged above
            plan = bytearray(whole)
            functions, probes, _, code = struct.unpack_from("<4Q", plan, 208)
            for at in range(functions, probes, 16):
                start, _, first, _ = struct.unpack_from("<4I", plan, at)
                if start == tight:
                    spoil(plan, probes + 32 * first, code)
            path.write_bytes(plan)
            found = run.record(program, "--patch", "^(plain|tail|maybe|tight)$")
            path.write_bytes(whole)
            run.checks.equal(found, calls, spoil.__doc__)
            run.checks.equal((run.number("unpatched_functions"), run.number("unpatched_exits")),
                             left, spoil.__doc__)


def overlap(plan):
    """The plan of the states' program, with an exit whose window begins within an entry's."""
    if len(plan) <= 300:
        return None  # another program's, damaged above
    functions, probes, _, code, count, total = struct.unpack_from("<6Q", plan, 208)
    plan = bytearray(plan)
    for at in range(functions, probes, 16):
        first, number = struct.unpack_from("<II", plan, at + 8)
        entry, leave = (probes + 32 * (first + i) for i in (0, 1))
        window, _, place = struct.unpack_from("<III", plan, entry)
        if number == 2 and plan[leave + 21] == 2 and plan[entry + 20] == plan[leave + 20] == 5:
            old = struct.unpack_from("<I", plan, leave + 8)[0]
            nop = bytes(plan[code + place:code + place + 5])  # the next instruction is the same
            moved = bytes(plan[code + old + 5:code + old + 5 + plan[leave + 24]])
            struct.pack_into("<III", plan, leave, window + 2, (at - functions) // 16, count)
            struct.pack_into("<I", plan, leave + 16, window + 2)
            plan += nop[2:] + nop[:2] + moved
            struct.pack_into("<QQ", plan, 240, count + 5 + len(moved), total + 5 + len(moved))
            return bytes(plan)
    return None


def check_overlap(run, program):
    """Whatever a plan says, no jump is put over another one."""
    folder = run.work / "cache" / "tracetape" / "plan-v2"
    for path in folder.glob("*.patch"):
        changed = overlap(path.read_bytes())
        if changed:
            path.write_bytes(changed)
    calls = run.record(program, "--patch", "^(plain|tail|maybe|tight)$")
    run.checks.equal(calls, STATE, "calls by a plan with windows in one another")
    run.checks.equal(run.number("unpatched_exits"), 1, "exits whose window is taken")


def check_children(run):
    """What the command executes is patched as it is, where its functions are chosen."""
    program = setting.build("p_patch_state.c", flags=["-O1"], hooks=False, log=False)
    done = setting.tracetape("record", "-q", "-f", "-o", run.trace, "--patch",
                             "^(plain|tail|maybe|tight)$", "--", "sh", "-c",
                             f"{program} & {program}; wait", env=run.environment)
    run.checks.equal((done.status, done.out), (0, b"as it was\n" * 2), "children")
    run.checks.equal(dict(traces.call_counts(run.trace)["enter"]),
                     {name: 2 * count for name, count in STATE.items()}, "calls of children")


def check_debugger(run):
    """gdb knows where a program is that is in a hook: in the function, called from its caller."""
    if shutil.which("gdb") is None:
        print("SKIPPED: no gdb")
        return
    program = setting.build("p_patched.c", flags=["-O2"], hooks=False, log=False)
    words = ["set breakpoint pending on", "set startup-with-shell off", "break ttp_probe_enter",
             "run", "continue 3", "backtrace", "kill"]
    gdb = ["gdb", "-nx", "-batch", *(word for each in words for word in ("-ex", each)), program]
    done = setting.tracetape("record", "-q", "-f", "-o", run.trace, "--patch",
                             "^(main|chooses|twice|tiny)$", "--", *gdb, env=run.environment)
    frames = [line for line in done.out.decode().splitlines() if line.startswith("#")]
    found = [name for line in frames for name in ("tiny", "twice", "main") if f"{name} (" in line]
    run.checks.equal(found, ["tiny", "twice", "main"], f"what gdb says: {frames}")
    check_debugger_in_stubs(run, program)


def check_debugger_in_stubs(run, program):
    """The same at each instruction from the hook's end on, through the stub, which has no name."""
    script = run.work / "steps.gdb"
    script.write_text("set breakpoint pending on\nset startup-with-shell off\n"
                      "break ttp_probe_enter\nrun\ncontinue 3\nfinish\ndelete\nset $n = 0\n"
                      "while $n < 40\nstepi\necho step\\n\ninfo symbol $pc\nbacktrace\n"
                      "set $n = $n + 1\nend\nkill\n", encoding="ascii")
    done = setting.tracetape("record", "-q", "-f", "-o", run.trace, "--patch",
                             "^(main|chooses|twice|tiny)$", "--", "gdb", "-nx", "-batch", "-x",
                             script, program,
                             env=run.environment)
    steps = done.out.decode().split("step\n")[1:]
    stubs = [step for step in steps if "No symbol matches" in step]
    wrong = [step for step in steps if not re.search(r"(?s) twice \(.* main \(", step)]
    run.checks.equal((len(steps), wrong), (40, []), "gdb's frames at each instruction")
    run.checks.that(len(stubs) > 4 and all(" tiny (" in step for step in stubs), f"stubs: {stubs}")


def check_damage(run, program):
    """Files in the cache that are not whole are made again."""
    folder = run.work / "cache" / "tracetape" / "plan-v2"
    run.checks.that(any(folder.iterdir()), "plans are kept")
    for end in ("patch", "chosen"):
        for size in SIZES:
            for path in folder.glob(f"*.{end}"):
                path.write_bytes(path.read_bytes()[:size])
            calls = run.record(program, "--patch", "^(plain|tail|maybe|tight)$")
            run.checks.equal(calls, STATE, f"calls, with {size} bytes of .{end}")


def main():
    setting.need_verb("record", "report")
    checks = setting.Checks("patch")
    with setting.work_dir() as folder:
        run = Run(checks, Path(folder))
        for compiler, level in BUILDS:
            check_counts(run, compiler, level)
        check_ways(run)
        check_tables(run)
        check_words(run)
        program = setting.build("p_patch_state.c", flags=["-O1"], hooks=False, log=False)
        calls = run.record(program, "--patch", "^(plain|tail|maybe|tight)$")
        checks.equal(calls, STATE, "calls in every state")
        checks.equal((run.number("patched_exits"), run.number("unpatched_exits")), (5, 0),
                     "exits in every state")
        by_hand = "^(plain|tail|maybe|tight)$@arg1,arg9/s,fparg1,fparg8,retval/s"
        checks.equal(run.record(program, "--patch", "^(plain|tail|maybe|tight)$",
                                f"--args={by_hand}"), STATE, "calls in every state, with values")
        check_damage(run, program)
        check_spoiled(run, program)
        check_overlap(run, program)
        check_calls(run)
        check_reasons(run)
        check_children(run)
        check_debugger(run)
        calls = run.record(setting.build("p_patch_unwinds.cc", hooks=False, log=False),
                           "--patch", UNWINDS)
        checks.equal([calls[name] for name in ("goes", "throws", "jumps", "yields", "leaf")],
                     [10, 11, 3, 20, 4], "calls that are unwound")
        calls = run.record(setting.build("p_patch_unwinds.cc", flags=["-O1", "-g"], hooks=False,
                                         log=False), "--patch", UNWINDS, "--args")
        checks.equal([calls[name] for name in ("goes", "throws", "jumps", "yields")],
                     [10, 11, 3, 20], "calls with values that are unwound")
        check_steps(run)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
