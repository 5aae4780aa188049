#!/usr/bin/env python3
"""What was in no trace, and nothing said so: library functions that the runtime stands in front of
or that no window can see, libraries that are built with -pg or pads, system calls without names;
and options that took functions away. Where nothing is recorded the reason is true, and the status
the command's."""
import os
import re
import subprocess
import sys
from pathlib import Path

import setting
import traces

PLAIN = ("-O1", "-fno-builtin")
SHARED = ("-shared", "-fPIC", "-DLIBRARY")
FLAGS = ("-O1", "-fno-inline", "-pthread", "-fno-builtin", "-U_FORTIFY_SOURCE")
WAYS = {"PLT": (), "at once": ("-Wl,-z,relro,-z,now",), "no pie": ("-no-pie",)}
NUMBERS = ("999", "-1", "0x40000027", "4095", "4096", "65535", "1000000")


def record(checks, label, trace, program, *options, status=None):
    alone = subprocess.run([program], capture_output=True, text=True, check=False, timeout=60)
    done = setting.run([setting.COMMAND, "record", "-f", "-o", trace, *options, "--", program],
                       timeout=60)
    checks.equal((done.status, done.out.decode()),
                 (alone.returncode if status is None else status, alone.stdout),
                 f"{label}: status, output; {done.err}")
    return done, alone.stdout


def calls_of(checks, label, trace):
    checks.equal(traces.verify(trace), None, f"{label}: verify")
    return traces.call_counts(trace)["enter"]


def names_left(trace):
    """Functions that are called in libraries, and that info says cannot be patched."""
    told = setting.tracetape("info", trace).out.decode()
    return re.findall(r"\w+", " ".join(re.findall(r"of those that it calls \((.*?)\)", told)))


def check_fronts(checks, trace):
    """In each way to link, and to ask: the same calls, each under its own name."""
    for way, flags in WAYS.items():
        program = setting.build("p_fronted.c", flags=(*FLAGS, *flags), hooks=False, log=False)
        for options in [(), ("--nest-libcalls",)] if way == "PLT" else [()]:
            label = f"{way}, {options}"
            _, out = record(checks, label, trace, program, *options)
            wanted = {name: int(n) for name, n in re.findall(r"(?m)^count (\w+) (\d+)$", out)}
            found = calls_of(checks, label, trace)
            left = [name for name in names_left(trace) if found[name]]
            checks.equal(left, [], f"{label}: said to be missing, and there")
            checks.equal({name: found[name] for name in wanted}, wanted, f"{label}: calls")
            checks.equal(found["jump"], 4, f"{label}: functions of its own")
    hooked = setting.build("p_fronted.c", flags=FLAGS, log=False)
    _, out = record(checks, "hooks", trace, hooked, "--libcalls", "--no-children")
    found = calls_of(checks, "hooks", trace)
    checks.equal({name: found[name] for name in wanted}, wanted, "hooks: calls")
    program = setting.build("p_fronted.c", flags=FLAGS, hooks=False, log=False)
    record(checks, "one", trace, program, "--no-patch", "--no-children",
           "--libcalls=^memcpy$")
    checks.equal(dict(calls_of(checks, "one", trace)), {"memcpy": 50}, "one name only")
    without_plt = setting.build("p_fronted.c", flags=(*FLAGS, "-fno-plt"), hooks=False, log=False)
    done, _ = record(checks, "no PLT", trace, without_plt)
    said = b"those of libraries that it calls, but for 1 (which not: tracetape info)\n"
    checks.that(said in done.err and len(done.said()) <= 4 and
                "memcpy" in names_left(trace), f"no PLT, by name: {done.err}")


def check_system_call(checks, trace):
    """mlockall makes its call itself."""
    program = setting.build("p_fronted.c", flags=FLAGS, hooks=False, log=False)
    record(checks, "mlockall", trace, program, "--syscalls=mlockall,vfork")
    found = calls_of(checks, "mlockall", trace)
    checks.equal((found["mlockall"], found["vfork"]), (2, 2), "functions, and their system calls")


def check_options(checks, work, trace):
    """None of them takes functions away; of modules that --module leaves there are the calls."""
    library = setting.build("p_built_library.c", output="libplain_one.so", hooks=False, log=False,
                            flags=(*PLAIN, *SHARED, "-Wl,-soname,libplain_one.so"))
    program = setting.build("p_built_library.c", hooks=False, log=False, flags=PLAIN,
                            libraries=(library,))
    os.environ["LD_LIBRARY_PATH"] = str(library.parent)
    own, library_calls = {"main": 1, "own": 5}, {"of_library": 5}
    for options, wanted in (((), {**own, **library_calls}),
                            (("--libcalls",), {**own, **library_calls}),
                            (("--nest-libcalls",), {**own, **library_calls, "abs": 5}),
                            (("--libcalls=^none$",), own),
                            (("--syscalls=getppid",), {**own, **library_calls}),
                            (("--no-patch", "--libcalls"), library_calls),
                            (("--patch", ".", "--module", f"{program.name}$", "--libcalls"),
                             {**own, **library_calls}),
                            (("--patch", ".", "--module", "/libplain_one", "--nest-libcalls"),
                             {**library_calls, "within": 5, "abs": 5})):
        record(checks, options, trace, program, *options)
        found = calls_of(checks, options, trace)
        names = ("main", "own", "of_library", "abs", "within")
        checks.equal({name: found[name] for name in names if found[name]}, wanted, f"{options}")
    done = setting.run([setting.COMMAND, "syscalls", "-o", work / "calls.ttape", "--", program])
    checks.equal(done.status, 3, f"syscalls: {done.err}")
    checks.that("own" not in calls_of(checks, "syscalls", work / "calls.ttape"),
                "the verb syscalls: no functions")


def check_libraries(checks, trace):
    """Built to be traced, they are recorded as those with hooks are."""
    for flags in (("-pg",), ("-pg", "-mfentry"), ("-fpatchable-function-entry=5",),
                  ("-finstrument-functions",)):
        library = setting.build("p_built_library.c", output="libbuilt.so", hooks=False, log=False,
                                flags=(*PLAIN, *SHARED, "-Wl,-soname,libbuilt.so", *flags))
        program = setting.build("p_built_library.c", hooks=False, log=False, flags=PLAIN,
                                libraries=(library,))
        os.environ["LD_LIBRARY_PATH"] = str(library.parent)
        record(checks, flags, trace, program)
        found = calls_of(checks, flags, trace)
        checks.equal({name: found[name] for name in ("main", "own", "of_library", "within")},
                     {"main": 1, "own": 5, "of_library": 5, "within": 5}, f"{flags}")


def check_numbers(checks, trace):
    program = setting.build("p_odd_calls.c", flags=PLAIN, hooks=False, log=False)
    wanted = {f"syscall_{int(number, 0) & 0xffffffff:#x}": 3 for number in NUMBERS}
    for options in (("--engine", "in-process"), ("--complete",), ("--engine", "ptrace"),
                    ("--complete", "--stacks")):
        for choice in ("--syscalls", "--syscalls=!getppid", "--syscalls=/^syscall_/"):
            label = f"{options} {choice}"
            record(checks, label, trace, program, "-q", choice, *options)
            found = calls_of(checks, label, trace)
            checks.equal({name: n for name, n in found.items() if name.startswith("syscall_")},
                         wanted, label)


def check_nothing(checks, work, trace):
    """The command's own status, where that is not 0, and why."""
    source = work / "empty.s"
    source.write_text(".globl main\n.type main,@function\nmain:\n.cfi_startproc\nmov $N,%al\nret\n"
                      ".cfi_endproc\n.size main,.-main\n.section .note.GNU-stack\n")
    for number in (0, 6):
        program = work / f"short{number}"
        source.write_text(re.sub(r"\$\w+", f"${number}", source.read_text()))
        setting.call(["gcc", "-o", program, source])
        done = setting.run([setting.COMMAND, "record", "-f", "-o", trace, "--", program])
        checks.equal(done.status, number or 4, f"too short: {done.err}")
        checks.that(b"none of its functions could be patched: the next function is too near"
                    in done.err and b"--patch" not in done.err, f"too short: {done.err}")
    library = setting.build("p_built_library.c", output="libgone.so", hooks=False, log=False,
                            flags=(*PLAIN, *SHARED, "-Wl,-soname,no.so"))
    program = setting.build("p_built_library.c", hooks=False, log=False, flags=PLAIN,
                            libraries=(library,))
    for options in ((), ("--patch", "."), ("--libcalls",), ("--no-patch",)):
        done = setting.run([setting.COMMAND, "record", "-f", "-o", trace, *options, "--", program])
        said = done.said()
        checks.equal((done.status, len(said)), (127, 1), f"not started: {done.err}")
        checks.that("that the loader did not start" in said[0], f"not started: {said}")


def main():
    setting.need_verb("record")
    checks = setting.Checks("absent")
    with setting.work_dir() as folder:
        work = Path(folder)
        trace = work / "run.ttape"
        os.environ["XDG_CACHE_HOME"] = str(setting.plans(work / "cache"))
        check_fronts(checks, trace)
        check_system_call(checks, trace)
        check_options(checks, work, trace)
        check_libraries(checks, trace)
        check_numbers(checks, trace)
        check_nothing(checks, work, trace)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
