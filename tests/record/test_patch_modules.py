#!/usr/bin/env python3
"""Which modules' functions are patched: the executable's, or those that --module names, libraries
that are loaded and unloaded while other threads run included, from their constructors to their
destructors; nothing stays behind when they are gone. Run as root and as an ordinary user."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import setting
import traces

ROUNDS = setting.cut(200, 60)
SHARED = ("-O1", "-fPIC", "-shared", "-Wl,--build-id")
MAPPED = re.compile(rb"more is mapped.*")  # plans of system calls stay
CHOSEN = "^(main|use|be_busy|count_mappings|(first|second|third)_(goes|leaf|begins|ends))$"


def build():
    """The program and the libraries that it loads."""
    made = {"log": False, "hooks": False}
    first, second, third = (
        setting.build("p_patch_modules.c", flags=(*SHARED, f"-DLIBRARY={name}"),
                      output=f"{name}.so", **made) for name in ("first", "second", "third"))
    program = setting.build("p_patch_modules.c", flags=("-O1",),
                            libraries=(first, f"-Wl,-rpath,{first.parent}"), **made)
    return program, second, third


class Run:
    def __init__(self, checks, work):
        self.checks, self.work = checks, work
        self.trace = work / "modules.ttape"
        (work / "cache").mkdir(mode=0o700)
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(work / "cache")}
        program, *libraries = build()
        for path in libraries:
            (work / path.name).symlink_to(path)
        self.command = [program, work, str(ROUNDS)]
        plain = subprocess.run(self.command, capture_output=True, check=True, timeout=60)
        self.out = plain.stdout
        checks.that(b"failed 0, more is mapped: 0\n" in self.out, "the program itself", self.out)
        self.expected = {line.split()[1]: int(line.split()[2])
                         for line in self.out.decode().splitlines() if line.startswith("expect")}

    def record(self, *options):
        """Once more where a busy machine did not make a plan within the two seconds that a program
        waits for it."""
        for _ in range(5):
            done = setting.tracetape("record", "-f", "-o", self.trace, *options, "--",
                                     *self.command, env=self.environment)
            if traces.number(traces.info(self.trace), "unpatched_modules") == 0:
                break
        return done

    def calls(self, *options):
        done = self.record("-q", "--patch", CHOSEN, *options)
        out = MAPPED.sub(b"", done.out) if "--syscalls=mmap" in options else done.out
        wanted = self.out if out == done.out else MAPPED.sub(b"", self.out)
        self.checks.equal((done.status, out, done.err), (0, wanted, b""), options)
        self.checks.equal(traces.verify(self.trace), None, f"{options}: verify")
        return dict(traces.call_counts(self.trace)["enter"])

    def check(self, wanted, *options):
        """Calls of functions whose name begins with one of those are there, as often as they were
        made, and no others."""
        calls = self.calls(*options)
        found = {name: count for name, count in calls.items() if name in self.expected}
        self.checks.equal(found, {name: count for name, count in self.expected.items()
                                  if name.startswith(wanted)}, f"calls with {options}")
        return calls


def check_system(run):
    """Of the C library also what is little more than a system call."""
    run.record("-q", "--patch", "^(__)?(write|getppid)$", "--module", "/libc[.]so")
    calls = traces.call_counts(run.trace)["enter"]
    found = {name: calls[name] + calls[f"__{name}"] for name in ("write", "getppid")}
    run.checks.equal(found, {"write": 1, "getppid": 1}, "calls of the C library")


def check_words(run):
    """How many functions of which modules, in the closing line and in `info`."""
    done = run.record("--patch", CHOSEN, "--module",
                      "/(first|second|third|p_patch_modules)[.so]*$")
    rounds = {name: 4 * ((ROUNDS + 1 - i) // 2) for i, name in enumerate(("second", "third"))}
    listed = f"second.so {rounds['second']}, third.so {rounds['third']}, first.so 4"
    said = f"{sum(rounds.values()) + 8} functions of 4 modules were patched: {listed} and 1 more\n"
    run.checks.that(said in done.err.decode(), "what is said", done.err)
    kept = [item["value"] for item in traces.info(run.trace)["metadata"]
            if item["key"] == "patched_modules"]
    run.checks.equal(kept, [f"{listed}, p_patch_modules 4"], "what info has")


def check_plan(run):
    """The modules that the program starts with, of those that are chosen."""
    options = ["--patch", CHOSEN, "--plan", "--module", "/(first.so|third.so|p_patch_modules)$"]
    text, data = (setting.tracetape("record", *options, *more, "--", *run.command,
                                    env=run.environment) for more in ([], ["--json"]))
    listed = [line.split(":")[0].rsplit("/", 1)[1] for line in text.out.decode().splitlines()
              if "functions can be patched" in line]
    run.checks.equal((text.status, listed), (0, ["p_patch_modules", "first.so"]), "plan")
    found = [(Path(module["module"]).name, module["chosen_functions"])
             for module in json.loads(data.out)["modules"]]
    run.checks.equal(found, [("p_patch_modules", 4), ("first.so", 4)], "plan as JSON")
    done = setting.tracetape("record", "--patch", ".", "--plan", "--module", "^none$", "--",
                             *run.command, env=run.environment)
    run.checks.equal((done.status, done.out), (4, b""), "no module")


def check_notes(run):
    """What is patched leaves room for what is told of programs, however much of it there is."""
    made = {"log": False, "hooks": False}
    library = setting.build("p_notes.c", flags=(*SHARED, "-DLIBRARY"), output="notes.so", **made)
    command = [setting.build("p_notes.c", flags=("-O1",), **made), library]
    for _ in range(5):  # a busy machine may not make a plan in time
        done = setting.tracetape("record", "-q", "-f", "-o", run.trace, "--patch",
                                 "^(load|answers)$", "--module", "/(notes.so|p_notes)$", "--",
                                 *command, env=run.environment)
        if traces.number(traces.info(run.trace), "unpatched_modules") == 0:
            break
    run.checks.equal((done.status, done.out), (0, b"12600 0\n"), "notes: status, output")
    info = traces.info(run.trace)
    run.checks.equal((sum(info["unrecorded"].values()), traces.number(info, "patched_functions")),
                     (1, 301), f"notes: programs, functions; {info['unrecorded']}")


def check_late(run):
    """What the loader does not tell of is named, and runs as it is."""
    made = {"log": False, "hooks": False}
    program = setting.build("p_loads_late.c", flags=("-O1",), **made)
    for name, flag in (("told.so", "-Wl,-z,relro"), ("untold.so", "-Wl,-z,norelro")):
        library = setting.build("p_loads_late.c", flags=(*SHARED, "-DLIBRARY", flag), output=name,
                                **made)
        for way in ("dlopen", "dlmopen"):
            for _ in range(5):  # a busy machine may not make a plan in time
                done = setting.tracetape("record", "-f", "-o", run.trace, "--patch", "^answers$",
                                         "--module", "told.so$", "--", program, way, library,
                                         env=run.environment)
                is_told = name == "told.so" and way == "dlopen"
                calls = traces.call_counts(run.trace)["enter"]["answers"] if is_told else 0
                if calls == 5 * is_told:
                    break
            run.checks.equal((done.status in (0, 4), done.out, calls),
                             (True, b"210\n", 5 * is_told),
                             f"{name} by {way}: status, output, calls; {done.err}")
            named = f"not patched: '{library}'" in done.err.decode()
            run.checks.equal(named, not is_told and name_is_known(name, way),
                             f"{name} by {way}: {done.err}")


def name_is_known(name, way):
    """Of a namespace, and without RELRO, nothing tells at all."""
    return (name, way) != ("untold.so", "dlmopen")


def check_passing(run):
    """A choice that leaves functions for want of a name is not kept: a debug file may come."""
    program = run.work / "stripped"
    subprocess.run(["strip", "-o", program, run.command[0]], check=True)
    kept = []
    for pattern in ("^no_such_function$", "."):
        cache = run.work / f"cache-{len(kept)}"
        cache.mkdir(mode=0o700)
        setting.tracetape("record", "-q", "-f", "-o", run.trace, "--patch", pattern, "--", program,
                          *run.command[1:], env={**os.environ, "XDG_CACHE_HOME": str(cache)})
        kept.append(sum(path.suffix == ".chosen" for path in cache.rglob("*")))
    run.checks.equal(kept, [0, 1], "choices that are kept")


def main():
    setting.need_verb("record", "report")
    checks = setting.Checks("patched modules")
    with setting.work_dir() as folder:
        run = Run(checks, Path(folder))
        calls = run.check(("use",))
        checks.that("main" in calls and "be_busy" in calls, "the executable's", calls)
        calls = run.check(("first",), "--module", "/first.so$")
        checks.equal(calls["first_leaf"], run.expected["first_goes"] + 2, "a library's calls")
        checks.that("main" not in calls, "not the executable's", calls)
        run.check(("second",), "--module", "second")
        run.check(("third",), "--module", "(second|third)[.]so$", "--no-module", "second")
        run.check(("use", "first", "second", "third"), "--module", ".")
        run.check(("first", "second", "third"), "--module", ".", "--syscalls=mmap",
                  "--no-module", "/p_patch_modules$")
        check_system(run)
        check_words(run)
        check_plan(run)
        check_passing(run)
        check_notes(run)
        check_late(run)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
