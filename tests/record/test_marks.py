#!/usr/bin/env python3
"""Static probes (SDT) as markers: their values are what the program says itself, wherever compilers
have them; semaphores are up while it is recorded and down when that is over; what has no room is
named and counted; of a stranger's program, too."""
import json
import re
import subprocess
import sys
from pathlib import Path

import setting
import traces

BUILDS = setting.cut([(compiler, level) for compiler in setting.COMPILERS
                      for level in ("-O0", "-O1", "-O2", "-O3", "-Os")],
                     [("gcc", "-O2")])


class Run:
    def __init__(self, checks, work):
        self.checks, self.work, self.trace = checks, work, work / "marks.ttape"
        self.environment = setting.environment(XDG_CACHE_HOME=work / "cache")
        setting.plans(work / "cache")

    def record(self, *words):
        return setting.tracetape("record", "-f", "-o", self.trace, *words, env=self.environment)

    def marks(self, provider="ours"):
        """Each as the program prints it: its name and its values."""
        done = setting.tracetape("dump", "--format", "ndjson", self.trace)
        events = [json.loads(line) for line in done.out.splitlines()]
        return [" ".join([event["symbol"], *(f"{value:g}" if isinstance(value, float)
                                             else str(value) for value in event.get("values", ()))])
                for event in events
                if event.get("kind") == "marker" and event["symbol"].startswith(f"{provider}:")]


def said(out):
    return [line for line in out.decode().splitlines() if line.startswith("ours:")]


def check_values(run, compiler, level):
    """Beside patched functions, beside hooks, and alone."""
    label = f"{compiler} {level}"
    program = setting.build("p_marks.c", compiler, [level], hooks=False, log=False)
    hooked = setting.build("p_marks.c", compiler, [level], log=False)
    for options, path in ([], program), (["--patch", "."], program), ([], hooked):
        done = run.record("--marks", *options, "--", path)
        wanted, found = said(done.out), run.marks()
        run.checks.that(done.status == 0 and (options or done.out.startswith(b"semaphore 1")),
                        f"{label} {options}", done.err)
        run.checks.equal(traces.verify(run.trace), None, f"{label}: verify")
        is_all = not options  # else windows of functions come first
        missing = {line.split()[0] for line in wanted} - {line.split()[0] for line in found}
        run.checks.that(not is_all or not missing, f"{label} {options}: missing {missing}")
        run.checks.equal([line for line in found if not line.startswith("ours:wanted")],
                         [line for line in wanted if line.split()[0] not in missing],
                         f"{label} {options}: values")
        run.checks.that(re.search(rb"marks were patched, \d cannot be", done.err), "what is said",
                        done.err)
        functions = re.search(rb"(\d+) functions were patched", done.err)
        run.checks.that(not options or int(functions.group(1)) < 30, "the program's own functions",
                        done.err)


def check_chosen(run, program):
    done = run.record("--marks=^ours:(wanted|held)$", "--", program)
    run.checks.equal({line.split()[0] for line in run.marks()}, {"ours:wanted", "ours:held"},
                     "chosen by name")
    for options, wanted in ((["^ours:spoken$@arg1/s,arg3/s"], ["ours:spoken a text 3 0x10"]),
                            (["^ours:s@arg1/s", "held@arg12/s"], ["ours:spoken a text 3 16"])):
        done = run.record(*(f"--marks={option}" for option in options), "--", program)
        run.checks.equal([line for line in run.marks() if "spoken" in line], wanted,
                         f"texts: {options} {done.err}")
    for bad in "x@arg0/s", "x@arg13/s", "x@arg1", "x@arg1/i", "x@arg1/s,", "(@arg1/s":
        run.checks.equal(run.record(f"--marks={bad}", "--", program).status, 2, f"--marks={bad}")
    done = run.record("--marks=^theirs:", "--", program)
    run.checks.that(b"no mark was patched" in done.err and done.out.startswith(b"semaphore 0"),
                    "no such name", done.err)


def check_over(run, program):
    """The first mark that is passed when nobody records any more counts the semaphore down."""
    words = [setting.COMMAND, "record", "-f", "-o", run.trace, "--no-patch", "--marks=wanted", "--",
             program, "waits"]
    with subprocess.Popen(words, env=run.environment, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as recorder:
        first = recorder.stdout.readline()
        stopped = setting.tracetape("control", str(recorder.pid), "stop")
        out, err = recorder.communicate(b"\n", timeout=100)
    run.checks.equal((recorder.returncode, stopped.status, first, out.splitlines()[-1:]),
                     (0, 0, b"semaphore 1\n", [b"semaphore 0 at the end"]),
                     f"when recording is over: {stopped.err} {err}")
    run.checks.that(traces.verify(run.trace) is None, "verify what was recorded")


def check_listed(run, program):
    done = run.record("--plan", "--patch", "^none$", "--marks", "--json", "--", program)
    plan = json.loads(done.out)
    left = {mark["name"] for mark in plan["marks"] if mark["probes"][0]["reason"] != "can"}
    run.checks.equal((plan["chosen_marks"], plan["patched_marks"], left), (7, 6, {"ours:no_room"}),
                     "the plan")
    done = run.record("--plan", "--patch", "^none$", "--marks", "--", program)
    run.checks.that(b"6 of 7 marks can be patched" in done.out and
                    re.search(rb"ours:no_room +no +branches lead to", done.out), "in words",
                    done.out)
    done = setting.tracetape("binary", "--marks", "--json", program)
    marks = json.loads(done.out)["marks"]
    run.checks.equal(sorted(mark["name"] for mark in marks if mark["provider"] == "ours"),
                     ["held", "memory", "no_room", "spoken", "undisturbed", "wanted", "work"],
                     "binary")
    run.checks.equal([mark["name"] for mark in marks if mark["semaphore"]], ["wanted"],
                     "semaphores")
    done = setting.tracetape("binary", "--marks", program)
    run.checks.that(b"-8@%rbx -8@%r12" in done.out, "binary in words", done.out[-600:])


def check_library(run):
    """In a library that is loaded later, twice."""
    source = (setting.PROGRAMS / "p_marks.c").read_text(encoding="utf-8")
    (run.work / "part.c").write_text(source.replace("int main(", "int part("), encoding="utf-8")
    (run.work / "loads.c").write_text(
        "#include <dlfcn.h>\nint main(int count, char **words) { int bad = 0;\n"
        "for (int i = 0; i < 2; i++) { void *part = dlopen(words[1], RTLD_NOW);\n"
        "int (*run)(int, char **) = (int (*)(int, char **))dlsym(part, \"part\");\n"
        "bad |= run(1, words); dlclose(part); } (void)count; return bad; }\n", encoding="utf-8")
    setting.call(["gcc", "-D_GNU_SOURCE", "-O2", "-w", "-shared", "-fPIC", "-o",
                  run.work / "part.so", run.work / "part.c"])
    setting.call(["gcc", "-O2", "-w", "-o", run.work / "loads", run.work / "loads.c", "-ldl"])
    done = run.record("--marks=^ours:held$", "--", run.work / "loads",
                      run.work / "part.so")
    wanted = [line for line in said(done.out) if line.startswith("ours:held")]
    run.checks.equal((done.status, run.marks()), (0, wanted), f"a library, twice: {done.err}")


def check_python(run):
    """Debian's python3 has some."""
    python = Path("/usr/bin/python3").resolve()
    listed = setting.tracetape("binary", "--marks", python)
    if b"gc__done" not in listed.out:
        print("not tried: Debian's python3 has no static probes")
        return
    done = run.record("--marks=^python:gc__", "--", python, "-S", "-E", "-c",
                      "import gc; a = []; a.append(a); del a; print(gc.collect())")
    names = {line.split()[0] for line in run.marks("python")}
    run.checks.that(done.status == 0 and done.out.strip().isdigit() and names,
                    f"python3: {names}", done.err)


def main():
    setting.need_verb("record", "dump")
    checks = setting.Checks("marks")
    with setting.work_dir() as folder:
        run = Run(checks, Path(folder))
        for compiler, level in BUILDS:
            check_values(run, compiler, level)
        program = setting.build("p_marks.c", "gcc", ["-O2"], hooks=False, log=False)
        check_chosen(run, program)
        check_over(run, program)
        check_listed(run, program)
        check_library(run)
        if setting.cut(True, False):
            check_python(run)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
