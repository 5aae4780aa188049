"""Checks of every export against what a selection must show: read back by a strict parser and by
the tool that it is for. The names of threads are thread0, thread1, ... by stream."""
import os
import subprocess
from collections import Counter
from pathlib import Path

import export_readers as readers

TOOL = os.environ["TTAPE_BIN"]
SOURCE = Path(os.environ["TTAPE_SRC"])
PROTO = SOURCE / "tools" / "export" / "formats" / "export_perfetto.proto"
MISSING = set()
NAMES = {"thread": "thread{}", "processes": {"first", "second"}}  # of the recording at hand


def run(*words, good=(0,)):
    done = subprocess.run([TOOL, *map(str, words)], check=False, capture_output=True)
    assert done.returncode in good, (words, done.returncode, done.stderr)
    return done.stdout


def has_format(name):
    return f"  {name} ".encode() in run("export", "--help") and subprocess.run(
        [TOOL, "export", "--format", name, "/nonexistent", "-o", "/nonexistent/x"], check=False,
        capture_output=True).stderr.find(b"not in this build") < 0


def label(frame_or_point):
    """thread I, stack K, as exports name tracks."""
    stack = f" [stack {frame_or_point.stack}]" if frame_or_point.stack else ""
    return NAMES["thread"].format(frame_or_point.stream) + stack


def frames_of(wanted, key):
    return Counter(key(f) for f in wanted.frames)


def same(got, want, what):
    assert got == want, f"{what} differ: only in the export {list((got - want).items())[:3]}, " \
                        f"only wanted {list((want - got).items())[:3]}"


def lengths(frame):
    return frame.start, frame.end, frame.name, frame.ending


# ---- one check a format ----

def check_chrome(trace, options, wanted, work):
    data = run("export", "--format", "chrome", trace, *options)
    tracks, threads, processes = readers.read_chrome(data)
    got, points = Counter(), Counter()
    for key, track in tracks.items():
        got.update((threads[key], *frame[:4]) for frame in track.frames)
        points.update((threads[key], p[0], p[1]) for p in track.points
                      if not p[1].startswith("switch"))
        assert all(len(f[4]) < 10 for f in track.frames)
    same(got, frames_of(wanted, lambda f: (label(f), *lengths(f))), "frames")
    same(points, Counter((label(p), p.time, p.name) for p in wanted.points), "points")
    assert set(processes.values()) <= NAMES["processes"]
    values = Counter(len(f[4]) for t in tracks.values() for f in t.frames)
    assert values == Counter(len(f.values) if not f.was_open else 0 for f in wanted.frames)
    results = Counter(len(f[5]) for t in tracks.values() for f in t.frames)
    assert results == Counter(len(f.results) if f.ending == "exit" else 0 for f in wanted.frames)


def check_perfetto(trace, options, wanted, work):
    place = work / "out.pftrace"
    run("export", "--format", "perfetto", trace, *options, "-o", place, "--force")
    packets = readers.decode_perfetto(place, PROTO)
    if packets is None:
        MISSING.add("protoc")
        return
    found = readers.Perfetto(packets)
    got, points = Counter(), Counter()
    for uuid, track in found.tracks.items():
        got.update((found.threads[uuid], *frame[:4]) for frame in track.frames)
        points.update((found.threads[uuid], p[0], p[1]) for p in track.points if p[2] != "switch")
    same(got, frames_of(wanted, lambda f: (label(f), *lengths(f))), "frames")
    same(points, Counter((label(p), p.time, p.name) for p in wanted.points), "points")
    values = Counter(len(f[4]) for t in found.tracks.values() for f in t.frames)
    assert values == Counter(len(f.values) if not f.was_open else 0 for f in wanted.frames)


def check_speedscope(trace, options, wanted, work):
    """Frames of other stacks are cut there: own times must be the same, function by function."""
    profiles = readers.read_speedscope(run("export", "--format", "speedscope", trace, *options))
    names = {name.split(" (")[0] for name in profiles}
    assert names == {NAMES["thread"].format(n) for n in wanted.shown_streams}
    got = Counter()
    for frames in profiles.values():
        for start, end, frame in frames:
            got[frame["name"]] += end - start
    inside = Counter()
    for frame, length in wanted.pieces:
        at = frame.shown_self() if frame else None
        while at:
            inside[at.name] += length
            at = at.shown_parent()
    same(+got, +inside, "times")


def check_folded(trace, options, wanted, work):
    got = readers.read_folded(run("export", "--format", "folded", trace, *options))
    want = {tuple(name.replace(";", ":") for name in path): time
            for path, time in wanted.folded().items()}
    same(Counter(got), Counter(want), "stacks")


def callgrind_want(wanted):
    """Own times and edges as callgrind counts them, by its names."""
    below, own, edges = {}, Counter(), {}

    def name(frame):
        at = frame.shown_parent()
        while at and (at.name, at.site, at.is_signal) != (frame.name, frame.site, frame.is_signal):
            at = at.shown_parent()
        return frame.name + ("'2" if at and not frame.is_signal else "")

    for frame in sorted(wanted.frames, key=lambda f: -f.depth):
        total = frame.self_ns + below.get(id(frame), 0)
        parent = frame.shown_parent()
        caller = name(parent) if parent else "(root)"
        own[name(frame)] += frame.self_ns
        if parent:
            below[id(parent)] = below.get(id(parent), 0) + total
        calls, time = edges.get((caller, name(frame)), (0, 0))
        edges[caller, name(frame)] = calls + 1, time + total
    return own, edges


def check_callgrind(trace, options, wanted, work):
    place = work / "callgrind.out"
    run("export", "--format", "callgrind", trace, *options, "-o", place, "--force")
    own, edges, _ = readers.read_callgrind(place.read_bytes())
    want_own, want_edges = callgrind_want(wanted)
    same(+Counter({k[0]: v for k, v in own.items()}), +want_own, "own times")
    got = {}
    for (caller, callee), (calls, time) in edges.items():
        before = got.get((caller[0], callee[0]), (0, 0))
        got[caller[0], callee[0]] = before[0] + calls, before[1] + time
    assert got == want_edges, "callgrind: edges differ"
    said = readers.callgrind_annotate(place)
    if said is None:
        MISSING.add("callgrind_annotate")
        return
    inclusive = Counter()
    for (_, callee), (_, time) in want_edges.items():
        inclusive[callee] += time
    said = {name: time for name, time in said.items() if name in inclusive}
    assert said or not +inclusive
    wrong = {n: (inclusive[n], t) for n, t in said.items() if inclusive[n] != t}
    assert not wrong, f"callgrind_annotate says otherwise: {wrong}"
    large = [n for n, t in inclusive.items() if t * 1000 > sum(want_own.values())]
    assert set(large) <= set(said), set(large) - set(said)


def check_csv(trace, options, wanted, work):
    rows = readers.read_csv(run("export", "--format", "csv", trace, *options))
    ends = {"exit": "exit", "signal_end": "exit", "unwind": "unwind", "lost": "lost",
            "still_open": "open"}
    got = Counter()
    for row in rows:
        if row["kind"] in ends:
            time, length = int(row["time_ns"]), int(row["duration_ns"])
            name = row["symbol"] or row["address"] or row["detail"]
            got[int(row["stream"]), time - length, time, name, ends[row["kind"]],
                int(row["depth"])] += 1
    same(got, Counter((f.stream, *lengths(f), f.depth) for f in wanted.frames), "frames")
    kinds = Counter(row["kind"] for row in rows)
    assert kinds["enter"] + kinds["open"] + kinds["signal"] == len(wanted.frames)
    points = Counter(p.kind for p in wanted.points)
    assert all(kinds[kind] == count for kind, count in points.items()), (kinds, points)
    assert sum(r["detail"].startswith("overflow") for r in rows) == points["gap"]


def check_sqlite(trace, options, wanted, work):
    place = work / "out.db"
    run("export", "--format", "sqlite", trace, *options, "-o", place, "--force")
    base = readers.open_sqlite(place)
    rows = base.execute(
        "SELECT stream, start_ns, start_ns + duration_ns,"
        " CASE WHEN signal IS NOT NULL THEN 'signal ' || signal"
        "  WHEN symbol = '' THEN printf('0x%x', address) ELSE symbol END,"
        " replace(ending, 'still_open', 'open'), depth, self_ns"
        " FROM calls LEFT JOIN sites USING (site)").fetchall()
    same(Counter(rows), Counter((f.stream, *lengths(f), f.depth, f.self_ns)
                                for f in wanted.frames), "calls")
    kinds = Counter(dict(base.execute("SELECT kind, count(*) FROM points GROUP BY kind")))
    del kinds["switch"]
    assert kinds == Counter(p.kind for p in wanted.points)
    parents = base.execute("SELECT count(*) FROM calls a JOIN calls b ON a.parent = b.call"
                           " WHERE a.start_ns < b.start_ns OR a.stream != b.stream"
                           " OR a.start_ns + a.duration_ns > b.start_ns + b.duration_ns").fetchone()
    assert parents == (0,)
    assert base.execute("SELECT count(*) FROM events").fetchone()[0] == \
        2 * len(rows) + base.execute("SELECT count(*) FROM points").fetchone()[0]
    values = sum(len(f.values) for f in wanted.frames if not f.was_open) + \
        sum(len(f.results) for f in wanted.frames if f.ending == "exit") + \
        sum(len(p.values) for p in wanted.points)
    assert base.execute("SELECT count(*) FROM arguments").fetchone()[0] == values
    base.close()


def check_ctf(trace, options, wanted, work):
    place = work / "out.ctf"
    run("export", "--format", "ctf", trace, *options, "-o", place, "--force")
    events = readers.read_ctf(place)
    if events is None:
        MISSING.add("babeltrace2")
        return
    sites, tracks, threads, stacks = {}, {}, {}, {}
    for time, name, fields in events:
        thread = fields["vtid"]
        key = thread, stacks.get(thread, 0)
        if name == "tracetape:thread":
            threads[thread] = fields["thread"]
        elif name == "tracetape:site":
            named = fields["symbol"] != "-"
            sites[fields["site"]] = fields["symbol"] if named else f"0x{fields['addr']:x}"
        elif name == "tracetape:switch":
            stacks[thread] = fields["stack"]
        elif name.endswith("func_entry"):
            tracks.setdefault(key, readers.Track()).begin(time, sites[fields["site"]],
                                                          fields["values"])
        elif name == "tracetape:signal":
            tracks.setdefault(key, readers.Track()).begin(time, f"signal {fields['signal']}")
        elif name.endswith("func_exit") or name == "tracetape:signal_end":
            tracks[key].end(time, fields["left"])
        else:
            found = name.split(":")[1] if "site" not in fields else sites[fields["site"]]
            tracks.setdefault(key, readers.Track()).points.append((time, found))
    got, points = Counter(), Counter()
    for (thread, stack), track in tracks.items():
        name = threads[thread] + (f" [stack {stack}]" if stack else "")
        got.update((name, *frame[:4]) for frame in track.close().frames)
        points.update((name, *point) for point in track.points)
    same(got, frames_of(wanted, lambda f: (label(f), *lengths(f))), "frames")
    same(points, Counter((label(p), p.time, p.name) for p in wanted.points), "points")
    without = sum(f[4] == list("()") for t in tracks.values() for f in t.frames if
                  not f[2].startswith("signal"))
    assert without == sum((not f.values or f.was_open) and not f.is_signal for f in wanted.frames)


CHECKS = {"chrome": check_chrome, "perfetto": check_perfetto, "speedscope": check_speedscope,
          "folded": check_folded, "callgrind": check_callgrind, "csv": check_csv,
          "sqlite": check_sqlite, "ctf": check_ctf}


def check_all(trace, options, wanted, work, formats):
    for name in formats:
        try:
            CHECKS[name](trace, options, wanted, work)
        except AssertionError as error:
            raise AssertionError(f"{name} {' '.join(map(str, options))}: {error}") from error
