"""What the bench's sections share: running things measured, cached baselines, conversions, rows."""
import hashlib
import json
import math
import os
import statistics
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import recordings

MILLION = recordings.MILLION
SETTINGS = {  # name: options of convert
    "default": [],
    "level1": ["--level", "1"],
    "level9": ["--level", "9"],
    "literal": ["--level", "0"],
    "64ns": ["--resolution", "64ns"],
    "none": ["--resolution", "none"],
}
CONVERTED = (0, 3)  # exit statuses of convert that leave an output; 3: warnings


class BenchError(Exception):
    pass


@dataclass
class Row:
    """One figure: what is compared with floor and aim is `value`."""
    figure: str
    others: str
    ours: str
    value: float
    floor: float
    aim: float
    higher: bool = False  # better
    unit: str = ""
    details: list = field(default_factory=list)

    def reaches(self, bound):
        return self.value >= bound if self.higher else self.value <= bound

    @property
    def verdict(self):
        if not self.floor:
            return "for display"
        return "PASS, aim" if self.reaches(self.aim) else \
            "PASS" if self.reaches(self.floor) else "short"


def geometric(values):
    values = list(values)
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else math.nan


def median(values):
    return statistics.median(values)


class Bench:
    """The places, the programs, and what was measured so far."""

    def __init__(self, source, build, work, corpus, quick):
        self.source, self.corpus = Path(source).resolve(), Path(corpus).resolve()
        self.work = Path(work).resolve()  # caches below it: a relative one is none
        self.command = Path(build).resolve() / "tracetape"  # commands run in other folders too
        self.programs = self.work / "programs"
        self.quick, self.soak = quick, False
        self.values = 0  # context values to sample; 0: as many as the section says
        self.repeats = 3 if quick else 9
        self.cpu = os.environ.get("TTAPE_BENCH_CPU", "0")
        self.cache = self.work / "cache"
        self.cache.mkdir(parents=True, exist_ok=True)
        self.made, self.baselines, self.curve = {}, {}, None
        self.names = recordings.available(self.corpus)
        self.fallback = not self.names
        if self.fallback:
            self.names = ["minilang"]
        self.data = self.work / "data" / self.data_name()
        self.data.mkdir(parents=True, exist_ok=True)
        self.names = [name for name in self.names if self.is_plain(name)]

    # ---- what programs say ----

    def said_ns(self, words, place=()):
        """What a program that is measured writes into BENCH_RESULT. place: words in front."""
        result = self.work / "said_ns"
        result.unlink(missing_ok=True)
        environment = {**os.environ, "BENCH_RESULT": str(result), "XDG_CACHE_HOME": str(self.cache)}
        done = subprocess.run([*place, *map(str, words)], env=environment, check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=600)
        if not result.is_file():
            raise BenchError(f"{words}: {done.stderr.decode()[-400:]}")
        return float(result.read_text(encoding="ascii"))

    def best_ns(self, ways, place=()):
        """Of each way (its words by its name) the best of some turns: what disturbs only adds."""
        best = dict.fromkeys(ways, math.inf)
        for _ in range(self.repeats):
            for way, words in ways.items():
                best[way] = min(best[way], self.said_ns(words, place))
        return best

    # ---- recordings ----

    def data_name(self):
        """Recordings of another corpus, or of a changed one, are unpacked to another place."""
        facts = [str(self.corpus.resolve())]
        for path in sorted(self.corpus.glob("*.uftrace.tar.xz")):
            facts.append(f"{path.name} {path.stat().st_size} {path.stat().st_mtime_ns}")
        return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:12]

    def is_plain(self, name):
        """Whether records follow each other without payloads; known of our own recordings."""
        if self.fallback or name in recordings.SIZED:
            return True
        whole = self.recording(name)
        try:
            recordings.words(recordings.records(whole, recordings.tasks(whole)[0][0], MILLION))
        except (ValueError, IndexError) as error:
            print(f"SKIPPED: recording '{name}': {error}")
            return False
        return True

    def recording(self, name):
        if not self.fallback:
            return recordings.unpack(self.corpus, name, self.data / "whole")
        target = self.data / "whole" / name
        if not target.is_dir():
            program = self.work / "minilang"
            target.parent.mkdir(parents=True, exist_ok=True)
            sources = sorted((self.source / "examples" / "minilang").glob("*.c"))
            self.call(["gcc", "-O2", "-g", "-finstrument-functions", "-o", program, *sources])
            self.call(["uftrace", "record", "--no-libcall", "-d", target, program, "8"])
        return target

    def first_million(self, name):
        target = self.data / "million" / name
        tid = recordings.cut(self.recording(name), target, MILLION)
        return target, tid

    def whole_task(self, name):
        target = self.data / "task" / name
        tid = recordings.cut(self.recording(name), target)
        return target, tid

    # ---- running ----

    @staticmethod
    def call(command, **options):
        """Runs a command that must succeed; its standard output."""
        command = [str(word) for word in command]
        done = subprocess.run(command, check=False, capture_output=True, **options)
        if done.returncode:
            raise BenchError(f"'{' '.join(command)}' ended with {done.returncode}: "
                             f"{done.stderr.decode(errors='replace').strip()[-400:]}")
        return done.stdout

    def run(self, command, cpu=None, output=os.devnull, good=(0,)):
        """Runs a command measured, on one core where `cpu` is given; a dict, `cpu` in seconds."""
        result = self.work / "result.json"
        prefix = ["taskset", "-c", cpu] if cpu is not None else []
        words = [*prefix, self.programs / "run_measured", result, output, *command]
        words = [str(word) for word in words]
        done = subprocess.run(words, check=False, capture_output=True)
        if done.returncode:
            raise BenchError(f"'{' '.join(words)}': {done.stderr.decode(errors='replace')[-400:]}")
        measured = json.loads(result.read_text(encoding="ascii"))
        measured["cpu"] = measured["user"] + measured["sys"]
        if measured["status"] not in good:
            raise BenchError(f"'{' '.join(words)}' ended with {measured['status']}: "
                             f"{done.stderr.decode(errors='replace').strip()[-400:]}")
        return measured

    @staticmethod
    def interleave(runs, repeats):
        """Each of runs {name: callable} in turn, `repeats` times: {name: [result, ...]}."""
        results = {name: [] for name in runs}
        for turn in range(repeats):
            order = list(runs) if turn % 2 == 0 else list(reversed(runs))
            for name in order:
                results[name].append(runs[name]())
        return results

    def convert(self, source, target, *options, jobs=1, **run_options):
        return self.run([self.command, "convert", source, "-o", target, "--force",
                         "--jobs", jobs, *options], good=CONVERTED, **run_options)

    def info(self, path):
        return json.loads(self.call([self.command, "info", "--json", path]))

    def million_info(self, name, setting):
        """Path and `info` of a recording's first million events under a setting."""
        key = (name, setting)
        if key not in self.made:
            source, _ = self.first_million(name)
            target = self.work / "out" / f"{name}.{setting}.ttape"
            target.parent.mkdir(exist_ok=True)
            self.convert(source, target, *SETTINGS[setting])
            self.made[key] = target, self.info(target)
        return self.made[key]

    # ---- baselines ----

    def packed_bytes(self, data, command):
        """Size after a compressor; remembered by content, since xz -9e takes its time."""
        key = hashlib.sha256(data).hexdigest() + "." + "_".join(command).replace("-", "")
        place = self.cache / key
        if place.is_file():
            return int(place.read_text(encoding="ascii"))
        size = len(self.call([*command, "-c"], input=data))
        place.write_text(f"{size}\n", encoding="ascii")
        return size

    def baseline(self, name):
        """Of a recording's first million events: ids, times in columns; records by zstd and xz."""
        if name not in self.baselines:
            source, tid = self.first_million(name)
            data = recordings.records(source, tid)
            ids, differences = recordings.columns(data)
            sizes = {"events": len(data) // recordings.RECORD_BYTES, "uftrace": len(data),
                     "ids": self.packed_bytes(ids, ["xz", "-9e"]),
                     "times": self.packed_bytes(differences, ["xz", "-9e"]),
                     "zstd3": self.packed_bytes(data, ["zstd", "-3", "-q"])}
            sizes["columns"] = sizes["ids"] + sizes["times"]
            sizes["xz9e"] = None if self.quick else self.packed_bytes(data, ["xz", "-9e"])
            self.baselines[name] = sizes
        return self.baselines[name]
