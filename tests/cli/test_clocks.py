#!/usr/bin/env python3
"""Clocks of several machines (spec/clocks.md): `merge` puts traces on one axis and says within
what; the truth is always within that. What cannot be true is named."""
import json
import os
import random
import re
import subprocess
import tempfile
from pathlib import Path

BIN = os.environ["TTAPE_BIN"]
SECOND = 10**9
NOW = 1_790_000_000 * SECOND
random.seed(46)


def run(*words, status=0, text=None):
    done = subprocess.run([BIN, *map(str, words)], text=True, input=text, capture_output=True,
                          check=False)
    assert done.returncode == status, (words, done)
    return done


def make(path, events, **meta):
    """events: (time, "sent" or "received" or a function, id)"""
    lines = [f"meta {key} {value}" for key, value in meta.items()]
    lines += ["process 7 prog", "thread 7 7 main", "symbol 0x10 sent marker",
              "symbol 0x20 received marker", f"symbol 0x30 of_{path.stem}"]
    lines += [f"{time} 7 marker {what} {number}" for time, what, number in sorted(events)]
    run("convert", "-", "-o", path, "-f", text="\n".join(lines) + "\n")
    return path


def metadata(path):
    """By scope, then by key."""
    found = {}
    for item in json.loads(run("info", "--json", path).stdout)["metadata"]:
        found.setdefault(item["scope"], {})[item["key"]] = item["value"]
    return found


def merge(work, *files):
    out = work / "merged.ttape"
    said = run("merge", "-f", "-o", out, *files).stderr
    run("verify", out)
    return metadata(out), said


def times(path):
    """Times of events by scope's thread."""
    found = {}
    for line in run("dump", "--format", "csv", path).stdout.splitlines()[1:]:
        stream, _, time, *_ = line.split(",")
        found.setdefault(int(stream), []).append(int(time))
    return found


PLAIN = [(1000, "work", 1), (5000, "work", 2)]


def check_one_clock(work):
    """C-CLK-01: nothing moves, nothing is said."""
    pairs = (({"boot_id": "x", "realtime_offset_ns": NOW},
              {"boot_id": "x", "realtime_offset_ns": 9 * NOW // 10}),
             ({"host": "h"}, {"host": "h", "realtime_offset_ns": NOW}),
             ({"host": "h", "boot_id": "x", "realtime_offset_ns": NOW},
              {"host": "h", "realtime_offset_ns": NOW + SECOND - 1}), ({}, {}))
    for one, two in pairs:
        found, said = merge(work, make(work / "a.ttape", PLAIN, **one),
                            make(work / "b.ttape", PLAIN, **two))
        assert said == "" and all("clock_shift_ns" not in m for m in found.values()), (found, said)
        assert times(work / "merged.ttape") == {0: [1000, 5000], 1: [1000, 5000]}
    others = (({"boot_id": "x", "realtime_offset_ns": NOW},
               {"boot_id": "y", "realtime_offset_ns": NOW}),
              ({"boot_id": "x", "realtime_offset_ns": NOW},
               {"boot_id": "x", "time_namespace": 7, "realtime_offset_ns": NOW}),
              ({"host": "h", "realtime_offset_ns": NOW}, {"host": "g", "realtime_offset_ns": NOW}),
              ({"host": "h", "realtime_offset_ns": NOW},
               {"host": "h", "realtime_offset_ns": NOW + SECOND}))
    for one, two in others:
        found, said = merge(work, make(work / "a.ttape", PLAIN, **one),
                            make(work / "b.ttape", PLAIN, **two))
        assert "the clock of" in said and "clock_shift_ns" in found[1], (found, said)


def check_offsets(work):
    """C-CLK-02, C-CLK-03, C-CLK-04, C-MRG-01 to C-MRG-03"""
    a = make(work / "a.ttape", PLAIN, host="one", boot_id="x", realtime_offset_ns=NOW,
             realtime_error_ns=1000, clock_error_ns=50, utc_error_ns=2_000_000,
             utc_error_end_ns=3_000_000)
    b = make(work / "b.ttape", PLAIN, host="two", boot_id="y", realtime_offset_ns=NOW - 10 * SECOND,
             realtime_step_1_ns=4000, realtime_offset_1_ns=NOW - 10 * SECOND - 500_000,
             realtime_error_ns=2000, checkpoint_ns=1000, utc_error_ns=1_000_000,
             utc_error_end_ns=1_000_000, utc_error_most_ns=7_000_000)
    found, said = merge(work, a, b)
    moved = 10 * SECOND + 500_000
    assert found[0]["clock_shift_ns"] == moved and found[1]["clock_shift_ns"] == 0, found
    assert found[0]["axis_error_ns"] == 0
    assert found[1]["axis_error_ns"] == 1050 + 3_000_000 + 7_000_000 + 2000 + 500_000, found
    assert found[0]["realtime_offset_ns"] == NOW - moved
    assert times(work / "merged.ttape") == {0: [1000 + moved, 5000 + moved], 1: [1000, 5000]}
    assert "is 10.000500000 s ahead of that of" in said and "within 11 ms" in said, said
    again, _ = merge(work, b, a)  # the same shifts, whoever is first
    assert {m["host"]: m["clock_shift_ns"] for m in again.values()} == {"one": moved, "two": 0}
    whole = work / "whole.ttape"
    (work / "merged.ttape").rename(whole)
    twice, said = merge(work, whole)  # what is on one axis stays there
    assert {m["host"]: m["clock_shift_ns"] for m in twice.values()} == {"one": moved, "two": 0}
    assert run("dump", whole).stdout == run("dump", work / "merged.ttape").stdout
    c = make(work / "c.ttape", PLAIN, host="three", boot_id="z", realtime_offset_ns=NOW - SECOND,
             checkpoint_ns=1000, utc_error_ns=5)
    found, said = merge(work, b, c)
    assert "axis_error_ns" not in found[1] and "nobody knows" in said, (found, said)
    assert found[1]["checkpoint_ns"] == 1000 + found[1]["clock_shift_ns"]
    d = make(work / "d.ttape", PLAIN, host="four")
    found, said = merge(work, a, d, b)
    assert "says nothing of its clock" in said and found[1]["clock_shift_ns"] == 0
    assert found[2]["clock_shift_ns"] == 0 and found[0]["clock_shift_ns"] == moved


def simulate(work, count, hosts, delay, drift, known, offset=True):
    """Hosts whose clocks are off by what is returned, and send each other messages."""
    true = [0] + [random.randint(-40_000_000, 40_000_000) for _ in hosts[1:]]
    rate = [0] + [random.uniform(-drift, drift) for _ in hosts[1:]]
    boots = [random.randint(10**13, 2 * 10**13) for _ in hosts]
    span = 60 * SECOND
    events = [[] for _ in hosts]

    def clock(host, at):
        return boots[host] + true[host] + at + round(rate[host] * (at - span // 2))
    for host, _ in enumerate(hosts):
        events[host] += [(clock(host, 0), "work", 0), (clock(host, span), "work", 0)]
    for number in range(count):
        one, two = random.sample(range(len(hosts)), 2)
        at = random.randint(0, span - SECOND)
        late = random.randint(delay, 3 * delay)
        events[one].append((clock(one, at), "sent", number))
        events[two].append((clock(two, at + late), "received", number))
    files = []
    for host, name in enumerate(hosts):
        meta = {"host": name, "boot_id": name}
        if offset:
            meta["realtime_offset_ns"] = NOW - boots[host]
            meta["realtime_error_ns"] = 1000
        if known:
            meta |= {"utc_error_ns": 50_000_000, "utc_error_end_ns": 50_000_000}
        files.append(make(work / f"{name}.ttape", events[host], **meta))
    return files, [clock(host, 0) for host in range(len(hosts))], \
        [clock(host, span) for host in range(len(hosts))], rate


def check_truth(work):
    """C-PAR-01 to C-PAR-05: whatever clocks and messages are, the truth is within what is said."""
    for turn in range(24):
        hosts = ["p", "q", "r"][:2 + turn % 2]
        drift = 0 if turn % 3 == 0 else 3e-5
        known = turn % 4 < 2
        files, begin, end, rate = simulate(work, [60, 0, 3][turn // 8], hosts, 20_000, drift, known,
                                           offset=turn % 5 != 0)
        found, said = merge(work, *files)
        assert "cannot be" not in said, said
        found = {m["host"]: m for m in found.values()}
        shifts = [found[name].get("clock_shift_ns", 0) for name in hosts]
        for host in range(1, len(hosts)):
            error = found[hosts[host]].get("axis_error_ns")
            if error is None:
                assert turn >= 8, (turn, said)
                continue
            for moment in (begin, end):
                off = (moment[host] + shifts[host]) - (moment[0] + shifts[0])
                assert abs(off) <= error, (turn, host, off, error, rate)
            if turn < 8 and drift == 0:
                assert error < 150_000, (turn, error)  # by messages of 20 to 60 us
            if turn < 8 and drift != 0 and abs(rate[host]) > 1e-5:
                told = re.search(rf"'{files[host]}'.* goes (fast|slow) by ([0-9.]+) ppm", said)
                assert told, said
                ppm = float(told[2]) * (1 if told[1] == "fast" else -1)
                assert abs(ppm - rate[host] * 1e6) < 10, (ppm, rate[host])


def check_short(work):
    """Clocks that part do so by less in a shorter time: a part of both is placed more exactly."""
    rate = [0, 0]
    while abs(rate[1]) < 3e-5:
        files, begin, end, rate = simulate(work, 6000, ["p", "q"], 20_000, 1e-4, True)
    whole = merge(work, *files)[0][1]["axis_error_ns"]
    assert whole > 30 * SECOND * 3e-5, whole
    parts = []
    for host, file in enumerate(files):
        middle = (begin[host] + end[host]) // 2
        parts.append(work / f"part{host}.ttape")
        run("cut", "-t", f"{middle - SECOND // 2}..{middle + SECOND // 2}", "-o", parts[-1], file)
    part = merge(work, *parts)[0][1]["axis_error_ns"]
    assert part < 150_000 < whole, (part, whole)


def check_contradictions(work):
    """C-PAR-05: the pair that cannot be is named and left out; the others hold."""
    meta = {"realtime_error_ns": 0, "realtime_offset_ns": NOW}
    one = [(1000 * i, "sent", i) for i in range(100)]
    two = [(1000 * i + 300, "received", i) for i in range(100)]
    two += [(1000 * i + 500, "sent", 1000 + i) for i in range(100)]
    one += [(1000 * i + 900, "received", 1000 + i) for i in range(100)]
    one.append((50_100, "sent", "lie"))
    two.append((40_100, "received", "lie"))
    one += [(5, "sent", "twice"), (6, "sent", "twice")]
    two += [(7, "received", "twice"), (8, "received", "alone")]
    files = (make(work / "a.ttape", one, boot_id="x", **meta),
             make(work / "b.ttape", two, boot_id="y", **meta))
    found, said = merge(work, *files)
    assert said.count("cannot be") == 1 and "1 ids were sent" in said, said
    number = re.search(r"b.ttape', event (\d+) of", said)[1]
    where = [line for line in run("dump", files[1], "--format", "csv").stdout.splitlines()
             if ",40100," in line]
    assert where and number, (where, said)
    assert found[1]["axis_error_ns"] < 500, found
    # against what the kernels say
    tight = {"utc_error_ns": 10, "utc_error_end_ns": 10} | meta
    files = (make(work / "a.ttape", [(100_000, "sent", 1), (9, "work", 1)], boot_id="x", **tight),
             make(work / "b.ttape", [(10, "received", 1)], boot_id="y", **tight))
    found, said = merge(work, *files)
    assert said.count("cannot be") == 1 and found[1]["axis_error_ns"] < 30, (found, said)
    # around three hosts
    ring = []
    for host in range(3):
        ring.append(make(work / f"{host}.ttape",
                         [(50_000, "sent", host), (10_000, "received", (host + 2) % 3)],
                         boot_id=f"boot{host}", **meta))
    found, said = merge(work, *ring)
    assert "cannot be" in said, said


def check_many(work):
    """`graph` of several files is the graph of what merge makes; one damaged is named."""
    hosts = ["p", "q"]
    files, *_ = simulate(work, 20, hosts, 20_000, 0, True)
    merge(work, *files)
    one = run("graph", "--json", work / "merged.ttape").stdout.splitlines()
    many = run("graph", "--json", *files).stdout.splitlines()
    assert [line for line in one if '"file"' not in line] == \
        [line for line in many if '"file"' not in line]
    (work / "bad.ttape").write_text("no trace\n")
    (work / "all.list").write_text("p.ttape\nbad.ttape\nq.ttape\n")
    done = run("graph", "--json", f"@{work}/all.list", status=3)
    assert "bad.ttape" in done.stderr and done.stdout.splitlines()[2:] == many[2:], done
    run("report", files[0], "--rollup", work / "r.rollup")
    done = run("graph", files[0], work / "r.rollup", status=3)
    assert "is a rollup" in done.stderr
    run("graph", work / "r.rollup", work / "bad.ttape", status=4)
    for verb in ("graph", "graph --reach work"):
        run(*verb.split(), files[0], files[1], "--across", "sideways", status=2)


def check_builds(work):
    """A function of two builds is one node, or two."""
    for name, start in (("a", "0x1000"), ("b", "0x2000")):
        run("convert", "-", "-o", work / f"{name}.ttape", "-f", text=f"""process 7 prog
thread 7 7 main
module {start} 0x9000 /opt/{name}/app build-id={name * 8}
symbol {start[:4]}10 alpha
100 7 enter {start[:4]}10
200 7 exit
""")
    files = (work / "a.ttape", work / "b.ttape")
    for words, count in (((), 1), (("--across", "builds"), 1), (("--across", "none"), 2)):
        nodes = json.loads(run("graph", "--json", *words, *files).stdout)["nodes"]
        assert sum(node["name"] == "alpha" for node in nodes) == count, (words, nodes)
        paths = json.loads(run("graph", "--json", "--reach", "alpha", *words, *files).stdout)
        assert len(paths["paths"]) == count, (words, paths)


def main():
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        check_one_clock(work)
        check_offsets(work)
        check_truth(work)
        check_short(work)
        check_contradictions(work)
        check_many(work)
        check_builds(work)
    print("clocks: ok")


main()
