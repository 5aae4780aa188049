#!/usr/bin/env python3
"""Threads that are not the C library's harm nothing, whatever is recorded: their thread pointer is
not ours to look below. What came before them is recorded, and the process is counted with its
reason. So is a Go program that makes its threads without the C library; its system calls are
recorded by ptrace."""
import re
import shutil
import sys
from pathlib import Path

import setting
import traces

WAYS = (["clone"], ["raw"], ["raw3"], ["pointer"], ["syscall"], ["function"],
        ["wrapped"], ["function", "clone", "raw", "raw3", "pointer", "syscall", "wrapped"])
OPTIONS = ([], ["--no-patch"], ["--patch", "."], ["--libcalls"], ["--syscalls"],
           ["--patch", ".", "--args", "--retval"], ["--nest-libcalls"])
GO_NOTE = """__asm__(".pushsection .note.go.buildid,\\"a\\",@note\\n.balign 4\\n.long 4, 4, 4\\n"
        ".asciz \\"Go\\\\0\\"\\n.asciz \\"abc\\"\\n.popsection");
"""
GO = """package main
func f(x int) int { return x * 3 }
func main() {
    done := make(chan int)
    for i := 0; i < 8; i++ {
        go func(i int) { done <- f(i) }(i)
    }
    sum := 0
    for i := 0; i < 8; i++ {
        sum += <-done
    }
    println(sum)
}
"""
CGO = """main
// static int thrice(int x) { return x * 3; }
import "C"
"""
GO_BUILDS = {"pie": ["-buildmode=pie"], "static": [], "cgo": []}


def record(work, words, options):
    trace = work / "run.ttape"
    trace.unlink(missing_ok=True)
    done = setting.run([setting.COMMAND, "record", "-f", "-o", trace, *options, "--", *words],
                       env=setting.environment(XDG_CACHE_HOME=work))
    return trace, done


def compare(checks, label, alone, trace, done):
    checks.equal((done.status, done.out, done.program_err()), (alone.status, alone.out, alone.err),
                 f"{label}: {done.err}")
    if trace.exists():
        checks.equal(traces.info(trace)["unrecorded"].get("own_threads"), 1, f"{label}: reason")
    else:
        checks.that(b"1 with threads that are not the C library's" in done.err, f"{label}: reason",
                    done.err)


def processes(checks, work, program, hooks, options):
    """Nothing is recorded while one with a thread pointer of its own runs; then it goes on."""
    alone = setting.run([program, "vfork", "fork"])
    trace, done = record(work, [program, "vfork", "fork"], options)
    label = f"processes {options}, hooks: {hooks}"
    checks.equal((done.status, done.out, done.program_err()), (alone.status, alone.out, alone.err),
                 f"{label}: {done.err}")
    if trace.exists():
        checks.that("own_threads" not in traces.info(trace)["unrecorded"], f"{label}: reason")
    # without a change of its code, the program's other ways to make threads are not noticed
    if (hooks and options != ["--no-patch"]) or options == ["--patch", "."]:
        report = setting.tracetape("report", trace).out if trace.exists() else b""
        checks.that(re.search(rb"(?m)^.* 2 .* outer$", report), f"{label}: what came behind",
                    report)


def chosen(turn):
    """In the gate each option has one way, and each way some options."""
    return WAYS if setting.cut(1, 0) else [WAYS[turn % len(WAYS)]]


def ways(checks, work, program, hooks, options):
    for way in chosen(OPTIONS.index(options) + 3 * hooks):
        alone = setting.run([program, *way])
        trace, done = record(work, [program, *way], options)
        label = f"{way} {options}, hooks: {hooks}"
        # by --no-patch what has no hooks makes its threads unnoticed, and no hook is called in them
        if hooks or options != ["--no-patch"]:
            compare(checks, label, alone, trace, done)
        else:
            checks.equal((done.status, done.out), (alone.status, alone.out), label)
        if (not hooks and options == ["--patch", "."]) or (hooks and options == []):
            report = setting.tracetape("report", trace).out if trace.exists() else b""
            checks.that(re.search(rb"(?m) outer$", report), f"{label}: what came before", report)


def go_like(checks, work):
    """A program of C that has all that tells a Go program."""
    source = work / "go.c"
    text = (setting.PROGRAMS / "p_own_threads.c").read_text(encoding="ascii")
    source.write_text(text + GO_NOTE, encoding="ascii")
    program = work / "golike"
    setting.call(["gcc", "-O1", "-w", "-D_GNU_SOURCE", "-fno-stack-protector", "-o", program,
                  source])
    alone = setting.run([program, "pointer", "raw"])
    for options in ([], ["--patch", "."], ["--libcalls"]):
        trace, done = record(work, [program, "pointer", "raw"], options)
        compare(checks, f"like Go, {options}", alone, trace, done)
    trace, done = record(work, [program, "pointer", "raw"], ["--syscalls"])
    checks.equal((done.status, done.out), (alone.status, alone.out), f"like Go; {done.err}")
    engine = {m["key"]: m["value"] for m in traces.info(trace)["metadata"]}
    checks.equal(engine.get("syscalls_engine"), "ptrace", "like Go: the engine")


def go(checks, work):
    compiler = shutil.which("go") or shutil.which("go", path="/usr/lib/go-1.19/bin")
    if compiler is None:
        print("left out: there is no Go compiler")
        return
    (work / "m.go").write_text(GO, encoding="ascii")
    text = GO.replace("x * 3", "int(C.thrice(C.int(x)))").replace("main\n", CGO, 1)
    (work / "c.go").write_text(text, encoding="ascii")
    for kind, options in GO_BUILDS.items():
        program = work / kind
        done = setting.run([compiler, "build", *options, "-o", program,
                            work / ("c.go" if kind == "cgo" else "m.go")],
                           env=setting.environment(CGO_ENABLED=int(kind == "cgo"), HOME=work,
                                                   GOCACHE=work / "cache", GO111MODULE="off"),
                           timeout=600)
        if done.status != 0:
            print(f"left out: the Go compiler fails: {done.err}")
            continue
        alone = setting.run([program])
        for how in ([], ["--syscalls"], ["--patch", "."], ["--libcalls"]):
            _, done = record(work, [program], how)
            checks.equal((done.out, done.program_err()), (alone.out, alone.err),
                         f"Go {kind}, {how}: {done.err}")
            checks.that(done.status in (alone.status, 4), f"Go {kind}, {how}: {done.status}")


def main():
    setting.need_verb("record", "info", "report")
    checks = setting.Checks("own_threads")
    with setting.work_dir() as folder:
        work = Path(folder)
        for hooks in (True, False):
            program = setting.build("p_own_threads.c", flags=("-O1", "-fno-stack-protector"),
                                    log=False, hooks=hooks)
            for options in OPTIONS:
                ways(checks, work, program, hooks, options)
                processes(checks, work, program, hooks, options)
        go_like(checks, work)
        if setting.cut(1, 0):
            go(checks, work)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
