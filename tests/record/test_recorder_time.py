#!/usr/bin/env python3
"""What the recorder does in a program's time is the recorder's: a library that is loaded while the
program runs, and waits for its plan, is patched in a call of `(the recorder)` in that of dlopen,
which has that time no more as its own."""
import json
import subprocess
import uuid
from pathlib import Path

import setting
import traces

LIBRARY = "long outer(long n) { return n + 1; }\nconst char *id = \"%s\";\n"
PROGRAM = """#include <dlfcn.h>
int main(void)
{
    void *library = dlopen("./libouter.so", RTLD_NOW);
    long (*outer)(long) = library != 0 ? (long (*)(long))dlsym(library, "outer") : 0;
    return outer == 0 || outer(1) != 2;
}
"""
LEAST_NS = 61_000  # a 16,384th of a second


def build(work):
    """The library is another one each time: nobody has a plan for it."""
    Path(work, "outer.c").write_text(LIBRARY % uuid.uuid4(), "ascii")
    Path(work, "load.c").write_text(PROGRAM, "ascii")
    for words in (["-shared", "-fPIC", "outer.c", "-o", "libouter.so"], ["load.c", "-o", "load"]):
        subprocess.run(["gcc", "-O1", *words], cwd=work, check=True)


def nodes_of(trace):
    """All calls, each with the name of what is around it."""
    done = setting.tracetape("tree", "--json", "--full", "--min-time", "0", trace)
    around, found = {}, []
    for node in json.loads(done.out)["nodes"]:
        around[node["level"]] = node["name"]
        found.append((node["name"], around.get(node["level"] - 1), node["time_ns"]))
    return found


def check_idle(checks, trace):
    """What `main` waited for is what the program's own calls did: not the recorder's waiting."""
    off = set()
    for options in ((), ("--exact",), ("--by", "call"), ("--by", "site")):
        rows = json.loads(setting.tracetape("report", "--json", *options, trace).out)["rows"]
        if any(row["blocked_ns"] is None for row in rows):
            continue  # nobody knows when threads ran
        idle = {row["name"]: row["idle_ns"] for row in rows if row["name"] in ("main", "dlopen")}
        off.add(tuple(sum(row[key] for row in rows) for key in ("blocked_ns", "preempted_ns")))
        checks.equal(len(off), 1, f"report {options}: sums of time off the CPU, of all: {off}")
        own = sum(row["blocked_ns"] for row in rows if row["name"] != traces.RECORDER)
        waits = sum(row["blocked_ns"] for row in rows if row["name"] == traces.RECORDER)
        checks.equal(idle["main"], own, f"report {options}: main's idle time, of {waits} ns more")
        checks.that(idle["dlopen"] <= own, f"report {options}: dlopen's idle time: {idle}")
        for more in ((), ("--all",), ("--min-share", "90%")):
            graph = json.loads(setting.tracetape("graph", "--json", *more, trace).out)
            checks.equal((graph["idle_ns"], sum(t["idle_ns"] for t in graph["threads"])),
                         (own, own), f"graph {more}: idle time, of {waits} ns more")
        for by in ("thread", "process"):
            threads = json.loads(setting.tracetape("report", "--json", "--by", by, trace).out)
            checks.equal(sum(row["idle_ns"] for row in threads["rows"]), own,
                         f"report --by {by}: idle time, of {waits} ns more")


def main():
    setting.need_verb("record", "tree", "report")
    setting.need_command("gcc")
    checks = setting.Checks("recorder's time")
    with setting.work_dir() as work:
        build(work)
        trace = Path(work, "load.ttape")
        done = setting.run(setting.record_words(trace, ["./load"], "--patch", ".", "--module",
                                                "libouter|load", "--libcalls", "--call-sites"),
                           cwd=work)
        checks.equal(done.status, 0, f"status; {done.err}")
        nodes = nodes_of(trace)
        own = [node for node in nodes if node[0] == traces.RECORDER]
        checks.equal({caller for _, caller, _ in own}, {"dlopen"}, "what it is in")
        checks.that(sum(ns for _, _, ns in own) >= LEAST_NS, f"its time: {own}")
        checks.that("outer" in {name for name, _, _ in nodes}, "the library was patched")
        said = setting.tracetape("report", trace).out.decode()
        checks.that(", the recorder " in said.splitlines()[0], f"the head: {said}")
        for words in (["--by", "thread"], ["--by", "module"], ["--butterfly", "dlopen"],
                      ["--callees", "dlopen"], ["--group", "dl"]):
            head = setting.tracetape("report", *words, trace).out.decode().splitlines()[0]
            checks.equal(head, said.splitlines()[0], f"the head of {words}")
        check_idle(checks, trace)
        rest = setting.tracetape("report", "--json", "--function", "^main$", trace)
        checks.that(json.loads(rest.out)["recorder_ns"] >= LEAST_NS, f"in JSON: {rest.out}")
    checks.verdict()


if __name__ == "__main__":
    main()
