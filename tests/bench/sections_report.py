"""Answers: reports and trees beside `uftrace report` of the same recording, and of a large file."""
import json
import random
import re
import shutil
import struct

import recordings
from measure import MILLION, BenchError, Row, geometric, median
from sections_file import make_large

OPENED = 40  # nodes of a file
CALLS, FUNCTIONS = 3_300_000, 1400  # of the trace whose report is little but names and numbers


def need_uftrace():
    if shutil.which("uftrace") is None:
        raise BenchError("uftrace is not installed")


def most_tasks(bench):
    return max(bench.names, key=lambda n: len(recordings.tasks(bench.recording(n))))


def beside_uftrace(bench, name, options, repeats):
    """Medians of wall times, (theirs, ours), interleaved; and ours in full."""
    source = bench.recording(name)
    trace = bench.work / "report.ttape"
    bench.convert(source, trace, jobs=2)
    got = bench.interleave({
        "theirs": lambda: bench.run(["uftrace", "report", "--no-pager", "-d", source],
                                    output=bench.work / "theirs.txt"),
        "ours": lambda: bench.run([bench.command, "report", *options, trace],
                                  output=bench.work / "ours.txt")}, repeats)
    info = bench.info(trace)
    trace.unlink()
    return {way: median([r["wall"] for r in runs]) for way, runs in got.items()}, got, info


def report(bench):
    need_uftrace()
    name = most_tasks(bench)
    tasks = len(recordings.tasks(bench.recording(name)))
    walls, got, info = beside_uftrace(bench, name, (), 1 if bench.quick else 3)
    value = walls["theirs"] / walls["ours"]
    yield Row(f"report of {name} ({tasks} tasks) / uftrace report",
              f"uftrace: {walls['theirs']:.2f} s", f"{walls['ours'] * 1000:.1f} ms", value, 100,
              1000, higher=True,
              details=[f"{info['events']} events, {info['partitions']} partitions; peak "
                       f"{got['ours'][0]['max_rss_kib'] / 1024:.1f} MiB against "
                       f"{got['theirs'][0]['max_rss_kib'] / 1024:.1f}"])


def report_exact(bench):
    need_uftrace()
    ratios, details = {}, []
    for name in bench.names:
        walls, got, info = beside_uftrace(bench, name, ("--exact",), 1 if bench.quick else 5)
        ratios[name] = walls["theirs"] / walls["ours"]
        details.append(f"{name}: {info['events'] / walls['ours'] / 1e6:.1f} M events/s against "
                       f"{info['events'] / walls['theirs'] / 1e6:.2f}: {ratios[name]:.1f}; peak "
                       f"{got['ours'][0]['max_rss_kib'] / 1024:.1f} MiB")
    value = geometric(ratios.values())
    yield Row("report --exact, events/s on all cores / uftrace report", "1 (uftrace)",
              f"{value:.1f} x", value, 5, 20, higher=True, details=details)


def nodes_of(bench, path, options=()):
    out = bench.call([bench.command, "tree", "--json", *options, path])
    return json.loads(out)["nodes"]


def open_rows(bench, label, path, rows):
    """Opens nodes drawn from what the tree shows: calls, and single partitions of parts."""
    draw = random.Random(17)
    names = []
    for row in rows:
        if row["kind"] == "part":
            stream, first = row["node"].split("p")
            names += [f"{stream}p{int(first)}"]
        elif row["kind"] != "thread":
            names.append(row["node"])
    chosen = draw.sample(names, min(len(names), 10 if bench.quick else OPENED))
    runs = {name: [bench.run([bench.command, "tree", "--open", name, path]) for _ in range(3)]
            for name in chosen}
    nodes = sorted((median([r["wall"] for r in found]) * 1000, name)
                   for name, found in runs.items())
    walls = [wall for wall, _ in nodes]
    every = [r for found in runs.values() for r in found]
    return Row(f"tree --open of any node of {label}, ms", "-",
               f"{median(walls):.1f} ms, {walls[-1]:.1f} at most", walls[-1], 50, 5,
               details=[f"{len(chosen)} of {len(names)} nodes, medians of 3; the slowest is "
                        f"{nodes[-1][1]}, the slowest run took "
                        f"{max(r['wall'] for r in every) * 1000:.1f} ms; user + "
                        f"system {median([r['cpu'] for r in every]) * 1000:.1f} ms, peak "
                        f"{max(r['max_rss_kib'] for r in every) / 1024:.1f} MiB"])


def tree_open(bench):
    """Every recording that is one file of its own; the worst node of all."""
    for name in bench.names:
        trace = bench.work / "open.ttape"
        bench.convert(bench.recording(name), trace, jobs=2)
        rows = nodes_of(bench, trace, ("--min-time", "0"))
        yield open_rows(bench, name, trace, rows)
        trace.unlink()


def slow_row(bench, label, path, target):
    """The worst of all functions together and of some busy ones: wall time, partitions decoded."""
    rows = json.loads(bench.call([bench.command, "report", "--json", "--sort", "calls", "--limit",
                                  "40", path]))["rows"]
    names = [row["name"] for row in rows]
    draw = random.Random(3)
    drawn = draw.sample(names, min(len(names), 5))
    questions = [[], ["--self"], *([name] for name in drawn), [drawn[0], "--self"]]
    walls, details = [], []
    for question in questions:
        runs = [bench.run([bench.command, "slow", path, *question]) for _ in range(3)]
        answer = json.loads(bench.call([bench.command, "slow", "--json", path, *question]))
        walls.append(median([r["wall"] for r in runs]) * 1000)
        details.append(f"{' '.join(question) or 'all functions'}: {walls[-1]:.0f} ms, user "
                       f"+ system {median([r['cpu'] for r in runs]) * 1000:.0f} ms, decoded "
                       f"{answer['decoded']} of {answer['partitions']} partitions, peak "
                       f"{max(r['max_rss_kib'] for r in runs) / 1024:.0f} MiB")
    return Row(f"slow of {label}, ms", "-", f"{median(walls):.0f} ms, {max(walls):.0f} at most",
               max(walls), target, target / 3, details=details)


def slow(bench):
    """The ten longest calls of the largest recording."""
    name = max(bench.names, key=lambda n: sum(size for _, size in
                                              recordings.tasks(bench.recording(n))))
    trace = bench.work / "slow.ttape"
    bench.convert(bench.recording(name), trace, jobs=2)
    yield slow_row(bench, f"{name}, {bench.info(trace)['events'] / MILLION:.0f} M events", trace,
                   300)
    trace.unlink()


def overviews_of(path):
    """How many chunks of kind 9 a file has, and their bytes, headers included."""
    count = bytes_of = 0
    with open(path, "rb") as trace:
        at, end = 64, path.stat().st_size - 64
        while at < end:
            trace.seek(at)
            kind, stored = struct.unpack("<8xH14xQ32x", trace.read(64))
            at += 64 + stored
            count += kind == 9
            bytes_of += (64 + stored) * (kind == 9)
    return count, bytes_of


def overview_cost_row(bench):
    """Writing 128 partitions of one program with overviews and without, on one core."""
    source = bench.million_info(recordings.SIZED[0] if recordings.SIZED[0] in bench.names
                                else bench.names[0], "default")[0]
    trace, events = bench.work / "overviews.ttape", 128 * MILLION
    got = bench.interleave({
        label: lambda more=more: bench.run([bench.programs / "make_big", *more, trace, events, 1,
                                            source])
        for label, more in (("with", []), ("without", ["-n"]))}, 3 if bench.quick else 5)
    trace.unlink()
    cpu = {label: min(r["cpu"] for r in runs) for label, runs in got.items()}
    more = cpu["with"] / cpu["without"] - 1
    return Row("overviews: encoding takes more by", "-", f"{100 * more:.1f} %", more, 0.05, 0.02,
               details=[f"{label}: user + system {cpu[label]:.2f} s" for label in cpu])


def histogram_row(bench, label, path):
    """The worst of some functions, drawn: statistics, percentiles and histogram of each."""
    rows = json.loads(bench.call([bench.command, "report", "--json", path]))["rows"]
    names = random.Random(5).sample(sorted({row["name"] for row in rows}), min(len(rows), 5))
    runs = [bench.run([bench.command, "report", "--histogram", "-F", f"^{re.escape(name)}$", path])
            for name in names for _ in range(3)]
    walls = [median([r["wall"] for r in runs[i:i + 3]]) * 1000 for i in range(0, len(runs), 3)]
    details = [f"user + system {median([r['cpu'] for r in runs]) * 1000:.0f} ms"]
    return Row(f"statistics and histogram of a function of {label}, ms", "-",
               f"{median(walls):.0f} ms, {max(walls):.0f} at most", max(walls), 300, 50,
               details=details)


def longest_rows(bench, label, path):
    """The longest call, and the 100 longest, of each of some functions: nine of ten are as fast."""
    rows = json.loads(bench.call([bench.command, "report", "--json", path]))["rows"]
    names = random.Random(7).sample(sorted({row["name"] for row in rows if row["calls"] > 100}), 9)
    for count, floor, aim in ((1, 300, 60), (100, 1000, 300)):
        walls, cpus = [], []
        for name in names:
            runs = [bench.run([bench.command, "slow", path, "-n", count, name]) for _ in range(3)]
            walls.append(median([r["wall"] for r in runs]) * 1000)
            cpus.append(median([r["cpu"] for r in runs]) * 1000)
        what = "longest call" if count == 1 else f"{count} longest calls"
        ninth = sorted(walls)[-2]
        yield Row(f"{what} of a function of {label}, ms", "-",
                  f"{median(walls):.0f} ms, {ninth:.0f} of nine in ten", ninth, floor, aim,
                  details=[f"{name}: {wall:.0f} ms, user + system {cpu:.0f} ms"
                           for name, wall, cpu in zip(names, walls, cpus)])


def tile_rows(bench, label, path):
    """What a view of 1,920 columns draws from, at first: all of a stream, and each zoom into it."""
    runs = [[line.split() for line in
             bench.call([bench.programs / "tiles_measured", path]).splitlines()]
            for _ in range(3)]
    least = [min(rows, key=lambda row: float(row[2])) for rows in zip(*runs)]
    first = {"all of": least[:1], "a zoom into": [row for row in least[2:] if row[1] == "1"]}
    for what, rows in first.items():
        walls = sorted(float(row[2]) for row in rows)
        details = [f"level {level}, {instants} instants a bucket: {float(wall):.0f} ms, user + "
                   f"system {float(cpu):.0f} ms, of {overviews} segments by overviews, "
                   f"{sections} by sections, {events} by events"
                   for level, instants, wall, cpu, overviews, sections, events in
                   (least[:2] if what == "all of" else rows)]
        yield Row(f"a screen of tiles of {what} {label}, ms", "nobody",
                  f"{median(walls):.0f} ms, {walls[-1]:.0f} at most", walls[-1], 900, 400,
                  details=details)


def answers(bench):
    """Report and tree overview of a large file, and opening its nodes."""
    events = (100 if bench.quick else 1000) * MILLION
    path, _ = make_large(bench, events)
    label = f"{events // MILLION} M events"
    try:
        size = path.stat().st_size
        got = bench.interleave({
            verb: lambda v=verb: bench.run([bench.command, v, path]) for verb in ("report", "tree")
        }, 3 if bench.quick else 9)
        for verb, runs in got.items():
            wall = median([r["wall"] for r in runs]) * 1000
            memory = max(r["max_rss_kib"] for r in runs) / 1024
            share = median([r["read_bytes"] for r in runs]) / size
            details = [f"user + system {median([r['cpu'] for r in runs]) * 1000:.0f} ms"]
            yield Row(f"{verb} of {label}, ms", "no peer opens it", f"{wall:.0f} ms", wall, 100,
                      {"report": 20, "tree": 30}[verb], details=details)
            yield Row(f"{verb} of {label}, peak MiB", "-", f"{memory:.1f} MiB", memory, 64, 64)
            yield Row(f"bytes read by that, of the file of {label}", "-", f"{100 * share:.2f} %",
                      share, 0.02, 0.02)
        yield histogram_row(bench, label, path)
        yield from longest_rows(bench, label, path)
        yield from tile_rows(bench, label, path)
        count, bytes_of = overviews_of(path)
        yield Row(f"overviews of {label}, of the file", "-", f"{100 * bytes_of / size:.3f} %",
                  bytes_of / size, 0.0025, 0.0012, details=[f"{count} of {bytes_of} bytes"])
        yield overview_cost_row(bench)
        yield open_rows(bench, label, path, nodes_of(bench, path))
        yield slow_row(bench, label, path, 1000)
    finally:
        path.unlink(missing_ok=True)


def write_calls(path):
    """As text: CALLS calls of FUNCTIONS functions of C++, some busy, drawn by a seed."""
    draw, open_count, calls, time_ns = random.Random(3), 0, 0, 0
    names = []
    for i in range(FUNCTIONS):
        parts = (f"ns{i % 17}", f"Klass{i % 53}", f"method_number_{i}")
        names.append("_ZN" + "".join(f"{len(part)}{part}" for part in parts) +
                     "ERKSt6vectorIiSaIiEESt4pairIidE")
    with open(path, "w", encoding="ascii") as text:
        while calls < CALLS or open_count:
            time_ns += draw.choice((20, 30, 40, 55, 80, 130))
            if open_count and (open_count > 12 or calls >= CALLS or draw.random() < 0.5):
                open_count -= 1
                text.write(f"{time_ns} 1 exit\n")
                continue
            busy = draw.random() >= 0.3
            text.write(f"{time_ns} 1 enter {names[draw.randrange(60 if busy else FUNCTIONS)]}\n")
            open_count, calls = open_count + 1, calls + 1


def helper_calls(bench, path):
    """System calls of the demangling helper, and of the command from its start to its end."""
    place = bench.work / "strace.txt"
    bench.call(["strace", "-f", "-o", place, bench.command, "report", path])
    lines = [line for line in place.read_text(errors="replace").splitlines()
             if not re.search(r"resumed|\+\+\+|---|restart_syscall", line)]
    own = lines[0].split()[0]
    first = next(i for i, line in enumerate(lines) if "socketpair" in line)
    last = max(i for i, line in enumerate(lines) if " wait4(" in line)
    return sum(1 for i, line in enumerate(lines)
               if not line.startswith(own) or first <= i <= last)


def names(bench):
    """Processor time of a report of many functions, and system calls for their names."""
    text, trace = bench.work / "calls.txt", bench.work / "calls.ttape"
    write_calls(text)
    bench.convert(text, trace, jobs=2)
    text.unlink()
    got = bench.interleave({
        "report": lambda: bench.run([bench.command, "report", trace]),
        "nothing": lambda: bench.run([bench.command, "--version"])}, 9 if bench.quick else 40)
    cpu = {way: [r["cpu"] * 1000 for r in runs] for way, runs in got.items()}
    least = {way: min(times) for way, times in cpu.items()}
    more = least["report"] - least["nothing"]
    yield Row(f"report of {CALLS / MILLION:.1f} M calls, {FUNCTIONS} functions, over --version, ms",
              "-", f"{more:.1f} ms", more, 10, 5,
              details=[f"{way}: user + system {least[way]:.2f} ms, median {median(cpu[way]):.2f}"
                       for way in cpu])
    if shutil.which("strace") is not None:
        count = helper_calls(bench, trace)
        yield Row("system calls for the names of that", "-", str(count), count, 50, 20)
    trace.unlink()
