#!/usr/bin/env python3
"""Differences between traces against what their events say: functions, call paths, thresholds, and
the first event at which two runs part."""
import csv
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from graph_model import Counts, make_text, run

WORK = Path(tempfile.mkdtemp())


def make(name, text, *options):
    source, path = WORK / f"{name}.txt", WORK / f"{name}.ttape"
    source.write_text(text, encoding="utf-8")
    run("convert", source, "-o", path, "--force", *options)
    return path


def threads_of(path):
    threads = {}
    for row in csv.DictReader(io.StringIO(run("dump", "--format", "csv", path))):
        threads.setdefault(int(row["tid"]), []).append(row)
    return threads


def measure(path, depth_limit):
    """Functions, and paths (innermost function first): calls, self, total."""
    functions, paths = {}, {}
    for rows in threads_of(path).values():
        stack, now = [], None
        for row in rows:
            step = 0 if now is None else int(row["time_ns"]) - now
            now = int(row["time_ns"])
            pass_time(functions, paths, stack, step)
            if row["kind"] in ("enter", "signal"):
                enter(functions, paths, stack, row, depth_limit)
            elif row["kind"] in ("exit", "signal_end"):
                stack.pop()
            elif row["kind"] == "unwind":
                del stack[int(row["depth"]):]
    return functions, paths


def enter(functions, paths, stack, row, depth_limit):
    """A handler is nobody's callee."""
    if row["kind"] == "signal":
        stack.append((None, None, False))
        return
    above = stack[-1][1] if stack and stack[-1][0] is not None else ()
    own = len(above) < depth_limit
    path = (row["symbol"], *above) if own else above
    functions.setdefault(row["symbol"], Counts())["calls"] += 1
    if own:
        paths.setdefault(path, Counts())["calls"] += 1
    stack.append((row["symbol"], path, own))


def pass_time(functions, paths, stack, step):
    for name in {s[0] for s in stack if s[0] is not None}:
        functions[name]["total"] += step
    for _, path, own in stack:
        if own:
            paths[path]["total"] += step
    if stack and stack[-1][0] is not None:
        functions[stack[-1][0]]["self"] += step
        paths[stack[-1][1]]["self"] += step


def state(a, b, least=0, part=0.0):
    if a is None or b is None:
        return "new" if a is None else "gone"
    for field in ("self", "total"):
        change = abs(b[field] - a[field])
        if change and change >= least and change >= part * abs(a[field]):
            return "changed"
    return "changed" if a["calls"] != b["calls"] else "same"


def check_kind(found, name_of, sides, least, part):
    a, b = sides
    states = {n: state(a.get(n), b.get(n), least, part) for n in a.keys() | b.keys()}
    rows = {name_of(r): r for r in found["rows"]}
    assert len(rows) == len(found["rows"]), "a row is there twice"
    assert {n: r["state"] for n, r in rows.items()} == \
        {n: s for n, s in states.items() if s != "same"}
    for what in ("same", "changed", "new", "gone"):
        assert found[what] == sum(s == what for s in states.values()), what
    for name, row in rows.items():
        for key, side in (("a", a), ("b", b)):
            counts = side.get(name)
            if counts is None:
                assert row[key] is None
            else:
                assert row[key] == {"calls": counts["calls"], "self_ns": counts["self"],
                                    "total_ns": counts["total"],
                                    "preempted_ns": 0}, (name, row, dict(counts))


def check_totals(found, one, two):
    """What the head says of each side, and that the table says the same."""
    text = run("diff", one, two, "--no-pager").splitlines()
    assert text[0].split() == ["TIME", "CALLS", "EVENTS", "THREADS", "LOST", "TRACE"], text[0]
    for key, path, line in (("a", one, text[1]), ("b", two, text[2])):
        threads = threads_of(path)
        rows = [row for rows in threads.values() for row in rows]
        times = [int(row["time_ns"]) for row in rows]
        totals = found["totals"][key]
        assert totals == {"time_ns": max(times) - min(times), "events": len(rows), "lost_events": 0,
                          "calls": sum(row["kind"] == "enter" for row in rows),
                          "threads": len(threads)}, (totals, len(rows))
        assert f"{totals['calls']:,}" in line.split() and line.split()[-1] == str(path), line
        assert line.startswith(key.upper()), line


def check_order(rows, key):
    sizes = [abs((r["b"] or {}).get(key, 0) - (r["a"] or {}).get(key, 0)) for r in rows]
    assert sizes == sorted(sizes, reverse=True), sizes


def check_moves(rows, a, b):
    """Calls that other callers make now, from what the paths say."""
    edges = {}
    for side, paths in enumerate((a, b)):
        for path, counts in paths.items():
            caller = path[1] if len(path) > 1 else None
            edges.setdefault(path[0], {}).setdefault(caller, [0, 0])[side] += counts["calls"]
    wanted = {}
    for name, callers in edges.items():
        changes = {caller: now - before for caller, (before, now) in callers.items()}
        moved = min(sum(c for c in changes.values() if c > 0),
                    -sum(c for c in changes.values() if c < 0))
        if moved:
            wanted[name] = (moved, changes)
    assert {row["name"]: row["calls"] for row in rows} == {n: w[0] for n, w in wanted.items()}
    assert [row["calls"] for row in rows] == sorted((w[0] for w in wanted.values()), reverse=True)
    for row in rows:
        changes = wanted[row["name"]][1]
        for key, sign, side in (("a", -1, 0), ("b", 1, 1)):
            own, sizes = row[key], [sign * c for c in changes.values() if sign * c > 0]
            assert own["change"] == max(sizes) == sign * changes[own["caller"]], (row, changes)
            assert own["more_callers"] == len(sizes) - 1
            assert own["calls"] == edges[row["name"]][own["caller"]][side]


def check_rows(one, two, depth=64, *options, least=0, part=0.0):
    arguments = ["diff", "--json", "--all", one, two, "--depth", depth, *options]
    found = json.loads(run(*arguments))
    check_totals(found, one, two)
    a, b = measure(one, depth), measure(two, depth)
    check_kind(found["functions"], lambda r: r["name"], (a[0], b[0]), least, part)
    check_kind(found["paths"], lambda r: (r["name"], *r["callers"]), (a[1], b[1]), least, part)
    assert ("depth_limit" in found["paths"]) == (depth < 10)
    check_moves(found["other_callers"], a[1], b[1])
    for sort, key in (("self", "self_ns"), ("total", "total_ns"), ("calls", "calls")):
        again = json.loads(run(*arguments, "--sort", sort))
        for kind in ("functions", "paths"):
            check_order(again[kind]["rows"], key)
            assert len(again[kind]["rows"]) == len(found[kind]["rows"])


# ---- the first difference ----

def fails(status, *arguments):
    done = subprocess.run([os.environ["TTAPE_BIN"], "diff", *map(str, arguments)], text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    return done


def parting(one, two):
    """By thread, how many events are the same."""
    a, b = threads_of(one), threads_of(two)
    result = {}
    for tid in a.keys() & b.keys():
        key = [[(r["kind"], r["symbol"], r["depth"]) for r in side[tid]] for side in (a, b)]
        same = 0
        while same < min(map(len, key)) and key[0][same] == key[1][same]:
            same += 1
        if same < max(map(len, key)):
            result[tid] = same
    return result, a


def path_at(rows, count):
    """(name, which call of its caller) of the frames that are open behind so many events."""
    stack, made = [], [0]
    for row in rows[:count]:
        if row["kind"] in ("enter", "signal"):
            stack.append((None if row["kind"] == "signal" else row["symbol"], made[-1]))
            made[-1] += 1
            made.append(0)
        elif row["kind"] in ("exit", "signal_end"):
            stack.pop()
            made.pop()
        elif row["kind"] == "unwind":
            del stack[int(row["depth"]):], made[int(row["depth"]) + 1:]
    return stack


def check_first(one, two):
    wanted, rows = parting(one, two)
    found = json.loads(fails(1 if wanted else 0, "--first", "--json", one, two).stdout)
    got = {d["a"]["tid"]: d for d in found["differences"]}
    assert {t: d["equal_events"] for t, d in got.items()} == wanted
    assert found["equal"] == (not wanted)
    if not wanted:
        assert found["first"] is None
        return
    times = {t: int(rows[t][n]["time_ns"]) for t, n in wanted.items() if n < len(rows[t])}
    first = [d for d in found["differences"] if d["thread"] == found["first"]][0]
    if times:
        assert times[first["a"]["tid"]] == min(times.values())
    for tid, difference in got.items():
        path = [(f.get("name"), f["call"]) for f in difference["path"]]
        assert path == path_at(rows[tid], wanted[tid])
        for frame in difference["path"]:
            enter_row = rows[tid][frame["event_a"]]
            assert enter_row["kind"] in ("enter", "signal")
            assert enter_row["symbol"] == frame.get("name", "")
        assert difference["a"]["event"] == difference["b"]["event"] == wanted[tid]
    text = fails(1, "--first", one, two).stdout
    assert re.search(rf"^{len(wanted)} of {len(rows)} threads? differs?, first$", text, re.M), text


def change(text, seed, times):
    """Another function at some place of some threads; other times everywhere."""
    rng = random.Random(seed)
    lines = text.splitlines()
    places = [i for i, l in enumerate(lines) if " enter " in l]
    for place in rng.sample(places, times):
        lines[place] = lines[place].rsplit(" ", 1)[0] + " other"
    for i, line in enumerate(lines):
        words = line.split(" ")
        if words[0].isdigit():
            lines[i] = " ".join([str(int(words[0]) * 3 + 7), *words[1:]])
        elif words[0] == "thread":
            lines[i] = " ".join(words[:3] + [f"start={int(words[3][6:]) * 3 + 7}"])
    return "\n".join(lines) + "\n"


def check_text():
    """Tables, limits, and builds in other folders at other addresses."""
    head = 'module 0x1000 0x2000 /{0}/lib/prog\nsymbol {1:#x} slow /{0}/a.c:3\n' \
        'symbol {2:#x} twin /{0}/a.c:9\nsymbol {3:#x} twin /{0}/b.c:9\n'
    body = "0 1 enter {1:#x}\n{4} 1 enter {2:#x}\n{5} 1 exit\n{5} 1 enter {3:#x}\n" \
        "{6} 1 exit\n{7} 1 exit\n"
    one = make("one", (head + body).format("x", 0x1010, 0x1020, 0x1030, 10, 20, 40, 50))
    two = make("two", (head + body).format("y/z", 0x1110, 0x1220, 0x1330, 10, 20, 41, 1051))
    found = json.loads(run("diff", "--json", "--all", one, two))
    rows = {(r["name"], Path(r["file"]).name): r for r in found["functions"]["rows"]}
    assert set(rows) == {("slow", "a.c"), ("twin", "b.c")} and found["functions"]["same"] == 1
    assert rows[("slow", "a.c")]["self_change_ns"] == 1000
    text = run("diff", one, two, "--min-time", "1us", "--by", "function", "--no-pager")
    assert "1 changed, 0 new, 0 gone, 2 as before" in text and "+1.000 us" in text, text
    text = run("diff", one, two, "--all", "--limit", "1", "--by", "path",
               "--no-pager")
    assert "(1 more: --limit)" in text and "slow" in text, text
    assert "no difference in 6 events" in run("diff", "--first", one, two)
    order = make("order", (head + body).format("x", 0x1010, 0x1020, 0x1030, 10, 20, 40, 50),
                 "--resolution", "none")
    assert json.loads(run("diff", "--json", one, order))["functions"]["rows"] == []
    assert "no difference" in run("diff", "--first", one, order)


def check_places():
    """Threads are matched in the order of creation, whichever ran first; numbers start again."""
    text = 'process {0} "p"\nthread {0} {0} start=0\nthread {0} {1} start={3}\n' \
        "thread {0} {2} start={4}\n0 {0} enter main\n{3} {1} enter f\n{4} {2} enter g\n"
    one = make("one", text.format(10, 11, 12, 5, 6))
    for two in (text.format(20, 25, 29, 9, 7), text.format(30, 39, 3, 5, 6)):
        assert "no difference in 3 events of 3" in run("diff", "--first", one, make("two", two))
    fails(1, "--first", one, make("two", text.format(10, 12, 11, 5, 6)))


def check_ends():
    one = make("one", "0 1 enter main\n5 1 enter f\n6 1 exit\n9 1 exit\n")
    two = make("two", "0 1 enter main\n5 1 enter f\n6 1 exit\n")
    check_first(one, two)
    found = json.loads(fails(1, "--first", "--json", one, two).stdout)
    assert found["differences"][0]["what"] == "ends in B"
    assert "the thread ends after event 3" in fails(1, "--first", two, one).stdout
    more = make("more", "0 1 enter main\n5 1 enter f\n6 1 exit\n9 1 exit\n7 2 enter f\n8 2 exit\n")
    found = json.loads(fails(1, "--first", "--json", one, more).stdout)
    assert [d["what"] for d in found["differences"]] == ["only in B"]
    assert "is only in A" in fails(1, "--first", more, one).stdout
    unwound = make("unwound", "0 1 enter main\n5 1 enter f\n6 1 unwind 2\n")
    assert "unwind 2" in fails(1, "--first", one, unwound).stdout
    names = make("names", '0 1 enter "\\x1b[31m\\"<"\n5 1 exit\n')
    out = fails(1, "--first", one, names).stdout + run("diff", one, names, "--no-pager")
    assert "\x1b" not in out and r"\x1b[31m" in out


def check_why():
    """What two events differ by, when their names alone do not tell."""
    text = "module 0x1000 0x2000 /lib/{0}\nsymbol 0x1010 f /src/{1}\n0 1 enter 0x1010\n" \
        "1 1 enter {2}\n2 1 {3}\n"
    usual = ["one.so", "a.c", "g", "exit"]
    one = make("one", text.format(*usual))
    for place, other, why in ((0, "two.so", "other module"), (1, "b.c", "other file"),
                              (2, "h", "other function"), (3, "enter g", "other kind of event")):
        two = make("two", text.format(*usual[:place], other, *usual[place + 1:]))
        found = json.loads(fails(1, "--first", "--json", one, two).stdout)
        assert [d["why"] for d in found["differences"]] == [why], found
        assert f"\n  {why}\n" in fails(1, "--first", one, two).stdout
    signals = [make(f"s{n}", f"0 1 enter f\n1 1 signal {n}\n2 1 signal-end {n}\n") for n in (2, 3)]
    assert "\n  other argument\n" in fails(1, "--first", *signals).stdout


def check_other_caller():
    """A function that is called next, but by another caller, in both directions."""
    call = "{0} 1 enter f\n{0} 1 exit\n".format
    texts = {"inside": "0 1 enter main\n1 1 enter g\n" + call(2) + "3 1 exit\n",
             "behind": "0 1 enter main\n1 1 enter g\n3 1 exit\n" + call(4),
             "below": "0 1 enter main\n1 1 enter g\n2 1 enter w\n" + call(2) + "2 1 exit\n"
                      "3 1 exit\n",
             "last": "0 1 enter main\n1 1 enter g\n3 1 exit\n5 1 exit\n" + call(5),
             "beside": "0 1 enter main\n1 1 enter g\n2 1 enter h\n2 1 exit\n" + call(2)}
    paths = {name: make(name, text + ("" if name == "last" else "6 1 exit\n"))
             for name, text in texts.items()}
    for name, caller, shown in (("behind", "main", "main"), ("below", "w", "w"),
                                ("last", None, "(outermost)")):
        for one, two, a, b in (("inside", name, "g", shown), (name, "inside", shown, "g")):
            found = json.loads(fails(1, "--first", "--json", paths[one], paths[two]).stdout)
            told = found["differences"][0]
            assert (told["why"], told["called"]) == ("other caller", "f"), told
            assert {told["caller_a"], told["caller_b"]} == {"g", caller}, told
            text = fails(1, "--first", paths[one], paths[two]).stdout
            assert f"\n  other caller: f is called in A by {a}, in B by {b}\n" in text, text
            text = run("diff", paths[one], paths[two], "--no-pager")
            assert "\nOther callers: calls of 1 function moved\n" in text, text
            assert text.splitlines()[-1].split() == ["1", "f", a, b], text
    found = json.loads(fails(1, "--first", "--json", paths["inside"], paths["beside"]).stdout)
    assert found["differences"][0]["why"] == "other function", found


def check_refusals(one):
    fails(2, one)
    fails(2, one, one, one)
    fails(2, one, one, "--by", "module")
    fails(2, one, one, "--sort", "name")
    fails(2, one, one, "--first", "--by", "path")
    fails(2, "-", "-")
    fails(4, one, WORK / "absent.ttape")
    whole = one.read_bytes()
    (WORK / "short.ttape").write_bytes(whole[:-30])
    assert "truncated" in fails(3, one, WORK / "short.ttape", "--json").stderr
    damaged = bytearray(whole)
    for at in range(len(whole) // 2, len(whole) // 2 + 40):
        damaged[at] ^= 0x5A
    (WORK / "damaged.ttape").write_bytes(damaged)
    fails(3, one, WORK / "damaged.ttape", "--json")
    fails(4, "--first", one, WORK / "damaged.ttape")


def check_all():
    count = 0
    for seed, threads, size in ((1, 1, 60), (2, 5, 200), (3, 9, 400)):
        text, _ = make_text(seed, threads, size)
        other, _ = make_text(seed + 100, threads, size)
        one = make(f"{seed}a", text, "--partition-events", "150")
        two = make(f"{seed}b", other)
        check_rows(one, two)
        check_rows(one, two, 3)
        check_rows(one, two, 64, "--min-time", "300ns", "--min-change", "20%", least=300, part=0.2)
        check_rows(one, one)
        for times in (0, 1, 3):
            changed = make(f"{seed}c", change(text, seed, times))
            check_first(one, changed)
            check_rows(one, changed)
        check_first(one, two)
        count += 11
    check_text()
    check_places()
    check_ends()
    check_why()
    check_other_caller()
    check_refusals(one)
    return count


def main():
    try:
        count = check_all()
    finally:
        shutil.rmtree(WORK)
    print(f"ok: {count} comparisons")
    return 0


sys.exit(main())
