#!/usr/bin/env python3
"""Context values beside recording and alone: each decodes to the stack that the program's source
says, behind jumps and exceptions, in coroutines, threads, children, handlers and plugins, and at
each instruction of a hook; the same in every run and both ways, unless addresses were asked for
(W40)."""
import os
import resource
import shutil
import subprocess
import sys

import arena as rt
import contexts

# A hook that records has to begin again when it was stepped through: a thousand instructions.
STRIDE = "1" if os.environ.get("TTAPE_THOROUGH") == "1" else "17"
OPERATIONS = ("affine", "xor", "add", "multiply")
shop = rt.Workshop()
failures = []


def note(what, problem):
    failures.append(f"{what}: {problem}")


def build(name, source, *flags, compiler="gcc", library="-ltracetape-context"):
    target = os.path.join(shop.directory, name)
    subprocess.run([compiler, "-O1", "-g", f"-I{rt.INCLUDE}", *flags, "-o", target,
                    os.path.join(rt.SUBJECTS, source), f"-L{rt.BUILD}", library,
                    f"-Wl,-rpath,{rt.BUILD}"], check=True)
    return target


def alone(what, command, extra):
    done = subprocess.run(command, env=dict(os.environ, **extra), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=120)
    return done.returncode, done.stdout


def beside(what, command, extra):
    place = rt.Arena()
    try:
        return place.run(command, extra=extra), place.output
    finally:
        place.close()


def run(what, command, dictionary, way=alone):
    """The lines that the program said, each (value, stack)."""
    status, output = way(what, command, {"TRACETAPE_CONTEXT": dictionary} if dictionary else {})
    if status:
        note(what, f"exit {status}: {output[-300:]}")
    return [line.split(" ", 1) for line in output.decode().splitlines()]


def fresh(name):
    path = os.path.join(shop.directory, f"{name}.ctx")
    if os.path.exists(path):
        os.unlink(path)
    return path


def compare(what, lines, dictionary, several=False):
    """With collisions, the right stack is one of those."""
    words = contexts.Dictionary(dictionary)
    for problem in list(words.problems())[:3]:
        note(what, problem)
    if words.lost or words.modules_lost or words.broken:
        note(what, f"{words.lost} contexts, {words.modules_lost} modules lost, "
                   f"{words.broken} broken")
    for value, stack in {tuple(line) for line in lines}:
        found = words.stacks(value)
        if stack not in found or (len(found) > 1 and not several):
            note(what, f"'{value}' is of {stack}, decoded as {sorted(found)}")
    return words


def check_programs(plugins):
    """Twice alone and once recorded: the same values."""
    for compiler in [c for c in ("gcc", "clang") if shutil.which(c)]:
        exe = build(f"context-{compiler}", "context.c", "-finstrument-functions", "-pthread",
                    compiler=compiler)
        path, before = fresh("programs"), None
        for way in (alone, alone, beside):
            what = f"{compiler}, {way.__name__}"
            lines = run(what, [exe, *plugins], path, way)
            stacks = {stack for _, stack in lines}
            if len(stacks) < 18 or len(lines) < 800:
                note(what, f"{len(lines)} lines of {len(stacks)} stacks")
            compare(what, lines, path)
            if before not in (None, set(map(tuple, lines))):
                note(what, "other values than before")
            before = set(map(tuple, lines))
    return exe


def check_static():
    """Nobody hears of jumps there."""
    exe = build("static", "context.c", "-finstrument-functions", "-pthread",
                library="-l:libtracetape-context.a")
    path = fresh("static")
    lines = [(value, stack) for value, stack in run("static", [exe], path)
             if "jump" not in stack and stack != "main"]
    if len(lines) < 800:
        note("static", f"{len(lines)} lines")
    compare("static", lines, path)


def check_exceptions():
    for compiler in [c for c in ("g++", "clang++") if shutil.which(c)]:
        exe = build(f"throw-{compiler}", "context_throw.cpp", "-finstrument-functions",
                    compiler=compiler)
        for way in (alone, beside):
            path = fresh("throw")
            compare(compiler, run(compiler, [exe], path, way), path)


def check_steps():
    exe = build("step", "context_step.c", "-finstrument-functions")
    allowed = {f"main>steps{inner}>handler" for inner in ("", ">target")}
    for arguments, way in (([*w[:1], *a], w[1]) for a in ([], ["alternate"])
                           for w in (("1", alone), (STRIDE, beside))):
        what, path = " ".join(["steps", *arguments, way.__name__]), fresh("step")
        lines, seen = run(what, [exe, *arguments], path, way), set()
        words = contexts.Dictionary(path)
        for value, flags in lines:
            found = words.stacks(value)
            if flags != "0" or len(found) != 1 or not found <= allowed:
                note(what, f"'{value}', flags {flags}: {sorted(found)}")
            seen |= found
        if seen != allowed or len(lines) < 60:
            note(what, f"{len(lines)} times {sorted(seen)} were seen")


def check_options():
    """What the program itself asks for: operations, ids, size."""
    main = build("options", "context_options.c", "-finstrument-functions")
    for number, operation in enumerate(OPERATIONS):
        for ids in (contexts.STABLE, contexts.ADDRESS):
            what, path = f"{operation}, ids {ids}", fresh("options")
            lines = run(what, [main, path, str(number), str(ids), "0"], None)
            words = compare(what, lines, path, several=operation == "xor")
            if (words.operation, words.ids) != (number, ids):
                note(what, f"says that it is {words.operation}, {words.ids}")
    other = run("other operation", [main, path, "0", "0", "0"], None)
    if not any("of another operation" in " ".join(line) for line in other):
        note("other operation", f"says {other[:2]}")


def check_full():
    main, path = build("full", "context_options.c", "-finstrument-functions"), fresh("full")
    run("full", [main, path, "0", "0", "3000"], None)
    words = contexts.Dictionary(path)
    if words.count != 1024 or not 900 < len(words.entries) <= 1024 or words.lost < 1900:
        note("full", f"{len(words.entries)} of {words.count} entries, {words.lost} lost")
    for problem in words.problems():
        note("full", problem)


def check_refusals(exe):
    """The program goes on, without a dictionary, and says so in one line."""
    bad = fresh("bad")
    with open(bad, "wb") as file:
        file.write(b"something else\n" * 400)
    link = fresh("link")
    os.symlink(bad, link)
    good = open(bad, "rb").read()
    for path in (bad, link, os.path.join(shop.directory, "no", "such"), shop.directory):
        lines = run("refusals", [exe], path)
        told = [" ".join(line) for line in lines if line[0] == "tracetape:"]
        if len(told) != 1 or path not in told[0] or len(lines) < 60:
            note("refusals", f"'{path}': {told}")
    if open(bad, "rb").read() != good:
        note("refusals", "a file that is not ours was changed")
    small = (resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    before = resource.getrlimit(small[0])
    resource.setrlimit(small[0], (small[1][0], before[1]))
    try:
        path = fresh("limited")
        told = subprocess.run([exe], env=dict(os.environ, TRACETAPE_CONTEXT=path), timeout=60,
                              capture_output=True, text=True)
    finally:
        resource.setrlimit(small[0], before)
    if told.returncode != 0 or told.stderr.count("\n") != 1 or os.path.exists(path):
        note("a limit", f"exit {told.returncode}, {told.stderr!r}")


def check_at_once():
    """Threads that ask for the first time at once have the value that each has alone."""
    exe = build("at_once", "context_at_once.c", "-finstrument-functions", "-pthread",
                "-Wl,--build-id")
    dictionary = fresh("at_once")
    for path in [None, dictionary] * 20:
        texts = {tuple(line) for line in run("at once", [exe], path)}
        if len(texts) != 1:
            note("at once", f"with {path}: {sorted(texts)}")
    found = contexts.Dictionary(dictionary)
    values = {entry[0] for entry in found.entries.values()}
    problems = list(found.problems())
    if len(values) != 1 or problems:
        note("at once", f"the dictionary has {values}: {problems}")


def check_unknown():
    """Where nothing knows of calls, it says so: of the recording runtime, while none is there."""
    exe = build("unknown", "context.c", "-finstrument-functions", "-pthread",
                library="-ltracetape-rt")
    values = {value for value, _ in run("unknown", [exe], None)}
    if values != {"-", f"{0:016x}/0"}:
        note("nothing records", f"{values}")


def main():
    if os.environ.get("TTAPE_SANITIZE"):
        rt.skip("a preloaded runtime and a sanitizer's cannot be in one process")
    plugins = [build(f"{name}.so", "context_plugin.c", "-finstrument-functions", "-shared", "-fPIC",
                     f"-DNAME={name}") for name in ("one", "other")]
    exe = check_programs(plugins)
    check_exceptions()
    check_steps()
    check_options()
    check_full()
    check_refusals(exe)
    check_static()
    check_unknown()
    check_at_once()
    shop.close()
    for failure in failures[:40]:
        print(failure)
    print(f"context: {'FAILED' if failures else 'ok'}")
    sys.exit(bool(failures))


main()
