#!/usr/bin/env python3
"""R14, every verb that reads traces: a million frames that stay open, exits without calls, a clock
that runs back, thread numbers that come again and again, frames that are left at once. Resident
memory stays below 256 MiB, every output is whole, and `report` says what is odd."""
import json
import tempfile
from pathlib import Path

import bounded
from bounded import run

EXPORT_KIB = 320 << 10 # it keeps each open call and the frame that it shows
OPEN = 100_000 if bounded.SANITIZED else 1_000_000
EXITS, THREADS, BACK = 60_000, 2_000, 20_000
COUNTED = (b"\n", b'"ph":"B"', b'"ph":"E"')
MOST_LEVELS = 4096  # of `tree`
DEEP = [["info"], ["verify"], ["report"], ["report", "--exact"], ["tree"],
        ["tree", "--all"], ["graph"],
        ["dump", "--format", "csv"], ["export", "--format", "chrome"]]
ODD = [*DEEP, ["export", "--format", "csv"], ["export", "--format", "speedscope"],
       ["export", "--format", "folded"], ["export", "--format", "callgrind"],
       ["report", "--exact", "--by", "call"], ["report", "--by", "thread"],
       ["tree", "--full", "--fold"], ["tree", "--json"], ["graph", "--format", "dot"],
       ["graph", "--json"],
       ["dump"], ["dump", "--format", "ndjson"], ["export", "--format", "perfetto"],
       ["export", "--format", "sqlite"], ["export", "--format", "ctf"], ["cut", "--events", "5.."],
       ["merge"], ["recover"], ["symbolize"]]
INTO_FILES = ("perfetto", "sqlite", "ctf", "callgrind", "cut", "merge", "recover", "symbolize")


def open_frames():
    for i in range(OPEN):
        yield f"{i} 1 enter f{i % 7}"


def odd_events():
    """By threads: exits without calls, a clock that runs back; one number that is many threads'."""
    yield "process 1 odd\nthread 1 2 exits"
    for i in range(EXITS):
        yield f"{i} 2 exit f{i % 7}"
    for k in range(THREADS):
        yield f"thread 1 3 again{k} start={k * 10 + 1}"  # `merge` tells threads apart by it
        yield f"{k * 10} 3 enter a\n{k * 10 + 5} 3 enter b\n{k * 10 + 7} 3 exit a"
    yield "1 4 enter last"
    for i in range(BACK):
        yield f"{BACK - i} 4 enter f{i % 7}\n{BACK - i} 4 enter g\n{BACK - i - 1} 4 unwind 2"


def check_all(trace, verbs, work):
    """What each said, by its words; 3: an output that leaves out something says so. Of long ones
    counts: a child's resident memory begins with what this process has."""
    said = {}
    for words in verbs:
        target = ["-o", work / f"{trace.stem}.{words[-1]}"] if set(words) & set(INTO_FILES) else []
        most_kib = EXPORT_KIB if words[0] == "export" else bounded.MOST_KIB
        ended = run(*words, trace, *target, good=(0, 3, 4), most_kib=most_kib)
        missing = b"not in this build" in ended.err or b"cannot load" in ended.err
        assert ended.status != 4 or missing, str(ended)
        assert ended.status != 3 or ended.err.startswith(b"tracetape: "), str(ended)
        assert ended.out or target or missing, f"{ended}: says nothing"
        counts = {key: ended.out.count(key) for key in COUNTED}
        said[" ".join(words)] = ended.out if len(ended.out) < 1 << 20 else counts
    return said


def check_open(work):
    trace = bounded.make(work / "open.ttape", open_frames())
    verbs = [words for words in DEEP if words != ["tree"]]  # as long as with --all
    said = check_all(trace, verbs, work)
    assert said["verify"].endswith(b": ok\n")
    note = f"open at the end, without a duration: {OPEN:,} frames\n".encode()
    assert note in said["report"] and note in said["report --exact"], said["report"][-300:]
    assert said["dump --format csv"][b"\n"] == OPEN + 1
    assert said["tree --all"].count(b"[open at the end]") == MOST_LEVELS, said["tree --all"][-300:]
    slices = said["export --format chrome"]
    assert slices[b'"ph":"B"'] == slices[b'"ph":"E"'] == OPEN, slices
    report = json.loads(run("report", "--json", trace).out)
    assert report["open_frames"] == report["calls"] == OPEN
    assert sum(row["ended"] for row in report["rows"]) == 0
    assert sum(row["self_ns"] for row in report["rows"]) == report["span_ns"] == OPEN - 1
    assert "open_frames" not in json.loads(run("report", "--json", "--time", "..50", trace).out)


def check_odd(work):
    trace = bounded.make(work / "odd.ttape", odd_events())
    said = check_all(trace, ODD, work)
    assert said["verify"].endswith(b": ok\n")
    for words, wanted, unwanted in (("report", (), b"without a call"),
                                    ("report --exact", (f"{EXITS:,} exits",), b"more")):
        notes = said[words].decode().rpartition("\n\n")[2].splitlines()
        assert notes[0] == "open at the end, without a duration: 1 frame", notes
        assert notes[-1] == "times below zero: the clock of a thread steps backwards", notes
        assert all(any(w in note for note in notes) for w in wanted), notes
        assert unwanted not in said[words]
    report = json.loads(run("report", "--exact", "--json", trace).out)
    rows = {row["name"]: row for row in report["rows"]}
    assert report["unseen_exits"] == EXITS and report["open_frames"] == 1
    assert (rows["a"]["calls"], rows["a"]["total_ns"]) == (THREADS, 7 * THREADS), rows["a"]
    assert (rows["b"]["ended"], rows["b"]["self_ns"]) == (THREADS, 2 * THREADS), rows["b"]
    assert rows["g"]["min_ns"] == -1 and rows["last"]["ended"] == 0
    threads = json.loads(run("report", "--json", "--by", "thread", trace).out)["rows"]
    assert sum(row["tid"] == 3 for row in threads) == THREADS and len(threads) == THREADS + 2
    run("diff", trace, trace)
    balanced = bounded.make(work / "balanced.ttape", bounded.calls(50))
    notes = (b"open at the end", b"without a call", b"below zero")
    assert not any(note in run("report", "--exact", balanced).out for note in notes)


def main():
    with tempfile.TemporaryDirectory() as name:
        check_open(Path(name))
        check_odd(Path(name))
    print(f"ok: {OPEN} open frames, and others; resident below {bounded.MOST_KIB} KiB")


main()
