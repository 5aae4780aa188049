#!/usr/bin/env python3
"""Rollups by the library and by mini_rollup, which was written from spec/rollup.md alone: vectors
(spec/vectors/rollups) and fresh ones are read, added up and written by both, to the same bytes;
what breaks a rule is refused by both, with that rule.

    test_mini_rollup.py --write    makes the vectors again"""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import mini_rollup as mini
from mini_coder import Finding
from xxh3 import xxh3_64

SOURCE = Path(os.environ.get("TTAPE_SRC", Path(__file__).parents[2]))
BIN = os.environ.get("TTAPE_BIN", "")
VECTORS = SOURCE / "spec/vectors/rollups"
BY = ("function", "name", "module", "file", "thread", "process", "call")
FOUND, HOW = 1, ((), ("--exact",), ("--histogram",), ("--ids",), ("--by", "call"),
                 ("--by", "process"), ("--by", "thread"), ("--by", "name"), ("--by", "module"),
                 ("--by", "file"))


def function(symbol, build=b"", path=b"", file=b"", line=0, kind=0, offset=0):
    return symbol, build, path, file, line, kind, offset


def make(by=0, flags=0, longest=0):
    """Two builds of a library, sums of more than 64 bits, a function without a name."""
    rollup = mini.Rollup(by, flags, longest)
    names = [function(b"parse", b"\x01" * 20, b"/usr/lib/libx.so", b"x.c", 12, 0, 0x1200),
             function(b"parse", b"\x02" * 20, b"/usr/lib/libx.so", b"x.c", 14, 0, 0x1300),
             function(b"", b"", b"/bin/app", b"", 0, 0, 0x40), function(b"read", kind=3, offset=0)]
    rollup.paths = {mini.key_of(name): name[2] for name in names}
    trace, other = bytes(range(16)), bytes(range(1, 17))
    rollup.traces = {trace: ([b"a.ttape", b"host1"], {0, 1, 2, 5},
                             {0: 1000, 1: 500, 2: 1 << 70, 4: 3, 5: 9, 7: 1, 17: 4}),
                     other: ([b"b.ttape", b""], {0}, {0: 4, 1: 2, 2: -5, 7: 17, 17: 1})}
    sums = {0: 7, 1: 5, 2: -(1 << 90), 3: 1 << 126, 4: -3, 5: (1 << 63) - 1, 6: (1 << 192) - 1,
            7: 1, 24: 1}
    callers = [0, 1, mini.key_of(names[0])] if by == 6 else [0]
    for number, name in enumerate(names):
        for who in callers:
            own = sums if number == 0 else {0: number, 2: 10 * number}
            counts = [{}, {(0, 0): 1, (0, 7424): 4}, {(1, 0): 1, (64, 47): 4}][flags]
            calls = [(-9, trace, 0, 4), (-9, trace, 0, 8), (-2, other, 1, 0)][:longest]
            rollup.rows[mini.key_of(name), who] = (own, counts, calls)
    return rollup


def vectors():
    out = {"empty": mini.Rollup(), "functions": make(), "sizes": make(flags=1),
           "powers": make(flags=2), "longest": make(longest=2), "callers": make(by=6)}
    return {name: mini.write(rollup) for name, rollup in out.items()}


def run(*words):
    return subprocess.run([BIN, *words], capture_output=True, check=False)


def again(files, by, flags, longest, path):
    """What the library makes of files."""
    how = [[], ["--exact"], ["--histogram"]][flags] + (["--ids"] if longest == 10 else [])
    run("report", *files, "--by", BY[by], *how, "--rollup", path, "--force")
    return Path(path).read_bytes()


def check_vectors(work):
    for name, made in vectors().items():
        stored = (VECTORS / f"{name}.rollup").read_bytes()
        assert stored == made, f"{name}: the vector is another one than mini_rollup writes"
        rollup = mini.read(stored)
        assert mini.write(rollup) == stored, name
        path = work / "vector.rollup"
        path.write_bytes(stored)
        assert run("verify", path).returncode == 0, f"{name}: {run('verify', path).stdout}"
        if rollup.longest in (0, 10):
            got = again([path], rollup.by, rollup.flags, rollup.longest, work / "again.rollup")
            assert got == stored, f"{name}: written again"
        else:
            assert json.loads(run("info", path, "--json").stdout)["longest_calls"] == 2


def reseal(data, body=None, **head):
    """With right checksums; head: bytes at places of the header."""
    data = bytearray(data if body is None else data[:64] + body)
    struct.pack_into("<Q", data, 16, len(data))
    for place, value in head.items():
        data[int(place[1:])] = value
    struct.pack_into("<Q", data, 24, xxh3_64(bytes(data[64:])))
    struct.pack_into("<Q", data, 56, xxh3_64(bytes(data[:56])))
    return bytes(data)


def body_of(strings, functions, rows, traces, measures, flags=0, longest=0):
    many = [s if isinstance(s, int) else len(s) for s in (strings, functions, rows, traces)]
    parts = [b"" if isinstance(s, int) else b"".join(s) for s in (strings, functions, rows, traces)]
    return mini.seal(b"".join(parts) + measures, 0, flags, (*many, longest))


def broken():
    """Rule, bytes that break it."""
    good = vectors()["functions"]
    n, text, trace = mini.numbers, [n_text(0, b"a"), n_text(0, b"b")], bytes(16) + b"\0\0"
    own, row, where = [mini.numbers(1, 0, 0, 0, 0, 0, 0)], [n(0, 0)], [trace + n(0, 0)]
    yield "R-HDR-01", b"no rollup" * 9
    yield "R-HDR-02", good[:40] + b"\xff" + good[41:]
    yield "R-HDR-02", good[:-1] + bytes([good[-1] ^ 1])
    yield "R-HDR-03", reseal(good, p6=ord("2"))
    yield "R-HDR-03", reseal(good, p10=1)
    yield "R-HDR-04", good + b"\0"
    yield "R-HDR-04", reseal(good, body=good[64:] + b"\0")
    yield "R-HDR-05", reseal(good, p12=4)
    yield "R-HDR-05", reseal(good, p12=3)
    yield "R-HDR-06", reseal(good, p32=7)
    yield "R-HDR-06", reseal(good, p52=11)
    yield "R-STR-01", body_of([n_text(1, b"a")], [], [], [], b"")
    yield "R-STR-01", body_of([n(0, 0) * 2], [], [], [], b"")
    yield "R-STR-02", body_of([n_text(0, b"b"), n_text(0, b"a")], [], [], [], b"")
    yield "R-STR-02", body_of([n_text(0, b"ab"), n_text(0, b"ac")], [], [], [], b"")
    yield "R-FUN-01", body_of(text, [n(3, 0, 0, 0, 0, 0, 0)], [], [], b"")
    yield "R-FUN-01", body_of(text, [n(1, 0, 0, 0, 0, 6, 0)], [], [], b"")
    yield "R-FUN-02", body_of([n_text(0, b"x" * 65)], [n(0, 1, 0, 0, 0, 0, 0)], [], [], b"")
    yield "R-FUN-03", body_of(text, [n(1, 0, 0, 0, 0, 0, 5), n(0, 0, 0, 0, 0, 0, 5)], [], [], b"")
    yield "R-ROW-01", body_of(text, own, [n(1, 0)], [], b"\0")
    yield "R-ROW-01", body_of(text, own, [n(0, 2)], [], b"\0")
    yield "R-ROW-02", body_of(text, own, [n(0, 0), n(0, 0)], [], b"\0\0")
    yield "R-TRC-01", body_of(text, own, row, [trace + n(0, 0)] * 2, b"\0")
    yield "R-TRC-02", body_of(text, own, row, [trace + n(2, 0, 1, 0, 1, 0)], b"\0")
    yield "R-TRC-03", body_of(text, own, row, [trace + n(0, 1 << 7, 64)], b"\0")
    yield "R-SUM-01", body_of(text, own, row, where, n(1 << 25, 1))
    yield "R-SUM-01", body_of(text, own, row, where, n(1, 0))
    yield "R-SUM-01", body_of(text, own, row, where, n(2, 1))
    yield "R-SUM-01", body_of(text, own, row, where, n(1, 1 << 64))
    yield "R-SUM-01", body_of(text, own, row, where, n(4, 1 << 129))
    yield "R-SUM-01", body_of(text, own, row, where, n(64, 1 << 192))
    yield "R-SUM-01", body_of(text, own, row, where, n(1) + b"\x81\0")
    yield "R-CNT-01", body_of(text, own, row, where, n(0, 1, 0, 0), flags=1)
    yield "R-CNT-02", body_of(text, own, row, where, n(0, 1, 0, 1, 7425, 1), flags=1)
    yield "R-CNT-02", body_of(text, own, row, where, n(0, 1, 1, 1, 48, 1), flags=2)
    yield "R-CNT-02", body_of(text, own, row, where, n(0, 1, 0, 1, 4, 0), flags=1)
    yield "R-CNT-03", body_of(text, own, row, where, n(0, 1, 7, 1, 4, 1), flags=1)
    yield "R-LNG-01", body_of(text, own, row, where, n(0, 2, 2, 0, 0, 0), longest=1)
    yield "R-LNG-01", body_of(text, own, row, where, n(0, 1, 2, 1, 0, 0), longest=1)
    yield "R-LNG-02", body_of(text, own, row, where, n(0, 2, 2, 0, 0, 0, 4, 0, 0, 0), longest=2)


def n_text(shared, rest):
    return mini.numbers(shared, len(rest)) + rest


def rule_of(data):
    try:
        mini.read(data)
    except Finding as finding:
        return finding.rule
    return None


def check_broken(work):
    path = work / "broken.rollup"
    for number, (rule, data) in enumerate(broken()):
        path.write_bytes(data)
        assert rule_of(data) == rule, f"{number}: mini_rollup says {rule_of(data)}, not {rule}"
        result = run("verify", path, "--json")
        if rule == "R-HDR-01":  # whatever it is, it is no rollup for verify
            continue
        assert result.returncode == FOUND, f"{number}, {rule}: {result}"
        found = json.loads(result.stdout)["findings"][0]["rule"]
        assert found == rule, f"{number}: the library says {found}, not {rule}"


def check_cuts(work):
    """Cut anywhere, or with another byte: refused by both, or the same by both."""
    rng, path = random.Random(46), work / "cut.rollup"
    for name, data in vectors().items():
        for _ in range(12):
            at, part = rng.randrange(64, len(data) + 1), data
            if at < len(data) and rng.random() < 0.6:
                part = data[:at] + bytes([rng.randrange(256)]) + data[at + 1:]
            else:
                part = data[:at]
            part = reseal(part)
            path.write_bytes(part)
            is_refused = run("verify", path).returncode == FOUND
            assert is_refused == (rule_of(part) is not None), f"{name}: {part.hex()}"


def check_overflow(work):
    """R-SUM-05, R-TRC-04: no wrong sum is written, and nothing is added twice."""
    one, other, text = make(), make(), work / "sum.rollup"
    other.traces = {b"z" * 16: ([b"", b""], {0}, {})}
    paths = [work / "one.rollup", work / "other.rollup"]
    for path, rollup in zip(paths, (one, other), strict=True):
        path.write_bytes(mini.write(rollup))
    result = run("report", *paths, "--rollup", text)
    assert result.returncode == 4 and b"R-SUM-05" in result.stderr and not text.exists(), result
    result = run("report", paths[0], paths[0], "--rollup", text)
    assert result.returncode == 4 and b"partitions 0 to 2 of trace '000102" in result.stderr, result
    assert not text.exists()
    for path, covered in zip(paths, ({0}, set()), strict=True):
        one.traces = {b"z" * 16: ([b"", b""], covered, {})}
        path.write_bytes(mini.write(one))
    for order in (paths, paths[::-1]):
        result = run("report", *order, "--rollup", text)
        assert result.returncode == 4 and b"was added before [R-TRC-04]" in result.stderr, result


def one_row(sums, counts=None, flags=0, traces=1, of_trace=None):
    """A rollup of one function, and of so many traces that have the sums `of_trace`."""
    rollup, name = mini.Rollup(0, flags), function(b"parse", kind=0)
    rollup.paths[mini.key_of(name)] = b""
    rollup.rows[mini.key_of(name), 0] = (sums, counts or {}, [])
    rollup.traces = {bytes([5 + i]) * 16: ([b"", b""], {0}, of_trace or {})
                     for i in range(traces)}
    return mini.write(rollup)


def check_counts(work):
    """Percentiles lie between the extremes; counts that do not fit are named, or the nearest."""
    path, other = work / "counts.rollup", work / "other.rollup"
    for size_class, least, most, p50 in ((507, 1003, 1003, 1003), (507, 1000, 1003, 1000),
                                         (0, -7, -7, -7), (0, -7, -3, -7)):
        sums = {0: 4, 1: 4, 4: least, 5: most}
        path.write_bytes(one_row(sums, {(0, size_class): 4}, flags=1))
        row = json.loads(run("report", path, "--exact", "--json").stdout)["rows"][0]
        assert row["p50_ns"] == p50, (size_class, least, most, row)
    path.write_bytes(one_row({0: 4}, {(0, 5): 4}, flags=1))  # of calls of which none ended
    row = json.loads(run("report", path, "--exact", "--json").stdout)["rows"][0]
    assert "p50_ns" not in row, row
    for number, target in enumerate((path, other)):
        rollup = mini.read(one_row({0: 1}, {(0, 5): (1 << 64) - 1}, flags=1))
        rollup.traces = {bytes([number]) * 16: ([b"", b""], {0}, {})}
        target.write_bytes(mini.write(rollup))
    result = run("report", path, other, "--exact", "--rollup", work / "counts.sum")
    assert result.returncode == 4 and b"R-SUM-05" in result.stderr, result
    path.write_bytes(one_row({0: 1}, traces=3, of_trace={0: (1 << 64) - 2, 1: 1}))
    found = json.loads(run("info", path, "--json").stdout)
    assert (found["events"], found["calls"]) == ((1 << 64) - 1, 3), found


def texts(rng):
    """A trace of two threads and some functions, a few of them recursive."""
    lines, now = ["process 7 prog", "thread 7 70 main", "thread 7 71 other"], 1000
    stack = {70: [], 71: []}
    for _ in range(600):
        tid = rng.choice((70, 71))
        now += rng.choice((1, 7, 300, 5000))
        if stack[tid] and rng.random() < 0.5:
            stack[tid].pop()
            lines.append(f"{now} {tid} exit")
        else:
            stack[tid].append(rng.choice(("alpha", "beta", "read", "a_rather_long_name")))
            lines.append(f"{now} {tid} enter {stack[tid][-1]}")
    return "\n".join(lines) + "\n"


def check_fresh(work):
    """Rollups of the library, added up by mini_rollup: the bytes of the library's own sum."""
    rng, traces = random.Random(5), []
    for number in range(3):
        traces.append(work / f"{number}.ttape")
        (work / "t.txt").write_text(texts(rng))
        result = run("convert", "--partition-events", "150", work / "t.txt", "-o", traces[-1])
        assert result.returncode == 0, result
    for how in HOW:
        parts = []
        for trace in traces:
            parts.append(trace.with_suffix(".rollup"))
            result = run("report", trace, *how, "--rollup", parts[-1], "--force")
            assert result.returncode == 0, result
        read = [mini.read(part.read_bytes()) for part in parts]
        total = mini.write(mini.add(read[2], mini.add(read[0], read[1])))
        for files in (traces, parts, [parts[1], traces[0], parts[2]]):
            result = run("report", *files, *how, "--rollup", work / "all.rollup", "--force")
            assert result.returncode == 0, result
            assert (work / "all.rollup").read_bytes() == total, how


def main():
    if sys.argv[1:] == ["--write"]:
        VECTORS.mkdir(exist_ok=True)
        for name, data in vectors().items():
            (VECTORS / f"{name}.rollup").write_bytes(data)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        check_vectors(work)
        check_broken(work)
        check_cuts(work)
        check_overflow(work)
        check_counts(work)
        check_fresh(work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
