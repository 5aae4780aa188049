#!/usr/bin/env python3
"""The longest calls of random traces are what SQLite says of the exported calls: of all functions
and of each, by duration and by own time, of threads and time ranges, in pieces too; each has a name
that tree and dump open; and no more partitions are decoded than calls asked for."""
import json
import os
import random
import sqlite3
import sys
import tempfile
from pathlib import Path

from graph_model import make_text, run

ROUNDS = 40 if os.environ.get("TTAPE_THOROUGH") == "1" else 6
COLUMNS = {"duration": "duration_ns", "self": "self_ns"}
ENDINGS = {"still_open": "open", "exit": "returned"}


def slow(path, *words):
    return json.loads(run("slow", "--json", path, *words))


class Calls:
    """What SQLite knows of a file's calls."""

    def __init__(self, path, place):
        base = place / (path.name + ".sqlite")
        run("export", "--format", "sqlite", path, "-o", base, "--force")
        self.db = sqlite3.connect(base)

    def names(self):
        return [row[0] for row in self.db.execute(
            "SELECT DISTINCT symbol FROM calls JOIN sites USING(site) WHERE symbol <> ''")]

    def longest(self, column, count, where="1", *values):
        return [row[0] for row in self.db.execute(
            f"SELECT {column} FROM calls JOIN sites USING(site) WHERE ending <> 'lost' AND {where} "
            f"ORDER BY {column} DESC LIMIT {count}", values)]

    def has(self, call):
        found = self.db.execute(
            "SELECT c.ending FROM calls c JOIN sites USING(site) WHERE stream = ? AND start_ns = ? "
            "AND duration_ns = ? AND self_ns = ? AND symbol = ?",
            (call["stream"], call["start_ns"], call["duration_ns"], call["self_ns"],
             call["name"])).fetchall()
        return call["end"] in [ENDINGS.get(row[0], "unwound") for row in found]


def check(path, calls, count, *words, by="duration", where="1", values=()):
    """One question: as long as SQLite's, each of them a call that is there."""
    options = ["--self"] if by == "self" else []
    got = slow(path, *words, "--limit", count, *options)
    want = calls.longest(COLUMNS[by], count, where, *values)
    assert [call[COLUMNS[by]] for call in got["calls"]] == want, (words, by, got["calls"], want)
    for call in got["calls"]:
        assert calls.has(call), (words, call)
    plain = where == "1" or where == "symbol = ?"
    assert not plain or by == "self" or got["decoded"] <= count, got
    return got["calls"]


def open_by_name(path, call):
    """The name that slow gives opens the same call everywhere."""
    if call["id"] is None:
        return
    node = json.loads(run("tree", "--json", path, "--open", call["id"], "--depth", 0))
    nodes = [n for n in node["nodes"] if n["kind"] != "thread" and n.get("name") == call["name"]]
    assert any(n["start_ns"] == call["start_ns"] and n["time_ns"] == call["duration_ns"]
               for n in nodes), (call, node)
    lines = [json.loads(line) for line in
             run("dump", "--format", "ndjson", path, "--open", call["id"]).splitlines()]
    first, last = lines[0], lines[-1]
    assert (first["event"], first["time_ns"], first["symbol"], first["depth"]) == \
        (call["event"], call["start_ns"], call["name"], call["depth"]), (call, first)
    assert last["time_ns"] == call["start_ns"] + call["duration_ns"], (call, last)
    assert call["end"] == "open" or last["event"] == call["end_event"], (call, last)


def check_file(path, place, rng):
    calls = Calls(path, place)
    names = calls.names()
    for by in COLUMNS:
        for call in check(path, calls, 5, by=by):
            open_by_name(path, call)
        for name in rng.sample(names, min(3, len(names))):
            check(path, calls, rng.choice((1, 3, 1000)), name, by=by, where="symbol = ?",
                  values=(name,))
        stream = rng.choice(calls.db.execute("SELECT stream FROM streams").fetchall())[0]
        check(path, calls, 7, "--stream", stream, by=by, where="stream = ?", values=(stream,))
        ends = [row[0] for row in calls.db.execute("SELECT start_ns + duration_ns FROM calls")]
        first, last = sorted(rng.choices(ends, k=2))
        check(path, calls, 7, "--time", f"{first}..{last + 1}", by=by,
              where="start_ns + duration_ns BETWEEN ? AND ?", values=(first, last))
    return calls


def with_coroutine(text, rng):
    """The first thread goes to another stack and back now and then, where one call goes on."""
    lines = text.splitlines()
    events = [i for i, line in enumerate(lines) if line.split()[1:2] == ["100"]]
    events = [i for i in events[:-1] if int(lines[i + 1].split()[0]) > int(lines[i].split()[0]) + 3]
    places = sorted(rng.sample(events, 4), reverse=True)
    for turn, at in zip(("exit", "marker tick", "marker tick", "enter coroutine"), places):
        when = lines[at].split()[0]
        lines[at + 1:at + 1] = [f"{when} 100 switch 1", f"+0 100 {turn}", "+3 100 switch 0"]
    return "\n".join(lines) + "\n"


def random_traces(place):
    for seed in range(ROUNDS):
        rng = random.Random(seed)
        text, _ = make_text(seed, rng.randrange(1, 4), 300)
        source, whole = place / "in.txt", place / "whole.ttape"
        source.write_text(with_coroutine(text, rng) if seed % 2 else text)
        run("convert", source, "-o", whole, "--force", "--partition-events",
            rng.choice((7, 40, 100000)))
        calls = check_file(whole, place, rng)
        piece = place / "piece.ttape"
        events = json.loads(run("info", "--json", whole))
        middle = (events["time_first_ns"] + events["time_last_ns"]) // 2
        run("cut", whole, "-o", piece, "--force", "--time", f"{middle}..")
        for by in COLUMNS:
            check(piece, calls, 5, by=by, where="start_ns + duration_ns >= ?", values=(middle,))


TEXT = """process 7 prog
thread 7 1 one
0 1 enter main
100 1 enter slow 7 "x"
400 1 exit - 3
500 1 enter quick
510 1 exit
600 1 enter left
700 1 unwind 1
800 1 enter stuck
2800 1 leaf mark
"""


def few_are_decoded(place):
    """The ten longest are in one partition of twelve, and its bound says that no other can be."""
    lines, now = ["process 7 prog", "thread 7 1 one"], 0
    for number in range(120):
        now += 10
        lines.append(f"{now} 1 enter f")
        now += 1000 + number if 40 <= number < 50 else number + 1
        lines.append(f"{now} 1 exit")
    (place / "few.txt").write_text("\n".join(lines) + "\n")
    run("convert", place / "few.txt", "-o", place / "few.ttape", "--partition-events", 20)
    found = json.loads(run("slow", "--json", place / "few.ttape", "f", "--jobs", 1))
    assert [call["duration_ns"] for call in found["calls"]] == list(range(1049, 1039, -1)), found
    assert (found["partitions"], found["decoded"]) == (12, 1), found


def words_and_values(place):
    """What a person sees, and what programs get."""
    path = place / "known.ttape"
    (place / "known.txt").write_text(TEXT)
    run("convert", place / "known.txt", "-o", path, "--partition-events", 3)
    calls = slow(path)["calls"]
    assert [(c["name"], c["duration_ns"], c["self_ns"], c["end"], c["id"]) for c in calls] == [
        ("main", 2800, 390, "open", "s0e0"), ("stuck", 2000, 2000, "open", "s0e7"),
        ("slow", 300, 300, "returned", "s0e1"), ("left", 100, 100, "unwound", "s0e5"),
        ("quick", 10, 10, "returned", "s0e3")], calls
    assert (calls[2]["arguments"], calls[2]["results"], calls[2]["path"]) == \
        (["7", '"x"'], ["3"], ["main"]), calls[2]
    shown = run("slow", path)
    for part in ("slow(7, \"x\") = 3", "stuck (open at the end)", "left (unwound)"):
        assert part in shown, shown
    assert slow(path, "slow", "--thread", 1)["calls"] == [calls[2]]
    assert [c["name"] for c in slow(path, "--first", "--limit", 3)["calls"]] == \
        ["main", "slow", "quick"]


def ends_with(status, *words):
    """The command's exit status is that."""
    run(*words, status=status)


def refused(place):
    path = place / "known.ttape"
    ends_with(4, "slow", path, "nothing")
    ends_with(2, "slow", path, "--limit", 0)
    ends_with(2, "slow", path, "--self", "--first")
    ends_with(2, "slow", path, "--self", "--on-cpu")
    ends_with(4, "slow", path, "--on-cpu")         # it does not say when threads ran
    ends_with(4, "dump", path, "--open", "s0e2")   # an exit
    ends_with(4, "dump", path, "--open", "s9e0")
    ends_with(2, "dump", path, "--open", "0e1")
    ends_with(2, "dump", path, "--open", "s0e1", "--stream", 0)
    untimed = place / "untimed.ttape"
    run("convert", place / "known.txt", "-o", untimed, "--resolution", "none")
    ends_with(4, "slow", untimed)
    data = bytearray(path.read_bytes())
    for at in range(len(data) // 4, len(data) // 2, 16):
        data[at] ^= 0x55
    (place / "damaged.ttape").write_bytes(data)
    ends_with(3, "slow", place / "damaged.ttape")


def main():
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        few_are_decoded(place)
        words_and_values(place)
        refused(place)
        if "  sqlite " not in run("export", "--help"):
            print("SKIPPED: this build has no export to SQLite")
            return 77
        random_traces(place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
