"""Programs that the generator makes (generator/), by themselves and recorded: what they print and
how they end is the same, and functions that --plan says are patched have as many calls in the trace
as the program has counted."""
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import setting
import traces

sys.path.insert(0, str(setting.HERE / "generator"))
from programs import Program  # noqa: E402

JOBS = int(os.environ.get("TTAPE_JOBS") or min(4, os.cpu_count() or 1))
RETURNS = re.compile("_(leaf|plain|short|place|flags|state|recursion|late)$")
FIRST = ()
STEPS = "steps" # the program's word: some calls in single steps, each of which unwinds
QUIET = ("-N", "^h_") # handlers of steps are not recorded
WAYS = (("--syscalls", "--no-patch"), ("--patch", ".", "--args", "--retval"),
        ("--patch", ".", *QUIET, STEPS), ("--patch", ".", "--syscalls", "--stacks"),
        ("--no-patch", "--syscalls", STEPS), ("--patch", ".", "--module", "."),
        ("--patch", ".", "--inlined"), ("--patch", ".", "--libcalls"),
        ("--patch", ".", "--args", "--retval", *QUIET, STEPS),
        ("--no-patch", "--engine", "ptrace", "--syscalls"))


class Found:
    """What is wrong of one program, and how much was looked at."""

    def __init__(self):
        self.problems, self.functions, self.patched, self.calls, self.runs = [], 0, 0, 0, 0

    def add(self, other):
        self.problems += other.problems
        self.functions += other.functions
        self.patched += other.patched
        self.calls += other.calls
        self.runs += other.runs


class Trial:
    def __init__(self, seed, folder, environment):
        self.program, self.folder, self.environment = Program(seed), folder, environment
        self.found, self.label, self.whole = Found(), f"program {seed}", set()
        folder.mkdir()

    def run(self, words):
        return subprocess.run([str(word) for word in words], capture_output=True, check=False,
                              timeout=120, env=self.environment, stdin=subprocess.DEVNULL)

    def wrong(self, what, *details):
        lines = [f"{self.label}: {what}"]
        self.found.problems.append("\n    ".join(lines + [str(line)[:400] for line in details]))

    def patched(self, program):
        """The functions whose entries have a window; and whether surely a jump: where a line begins
        within it there is one if the memory is free that it can lead to. self.whole: those of which
        all exits have one, too, and that are left by their own returns only."""
        done = self.run([setting.COMMAND, "record", "--patch", ".", "--plan", "--json", "--",
                         program])
        plan = json.loads(done.stdout)["functions"]
        self.whole = {f["name"] for f in plan if RETURNS.search(f["name"]) and
                      all(p["reason"] == "can" and not p["lines"] for p in f["probes"])}
        return {traces.plain_name(f["name"]): not p["lines"] for f in plan
                for p in f["probes"] if (p["kind"], p["reason"]) == ("entry", "can")}

    def compare_counts(self, trace, printed, patched, way):
        counted = dict(line.split() for line in printed.splitlines()[1:])
        counts = traces.call_counts(trace)
        seen, left = counts["enter"], counts["exit"]
        for name in self.program.names:
            wanted = int(counted[name]) if name in patched else 0
            if seen.get(name, 0) != wanted and (patched.get(name, True) or name in seen):
                self.wrong(f"{' '.join(way)}: calls of {name}", f"{seen.get(name, 0)} recorded",
                           f"{wanted} counted")
            if name in self.whole and left.get(name, 0) != seen.get(name, 0):
                self.wrong(f"{' '.join(way)}: exits of {name}", f"{left.get(name, 0)} recorded",
                           f"{seen.get(name, 0)} entries")
            self.found.calls += wanted

    def record(self, way, program, plain, patched):
        """In steps more happens than there is room for: events may be lost then."""
        trace, steps = self.folder / "out.ttape", [STEPS] if STEPS in way else []
        options = [word for word in way if word != STEPS]
        done = self.run([setting.COMMAND, "record", "-q", "-f", "-o", trace, *options, "--",
                         program, *steps])
        self.found.runs += 1
        status = plain.returncode if done.returncode == 3 and steps else done.returncode
        if (status, done.stdout, done.stderr) != (plain.returncode, plain.stdout, b""):
            lines = list(zip(done.stdout.splitlines(), plain.stdout.splitlines()))
            other = next((pair for pair in lines if pair[0] != pair[1]), ("", ""))
            self.wrong(f"{' '.join(way)}: other output", f"status {done.returncode}, "
                       f"{plain.returncode} by itself", *other, done.stderr)
        elif "--no-patch" not in way and not steps and not self.program.is_stripped:
            self.compare_counts(trace, plain.stdout.decode(), patched, way)

    def judge(self, ways):
        words, program = self.program.write(self.folder)
        self.label += f" ({' '.join([self.program.compiler, *self.program.options])})"
        made = self.run(words)
        if made.returncode:
            self.wrong("it cannot be compiled", made.stderr.decode(errors="replace"))
            return self.found
        plain = self.run([program, STEPS])
        if plain.returncode not in (0, 7):
            self.wrong("it does not run by itself", plain.returncode, plain.stdout[-200:])
            return self.found
        patched = self.patched(program)
        self.found.functions = len(self.program.names)
        self.found.patched = len(patched.keys() & set(self.program.names))
        for way in ways:
            self.record(way, program, plain, patched)
        return self.found


def one(seed, folder, environment, count):
    """The first way, and those whose turn it is."""
    ways = [FIRST, *(WAYS[(seed + i) % len(WAYS)] for i in range(count))]
    try:
        return Trial(seed, folder, environment).judge(ways)
    except subprocess.TimeoutExpired as error:
        found = Found()
        found.problems.append(f"program {seed}: no end: {error.cmd}")
        return found


def run(seeds, more_ways, until_first=False):
    """All programs, some at a time; ends the test."""
    setting.need_verb("record")
    if os.uname().machine != "x86_64":
        setting.skip("plans are of x86-64")
    setting.need_command("gcc", "g++", "clang", "clang++")
    checks, all_found = setting.Checks("generated programs"), Found()
    with setting.work_dir() as work, ThreadPoolExecutor(JOBS) as pool:
        setting.plans(Path(work, "cache"))
        environment = setting.environment(XDG_CACHE_HOME=Path(work, "cache"))
        jobs = [pool.submit(one, seed, Path(work, str(seed)), environment, more_ways)
                for seed in seeds]
        for job in jobs:
            found = job.result()
            for problem in found.problems:
                print(problem, flush=True)
            checks.count += found.runs
            checks.problems += found.problems
            all_found.add(found)
            if found.problems and until_first:
                pool.shutdown(wait=False, cancel_futures=True)
                break
    print(f"{all_found.functions} functions in {len(jobs)} programs, {all_found.patched} of them "
          f"patched; {all_found.runs} recordings, {all_found.calls} calls")
    checks.verdict()
