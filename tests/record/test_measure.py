#!/usr/bin/env python3
"""`--measure`: what system calls cost of a counter of their thread, in the place of time. Counters
of software are there on any machine that lets us count; of others it is said where they are not."""
import json
import os
import re
import sys
from pathlib import Path

import setting
import traces

TRIES = 10
REFUSED = (b"is not permitted", b"does not count")


def measure(program, counter, *options):
    return setting.tracetape("syscalls", "--measure", counter, "--json", *options, "--", program)


def amounts(done):
    answer = json.loads(done.err)
    return answer["measure"], {row["call"]: (row["sum"]["calls"], row["sum"]["measured"],
                                             row["sum"]["most"]) for row in answer["rows"]}


def is_known(counter, found):
    """Whether the calls cost what they are known to."""
    asks, reads, pauses = (found[call][1] for call in ("getppid", "pread64", "clock_nanosleep"))
    return {"context-switches": 5 <= pauses <= 10 and asks <= 5,
            "cpu-time": asks > 0 and reads > 0 and 0 < pauses < 5_000_000}[counter]


def check_counter(checks, program, counter, *options):
    """Now and then a busy machine takes a thread its processor within a call."""
    for _ in range(TRIES):
        _, found = amounts(measure(program, counter, *options))
        if is_known(counter, found):
            break
    checks.that(is_known(counter, found), f"{counter} of pauses, of a read, of what does not wait: "
                f"{found}")


def check_known(checks, program, *options):
    done = measure(program, "page-faults", *options)
    if done.status == 4 and any(word in done.err for word in REFUSED):
        setting.skip(f"no counters here: {done.err.decode().strip()}")
    checks.equal(done.status, 3, f"page faults: status; {done.err}")
    name, found = amounts(done)
    checks.equal((name, found["pread64"][1:], found["getppid"]),
                 ("page-faults", (64, 64), (20, 0, 0)), "page faults")
    for counter in ("context-switches", "cpu-time"):
        check_counter(checks, program, counter, *options)


def check_inside(checks, program):
    """As each thread asks for itself: no rights, and no stop at a call."""
    check_known(checks, program)
    done = measure(program, "cpu-time")
    _, found = amounts(done)
    checks.that(b"ptrace" not in done.err and found["clock_nanosleep"][1] > 0, done.err)
    text = setting.tracetape("syscalls", "--measure", "cpu-time", "--", program).err
    checks.that(b"CPU-TIME" in text, text)


def check_file(checks, program, trace):
    """Kept in a trace, beside its times."""
    done = setting.tracetape("record", "-q", "-f", "-o", trace, "--measure", "page-faults",
                             "--args", "--data", "--", program)
    checks.equal((done.status, done.err, traces.verify(trace)), (3, b"", None), "record, verify")
    text = setting.tracetape("syscalls", trace, "--measure", "page-faults", "--no-pager").out
    checks.that(b"PAGE-FAULTS" in text and b" page-faults in them" in text, text)
    rows = json.loads(setting.tracetape("syscalls", "--json", trace).out)["rows"]
    checks.that(all("time_ns" in row["sum"] for row in rows), "times are there, too")
    listed = setting.tracetape("syscalls", "--list", "--calls", "pread64", trace).out.decode()
    checks.that("= 262144" in listed and '"\\0\\0' in listed, f"contents and result: {listed}")
    done = setting.tracetape("syscalls", trace, "--measure", "cpu-time")
    checks.equal((done.status, b"has 'page-faults', not 'cpu-time'" in done.err), (4, True),
                 done.err)


FAULTS = """#include <stdlib.h>
#include <sys/mman.h>
enum { PAGES = 64, SIZE = PAGES * 4096 };
static __attribute__((noinline)) char *touch(int depth)
{
    char *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (madvise(at, SIZE, MADV_NOHUGEPAGE) != 0)
        exit(9);
    for (int i = 0; i < SIZE; i += 4096)
        at[i] = 1;
    return depth > 0 ? touch(depth - 1) + (at[0] - 1) : at;
}
static __attribute__((noinline)) int idle(volatile int x) { x += 3; return x - 2; }
struct pair { int a, b; };
__attribute__((noinline)) int sum(const struct pair *pair) { return idle(pair->a - 1) + pair->b; }
int main(void) { return idle(touch(11)[0]) + sum(&(struct pair){1, 2}) - 5; }
"""


def check_functions(checks, work):
    """At both ends of calls, also of those within one another, more than a thread keeps at once."""
    (work / "faults.c").write_text(FAULTS, encoding="utf-8")
    setting.call(["gcc", "-O1", "-g", "-fno-optimize-sibling-calls", "-w", "-D_GNU_SOURCE", "-o",
                  work / "faults", work / "faults.c"])
    trace = work / "faults.ttape"
    done = setting.tracetape("record", "-q", "-f", "-o", trace, "--measure",
                             "page-faults,cpu-time,cpu,max-rss=^(touch|idle)$", "--patch",
                             "^(touch|idle)$", "--", work / "faults")
    checks.equal((done.status, traces.verify(trace)), (0, None), f"functions: {done.err}")
    lines = setting.tracetape("dump", "--format", "ndjson", trace).out.splitlines()
    events = [event for event in map(json.loads, lines) if event.get("symbol") in ("touch", "idle")]
    checks.equal({len(event.get("values", ())) for event in events}, {4}, "values of each end")
    open_calls, costs = [], {"touch": [], "idle": []}
    for event in events:
        if event["kind"] == "enter":
            open_calls.append(event)
            continue
        entered = open_calls.pop()
        costs[event["symbol"]].append([b - a for a, b in zip(entered["values"], event["values"])])
    spent, faults = zip(*[(cost[0], cost[1]) for cost in costs["touch"]])
    checks.equal(len(faults), 12, "calls")
    checks.that(all(64 * (i + 1) <= count < 64 * (i + 1) + 40 for i, count in enumerate(faults)),
                f"page faults of each call and what it calls: {faults}")
    checks.that(all(b > a > 0 for a, b in zip(spent, spent[1:])), f"time: {spent}")
    checks.that(all(cost[1] < 8 for cost in costs["idle"]), f"nothing: {costs['idle']}")
    checks.that(all(event["values"][3] < 4096 and event["values"][2] >= 64 * 4096
                    for event in events), "processors, and memory")
    text = setting.tracetape("dump", trace).out
    checks.that(b"(cpu-time=" in text and b" cpu=" in text, f"names: {text[:400]}")
    done = setting.tracetape("record", "-q", "-f", "-o", trace, "--args=^sum$", "--measure",
                             "page-faults,cpu=^sum$", "--patch", "^sum$", "--", work / "faults")
    text = setting.tracetape("dump", trace).out
    checks.that(re.search(rb"sum\(pair=0x[0-9a-f]+\{a=1, b=2\}, page-faults=\d+, cpu=\d+\)"
                          rb" = 3, page-faults=\d+, cpu=\d+;", text), f"fields: {done.err} {text}")


VARIABLES = r"""
int jobs; static short low = -3; volatile double share; struct { char bytes[12]; } wide;
__attribute__((noinline)) void work(int n)
{
    jobs += n;
    if (n > 0) { low--; share += 0.5; work(n - 1); }
}
int main(void) { work(2); return wide.bytes[0]; }
"""


def check_variables(checks, work):
    (work / "variables.c").write_text(VARIABLES, encoding="utf-8")
    setting.call(["gcc", "-O0", "-g", "-o", work / "variables", work / "variables.c"])
    trace = work / "variables.ttape"
    done = setting.tracetape("record", "-f", "-o", trace, "--measure",
                             "var:jobs,var:low,var:share/f,var:wide/u8,var:nosuch,"
                             "var:jobs/i64=work",
                             "--patch", "^work$", "--", work / "variables")
    events = [json.loads(line) for line in
              setting.tracetape("dump", "--format", "ndjson", trace).out.splitlines()]
    checks.equal([event["values"] for event in events if event.get("symbol") == "work"],
                 [[0, -3, 0, 0], [2, -4, 0.5, 0], [3, -5, 1, 0]] + 3 * [[3, -5, 1, 0]],
                 f"variables: {done.err}")
    checks.equal([done.err.count(b"has a variable '" + name)
                  for name in (b"nosuch", b"jobs", b"share")], [1, 1, 0], done.err)
    text = setting.tracetape("dump", trace, "--filter", "work(low < -4)").out
    checks.that(text.count(b"work(") == 1 and b"work(jobs=3, low=-5, share=1" in text, "names",
                text)


def check_refused(checks, program, trace):
    for options, status, said in (
            (["--measure", "luck"], 2, b"cannot use 'luck'"),
            (["--measure", "cycles=work"], 2, b"no thread can ask for its 'cycles'"),
            (["--kernel"], 4, b"does not trace functions of the kernel"),
            (["--measure", "var:=work"], 2, b"'var:' is no variable"),
            (["--measure", "var:x/s=work"], 2, b"'var:x/s' is no variable"),
            (["--measure", "var:x/u7=work"], 2, b"'var:x/u7' is no variable"),
            (["--measure", 8 * "var:x," + "var:y=work"], 2, b"'var:y' is no variable"),
            (["--measure", "cpu,=work"], 2, b"no thread can ask for its ''"),
            (["--measure", "cpu=work", "--engine", "ptrace"], 2, b"by ptrace there are only"),
            (["--measure", "cycles", "--engine", "in-process"], 2, b"needs --engine ptrace")):
        done = setting.tracetape("record", "-f", "-o", trace, *options, "--", program)
        checks.equal((done.status, said in done.err), (status, True), f"{options}: {done.err}")
    done = setting.tracetape("attach", "--measure", "cpu-time=work", str(os.getpid()))
    checks.equal((done.status, b"attach reads no counters" in done.err, done.err.count(b"\n")),
                 (4, True, 1), done.err)
    done = measure(program, "instructions")
    if done.status != 3:  # a machine without them
        checks.equal((done.status, b"does not count 'instructions'" in done.err,
                      done.err.count(b"\n")), (4, True, 1), done.err)
    else:
        checks.that(amounts(done)[1]["getppid"][1] > 0, "instructions")


def main():
    setting.need_syscalls()
    checks = setting.Checks("measure")
    with setting.work_dir() as folder:
        program = setting.build("p_measure.c", flags=("-O1",), log=False, hooks=False)
        check_inside(checks, program)
        check_known(checks, program, "--engine", "ptrace")
        check_file(checks, program, Path(folder, "counted.ttape"))
        check_functions(checks, Path(folder))
        check_variables(checks, Path(folder))
        check_refused(checks, program, Path(folder, "refused.ttape"))
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
