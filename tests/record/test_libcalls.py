#!/usr/bin/env python3
"""Calls of the executable into libraries: exactly those that it makes, through PLT, GOT and
pointers, with hooks and without; what leaves them in the middle (jumps, exceptions, cancellation),
and processes, do what they do otherwise. The same numbers as ltrace has."""
import collections
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import setting
import traces

FLAGS = ("-O1", "-fno-inline", "-pthread", "-fno-builtin", "-U_FORTIFY_SOURCE")
WAYS = {"PLT": (), "GOT": ("-fno-plt",), "at once": ("-Wl,-z,now",), "no pie": ("-no-pie",)}
# What ltrace does not tell: functions of which processors have several.
SEVERAL = {"_setjmp", "strchrnul"}


def calls_of(trace):
    """Of functions in libraries, by name."""
    done = setting.tracetape("export", "--format", "csv", trace, "-o", "-")
    found = collections.Counter()
    for row in csv.DictReader(io.StringIO(done.out.decode())):
        found[row["symbol"]] += row["kind"] == "enter"
    return found


def make_plans(checks, work, program):
    """Of all its libraries: a program waits two seconds for one, which a busy machine may not keep,
    and what was not patched is not counted."""
    trace = work / "plans.ttape"
    left = None
    for _ in range(5):
        setting.tracetape("record", "-q", "-f", "-o", trace, "--patch", ".", "--module", ".", "--",
                          program)
        left = traces.number(traces.info(trace), "unpatched_modules")
        if left == 0:
            break
    checks.equal(left, 0, f"{program}: modules without a plan")


def check(checks, work, label, program, options):
    trace = work / "calls.ttape"
    alone = subprocess.run([program], capture_output=True, text=True, check=False, timeout=60)
    done = setting.run([setting.COMMAND, "record", "-q", "-f", "-o", trace, *options, "--",
                        program], timeout=60)
    said = b"".join(line for line in done.err.splitlines(True) if b"is stripped" not in line)
    checks.equal((done.status, done.out.decode(), said), (alone.returncode, alone.stdout, b""),
                 f"{label}: status, output, messages")
    checks.equal(traces.verify(trace), None, f"{label}: verify")
    wanted = {name: int(n) for name, n in re.findall(r"(?m)^count (\w+) (\d+)$", alone.stdout)}
    checks.that(len(wanted) > 8, f"{label}: {alone.stdout}")
    found = calls_of(trace)
    checks.equal({name: found[name] for name in wanted}, wanted, f"{label}: calls")
    return found


def check_known(checks, work):
    made = {"compiler": "gcc", "log": False}
    for way, flags in WAYS.items():
        program = setting.build("p_libcalls.cc", flags=(*FLAGS, *flags), hooks=False,
                                libraries=("-ldl",), **made)
        if way == "PLT":
            make_plans(checks, work, program)
        found = check(checks, work, f"{way}, by itself", program, [])
        checks.that(found["in_callbacks()"] == 1, f"{way}: functions of its own, too")
        found = check(checks, work, f"{way}, alone", program,
                      ["--no-patch", "--libcalls"])
        checks.that(found["in_callbacks()"] == 0, f"{way}: nothing else")
    program = setting.build("p_libcalls.cc", flags=(*FLAGS, "-finstrument-functions-exclude-"
                            "file-list=/usr/"), libraries=("-ldl",), **made)
    for options in ([], ["--libcalls"]):
        found = check(checks, work, f"with hooks {options}", program, options)
        checks.that(found["in_callbacks()"] == 1, f"with hooks {options}: its own functions")
    trace = work / "some.ttape"
    for option, calls in (("--no-patch", 0), ("--syscalls", 11)):
        setting.run([setting.COMMAND, "record", "-q", "-f", "-o", trace, option, "--", program],
                    timeout=60)
        found = calls_of(trace)
        checks.equal((found["getenv"], found["in_callbacks()"]), (calls, 1), f"hooks, {option}")
    setting.run([setting.COMMAND, "record", "-q", "-f", "-o", trace, "--libcalls=^(getenv|read)$",
                 "--", program], timeout=60)
    found = calls_of(trace)
    checks.equal((found["getenv"], found["read"], found["qsort"], found["in_callbacks()"]),
                 (11, 5, 0, 1), "chosen ones only")


def check_names(checks, work):
    """Patterns meet the names that people see, and those that linkers do."""
    program = setting.build("p_operators.cc", flags=(*FLAGS, "-falign-functions=16"), hooks=False,
                            log=False)
    trace = work / "operators.ttape"
    for option, wanted in (("--function=^operator new", (50, 0)), ("--libcalls=operator", (50, 50)),
                           ("--libcalls=^_Znwm$", (50, 0)), ("--no-function=^operator", (0, 0)),
                           ("--below=^operator delete", (0, 50))):
        done = setting.run([setting.COMMAND, "record", "-q", "-f", "-o", trace, option, "--",
                            program], timeout=60)
        found = calls_of(trace)
        checks.equal((found["operator new(unsigned long)"] + found["_Znwm"],
                      found["operator delete(void*)"] + found["_ZdlPv"]), wanted,
                     f"{option}; {done.err}")
    for option, wanted in (("--below=^_ZN3own5twiceEi$", 50), ("--function=^_ZN3own5twiceEi$", 50),
                           ("--patch=^_ZN3own5twiceEi$", 50), ("--function=^own::twice", 50),
                           ("--no-function=^_ZN3own5twiceEi$", 0)):
        setting.run([setting.COMMAND, "record", "-q", "-f", "-o", trace, option, "--", program],
                    timeout=60)
        found = calls_of(trace)
        checks.equal(found["own::twice(int)"] + found["_ZN3own5twiceEi"], wanted, option)


def check_ltrace(checks, work, command):
    if shutil.which("ltrace") is None:
        print("left out: ltrace is not installed")
        return
    listing, trace = work / "ltrace.txt", work / "ltrace.ttape"
    done = setting.run(["ltrace", "-c", "-o", listing, *command], timeout=60)
    rows = [line.split() for line in listing.read_text("utf-8", "replace").splitlines()[2:]]
    theirs = {row[-1]: int(row[3]) for row in rows if len(row) == 5 and row[3].isdigit()}
    setting.run([setting.COMMAND, "record", "-q", "-f", "-o", trace, "--libcalls", "--", *command],
                timeout=60)
    ours = calls_of(trace)
    common = {name: n for name, n in theirs.items() if name in ours and name not in SEVERAL}
    if done.status or len(theirs) < 10:
        print(f"left out: ltrace says nothing of {command}")
        return
    checks.that(len(common) > len(theirs) * 3 // 4, f"{command}: {len(common)} of {len(theirs)}")
    wrong = {name: (ours[name], n) for name, n in common.items() if ours[name] != n}
    # Through pointers there are more than ltrace sees; nothing is missing.
    checks.that(all(mine > n for mine, n in wrong.values()) and len(wrong) <= 4,
                f"{command}: other numbers than ltrace's: {wrong}")


def check_api(checks, work):
    """As calls of interest: counted and timed as system calls, with the paths that led there."""
    program = setting.build("p_libcalls.cc", flags=FLAGS, hooks=False, libraries=("-ldl",),
                            log=False)
    done = setting.run([setting.COMMAND, "syscalls", "--api", "^(getenv|pthread_join|qsort)$",
                        "--json", "--by", "path", "--", program], timeout=60)
    checks.equal(done.status, 7, f"--api: status; {done.err[-300:]}")
    rows = json.loads(done.err)["rows"]
    found = {tuple(row["path"][-2:]): row["exclusive"]["calls"] for row in rows
             if row["exclusive"]["calls"]}
    checks.equal(found, {("by_pointers()", "getenv"): 11, ("in_threads()", "pthread_join"): 5,
                         ("in_callbacks()", "qsort"): 3}, "--api: paths")
    done = setting.run([setting.COMMAND, "syscalls", "--api", "^qsort$", "--json", "--calls",
                        "getppid", "--", program], timeout=60)
    rows = {row["call"]: row["sum"]["calls"] for row in json.loads(done.err)["rows"]}
    checks.equal(rows, {"qsort": 3, "getppid": 3}, "--api beside --calls")


def check_values(checks, work):
    """With --args, what it is given and what it returns; a string that points nowhere is a
    number. Without it, nothing of that."""
    program = setting.build("p_library_values.c", flags=FLAGS, hooks=False, log=False)
    trace = work / "values.ttape"
    done = setting.run([setting.COMMAND, "record", "-q", "-f", "-o", trace, "--libcalls", "--args",
                        "--", program], timeout=60)
    checks.equal((done.status, traces.verify(trace)), (0, None), f"values: {done.err}")
    dump = setting.tracetape("dump", trace).out.decode()
    shown = re.findall(r"(?m)^ +[0-9.]+ +\d+ +[\d.]+ \w+ +(\w+\(.*);$", dump)
    checks.that('getenv(name="NO_SUCH_NAME") = 0x0' in shown, "values: names as in the manual")
    shown = [re.sub(r"(?<=[( ])[a-z_]\w*=", "", line) for line in shown]
    wanted = done.out.decode().splitlines()
    checks.that(len(wanted) >= 30, f"values: {len(wanted)} lines")
    pointers = re.compile(r"0x[0-9a-f]{6,}|&[\w.]+(?:\+\d+)?")  # into the program: by name
    shown = [pointers.sub("P", line) for line in shown]
    checks.equal([line for line in wanted if pointers.sub("P", line) not in shown], [], "values")
    checks.that(re.search(r"read\(fd=3, buf=&\w", dump), "values: names of what is pointed to")
    found = setting.tracetape("dump", "--filter", "access(mode & R_OK), kill(sig=SIGCONT)", trace)
    checks.equal(re.findall(r"(?:access|kill)\(\w+=[^,]*, (.*)\)", found.out.decode()),
                 ["mode=R_OK", "sig=SIGCONT"], "values: constants in filters")
    done = setting.tracetape("dump", "--format", "ndjson", "--filter", "lseek", trace)
    checks.equal(json.loads(done.out.splitlines()[0])["value_constants"],
                 [None, None, "SEEK_CUR"], "values: words in JSON")
    setting.run([setting.COMMAND, "record", "-q", "-f", "-o", trace, "--libcalls", "--", program],
                timeout=60)
    checks.that("zero" not in setting.tracetape("dump", trace).out.decode(), "without --args")


def check_system_calls(checks, work):
    """What a library's function, or one of the program's, asks of the kernel is within it."""
    trace = work / "system.ttape"
    for hooks in (True, False):
        program = setting.build("p_library_system.c", flags=FLAGS, hooks=hooks, log=False)
        setting.tracetape("record", "-q", "-f", "-o", trace, "--libcalls",
                          "--syscalls=write,getppid", *(() if hooks else ("--patch", "^say$")),
                          "--", program)
        done = setting.tracetape("export", "--format", "csv", trace, "-o", "-")
        found = [(row["kind"], row["symbol"])
                 for row in csv.DictReader(io.StringIO(done.out.decode()))
                 if row["symbol"] in ("write", "getppid", "ask", "say")]
        call = [("enter", "getppid"), ("exit", "getppid")]
        asked = [("enter", "ask"), *call, ("exit", "ask")] if hooks else call
        wanted = 3 * [("enter", "say"), ("enter", "write"), ("enter", "write"), ("exit", "write"),
                      ("exit", "write"), *asked, ("exit", "say")]
        checks.equal(found, wanted, f"system calls within library calls, hooks: {hooks}")


def check_jumped_into(checks, work):
    """A function that leaves through the middle of one that nobody calls has its end there."""
    made = {"log": False, "hooks": False}
    library = setting.build("p_jumped_into.c", output="jumped.so",
                            flags=("-shared", "-DLIBRARY", "-Wl,--build-id"), **made)
    program = setting.build("p_jumped_into.c", flags=FLAGS,
                            libraries=(library, f"-Wl,-rpath,{library.parent}"), **made)
    trace = work / "jumped.ttape"
    make_plans(checks, work, program)
    done = setting.run([setting.COMMAND, "record", "-q", "-f", "-o", trace, "--libcalls", "--",
                        program], timeout=60)
    checks.equal((done.status, traces.verify(trace)), (0, None), f"jumped into: {done.err}")
    done = setting.tracetape("export", "--format", "csv", trace, "-o", "-")
    found = collections.Counter((row["symbol"], row["kind"])
                                for row in csv.DictReader(io.StringIO(done.out.decode()))
                                if row["symbol"] in ("leaves", "nobody_calls"))
    checks.equal(found, {("leaves", "enter"): 10, ("leaves", "exit"): 10}, "jumped into: ends")


def main():
    setting.need_verb("record")
    checks = setting.Checks("library calls")
    with setting.work_dir() as folder:
        work = Path(folder)
        os.environ["XDG_CACHE_HOME"] = str(setting.plans(work / "cache"))
        check_known(checks, work)
        check_api(checks, work)
        check_values(checks, work)
        check_names(checks, work)
        check_system_calls(checks, work)
        check_jumped_into(checks, work)
        check_ltrace(checks, work, ["ls", "-l", "/usr"])
        check_ltrace(checks, work, ["sort", "--parallel=1", "/etc/passwd"])
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
