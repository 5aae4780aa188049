#!/usr/bin/env python3
"""`record COMMAND` of what has no hooks: its own functions are patched, and that is said in one
line. One program built in six ways gives the same calls; scripts are their interpreters; what the
command executes stays as it is and is counted by name; what cannot be patched says why."""
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import setting
import traces

FLAGS = ("-O2", "-fno-inline", "-fno-optimize-sibling-calls")
HOOKED = {"hooks": ("gcc", ("-finstrument-functions",)),
          "hooks, far away": ("gcc", ("-finstrument-functions", "-mcmodel=large", "-no-pie",
                                      "-fno-pie"))}  # the hooks' addresses are jumps of its own
WAYS = {**HOOKED, "plain": ("gcc", ()),
        "zeros": ("gcc", ("-mcmodel=medium", "-DZEROS=0xa0000000")),  # more than jumps reach
        "-pg": ("gcc", ("-pg",)), "-mfentry": ("gcc", ("-pg", "-mfentry")),
        "-mnop-mcount": ("gcc", ("-pg", "-mfentry", "-mnop-mcount", "-no-pie", "-fno-pie")),
        "-fpatchable-function-entry": ("gcc", ("-fpatchable-function-entry=5",)),
        "XRay": ("clang", ("-fxray-instrument", "-fxray-instruction-threshold=1")),
        "clang": ("clang", ()), "no build id": ("gcc", ("-Wl,--build-id=none",))}


def record(trace, *words, options=()):
    return setting.run([setting.COMMAND, "record", "-f", "-o", trace, *options, "--", *words],
                       timeout=60)


def check_ways(checks, work):
    trace = work / "ways.ttape"
    for way, (compiler, flags) in WAYS.items():
        if shutil.which(compiler) is None:
            print(f"left out: {way}, as {compiler} is not installed")
            continue
        program = setting.build("p_ways.c", compiler, flags=(*FLAGS, *flags), log=False,
                                hooks=False)
        alone = subprocess.run([program], cwd=work, capture_output=True, text=True, check=False)
        done = record(trace, program)
        checks.equal((done.status, done.out.decode()), (4, alone.stdout), f"{way}: status, output")
        checks.equal(done.err.count(b"has no hooks: "), int(way not in HOOKED),
                     f"{way}: {done.err}")
        wanted = {name: int(n) for name, n in re.findall(r"(?m)^(\w+) (\d+)$", alone.stdout)
                  if not name.isdigit()}
        found = {name: n for name, n in traces.call_counts(trace)["enter"].items()
                 if name in wanted}
        checks.equal(found, wanted, f"{way}: calls")
        checks.equal(traces.verify(trace), None, f"{way}: verify")
        done = record(trace, program, options=["--no-patch"])
        checks.equal(done.status, 4, f"{way}: --no-patch; {done.err}")
        checks.equal(b"nothing was recorded" in done.err, way not in HOOKED,
                     f"{way}: --no-patch")


def check_children(checks, work):
    """A script is its interpreter; what it executes is not patched, and counted by name."""
    program = setting.build("p_ways.c", flags=FLAGS, log=False, hooks=False)
    hooked = setting.build("p_ways.c", flags=(*FLAGS, "-finstrument-functions"), log=False,
                           hooks=False)
    script, trace = work / "script", work / "script.ttape"
    script.write_text(f"#!/bin/sh\n{program}\n{hooked} >/dev/null\nexit 6\n", encoding="utf-8")
    script.chmod(0o755)
    done = record(trace, script)
    checks.equal(done.status, 6, f"script: status; {done.err}")
    name = os.path.basename(os.path.realpath("/bin/sh"))
    checks.that(f"'{name}' has no hooks: ".encode() in done.err, done.err)
    checks.that(re.search(rb"not recorded: 1 process: 1 not compiled .*p_ways'", done.err),
                f"script: who is not recorded; {done.err}")
    checks.equal(traces.call_counts(trace)["enter"]["tree"], 21, "script: of what has hooks")
    for words in ("sh", "-S sh -u", "-S -u SOME_NAME SOME=value sh", "-SOTHER=value sh"):
        environment = work / "by_env"
        environment.write_text(f"#!/usr/bin/env {words}\nexit 5\n", encoding="utf-8")
        environment.chmod(0o755)
        done = record(trace, environment)
        checks.equal((done.status, f"'{name}' has no hooks: ".encode() in done.err), (5, True),
                     f"env {words}: {done.err}")


def check_said(checks, work):
    """What stays empty says why."""
    trace = work / "empty.ttape"
    for strip in (False, True):  # what says nothing of frames says why it cannot be patched
        program = work / f"frameless-{strip}"
        subprocess.run(["gcc", "-O1", "-fno-asynchronous-unwind-tables", *(["-s"] if strip else []),
                        setting.PROGRAMS / "p_ways.c", "-o", program], check=True)
        why = b"nothing says where its functions begin and end" if strip else \
            b"call frame information does not say where the return address is"
        for options in ((), ("--patch", "."), ("-q", "--patch", ".")):
            done = record(trace, program, options=options)
            checks.that(why in done.err, f"frameless, {strip}, {options}: {done.err}")
            checks.equal((done.status, b"-finstrument-functions" in done.err), (4, False),
                         f"frameless, {strip}, {options}: {done.err}")
    static = work / "static"
    made = subprocess.run(["gcc", "-static", setting.PROGRAMS / "p_ways.c", "-o", static],
                          capture_output=True, check=False)
    if made.returncode == 0:
        done = record(trace, static)
        checks.that(b"1 linked statically" in done.err, f"static: {done.err}")
        checks.that(b"tracetape syscalls" in done.err, f"static, what to do: {done.err}")
    cache = work / "cache"
    cache.mkdir(mode=0o700)
    for name in ("tracetape", ".cache"):
        cache.joinpath(name).write_text("in the way", encoding="utf-8")
    program = setting.build("p_ways.c", flags=FLAGS, log=False, hooks=False)
    done = setting.run([setting.COMMAND, "record", "-f", "-o", trace, "--", program], timeout=60,
                       env={**os.environ, "XDG_CACHE_HOME": str(cache), "HOME": str(cache),
                            "TMPDIR": str(cache / "none")})
    checks.that(b"made anew each time, in '/tmp/tracetape-plans-" in done.err,
                f"no cache: {done.err}")
    checks.that(b"functions were patched" in done.err, f"no cache: {done.err}")
    done = setting.run([setting.COMMAND, "record", "-f", "-o", trace, "--", program], timeout=60,
                       env={**os.environ, "XDG_CACHE_HOME": "", "HOME": str(cache),
                            "TMPDIR": str(cache)})
    checks.that(b"cannot be patched" not in done.err, f"no home: {done.err}")
    place = cache / f"tracetape-{os.geteuid()}"
    checks.that(place.is_dir() and place.stat().st_mode & 0o777 == 0o700, "no home: whose plans")
    checks.that(any(place.rglob("*.patch")), "no home: plans")


def check_killed(checks, work):
    """What a killed recorder leaves can be recovered, and removed."""
    trace = work / "killed.ttape"
    process = subprocess.Popen([setting.COMMAND, "record", "-q", "-o", trace, "--", "sh", "-c",
                                "echo; read word"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdin.close()
    for name in ("change", "change.refused", "change.7"):  # of a control that nobody answered
        Path(f"{trace}.recording", name).write_text("F!f")
    done = setting.tracetape("recover", "--clean", f"{trace}.recording", "-o", trace)
    checks.that(done.status in (0, 3), f"killed: recover; {done.err}")
    checks.equal(Path(f"{trace}.recording").exists(), False, f"killed: nothing is left; {done.err}")
    checks.equal(traces.verify(trace), None, "killed: verify")


def main():
    setting.need_verb("record")
    setting.go_apart()
    checks = setting.Checks("by itself")
    with setting.work_dir() as folder:
        work = Path(folder)
        os.environ["XDG_CACHE_HOME"] = str(setting.plans(work / "plans"))
        check_ways(checks, work)
        check_children(checks, work)
        check_said(checks, work)
        check_killed(checks, work)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
