"""Whole files: memory of converting, opening and seeking in a large one, the partition curve."""
import os
import random
import shutil

import recordings
from measure import MILLION, Row, geometric, median

LARGE_FROM = ("lua", "sqlite", "redis")
CURVE = (16384, 65536, 262144, 1_000_000, 4_194_304)


def memory_bound(jobs, sites):
    return (64 << 20) + (24 << 20) * jobs + 256 * sites


def memory_inputs(bench):
    name = max(bench.names, key=lambda n: recordings.tasks(bench.recording(n))[0][1])
    yield "1 M", bench.first_million(name)[0]
    yield "4 M", bench.whole_task(name)[0]

    def total(other):
        return sum(size for _, size in recordings.tasks(bench.recording(other)))
    largest = max(bench.names, key=total)
    yield f"largest ({largest}, {total(largest) // 16 / 1e6:.1f} M)", bench.recording(largest)
    if not bench.quick:
        target = bench.data / "task" / f"{name}.times4"
        recordings.cut(bench.recording(name), target, repeat=4)
        yield "16 M", target


def memory(bench):
    worst, details = 0, []
    out = bench.work / "memory.ttape"
    for label, source in memory_inputs(bench):
        for jobs in (1, 2):
            for setting, options in (("default", ()), ("level 9", ("--level", "9"))):
                if setting == "level 9" and (bench.quick or label != "4 M"):
                    continue
                used = bench.convert(source, out, *options, jobs=jobs)["max_rss_kib"] * 1024
                bound = memory_bound(jobs, bench.info(out)["sites"])
                worst = max(worst, used / bound)
                details.append(f"{label}, {jobs} jobs, {setting}: {used / 2**20:.1f} MiB of "
                               f"{bound / 2**20:.1f}: {used / bound:.2f}")
    yield Row("peak memory of convert / its bound", "-", f"{worst:.2f} at most", worst, 1, 0.5,
              details=details)


# ---- a large file ----

def forget(path):
    """Drops a file's pages from the cache, as far as the kernel lets us."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)


def make_large(bench, events):
    large = bench.work / "large.ttape"
    names = [n for n in LARGE_FROM if n in bench.names] or bench.names[:1]
    sources = [bench.million_info(name, "default")[0] for name in names]
    made = bench.run([bench.programs / "make_big", large, events, os.cpu_count(), *sources])
    size = large.stat().st_size
    print(f"  made {events} events in {made['wall']:.0f} s, {size} bytes "
          f"({size / events:.3f} an event), peak {made['max_rss_kib'] / 1024:.0f} MiB", flush=True)
    return large, made


def large(bench):
    events = 100 * MILLION if bench.quick else 1000 * MILLION
    path, made = make_large(bench, events)
    try:
        yield from large_rows(bench, path, events)
    finally:
        path.unlink(missing_ok=True)


def large_rows(bench, path, events):
    size = path.stat().st_size
    info = bench.info(path)
    runs = {"info": lambda: bench.run([bench.command, "info", path])}
    draw = random.Random(11)

    def seek():
        moment = draw.randrange(info["time_first_ns"], info["time_last_ns"])
        return bench.run([bench.command, "dump", "--from", f"{moment}ns", "--limit", "10", path],
                         output=bench.work / "seek.txt")
    runs["seek"] = seek
    got = bench.interleave(runs, 5 if bench.quick else 15)
    cold = {}
    for name, run in runs.items():
        forget(path)
        cold[name] = run()
    lines = len((bench.work / "seek.txt").read_text(errors="replace").splitlines())
    label = f"{events // MILLION} M events"
    wall = median([r["wall"] for r in got["info"]]) * 1000
    share = median([r["read_bytes"] for r in got["info"]]) / size
    yield Row(f"open + info of {label}, ms", "seconds to never", f"{wall:.1f} ms", wall, 100, 10,
              details=[f"pages dropped: {cold['info']['wall'] * 1000:.1f} ms; user + system "
                       f"{median([r['cpu'] for r in got['info']]) * 1000:.1f} ms",
                       f"file of {size} bytes, {info['partitions']} partitions, peak "
                       f"{got['info'][0]['max_rss_kib'] / 1024:.1f} MiB"])
    yield Row(f"bytes read by that, of the file of {label}", "-", f"{100 * share:.3f} %", share,
              0.01, 0.01, details=[f"{got['info'][0]['read_bytes']} bytes by read calls, "
                                   "libraries' headers among them"])
    walls = sorted(r["wall"] * 1000 for r in got["seek"])
    yield Row("seek to a time, print 10 events, ms", "-", f"{median(walls):.1f} ms", median(walls),
              20, 2, details=[f"{walls[0]:.1f} to {walls[-1]:.1f} ms over {len(walls)} moments; "
                              f"pages dropped: {cold['seek']['wall'] * 1000:.1f} ms; user + system "
                              f"{median([r['cpu'] for r in got['seek']]) * 1000:.1f} ms",
                              f"{lines} lines, {got['seek'][0]['read_bytes']} bytes read, "
                              f"{got['seek'][0]['max_rss_kib'] / 1024:.1f} MiB peak"])


# ---- partition sizes ----

def curve_point(bench, name, source, events, out):
    done = bench.convert(source, out, "--partition-events", events)
    info = bench.info(out)
    draw = random.Random(5)
    seeks = []
    for _ in range(5 if bench.quick else 11):
        moment = draw.randrange(info["time_first_ns"], info["time_last_ns"])
        seeks.append(bench.run([bench.command, "dump", "--from", f"{moment}ns", "--limit", "10",
                                out]))
    part = info["bytes"]
    return {"name": name, "order": part["order"] / info["events"],
            "times": part["times"] / info["events"],
            "rest": (info["file_bytes"] - part["order"] - part["times"]) / info["events"],
            "seek_ms": median([s["wall"] for s in seeks]) * 1000,
            "seek_cpu_ms": median([s["cpu"] for s in seeks]) * 1000,
            "seek_mib": median([s["max_rss_kib"] for s in seeks]) / 1024,
            "convert_mib": done["max_rss_kib"] / 1024,
            "rate": info["events"] / done["cpu"] / 1e6}


def curve(bench):
    """No floor: what decision 0014 rests on. Whole tasks of more than 2 M events."""
    names = [n for n in bench.names if recordings.tasks(bench.recording(n))[0][1] > 32 * MILLION]
    points = {}
    out = bench.work / "curve.ttape"
    for name in names or bench.names[:1]:
        source, _ = bench.whole_task(name)
        for events in CURVE:
            points.setdefault(events, []).append(curve_point(bench, name, source, events, out))
    print(f"  geometric means over {', '.join(p['name'] for p in points[CURVE[0]])}; sizes are "
          "bytes per event")
    print(f"  {'events':>9} {'order':>8} {'times':>8} {'rest':>8} {'file':>7} {'/ 1 M':>6} "
          f"{'seek ms':>8} {'its cpu':>8} {'its MiB':>8} {'convert MiB':>12} {'M ev/s':>7}")
    means = {}
    for events, found in points.items():
        means[events] = {key: geometric(p[key] for p in found)
                         for key in found[0] if key != "name"}
        means[events]["file"] = geometric(p["order"] + p["times"] + p["rest"] for p in found)
    for events, m in means.items():
        print(f"  {events:9} {m['order']:8.5f} {m['times']:8.4f} {m['rest']:8.5f} {m['file']:7.4f} "
              f"{m['file'] / means[1_000_000]['file']:6.3f} {m['seek_ms']:8.1f} "
              f"{m['seek_cpu_ms']:8.1f} {m['seek_mib']:8.1f} {m['convert_mib']:12.1f} "
              f"{m['rate']:7.1f}")
    bench.curve = means
    return ()


def tidy_up(bench):
    """What the next run can use stays: unpacked recordings, remembered sizes, programs."""
    for name in ("noise", "out"):
        shutil.rmtree(bench.work / name, ignore_errors=True)
    for path in bench.work.iterdir():
        if path.is_file() and path.suffix != ".log":
            path.unlink()
