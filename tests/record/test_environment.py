#!/usr/bin/env python3
"""A program that is executed with an environment of its own is recorded, and finds no more in it
than untraced, but for the recorder's two entries; a preloaded library of its own works; what just
fits into what the kernel takes still does; where the runtime cannot be read, it is not asked for.
Run as root and as an ordinary user."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import setting

WAYS = ("execve", "nothing", "execle", "execvpe", "fexecve", "execveat", "syscall", "execv",
        "execvp", "execl", "execlp", "spawn", "spawnp", "vfork", "system", "popen")
PRELOADED = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int puts(const char *text)
{
    int (*real)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "puts");
    return printf("own: ") < 0 ? -1 : real(text);
}
"""
CALLS = """#include <stdio.h>
__attribute__((noinline)) int called(int x) { return x + 1; }
int main(void) { puts("said"); return called(3); }
"""


def record(work, *words, options=()):
    trace = work / "run.ttape"
    trace.unlink(missing_ok=True)
    return trace, setting.tracetape("record", "-f", "-o", trace, *options, "--", *words, cwd=work)


def ways(checks, work, program):
    """What is executed prints what it does untraced, and is recorded."""
    for way in WAYS:
        for entries in (0, 3, 400):
            words = [program, way, entries, 20]
            alone = setting.run(words, cwd=work)
            trace, done = record(work, *words)
            checks.equal((done.status, done.out, done.program_err()),
                         (alone.status, alone.out, alone.err), f"{way} {entries}: {done.err}")
            checks.that(b"shows: " in done.out and b": 3\n" in done.out, f"{way} {entries}: ran",
                        done.out)
            report = setting.tracetape("report", trace).out if trace.exists() else b""
            checks.that(re.search(rb"(?m) show$", report), f"{way} {entries}: recorded", done.err)


def largest(program, work, way, traced):
    """How many bytes of environment the kernel takes: between two powers of two, exactly."""
    def fits(entries):
        words = [program, way, entries, 4096]
        done = record(work, *words)[1] if traced else setting.run(words)
        return b": 3\n" in done.out, done
    low, high = 0, 4096
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle)[0]:
            low = middle
        else:
            high = middle
    return low


def limits(checks, work, program):
    for way in ("execve", "spawn", "vfork"):
        alone = largest(program, work, way, False)
        for rest in (4096, 4000, 3900, 3800, 3600):  # the last that fits, and beside it
            words = [program, way, alone, rest]
            untraced = setting.run(words)
            _, done = record(work, *words)
            checks.equal((done.status, done.out), (untraced.status, untraced.out),
                         f"{way}, {alone} entries of {rest}; {done.err}")
        untraced = setting.run([program, way, alone + 1, 4096])
        _, done = record(work, program, way, alone + 1, 4096)
        checks.equal((done.status, done.out), (untraced.status, untraced.out),
                     f"{way}, one more; {done.err}")


def limit_of_command(checks, work):
    """The command itself, where there is room for the recorder with it, and not for its entries."""
    far = work / "/".join(["x" * 200] * 4)
    far.mkdir(parents=True)
    runtime = shutil.copy(setting.BUILD / "libtracetape-rt.so.0", far)
    more = {f"A{i}": "x" * 4090 for i in range(500)}
    record_words = [setting.COMMAND, "record", "-f", "-o", work / "run.ttape", "--"]

    def run(rest, *before):
        env = setting.environment(**more, TRACETAPE_RUNTIME=runtime, REST="x" * rest)
        try:
            return setting.run([*before, "/bin/echo", "said"], env=env)
        except OSError:
            return None
    low, high = 0, 100000
    while high - low > 1:  # what the recorder itself is just given
        middle = (low + high) // 2
        low, high = (middle, high) if run(middle, *record_words) is not None else (low, middle)
    done = run(low, *record_words)
    checks.that(0 < low < 99999, "a limit", low)
    checks.equal((done.status, done.out), (4, b"said\n"), f"no room; {done.err}")
    checks.that(b"1 started without LD_PRELOAD" in done.err, "its reason", done.err)


def preloaded(checks, work):
    (work / "own.c").write_text(PRELOADED, encoding="ascii")
    (work / "calls.c").write_text(CALLS, encoding="ascii")
    setting.call(["gcc", "-shared", "-fPIC", "-o", work / "libown.so", work / "own.c"])
    setting.call(["gcc", "-O1", "-g", "-fno-builtin", "-finstrument-functions", "-o",
                  work / "calls", work / "calls.c"])
    for words in (["env", "LD_PRELOAD=./libown.so", "./calls"],
                  ["sh", "-c", "LD_PRELOAD=./libown.so ./calls"],
                  ["sh", "-c", "LD_PRELOAD=./libown.so:./libown.so exec ./calls"],
                  ["env", "-i", "LD_PRELOAD=./libown.so", "./calls"],
                  ["env", "-u", "LD_PRELOAD", "./calls"], ["env", "-i", "./calls"]):
        alone = setting.run(words, cwd=work)
        trace, done = record(work, *words)
        checks.equal((done.status, done.out, done.program_err()),
                     (alone.status, alone.out, alone.err), f"{words}: {done.err}")
        report = setting.tracetape("report", trace).out if trace.exists() else b""
        checks.that(b"called" in report, f"{words}: recorded", done.err)


def variables(checks, work):
    """At most two entries more than untraced."""
    for words in (["env"], ["env", "-i", "env"], ["sh", "-c", "exec env"]):
        alone, done = setting.run(words), record(work, *words)[1]
        more = {line.split(b"=")[0] for line in done.out.splitlines()} - \
            {line.split(b"=")[0] for line in alone.out.splitlines()}
        checks.that(more <= {b"LD_PRELOAD", b"TRACETAPE_ARENA"}, f"{words}: entries", more)


def out_of_reach(checks, work):
    """In another root there is no such library, and no word of it."""
    root = work / "root"
    for name in ("bin", "lib64"):
        (root / name).mkdir(parents=True, exist_ok=True)
    found = subprocess.run(["ldd", "/bin/true"], check=True, capture_output=True, text=True).stdout
    for path in re.findall(r"(/\S+)", found):
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(Path(path).read_bytes())
        place.chmod(0o755)
    (root / "bin/true").write_bytes(Path("/bin/true").read_bytes())
    (root / "bin/true").chmod(0o755)
    words = ["chroot", root, "/bin/true"]
    if os.geteuid() != 0:
        words = ["unshare", "--user", "--map-root-user", *words]
    alone = setting.run(words)
    if alone.status != 0:
        print(f"left out: the kernel refuses this user another root: {alone.err}")
        return
    _, done = record(work, *words)
    checks.equal(done.program_err(), alone.err, f"in another root: {done.err}")
    checks.that(b"where the recorder is out of reach" in done.err, "the reason", done.err)


def covered(checks, work):
    """Another file system lies where the recorder's memory is: sandboxes give programs a /dev."""
    words = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--mount",
             "sh", "-c", 'mount -t tmpfs none "${TRACETAPE_ARENA%/*/*}"; exec /bin/true']
    alone = setting.run([*words[:-1], "mount -t tmpfs none /dev/shm"])
    if alone.status != 0:
        print(f"left out: the kernel refuses this user another file system: {alone.err}")
        return
    _, done = record(work, *words)
    checks.equal(done.program_err(), b"", f"covered: {done.err}")
    checks.that(b"1 where the recorder is out of reach ('/bin/true')" in done.err,
                "covered: the reason", done.err)


def main():
    setting.need_verb("record", "info", "report")
    setting.need_command("gcc", "env", "sh")
    checks = setting.Checks("environment")
    program = setting.build("p_environment.c", flags=("-O1",), log=False)
    with setting.work_dir() as folder:
        work = Path(folder)
        ways(checks, work, program)
        limits(checks, work, program)
        limit_of_command(checks, work)
        preloaded(checks, work)
        variables(checks, work)
        out_of_reach(checks, work)
        covered(checks, work)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
