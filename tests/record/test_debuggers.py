#!/usr/bin/env python3
"""Debuggers come before a patched program, and later, with a breakpoint on each line: it goes on as
it does otherwise, and they stop where they do otherwise, but for lines that `--plan` lists. What
they say of the stack is right, also at each instruction of a jump, its slot and its stub."""
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import setting
import traces

FLAGS = ("-fno-inline",)
BUILDS = setting.cut([(compiler, level, *more) for compiler in setting.COMPILERS
                      for level in ("-O0", "-O1", "-Og", "-O2", "-O3", "-Os")
                      for more in ((), ("-no-pie",))],
                     [("gcc", "-O0"), ("gcc", "-Og", "-no-pie")])
FIRST = setting.cut(BUILDS, [("gcc", "-O0")])
STEPPED = setting.cut(BUILDS, [("gcc", "-Og", "-no-pie")])
ROUNDS = 12 # each line is executed in them
SOURCE = "p_debugged.c"
LINES = [f"{SOURCE}:{line}" for line, _ in
         enumerate((setting.PROGRAMS / SOURCE).read_text(encoding="utf-8").splitlines(), 1)]
NAMES = ("tick", "quiet", "outer", "sum", "pick", "nested", "rounds") # not gdb's own


class Run:
    def __init__(self, checks, work):
        self.checks, self.work, self.trace = checks, work, work / "out.ttape"
        setting.plans(work / "cache")
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(work / "cache")}

    def record(self, *words, patch="."):
        return [setting.COMMAND, "record", "-q", "-f", "-o", self.trace, "--patch", patch, "--",
                *words]

    def call(self, words):
        return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              check=False, timeout=300, env=self.environment)

    def attach(self, program, words, debugger):
        """A debugger, or what else attaches, comes to the program; its output, and how that went
        on: status, what it said."""
        process = subprocess.Popen([str(w) for w in words], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=self.environment)
        there = process.stdout.readline()
        self.checks.equal(there, "there\n", "the program starts")
        pid = process.pid
        for line in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            with contextlib.suppress(OSError):  # a helper of the recorder's that has ended
                if Path(f"/proc/{line}/comm").read_text().strip() == program.name[:15]:
                    pid = int(line)
        done = self.call(debugger(pid))
        if "ptrace: Operation not permitted" in done.stderr:
            process.kill()
            setting.skip("nobody may attach to processes")
        out, err = process.communicate(timeout=120)
        return done.stdout, (process.returncode, out, err)


def gdb(python, *words):
    return ["gdb", "-nx", "-batch", "-ex", "set startup-with-shell off", "-ex",
            "set breakpoint pending off", *words, "-x", setting.HERE / "in_gdb.py",
            "-ex", f"python {python}"]


def in_lines(said, kind):
    return [line[len(kind) + 1:] for line in said.splitlines() if line.startswith(kind + " ")]


def places_of(said):
    return set((in_lines(said, "places") or [""])[-1].split())


def check_stacks(run, said, label):
    """Each stack ends in main, and nothing was met that the program does not do by itself."""
    stacks = in_lines(said, "stack")
    wrong = [stack for stack in stacks if not re.fullmatch(r"(\w+ )*main", stack)]
    run.checks.equal(wrong, [], f"{label}: stacks")
    run.checks.that(len(stacks) >= 4, f"{label}: {len(stacks)} stacks", said[-600:])
    run.checks.equal(in_lines(said, "signal"), [], f"{label}: signals")


def plan_of(run, program):
    return json.loads(setting.tracetape("record", "--plan", "--json", "--patch", ".", "--", program,
                                        env=run.environment).out)


def check_attached(run, program, label, places):
    """gdb comes later: at each place that it stops at otherwise it stops, or that is listed."""
    def debugger(pid):
        return gdb(f"stop_at({places}, {ROUNDS})", "-p", pid)
    alone, wanted = run.attach(program, [program], debugger)
    said, found = run.attach(program, run.record(program), debugger)
    run.checks.equal(found, wanted, f"{label}: how it went on")
    check_stacks(run, said, label)
    plan = plan_of(run, program)
    listed = {str(entry["line"]) for entry in plan["lines_without_stops"]}
    run.checks.equal(places_of(alone) - places_of(said) - listed, set(),
                     f"{label}: places without a stop, listed {listed}")
    run.checks.equal([each["name"] for each in plan["functions"]
                      if each["probes"][0]["reason"] == "lines"], [],
                     f"{label}: functions that are not patched for their lines")
    counts = traces.call_counts(run.trace)["enter"]
    run.checks.that(counts["rounds"] >= ROUNDS, f"{label}: calls {dict(counts)}")


def check_first(run, program, label):
    """gdb is there first: where it has breakpoints nothing is patched, and it stops everywhere."""
    words = [*gdb(f"stop_at({LINES}, {ROUNDS}, True)"), program]
    alone = run.call(words)
    done = run.call(run.record(*words, patch=f"^({'|'.join(NAMES)})$"))
    check_stacks(run, done.stdout, f"{label}, first")
    run.checks.equal((done.returncode in (0, 4), places_of(done.stdout)),
                     (True, places_of(alone.stdout)), f"{label}, first: stops")
    run.checks.that("over 0" in done.stdout, f"{label}, first: its end", done.stdout[-300:])


def check_steps(run, program, label):
    """At each instruction."""
    def debugger(pid):
        return gdb("step_through()", "-p", pid)
    alone, wanted = run.attach(program, [program], debugger)
    said, found = run.attach(program, run.record(program), debugger)
    run.checks.equal(found, wanted, f"{label}, steps: how it went on")
    run.checks.equal(in_lines(said, "stack"), in_lines(alone, "stack"), f"{label}, steps: stacks")
    steps = [line.split() for line in in_lines(said, "steps")]
    run.checks.that(len(steps) == 2 and all(int(stubs) > 100 for _, stubs in steps),
                    f"{label}, steps: in stubs {steps}")


def check_calls(run):
    """A system call has no window whose jump a line begins in."""
    for flag, wanted in (("-g", False), ("-g0", True)):
        program = setting.build("p_asks_in_lines.S", flags=[flag], hooks=False, log=False)
        found = json.loads(setting.tracetape("binary", "--json", program).out)["system_calls"]
        run.checks.equal([call["patch"] == "can be patched" for call in found], [wanted],
                         f"{flag}: system calls")


def check_shadow_stack(run):
    """Where the processor keeps a shadow stack (gdb feigns one) no window has a call: its return
    address would be pushed by a stub."""
    program = setting.build("p_stack_use.c", flags=["-O1"], hooks=False, log=False)
    debugger = [*gdb("feign_shadow_stack()"), program]
    for words, wanted in (([program], {"leaf", "calls"}), (debugger, {"leaf"})):
        done = run.call(run.record(*words, patch="^(leaf|calls)$"))
        run.checks.equal((done.returncode, "leaf" in done.stdout), (0, True), "shadow stack")
        run.checks.equal({name for name, count in traces.call_counts(run.trace)["enter"].items()
                          if count > 0}, wanted, "with a shadow stack: functions with calls")
    run.checks.equal(len(in_lines(done.stdout, "feigned")), 1, "a shadow stack is feigned")


def check_command(run, program):
    """gdb starts the command itself."""
    words = ["gdb", "-nx", "-batch", "-ex", "run", "--args",
             *run.record(program, ROUNDS)]
    process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.DEVNULL, env=run.environment)
    out, _ = process.communicate(timeout=120)
    run.checks.that("exited normally" in out and "over 0" in out, "gdb --args", out[-600:])


def check_strace(run, program):
    """strace is there first, and comes later."""
    if shutil.which("strace") is None:
        print("SKIPPED: no strace")
        return
    quick = setting.build("p_patch_state.c", flags=["-O1"], hooks=False, log=False)
    plain = run.call([quick])
    done = run.call(["strace", "-f", "-o", run.work / "strace", *run.record(quick)])
    run.checks.equal((done.returncode, done.stdout), (plain.returncode, plain.stdout),
                     "under strace")

    def attaches(pid):
        return ["sh", "-c", f"timeout -s INT 0.5 strace -f -o {run.work}/strace -p {pid}; "
                f"gdb -nx -batch -ex 'set var *(int *)&rest = 1' -ex detach -p {pid}"]
    _, found = run.attach(program, run.record(program), attaches)
    run.checks.equal(found, (0, "over 0\n", ""), "strace that comes later")


def main():
    setting.need_verb("record")
    setting.need_command("gdb")
    if subprocess.run(["gdb", "-nx", "-batch", "-ex", "python print(7)"], check=False,
                      capture_output=True).stdout != b"7\n":
        setting.skip("this gdb has no Python")
    checks = setting.Checks("debuggers")
    with setting.work_dir() as folder:
        run = Run(checks, Path(folder))
        for compiler, *flags in BUILDS:
            program = setting.build(SOURCE, compiler, [*flags, *FLAGS], hooks=False, log=False)
            label = " ".join([compiler, *flags])
            check_attached(run, program, label, LINES)
            if (compiler, *flags) in FIRST:
                check_first(run, program, label)
            if (compiler, *flags) in STEPPED:
                check_steps(run, program, label)
        program = setting.build(SOURCE, flags=["-O0", "-g0"], hooks=False, log=False)
        if setting.cut(True, False):
            check_attached(run, program, "functions without lines", NAMES)
        check_calls(run)
        check_shadow_stack(run)
        check_command(run, program)
        check_strace(run, program)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
