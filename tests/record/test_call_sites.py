#!/usr/bin/env python3
"""Where calls were made (--call-sites): by line, by byte where there is none, and what report --by
site adds up, over partitions, ranges and what is below a function, is what the functions have."""
import json
import re
import sys
from collections import Counter
from pathlib import Path

import setting

NAME = "p_call_sites.c"
ALL = ("--patch", ".", "--libcalls", "--call-sites")
SUMS = ("calls", "ended", "unknown_ends", "self_ns", "preempted_ns", "blocked_ns", "unknown_ns",
        "duration_sum_ns")


def wanted():
    """(function, line): how often, as the program says of itself."""
    found = {}
    lines = (setting.PROGRAMS / NAME).read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        said = re.search(r"/\* (\w+) (\d+) \*/$", line)
        if said:
            found[said[1], number] = int(said[2])
    return found


def record(checks, trace, program, *options):
    done = setting.tracetape("record", "-q", "-f", "-o", trace, *options, "--", program)
    checks.equal((done.status, done.err), (0, b""), f"{options}: status, messages")


def report(trace, *options):
    done = setting.tracetape("report", "--json", trace, *options)
    assert done.status == 0, done
    return json.loads(done.out)


def calls_of(trace, *options):
    return {(row["name"], row["from_line"]): row["calls"]
            for row in report(trace, "--by", "site", *options)["rows"]
            if (row.get("from_file") or "").endswith(NAME)}


def check_sums(checks, trace, *options):
    """Rows of one function add up to its own, but for the time of recursion."""
    own, apart = report(trace, "--exact", *options), report(trace, "--by", "site", *options)
    found, total = {}, Counter()
    for row in apart["rows"]:
        found.setdefault(row["name"], Counter()).update({key: row.get(key, 0) for key in SUMS})
        total[row["name"]] += row["total_ns"]
        checks.that(row["from"] is not None, f"{options}: a place of {row['name']}")
    for row in own["rows"]:
        name = row["name"]
        checks.equal({key: row.get(key, 0) for key in SUMS}, dict(found[name]),
                     f"{options}: sums of {name}")
        if name != "deep":
            checks.equal(row["total_ns"], total[name], f"{options}: total of {name}")
    for key in ("calls", "span_ns", "open_frames"):
        checks.equal(own.get(key), apart.get(key), f"{options}: {key} of all")
    return len(apart["rows"])


def check_shown(checks, trace, line):
    shown = setting.tracetape("dump", trace).out.decode()
    checks.that(f"rounds(from {NAME}:{line('rounds')})" in shown, "dump", shown[:400])
    checks.that(re.search(rf"jumped\(from {NAME}:{line('outer')}\)", shown),
                "a jump: as the frame returns", shown[-800:])
    shown = setting.tracetape("report", trace, "--by", "site", "--sort", "calls", "-n", "1")
    checks.that(re.search(rf"9,000 .* {NAME}:\d+ +work\n", shown.out.decode()), "table", shown)
    shown = setting.tracetape("dump", trace, "--filter", 'work(from="deep+*")').out.decode()
    checks.equal(len(re.findall(r"  work\(", shown)), 1, f"a filter: {shown[:300]}")
    shown = setting.tracetape("report", trace, "--by", "site", "--columns", "calls,from,name",
                              "--format", "csv").out.decode()
    checks.that(f"9000,{NAME}:" in shown, "csv", shown)


def check_values(checks, folder, program, line):
    """With what calls are given; of some functions; and of what the program calls in libraries."""
    trace = folder / "values.ttape"
    record(checks, trace, program, "--patch", ".", "--libcalls", "--args",
           "--call-sites=^(work|f)")
    shown = setting.tracetape("dump", trace).out.decode()
    checks.that(re.search(rf"work\(n=2, from {NAME}:\d+\)", shown), "with arguments", shown[:600])
    checks.that(re.search(rf"free\(\w+=0x\w+, from {NAME}:{line('free')}\)", shown),
                "of a library", shown[-900:])
    rows = report(trace, "--by", "site")["rows"]
    checks.equal({row["name"] for row in rows if row["from"] is None} & {"main", "deep", "strdup"},
                 {"main", "deep", "strdup"}, "not recorded")


def check_names(checks, folder, program, trace):
    """Names and lines may come later; without lines it is the byte in the caller."""
    bare, named = folder / "bare.ttape", folder / "named.ttape"
    record(checks, bare, program, *ALL, "--no-symbols")
    checks.equal(calls_of(bare), {}, "no names")
    done = setting.tracetape("symbolize", bare, "-o", named)
    checks.equal(done.status, 0, f"symbolize: {done}")
    checks.equal(calls_of(named), calls_of(trace), "names that came later")
    symbols = [{row["from_symbol"] for row in report(one, "--by", "site")["rows"]}
               for one in (named, trace)]
    checks.equal(symbols[0], symbols[1], "where in the caller")
    record(checks, bare, program, *ALL, "--no-lines")
    rows = report(bare, "--by", "site")["rows"]
    checks.equal({row["from"] for row in rows}, symbols[1], "without lines")


def main():
    setting.need_verb("record")
    checks = setting.Checks("call sites")
    program = setting.build(NAME, hooks=False, log=False,
                            flags=("-O1", "-foptimize-sibling-calls", "-fno-builtin"))
    expected = wanted()
    with setting.work_dir() as folder:
        folder = Path(folder)
        trace = folder / "all.ttape"

        def line(name):
            return next(number for function, number in expected if function == name)

        record(checks, trace, program, *ALL, "-p", "500")
        checks.equal({key: count for key, count in calls_of(trace).items() if key in expected},
                     expected, "how often each was called where")
        checks.that(report(trace)["partitions"] > 3, "there are several partitions")
        for options in ((), ("--time", "+20us..+150us"), ("--below", "^rounds$")):
            checks.that(check_sums(checks, trace, *options) > 1, f"{options}: there are some")
        check_shown(checks, trace, line)
        check_values(checks, folder, program, line)
        check_names(checks, folder, program, trace)
        record(checks, trace, program, "--patch", ".")
        done = setting.tracetape("report", trace, "--by", "site")
        checks.that(done.status == 4 and b"record it with --call-sites" in done.err, "none", done)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
