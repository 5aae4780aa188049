#!/usr/bin/env python3
"""Whoever unwinds finds what is there otherwise, at each instruction: of functions whose windows
have all forms, of their stubs, of what these call, of system calls' stubs. A library steps through
the program, unwinds after each step, and writes each change of the stack (programs/steps.c). So it
is where the program is attached to before its first step."""
import json
import os
import subprocess
import sys
from pathlib import Path

import process_state
import setting
import test_attach

KINDS = {"entry", "return", "tail", "conditional", "host", "conditional-return"}
LINES = setting.cut(1000000, 100) # of programs of C
WAYS = (("--patch", "."), ("--patch", ".", "--args", "--retval"),
        ("--patch", ".", "--syscalls", "--stacks"), ("--no-patch", "--syscalls"))
PROGRAMS = [("p_shapes.c", "-O1", WAYS),
            ("p_values.c", "-O2", [("--patch", ".", "--args", "--retval")]),
            ("p_inlined.c", "-O2", [("--patch", ".", "--inlined")]),
            *setting.cut([("p_patched.c", level, [("--patch", ".")])
                          for level in ("-O0", "-O1", "-O2", "-Os")], [])]
ATTACHED = setting.cut(["p_shapes.c", "p_values.c", "p_patched.c"], ["p_shapes.c"])
FEW = setting.cut(1000, 150) # of their lines
STUB_STEPS = 50 # less would mean that nothing was patched


def steps_library():
    return setting.build("steps.c", flags=["-O2", "-shared", "-fPIC"], hooks=False, log=False,
                         output="libsteps.so")


def build(name, level):
    library = steps_library()
    return setting.build(name, flags=[level], hooks=False, log=False,
                         libraries=["-Wl,--no-as-needed", library, f"-Wl,-rpath,{library.parent}"])


class Run:
    def __init__(self, checks, work):
        self.checks, self.work = checks, work
        setting.plans(work / "cache")
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(work / "cache"),
                            "STEPS_TO": str(work / "steps")}

    def stacks(self):
        """What was written, and how many steps were in stubs."""
        *lines, last = (self.work / "steps").read_text(encoding="ascii").splitlines()
        return lines, int(last.split(",")[1].split()[0])

    def check_stacks(self, label, wanted):
        found, in_stubs = self.stacks()
        wrong = [(a, b) for a, b in zip(found, wanted) if a != b][:2]
        self.checks.equal((len(found), wrong), (len(wanted), []), f"{label}: stacks")
        self.checks.that(in_stubs >= STUB_STEPS, f"{label}: {in_stubs} steps in stubs")

    def check_attached(self, name, level, program, wanted):
        """The program waits until there are jumps in it."""
        label = f"{name} {level} attached"
        process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**self.environment, "STEPS_WAIT": "1", "STEPS_LINES": str(FEW)})
        self.checks.equal(process.stdout.readline(), b"ready\n", label)
        attached = test_attach.recorder(process.pid, self.work / "out.ttape", "--module",
                                        f"{program}$", most="64G",
                                        XDG_CACHE_HOME=self.environment["XDG_CACHE_HOME"])
        test_attach.until(label, lambda: attached.poll() is not None or
                          str(program) in process_state.changed_code(process.pid))
        process.communicate(b"x", timeout=test_attach.GIVE_UP)
        said = attached.communicate(timeout=test_attach.GIVE_UP)[1]
        if attached.returncode == 4 and test_attach.LACKS in said or test_attach.ENDS in said:
            print(f"SKIPPED {label}: {said}")
            return
        self.checks.that(attached.returncode in (0, 3), f"{label}: {said}")
        self.check_stacks(label, wanted[:FEW])

    def check(self, name, level, ways):
        program = build(name, level)
        self.environment["STEPS_LINES"] = str(1000 if name == "p_shapes.c" else LINES)
        plain = subprocess.run([program], capture_output=True, check=False, timeout=60,
                               env=self.environment)
        wanted, _ = self.stacks()
        self.checks.that(len(wanted) > 40, f"{name}: {len(wanted)} stacks")
        for way in ways:
            done = setting.tracetape("record", "-q", "-f", "-o", self.work / "out.ttape", *way,
                                     "--", program, env=self.environment)
            label = f"{name} {level} {' '.join(way)}"
            self.checks.equal((done.status in (plain.returncode, 3), done.out),
                              (True, plain.stdout), f"{label}: status, output")
            self.check_stacks(label, wanted)
        if name in ATTACHED:
            self.check_attached(name, level, program, wanted)


def check_kinds(run):
    """The program has each kind of window; all of its functions can be patched."""
    done = setting.tracetape("record", "--plan", "--json", "--patch", ".", "--",
                             build("p_shapes.c", "-O1"), env=run.environment)
    probes = [probe for function in json.loads(done.out)["functions"]
              for probe in function["probes"]]
    run.checks.equal({probe["kind"] for probe in probes}, KINDS, "kinds of windows")
    run.checks.equal([probe for probe in probes if probe["reason"] != "can"], [], "windows left")
    run.checks.that(sum(probe.get("pushes", False) for probe in probes) >= 5, "calls in windows")


def main():
    setting.need_verb("record")
    checks = setting.Checks("unwinds")
    with setting.work_dir() as folder:
        run = Run(checks, Path(folder))
        check_kinds(run)
        for program in PROGRAMS:
            run.check(*program)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
