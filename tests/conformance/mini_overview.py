"""Overviews (spec/format.md, section 11), against the partitions that they cover."""
import struct

from mini_coder import Bits, Cursor, Decoder, Finding, Number, need, wrap64
from mini_events import LEAF, bucket
from mini_listed import check_listed
from mini_merged import check_merged
from mini_outlines import check_outlines
from mini_partition import CPU_TIMES, ENDS, SUMMARY, SWITCHES, cpu_rows, summary_rows
from xxh3 import xxh3_64

PARTITIONS, BUCKETS = 64, 48
SUMMARY_PART, CPU_PART, CALLS_PART, LEAVES_PART, OUTLINES_PART = 1, 2, 3, 4, 5
LISTED_PART, INSTANTS_PART, ENDS_PART = 6, 7, 8


class Masks:
    """F-OVR-05: masks of n partitions, one after the other."""

    def __init__(self, n):
        self.n, self.full, self.bits, self.before = n, Bits(1), Bits(4), 0

    def get(self, decoder):
        mask = (1 << self.n) - 1
        if not decoder.bit(self.full):
            mask = left = 0
            for i in range(self.n):
                left = decoder.bit(self.bits, left << 1 | self.before >> i & 1)
                mask |= left << i
        self.before = mask
        return mask


class Overview:
    """The parts of one, decoded."""

    def __init__(self, chunk, payload):
        need(not chunk.flags, "F-OVR-01", "flags of an overview")
        cursor = Cursor(payload, "F-OVR-01")
        self.n = cursor.varint(PARTITIONS)
        need(self.n, "F-OVR-01", "an overview of nothing")
        self.identity = struct.unpack("<Q", cursor.take(8))[0]
        self.resolution = cursor.varint((1 << 63) - 1)
        self.span = cursor.svarint()
        parts, last = {}, 0
        while cursor.left():
            kind = cursor.varint()
            need(kind > last, "F-OVR-01", "parts do not ascend")
            parts[kind] = cursor.take(cursor.varint())
            last = kind
        need(SUMMARY_PART in parts, "F-OVR-01", "no summary")
        self.rows = summary_rows(parts[SUMMARY_PART], self.resolution)
        self.cpu = None
        if CPU_PART in parts:
            self.cpu = cpu_rows(Decoder(parts[CPU_PART], "F-CPU-02"), self.rows, self.resolution)
        self.calls = self.read_calls(parts[CALLS_PART]) if CALLS_PART in parts else None
        self.leaves = self.read_leaves(parts[LEAVES_PART]) if LEAVES_PART in parts else {}
        self.outlines, self.listed = parts.get(OUTLINES_PART), parts.get(LISTED_PART)
        self.merged = parts.get(INSTANTS_PART)
        self.ends = int.from_bytes(parts.get(ENDS_PART, bytes(8)), "little")
        need(len(parts.get(ENDS_PART, bytes(8))) == 8 and self.ends >> self.n == 0 and
             (self.ends != 0) == (ENDS_PART in parts), "F-OVR-15", "ends of an overview")

    def read_calls(self, data):
        """Site to (mask, counts of buckets)."""
        decoder, masks = Decoder(data, "F-OVR-05"), Masks(self.n)
        models, found = [Number() for _ in range(8)], {}
        for site, (_, left, _, _, most, least, _) in self.rows.items():
            mask, counts = masks.get(decoder), [0] * BUCKETS
            for i in range(bucket(least), bucket(most)):
                if not self.resolution or not left:
                    break
                counts[i] = models[min((left.bit_length() - 1) // 4, 7)].get(decoder)
                left -= counts[i]
                need(left >= 0, "F-OVR-05", f"more durations of site {site} than ended frames")
            counts[bucket(most)] += left if self.resolution else 0
            found[site] = mask, counts
        return found

    def read_leaves(self, data):
        """Site to (events, mask)."""
        decoder, masks = Decoder(data, "F-OVR-06"), Masks(self.n)
        site, count, last, found = Number(), Number(), -1, {}
        rows = site.get(decoder)
        need(rows <= 1 << 24, "F-OVR-06", f"{rows} leaves")
        for _ in range(rows):
            last += 1 + site.get(decoder)
            need(last < 1 << 24, "F-OVR-06", f"site {last}")
            events = count.get(decoder)
            found[last] = events, masks.get(decoder)
        return found


class Part:
    """What one partition adds."""

    def __init__(self, partition, symbols, codes, rows, counts, cpu, longest):
        self.partition, self.rows, self.counts, self.cpu = partition, rows, counts, cpu
        self.longest = longest
        self.leaves = {}
        for code in codes:
            kind, site = symbols[code >> 1]
            if kind == LEAF:
                self.leaves[site] = self.leaves.get(site, 0) + 1


def add_rows(parts):
    """F-OVR-04: the sums of rows."""
    sums = {}
    for part in parts:
        for site, row in part.rows.items():
            to = sums.setdefault(site, [0] * 7)
            if row[1]:
                to[4:6] = (max(to[4], row[4]), min(to[5], row[5])) if to[1] else row[4:6]
            for i in 0, 1, 2, 3, 6:
                to[i] += row[i]
            to[2:4], to[6] = map(wrap64, to[2:4]), to[6] % (1 << 128)
    return sums


def add_calls(parts):
    """F-OVR-05, F-OVR-06: site to (mask, counts), and site to (events, mask)."""
    calls, leaves = {}, {}
    for i, part in enumerate(parts):
        for site, row in part.rows.items():
            mask, counts = calls.setdefault(site, (0, [0] * BUCKETS))
            mask |= (row[0] + row[1] != 0) << i
            more = part.counts.get(site, [0] * BUCKETS)
            calls[site] = mask, [a + b for a, b in zip(counts, more)]
        for site, events in part.leaves.items():
            before, mask = leaves.get(site, (0, 0))
            leaves[site] = before + events, mask | 1 << i
    return calls, leaves


def add_cpu(parts):
    """F-OVR-07: what cpu_rows gives, of all."""
    sums, rows = [0] * 3, {}
    for part in parts:
        sums = [a + b for a, b in zip(sums, part.cpu.sums)]
        for site, (own, total, most) in part.cpu.rows.items():
            to = rows.setdefault(site, [[0] * 3, [0] * 3, None])
            to[0] = [a + b for a, b in zip(to[0], own)]
            to[1] = [a + b for a, b in zip(to[1], total)]
            to[2] = most if to[2] is None else to[2] if most is None else max(to[2], most)
    return sums, rows


def check_cover(overview, parts):
    """F-OVR-02, F-OVR-03, and where CPU times have to be."""
    need(len(parts) == overview.n, "F-OVR-02", f"{len(parts)} partitions before it")
    facts = b"".join(struct.pack("<QQqq", p.events, p.segment_count, p.first_tick, p.end_tick)
                     for p in (part.partition for part in parts))
    need(xxh3_64(facts) == overview.identity, "F-OVR-02", "other partitions")
    partitions = [part.partition for part in parts]
    need(all(p.resolution == overview.resolution and SUMMARY in p.entries for p in partitions),
         "F-OVR-03", "partitions of another resolution, or without a summary")
    span = sum(s.edge.end_tick - s.base for p in partitions for s in p.segments) \
        if overview.resolution else 0
    need(wrap64(span) == overview.span, "F-OVR-03", f"span {overview.span}")
    cpu = [CPU_TIMES in p.entries for p in partitions]
    need(all(cpu) == any(SWITCHES in p.entries for p in partitions) == bool(overview.cpu),
         "F-OVR-07", "CPU times of some partitions only")


def compare(overview, parts):
    """What the parts of an overview say, against the sums."""
    rows, timed = add_rows(parts), overview.resolution
    if not timed:
        rows = {site: row[:2] + [0] * 5 for site, row in rows.items()}
    for site in set(rows) | set(overview.rows):
        row = overview.rows.get(site, [0] * 7)
        need(rows.get(site, [0] * 7) == row, "F-OVR-04", f"row of site {site}")
    need(all(row[1] < 1 << 32 for row in overview.rows.values()), "F-OVR-04", "ended frames")
    calls, leaves = add_calls(parts)
    for site, (mask, counts) in (overview.calls or {}).items():
        expected = calls.get(site, (0, [0] * BUCKETS))
        need(mask == expected[0] and (not timed or counts == expected[1]), "F-OVR-05",
             f"calls of site {site}")
    need(leaves == overview.leaves, "F-OVR-06", "leaves")
    need(overview.ends == sum((ENDS in part.partition.entries) << i
                              for i, part in enumerate(parts)), "F-OVR-15", "ends")
    if overview.outlines is not None:
        check_outlines(overview.outlines, bool(timed), parts)
    if overview.listed is not None:
        check_listed(overview.listed, overview, parts)
    if overview.merged is not None:
        check_merged(overview.merged, parts)
    if overview.cpu:
        sums, found = add_cpu(parts)
        zero = [[0] * 3, [0] * 3, None]
        need(sums == overview.cpu[0], "F-OVR-07", "CPU times of all")
        need(all(found.get(site, zero) == row for site, row in overview.cpu[1].items()),
             "F-OVR-07", "CPU times of a site")


def check_overviews(file, parts, found):
    """parts: (chunk, Part) of the partitions that could be decoded, in their order."""
    for chunk, payload in file.overviews:
        try:
            overview = Overview(chunk, payload)
            before = [part for other, part in parts
                      if other.scope == chunk.scope and other.sequence < chunk.sequence]
            check_cover(overview, before[-overview.n:])
            compare(overview, before[-overview.n:])
        except Finding as error:
            found(error.rule, f"chunk {chunk.sequence}: {error.message}")
