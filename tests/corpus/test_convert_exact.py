#!/usr/bin/env python3
"""What `tracetape convert` makes of real recordings, event for event, against a decoder of its own.

Reads the .dat files, memory maps, symbol and debug files of every recording in the corpus without
any of tracetape's code, prints the CSV that `tracetape dump --format csv` must print, and compares
byte for byte: order, times, depths, addresses, names. Then `--resolution 64ns` (every time within
half a step) and `--resolution none` (the same order).

The first 20,000 records of each of a recording's first four tasks are compared and 1,000 of each
further one, as there may be hundreds, of recordings with many tasks, jumps or arguments; 200,000 of
each of all with TTAPE_THOROUGH=1; all of them with TTAPE_SLOW=1 (or TTAPE_RECORDS=N, 0: all). Exit
77: no corpus here."""
import bisect
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile

TOOL = os.environ.get("TTAPE_BIN", "tracetape")
SOURCE = pathlib.Path(os.environ.get("TTAPE_SRC", "."))
CORPUS = pathlib.Path(os.environ.get("TTAPE_CORPUS", SOURCE / ".." / "shared" / "corpus"))
SLOW = os.environ.get("TTAPE_SLOW", "0") not in ("", "0")
THOROUGH = os.environ.get("TTAPE_THOROUGH") == "1"
RECORDS = int(os.environ.get("TTAPE_RECORDS", "0" if SLOW else "200000" if THOROUGH else "20000"))
COARSE_RECORDS = 20000
PLAIN = () if SLOW or THOROUGH else ("lua", "sqlite", "tcc")  # left out: one task, calls alone
WHOLE_TASKS, FURTHER = (1 << 32, 1) if SLOW or THOROUGH else (4, 20) # a 20th of further tasks
BLOCK_LINES = 1 << 16
RECORD = struct.Struct("<QQ")
KINDS = ("enter", "exit", "gap", "marker")
EVENTS = {100001: "read:proc/statm", 100002: "read:page-fault",
          100003: "diff:proc/statm", 100004: "diff:page-fault"}
HEADER = b"stream,tid,time_ns,kind,depth,address,symbol\n"


class Module:
    """Symbols and argument sizes of one mapped file, by relative address."""

    def __init__(self, folder, path):
        name = path.rsplit("/", 1)[-1]
        self.starts, self.names, self.sizes = [], [], {}
        symbols = folder / f"{name}.sym"
        rows = []
        for line in symbols.read_text(errors="surrogateescape").splitlines() \
                if symbols.exists() else []:
            match = re.match(r"([0-9a-f]+) (?:[0-9][0-9a-f]* )?([?TtwPKDdvu]) (.*)", line)
            if match:
                rows.append((int(match[1], 16), match[2], match[3]))
        for address, kind, symbol in sorted(rows, key=lambda row: row[0]):
            if not self.starts or self.starts[-1] != address:
                self.starts.append(address)
                ends = kind == "?" or symbol in ("__sym_end", "__dynsym_end", "__func_end")
                self.names.append("" if ends else symbol)
        self.read_debug(folder / f"{name}.dbg")

    def read_debug(self, path):
        function = None
        for line in path.read_text().splitlines() if path.exists() else []:
            if line.startswith("F: "):
                function = int(line.split()[1], 16)
            elif line[:3] in ("A: ", "R: "):
                self.sizes[function, line[0]] = [size_of(w) for w in line[4:].split(",")]

    def find(self, address):
        at = bisect.bisect_right(self.starts, address) - 1
        return (self.starts[at], self.names[at]) if at >= 0 and self.names[at] else (None, "")


def size_of(word):
    """Bytes of a value by its specification, -1 for strings."""
    spec = re.fullmatch(r"(?:arg|fparg|retval)\d*(?:/([a-zA-Z]?)(\d*)(:\w+)?)?(%.*)?", word)
    if not spec:
        raise ValueError(f"unknown specification {word}")
    letter, digits = spec[1] or "", spec[2] or ""
    if letter in ("s", "S"):
        return -1
    if letter == "c":
        return 1
    return int(digits) // 8 if digits and letter != "t" else int(digits or 8)


class Recording:
    def __init__(self, folder):
        self.folder = folder
        self.tasks, self.maps, self.modules = {}, [], {}
        for line in (folder / "task.txt").read_text().splitlines():
            value = dict(re.findall(r"(\w+)=(\"[^\"]*\"|\S+)", line))
            time = int(value["timestamp"].replace(".", ""))
            if line.startswith("TASK"):
                self.tasks.setdefault(int(value["tid"]), (int(value["pid"]), time))
            elif line.startswith("FORK"):
                self.tasks.setdefault(int(value["pid"]), (int(value["pid"]), time))
            elif line.startswith("SESS") and not self.maps:
                self.read_map(folder / f"sid-{value['sid']}.map")
        tids = [int(p.stem) for p in folder.glob("*.dat") if p.stem.isdigit()]
        self.order = sorted(tids, key=lambda tid: (self.tasks[tid][0], tid, self.tasks[tid][1]))

    def read_map(self, path):
        for line in path.read_text().splitlines():
            words = line.split()
            if len(words) >= 6 and words[5].startswith("/"):
                start, end = (int(x, 16) for x in words[0].split("-"))
                if self.maps and self.maps[-1][2] == words[5]:
                    self.maps[-1][1] = end
                else:
                    self.maps.append([start, end, words[5]])

    def find(self, address):
        """(module, start of the function in it, name)"""
        for start, end, path in self.maps:
            if start <= address < end:
                if path not in self.modules:
                    self.modules[path] = Module(self.folder, path)
                return (self.modules[path], *self.modules[path].find(address - start))
        return None, None, ""


class Tails(dict):
    """From a record's second word to the rest of its line."""

    def __init__(self, recording):
        super().__init__()
        self.recording = recording

    def __missing__(self, word):
        kind, depth, address = word & 3, word >> 6 & 0x3FF, word >> 16
        assert word >> 3 & 7 == 5 and kind != 2, f"record {word:x}"
        name = EVENTS[address] if kind == 3 else self.recording.find(address)[2]
        self[word] = f",{KINDS[kind]},{depth},0x{address:x},{name}\n"
        return self[word]


def payload_end(recording, word, data, at):
    """Where the payload at data[at] ends."""
    start = at
    if word & 3 == 3:
        at += 2 + struct.unpack_from("<H", data, at)[0]
    else:
        module, function, name = recording.find(word >> 16)
        sizes = module.sizes[function, "AR"[word & 3]]
        for size in sizes:
            if size < 0:
                size = struct.unpack_from("<H", data, at)[0]
                at += 2
            at += size
            at += -(at - start) % 4
    return at + -(at - start) % 8


def records(recording, data):
    """(time, word) of each record, payloads skipped."""
    if "argspec" not in (recording.folder / "info").read_bytes().decode("latin-1"):
        yield from RECORD.iter_unpack(data[:len(data) // 16 * 16])
        return
    at = 0
    while at + 16 <= len(data):
        time, word = RECORD.unpack_from(data, at)
        at += 16
        if word & 4:
            at = payload_end(recording, word, data, at)
        yield time, word


def shorten(source, target, count):
    """A copy of a recording with at most `count` records a task (0: all); cut at a record's end."""
    shutil.copytree(source, target)
    if count == 0:
        return
    recording = Recording(target)
    for number, tid in enumerate(recording.order):
        path = target / f"{tid}.dat"
        if number == WHOLE_TASKS:
            count //= FURTHER
        if path.stat().st_size <= 16 * count:
            continue
        data = path.read_bytes()
        at = 0
        for _ in range(count):
            if at + 16 > len(data):
                break
            word = RECORD.unpack_from(data, at)[1]
            at = payload_end(recording, word, data, at + 16) if word & 4 else at + 16
        path.write_bytes(data[:at])


def expected_blocks(recording, with_times):
    tails = Tails(recording)
    yield HEADER
    for number, tid in enumerate(recording.order):
        data = (recording.folder / f"{tid}.dat").read_bytes()
        prefix = f"{number},{tid},"
        lines = []
        for time, word in records(recording, data):
            lines.append(f"{prefix}{time if with_times else ''}{tails[word & ~4]}")
            if len(lines) == BLOCK_LINES:
                yield "".join(lines).encode("utf-8", "surrogateescape")
                lines = []
        yield "".join(lines).encode("utf-8", "surrogateescape")


def first_difference(want, got):
    for line, (one, two) in enumerate(zip(want.splitlines(), got.splitlines())):
        if one != two:
            return f"line {line} of a block: expected {one!r}, got {two!r}"
    return f"expected {len(want)} bytes, got {len(got)}"


def dump(path):
    return subprocess.Popen([TOOL, "dump", "--format", "csv", path], stdout=subprocess.PIPE,
                            bufsize=1 << 20)


def compare_bytes(name, recording, trace, with_times):
    """Number of events, all equal; or ends the test."""
    count = 0
    with dump(trace) as process:
        for want in expected_blocks(recording, with_times):
            got = process.stdout.read(len(want))
            if got != want:
                sys.exit(f"FAILED {name}: after {count} lines: {first_difference(want, got)}")
            count += want.count(b"\n")
        rest = process.stdout.read()
    if rest or process.returncode != 0:
        sys.exit(f"FAILED {name}: {len(rest)} bytes too many, status {process.returncode}")
    return count - 1


def compare_coarse(name, recording, trace, step):
    with dump(trace) as process:
        process.stdout.readline()
        for want in expected_blocks(recording, True):
            for line in want.splitlines() if want != HEADER else []:
                got = process.stdout.readline()
                a, b = line.split(b",", 3), got.rstrip(b"\n").split(b",", 3)
                far = abs(int(a[2]) - int(b[2])) * 2 > step
                if far or a[:2] + a[3:] != b[:2] + b[3:]:
                    sys.exit(f"FAILED {name} in steps of {step} ns: expected {line!r}, got {got!r}")
        if process.stdout.read(1):
            sys.exit(f"FAILED {name} in steps of {step} ns: lines too many")


def convert(folder, trace, *options):
    subprocess.run([TOOL, "convert", folder, "-o", trace, "--force", *options], check=True)
    subprocess.run([TOOL, "verify", "--quiet", trace], check=True)


def check(name, folder, work):
    short = work / "short"
    trace = work / "trace.ttape"
    if RECORDS > 0:
        shorten(folder, short, RECORDS)
        folder = short
    recording = Recording(folder)
    convert(folder, trace)
    count = compare_bytes(name, recording, trace, True)
    print(f"{name}: {count} events equal", flush=True)
    coarse = folder
    if RECORDS != COARSE_RECORDS:
        coarse = work / "coarse"
        shorten(folder, coarse, COARSE_RECORDS)
        recording = Recording(coarse)
    convert(coarse, trace, "--resolution", "none")
    compare_bytes(f"{name} --resolution none", recording, trace, False)
    convert(coarse, trace, "--resolution", "64ns")
    compare_coarse(name, recording, trace, 64)


def main():
    archives = [path for path in sorted(CORPUS.glob("*.uftrace.tar.xz"))
                if path.name.split(".")[0] not in PLAIN]
    if not archives:
        print(f"SKIPPED: no recordings in {CORPUS}")
        sys.exit(77)
    for archive in archives:
        with tempfile.TemporaryDirectory(prefix="ttape-corpus-") as work:
            work = pathlib.Path(work)
            with tarfile.open(archive) as tar:
                tar.extractall(work / "all")
            folder = next(p.parent for p in (work / "all").rglob("info"))
            check(archive.name.split(".")[0], folder, work)


main()
