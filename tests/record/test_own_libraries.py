#!/usr/bin/env python3
"""`record COMMAND` of a launcher: functions of libraries that are its own are patched with its own
ones (in a folder that it names, beside it, or with its name), and their calls into others are its
calls: who calls malloc is told on the first screen. Of others with most of the time the
closing line says what to type. Libraries of more than 20,000 functions are left to that line."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import setting
import traces

LIBRARY = """
#include <pthread.h>
#include <stdlib.h>
__attribute__((noinline)) static unsigned %(p)s_work(unsigned n)
{
    for (unsigned i = 0; i < 200000; i++) n = n * 1664525u + 1013904223u;
    return n;
}
__attribute__((noinline)) static void *%(p)s_node(void *size)
{
    char *volatile node = malloc((size_t)size);
    free(node);
    return NULL;
}
unsigned %(p)s_run(unsigned n)
{
    unsigned sum = 0;
    pthread_t thread;
    for (size_t i = 0; i < 3; i++) %(p)s_node((void *)(i + 1));
    if (pthread_create(&thread, NULL, %(p)s_node, (void *)9) == 0) pthread_join(thread, NULL);
    for (unsigned i = 0; i < 50; i++) sum += %(p)s_work(n + i);
    return sum;
}
"""
LAUNCHER = """
#include <stdio.h>
unsigned %(p)s_run(unsigned);
int main(void) { printf("%%u\\n", %(p)s_run(7)); return 5; }
"""
# As functions of the C library are called, but with arguments on the stack; one has no window.
NAMED = """
long strsum(long a, long b, long c, long d, long e, long f, long g, long h)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}
long memtop(long n, long a, long b, long c, long d, long e, long top);
__asm__(".text\\n.globl memtop\\n.type memtop, @function\\nmemtop:\\n.cfi_startproc\\n"
        "dec %rdi\\njnz memtop\\nmov 8(%rsp), %rax\\nret\\n.cfi_endproc\\n"
        ".size memtop, .-memtop\\n");
"""
CALLER = """
#include <stdio.h>
#include <string.h>
long strsum(long, long, long, long, long, long, long, long);
long memtop(long, long, long, long, long, long, long);
int main(int count, char **words)
{
    long sum = strsum(1, 2, 3, 4, 5, 6, 7, 8), top = memtop(3, 0, 0, 0, 0, 0, 77);
    printf("%ld %ld %zu\\n", sum, top, strlen(words[count - 1]) != 0);
    return 5;
}
"""
# folder of the library, its name, how the linker is told of the folder; is it the program's own
CASES = {"origin": ("lib", "libparts.so", "-Wl,-rpath,$ORIGIN/../lib", True),
         "braces": ("lib", "libparts.so", "-Wl,-rpath,/nowhere:${ORIGIN}/../lib", True),
         "beside": ("bin", "libparts.so", None, True),
         "folder": ("plain", "libparts.so", "-Wl,-rpath,{folder}", True),
         "name": ("else", "liblauncher-2.5.so", None, True),
         "other": ("else", "libparts.so", None, False)}


def compile_c(text, path, *flags):
    source = path.with_name(path.name + ".c")
    source.write_text(text, encoding="utf-8")
    subprocess.run(["gcc", "-O2", "-o", path, source, *flags], check=True)


def build(work, case, more=""):
    folder, name, how, _ = CASES[case]
    place = work / case
    for made in ("bin", folder):
        (place / made).mkdir(parents=True, exist_ok=True)
    prefix = {"p": "parts"}
    library = place / folder / name
    compile_c(LIBRARY % prefix + more, library, "-shared", "-fPIC", f"-Wl,-soname,{name}")
    program = place / "bin" / "launcher2.5"
    flags = [] if how is None else [how.replace("{folder}", str(place / folder))]
    compile_c(LAUNCHER % prefix, program, library, *flags)
    return program, {**os.environ, **({} if how else {"LD_LIBRARY_PATH": str(place / folder)})}


def record(work, program, environment, *options):
    trace = work / "own.ttape"
    done = setting.run([setting.COMMAND, "record", "-f", "-o", trace, *options, "--", program],
                       timeout=60, env=environment)
    return trace, done


def worked(trace):
    return traces.call_counts(trace)["enter"].get("parts_work", 0)


def called(trace):
    """Who calls malloc, how often. What a thread calls before it is told may have its own row."""
    done = setting.tracetape("report", trace, "--callers", "malloc", "--json")
    rows = json.loads(done.out)["rows"] if done.status == 0 else []
    return {name: sum(row["calls"] for row in rows if row.get("caller") == name)
            for name in {row["caller"] for row in rows if row["role"] == "caller"}}


def check_calls(checks, trace, case, is_own):
    """malloc by its own library, also in a thread that this one starts."""
    checks.equal(called(trace), {"parts_node": 4} if is_own else {}, f"{case}: who calls malloc")
    begun = traces.call_counts(trace)["enter"].get("pthread_create", 0)
    checks.equal(begun, int(is_own), f"{case}: pthread_create")


def check_case(checks, work, case):
    _, name, _, is_own = CASES[case]
    program, environment = build(work, case)
    trace, done = record(work, program, environment)
    said = done.err.decode()
    checks.equal(done.status, 5, f"{case}: status; {said}")
    checks.equal(worked(trace), 50 if is_own else 0, f"{case}: calls; {said}")
    checks.equal(bool(re.search(rf"functions were patched, \d+ of {re.escape(name)}, and", said)),
                 is_own, f"{case}: what was patched; {said}")
    check_calls(checks, trace, case, is_own)
    trace, done = record(work, program, environment, "--libcalls=^malloc$")
    checks.equal((called(trace), worked(trace)), ({"parts_node": 4}, 50) if is_own else ({}, 0),
                 f"{case}: malloc alone, and its own functions; {done.err}")
    where = re.search(rf"(\d+) % of the time was in {re.escape(name)}, of which only what "
                      rf"'launcher2.5' calls was recorded: record --module '(\S+)' shows", said)
    checks.equal(bool(where), not is_own, f"{case}: where the time was; {said}")
    if where:
        trace, done = record(work, program, environment, "--module", where[2])
        checks.equal(worked(trace), 50, f"{case}: what was said to be typed; {done.err}")
    if is_own:
        trace, done = record(work, program, environment, "--no-module", "parts|-2")
        checks.equal(worked(trace), 0, f"{case}: left out; {done.err}")
    checks.equal(traces.verify(trace), None, f"{case}: verify")


def check_names(checks, work):
    """What it exports may be called as the C library's functions are."""
    trace = work / "named.ttape"
    for label, folder in (("own", "bin"), ("other", "else")):
        place = work / f"named-{label}"
        for made in {"bin", folder}:
            (place / made).mkdir(parents=True)
        compile_c(NAMED, place / folder / "libnamed.so", "-shared", "-fPIC",
                  "-Wl,-soname,libnamed.so")
        compile_c(CALLER, place / "bin" / "calls", "-fno-builtin", place / folder / "libnamed.so")
        environment = {**os.environ, "LD_LIBRARY_PATH": str(place / folder)}
        for options in ((), ("--no-module", "libnamed"), ("--nest-libcalls",)):
            done = setting.run([setting.COMMAND, "record", "-f", "-o", trace, *options, "--",
                                place / "bin" / "calls"], timeout=60, env=environment)
            checks.equal((done.status, done.out), (5, b"204 77 1\n"),
                         f"{label}, {options}: {done.err}")
            checks.that(traces.call_counts(trace)["enter"].get("strsum", 0) <= 1,
                        f"{label}, {options}: calls")
            if not options:
                checks.equal(traces.call_counts(trace)["enter"].get("strsum"), 1, f"{label}: calls")


def check_large(checks, work):
    """20,001 functions more."""
    more = ('\n__asm__(".text\\n.rept 20001\\n.cfi_startproc\\nnop\\nret\\n.cfi_endproc\\n'
            '.endr\\n");\n')
    program, environment = build(work, "origin", more)
    trace, done = record(work, program, environment)
    checks.equal(worked(trace), 0, f"large: calls; {done.err}")
    checks.that(b"% of the time was in libparts.so" in done.err, f"large: {done.err}")


def main():
    setting.need_verb("record")
    checks = setting.Checks("own libraries")
    with setting.work_dir() as folder:
        work = Path(folder)
        os.environ["XDG_CACHE_HOME"] = str(setting.plans(work / "plans"))
        for case in CASES:
            check_case(checks, work, case)
        check_names(checks, work)
        check_large(checks, work)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
