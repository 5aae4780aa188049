#!/usr/bin/env python3
"""Rollups (spec/rollup.md) from the specification alone: read and checked, added up, written.

    mini_rollup.py FILE...          each file's rows, one a line
    mini_rollup.py -o OUT FILE...   their sum
"""
import struct
import sys
from itertools import pairwise

from mini_coder import Cursor, need, unzigzag
from xxh3 import xxh3_64

MAGIC = b"\x89TTROL1\n"
COUNT, TIME, SQUARES, LEAST, GREATEST, LARGEST, BITS = range(7)
TRACE_KINDS = [COUNT, COUNT, TIME, TIME, LARGEST, LARGEST, COUNT, BITS, COUNT, LARGEST, COUNT,
               COUNT, TIME, TIME, TIME, TIME, TIME, COUNT]
ROW_KINDS = [COUNT, COUNT, TIME, TIME, LEAST, GREATEST, SQUARES, TIME, TIME, TIME, TIME, TIME, TIME,
             TIME, TIME, COUNT, TIME, COUNT, COUNT, TIME, COUNT, COUNT, COUNT, TIME, BITS]
SIGNED = (TIME, LEAST, GREATEST)
BITS_OF = {COUNT: 64, TIME: 128, SQUARES: 192, LEAST: 64, GREATEST: 64, LARGEST: 64, BITS: 64}
KIND_OF_CALLS, MOST = 6, 10
BY_SIZE, IN_POWERS = 1, 2
EXITS, MIN, MAX, FLAGS = 1, 4, 5, 7


class Rollup:
    """functions: the seven parts, by their keys; rows by (function key, caller); traces by id."""

    def __init__(self, by=0, flags=0, longest=0):
        self.by, self.flags, self.longest = by, flags, longest
        self.paths, self.rows, self.traces = {}, {}, {}


def key_of(function):
    """R-FUN-04: where there is a build id, the path does not tell functions apart."""
    symbol, build, path, *rest = function
    return (symbol, build, b"" if build else path, *rest)


def wide(cursor, bits, signed, rule):
    value = shift = 0
    while True:
        byte = cursor.byte()
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
        need(shift < 196, rule, "number too long")
    need(byte or shift == 7, rule, "number not in its shortest form")
    if signed:
        value = unzigzag(value)
        need(-(1 << bits - 1) <= value < 1 << bits - 1, rule, "number too large")
    need(signed or value < 1 << bits, rule, "number too large")
    return value


def read_sums(cursor, kinds):
    mask = cursor.varint()
    need(mask < 1 << len(kinds), "R-SUM-01", "a field without a meaning")
    sums = {}
    for field, kind in enumerate(kinds):
        if mask >> field & 1:
            sums[field] = wide(cursor, BITS_OF[kind], kind in SIGNED, "R-SUM-01")
            need(sums[field] or kind in (LEAST, GREATEST), "R-SUM-01", "a zero that is written")
    if kinds is ROW_KINDS:
        need({MIN, MAX} <= sums.keys() if EXITS in sums else not {MIN, MAX} & sums.keys(),
             "R-SUM-01", "extremes without exits")
    return sums


def read_counts(cursor, flags):
    counts, before = {}, 0
    for number in range(cursor.varint()):
        unit = cursor.varint()
        need(unit == 0 == number if flags == BY_SIZE else before < unit < 1 << 63, "R-CNT-03",
             "a unit out of order")
        before, size_class = unit, 0
        many = cursor.varint()
        need(0 < many <= 65536, "R-CNT-01", "a unit without counts")
        for _ in range(many):
            size_class += cursor.varint()
            need(size_class < (48 if unit else 7425), "R-CNT-02", "no such class")
            counts[unit, size_class] = cursor.varint()
            need(counts[unit, size_class], "R-CNT-02", "a class of none")
            size_class += 1
    return counts


def read_calls(cursor, longest, ids):
    calls = []
    many = cursor.varint()
    need(many <= longest, "R-LNG-01", "too many calls")
    for _ in range(many):
        duration, trace = unzigzag(cursor.varint()), cursor.varint()
        need(trace < len(ids), "R-LNG-01", "no such trace")
        calls.append((-duration, ids[trace], cursor.varint(), cursor.varint()))
    need(all(a < b for a, b in pairwise(calls)), "R-LNG-02", "calls out of order")
    return calls


def read_strings(cursor, many):
    strings = [b""]
    for _ in range(many):
        shared, size = cursor.varint(), cursor.varint()
        need(shared <= len(strings[-1]) and 0 < size <= (1 << 20) - shared, "R-STR-01",
             "a string that is none")
        text = strings[-1][:shared] + cursor.take(size)
        need(text > strings[-1] and text[:shared + 1] != strings[-1][:shared + 1], "R-STR-02",
             "strings out of order")
        strings.append(text)
    return strings


def read_functions(cursor, many, strings):
    functions, symbol, before = [], 0, None
    for _ in range(many):
        parts = [cursor.varint() for _ in range(7)]
        symbol += parts[0]
        numbers = (symbol, *parts[1:])
        need(max(numbers[:4]) < len(strings) and numbers[5] <= 5 and numbers[4] < 1 << 32,
             "R-FUN-01", "a function without its strings")
        need(len(strings[numbers[1]]) <= 64, "R-FUN-02", "a build id too long")
        need(before is None or numbers > before, "R-FUN-03", "functions out of order")
        before = numbers
        functions.append((*(strings[n] for n in numbers[:4]), *numbers[4:]))
    return functions


def read_rows(cursor, many, functions, by):
    rows, function, before = [], 0, None
    for _ in range(many):
        function += cursor.varint()
        caller = cursor.varint()
        need(function < len(functions) and caller < len(functions) + 2 and
             (by == KIND_OF_CALLS or not caller), "R-ROW-01", "a row without its function")
        need(before is None or (function, caller) > before, "R-ROW-02", "rows out of order")
        before = function, caller
        rows.append(before)
    return rows


def read_traces(cursor, many):
    traces, before = {}, b""
    for _ in range(many):
        trace, names = cursor.take(16, "R-TRC-01"), []
        need(trace > before or not traces, "R-TRC-01", "traces out of order")
        for _ in range(2):
            size = cursor.varint()
            need(size <= 4096, "R-TRC-01", "a name too long")
            names.append(cursor.take(size, "R-TRC-01"))
        covered, end = set(), 0
        for number in range(cursor.varint()):
            gap, size = cursor.varint(), cursor.varint()
            need(size and (gap or not number) and end + gap + size < 1 << 32, "R-TRC-02",
                 "ranges out of order")
            covered.update(range(end + gap, end + gap + size))
            end += gap + size
        sums = read_sums(cursor, TRACE_KINDS)
        need(sums.get(FLAGS, 0) < 64, "R-TRC-03", "a flag without a meaning")
        traces[trace], before = (names, covered, sums), trace
    return traces


def read_header(data):
    need(data[:6] == MAGIC[:6] and len(data) >= 64, "R-HDR-01", "no rollup")
    need(data[6:8] == MAGIC[6:], "R-HDR-03", "another major version")
    need(struct.unpack_from("<Q", data, 56)[0] == xxh3_64(data[:56]), "R-HDR-02", "header's hash")
    _, required, flags, size, body_hash, by, *numbers = struct.unpack_from("<HHIQQIIIIII", data, 8)
    need(required == 0, "R-HDR-03", "a newer reader")
    need(size == len(data), "R-HDR-04", "another size")
    need(flags < 3, "R-HDR-05", "flags without a meaning")
    need(by <= KIND_OF_CALLS and numbers[4] <= MOST and (not numbers[4] or by == 0), "R-HDR-06",
         "no such rows")
    need(body_hash == xxh3_64(data[64:]), "R-HDR-02", "the rest's hash")
    return flags, by, numbers


def read(data):
    flags, by, (strings, functions, rows, traces, longest) = read_header(data)
    rollup, cursor = Rollup(by, flags, longest), Cursor(data, "R-SUM-01", 64)
    cursor.rule = "R-STR-01"
    texts = read_strings(cursor, strings)
    cursor.rule = "R-FUN-01"
    names = read_functions(cursor, functions, texts)
    cursor.rule = "R-ROW-01"
    pairs = read_rows(cursor, rows, names, by)
    cursor.rule = "R-TRC-02"
    rollup.traces = read_traces(cursor, traces)
    cursor.rule = "R-SUM-01"
    rollup.paths = {key_of(name): name[2] for name in names}
    ids = sorted(rollup.traces)
    for function, caller in pairs:
        sums = read_sums(cursor, ROW_KINDS)
        counts = read_counts(cursor, flags) if flags else {}
        calls = read_calls(cursor, longest, ids) if longest else []
        who = caller if caller < 2 else key_of(names[caller - 2])
        rollup.rows[key_of(names[function]), who] = (sums, counts, calls)
    need(cursor.left() == 0, "R-HDR-04", "more behind the last row")
    return rollup


# ---- adding ----

def add_sums(one, other, kinds):
    out = dict(one)
    for field, value in other.items():
        kind = kinds[field]
        how = {LEAST: min, GREATEST: max, LARGEST: max, BITS: int.__or__}.get(kind, int.__add__)
        out[field] = how(out[field], value) if field in out else value
        low = -(1 << BITS_OF[kind] - 1) if kind in SIGNED else 0
        need(low <= out[field] < low + (1 << BITS_OF[kind]), "R-SUM-05", "a sum does not fit")
    return {k: v for k, v in out.items() if v or kinds[k] in (LEAST, GREATEST)}


def add_trace(one, other):
    names = [min(filter(None, pair), default=b"") for pair in zip(one[0], other[0], strict=True)]
    need(not one[1] & other[1] and one[1] and other[1], "R-TRC-04", "partitions are added twice")
    return names, one[1] | other[1], add_sums(one[2], other[2], TRACE_KINDS)


def add(one, other):
    need((one.by, one.flags, one.longest) == (other.by, other.flags, other.longest), "R-HDR-06",
         "rows of other kinds")
    out = Rollup(one.by, one.flags, one.longest)
    out.paths = {k: min(p.paths[k] for p in (one, other) if k in p.paths)
                 for k in one.paths | other.paths}
    out.traces = one.traces | {k: add_trace(one.traces[k], v) if k in one.traces else v
                               for k, v in other.traces.items()}
    out.rows = dict(one.rows)
    for key, (sums, counts, calls) in other.rows.items():
        own = out.rows.get(key, ({}, {}, []))
        out.rows[key] = (add_sums(own[0], sums, ROW_KINDS),
                         {c: own[1].get(c, 0) + counts.get(c, 0) for c in own[1] | counts},
                         sorted(own[2] + calls)[:out.longest])
    return out


# ---- writing ----

def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def zigzag(value):
    return varint(2 * value if value >= 0 else -2 * value - 1)


def numbers(*values):
    return b"".join(map(varint, values))


def sums_bytes(sums, kinds):
    return varint(sum(1 << field for field in sums)) + b"".join(
        (zigzag if kinds[field] in SIGNED else varint)(sums[field]) for field in sorted(sums))


def trace_bytes(trace, names, covered, sums):
    ranges, end, out = [], 0, b""
    for partition in sorted(covered):
        if ranges and ranges[-1][1] == partition:
            ranges[-1][1] += 1
        else:
            ranges.append([partition, partition + 1])
    for first, last in ranges:
        out += numbers(first - end, last - first)
        end = last
    return (trace + b"".join(varint(len(n)) + n for n in names) + varint(len(ranges)) + out +
            sums_bytes(sums, TRACE_KINDS))


def counts_bytes(counts):
    units = sorted({unit for unit, _ in counts})
    out = varint(len(units))
    for unit in units:
        classes, before = sorted(c for u, c in counts if u == unit), 0
        out += numbers(unit, len(classes))
        for size_class in classes:
            out += numbers(size_class - before, counts[unit, size_class])
            before = size_class + 1
    return out


def write(rollup):
    names = sorted((k[0], k[1], rollup.paths[k], *k[3:]) for k in rollup.paths)
    texts = sorted({text for name in names for text in name[:4]} - {b""})
    place, out, before = {t: i + 1 for i, t in enumerate(texts)} | {b"": 0}, b"", b""
    for text in texts:
        shared = next((i for i, (a, b) in enumerate(zip(text, before, strict=False)) if a != b),
                      min(len(text), len(before)))
        out += numbers(shared, len(text) - shared) + text[shared:]
        before = text
    symbol = 0
    for name in names:
        out += numbers(place[name[0]] - symbol, *(place[t] for t in name[1:4]), *name[4:])
        symbol = place[name[0]]
    number = {key_of(name): i for i, name in enumerate(names)}
    rows = sorted(((number[f], c if isinstance(c, int) else number[c] + 2), v)
                  for (f, c), v in rollup.rows.items())
    function = 0
    for (own, caller), _ in rows:
        out += numbers(own - function, caller)
        function = own
    ids = sorted(rollup.traces)
    out += b"".join(trace_bytes(trace, *rollup.traces[trace]) for trace in ids)
    for _, (sums, counts, calls) in rows:
        out += sums_bytes(sums, ROW_KINDS) + (counts_bytes(counts) if rollup.flags else b"")
        if rollup.longest:
            out += varint(len(calls)) + b"".join(
                zigzag(-d) + numbers(ids.index(t), s, e) for d, t, s, e in calls)
    return seal(out, rollup.by, rollup.flags,
                (len(texts), len(names), len(rows), len(ids), rollup.longest))


def seal(body, by, flags, many):
    head = MAGIC + struct.pack("<HHIQQIIIIII", 0, 0, flags, 64 + len(body), xxh3_64(body), by,
                               *many)
    return head + struct.pack("<Q", xxh3_64(head)) + body


def main(words):
    target = words[1] if words[:1] == ["-o"] else None
    rollups = []
    for name in words[2:] if target else words:
        with open(name, "rb") as file:
            rollups.append(read(file.read()))
    total = rollups[0]
    for other in rollups[1:]:
        total = add(total, other)
    if target:
        with open(target, "wb") as file:
            file.write(write(total))
        return
    for (function, caller), (sums, _, _) in sorted(total.rows.items(), key=str):
        print(function, caller, *(f"{k}={v}" for k, v in sums.items()))


if __name__ == "__main__":
    main(sys.argv[1:])
