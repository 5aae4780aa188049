#!/usr/bin/env python3
"""Arrow's IPC stream, read by the published layout of its metadata alone: every offset lies inside,
buffers are where they are said to be, texts are those of their dictionaries, and calls, durations
and own times are those of report, to the nanosecond."""
import json
import os
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

TOOL = os.environ["TTAPE_BIN"]
VECTORS = Path(os.environ["TTAPE_SRC"]) / "spec/vectors"
EVENTS = """process 7 prog
thread 7 7 first
thread 7 70 worker
module 0x1000 0x2000 /bin/x build-id=aabb
symbol 0x1010 main main.c:12
symbol 0x1020 a;b"c x.c:3
5 7 open outer
10 7 enter 0x1010
10 70 enter main
20 70 enter 0x1020
31 70 exit
35 70 enter 0x1800
47 70 signal 11
50 70 enter main
53 70 exit
54 70 signal-end 11
70 70 unwind 2
75 7 exit
"""


def run(*words, data=None, good=(0,)):
    done = subprocess.run([TOOL, *map(str, words)], check=False, capture_output=True, input=data)
    assert done.returncode in good, (words, done.returncode, done.stderr[:300])
    return done.stdout


class Table:
    """A table of FlatBuffers: fields by number."""

    def __init__(self, data, at):
        self.data, self.at = data, at
        assert at % 4 == 0 and 0 < at <= len(data) - 4
        self.list = at - struct.unpack_from("<i", data, at)[0]
        assert self.list % 2 == 0 and self.list >= 0
        self.list_bytes, self.bytes = struct.unpack_from("<HH", data, self.list)
        assert self.list + self.list_bytes <= len(data) and at + self.bytes <= len(data)

    def place(self, number):
        entry = 4 + 2 * number
        offset = struct.unpack_from("<H", self.data, self.list + entry)[0] \
            if entry < self.list_bytes else 0
        assert offset < self.bytes
        return self.at + offset if offset else None

    def get(self, number, form, default=0):
        place, size = self.place(number), struct.calcsize(form)
        assert place is None or place % size == 0
        return struct.unpack_from("<" + form, self.data, place)[0] if place else default

    def target(self, number):
        place = self.place(number)
        return place and place + struct.unpack_from("<I", self.data, place)[0]

    def table(self, number):
        place = self.target(number)
        return Table(self.data, place) if place else None

    def items(self, number, form):
        """Numbers, or tuples of them."""
        place = self.target(number)
        count = struct.unpack_from("<I", self.data, place)[0]
        size, widest = struct.calcsize("<" + form), 8 if "q" in form else 4
        assert (place + 4) % widest == 0 and place + 4 + count * size <= len(self.data)
        return [struct.unpack_from("<" + form, self.data, place + 4 + i * size)
                for i in range(count)], place + 4

    def text(self, number):
        (place,) = (self.target(number),)
        size = struct.unpack_from("<I", self.data, place)[0]
        assert self.data[place + 4 + size] == 0
        return self.data[place + 4:place + 4 + size].decode()


def messages(data):
    """[(kind, table, body)], and nothing behind the end."""
    at = 0
    while True:
        mark, size = struct.unpack_from("<II", data, at)
        assert mark == 0xFFFFFFFF and at % 8 == 0 and size % 8 == 0
        at += 8
        if size == 0:
            assert at == len(data)
            return
        metadata = data[at:at + size]
        message = Table(metadata, struct.unpack_from("<I", metadata)[0])
        assert message.get(0, "h") == 4  # version 5
        body = data[at + size:at + size + message.get(3, "q")]
        at += size + len(body)
        yield message.get(1, "B"), message.table(2), body


def buffers_of(batch, body):
    """(rows, [(rows, nulls)], [bytes])"""
    nodes, _ = batch.items(1, "qq")
    parts, found, end = batch.items(2, "qq")[0], [], 0
    for offset, size in parts:
        assert offset % 8 == 0 and offset >= end and offset + size <= len(body)
        found.append(body[offset:offset + size])
        end = offset + size
    return batch.get(0, "q"), nodes, found


def texts_of(batch, body):
    rows, nodes, (valid, offsets, data) = buffers_of(batch, body)
    assert nodes == [(rows, 0)] and not valid
    ends = struct.unpack(f"<{rows + 1}i", offsets)
    assert ends[0] == 0 and ends[-1] == len(data) and list(ends) == sorted(ends)
    return [data[a:b].decode() for a, b in zip(ends, ends[1:])]


def field_of(field):
    """(name, struct's letter, nullable, dictionary)"""
    kind, kinds = field.get(2, "B"), {(8, 0): "B", (32, 0): "I", (64, 0): "Q", (64, 1): "q"}
    assert field.items(5, "I")[0] == []
    if kind == 5:
        encoding = field.table(4)
        index = encoding.table(1)
        assert (index.get(0, "i"), index.get(1, "B")) == (32, 1)
        return field.text(0), "i", field.get(1, "B"), encoding.get(0, "q")
    number = field.table(3)
    assert kind == 2
    return (field.text(0), kinds[number.get(0, "i"), number.get(1, "B")], field.get(1, "B"), None)


def batches(data):
    """Columns of each batch: {name: values}."""
    fields, texts = [], {}
    for kind, head, body in messages(data):
        if kind == 1:
            items, place = head.items(1, "I")
            fields = [field_of(Table(head.data, place + 4 * i + offset))
                      for i, (offset,) in enumerate(items)]
        elif kind == 2:
            assert head.get(0, "q") not in texts
            texts[head.get(0, "q")] = texts_of(head.table(1), body)
        else:
            count, nodes, parts = buffers_of(head, body)
            columns = {}
            for i, (name, letter, nullable, dictionary) in enumerate(fields):
                valid, values = parts[2 * i], struct.unpack(f"<{count}{letter}", parts[2 * i + 1])
                assert nodes[i][0] == count and (nullable or not nodes[i][1])
                there = [not valid or valid[k >> 3] >> (k & 7) & 1 for k in range(count)]
                assert sum(not ok for ok in there) == nodes[i][1], name
                columns[name] = [None if not ok else texts[dictionary][value]
                                 if dictionary is not None else value
                                 for ok, value in zip(there, values)]
            yield columns


def read(data):
    """Rows as dicts."""
    return [dict(zip(columns, row)) for columns in batches(data)
            for row in zip(*columns.values())]


def sums(rows):
    own, calls = Counter(), Counter()
    for row in rows:
        own[row["name"]] += row["self_ns"]
        calls[row["name"]] += not row["was_open"]
    return +own, +calls


def folded_total(trace):
    lines = run("export", "--format", "folded", trace, good=(0, 3)).decode().splitlines()
    return sum(int(line.rsplit(" ", 1)[1]) for line in lines)


def check_rows(rows):
    by_call = {row["call"]: row for row in rows}
    assert len(by_call) == len(rows)
    for row in rows:
        parent = by_call.get(row["parent"])
        assert (row["parent"] is None) == (row["depth"] == 0)
        assert row["parent"] is None or (
            parent["depth"] == row["depth"] - 1 and parent["start_ns"] <= row["start_ns"] and
            row["start_ns"] + row["duration_ns"] <= parent["start_ns"] + parent["duration_ns"])


def main():
    with tempfile.TemporaryDirectory(prefix="ttape-arrow.") as folder:
        trace = Path(folder) / "in.ttape"
        run("convert", "-", "-o", trace, data=EVENTS.encode())
        rows = read(run("export", "--format", "arrow", trace))
        check_rows(rows)
        main_row = next(row for row in rows if row["name"] == "main" and row["tid"] == 7)
        assert (main_row["file"], main_row["line"], main_row["module"], main_row["thread"]) == \
            ("main.c", 12, "/bin/x", "first"), main_row
        assert (main_row["start_ns"], main_row["duration_ns"], main_row["ending"]) == \
            (10, 65, "exit"), main_row
        handler = next(row for row in rows if row["signal"] == 11)
        assert (handler["name"], handler["site"], handler["self_ns"]) == ("signal 11", None, 4)
        assert {row["ending"] for row in rows} == {"exit", "unwind", "still_open"}
        cut = read(run("export", "--format", "arrow", "--time", "20..52", "--thread", "70", trace))
        assert sum(row["self_ns"] for row in cut) == 32 and \
            [row["was_open"] for row in cut if row["depth"] == 0] == [1]
        count = 0
        for vector in sorted(VECTORS.glob("*.ttape"))[::9]:
            done = subprocess.run([TOOL, "export", "--format", "arrow", str(vector)], check=False,
                                  capture_output=True)
            if done.returncode == 0:
                rows, count = read(done.stdout), count + 1
                check_rows(rows)
                assert sum(row["self_ns"] for row in rows) == folded_total(vector), vector
        assert count > 12, count
        big, lines = Path(folder) / "big.ttape", []
        for i in range(70_000):  # more than a batch
            lines += [f"{i * 9 + 1} 1 enter f{i % 5}", f"{i * 9 + 2 + i % 6} 1 exit"]
        run("convert", "-", "-o", big, data="\n".join(lines).encode())
        rows = read(run("export", "--format", "arrow", big))
        said = json.loads(run("report", "--json", big))["rows"]
        own, calls = sums(rows)
        assert own == Counter({row["name"]: row["self_ns"] for row in said}), own
        assert calls == Counter({row["name"]: row["calls"] for row in said}), calls
        assert sum(row["duration_ns"] for row in rows) == sum(row["total_ns"] for row in said)
    print(f"ok: {count} vectors")


if __name__ == "__main__":
    main()
