#!/usr/bin/env python3
"""Calls whose ends nobody saw: they have no duration, and a mark wherever they are shown (F-END-01,
F-END-04). Run as root and as an ordinary user."""
import json
import os
import re
import sys
from pathlib import Path

import setting
import traces


def answer(*words):
    done = setting.tracetape(*words)
    return json.loads(done.out) if done.status in (0, 3) else {"error": str(done)}


def text(*words):
    return setting.tracetape(*words).out.decode()


def record(trace, program, *options):
    done = setting.run(setting.record_words(trace, [program], "-f", "--patch", ".", *options,
                                            quiet=False))
    return done.status, traces.verify(trace), done.err.decode()


def rows_of(trace, *words):
    return {row["name"]: row for row in answer("report", "--json", *words, trace).get("rows", [])}


def check_row(checks, row, count, what, label):
    """No duration, and a mark."""
    checks.equal((row.get("calls"), row.get("ended"), row.get("unknown_ends"), row.get("min_ns"),
                  row.get(what)), (count, 0, count, None, True), label)


def check_jumps(checks, work):
    """-O2: the end of what is jumped to is not seen."""
    program = setting.build("p_unseen_ends.c", flags=("-O2",), hooks=False, log=False)
    trace = work / "jumps.ttape"
    checks.equal(record(trace, program)[:2], (0, None), "jumps: status, verify")
    row = rows_of(trace).get("jumps", {})
    check_row(checks, row, 3, "is_least", "jumps: report")
    checks.that(re.search(r">=\S+ [num]?s .* jumps$", text("report", trace), re.M), "jumps: text")
    check_row(checks, rows_of(trace).get("again", {}), 5, "is_least", "again: report")
    rows = rows_of(trace)  # five rests of 3 ms at least, however late it is waked
    checks.that(rows["repeats"]["total_ns"] - rows["again"]["total_ns"] >= 15_000_000,
                "again: the rest is its caller's", rows["repeats"], rows["again"])
    slow = answer("slow", "--json", trace, "jumps")
    checks.equal([call["end"] for call in slow.get("calls", [])], ["unseen"] * 3, "jumps: slow")
    checks.equal(text("tree", "--full", "--all", trace).count("jumps  [end not seen]"), 3,
                 "jumps: tree")
    checks.that(re.search(r">=\S+ [num]?s .* jumps$", text("graph", "--all", trace), re.M),
                "jumps: graph", text("graph", "--all", trace))
    checks.equal(len(re.findall("frames? unwound, by (a jump|jumps)", text("dump", trace))), 9,
                 "jumps: dump, with forks")
    checks.equal(text("export", "--format", "csv", "-o", "-", trace).count(",unseen,"), 9,
                 "jumps: export, with forks")
    again = work / "again.ttape"
    checks.equal(setting.tracetape("convert", "--force", "-o", again, trace).status, 0, "convert")
    checks.equal(rows_of(again).get("jumps", {}).get("unknown_ends"), 3, "jumps: converted")
    checks.equal({name: row["mean_ns"] for name, row in rows_of(trace).items()},
                 {name: row["mean_ns"] for name, row in rows_of(trace, "--exact").items()},
                 "jumps: exact")
    for name, row in rows_of(trace).items():
        checks.that(not row["ended"] or row["mean_ns"] <= row["max_ns"], f"{name}: MEAN", row)


def check_exits(checks, work):
    """-O0: the exit of `stays` has no room for a jump; with --min-time it is kept."""
    program = setting.build("p_unseen_ends.c", flags=("-O0",), hooks=False, log=False)
    trace = work / "exits.ttape"
    status, verdict, said = record(trace, program)
    checks.equal((status, verdict), (0, None), "exits: status, verify")
    late = {name for name, row in rows_of(trace).items() if row.get("is_about")}
    if not late:
        return  # here they all can be patched
    counted = re.search(r"([0-9]+) of their exits are not seen", said)
    plain = setting.run([setting.COMMAND, "record", "-f", "-o", work / "plain.ttape", "--",
                         program])
    said_so = counted and re.search(rf"; {counted[1]} exits? of its own (is|are) not seen",
                                    plain.err.decode())
    checks.that(said_so,
                "exits: counted, by default, too", said, plain.err)
    for name in late:
        checks.that(re.search(rf"~\S+ [num]?s .* {name}$", text("report", trace), re.M),
                    f"exits: {name}", late)
    if "stays" not in late:
        return
    kept = work / "kept.ttape"
    checks.equal(record(kept, program, "--min-time", "1ms")[:2], (0, None), "kept: status, verify")
    checks.equal(rows_of(kept).get("stays", {}).get("calls"), 3, "kept: long calls")
    checks.equal(rows_of(kept).get("step"), None, "kept: short calls")


def check_below(checks, work):
    """What a chosen function jumps to is below it."""
    program = setting.build("p_unseen_ends.c", flags=("-O2",), hooks=False, log=False)
    trace = work / "below.ttape"
    checks.equal(record(trace, program, "--below", "^stays$")[:2], (0, None), "below: status")
    checks.equal({name: row["calls"] for name, row in rows_of(trace).items()},
                 {"stays": 3, "step": 3}, "below: what is jumped to")


def check_fork(checks, work):
    """A frame that a child inherits is no call of the child, and has no duration there."""
    program = setting.build("p_unseen_ends.c", flags=("-O1",), log=False)
    trace = work / "fork.ttape"
    done = setting.run(setting.record_words(trace, [program], "-f"))
    checks.equal((done.status, traces.verify(trace)), (0, None), "fork: status, verify")
    row = rows_of(trace).get("forks", {"calls": None, "ended": None})
    checks.equal((row["calls"], row["ended"], row.get("unknown_ends")), (1, 1, 1), "fork: report")
    checks.that(row["ended"] and row["min_ns"] == row["max_ns"] and
                abs(row["mean_ns"] - row["max_ns"]) < 1, "fork: MIN, MEAN, MAX", row)
    slow = answer("slow", "--json", trace, "forks")
    checks.equal(len(slow.get("calls", [])), 1, "fork: slow")


def main():
    setting.need_verb("record", "report", "slow", "tree", "graph")
    checks = setting.Checks("unseen ends")
    with setting.work_dir() as folder:
        work = Path(folder)
        os.chdir(work)
        check_jumps(checks, work)
        check_exits(checks, work)
        check_below(checks, work)
        check_fork(checks, work)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
