"""`tracetape view`: until its address is printed, until the page shows something, what a frame
takes, answers about one function, memory. T1 is a billion events of three threads, T2 3,000
threads of 100,000 events each, T3 the recording of dash: 781 threads. Work of a frame is processor
time of the page's main thread, all of it. TTAPE_BENCH_T1 and
TTAPE_BENCH_T2 name files that were made before. Frames and paints are those of a browser without
a graphics card."""
import json
import os
import random
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import sections_file
from measure import BenchError, Row, median

MILLION, PYTHON = 1000000, "/usr/bin/python3"
THREADS, THREAD_EVENTS = 3000, 100000
WALK_SECONDS, WALK_SECONDS_QUICK = 300, 30
PARTITIONS_NEAR = 10


class Server:
    def __init__(self, bench, trace):
        start = time.monotonic()
        self.process = subprocess.Popen([bench.command, "view", "--no-browser", trace],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        stdin=subprocess.DEVNULL, text=True)
        self.address = self.process.stdout.readline().strip()
        self.ready_ms = (time.monotonic() - start) * 1000
        if not self.address:
            raise BenchError(f"view did not start: status {self.process.wait()}")
        self.base, self.key = re.fullmatch(r"(http://[^/]+/)#k=([0-9a-f]+)", self.address).groups()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()

    def ask(self, line):
        """The answer, and milliseconds."""
        request = urllib.request.Request(f"{self.base}ask", line.encode(),
                                         {"X-Tracetape-Key": self.key})
        start = time.monotonic()
        with urllib.request.urlopen(request, timeout=600) as response:
            answer = json.loads(response.read())[0]
        if "error" in answer:
            raise BenchError(f"{line}: {answer['error']['message']}")
        return answer, (time.monotonic() - start) * 1000

    def peak_mib(self):
        text = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"VmHWM:\s+(\d+)", text)[1]) / 1024


def share(values, part):
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)]


# ---- traces ----

def make(bench, variable, name, *words):
    """(path, whether it was made here)."""
    given = os.environ.get(variable)
    if given:
        return Path(given).resolve(), False
    path = bench.work / name
    names = [n for n in sections_file.LARGE_FROM if n in bench.names] or bench.names[:1]
    sources = [bench.million_info(n, "default")[0] for n in names]
    before, (events, jobs) = words[:-2], words[-2:]
    bench.run([bench.programs / "make_big", *before, path, events, jobs, *sources])
    return path, True


def large(bench):
    events = (100 if bench.quick else 1000) * MILLION
    return make(bench, "TTAPE_BENCH_T1", "view-t1.ttape", events, os.cpu_count())


def threads(bench):
    count = THREADS // (10 if bench.quick else 1)
    return make(bench, "TTAPE_BENCH_T2", "view-t2.ttape", "-t", count, count * THREAD_EVENTS,
                os.cpu_count())


def dash(bench):
    path = bench.work / "view-t3.ttape"
    bench.convert(bench.recording("dash"), path)
    return path, True


# ---- rows ----

def ready_row(bench, label, path):
    times = []
    for _ in range(bench.repeats):
        with Server(bench, path) as server:
            times.append(server.ready_ms)
    return Row(f"view {label}: address printed, ms", "-", f"{median(times):.0f} ms", median(times),
               400, 50)


def page_rows(bench, label, path):
    seconds = WALK_SECONDS_QUICK if bench.quick or label != "T1" else WALK_SECONDS
    measured = Path(__file__).with_name("view_measured.py")
    done = subprocess.run([PYTHON, measured, bench.command, path, str(seconds)], check=False,
                          capture_output=True, text=True)
    if done.returncode:
        raise BenchError(f"view_measured.py: {done.stderr.strip()[-300:]}")
    found, size = json.loads(done.stdout), path.stat().st_size
    load = f"load {found['load']:.1f} when it began"
    paint, read = median(found["paint_ms"]), 100 * median(found["paint_bytes"]) / size
    yield Row(f"view {label}: first useful paint, ms", "-", f"{paint:.0f} ms", paint, 1000, 300,
              details=[f"each: {[round(t) for t in found['paint_ms']]}", load])
    if label == "T1":
        yield Row(f"view {label}: bytes read until then, %", "-", f"{read:.2f} %", read, 1.5, 0.3)
    frames, late = found["frames_ms"], [round(t) for t in found["late_tasks"]]
    for part, floor, aim in ((0.95, 8, 4), (0.99, 16, 8)):
        value = share(frames, part)
        yield Row(f"view {label}: work of a frame, p{part * 100:.0f}, ms", "-", f"{value:.1f} ms",
                  value, floor, aim,
                  details=[f"{len(frames)} frames in 10 s, half take {median(frames):.1f} ms of "
                           f"the processor; by the clock, script alone: "
                           f"{share(found['script_ms'], part):.1f} ms; tasks over 50 ms: {late}"])
    for part, floor, aim in ((0.5, 300, 100), (0.95, 900, 400)):
        value = share(found["sharp_ms"], part)
        yield Row(f"view {label}: sharp after it rests, p{part * 100:.0f}, ms", "-",
                  f"{value:.0f} ms", value, floor, aim)
    yield Row(f"view {label}: memory of the server, MiB", "-", f"{found['server_mib']:.0f} MiB",
              found["server_mib"], 256, 128)
    yield Row(f"view {label}: heap of the page after {seconds} s, MiB", "-",
              f"{found['heap_mib']:.0f} MiB", found["heap_mib"], 200, 100,
              details=[f"before: {found['heap_before_mib']:.0f} MiB"])


def function_rows(bench, label, path):
    """Of some functions, drawn; each server is new, so that nothing is kept from before."""
    with Server(bench, path) as server:
        rows = server.ask("functions?count=2000")[0]["rows"]
    draw = random.Random(41)
    sites = [row["site"] for row in draw.sample([r for r in rows if int(r["calls"]) > 100], 9)]
    times = []
    for site in sites[:5]:
        with Server(bench, path) as server:
            server.ask("trace")
            times.append(server.ask(f"function?site={site}")[1])
    yield Row(f"view {label}: statistics and histogram of a function, ms", "-",
              f"{median(times):.0f} ms, {max(times):.0f} at most", max(times), 300, 50)
    for count, floor, aim in ((1, 300, 60), (10, 1000, 300), (100, 1000, 300)):
        times, decoded = [], []
        for site in sites:
            with Server(bench, path) as server:
                answer, took = server.ask(f"longest?site={site}&count={count}")
            times.append(took)
            decoded.append(int(answer["decoded"]))
        near = [t for t, d in zip(times, decoded) if d <= PARTITIONS_NEAR]
        yield Row(f"view {label}: {count} longest calls of a function, ms", "-",
                  f"{median(times):.0f} ms, {max(near or times):.0f} at most", max(near or times),
                  floor, aim, details=[f"partitions decoded: {decoded}", f"ms: "
                                       f"{[round(t) for t in times]}"])


def butterfly_rows(bench, label, path):
    with Server(bench, path) as server:
        rows = server.ask("functions?count=3")[0]["rows"]
        start = time.monotonic()
        answer, first = server.ask(f"butterfly?site={rows[-1]['site']}")
        while not answer["complete"]:
            answer = server.ask(f"butterfly?site={rows[-1]['site']}")[0]
        seconds = time.monotonic() - start
        cpu = sum(int(word) for word in Path(f"/proc/{server.process.pid}/stat").read_text(
            encoding="ascii").split()[13:15]) / os.sysconf("SC_CLK_TCK")
        other = server.ask(f"butterfly?site={rows[0]['site']}")[1]
        peak = server.peak_mib()
    yield Row(f"view {label}: first rows of a butterfly, ms", "-", f"{first:.0f} ms", first, 500,
              200)
    yield Row(f"view {label}: all of a butterfly, s", "-", f"{seconds:.1f} s", seconds, 40, 20,
              details=[f"{answer['pieces']} pieces, {cpu:.0f} s of processors; of another function "
                       f"then {other:.0f} ms"])
    yield Row(f"view {label}: memory of the server with it, MiB", "-", f"{peak:.0f} MiB", peak, 256,
              128)


def size_row(bench):
    page = bench.command.parent / "tools" / "page"
    size = sum((page / name).stat().st_size for name in ("page.js", "page.css")) / 1000
    return Row("view: script and style, KB", "-", f"{size:.1f} KB", size, 300, 150)


def trace_rows(bench, label, path):
    yield ready_row(bench, label, path)
    yield from page_rows(bench, label, path)
    if label == "T1":
        yield from function_rows(bench, label, path)
        yield from butterfly_rows(bench, label, path)


def view(bench):
    if not Path("/usr/bin/chromedriver").exists():
        raise BenchError("chromium-driver and python3-selenium are needed (scripts/setup)")
    yield size_row(bench)
    for label, made in (("T1", large), ("T2", threads), ("T3", dash)):
        if label == "T3" and "dash" not in bench.names:
            print("SKIPPED: T3: no recording of dash", file=sys.stderr)
            continue
        path, is_ours = made(bench)
        try:
            yield from trace_rows(bench, label, path)
        finally:
            if is_ours:
                path.unlink(missing_ok=True)
