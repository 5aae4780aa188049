#!/usr/bin/env python3
"""Debuggers come before a patched program, and later, with a breakpoint on each line: it goes on as
it does otherwise, and they stop where they do otherwise, but for the lines that `--plan` lists. What
they say of the stack is right, also at each instruction of a jump, its slot and its stub."""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import setting
import traces

BUILDS = setting.cut([(compiler, level, *more) for compiler in setting.COMPILERS
                      for level in ("-O0", "-O1", "-Og", "-O2", "-O3", "-Os")
                      for more in ((), ("-no-pie",))],
                     [("gcc", "-O0"), ("gcc", "-O2"), ("gcc", "-Og", "-no-pie"), ("clang", "-O1")])
STOPS = 60
STEPS = setting.cut(400, 120)
SOURCE = "p_debugged.c"


class Run:
    def __init__(self, checks, work):
        self.checks, self.work, self.trace = checks, work, work / "out.ttape"
        (work / "cache").mkdir(mode=0o700)
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(work / "cache")}

    def record(self, *words):
        return [setting.COMMAND, "record", "-q", "-f", "-o", self.trace, "--patch", ".", "--",
                *words]

    def start(self, words):
        """A program that has said that it is there, and the process's number."""
        process = subprocess.Popen([str(w) for w in words], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=self.environment)
        assert process.stdout.readline() == b"there\n"
        return process

    def attach(self, program, words, debugger):
        """A debugger, or what else attaches, comes to the program; its output, and how that went
        on: status, what it said."""
        process = self.start(words)
        pid = process.pid
        for line in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if Path(f"/proc/{line}/comm").read_text().strip() == program.name[:15]:
                pid = int(line)
        done = subprocess.run([str(w) for w in debugger(pid)], capture_output=True, text=True,
                              check=False, timeout=300)
        out, err = process.communicate(timeout=120)
        return done.stdout, (process.returncode, out, err)


def gdb(*words):
    return ["gdb", "-nx", "-batch", *(word for each in words for word in ("-ex", each))]


def breakpoints():
    lines = len((setting.PROGRAMS / SOURCE).read_text(encoding="utf-8").splitlines())
    return [f"break {SOURCE}:{line}" for line in range(1, lines + 1)]


def hit_lines(said):
    """Those at which a debugger has stopped, and those at which it has not."""
    found = re.findall(r"^\d+(?:\.\d+)?\s+breakpoint .*?:(\d+)\n(\s+breakpoint already hit)?", said,
                       re.M)
    hit = {int(line) for line, is_hit in found if is_hit}
    return hit, {int(line) for line, _ in found} - hit


def check_frames(run, said, label):
    """Each stack ends in main, and nothing was met that the program does not do by itself."""
    stacks = [stack for stack in re.split(r"(?m)^(?=#0 )", said) if stack.startswith("#0 ")]
    wrong = [stack for stack in stacks if not re.search(r"(?m)^#\d+ .*\bmain \(", stack)]
    run.checks.equal(wrong[:1], [], f"{label}: stacks")
    run.checks.that(len(stacks) >= STOPS // 2, f"{label}: {len(stacks)} stacks", said[-600:])
    run.checks.equal(re.findall(r"received signal (\w+)", said), [], f"{label}: signals")


def check_attached(run, program, label):
    """gdb comes later: at each line that it stops at otherwise it stops, or that is listed."""
    stops = [word for _ in range(STOPS) for word in ("continue", "backtrace")]

    def debugger(pid):
        return [*gdb("set breakpoint pending off", *breakpoints(), *stops, "info breakpoints",
                     "delete", "set var over = 1", "detach"), "-p", pid]
    alone, wanted = run.attach(program, [program], debugger)
    said, found = run.attach(program, run.record(program), debugger)
    run.checks.equal(found, wanted, f"{label}: how it went on")
    check_frames(run, said, label)
    planned = json.loads(setting.tracetape("record", "--plan", "--json", "--patch", ".", "--",
                                           program, env=run.environment).out)
    listed = {entry["line"] for entry in planned["lines_without_stops"]}
    missed = hit_lines(alone)[0] - hit_lines(said)[0]
    run.checks.equal(missed - listed, set(), f"{label}: lines without a stop, listed {listed}")
    run.checks.that(len(hit_lines(said)[0]) >= 10, f"{label}: stopped at {hit_lines(said)[0]}")
    run.checks.that(planned["patched_functions"] >= planned["chosen_functions"] - 1,
                    f"{label}: {planned['patched_functions']} functions")
    counts = traces.call_counts(run.trace)["enter"]
    run.checks.that(counts["rounds"] > 0, f"{label}: calls {dict(counts)}")


def check_first(run, program, label):
    """gdb is there first: where it has breakpoints nothing is patched, and it stops everywhere."""
    stops = [word for _ in range(STOPS) for word in ("continue", "backtrace")]
    words = [*gdb("set startup-with-shell off", *breakpoints(), "run", *stops, "info breakpoints",
                  "delete", "set var over = 1", "continue"), program]
    alone = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False,
                           timeout=300)
    done = setting.tracetape(*run.record(*words)[1:], env=run.environment, timeout=300)
    said = done.out.decode()
    check_frames(run, said, f"{label}, first")
    run.checks.equal(hit_lines(said), hit_lines(alone.stdout), f"{label}, first: stops")
    run.checks.that("over 1" in said and "exited normally" in said, f"{label}, first: its end",
                    said[-300:])


def check_steps(run, program, label):
    """At each instruction, from a line in front of calls on."""
    steps = [word for _ in range(STEPS) for word in ("stepi", "echo step\\n", "info symbol $pc",
                                                     "backtrace")]

    def debugger(pid):
        return [*gdb("break rounds", "continue", "delete", *steps, "set var over = 1", "detach"),
                "-p", pid]
    said, found = run.attach(program, run.record(program), debugger)
    run.checks.equal(found[0], 0, f"{label}, steps: status")
    found = said.split("step\n")[1:]
    wrong = [step for step in found if not re.search(r"(?m)^#\d+ .*\bmain \(", step) or
             re.search(r"(?m)^#[1-9]\d* .*\?\? \(", step)]
    run.checks.equal((len(found), wrong[:1]), (STEPS, []), f"{label}, steps: stacks")
    run.checks.that(sum("No symbol matches" in step for step in found) > 5,
                    f"{label}, steps: none of them is in a stub")


def check_strace(run, program):
    """strace is there first, and comes later."""
    if shutil.which("strace") is None:
        print("SKIPPED: no strace")
        return
    quick = setting.build("p_patch_state.c", flags=["-O1"], hooks=False, log=False)
    plain = subprocess.run([quick], capture_output=True, check=False, timeout=60)
    done = subprocess.run(["strace", "-f", "-o", run.work / "strace", *run.record(quick)],
                          capture_output=True, check=False, timeout=120, env=run.environment)
    run.checks.equal((done.returncode, done.stdout), (plain.returncode, plain.stdout),
                     "under strace")

    def attaches(pid):
        return ["sh", "-c", f"timeout -s INT 1 strace -f -o {run.work}/strace -p {pid}; "
                f"gdb -nx -batch -ex 'set var over = 1' -ex detach -p {pid}"]
    _, found = run.attach(program, run.record(program), attaches)
    run.checks.equal(found, (0, b"over 1\n", b""), "strace that comes later")


def main():
    setting.need_verb("record")
    setting.need_command("gdb")
    checks = setting.Checks("debuggers")
    with setting.work_dir() as folder:
        run = Run(checks, Path(folder))
        for number, (compiler, *flags) in enumerate(BUILDS):
            program = setting.build(SOURCE, compiler, flags, hooks=False, log=False)
            label = " ".join([compiler, *flags])
            check_attached(run, program, label)
            if number < setting.cut(len(BUILDS), 2):
                check_first(run, program, label)
                check_steps(run, program, label)
        check_strace(run, program)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
