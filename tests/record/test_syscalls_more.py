#!/usr/bin/env python3
"""System calls, all engines: a thread that is not the first executes another program; a module in
the path has no unwind entries; a program with hooks has them on the same line of time as its
functions. Exact counts, and what the program prints and how it ends is as without. The long form
runs each of the programs that are easy to break until they are 1,000."""
import json
import os
import subprocess
import sys
from pathlib import Path

import setting
import traces

PLAIN = ("-O1", "-pthread", "-finstrument-functions-exclude-file-list=/")
ENGINES = {"in process": ["--syscalls"], "by ptrace": ["--engine", "ptrace", "--syscalls"],
           "complete": ["--complete", "--syscalls"]}
RUNS = setting.cut(1000, 0)


def asked(trace, *options):
    done = subprocess.run([setting.COMMAND, "syscalls", "--json", *options, trace], check=True,
                          capture_output=True, timeout=60)
    return json.loads(done.stdout)["rows"]


def counts(trace):
    return {row["call"]: row["sum"]["calls"] for row in asked(trace)}


def record(checks, command, trace, options, label):
    """As without a recorder, but for a library's missing names, which is said."""
    alone = subprocess.run(command, capture_output=True, check=False, timeout=60)
    done = setting.tracetape("record", "-q", "-f", "-o", trace, *options, "--", *command)
    said = [line for line in done.err.splitlines() if b"is stripped" not in line]
    checks.equal((done.status, done.out, said), (alone.returncode, alone.stdout, []),
                 f"{label}: status, output, messages")
    checks.equal(traces.verify(trace), None, f"{label}: verify")


def check_exec(checks, program, trace, engine, options):
    label = f"exec by a thread, {engine}"
    record(checks, [program, "thread"], trace, options, label)
    found = counts(trace)
    checks.equal([found.get(name) for name in ("getpriority", "getsid")], [10, 7], label)
    checks.equal(found.get("execve"), {"in process": 1}.get(engine, 2), f"{label}: execve")


def check_blind(checks, program, library, trace, engine, options):
    """The frames inside of the blind module are known, and that there are more."""
    label = f"no unwind entries, {engine}"
    record(checks, [program, "blind", library], trace, [*options, "--stacks"], label)
    checks.equal(counts(trace).get("getsid"), 5, label)
    paths = [row["path"] for row in asked(trace, "--by", "path", "--to", "getsid")
             if row["exclusive"]["calls"]]
    checks.equal(len(paths), 1, f"{label}: paths {paths}")
    checks.that(paths and "ask" in paths[0] and paths[0][-1] == "getsid", f"{label}: {paths}")


def check_untraced(checks, program, trace, engine, options):
    """Children of CLONE_UNTRACED are followed, and see no other registers."""
    label = f"untraced children, {engine}"
    record(checks, [program], trace, options, label)
    checks.equal(counts(trace).get("getppid"), 20, label)


def check_order(checks, program, trace, engine, options):
    """Hooks and calls: what is entered within what, and when."""
    label = f"with hooks, {engine}"
    record(checks, [program], trace, options, label)
    known = {"first", "second", "ask", "getpgid", "getpriority", "getsid"}
    done = setting.tracetape("dump", "--format", "ndjson", trace)
    seen, stack, last = [], [], 0
    for line in done.out.decode().splitlines():
        event = json.loads(line)
        checks.that(event["time_ns"] >= last, f"{label}: time goes back at {event}")
        last = event["time_ns"]
        name = event.get("symbol")
        if event["kind"].endswith("enter") and name in known:
            stack.append(name)
            seen.append("/".join(stack))
        elif event["kind"].endswith("exit") and name in known:
            checks.equal(stack.pop(), name, f"{label}: what exits")
    wanted = ["first", "first/getpgid", "first/second", "first/second/getpriority", "first/ask",
              "first/ask/getsid", "first/ask/getsid"] * 3
    checks.equal(seen, wanted, f"{label}: order")
    found = {tuple(row["path"][-3:]): row["exclusive"]["calls"]
             for row in asked(trace, "--by", "path") if row["path"][-1] in known}
    for path, calls in ((("main", "first", "getpgid"), 3), (("first", "second", "getpriority"), 3),
                        (("first", "ask", "getsid"), 6)):
        checks.equal(found.get(path), calls, f"{label}: path {path} of {found}")


def check_many(checks, work, commands):
    """Status, output and messages over many runs, all engines by turns."""
    trace, alone = work / "many.ttape", {}
    for i in range(RUNS):
        command = commands[i % len(commands)]
        engine, options = list(ENGINES.items())[i // len(commands) % len(ENGINES)]
        if str(command) not in alone:
            done = subprocess.run(command, capture_output=True, check=False, timeout=60)
            alone[str(command)] = (done.returncode, done.stdout, done.stderr)
        more = ["--stacks"] if i % 2 else []
        done = setting.tracetape("record", "-q", "-f", "-o", trace, *options, *more, "--", *command)
        said = b"".join(line for line in done.err.splitlines(True) if b"is stripped" not in line)
        checks.equal((done.status, done.out, said), alone[str(command)],
                     f"run {i}, {engine}: {command}")


def main():
    setting.need_syscalls()
    checks = setting.Checks("syscalls, more")
    with setting.work_dir() as folder:
        work = Path(folder)
        os.environ["XDG_CACHE_HOME"] = str(setting.plans(work / "cache"))
        trace = work / "calls.ttape"
        program = setting.build("p_syscalls_more.c", flags=PLAIN, log=False)
        hooked = setting.build("p_syscalls_more.c", flags=PLAIN[:2], log=False)
        library = setting.build(
            "p_syscalls_more.c", output="blind.so", log=False,
            flags=("-O1", "-fPIC", "-shared", "-DLIBRARY", "-fno-asynchronous-unwind-tables",
                   "-fno-unwind-tables", "-fomit-frame-pointer", "-Wl,--build-id", *PLAIN[2:]))
        for engine, options in ENGINES.items():
            check_exec(checks, program, trace, engine, options)
            check_blind(checks, program, library, trace, engine, options)
            check_untraced(checks, setting.build("p_untraced.c", flags=PLAIN, log=False), trace,
                           engine, options)
            if engine == "in process":
                check_order(checks, hooked, trace, engine, options)
        within = setting.build("p_no_new_code.c", flags=PLAIN, log=False)
        many = setting.build("p_syscalls.c", flags=("-O1", "-fexceptions", "-msse4.1", *PLAIN[2:]),
                             log=False)
        check_many(checks, work, [[many], [program, "thread"], [program, "blind", library],
                                  [within, program], [hooked]])
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
