#!/usr/bin/env python3
"""The runtime is loaded by each loader that may come to it, and harms nothing there: what it needs
of a C library is in glibc from 2.17 on and in musl; programs of musl do what they do untraced,
whoever starts them."""
import re
import subprocess
import sys
from pathlib import Path

import libcs
import setting

NEWEST = (2, 17)
WAYS = ((), ("--patch", "."), ("--libcalls",), ("--syscalls",), ("--syscalls", "--stacks"))
PLAIN = '#include <stdio.h>\nint main(void) { puts("x"); return 7; }\n'


def names(words):
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout


def needs(checks):
    """A version that is not there ends a program of glibc's, a name that is not there one of
    musl's."""
    library = setting.BUILD / "libtracetape-rt.so.0"
    asked = {tuple(map(int, m)) for m in
             re.findall(r"Name: GLIBC_(\d+)\.(\d+)", names(["readelf", "-V", library]))}
    checks.that(asked and max(asked) <= NEWEST, "versions that the runtime needs", asked)
    other = re.findall(r"Name: (?!GLIBC_\d)(\S+)", names(["readelf", "-V", library]))
    checks.equal([name for name in other if not name.startswith(("GLIBC", "libtracetape"))], [],
                 "versions of other kinds")
    wanted = {line.split()[-1].split("@")[0]
              for line in names(["nm", "-D", "--undefined-only", library]).splitlines()
              if line.split()[0] == "U"}
    musl = Path("/lib/ld-musl-x86_64.so.1")
    if musl.exists():
        there = {line.split()[-1] for line in
                 names(["nm", "-D", "--defined-only", musl]).splitlines()}
        checks.equal(sorted(wanted - there), [], "names that musl does not have")
    checks.equal(re.findall(r"\(NEEDED\).*\[(.*)\]", names(["readelf", "-d", library])),
                 ["libc.so.6"], "libraries that the runtime needs")


def compare(checks, label, work, words):
    alone = setting.run(words, cwd=work)
    for way in WAYS:
        done = setting.run([setting.COMMAND, "record", "-f", "-o", work / "run.ttape", *way, "--",
                            *words], cwd=work, env=setting.environment(XDG_CACHE_HOME=work))
        checks.equal((done.status, done.out, done.program_err()),
                     (alone.status, alone.out, alone.err), f"{label} {way}: {done.err}")


def musl(checks, work):
    (work / "m.c").write_text(PLAIN, encoding="ascii")
    program = libcs.musl(work, work / "m.c")
    if program is None:
        setting.skip("'musl-gcc' is not installed")
    compare(checks, "puts", work, [program])
    compare(checks, "below a shell", work, ["sh", "-c", f"{program}; echo $?"])
    every = libcs.musl(work, setting.PROGRAMS / "p_any_libc.c", "-O1", output="every")
    compare(checks, "each function", work, [every])


def main():
    setting.need_verb("record")
    setting.need_command("gcc", "readelf", "nm")
    checks = setting.Checks("other_libc")
    needs(checks)
    with setting.work_dir() as folder:
        musl(checks, Path(folder))
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
