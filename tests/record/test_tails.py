#!/usr/bin/env python3
"""Functions that end with a jump to another one: the callers that the source has, the same as in a
build without such jumps; what is not seen of what was jumped to makes nobody anybody's child; loops
of jumps stay flat, however long they are."""
import collections
import json
import subprocess
import sys
from pathlib import Path

import setting
import tail_programs
import traces

PLAIN = ("-O2", "-fno-optimize-sibling-calls")
OWN = "^(main|works|f[0-9]+|[a-z]+(_[a-z]+)*)$"
SEEDS = setting.cut(range(60), range(2))
ROUNDS = setting.cut(1000000, 5000)
# Of the C library and what the compiler adds; where a handler comes is another place each time.
LEFT_OUT = ("frame_dummy", "register_tm_clones", "deregister_tm_clones")


class Calls:
    """Who calls whom how often, and what else there is."""

    def __init__(self, trace):
        self.edges, self.deepest, self.ends = collections.Counter(), 0, collections.Counter()
        open_calls = collections.defaultdict(list)
        words = [setting.COMMAND, "dump", "--format", "ndjson", trace]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as dump:
            for line in dump.stdout:
                event = json.loads(line)
                self.take(event, open_calls[event["stream"]])

    def take(self, event, stack):
        kind, name = event["kind"], event.get("symbol", "")
        if kind == "enter":
            self.edges[(stack[-1] if stack else "-", traces.plain_name(name))] += 1
            stack.append(traces.plain_name(name))
            self.deepest = max(self.deepest, len(stack))
        elif kind == "signal":
            stack.append("handler")
        elif kind in ("exit", "signal_end", "unwind"):
            left = event.get("frames", 0) + (kind != "unwind")
            self.ends[kind] += left
            del stack[len(stack) - left:]

    def of(self, known):
        return {edge: count for edge, count in self.edges.items() if edge[1] in known}


def record(checks, work, program, *options, arguments=()):
    trace = work / "tails.ttape"
    alone = subprocess.run([program, *arguments], capture_output=True, check=False, timeout=60)
    done = setting.run([setting.COMMAND, "record", "-q", "-f", "-o", trace, *options, "--",
                        program, *arguments])
    checks.equal((done.status, done.err), (alone.returncode, b""),
                 f"{program} {options}: status, messages")
    checks.equal(traces.verify(trace), None, f"{program} {options}: verify")
    return Calls(trace)


def compare(checks, work, label, jumping, calling):
    """Alone, and with the calls of libraries."""
    for options in (["--patch", "."], []):
        found, wanted = (record(checks, work, program, *options)
                         for program in (jumping, calling))
        known = {edge[1] for edge in wanted.edges} - set(LEFT_OUT)
        checks.equal(found.of(known), wanted.of(known), f"{label} {options}: callers")


def check_known(checks, work, compiler):
    made = {"compiler": compiler, "hooks": False, "flags": ["-O2"]}
    jumping = setting.build("p_tail_calls.c", **made)
    calling = setting.build("p_tail_calls.c", **{**made, "flags": [*PLAIN]})
    compare(checks, work, f"p_tail_calls {compiler}", jumping, calling)
    edges = record(checks, work, jumping).edges
    for edge, count in {("looks_up", "spins"): 100, ("serves", "looks_up"): 100,
                        ("serves", "spins"): 100, ("main", "serves"): 100, ("main", "finishes"): 1,
                        ("unseen_direct", "strtoul"): 20, ("by_pointer", "plain"): 47}.items():
        checks.equal(edges[edge], count, f"{compiler}: calls {edge}")
    checks.that(("handles", "handles_last") in edges and ("raises", "plain") in edges,
                f"{compiler}: handlers")


def check_loops(checks, work, compiler):
    """Each round is a call, and none is around a later one."""
    program = setting.build("p_tail_calls.c", compiler, hooks=False, flags=["-O2"])
    found = record(checks, work, program, "--patch", OWN, arguments=("0", str(ROUNDS)))
    calls = collections.Counter()
    for (_, name), count in found.edges.items():
        calls[name] += count
    checks.that(found.deepest <= 6, f"{compiler}: {found.deepest} deep")
    checks.equal((calls["ping"], calls["pong"]), (ROUNDS // 2 + 1, ROUNDS // 2),
                 f"{compiler}: rounds of two")
    checks.that(calls["first"] + calls["second"] + calls["third"] == ROUNDS + 1,
                f"{compiler}: rounds of three: {calls}")


def check_random(checks, work, seed):
    compiler, language = list(setting.COMPILERS)[seed % 2], ("c", "cc")[seed // 2 % 2]
    source = work / f"random.{language}"
    source.write_text(tail_programs.Program(seed, language).text(), "utf-8")
    programs = []
    for number, flags in enumerate((["-O2"], PLAIN)):
        programs.append(work / f"random{number}")
        setting.call([setting.compiler_of(source.name, compiler), "-w", *flags, source, "-o",
                      programs[-1], "-pthread"])
    compare(checks, work, f"random {compiler} {language} {seed}", *programs)


def check_hooked(checks, work):
    """A library's function that frees by a jump, and hooks around it."""
    source = work / "deletes.cc"
    source.write_text("struct S { S(); ~S(); };\nS::S() {}\nS::~S() {}\nvoid after(int) {}\n"
                      "int main() { for (int i = 0; i < 5; i++) { S *s = new S; delete s; "
                      "after(i); } }\n", "utf-8")
    program = work / "deletes"
    setting.call(["g++", "-O0", "-finstrument-functions", source, "-o", program])
    found = record(checks, work, program, "--libcalls")
    for name in ("S", "~S", "after", "new", "delete"):
        checks.equal(found.edges[("main", name)], 5, f"hooks: {name}, of main")


# Jumps of which no stub knows where they lead: through the linker's stub before its first call, and
# through memory that a register names.
OUTSIDE = "int tiny(int x) { return x * 3; }\n"
LIBRARY = """int tiny(int);
struct table { int (*at)(int); };
static struct table one = {tiny};
struct table *volatile all = &one;
int linked(int x) { return tiny(x + 1); }
int by_table(int x) { return all->at(x + 2); }
int by_other(int x) { return all->at(x + 3); }
int by_two(int x) { return by_table(x + 3); }
"""
CALLER = """int linked(int), by_table(int), by_other(int), by_two(int);
static int (*each[])(int) = {linked, by_table, by_other, by_two, by_table};
int main(void)
{
    volatile int sum = 0;
    for (int i = 0; i < 4; i++) sum += linked(i);
    for (int i = 0; i < 5; i++) sum += by_table(i);
    for (int i = 0; i < 6; i++) sum += by_two(i);
    for (int i = 0; i < 50; i++) sum += each[i % 5](i);
    return 0;
}
"""
CALLED = {"linked": 14, "by_table": 25, "by_other": 10, "by_two": 16}


def check_loops_of_calls(checks, work):
    """The same call made again and again, also of several functions from one place, is no jump of
    the function that it called before."""
    path = f"-Wl,-rpath,{work}"
    for name, text, needs in (("outside", OUTSIDE, []), ("library", LIBRARY, ["-loutside"])):
        source = work / f"{name}.c"
        source.write_text(text, "utf-8")
        setting.call(["gcc", "-O2", "-fPIC", "-shared", "-Wl,-z,lazy", source, "-o",
                      work / f"lib{name}.so", f"-L{work}", *needs, path])
    source = work / "caller.c"
    source.write_text(CALLER, "utf-8")
    program = work / "caller"
    setting.call(["gcc", "-O1", source, "-o", program, f"-L{work}", "-llibrary", "-loutside",
                  "-Wl,-z,lazy", path])
    for options in ([], ["--no-patch", "--libcalls"], ["--nest-libcalls"]):
        found, calls = record(checks, work, program, *options), collections.Counter()
        for (caller, name), count in found.edges.items():
            calls[name] += count
            checks.that(name not in CALLED or caller in ("main", "-") or
                        (caller, name) == ("by_two", "by_table"), f"{options}: {caller} > {name}")
        if options == ["--no-patch", "--libcalls"]:
            wanted = CALLED
        else:
            wanted = {**CALLED, "by_table": CALLED["by_table"] + CALLED["by_two"]}
        checks.equal({name: calls[name] for name in CALLED}, wanted, f"{options}: calls")


POINTERS = """#include <string.h>
typedef void *(*function)(void *, const void *, size_t);
static function each[] = {mempcpy, (function)strncpy, (function)memset};
int main(void)
{
    char to[9], from[9] = "text";
    for (int i = 0; i < 30; i++) each[i % 3](to, from, 2);
    return 0;
}
"""


def check_unseen_exits(checks, work):
    """What is called through a pointer behind a function whose exit is not seen, as of some of the
    C library's, is another call."""
    source, program = work / "pointers.c", work / "pointers"
    source.write_text(POINTERS, "utf-8")
    setting.call(["gcc", "-O1", "-w", "-fno-builtin", "-D_GNU_SOURCE", source, "-o", program])
    edges = record(checks, work, program).edges
    for name in ("mempcpy", "strncpy", "memset"):
        checks.equal(edges[("main", name)], 10, f"by pointers: {name}")


def main():
    setting.need_verb("record", "dump")
    checks = setting.Checks("test_tails")
    with setting.work_dir() as folder:
        work = Path(folder)
        check_hooked(checks, work)
        check_loops_of_calls(checks, work)
        check_unseen_exits(checks, work)
        for compiler in setting.COMPILERS:
            check_known(checks, work, compiler)
            check_loops(checks, work, compiler)
        for seed in SEEDS:
            check_random(checks, work, seed)
    checks.verdict()


if __name__ == "__main__":
    main()
