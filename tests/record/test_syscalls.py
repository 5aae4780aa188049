#!/usr/bin/env python3
"""System calls of a program that is not rebuilt: exactly those that it makes, in threads, handlers,
children, calls that are left, cancelled or fail; and what it prints is as without a recorder. Run
as root and as an ordinary user."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import setting
import traces

RUNS = setting.cut(100, 2)
FLAGS = ("-O1", "-fexceptions", "-msse4.1", "-finstrument-functions-exclude-file-list=/")


def rows_of(trace):
    done = subprocess.run([setting.COMMAND, "syscalls", "--json", trace], capture_output=True,
                          text=True, check=True, timeout=60)
    return {row["call"]: row["sum"] for row in json.loads(done.stdout)["rows"]}


def check_path(checks, trace, call, calls, functions):
    """All calls of that name are over one path, which has these functions, outermost first."""
    done = subprocess.run([setting.COMMAND, "syscalls", "--json", "--by", "path", "--to", call,
                           trace], capture_output=True, text=True, check=True, timeout=60)
    rows = json.loads(done.stdout)["rows"]
    found = [(row["exclusive"]["calls"], [name for name in row["path"] if name in functions])
             for row in rows if row["exclusive"]["calls"]]
    checks.equal(found, [(calls, functions)], f"path of {call}")


def check_refused(checks, work, environment):
    """Where no memory may become code, all modules stay as they are, and are counted."""
    within = setting.build("p_no_new_code.c", flags=FLAGS, log=False)
    program = setting.build("p_syscalls.c", flags=FLAGS[:-1], log=False)  # functions are recorded
    trace = work / "calls.ttape"
    plain = subprocess.run([within, program], capture_output=True, check=False, timeout=60)
    done = subprocess.run([within, setting.COMMAND, "record", "-q", "-f", "-o", trace, "--syscalls",
                           "--stacks", "--", program], capture_output=True, check=False,
                          env=environment, timeout=60)
    checks.equal((done.returncode, done.stdout, done.stderr),
                 (plain.returncode, plain.stdout, b""), "refused: status, output, messages")
    checks.equal((plain.returncode, traces.verify(trace)), (5, None), "refused: verify")
    checks.that(unseen(trace) >= 3, "refused: all modules are counted")
    checks.equal(set(rows_of(trace)) - {"vfork"}, set(), "refused: no calls are seen")


def check_whole(checks, trace, call):
    """All stacks of that call begin where the program does, and none has frames of the runtime."""
    done = subprocess.run([setting.COMMAND, "syscalls", "--json", "--by", "path", "--to", call,
                           trace], capture_output=True, text=True, check=True, timeout=60)
    paths = [row["path"] for row in json.loads(done.stdout)["rows"] if row["exclusive"]["calls"]]
    checks.that(paths and all("main" in path and "spawn" not in path and
                              path.count("pthread_create") + path.count("posix_spawn") == 1
                              for path in paths), f"stacks of {call}", paths)


def expected(text):
    """Of lines 'expect NAME CALLS [FAILED]'; of one name all added up."""
    wanted = {}
    for name, calls, failed in re.findall(r"(?m)^expect (\w+) (\d+) ?(\d+)?$", text):
        before = wanted.get(name, (0, 0))
        wanted[name] = (before[0] + int(calls), before[1] + int(failed or 0))
    return wanted


def check(checks, work, command, label, options, environment):
    trace = work / "calls.ttape"
    plain = subprocess.run(command, capture_output=True, check=False, timeout=60)
    done = setting.tracetape("record", "-q", "-f", "-o", trace, *options, "--", *command,
                             env=environment)
    said = b"".join(line for line in done.err.splitlines(True) if b"is stripped" not in line)
    checks.equal((done.status, done.out, said), (plain.returncode, plain.stdout, b""),
                 f"{label}: status, output, messages")
    rows = rows_of(trace)
    for name, wanted in expected(plain.stdout.decode()).items():
        row = rows.get(name, {"calls": 0, "errors": 0})
        checks.equal((row["calls"], row["errors"]), wanted, f"{label}: {name}")
    checks.equal(traces.verify(trace), None, f"{label}: verify")
    return rows


def unseen(trace):
    return traces.number(traces.info(trace), "syscalls_unseen_no_plan")


def check_loaded(checks, work, environment):
    """Libraries that come and go while there are threads, in one another's place."""
    program = setting.build("p_syscalls_late.c", flags=FLAGS, log=False)
    trace = work / "calls.ttape"
    shared = (*FLAGS, "-fPIC", "-shared", "-Wl,--build-id")
    paths = [setting.build("p_syscalls_late.c", flags=(*shared, f"-DLIBRARY={name}", *flags),
                           output=f"{name}.so", log=False)
             for name, flags in (("a", ()), ("b", ()), ("c", ("-Wl,-z,norelro",)))]
    command = [program, paths[0].parent, "4", "./a.so", paths[1]]
    check(checks, work, command, "loaded by threads", ["--syscalls", "--stacks"], environment)
    command[2] = "1"
    check(checks, work, command, "loaded", ["--syscalls", "--stacks"], environment)
    checks.equal(unseen(trace), 0, "loaded: none that is not seen")
    done = subprocess.run([setting.COMMAND, "syscalls", "--json", "--by", "path", "--to", "getgid",
                           trace], capture_output=True, text=True, check=True, timeout=60)
    found = sorted((row["path"][-2:], row["exclusive"]["calls"])
                   for row in json.loads(done.stdout)["rows"] if row["exclusive"]["calls"])
    checks.equal(found, [(["a", "getgid"], 60), (["b", "getgid"], 60)], "loaded: paths")
    setting.tracetape("record", "-q", "-f", "-o", trace, "--syscalls", "--", program, "/", "1",
                      paths[2], env=environment)
    checks.equal(unseen(trace), 12, "loaded: not noticed, and counted")


def main():
    setting.need_syscalls()
    checks = setting.Checks("syscalls")
    with setting.work_dir() as folder:
        work = Path(folder)
        environment = {**os.environ, "XDG_CACHE_HOME": str(setting.plans(work / "cache"))}
        program = setting.build("p_syscalls.c", "gcc", flags=FLAGS, log=False)
        for _ in range(RUNS):
            check(checks, work, [program], "all", ["--syscalls"], environment)
        check(checks, work, [program], "by ptrace", ["--engine", "ptrace", "--syscalls"],
              environment)
        check(checks, work, [program], "complete", ["--complete", "--syscalls"], environment)
        check(checks, work, [program], "with stacks", ["--syscalls", "--stacks"], environment)
        trace = work / "calls.ttape"
        check_path(checks, trace, "getpgid", 1800, ["ask"])
        check_whole(checks, trace, "clone3")
        check_path(checks, trace, "umask", 20, ["be_cancelled", "clean"])
        check_path(checks, trace, "vfork", 5, ["main", "in_processes"])
        check_path(checks, trace, "getpriority", 15, ["main", "in_processes"])
        done = subprocess.run([setting.COMMAND, "syscalls", "--by", "path", "--to", "getsid",
                               "--no-pager", trace], capture_output=True, text=True, check=True,
                              timeout=60)
        for within in ("raise.* > on_signal", "read_one.* > on_late"):
            checks.that(re.search(f"main > in_handlers > {within}.* > getsid", done.stdout),
                        f"a handler within {within}", done.stdout)
        check_loaded(checks, work, environment)
        check_refused(checks, work, environment)
        trace = work / "some.ttape"
        setting.tracetape("record", "-q", "-f", "-o", trace, "--syscalls=getpgid,/^sched_[gs]/",
                          "--", program, env=environment)
        checks.equal(sorted(rows_of(trace)), ["getpgid", "sched_getscheduler", "sched_setaffinity"],
                     "chosen ones only")
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
