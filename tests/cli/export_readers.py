"""Strict readers of what `tracetape export` writes. Each gives what it found as plain data; a file
that breaks its format's rules is an AssertionError."""
import csv
import io
import json
import re
import shutil
import sqlite3
import subprocess
from decimal import Decimal
from pathlib import Path

RAW = re.compile(b"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]"
                 b"|\xe2\x81[\xa6-\xa9]|\xef\xbb\xbf")


def text_of(data):
    """UTF-8 without control characters but line feeds and tabs."""
    found = RAW.search(data)
    assert not found, f"a raw control character: {data[max(0, found.start() - 40):][:80]!r}"
    return data.decode("utf-8", errors="strict")


def no_constant(name):
    raise AssertionError(f"{name} is no JSON")


def unique(pairs):
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), f"a key comes twice: {keys}"
    return dict(pairs)


def strict_json(data, **more):
    return json.loads(text_of(data), parse_constant=no_constant, object_pairs_hook=unique, **more)


def nanoseconds(text):
    value = Decimal(text) * 1000
    assert value == int(value), f"{text} is no whole number of nanoseconds"
    return int(value)


class Track:
    """Begins and ends of one thread's track, matched."""

    def __init__(self):
        self.open, self.frames, self.points, self.last = [], [], [], None

    def at(self, time):
        assert self.last is None or time >= self.last, f"time steps back: {self.last} {time}"
        self.last = time

    def begin(self, time, name, values=()):
        self.at(time)
        self.open.append((time, name, list(values)))

    def end(self, time, ending="exit", results=()):
        self.at(time)
        assert self.open, "an end without a begin"
        start, name, values = self.open.pop()
        self.frames.append((start, time, name, ending, values, list(results)))

    def close(self):
        assert not self.open, f"{len(self.open)} frames have no end"
        return self


def read_chrome(data):
    """({(pid, tid): Track}, {(pid, tid): thread name}, {pid: process name})"""
    lines = text_of(data).splitlines()
    assert all(len(line) < 1 << 20 for line in lines)
    trace = strict_json(data, parse_float=str, parse_int=str)
    assert set(trace) - {"stackFrames"} == {"otherData", "traceEvents", "displayTimeUnit"}
    origin = int(trace["otherData"]["time_origin_ns"])
    tracks, threads, processes = {}, {}, {}
    for event in trace["traceEvents"]:
        key = int(event["pid"]), int(event["tid"])
        if event["ph"] == "M":
            if event["name"] == "process_name":
                processes[key[0]] = event["args"]["name"]
            else:
                threads[key] = event["args"]["name"]
            continue
        assert key in threads, f"a thread without a name: {key}"
        track = tracks.setdefault(key, Track())
        time, args = nanoseconds(event["ts"]) + origin, event.get("args", {})
        if event["ph"] == "B":
            track.begin(time, event["name"], args.items())
        elif event["ph"] == "E":
            ending = args.pop("left", "exit")
            track.end(time, ending, args.items())
        else:
            assert event["ph"] == "i" and event["s"] == "t", event
            track.at(time)
            track.points.append((time, event["name"], event.get("cat"), args))
    return {k: t.close() for k, t in tracks.items()}, threads, processes


def read_speedscope(data):
    """{profile name: (start, end, [(start, end, frame)])}, frames of one stack after the other"""
    file = strict_json(data)
    frames = file["shared"]["frames"]
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert all(set(f) <= {"name", "file", "line"} and isinstance(f["name"], str) for f in frames)
    found = {}
    for profile in file["profiles"]:
        assert profile["type"] == "evented" and profile["unit"] in ("nanoseconds", "none")
        track = Track()
        track.at(profile["startValue"])
        for event in profile["events"]:
            if event["type"] == "O":
                track.begin(event["at"], event["frame"])
            else:
                assert event["type"] == "C" and track.open[-1][1] == event["frame"]
                track.end(event["at"])
        track.at(profile["endValue"])
        assert profile["name"] not in found
        found[profile["name"]] = [(f[0], f[1], frames[f[2]]) for f in track.close().frames]
    return found


def read_folded(data):
    found = {}
    for line in text_of(data).split("\n")[:-1]:
        path, weight = line.rsplit(" ", 1)
        key = tuple(path.split(";"))
        assert key not in found and all(key), f"a stack comes twice: {path}"
        found[key] = int(weight)
        assert found[key] > 0
    return found


def read_callgrind(data):
    """(own time by (name, file), {(caller, callee): (calls, time)}, summary)"""
    names, own, edges, summary = {"fn": {}, "fl": {}, "ob": {}}, {}, {}, None
    now, call = {}, None
    head, _, body = text_of(data).partition("\n\n")
    assert head.startswith("# callgrind format\nversion: 1\n")
    for line in head.splitlines()[2:]:
        key, value = line.split(": ", 1)
        summary = int(value) if key == "summary" else summary
    for line in body.splitlines():
        match = re.fullmatch(r"(c?)(fn|fl|ob|fi)=\((\d+)\)(?: (.*))?", line)
        if match:
            side, what, number, name = match.groups()
            what = "fl" if what == "fi" else what
            if name is not None:
                assert names[what].setdefault(number, name) == name
            now[side + what] = names[what][number]
        elif line.startswith("calls="):
            call = int(line[6:].split()[0])
        elif line:
            position, cost = map(int, line.split())
            caller = now["fn"], now["fl"]
            if call is None:
                assert caller not in own, f"{caller} comes twice"
                own[caller] = cost
            else:
                key = caller, (now["cfn"], now["cfl"])
                assert key not in edges and position >= 0
                edges[key] = call, cost
                call = None
    assert sum(own.values()) == summary
    return own, edges, summary


def callgrind_annotate(path):
    """{name: inclusive time} as callgrind_annotate says it; None where it is not installed."""
    if not shutil.which("callgrind_annotate"):
        return None
    done = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", str(path)],
                          check=False, capture_output=True)
    assert done.returncode == 0 and b"WARNING" not in done.stderr, done.stderr
    found = {}
    for line in done.stdout.decode().splitlines():
        match = re.fullmatch(r"\s*([\d,]+)\s+(?:\(\s*[\d.]+%\))?\s+([^:]*):(.*?)(?: \[.*\])?", line)
        if match:
            found[match.group(3)] = found.get(match.group(3), 0) + \
                int(match.group(1).replace(",", ""))
    return found


# ---- Perfetto, as protoc prints it ----

TOKEN = re.compile(r'\s*(?:(\w+)\s*(?::\s*("(?:\\.|[^"\\])*"|[^\s{}]+)|(\{))|(\}))')
OCTAL = re.compile(r'\\([0-7]{3}|.)')


def unquote(text):
    if not text.startswith('"'):
        return text
    plain = {"n": 10, "t": 9, "r": 13}
    made, last = bytearray(), 0
    body = text[1:-1]
    for match in OCTAL.finditer(body):
        made += body[last:match.start()].encode()
        code = match.group(1)
        made.append(int(code, 8) if len(code) == 3 else plain.get(code, ord(code)))
        last = match.end()
    return text_of(bytes(made) + body[last:].encode())


def messages(text):
    """protoc's text: a list of (key, value or list)."""
    stack, at = [[]], 0
    text = text.rstrip()
    while at < len(text):
        match = TOKEN.match(text, at)
        assert match, text[at:at + 80]
        key, value, opens, closes = match.groups()
        if closes:
            stack.pop()
        elif opens:
            stack.append([])
            stack[-2].append((key, stack[-1]))
        else:
            stack[-1].append((key, unquote(value)))
        at = match.end()
    assert len(stack) == 1
    return stack[0]


def decode_perfetto(path, proto):
    """Packets as lists of pairs; None where protoc is not installed."""
    if not shutil.which("protoc"):
        return None
    proto = Path(proto)
    with open(path, "rb") as file:
        done = subprocess.run(["protoc", f"--proto_path={proto.parent}",
                               "--decode=perfetto.protos.Trace", proto.name],
                              stdin=file, check=False, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert not re.search(rb"(?m)^\s*\d+[:{ ]", done.stdout), "fields that the schema lacks"
    packets = messages(done.stdout.decode())
    assert all(key == "packet" for key, _ in packets)
    return [value for _, value in packets]


def annotation(pairs):
    name = [value for key, value in pairs if key == "name"][0]
    return name, [value for key, value in pairs if key != "name"][0]


class Perfetto:
    """Tracks of a trace, with names resolved as Perfetto does."""

    def __init__(self, packets):
        self.names, self.categories, self.places = {}, {}, {}
        self.tracks, self.threads, self.processes, self.parents = {}, {}, {}, {}
        for number, packet in enumerate(packets):
            fields = dict(packet)
            assert fields["trusted_packet_sequence_id"] == "1"
            assert fields["sequence_flags"] == ("1" if number == 0 else "2")
            self.learn(dict(packet).get("interned_data", []))
            if "track_descriptor" in fields:
                self.describe(dict(fields["track_descriptor"]))
            else:
                self.take(int(fields["timestamp"]), fields["track_event"])
        for track in self.tracks.values():
            track.close()

    def learn(self, interned):
        tables = {"event_names": self.names, "event_categories": self.categories,
                  "source_locations": self.places}
        for key, pairs in interned:
            entry = dict(pairs)
            iid = entry.pop("iid")
            assert iid not in tables[key], "interned twice"
            tables[key][iid] = entry

    def describe(self, fields):
        uuid = fields["uuid"]
        assert uuid not in self.parents
        self.parents[uuid] = fields.get("parent_uuid")
        if "process" in fields:
            self.processes[uuid] = dict(fields["process"])
        elif "thread" in fields:
            self.threads[uuid] = dict(fields["thread"])["thread_name"]
        else:
            self.threads[uuid] = fields["name"]

    def take(self, time, pairs):
        event = dict(pairs)
        values = [annotation(v) for k, v in pairs if k == "debug_annotations"]
        track = self.tracks.setdefault(event["track_uuid"], Track())
        assert event["track_uuid"] in self.threads
        if event["type"] == "TYPE_SLICE_BEGIN":
            track.begin(time, self.names[event["name_iid"]]["name"], values)
        elif event["type"] == "TYPE_SLICE_END":
            ending = dict(values).get("left", "exit")
            track.end(time, ending, [v for v in values if v[0] != "left"])
        else:
            track.at(time)
            category = self.categories[event["category_iids"]]["name"]
            track.points.append((time, self.names[event["name_iid"]]["name"], category,
                                 dict(values)))


# ---- CTF, as babeltrace2 prints it ----

CTF_LINE = re.compile(r"\[(\d+)\] (?:\S+ )?([\w:]+): (\{.*\})")
CTF_FIELD = re.compile(r'(\w+) = ("(?:\\.|[^"\\])*"|[^\s,}]+)')


def read_ctf(path):
    """Events as (time, name, fields); None where babeltrace2 is not installed."""
    if not shutil.which("babeltrace2"):
        return None
    done = subprocess.run(["babeltrace2", "--clock-cycles", "--no-delta", str(path)], check=False,
                          capture_output=True)
    assert done.returncode == 0, done.stderr
    found, last = [], 0
    for line in text_of(done.stdout).splitlines():
        match = CTF_LINE.fullmatch(line)
        assert match, line
        fields = {k: re.sub(r"\\(.)", r"\1", v[1:-1]) if v.startswith('"') else int(v, 0)
                  for k, v in CTF_FIELD.findall(match.group(3))}
        time = int(match.group(1))
        assert time >= last, "time steps back"
        last = time
        found.append((time, match.group(2), fields))
    return found


def read_csv(data):
    rows = list(csv.reader(io.StringIO(text_of(data), newline=""), strict=True))
    assert all(len(row) == len(rows[0]) for row in rows)
    return [dict(zip(rows[0], row)) for row in rows[1:]]


def open_sqlite(path):
    base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    assert base.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    return base
