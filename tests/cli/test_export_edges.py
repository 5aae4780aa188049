#!/usr/bin/env python3
"""Exports of traces that are odd: without times, damaged, with holes, merged, with a clock that
steps back or counts from 1970, with more stacks than memory should hold; and the ways out."""
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import export_model
import export_readers as readers

TOOL = os.environ["TTAPE_BIN"]
TEXTS = ("chrome", "speedscope", "folded", "callgrind", "csv")
SANITIZED = bool(os.environ.get("TTAPE_SANITIZE"))


def call(*words, data=None, **more):
    return subprocess.run([TOOL, *map(str, words)], check=False, capture_output=True, input=data,
                          **more)


def run(*words, good=0, data=None):
    done = call(*words, data=data)
    assert done.returncode == good, (words, done.returncode, done.stderr[:400])
    return done.stdout


def export(name, trace, *options, good=0):
    return run("export", "--format", name, trace, *options, good=good)


def convert(place, text, *options, good=0):
    run("convert", "-", "-o", place, "--force", *options, data=text.encode(), good=good)
    return place


def has(name):
    return b"not in this build" not in call("export", "--format", name, "/nonexistent").stderr


def frames_of_chrome(data):
    return Counter(f[:4] for t in readers.read_chrome(data)[0].values() for f in t.frames)


# ---- traces ----

def without_times(work):
    """An event's number stands for its time: a frame is as long as the events in it."""
    trace = convert(work / "order.ttape", export_model.make_text(4, 300), "--resolution", "none",
                    "--partition-events", "500")
    wanted = export_model.Selection(export_model.dump(TOOL, trace))
    got = Counter(f[:4] for t in readers.read_chrome(export("chrome", trace))[0].values()
                  for f in t.frames)
    assert got == Counter((f.start, f.end, f.name, f.ending) for f in wanted.frames)
    want = {tuple(n.replace(";", ":") for n in p): t for p, t in wanted.folded().items()}
    assert readers.read_folded(export("folded", trace)) == want
    assert b"\nevents: Events\n" in export("callgrind", trace)
    for name in TEXTS:
        export(name, trace, "--time", "1..2", good=4)
        export(name, trace, "--min-time", "1", good=4)
    if has("ctf"):
        export("ctf", trace, "-o", work / "order.ctf", good=4)
        assert not list(work.glob("order.ctf*"))


def calls(count, names=7, step=10):
    lines = ["1 1 enter main"]
    for i in range(count):
        lines += [f"{step * i + 2} 1 enter f{i % names}", f"{step * i + 6} 1 exit"]
    return "\n".join(lines + [f"{step * count + 9} 1 exit"]) + "\n"


def damaged(work):
    """What is behind damage is exported, and frames that the damage hides are not invented."""
    trace = convert(work / "whole.ttape", calls(3000), "--partition-events", "1000")
    info = json.loads(run("info", "--json", "--all", trace))
    hit = info["partition_list"][2]
    data = bytearray(trace.read_bytes())
    data[hit["offset"] + 100] ^= 0x55  # in the partition's head
    place = work / "damaged.ttape"
    place.write_bytes(data)
    lost = hit["events"]
    got = frames_of_chrome(export("chrome", place, good=3))
    # main, what is left of the others, and the call whose two ends the damage parts
    assert sum(got.values()) == 1 + (6000 - lost) // 2 + 1, sum(got.values())
    assert Counter(k[3] for k in got.elements())["lost"] == 1
    assert [k for k in got if k[2] == "main"] == [(1, 30009, "main", "exit")]
    gaps = [p for t in readers.read_chrome(export("chrome", place, good=3))[0].values()
            for p in t.points]
    assert [p[3] for p in gaps] == [{"reason": "damage", "lost": str(lost)}], gaps
    for name in TEXTS:
        export(name, place, good=3)
    stacks = readers.read_folded(export("folded", place, good=3))
    assert sum(stacks.values()) < 30008 - 9 * lost // 2
    if has("ctf"):
        export("ctf", place, "-o", work / "damaged.ctf", good=3)
    if has("sqlite"):
        export("sqlite", place, "-o", work / "damaged.db", good=3)
        base = readers.open_sqlite(work / "damaged.db")
        assert base.execute("SELECT number, detail FROM points").fetchall() == [(lost, "damage")]


def with_holes(work):
    """Pieces of a trace, merged without the one between them; and a piece alone."""
    text = export_model.make_text(5, 700)
    trace = convert(work / "full.ttape", text, "--partition-events", "400")
    for name, events in (("first", "..300"), ("last", "500..")):
        run("cut", trace, "-o", work / f"{name}.ttape", "--events", events)
    run("merge", "-o", work / "holes.ttape", work / "first.ttape", work / "last.ttape")
    streams = export_model.dump(TOOL, trace)
    edge = {n: e[500] for n, e in streams.items()}
    pieces = ["holes.ttape", "last.ttape"]
    for piece in pieces:
        for name in TEXTS:
            export(name, work / piece)
        tracks, _, _ = readers.read_chrome(export("chrome", work / piece))
        got = Counter(f[2] for t in tracks.values() for f in t.frames if f[0] > max(
            e["time_ns"] for e in edge.values()))
        wanted = export_model.Selection(streams)
        assert got == Counter(f.name for f in wanted.frames if f.start > max(
            e["time_ns"] for e in edge.values())), piece
        if has("ctf"):
            export("ctf", work / piece, "-o", work / f"{piece}.ctf")
    lost = [p[3] for t in readers.read_chrome(export("chrome", work / "holes.ttape"))[0].values()
            for p in t.points if p[3].get("reason") == "cut"]
    assert [gap["lost"] for gap in lost] == ["200"] * 4, lost


def stepping_back(work):
    """A clock that steps back: said, and no negative length anywhere."""
    trace = convert(work / "steps.ttape", "5 1 enter a\n9 1 enter b\n7 1 exit\n6 1 exit\n"
                    "3 2 enter c\n2 2 exit\n", "--strict")
    for name in TEXTS:
        done = call("export", "--format", name, trace)
        assert done.returncode == 3 and b"steps back 3 times" in done.stderr, (name, done.stderr)
    assert frames_of_chrome(export("chrome", trace, good=3)) == Counter(
        [(9, 9, "b", "exit"), (5, 9, "a", "exit"), (3, 3, "c", "exit")])
    assert readers.read_folded(export("folded", trace, good=3)) == {("a",): 4}


def merged(work):
    """Two traces with the same numbers: their threads stay apart."""
    one = convert(work / "one.ttape", "process 7 a\nthread 7 7\n1 7 enter x\n9 7 exit\n")
    two = convert(work / "two.ttape", "process 7 b\nthread 7 7\n2 7 enter y\n8 7 exit\n")
    run("merge", "-o", work / "both.ttape", one, two)
    tracks, _, processes = readers.read_chrome(export("chrome", work / "both.ttape"))
    assert len(tracks) == 2 and sorted(processes.values()) == ["a", "b"]
    assert sorted(f[2] for t in tracks.values() for f in t.frames) == ["x", "y"]
    assert len({pid for pid, _ in tracks}) == len({tid for _, tid in tracks}) == 2


def since_1970(work):
    """Times that floating point cannot hold are written from an origin that the file names."""
    start = 1_700_000_000_123_456_789
    trace = convert(work / "epoch.ttape", f"{start} 1 enter a\n{start + 1} 1 enter b\n"
                    f"{start + 2} 1 exit\n{start + 5} 1 exit\n")
    data = export("chrome", trace)
    assert frames_of_chrome(data) == Counter([(start, start + 5, "a", "exit"),
                                              (start + 1, start + 2, "b", "exit")])
    assert json.loads(data)["traceEvents"][2]["ts"] == 123456.789
    scope = json.loads(export("speedscope", trace))
    assert scope["profiles"][0]["startValue"] == start - int(scope["time_origin_ns"])


def many_stacks(work):
    """More distinct stacks than the tree holds at once: exact all the same, in bounded memory."""
    count, lines, clock = 900_000, ["0 1 enter main"], 0
    for i in range(count // 3):
        a, b = i % 600, i // 600
        lines.append(f"{clock + 1} 1 enter a{a}\n{clock + 2} 1 enter b{b}\n{clock + 4} 1 enter c\n"
                     f"{clock + 7} 1 exit\n{clock + 11} 1 exit\n{clock + 12} 1 exit")
        clock += 12
        if i % 600 == 299:  # again, so that runs have stacks in common
            lines.append(f"{clock + 1} 1 enter a0\n{clock + 3} 1 exit")
            clock += 3
    trace = convert(work / "stacks.ttape", "\n".join(lines) + "\n")
    place = work / "stacks.folded"
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    export("folded", trace, "-o", place)
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert SANITIZED or used <= max(before, 200_000), f"{used} KiB"
    want = Counter()
    for i in range(count // 3):
        path = "main", f"a{i % 600}", f"b{i // 600}"
        want[path] += 2 + 4
        want[path + ("c",)] += 3
        want[path[:2]] += 1 + 1
        want["main",] += 1
        if i % 600 == 299:
            want["main",] += 1
            want["main", "a0"] += 2
    got = Counter(readers.read_folded(place.read_bytes()))
    assert got == want, [(k, got[k], want[k]) for k in got | want if got[k] != want[k]][:5]
    assert len(got) > 1_048_576 // 2 + 70_000, "not enough to spill"


def deep(work):
    """A stack deeper than a folded line may be: the time is kept, at the depth that is."""
    lines = [f"{i} 1 enter r" for i in range(5000)] + ["5007 1 gap 1"]
    trace = convert(work / "deep.ttape", "\n".join(lines) + "\n")
    done = call("export", "--format", "folded", trace)
    assert done.returncode == 3 and b"deeper than 4096" in done.stderr
    stacks = readers.read_folded(done.stdout)
    assert sum(stacks.values()) == 5007 and max(map(len, stacks)) == 4096
    assert sum(frames_of_chrome(export("chrome", trace)).values()) == 5000


# ---- ways out ----

def statuses(work):
    trace = convert(work / "small.ttape", calls(10))
    run("export", trace, good=2)
    run("export", "--format", "nothing", trace, good=2)
    run("export", "--format", "folded", good=2)
    run("export", "--format", "folded", trace, "--time", "5", good=2)
    run("export", "--format", "folded", trace, "--min-time", "long", good=2)
    run("export", "--format", "folded", trace, "--time", "9..5", good=2)
    run("export", "--format", "folded", trace, "--thread", "99", good=4)
    run("export", "--format", "folded", trace, "--process", "99", good=4)
    run("export", "--format", "folded", work / "absent", good=4)
    run("export", "--format", "sqlite", trace, good=2 if has("sqlite") else 4)
    run("export", "--format", "ctf", trace, "-o", "-", good=2 if has("ctf") else 4)
    whole = export("folded", trace)
    assert run("export", "--format", "folded", "-", data=trace.read_bytes()) == whole
    place = work / "there"
    export("folded", trace, "-o", place)
    export("folded", trace, "-o", place, good=4)
    export("folded", trace, "-o", place, "--force")
    assert place.read_bytes() == whole
    assert call("export", "--format", "csv", trace, "-o", "/dev/full").returncode == 4
    for name, extra in (("sqlite", ()), ("ctf", ("file",))):
        if not has(name):
            continue
        target = work / f"target.{name}"
        export(name, trace, "-o", target)
        export(name, trace, "-o", target, good=4)
        export(name, trace, "-o", target, "--force")
        for inside in extra:  # a folder that holds more than a trace is not removed
            (target / "folder").mkdir()
            (target / "folder" / inside).write_text("precious")
            export(name, trace, "-o", target, "--force", good=4)
            assert (target / "folder" / inside).read_text() == "precious"


def sizes(path):
    return sorted(file.stat().st_size for file in ([path] if path.is_file() else path.iterdir()))


def interrupted(work):
    """A signal leaves nothing behind; a pipe that is closed ends the command quietly."""
    trace = convert(work / "long.ttape", calls(700_000))
    for name in ("chrome", "ctf", "sqlite"):
        if not has(name):
            continue
        place = work / f"signals-{name}"
        place.mkdir()
        with subprocess.Popen([TOOL, "export", "--format", name, trace, "-o", place / "out"],
                              stderr=subprocess.PIPE) as process:
            for _ in range(2000):
                if list(place.iterdir()):
                    break
                time.sleep(0.005)
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate()
        left = list(place.iterdir())
        if process.returncode in (0, -signal.SIGTERM) and left == [place / "out"]:
            export(name, trace, "-o", place / "again")
            assert sizes(place / "out") == sizes(place / "again"), (name, process.returncode)
            continue  # it was faster, if only by the end of the process
        assert process.returncode == -signal.SIGTERM and not left, (name, process.returncode, left,
                                                                    said)
    done = subprocess.run(["bash", "-c", f"'{TOOL}' export --format chrome '{trace}' "
                           "| head -c 1000 | wc -c; "
                           "exit ${PIPESTATUS[0]}"], check=False, capture_output=True)
    assert done.stdout.strip() == b"1000" and done.returncode in (0, 141) and not done.stderr, done


CASES = (without_times, damaged, with_holes, stepping_back, merged, since_1970, many_stacks, deep,
         statuses, interrupted)


def main():
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            try:
                case(Path(folder))
            except AssertionError as error:
                raise AssertionError(f"{case.__name__}: {error}") from error
        print(f"ok: {case.__name__}")
    missing = [name for name in ("perfetto", "ctf", "sqlite") if not has(name)]
    if missing:
        print(f"SKIPPED: not in this build: {', '.join(missing)}")
        sys.exit(77)


main()
