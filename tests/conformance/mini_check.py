"""What a verifier can recompute: edges, summaries, heads and indexes against what was decoded."""
from mini_coder import Cursor, Finding, need, wrap64
from mini_container import HEADER, INDEX, PARTITION
from mini_events import CpuTimes, run
from mini_ends import check_ends
from mini_enters import check_enters
from mini_instants import check_instants
from mini_listed import Longest
from mini_partition import CPU_TIMES, GAP

ORDER_KINDS = (1, 16, 17, 18, 19, 20, 49)   # F-IDX-01: what its byte counts count
TIME_KINDS = (2, 32, 33, 34, 35)
SUMMARY_KINDS = (3, 4)


class Checker:
    """Collects findings about one partition; the events are those of mini_events.run."""

    def __init__(self, name, found):
        self.name, self.found = name, found

    def same(self, rule, what, decoded, stored):
        if decoded != stored:
            self.found(rule, f"{self.name}: {what} is {decoded}, stored {stored}")

    def edge(self, segment, replay, times):
        """F-EDG-05."""
        edge, opened = segment.edge, replay.open_frames()
        kept = 0
        while kept < min(len(opened), len(segment.frames)) and opened[kept][1].start == kept:
            kept += 1
        what = f"stream {segment.stream}: "
        self.same("F-EDG-05", what + "least depth", replay.min_depth, edge.min_depth)
        self.same("F-EDG-05", what + "stack", replay.current, edge.stack)
        self.same("F-EDG-05", what + "unknown depth", replay.unknown, edge.unknown)
        self.same("F-EDG-05", what + "depth offset", replay.offset, edge.offset)
        self.same("F-EDG-05", what + "kept frames", kept, edge.kept)
        self.same("F-EDG-05", what + "open frames",
                  [(f.kind, f.argument, n) for n, f in opened], [f.key() for f in edge.frames])
        if times:
            self.same("F-EDG-05", what + "end tick", replay.tick, edge.end_tick)
            self.same("F-EDG-05", what + "enter ticks and self",
                      [(f.enter, f.self) for _, f in opened],
                      [(f.enter, f.self) for f in edge.frames])

    def summary(self, partition, rows, largest_own):
        """F-SUM: every row that is not all zero must be there, and equal. F-OWN-01."""
        stored = partition.read_summary()
        own_times = partition.read_own_times(stored)
        if own_times is not None:
            self.same("F-OWN-01", "largest own times", largest_own, own_times)
        if stored is None:
            return
        if not partition.times:
            rows = {site: row[:2] + [0] * 5 for site, row in rows.items()}
        for site in sorted(set(rows) | set(stored)):
            self.same("F-SUM-05", f"row of site {site}", rows.get(site, [0] * 7),
                      stored.get(site, [0] * 7))

    def symbols(self, partition, symbols, codes):
        """F-EVT-04: numbers by first appearance, each symbol once."""
        expected = len(partition.given_symbols)
        for code in codes:
            if code >> 1 >= expected:
                self.same("F-EVT-04", "next new symbol", code >> 1, expected)
                expected = (code >> 1) + 1
        self.same("F-EVT-04", "symbols", expected, partition.symbol_count)
        self.same("F-EVT-04", "different symbols", len(set(symbols)), len(symbols))

    def ticks(self, partition, ticks):
        if not ticks:
            return
        self.same("F-PAR-12", "first tick", min(ticks), partition.first_tick)
        self.same("F-PAR-12", "end tick", max(ticks) + 1, partition.end_tick)

    def bases(self, segment, first_tick, last_tick):
        """F-BAS-01: the tick of the stream's event before, or of the first event."""
        if last_tick is None:
            if segment.first == 0:
                self.same("F-BAS-01", "base of a stream's first segment", first_tick, segment.base)
        else:
            self.same("F-BAS-01", "base", last_tick, segment.base)

    def values(self, partition, values, kinds):
        """F-VAL-08, and the head's gaps."""
        lost = sum(v for row in values.values() for kind, v in row if kind == 7)
        self.same("F-PAR-05", "gaps", (kinds.count(GAP), lost), (partition.gaps, partition.lost))
        for event, row in values.items():
            if any(kind == 7 for kind, _ in row):
                self.same("F-VAL-08", f"gap count at event {event}",
                          (kinds[event], len(row)), (GAP, 1))


def check_partition(name, partition, decoded, scope, ends, found):
    """Everything that decoding says about a partition's stored words. Returns what overviews add
    up: rows of the summary, counts of durations, CpuTimes or None, and Longest."""
    symbols, codes, ticks, depths = decoded
    checker, kinds, at = Checker(name, found), [], 0
    rows, largest_own, counts, cpu, longest = {}, {}, {}, None, Longest()
    if CPU_TIMES in partition.entries:
        need(None not in partition.read_switches(), "F-CPU-03", "switches of a segment not known")
        said = partition.read_cpu_times(partition.read_summary())
        cpu = CpuTimes(partition)
    checker.symbols(partition, symbols, codes)
    checker.ticks(partition, ticks)
    for segment, i, kind, _, _, _, tick, replay in run(partition, symbols, codes, ticks, depths,
                                                                       True, cpu):
        kinds.append(kind)
        if i == at:
            stream = scope.number, segment.stream
            if ticks:
                checker.bases(segment, tick, ends.get(stream, (None, None))[1])
            previous = ends.get(stream)
            if previous and previous[0] is not None and segment.first < previous[0]:
                found("F-SEG-01", f"{name}: first event {segment.first} comes again")
        if i + 1 == at + segment.events:
            at = i + 1
            checker.edge(segment, replay, partition.times)
            rows, largest_own = replay.measures.rows, replay.measures.largest_own
            counts, longest = replay.measures.counts, replay.measures.longest
            ends[stream] = segment.first + segment.events, tick if ticks else None
    checker.summary(partition, rows, largest_own)
    if cpu:
        checker.same("F-CPU-01", "CPU times of all", cpu.sums, said[0])
        for site in sorted(set(cpu.rows) | set(said[1])):
            checker.same("F-CPU-01", f"CPU times of site {site}", cpu.row(site),
                         said[1].get(site, [[0] * 3, [0] * 3, None]))
    check_ends(partition, symbols, codes)
    check_instants(checker, partition, symbols, codes, ticks)
    check_enters(checker, partition, symbols, codes)
    checker.values(partition, partition.read_values(), kinds)
    return rows, counts, cpu, longest


# ---- the index ----

def _stored(partition, kinds):
    return sum(e[1] for kind, e in partition.entries.items() if kind in kinds)


class IndexChecker:
    """Compares an index chunk with the chunks before it."""

    def __init__(self, file, partitions, found):
        self.file, self.partitions, self.found = file, partitions, found

    def check(self, index):
        cursor = Cursor(index.payload(), "F-IDX-02")
        before = self.file.chunks[:self.file.chunks.index(index)]
        count = cursor.varint()
        need(count == len(before), "F-IDX-08", f"{count} entries for {len(before)} chunks")
        self.origin = self.end_tick = 0
        self.expected, total = {}, HEADER
        for chunk in before:
            row = cursor.varint(), cursor.varint(), cursor.varint()
            need(row[0] < 1 << 16 and row[1] < 1 << 32 and row[2] <= 1 << 30, "F-IDX-02",
                 f"entry {row}")
            self.same("F-IDX-08", "kind, scope, bytes", row,
                      (chunk.kind, chunk.scope, chunk.stored))
            total += HEADER + row[2]
            if chunk.kind == PARTITION:
                cursor.rule = "F-IDX-03"
                self.partition(cursor, chunk)
                cursor.rule = "F-IDX-02"
        need(total == index.offset, "F-IDX-06", f"sizes add up to {total}, not {index.offset}")
        cursor.end("F-IDX-06")

    def same(self, rule, what, stored, truth):
        if stored != truth:
            self.found(rule, f"index: {what} {stored}, the chunk says {truth}")

    def partition(self, cursor, chunk):
        partition = self.partitions.get(chunk.sequence)
        need(partition and partition.segments, "F-IDX-08", f"chunk {chunk.sequence} is damaged")
        row = tuple(cursor.varint() for _ in range(5))
        need(1 <= row[1] <= row[0] <= 1 << 24 and row[3] <= chunk.stored, "F-IDX-03",
             f"partition {row}")
        self.same("F-IDX-08", "events, segments, model, light bytes, resolution", row,
                  (partition.events, partition.segment_count, (partition.model + 1) & 0xFFFFFFFF,
                   partition.light_bytes, partition.resolution))
        self.origin = self.origin + cursor.svarint() & (1 << 64) - 1
        first = wrap64(self.end_tick + cursor.svarint())
        self.end_tick = wrap64(first + cursor.varint())
        self.same("F-IDX-08", "origin, ticks", (self.origin, first, self.end_tick),
                  (partition.origin, partition.first_tick, partition.end_tick))
        stored = tuple(cursor.varint() for _ in range(4))
        need(sum(stored) <= chunk.stored, "F-IDX-04", f"bytes {stored}")
        self.same("F-IDX-08", "bytes", stored,
                  tuple(_stored(partition, k) for k in
                        (ORDER_KINDS, TIME_KINDS, (48,), SUMMARY_KINDS)))
        gaps = cursor.varint(), cursor.varint()
        self.same("F-IDX-08", "gaps", gaps, (partition.gaps, partition.lost))
        cursor.rule, stream = "F-IDX-05", -1
        for segment in partition.segments[:row[1]]:
            stream += 1 + cursor.varint()
            events = cursor.varint()
            need(stream < 1 << 24 and 1 <= events <= row[0], "F-IDX-05", f"stream {stream}")
            begin = self.expected.get((chunk.scope, stream), 0) + cursor.svarint()
            self.expected[chunk.scope, stream] = begin + events
            self.same("F-IDX-08", "segment", (stream, events, begin),
                      (segment.stream, segment.events, segment.first))


def check_indexes(file, partitions, found):
    """All index chunks of a file."""
    checker = IndexChecker(file, partitions, found)
    for chunk in file.chunks:
        if chunk.kind == INDEX:
            try:
                checker.check(chunk)
            except Finding as error:
                found(error.rule, error.message)
