"""Recording: what a program pays itself, and until its trace is closed, against the floor, empty
hooks, uftrace and LTTng, interleaved; memory, bytes, losses; and a long run (--soak).

The floor is a time stamp and one store into a wrapping buffer (hooks_floor.c), nothing kept. Every
figure is over the same program built without hooks. The program runs on one core, what records on
another."""
import json
import math
import os
import shutil
import statistics
import subprocess
import threading
import time
from pathlib import Path

import record_programs
from measure import BenchError, Row, geometric, median

MEMORY_MIB = 4 + 1  # and 1 for each thread: the programs here have one
SOAK_SECONDS = 600
CLOCK = ("--clock", "tsc")  # the floor's, also where the kernel keeps time otherwise
RECORDED = (0, 3, 4)  # 4: nothing was, with --off
NO_FUNCTION = "^no function has this name$"


class Recorded:
    """One program's runs: figures by way of running it."""

    def __init__(self, bench, program, libraries):
        self.bench, self.program, self.libraries = bench, program, libraries
        self.result = bench.work / "own.json"
        self.trace = bench.work / "recorded.ttape"
        others = [str(c) for c in range(os.cpu_count() or 1) if str(c) != bench.cpu]
        self.elsewhere = ["taskset", "-c", ",".join(others)] if others else []
        self.here = ["taskset", "-c", bench.cpu]
        self.events, self.bytes = 0, 0

    def run(self, words, **env):
        """A measured run: what the program says of itself, and the whole command's wall time."""
        self.result.unlink(missing_ok=True)
        kept = dict(os.environ)
        mine = {**record_programs.clean_environment(), "BENCH_RESULT": str(self.result), **env}
        os.environ.clear()
        os.environ.update(mine)
        try:
            whole = self.bench.run(words, good=RECORDED)
        finally:
            os.environ.clear()
            os.environ.update(kept)
        if not self.result.is_file():
            raise BenchError(f"{self.program.name} did not say what it took: {words}")
        own = json.loads(self.result.read_text(encoding="ascii"))
        own["cpu"], own["whole"] = own["user"] + own["sys"], whole["wall"]
        own["closed"] = whole["cpu"]  # what records included
        return own

    def alone(self, path, **env):
        return self.run([*self.here, path, *self.program.arguments], **env)

    def preloaded(self, library):
        return self.alone(self.program.hooked, LD_PRELOAD=str(library))

    def ours(self, *options):
        self.trace.unlink(missing_ok=True)
        words = [*self.elsewhere, self.bench.command, "record", "-q", "--force", "-o", self.trace,
                 *options, "--", *self.here, self.program.hooked, *self.program.arguments]
        own = self.run(words)
        if options == CLOCK:
            about = self.bench.info(self.trace)
            self.bytes, own["lost"] = about["file_bytes"], about["lost"]
            self.events = about["events"] + about["lost"]
        return own

    def uftrace(self, *options):
        place = self.bench.work / "recorded.uftrace"
        shutil.rmtree(place, ignore_errors=True)
        # its reader threads go where it starts; the program moves itself
        words = [*self.elsewhere, "uftrace", "record", "--no-libcall", "--no-event", "--force",
                 "-d", place, *options, *self.here, self.program.hooked, *self.program.arguments]
        own = self.run(words)
        shutil.rmtree(place, ignore_errors=True)
        return own

    def lttng(self):
        place = self.bench.work / "recorded.lttng"
        shutil.rmtree(place, ignore_errors=True)
        session = f"bench-{os.getpid()}"
        self.bench.call(["lttng", "-q", "create", session, f"--output={place}"])
        try:
            self.bench.call(["lttng", "-q", "enable-channel", "-u", "large", "--subbuf-size=4M",
                             "--num-subbuf=8"])
            self.bench.call(["lttng", "-q", "enable-event", "-u", "-c", "large",
                             "lttng_ust_cyg_profile_fast:*"])
            self.bench.call(["lttng", "-q", "start"])
            return self.preloaded(self.libraries["lttng"])
        finally:
            subprocess.run(["lttng", "-q", "destroy", session], check=False, capture_output=True)
            shutil.rmtree(place, ignore_errors=True)

    def ways(self):
        found = {"plain": lambda: self.alone(self.program.plain),
                 "empty": lambda: self.preloaded(self.libraries["hooks_empty"]),
                 "floor": lambda: self.preloaded(self.libraries["hooks_floor"]),
                 "tsc": lambda: self.ours(*CLOCK),
                 "none": lambda: self.ours("--clock", "none"),
                 "level 1": lambda: self.ours(*CLOCK, "--level", "1"),
                 "off": lambda: self.ours("--off"),
                 "left out": lambda: self.ours(*CLOCK, "--function", NO_FUNCTION),
                 "idle": lambda: self.preloaded(self.libraries["runtime"])}
        if shutil.which("uftrace"):
            found["uftrace"] = self.uftrace
            found["uftrace -N"] = lambda: self.uftrace("-N", ".")
            found["uftrace -D"] = lambda: self.uftrace("-D", "1")
        if self.libraries.get("lttng"):
            found["lttng"] = self.lttng
        return found


class Sessiond:
    """LTTng's daemon, where none runs: started here, and ended here."""

    def __init__(self, bench):
        self.pid_file = bench.work / "lttng-sessiond.pid"
        self.own = False

    def __enter__(self):
        if subprocess.run(["lttng", "-q", "--no-sessiond", "list"], check=False,
                          capture_output=True).returncode:
            self.own = subprocess.run(["lttng-sessiond", "--daemonize",
                                       f"--pidfile={self.pid_file}"], check=False,
                                      capture_output=True).returncode == 0
            return self.own
        return True

    def __exit__(self, *_):
        if self.own and self.pid_file.is_file():
            os.kill(int(self.pid_file.read_text(encoding="ascii")), 15)


def nanoseconds(runs, way, key, events):
    """Per event over the plain program, by medians."""
    return (median([r[key] for r in runs[way]]) - median([r[key] for r in runs["plain"]])) \
        * 1e9 / max(events, 1)


def ratio(a, b):
    return a / b if b > 0 else math.nan


def measure_program(bench, program, libraries):
    recorded = Recorded(bench, program, libraries)
    ways = recorded.ways()
    broken = []
    for way in list(ways):  # once before all, so that caches are filled and what fails is left out
        try:
            ways[way]()
        except BenchError as error:
            if way.split()[0] not in ("uftrace", "lttng"):
                raise
            broken.append(f"{way}: {error}")
            del ways[way]
    runs = bench.interleave(ways, bench.repeats)
    for line in broken:
        print(f"SKIPPED: {program.name}, {line}", flush=True)
    return recorded, runs


def describe(name, recorded, runs):
    """One line a way: ns per event of cpu, of wall, and until all is closed."""
    lost = [r["lost"] for r in runs["tsc"]]
    lines = [f"{name}: {recorded.events} events, {recorded.bytes} bytes, lost {max(lost)} at most, "
             f"none in {lost.count(0)} of {len(lost)} runs; plain "
             f"{median([r['cpu'] for r in runs['plain']]):.3f} s"]
    floor = nanoseconds(runs, "floor", "cpu", recorded.events)
    for way in runs:
        if way == "plain":
            continue
        own, wall, whole = (nanoseconds(runs, way, key, recorded.events)
                            for key in ("cpu", "wall", "whole"))
        spread = [r["cpu"] for r in runs[way]]
        lines.append(f"  {way:8} {own:7.2f} ns user + system ({ratio(own, floor):5.2f} floors), "
                     f"{wall:7.2f} ns wall, {whole:7.2f} ns until the end; spread of the runs "
                     f"{(max(spread) - min(spread)) / statistics.mean(spread) * 100:.0f} %")
    return lines


class Figures:
    """All programs' figures, and their geometric means."""

    def __init__(self, measured):
        self.measured = measured
        self.details = [line for name, (recorded, runs) in measured.items()
                        for line in describe(name, recorded, runs)]

    def each(self, way, key="cpu"):
        return {name: nanoseconds(runs, way, key, recorded.events)
                for name, (recorded, runs) in self.measured.items() if way in runs}

    def ratios(self, way, to="floor", key="cpu"):
        over, under = self.each(way, key), self.each(to)
        return {name: max(value, 0.001) / max(under[name], 0.001) for name, value in over.items()}

    def mean(self, way, to="floor", key="cpu"):
        found = self.ratios(way, to, key)
        return geometric(found.values()) if found else math.nan

    def ns(self, way, key="cpu"):
        return geometric(max(v, 0.001) for v in self.each(way, key).values())

    def others(self, key="cpu"):
        words = [f"{way} {self.mean(way, key=key):.1f}x" for way in ("uftrace", "lttng")
                 if self.each(way)]
        return ", ".join(words) or "-"


def left_out(figures):
    """Of calls that `--function` leaves out: an enter and an exit, over the plain program."""
    pair = {way: 2 * figures.ns(way) for way in ("empty", "left out", "tsc", "uftrace -N",
                                                 "uftrace -D") if figures.each(way)}
    others = ", ".join(f"{way} {ns:.1f} ns" for way, ns in pair.items() if way.startswith("uft"))
    return Row("a call left out, ns over plain", others or "-",
               f"{pair['left out']:.1f} ns (empty hooks {pair['empty']:.1f}, kept "
               f"{pair['tsc']:.1f})", pair["left out"], 3, 3,
               details=[f"{n}: {2 * v:.2f} ns" for n, v in figures.each("left out").items()])


def rows(figures):
    per_program = {name: [f"{n}: {r:.2f}" for n, r in figures.ratios(*name).items()]
                   for name in (("tsc",), ("none",), ("off", "empty"), ("idle", "empty"))}
    floor = f"floor {figures.ns('floor'):.1f} ns"
    yield Row("own run time, TSC, events kept, floors", figures.others(),
              f"{figures.ns('tsc'):.1f} ns ({floor})", figures.mean("tsc"), 2.0, 1.2,
              details=figures.details + per_program[("tsc",)])
    yield Row("until the finished file is closed, floors", figures.others("whole"),
              f"{figures.ns('tsc', 'whole'):.1f} ns", figures.mean("tsc", key="whole"), 5, 2.5)
    closed = {way: figures.mean(way, key="closed") for way in ("tsc", "level 1")}
    yield Row("until then, process time of both, floors", "-",
              f"{figures.ns('tsc', 'closed'):.1f} ns (level 1: {closed['level 1']:.2f} floors)",
              closed["tsc"], 4, 2)
    yield Row("own run time without time stamps, floors", "-", f"{figures.ns('none'):.1f} ns",
              figures.mean("none"), 0.5, 0.3, details=per_program[("none",)])
    yield Row("compiled in but off, empty hooks", f"empty {figures.ns('empty'):.2f} ns",
              f"{figures.ns('off'):.2f} ns", figures.mean("off", "empty"), 1.2, 1.0,
              details=per_program[("off", "empty")])
    yield left_out(figures)
    yield Row("preloaded, nobody records, empty hooks", "-", f"{figures.ns('idle'):.2f} ns",
              figures.mean("idle", "empty"), 0, 0, details=per_program[("idle", "empty")])


def totals(measured):
    size = geometric(r.bytes / max(r.events, 1) for r, _ in measured.values())
    yield Row("bytes per event on disk, exact ns", "uftrace 16", f"{size:.3f}", size, 1.0, 0.7,
              details=[f"{n}: {r.bytes / max(r.events, 1):.4f}" for n, (r, _) in measured.items()])
    memory = {name: (median([r["max_rss_kib"] for r in runs["tsc"]])
                     - median([r["max_rss_kib"] for r in runs["plain"]])) / 1024
              for name, (_, runs) in measured.items()}
    yield Row("memory in the traced process, one thread, MiB", "-", f"{max(memory.values()):.2f}",
              max(memory.values()), MEMORY_MIB, MEMORY_MIB / 2,
              details=[f"{n}: {m:.2f} MiB over plain" for n, m in memory.items()])
    shares = {name: [1 - run["lost"] / max(r.events, 1) for run in runs["tsc"]]
              for name, (r, runs) in measured.items()}
    kept = min(median(found) for found in shares.values())
    worst = min(min(found) for found in shares.values())
    yield Row("events kept, share", "-", f"{kept:.6f}, {worst:.6f} at worst", kept, 1, 1,
              higher=True)


def record(bench):
    libraries = {name: record_programs.shared_library(bench, name)
                 for name in ("hooks_empty", "hooks_floor")}
    libraries["runtime"] = record_programs.runtime(bench)
    library = record_programs.lttng_library()
    if library is None:
        print("SKIPPED: LTTng-UST is not installed", flush=True)
        yield from measured_rows(bench, libraries)
        return
    with Sessiond(bench) as runs:
        if runs:
            libraries["lttng"] = library
        else:
            print("SKIPPED: LTTng's daemon does not start", flush=True)
        yield from measured_rows(bench, libraries)


def measured_rows(bench, libraries):
    measured = {program.name: measure_program(bench, program, libraries)
                for program in record_programs.available(bench)}
    yield from rows(Figures(measured))
    yield from totals(measured)


# ---- a long run ----

def tree_bytes(*paths):
    """What is allocated on disk."""
    total = 0
    for path in paths:
        for item in [path, *path.rglob("*")] if path.is_dir() else [path]:
            try:
                total += item.lstat().st_blocks * 512
            except OSError:
                pass
    return total


def resident_kib(pid):
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0, 0
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    anonymous = int(fields.get("RssAnon", "0 kB").split()[0])
    return int(fields.get("VmRSS", "0 kB").split()[0]), anonymous


def children(pid):
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    except OSError:
        return []
    return [int(word) for word in text.split()]


class Samples(threading.Thread):
    """Once a second: memory of the recorder and of the program, bytes on disk."""

    def __init__(self, process, trace):
        super().__init__(daemon=True)
        self.process, self.trace, self.rows = process, trace, []

    def run(self):
        remains = self.trace.with_name(self.trace.name + ".recording")
        start = time.monotonic()
        while self.process.poll() is None:
            program = max((resident_kib(child)[0] for child in children(self.process.pid)),
                          default=0)
            total, anonymous = resident_kib(self.process.pid)
            self.rows.append((time.monotonic() - start, total, anonymous, program,
                              tree_bytes(remains, self.trace)))
            time.sleep(1)

    def highest(self, column, begin=0.0, end=1.0):
        chosen = self.rows[int(len(self.rows) * begin):max(1, int(len(self.rows) * end))]
        return max((row[column] for row in chosen), default=0)


def soak_command(bench, seconds):
    """A busy program at full speed: Lua's work again and again, or the example's threads."""
    programs = {p.name: p for p in record_programs.available(bench)}
    if "lua" not in programs:
        steady = bench.work / "recorded" / "steady"
        folder = bench.source / "tests" / "record" / "programs"
        own = bench.work / "recorded" / "own.o"
        bench.call(["gcc", "-O2", "-c", folder / "own.c", "-o", own])
        bench.call(["gcc", "-O2", record_programs.HOOKS, "-o", steady, folder / "p_steady.c", own,
                    "-pthread"])
        return [steady, int(seconds * 1000), 1]
    script = programs["lua"].arguments[0]
    loop = (f"local t = os.time() + {int(seconds)} while os.time() < t do "
            f"dofile('{script}') end")
    return [programs["lua"].hooked, "-e", loop]


def soak(bench):
    if not bench.soak:
        print("left out: a recording of ten minutes: see --soak", flush=True)
        return
    seconds = float(os.environ.get("TTAPE_SOAK_SECONDS", SOAK_SECONDS))
    spill = os.environ.get("TTAPE_SOAK_SPILL", "1G")
    trace = bench.work / "soak.ttape"
    trace.unlink(missing_ok=True)
    words = [bench.command, "record", "-q", "--force", "-o", trace, "--spill", spill, "--",
             *soak_command(bench, seconds)]
    begin = time.monotonic()
    with subprocess.Popen([str(w) for w in words], stdout=subprocess.DEVNULL,
                          env=record_programs.clean_environment()) as process:
        samples = Samples(process, trace)
        samples.start()
        process.wait()
        samples.join()
    if process.returncode not in RECORDED:
        raise BenchError(f"the long recording ended with {process.returncode}")
    yield from soak_rows(bench, trace, samples, spill, time.monotonic() - begin)
    trace.unlink(missing_ok=True)


def soak_rows(bench, trace, samples, spill, wall):
    bench.call([bench.command, "verify", trace])
    about = bench.info(trace)
    whole = about["events"] + about["lost"]
    early, late = samples.highest(2, 0.1, 0.5), samples.highest(2, 0.5)
    details = [f"{wall:.0f} s until closed, {about['events']} events kept, {about['lost']} lost "
               f"and counted in {about['gaps']} gaps, {about['file_bytes']} bytes",
               f"recorder {samples.highest(1) // 1024} MiB resident at most, of that its own "
               f"{samples.highest(2) // 1024} MiB; program {samples.highest(3) // 1024} MiB; "
               f"disk {samples.highest(4) >> 20} MiB at most"]
    details += [f"{row[0]:6.0f} s: recorder {row[1] // 1024} MiB ({row[2] // 1024} own), program "
                f"{row[3] // 1024} MiB, disk {row[4] >> 20} MiB"
                for row in samples.rows[::max(1, len(samples.rows) // 20)]]
    yield Row("long run: recorder's memory, late over early", "-", f"{late // 1024} MiB",
              late / max(early, 1), 1.25, 1.05, details=details)
    limit = sized(spill) + about["file_bytes"] * 1.1 + (64 << 20)
    yield Row("long run: disk over its bound", f"bound {limit / 2**20:.0f} MiB",
              f"{samples.highest(4) >> 20} MiB", samples.highest(4) / limit, 1, 1)
    yield Row("long run: share of events kept", "-", f"{about['events']} of {whole}",
              about["events"] / max(whole, 1), 0, 0, higher=True)


def sized(text):
    units = {"K": 10, "M": 20, "G": 30}
    return int(text[:-1]) << units[text[-1]] if text[-1] in units else int(text)
