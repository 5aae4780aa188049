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


def check_calls(checks, trace, expected, label):
    """As often as it should be; where the recorder looked just then, a call has lost its value."""
    found, lost = calls_of(trace), Counter()
    for row in report(trace, "--by", "site")["rows"]:
        lost[row["name"]] += row["calls"] if row["from"] is None else 0
    for key, count in expected.items():
        missing = count - found.get(key, 0)
        checks.that(0 <= missing <= min(lost[key[0]], 3), f"{label}: {key}, {missing} missing")


def check_sums(checks, trace, *options):
    """Rows of one function add up to its own, but for the time of recursion."""
    own, apart = report(trace, "--exact", *options), report(trace, "--by", "site", *options)
    found, total = {}, Counter()
    for row in apart["rows"]:
        found.setdefault(row["name"], Counter()).update({key: row.get(key, 0) for key in SUMS})
        total[row["name"]] += row["total_ns"]
        checks.that(row["from"] is not None or row["calls"] > 0 or row["total_ns"] == 0,
                    f"{options}: a call of {row['name']} that went on has its place")
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
    checks.that(re.search(rf"[89],\d+ .* {NAME}:\d+ rounds\+\d+ +work\n", shown.out.decode()),
                "table", shown)
    shown = setting.tracetape("dump", trace, "--filter", 'work(from="deep+*")').out.decode()
    checks.equal(len(re.findall(r"  work\(", shown)), 1, f"a filter: {shown[:300]}")
    for place, count in ((f"{NAME}:{line('free')}", 1), ("main+*", 1), (NAME, 0)):
        shown = setting.tracetape("dump", trace, "--filter", f'free(from="{place}")').out.decode()
        checks.equal(shown.count("  free("), count, f"a filter: {place}: {shown[:300]}")
    shown = setting.tracetape("report", trace, "--by", "site", "--columns", "calls,from,name",
                              "--format", "csv").out.decode()
    checks.that(re.search(rf"\n\d{{4}},{NAME}:", shown), "csv", shown)


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


def check_names(checks, folder, program, trace, expected):
    """Names and lines may come later; without lines it is the byte in the caller."""
    bare, named = folder / "bare.ttape", folder / "named.ttape"
    record(checks, bare, program, *ALL, "--no-symbols")
    checks.equal(calls_of(bare), {}, "no names")
    done = setting.tracetape("symbolize", bare, "-o", named)
    checks.equal(done.status, 0, f"symbolize: {done}")
    check_calls(checks, named, expected, "names that came later")
    symbols = [{row.get("from_symbol") for row in report(one, "--by", "site")["rows"]} - {None}
               for one in (named, trace)]
    checks.equal(symbols[0], symbols[1], "where in the caller")
    record(checks, bare, program, *ALL, "--no-lines")
    rows = report(bare, "--by", "site")["rows"]
    checks.equal({row["from"] for row in rows} - {None}, symbols[1], "without lines")


def check_many(checks, folder, traces):
    """Of several files: rows of one function and line are one, in whatever build, and add up."""
    wanted, bare = Counter(), folder / "none.ttape"
    for trace in traces:
        for row in report(trace, "--by", "site")["rows"]:
            key = row["name"], (row.get("from_file") or "").rpartition("/")[2], row.get("from_line")
            wanted[key] += row["calls"]
    found = Counter()
    rows = report(traces[0], *traces[1:], "--by", "site")["rows"]
    for row in rows:
        key = row["name"], (row.get("from_file") or "").rpartition("/")[2], row.get("from_line")
        found[key] += row["calls"]
        checks.that("from_address" not in row and (row["from"] is None or row["from_offset"]),
                    "no addresses of one run", row)
    checks.equal(+found, +wanted, "several files")
    rows = [row for row in rows if (row.get("from_file") or "").endswith(NAME)]
    checks.equal(len(rows), len({(row["name"], row["from_line"]) for row in rows}), "builds as one")
    apart = report(*traces, "--by", "site", "--across", "none")["rows"]
    checks.that(len(apart) > len(rows), "builds apart", len(apart))
    shown = setting.tracetape("report", *traces, "--by", "site", "--sort", "calls", "-n", "1")
    checks.that(re.search(rf"\d\d,\d+ .* {NAME}:\d+ rounds +work\n", shown.out.decode()),
                "table", shown)
    done = setting.tracetape("report", *traces, "--by", "site", "--rollup", bare)
    checks.that(done.status == 2 and b"has no rows by place: leave out --by site, or" in
                done.err and done.err.count(b"\n") == 1, "a rollup's file", done)
    rolled = bare.with_suffix(".rollup")
    setting.tracetape("report", *traces, "--rollup", rolled)
    done = setting.tracetape("report", rolled, "--by", "site")
    checks.that(done.status == 4 and b"is a rollup: --by site needs the traces themselves" in
                done.err, "rows of a rollup's file", done)


def check_stripped(checks, folder):
    """A program without symbols: places are its module and how far in it, as its functions are."""
    trace = folder / "stripped.ttape"
    program = setting.build(NAME, hooks=False, log=False,
                            flags=("-O1", "-foptimize-sibling-calls", "-fno-builtin", "-s",
                                   "-fvisibility=hidden"))
    done = setting.tracetape("record", "-f", "-o", trace, *ALL, "--", program)
    checks.equal(done.status, 0, f"stripped: {done}")
    place = re.escape(program.name) + r"\+0x[0-9a-f]+"
    for verb in ("dump", "tree", "slow"):
        shown = setting.tracetape(verb, trace).out.decode()
        checks.that(re.search(rf" {place}\(from {place}\)", shown), f"{verb} of it", shown[:600])
    shown = setting.tracetape("report", trace, "--by", "site").out.decode()
    found = re.search(rf" [89],\d+ .* ({place}) +({place})\n", shown)
    checks.that(found, "report of it", shown)
    place, name = found.groups() if found else ("?", "?")
    row = max(report(trace, "--by", "site")["rows"], key=lambda row: row["calls"])
    checks.equal((row["name"], row["from"], row["from_symbol"]), (name, place, None), "JSON of it")
    for wanted, least, most in ((place, 8990, 9000), (place + "*", 8990, 9000), (place[:-1], 0, 0)):
        shown = setting.tracetape("dump", trace, "--filter", f'{name}(from="{wanted}")').out
        checks.that(least <= shown.count(b"(from ") <= most, f"a filter: {wanted}", shown[:400])


def check_hooks(checks, folder, expected):
    """Hooks that the compiler put in say it of all functions, whatever the clock."""
    trace = folder / "hooks.ttape"
    program = setting.build(NAME, log=False, flags=("-O1", "-fno-builtin"))
    for options in ((), ("--clock", "monotonic")):
        record(checks, trace, program, "--libcalls", "--call-sites", "-p", "500", *options)
        check_calls(checks, trace, expected, f"hooks, {options}")
    check_sums(checks, trace)
    trace.rename(folder / "every.ttape")
    for options in (("--min-time", "1ns"), ("-p", "500")):  # calls that wait for a filter, and none
        record(checks, trace, program, "--call-sites=^(dee|rounds$)", *options)
        check_calls(checks, trace, {key: count for key, count in expected.items()
                                    if key[0] in ("deep", "rounds")}, f"some hooks, {options}")
        checks.equal({row["name"] for row in report(trace, "--by", "site")["rows"]
                      if row["from"] is not None}, {"deep", "rounds"}, f"of others none: {options}")
    done = setting.tracetape("record", "-f", "-o", trace, "--call-sites=nobody", "--", program)
    checks.that(b"--call-sites: no function of that name" in done.err, "nobody", done)
    done = setting.tracetape("record", "-f", "-o", trace, "--call-sites=work", "--", program)
    checks.that(b"--call-sites: " not in done.err, "somebody", done)
    done = setting.tracetape("record", "-f", "-o", trace, "--call-sites=work", "--no-symbols", "--",
                             program)
    checks.that(done.status == 2 and b"hooks tell no names" in done.err, "without names", done)
    done = setting.tracetape("record", "-f", "-o", trace, "--args", "--call-sites", "--", program)
    checks.that(b"hooks do not tell what functions are given" in done.err, "with values", done.err)


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
        check_calls(checks, trace, expected, "how often each was called where")
        checks.that(report(trace)["partitions"] > 3, "there are several partitions")
        part = report(trace)["span_ns"] // 10
        for options in ((), ("--below", "^rounds$"), ("--time", f"+{2 * part}ns..+{7 * part}ns")):
            rows = check_sums(checks, trace, *options)
            checks.that(rows > 1 or "--time" in options, f"{options}: there are some")
        check_shown(checks, trace, line)
        check_values(checks, folder, program, line)
        check_names(checks, folder, program, trace, expected)
        check_stripped(checks, folder)
        check_hooks(checks, folder, expected)
        check_many(checks, folder, [trace, folder / "every.ttape", folder / "values.ttape"])
        record(checks, trace, program, "--patch", ".")
        done = setting.tracetape("report", trace, "--by", "site")
        checks.that(done.status == 4 and b"record it with --call-sites" in done.err, "none", done)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
