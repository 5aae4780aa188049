#!/usr/bin/env python3
"""Processes that were started and recorded nothing are counted by reason: at the end of record, in
the metadata, in info. Run as root and as an ordinary user."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import libcs
import setting
import traces

PLAIN = "int main(void) { return 0; }\n"
WAYS = ("execve", "execv", "execvp", "execvpe", "execl", "execle", "execlp", "fexecve", "spawn",
        "spawnp", "vfork")


def compile_plain(work, name, *flags):
    source, program = work / "plain.c", work / name
    source.write_text(PLAIN, encoding="ascii")
    done = subprocess.run(["gcc", "-O1", "-o", program, source, *flags], check=False,
                          capture_output=True, timeout=60)
    return program if done.returncode == 0 else None


def compile_lacking(work):
    """A program for a sanitizer's library that is not there: the loader ends it."""
    library = work / "libasan.so.99"
    made = subprocess.run(["gcc", "-shared", "-o", library, "-Wl,-soname,libasan.so.99", "-x", "c",
                           "/dev/null"], check=False, capture_output=True, timeout=60)
    program = compile_plain(work, "lacking", "-finstrument-functions", "-Wl,--no-as-needed",
                            library) if made.returncode == 0 else None
    library.unlink(missing_ok=True)
    return program


def compile_absent(work):
    """A program for a library that is not there: the loader ends it."""
    library = work / "libabsent.so"
    setting.call(["gcc", "-shared", "-o", library, "-x", "c", "/dev/null"])
    program = compile_plain(work, "absent", "-Wl,--no-as-needed", library)
    library.unlink()
    return program


def record(work, *words, options=()):
    trace = work / "run.ttape"
    trace.unlink(missing_ok=True)
    done = setting.run([setting.COMMAND, "record", "--no-patch", "-f", "-o", trace, *options,
                        "--", *words], env=setting.environment(PATH=os.environ["PATH"]))
    return trace, done


def unrecorded(trace):
    return traces.info(trace)["unrecorded"]


def check(checks, label, work, words, wanted, options=()):
    """Wanted: the counts by reason, in each place that tells of them."""
    trace, done = record(work, *words, options=options)
    if not trace.exists():  # nothing at all: no file
        number = rf"nothing was recorded, .* not written: {sum(wanted.values())} process(es)?: "
        checks.that(re.search(number, done.err.decode()) is not None, f"{label}: their number",
                    done.err)
        return trace, done
    checks.equal(unrecorded(trace), wanted, f"{label}: counts; {done.err}")
    told = {item["key"]: item["value"] for item in traces.info(trace)["metadata"]
            if item["key"].startswith("unrecorded_")}
    checks.equal(told, {f"unrecorded_{k}": n for k, n in wanted.items()}, f"{label}: metadata")
    said = [line for line in done.said() if re.search("not recorded: ", line)]
    checks.equal(len(said), int(bool(wanted)), f"{label}: lines that record says; {done.err}")
    if wanted and said:
        total = sum(wanted.values())
        number = rf"not recorded: {total} process(es)?: "
        checks.that(re.search(number, said[0]) is not None,
                    f"{label}: their number", said[0])
    text = setting.tracetape("info", trace).out.decode()
    checks.that(text.count("unrecorded  ") == bool(wanted), f"{label}: lines of info", text)
    return trace, done


def reasons(checks, work, executes, works):
    plain, static = compile_plain(work, "plain"), compile_plain(work, "static", "-static")
    check(checks, "all is recorded", work, [works], {})
    _, done = check(checks, "plain", work, [plain], {"not_instrumented": 1})
    checks.that(b"was the program" not in done.err, "no question", done.err)
    checks.that(str(plain).encode() in done.err, "the program is named", done.err)
    if checks.that(static is not None, "a static program can be made"):
        check(checks, "static", work, [static], {"static": 1})
        check(checks, "static below", work, [executes, "execve", static], {"static": 1})
        _, done = check(checks, "static, patched", work, [static], {},
                        options=["--syscalls", "--patch", ".", "--libcalls", "--args"])
        checks.equal((done.status, b"no function is patched: " in done.err), (0, True),
                     "what was asked for and cannot be does not keep it from running")
    check(checks, "without our environment", work, [executes, "bare", works], {})
    check(checks, "for another recorder", work,
          ["env", "-i", "TRACETAPE_ARENA=/nowhere", works], {"not_instrumented": 1,
                                                             "environment": 1})
    check(checks, "no calls", work, [works], {"no_calls": 1}, options=["--off"])
    musl = libcs.musl(work, work / "plain.c")
    if musl is not None:
        check(checks, "musl", work, [musl], {"other_libc": 1})
        check(checks, "musl below", work, [executes, "spawn", musl], {"other_libc": 1})
    narrow = compile_plain(work, "narrow", "-m32")
    if narrow is not None:
        _, done = check(checks, "32 bits", work, [narrow], {"other_machine": 1})
        checks.equal(done.program_err(), b"", "32 bits: what the loader says")
        _, done = check(checks, "32 bits below", work, [executes, "vfork", narrow],
                        {"other_machine": 1})
        checks.equal(done.program_err(), b"", "32 bits below: what the loader says")
    absent = compile_absent(work)
    trace, done = check(checks, "not started", work, [absent], {"not_started": 1})
    checks.equal(done.status, 127, "not started: status")
    check(checks, "not started below", work, [executes, "vfork", absent], {"not_started": 1})
    lacking = compile_lacking(work)
    if checks.that(lacking is not None, "a program can lack a sanitizer's library"):
        check(checks, "sanitizer", work, [lacking], {"sanitizer": 1})
    script = work / "script"
    script.write_text(f"#!/bin/sh\n{plain}\n{works}\nexec {plain}\n", encoding="ascii")
    script.chmod(0o755)
    check(checks, "script", work, [script], {"not_instrumented": 3})
    set_uid = Path("/usr/bin/passwd")
    if os.geteuid() != 0 and set_uid.is_file() and set_uid.stat().st_mode & 0o4000:
        check(checks, "set-uid", work, [executes, "execv", set_uid], {"set_uid": 1})
    if os.geteuid() == 0 and shutil.which("setpriv"):
        check(checks, "other user", work, ["setpriv", "--reuid", "65534", works],
              {"not_instrumented": 1, "other_user": 1})


def namespaces(checks, work):
    """The id that a process has there is not one that the recorder knows."""
    words = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--pid",
             "--fork", "--mount-proc"]
    alone = setting.run([*words, "true"])
    if alone.status != 0:
        print(f"left out: the kernel refuses this user a namespace: {alone.err}")
        return
    check(checks, "other namespace", work, [*words, work / "lacking"],
          {"not_instrumented": 1, "other_namespace": 1})


def bad_pointers(checks, work):
    """What cannot be read is the kernel's to refuse."""
    program = setting.build("p_bad_exec.c", flags=("-O1",), log=False)
    alone = setting.run([program])
    _, done = record(work, program)
    checks.equal((done.status, done.out), (alone.status, alone.out), f"bad pointers; {done.err}")
    checks.equal(alone.out.count(b"Bad address"), 6, "pointers that are refused")


def ways(checks, work, executes, works):
    """What each function that executes a program starts is known, and goes as it does untraced."""
    words = [word for way in WAYS for word in (way, work / "static")]
    words += [word for way in WAYS for word in (way, works)]
    words += [word for way in WAYS for word in (way, work / "not-there")]
    alone = setting.run([executes, *words])
    trace, done = check(checks, "each way", work, [executes, *words], {"static": len(WAYS)})
    checks.equal((done.status, re.findall(rb"(?m)^.*:.*$", done.out)),
                 (alone.status, re.findall(rb"(?m)^.*:.*$", alone.out)), "what the program says")
    checks.equal(traces.info(trace)["lost"], 0, "lost")
    many = setting.cut(2000, 200)
    words = ["sh", "-c", f"i=0; while [ $i -lt {many} ]; do {work / 'static'}; {works}; "
             "i=$((i + 1)); done"]
    check(checks, "many", work, words, {"static": many, "not_instrumented": 1})


def main():
    setting.need_verb("record", "info")
    setting.need_command("gcc")
    checks = setting.Checks("unrecorded")
    executes = setting.build("p_executes.c", flags=("-O1",), log=False)
    works = setting.build("p_levels.c", flags=("-O1",), log=False)
    with setting.work_dir() as folder:
        work = Path(folder)
        reasons(checks, work, executes, works)
        namespaces(checks, work)
        bad_pointers(checks, work)
        ways(checks, work, executes, works)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
