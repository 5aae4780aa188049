#!/usr/bin/env python3
"""gdb's command `tracetape-context`, on programs that stand still: each open call has the value and
the branch value that the program said there, and its locals; also alone of a thread, of a dump that
gdb wrote, and in words where there is nothing."""
import os
import re
import shutil
import subprocess
import sys

import arena as rt
import cores

SCRIPT = os.path.join(rt.SRC, "tools", "context", "gdb", "tracetape-context.py")
STUB = ("-Wl,--whole-archive", "-ltracetape-blocks", "-Wl,--no-whole-archive")
shop = rt.Workshop()
failures = []


def path_of(name):
    return os.path.join(shop.directory, name)


def fail(what, why):
    failures.append(f"{what}: {why}")


def build(level):
    subprocess.run(["gcc", "-g", level, "-pthread", f"-I{rt.INCLUDE}", "-finstrument-functions",
                    "-fsanitize-coverage=trace-pc", "-o", path_of(f"program{level}"),
                    os.path.join(rt.SUBJECTS, "core.c"), f"-L{rt.BUILD}", *STUB,
                    "-ltracetape-context", f"-Wl,-rpath,{rt.BUILD}"], check=True)
    return path_of(f"program{level}")


def gdb(*arguments):
    """Nothing is fetched, and none of the user's settings count."""
    done = subprocess.run(["gdb", "-nx", "-q", "-batch", "-ex", "set debuginfod enabled off",
                           "-ex", f"source {SCRIPT}", *arguments], capture_output=True, text=True,
                          check=False, timeout=120, stdin=subprocess.DEVNULL)
    return done.stdout + done.stderr


def calls_of(text):
    """{value: (branch value, function, {local: text})}"""
    calls, inside = {}, None
    for line in text.splitlines():
        head = re.match(r"  ([0-9a-f]{16}/\d+)  (?:([0-9a-f]+/\d+\+?)  )?(\S+)", line)
        local = re.match(r"      (\w+) = (.*)", line)
        if head:
            inside = {}
            calls[head[1]] = (head[2], head[3], inside)
        elif local and inside is not None:
            inside[local[1]] = local[2]
    return calls


def check(what, still, text, level):
    calls = calls_of(text)
    for function, value, branch in still.said:
        if value not in calls or calls[value][1] != function:
            fail(what, f"{function} {value} is not in\n{text}")
        elif function == "leaf" and calls[value][0] != branch:
            fail(what, f"branches of leaf are {branch}, not {calls[value][0]}")
    if len(calls) != 10:
        fail(what, f"{len(calls)} calls in\n{text}")
    if level != "-O0":
        return
    found = [inside.get("colour") for _, function, inside in calls.values() if function == "leaf"]
    given = [inside.get("given") for _, function, inside in calls.values() if function == "thread"]
    number = [inside.get("number") for _, function, inside in calls.values() if function == "main"]
    depths = sorted(inside.get("depth") for _, function, inside in calls.values()
                    if function == "recurse")
    if found != ["GREEN", "GREEN"] or given != ["-12345"] or number != ["-12345"] or \
            depths != ["0", "0", "1", "1", "2", "3"]:
        fail(what, f"locals {found} {given} {number} {depths} in\n{text}")


def check_level(level):
    program = build(level)
    still = cores.Still([program])
    still.wait()
    dump = path_of("dump")
    text = gdb("-p", str(still.pid), "-ex", "tracetape-context all", "-ex", f"gcore {dump}")
    if re.search(r"ptrace: |Could not attach", text):
        rt.skip(f"gdb may not attach here: {text[-200:]}")
    check(level, still, text, level)
    check(f"{level}, a dump", still, gdb(program, dump, "-ex", "tracetape-context all"), level)
    one = calls_of(gdb(program, dump, "-ex", "thread 1", "-ex", "tracetape-context"))
    if sorted(int(value.split("/")[1]) for value in one) not in ([1, 2, 3, 4], [1, 2, 3, 4, 5, 6]):
        fail(level, f"one thread: {one}")
    tool = subprocess.run([os.environ["TTAPE_BIN"], "context", "--core", dump],
                          capture_output=True, text=True, check=False, timeout=120)
    check(f"{level}, the dump that gdb wrote", still, tool.stdout, level)
    still.end()


def main():
    if os.environ.get("TTAPE_SANITIZE"):
        rt.skip("a preloaded runtime and a sanitizer's cannot be in one process")
    if not shutil.which("gdb"):
        rt.skip("gdb is missing (scripts/setup installs it)")
    if "3" not in gdb("-ex", "python print(1 + 2)"):
        rt.skip("this gdb has no Python")
    try:
        check_level("-O0")
        check_level("-O2")
    except cores.CannotTrace as why:
        rt.skip(f"programs cannot be looked at here: {why}")
    finally:
        cores.end_all()
    if "no program is there" not in gdb("-ex", "tracetape-context"):
        fail("nothing", "no words")
    shop.close()
    for failure in failures[:20]:
        print(failure)
    print(f"gdb: {'FAILED' if failures else 'ok'}")
    sys.exit(bool(failures))


main()
