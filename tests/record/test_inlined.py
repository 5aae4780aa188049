#!/usr/bin/env python3
"""Inlined functions: each copy is patched where debug information says that it is entered. As many
calls as the functions count themselves, the same output, whole stacks at each instruction."""
import json
import re
import subprocess
import sys
from pathlib import Path

import setting
import traces

BUILDS = setting.cut([(compiler, level) for compiler in setting.COMPILERS
                      for level in ("-O1", "-O2", "-O3", "-Os")],
                     [("gcc", "-O2"), ("clang", "-O2"), ("gcc", "-O1")])
NAMES = ("mix", "twice", "scale", "carry", "loops", "walks")
UNWINDS = "^(tells|goes|throws|catches|jumps|sorts|cleans|waits|yields|resumes|leaf|chain|tail|" \
          "steps_in|single_steps|blends|main)$"


class Run:
    def __init__(self, checks, work):
        self.checks, self.trace = checks, work / "inlined.ttape"
        self.environment = setting.environment(XDG_CACHE_HOME=work / "cache")
        setting.plans(work / "cache")

    def record(self, program, *options):
        return setting.tracetape("record", "-f", "-o", self.trace, *options, "--", program,
                                 env=self.environment)

    def calls(self):
        """By name, all copies of it."""
        done = subprocess.run([setting.BUILD / "tests" / "record_count_events", self.trace],
                              check=True, capture_output=True, text=True, timeout=60)
        counts = {}
        for line in done.stdout.splitlines():
            count, kind, name = line.split("\t", 2)
            counts[name] = counts.get(name, 0) + (int(count) if kind == "enter" else 0)
        return counts

    def number(self, key):
        return traces.number(traces.info(self.trace), key)


def told(output):
    """What the program counts itself."""
    return {name: int(count) for name, count in re.findall(r"(\w+) (\d+)(?= |\n)", output)
            if name in NAMES}


def check_one(run, program, name, count, label):
    """One name at a time: of several copies at one address another one would be seen."""
    done = run.record(program, "--inlined", "--patch", f"^{name}$")
    plain = subprocess.run([program], capture_output=True, check=False, timeout=60).stdout
    run.checks.equal(done.out, plain, f"{label}: output with {name}")
    if b"nothing was recorded" in done.err:
        return 1  # no copy can be patched
    run.checks.equal((done.status, traces.verify(run.trace)), (0, None), f"{label}: verify")
    found = run.calls().get(f"{name} [inlined]", 0)
    left = run.number("unpatched_inlined")
    is_exact = left == 0 and "-O3" not in label  # which makes many turns one
    run.checks.that(found == count if is_exact else 0 < found <= count - left,
                    f"{label}: {found} calls of {name}, of {count}, {left} copies left")
    return left


def check_build(run, compiler, level):
    label = f"{compiler} {level}"
    flags = [level, "-fno-unroll-loops"]  # of two turns in one, one has the copy's entry
    program = setting.build("p_inlined.c", compiler, flags, hooks=False, log=False)
    plain = subprocess.run([program], capture_output=True, check=True, timeout=60).stdout.decode()
    counts = told(plain.splitlines(True)[1])
    run.checks.equal(sorted(counts), sorted(NAMES), f"{label}: what the program counts")
    left = sum(check_one(run, program, name, count, label) for name, count in counts.items())
    run.checks.that(left <= 4, f"{label}: {left} copies are left")
    done = run.record(program, "--inlined", "--patch", ".")
    run.checks.equal((done.status, done.out.decode()), (0, plain), f"{label}: output with all")
    run.checks.that(re.search(b" copies of inlined ones.*, whose ends are not seen", done.err),
                    f"{label}: what is said", done.err)
    run.record(program, "--patch", ".")
    run.checks.that(not any("inlined" in name for name in run.calls()),
                    f"{label}: copies without --inlined")


def check_hooked(run):
    """In functions with compiled-in hooks, on the same shadow stack."""
    program = setting.build("p_inlined.c", flags=["-O2"], log=False)
    plain = subprocess.run([program], capture_output=True, check=True, timeout=60).stdout
    done = run.record(program, "--inlined", "--patch", "^scale$")
    run.checks.equal((done.status, done.out), (0, plain), "output among hooks")
    run.checks.that(run.calls().get("vectors") == 100, "calls with hooks", run.calls())


def check_callers(run):
    program = setting.build("p_inlined.c", flags=["-O2"], hooks=False, log=False)
    run.record(program, "--inlined", "--patch", "^(scale|vectors)$")
    done = setting.tracetape("report", "--callers", "scale [inlined]", run.trace)
    run.checks.that(b" vectors " in done.out, "callers", done.out)
    done = setting.tracetape("dump", "--places", run.trace)
    run.checks.that(b"scale [inlined]" in done.out and b"p_inlined.c:67)" in done.out,
                    "the line of the call", done.out[:400])


def check_unwound(run):
    """At each instruction of a stub, too, whoever unwinds finds main."""
    program = setting.build("p_patch_unwinds.cc", hooks=False, log=False)
    plain = subprocess.run([program], capture_output=True, check=True, timeout=60).stdout
    done = run.record(program, "--inlined", "--patch", UNWINDS)
    run.checks.equal((done.status, done.out), (0, plain), "stacks with inlined copies")
    found = run.calls()
    names = {name: count for name, count in found.items() if name[:4] in ("tail", "blen")}
    run.checks.equal(names, {"tail": 1, "blends [inlined]": 1},
                     "calls while single-stepping")  # tail begins with a copy, and has its window


def check_hint(run, program):
    """Who names what is inlined only, without --inlined, is told of it."""
    done = run.record(program, "--patch", "^mix$")
    run.checks.that(b"what matches is inlined wherever it is called: --inlined" in done.err, "hint",
                    done.err)


def check_loaded(run, work):
    """In a library that is loaded and unloaded again and again."""
    (work / "part.c").write_text(
        "static inline __attribute__((always_inline)) long mix(long x)\n"
        "{ x ^= x >> 3; x *= 77777; return x ^ x >> 5; }\n"
        "long work(long n) { long s = 0;\n"
        "for (long i = 0; i < n; i++) s += mix(i ^ s) * 3; return s; }\n", encoding="utf-8")
    (work / "loads.c").write_text(
        "#include <dlfcn.h>\nint main(int count, char **words) { long sum = 0; (void)count;\n"
        "for (int i = 0; i < 30; i++) { void *part = dlopen(words[1], RTLD_NOW);\n"
        "long (*work)(long) = (long (*)(long))dlsym(part, \"work\"); sum += work(i);\n"
        "dlclose(part); } return (int)(sum & 63); }\n", encoding="utf-8")
    setting.call(["gcc", "-g", "-O2", "-shared", "-fPIC", "-o", work / "part.so", work / "part.c"])
    setting.call(["gcc", "-O2", "-w", "-o", work / "loads", work / "loads.c", "-ldl"])
    words = [work / "loads", work / "part.so"]
    wanted = subprocess.run(words, check=False, timeout=60).returncode
    done = setting.tracetape("record", "-f", "-o", run.trace, "--patch", "^(mix|work)$", "--module",
                             "part[.]so", "--inlined", "--", *words, env=run.environment)
    counts = {name: count for name, count in run.calls().items() if count}
    run.checks.equal((done.status, counts), (wanted, {"work": 30, "mix [inlined]": 435}),
                     f"a library that is loaded 30 times: {done.err}")


def check_plan(run, program):
    """What would be patched, in words and as JSON; nothing is run."""
    options = ("--inlined", "--patch", "^(mix|leaf|walks)$", "--plan")
    done = run.record(program, *options)
    lines = done.out.decode().splitlines()
    run.checks.that(any("copies of inlined functions can be patched" in line for line in lines) and
                    sum("mix [inlined]" in line for line in lines) >= 4, "the plan", done.out)
    done = run.record(program, *options, "--json")
    plan = json.loads(done.out)
    names = {copy["name"] for copy in plan["copies"]}
    run.checks.that(plan["chosen_copies"] == len(plan["copies"]) >= plan["patched_copies"] >= 5 and
                    names <= {"mix [inlined]", "walks [inlined]"} and
                    all(copy["probes"][0]["kind"] == "inlined" for copy in plan["copies"]),
                    "the plan as JSON", str(plan)[:600])


def check_refused(run, program):
    for options in (["--inlined"], ["--inlined", "--patch", ".", "--no-lines"]):
        done = run.record(program, *options)
        run.checks.that(done.status == 2 and b"--inlined goes with --patch" in done.err,
                        f"{options}", done.err)


def main():
    setting.need_verb("record", "report")
    checks = setting.Checks("inlined")
    with setting.work_dir() as folder:
        run = Run(checks, Path(folder))
        for compiler, level in BUILDS:
            check_build(run, compiler, level)
        check_hooked(run)
        check_callers(run)
        check_unwound(run)
        program = setting.build("p_inlined.c", flags=["-O2"], hooks=False, log=False)
        check_refused(run, program)
        check_hint(run, program)
        check_loaded(run, Path(folder))
        check_plan(run, program)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
