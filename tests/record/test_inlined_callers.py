#!/usr/bin/env python3
"""Callers that a compiler inlined are shown where a stack is: of a line of a log, of a slow call,
of a crash, of a process that hangs. They are what the program's own debug information says; where
it leaves several answers, or is of another build, none is shown."""
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import setting

LINES = {"row 1": "main > imports > check_all (inlined) > check_row (inlined) > say",
         "row 5": "main > two_ways > say", "plain 5": "main > two_ways > say",
         "direct 9": "main > by_pointer > say", "pointer 9": "main > by_pointer > say"}


class Case:
    def __init__(self, checks, folder, compiler):
        self.checks, self.folder, self.name = checks, Path(folder), compiler
        self.built = setting.build("p_inlined_callers.c", compiler, ("-O2",), hooks=False,
                                   log=False)
        self.program = self.folder / "program"
        shutil.copy(self.built, self.program)
        self.trace, self.log = self.folder / "run.ttape", self.folder / "run.log"

    def show(self, *words):
        done = setting.tracetape(*words)
        self.checks.equal((done.status, done.err), (0, b""), f"{self.name}: {words[0]}")
        return done.out.decode()

    def record(self, word, wanted=0):
        done = setting.run([setting.COMMAND, "record", "-q", "-f", "-o", self.trace, "--log-fd",
                            "1", "--", self.program, word])
        self.checks.equal(done.status, wanted, f"{self.name}: record")
        self.log.write_bytes(done.out)

    def stacks(self):
        text = self.show("context", "--recording", self.trace, "--annotate", self.log)
        return dict(re.findall(r"^(\w+ \d) \{likely printed by: (.*? say)\b", text, re.M))

    def check_log(self):
        self.checks.equal(self.stacks(), LINES, f"{self.name}: lines of a log")

    def check_slow(self):
        text = self.show("slow", self.trace, "--function", "^say$", "--first")
        self.checks.that(re.search(r" say .*check_row \(inlined\) < check_all \(inlined\) < "
                                   r"imports < main$", text, re.M), f"{self.name}: slow", text)

    def check_last(self):
        text = self.show("last", self.trace)
        found = re.findall(r"[mun]?s  ([\w() ]+?) \(|^ +(\w+ \(inlined\))$",
                           text.split("last calls")[0], re.M)
        self.checks.equal([a or b for a, b in found],
                          ["store", "handle (inlined)", "serve", "main"], f"{self.name}: last")
        frames = json.loads(self.show("last", "--json", self.trace))["threads"][0]["open"]
        self.checks.equal([(frame["function"], frame["inlined"]) for frame in frames],
                          [("store", False), ("handle", True), ("serve", False), ("main", False)],
                          f"{self.name}: last as JSON")

    def check_now(self):
        """Here the place of each call is known, with its line."""
        lines = self.program_lines()
        hangs = subprocess.Popen([self.program, "h"], stdout=subprocess.DEVNULL)
        try:
            until = time.monotonic() + 60
            while time.monotonic() < until:
                done = setting.tracetape("last", "--pid", hangs.pid)
                if b" server " in done.out or done.status:
                    break
        finally:
            hangs.kill()
            hangs.wait()
        if done.status == 4 and b"may not be looked at" in done.err:
            print("left out: another process (ptrace is not allowed here)")
            return
        wanted = [("waits (inlined)", lines["hang();"]), ("server", lines["waits(row);"])]
        found = re.findall(r"^  (\w+(?: \(inlined\))?) \(p_inlined_callers\.c:(\d+)\)$",
                           done.out.decode(), re.M)
        self.checks.that(all((name, str(line)) in found for name, line in wanted),
                         f"{self.name}: last --pid", done.out)

    @staticmethod
    def program_lines():
        text = (setting.PROGRAMS / "p_inlined_callers.c").read_text().splitlines()
        return {line.strip(): number for number, line in enumerate(text, 1)}

    def check_other_build(self):
        """The same path, and another build id: what it says is not asked."""
        other = setting.build("p_inlined_callers.c", self.name, ("-O2", "-Wl,--build-id=0xabcd"),
                              hooks=False, log=False)
        self.program.unlink()
        shutil.copy(other, self.program)
        plain = {line: re.sub(r"\w+ \(inlined\) > ", "", stack) for line, stack in LINES.items()}
        self.checks.equal(self.stacks(), plain, f"{self.name}: another build")


def main():
    setting.need_syscalls()
    checks = setting.Checks("inlined callers")
    with setting.work_dir() as folder:
        for compiler in ("gcc", "clang"):
            case = Case(checks, folder, compiler)
            case.record("c", 128 + signal.SIGSEGV)
            case.check_log()
            case.check_slow()
            case.check_last()
            case.check_now()
        case.check_other_build()
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
