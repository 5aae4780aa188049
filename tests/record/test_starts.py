#!/usr/bin/env python3
"""Who started which thread and process, and where, is in the trace (spec/facts.md), so that graph
need not guess; and the program cannot tell. Run as root and as an ordinary user."""
import json
import re
import subprocess
import sys
from pathlib import Path

import setting

RUNS = setting.cut(100, 3)
BUSY = setting.cut(2, 1)  # processes beside; they make threads start late and out of order
START = 0  # node of what nothing in the trace called


def graph_of(trace, *options):
    done = subprocess.run([setting.COMMAND, "graph", "--json", "--all", *options, trace],
                          capture_output=True, check=True, timeout=60)
    return json.loads(done.stdout)


def summary_of(trace, *options):
    done = subprocess.run([setting.COMMAND, "graph", "--summary", *options, trace],
                          capture_output=True, check=True, timeout=60, text=True)
    return {name.strip(): int(number) for name, number in
            re.findall(r"^ +(threading levels|that threads close|threads) +(\d+)$", done.stdout,
                       re.M)}


def record(checks, label, trace, program, *words):
    done = subprocess.run([setting.COMMAND, "record", "--no-patch", "-q", "-f", "-o", trace, "--",
                           program, *words], capture_output=True, text=True, check=False,
                          timeout=60, stdin=subprocess.DEVNULL)
    checks.equal((done.returncode, done.stderr), (0, ""), f"{label}: status and messages")
    return done.stdout


def plain(name):
    """Of a symbol, without arguments and clones."""
    return re.sub(r"[.(].*", "", name)


def check_levels(checks, trace, program, words, splits):
    label = "through its wrapper" if words else "directly"
    told = record(checks, label, trace, program, *words)
    wanted = {int(own): int(starter) for own, starter in map(str.split, told.splitlines())}
    threads = graph_of(trace)["threads"]
    found = {t["tid"]: threads[t["started_by"]]["tid"] for t in threads
             if t["started_by"] is not None}
    checks.equal(len(wanted), 15, f"{label}: threads that the program started")
    checks.equal(found, wanted, f"{label}: parents")
    checks.equal([t["known_by"] for t in threads], ["start"] + 15 * ["recorded"],
                 f"{label}: how parents are known")
    whole = ("--depth", 0, "--min-time", 0)
    lines = setting.tracetape("tree", *whole, trace).out.decode()
    found = {int(own): int(by) for own, by in
             re.findall(r"thread (\d+) of process .*, started by thread (\d+)$", lines, re.M)}
    checks.equal(found, wanted, f"{label}: starters that tree names")
    nodes = json.loads(setting.tracetape("tree", *whole, "--json", trace).out)["nodes"]
    found = {n["tid"]: n["started_by"] for n in nodes if "started_by" in n}
    checks.equal(found, wanted, f"{label}: starters in tree's JSON")
    said = summary_of(trace, *splits)
    checks.equal((said["threads"], said["threading levels"], said["that threads close"]),
                 (16, 5, 0), f"{label}: threads, levels, cycles that threads close")


def levels(checks, work):
    """Three levels of threads that start threads, beside busy processes."""
    program = setting.build("p_levels.c", flags=("-O1",), log=False)
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY)]
    try:
        for _ in range(RUNS):
            check_levels(checks, work / "levels.ttape", program, [], [])
            check_levels(checks, work / "levels.ttape", program, ["w"], ["--split-levels"])
    finally:
        for other in others:
            other.kill()
            other.wait()


def known(trace, *options):
    """{tid: tid of the starter} of threads whose starts are recorded."""
    threads = graph_of(trace, *options)["threads"]
    return {t["tid"]: threads[t["started_by"]]["tid"] for t in threads
            if t["known_by"] == "recorded"}


def copies(checks, work):
    """What merges and cuts traces keeps facts; where a place is cut away, the starter is known."""
    program = setting.build("p_levels.c", flags=("-O1",), log=False)
    traces = [work / "one.ttape", work / "two.ttape"]
    wanted = {}
    for trace in traces:
        record(checks, "to be merged", trace, program)
        wanted.update(known(trace))
    checks.equal(len(wanted), 30, "starts of two recordings")
    for below, count in (("^main$", "1 thread was"), ("^worker$", "14 threads were")):
        said = setting.tracetape("graph", "--below", below, traces[0]).err.decode()
        checks.that(f": {count} started below '{below}': of it" in said.replace("their", "its"),
                    f"started below {below}: {said}")
    merged = setting.tracetape("merge", *traces, "-o", work / "both.ttape")
    checks.equal(merged.status, 0, f"merge; {merged.err}")
    checks.equal(known(work / "both.ttape"), wanted, "parents in a merged file")
    threads = graph_of(traces[0])["threads"]
    middle = sorted(t["start_ns"] for t in threads)[2]  # the first worker has told of nobody yet
    cut = setting.tracetape("cut", traces[0], "-o", work / "cut.ttape", "--time", f"{middle}..")
    checks.equal(cut.status, 0, f"cut; {cut.err}")
    for tid, starter in known(work / "cut.ttape").items():
        checks.equal(starter, wanted[tid], "a parent in a cut file")


def split_output(out):
    """Of starts, and what else the program says, in any order of threads."""
    starts = [line.split() for line in out.splitlines() if re.match("thread |process ", line)]
    others = sorted(line for line in out.splitlines() if not re.match("thread |process ", line))
    return starts, others


def check_starts(checks, label, trace, starts):
    graph = graph_of(trace)
    threads, names = graph["threads"], {n["node"]: n.get("name") for n in graph["nodes"]}
    by_id = {("thread", t["tid"]): t for t in threads}
    by_id.update({("process", t["tid"]): t for t in threads if t["tid"] == t["pid"]})
    for kind, own, starter, function in starts:
        thread = by_id.get((kind, int(own)))
        if not checks.that(thread is not None, f"{label}: {kind} of '{function}' is not there"):
            continue
        if not checks.that(thread["started_by"] is not None, f"{label}: {function} by nobody"):
            continue
        place = plain(names[thread["started_in"]])
        found = (thread["known_by"], threads[thread["started_by"]]["tid"],
                 function if place.startswith("std::") else place)  # it may be instrumented
        checks.equal(found, ("recorded", int(starter), function), f"{label}: start in {function}")


def kinds(checks, work, source, compiler, flags):
    label = f"{source}, {compiler}"
    trace = work / "starts.ttape"
    program = setting.build(source, compiler, flags=flags, log=False)
    alone = subprocess.run([program], capture_output=True, text=True, check=True, timeout=60)
    starts, others = split_output(record(checks, label, trace, program))
    first, wanted = split_output(alone.stdout)
    checks.equal(others, wanted, f"{label}: what the program says")
    checks.equal(sorted(s[3] for s in starts), sorted(s[3] for s in first), f"{label}: starts")
    check_starts(checks, label, trace, starts)
    dump = subprocess.run([setting.COMMAND, "dump", trace], capture_output=True, text=True,
                          check=True, timeout=60).stdout
    failed = re.findall(r"tracetape:thread_create_failed\(\d+, (\d+)\)", dump)
    checks.equal(failed, ["11"] if source == "p_starts.c" else [], f"{label}: failed starts")
    verified = subprocess.run([setting.COMMAND, "verify", trace], capture_output=True, text=True,
                              check=False, timeout=60)
    checks.equal(verified.returncode, 0, f"{label}: verify; {verified.stdout}")


def main():
    setting.need_verb("record", "graph")
    checks = setting.Checks("starts")
    with setting.work_dir() as folder:
        work = Path(folder)
        levels(checks, work)
        copies(checks, work)
        for compiler in setting.COMPILERS:
            kinds(checks, work, "p_starts.c", compiler, ("-O2",))
            kinds(checks, work, "p_starts_cpp.cc", compiler, ("-O1", "-std=c++17"))
    checks.verdict()


main()
