"""Partitions: head, directory, light sections, values and depths (spec/format.md, section 7)."""
import struct

from mini_coder import Bits, Cursor, Decoder, Number, Signed, f64, need, unzstd, wrap64
from xxh3 import xxh3_64

HEAD = 96
ENTRY = 24
SEGMENTS, BASES, EDGES, SUMMARY, VALUES, DEPTHS, SWITCHES, OWN_TIMES, CPU_TIMES, INSTANTS, \
    ENDS, ENTERS = 1, 2, 3, 4, 48, 49, 50, 51, 52, 53, 54, 55
ORDERS = {(16, 17): "full", (18, 19): "literal", (20,): "raw"}
TIMES = {(32,): "static", (33,): "mixed", (34,): "raw", (35,): "phased"}
KNOWN = {1, 2, 3, 4, 16, 17, 18, 19, 20, 32, 33, 34, 35, 48, 49, 50, 51, 52, 53, 54, 55}
ENTER, LEAF, OPEN, SIGNAL, EXIT_UNSEEN, UNWIND, EXIT_ACROSS, SWITCH, GAP = range(9)
PUSHING = (ENTER, OPEN, SIGNAL)          # F-EVT-01
NO_MODEL = (1 << 32) - 1
DEPTH_MAX = (1 << 31) - 1
STACKS = 1 << 20


class Frame:
    """An open frame at an edge; edges add its enter tick and self."""

    def __init__(self, kind, argument, stack):
        self.kind, self.argument, self.stack = kind, argument, stack
        self.enter = self.self = self.off = 0
        self.start = None                # its place among the start frames, when it is one

    def key(self):
        return self.kind, self.argument, self.stack


class Segment:
    """One run of events of one stream: the start edge, and with an edges section the end edge."""

    def __init__(self):
        self.stream = -1
        self.events = self.first = self.stack = self.unknown = self.offset = 0
        self.frames = []
        self.base = 0
        self.edge = None


class Edge:
    """What an edges section says of a segment; frames are the end frames."""
    min_depth = end_tick = stack = unknown = offset = kept = 0
    frames = ()


class _Frames:
    """The models of frames that segments and edges have alike (F-SEG-01)."""

    def __init__(self, decoder, rule):
        self.decoder, self.rule = decoder, rule
        self.kind, self.stack = Number(), Number()
        self.arguments = [(Signed(), [0]) for _ in range(9)]

    def get(self):
        kind = self.kind.get(self.decoder)
        need(kind in PUSHING, self.rule, f"open frame of class {kind}")
        model, last = self.arguments[kind]
        last[0] += model.get(self.decoder)
        need(0 <= last[0] < 1 << 32, "F-SEG-07", f"argument {last[0]}")
        stack = self.stack.get(self.decoder)
        need(stack < STACKS, "F-SEG-03", f"stack {stack}")
        return Frame(kind, last[0], stack)


class Partition:
    """A partition's head and sections; `read_light` fills segments and edges."""

    def __init__(self, payload, is_model=False):
        need(len(payload) >= HEAD, "F-PAR-01", "no room for a head")
        (check, sections, self.events, self.segment_count, self.symbol_count, self.given,
         self.wide, self.model, self.flags, self.start_frames, self.new_frames, self.resolution,
         self.origin, self.first_tick, self.end_tick, self.gaps, self.reserved,
         self.lost) = struct.unpack_from("<Q10IQQqqIIQ", payload)
        need(sections <= 64, "F-PAR-02", f"{sections} sections")
        end = HEAD + ENTRY * sections
        need(len(payload) >= end, "F-PAR-01", "no room for the directory")
        need(check == xxh3_64(payload[8:end]), "F-PAR-03", "hash of head and directory")
        self.segments = []
        self.payload, self.size, self.light_bytes = payload, len(payload), end
        self.model_symbols, self.is_model = [], is_model
        self.entries = {}
        self.read_directory(sections)
        if is_model:
            need(list(self.entries) == [1, 16, 17] and not self.resolution, "F-MOD-01",
                 f"sections {list(self.entries)} of a model")
        self.check_head()
        self.times = self.resolution != 0
        self.order_form = self.one_of(ORDERS, "order")
        self.time_form = self.one_of(TIMES, "times") if self.times else None

    def read_directory(self, sections):
        at, last = HEAD + ENTRY * sections, 0    # no kind 0: so say the vectors
        for i in range(sections):
            kind, flags, stored, content, reserved, check = struct.unpack_from(
                "<HHIIIQ", self.payload, HEAD + ENTRY * i)
            need(kind > last, "F-PAR-07", f"section {kind} behind {last}")
            need(not flags & ~3 and not reserved, "F-PAR-08", f"section {kind}")
            need(content <= 1 << 30, "F-PAR-10", f"section {kind}")
            need(flags & 1 or stored == content, "F-PAR-09", f"content bytes of section {kind}")
            need(kind in KNOWN or not flags & 2, "F-PAR-14", f"critical section {kind}")
            self.entries[kind] = (at, stored, content, flags, check)
            at, last = at + stored, kind
            if kind <= SUMMARY:
                self.light_bytes = at
        need(at == self.size, "F-PAR-11", f"sections end at {at} of {self.size}")

    def check_head(self):
        need(not self.flags and not self.reserved, "F-PAR-04", f"flags {self.flags:#x}")
        need(1 <= self.segment_count <= self.events <= 1 << 24
             and self.gaps <= self.events and (self.gaps or not self.lost), "F-PAR-05", "counts")
        most = self.symbol_count if self.model != NO_MODEL else self.start_frames
        need(self.given <= min(self.symbol_count, most)
             and self.symbol_count - self.given <= self.events, "F-PAR-06", "symbol counts")
        if self.resolution:
            need(self.first_tick < self.end_tick and self.wide <= self.events
                 and self.resolution < 1 << 63, "F-PAR-12", "times in the head")
        else:
            need(not (self.wide or self.origin or self.first_tick or self.end_tick), "F-PAR-12",
                 "times in the head of a partition without")
        edges = () if self.is_model else (EDGES,)
        for kind in (SEGMENTS,) + edges + ((BASES,) if self.resolution else ()):
            need(kind in self.entries, "F-PAR-13", f"no section {kind}")
        need(OWN_TIMES not in self.entries or self.resolution and SUMMARY in self.entries,
             "F-OWN-03", "own times without times or summary")
        need(CPU_TIMES not in self.entries
             or self.resolution and SUMMARY in self.entries and SWITCHES in self.entries,
             "F-CPU-03", "CPU times without times, summary or switches")
        need(INSTANTS not in self.entries or self.resolution, "F-INS-06",
             "instants without times")
        absent = (BASES, 32, 33, 34, 35) if not self.resolution else ()
        need(not any(k in self.entries for k in absent), "F-PAR-12", "a section of times")

    def one_of(self, forms, what):
        """The single form whose sections are there (F-PAR-13)."""
        there = [k for k in self.entries if any(k in kinds for kinds in forms)]
        need(tuple(there) in forms, "F-PAR-13", f"sections {there} for {what}")
        return forms[tuple(there)]

    def section(self, kind):
        """The checked content of a section."""
        at, stored, content, flags, check = self.entries[kind]
        data = self.payload[at:at + stored]
        need(xxh3_64(data) == check, "F-PAR-09", f"hash of section {kind}")
        return unzstd(data, content, "F-PAR-09") if flags & 1 else data

    # ---- light sections ----

    def read_light(self):
        """Segments, bases and edges, and the given symbols."""
        self.read_segments()
        if self.times:
            self.read_bases()
        self.read_edges()

    def read_segments(self):
        """F-SEG."""
        decoder = Decoder(self.section(SEGMENTS))
        stream, events, first, stack = Number(), Signed(), Signed(), Number()
        unknown, offset, count, frames = Signed(), Signed(), Signed(), _Frames(decoder, "F-SEG-06")
        previous, previous_count, total = Segment(), 0, 0
        self.segments, self.given_symbols = [], list(self.model_symbols)
        seen = set(self.given_symbols)
        for _ in range(self.segment_count):
            segment = Segment()
            segment.stream = previous.stream + 1 + stream.get(decoder)
            segment.events = previous.events + events.get(decoder)
            segment.first = previous.first + first.get(decoder)
            segment.stack = stack.get(decoder)
            segment.unknown = previous.unknown + unknown.get(decoder)
            segment.offset = previous.offset + offset.get(decoder)
            previous_count += count.get(decoder)
            need(segment.stream < 1 << 24, "F-SEG-02", f"stream {segment.stream}")
            need(1 <= segment.events <= 1 << 24 and 0 <= segment.unknown <= DEPTH_MAX
                 and abs(segment.offset) <= DEPTH_MAX and segment.stack < STACKS,
                 "F-SEG-03", f"segment of stream {segment.stream}")
            total += previous_count
            need(0 <= previous_count and total <= self.start_frames, "F-SEG-05", "open frames")
            segment.frames = [frames.get() for _ in range(previous_count)]
            stacks = [frame.stack for frame in segment.frames]
            need(stacks == sorted(stacks), "F-SEG-01", "stacks of open frames descend")
            for place, frame in enumerate(segment.frames):
                frame.start = place
                symbol = frame.kind, frame.argument
                if symbol not in seen:
                    seen.add(symbol)
                    self.given_symbols.append(symbol)
            self.segments.append(segment)
            previous = segment
        need(sum(s.events for s in self.segments) == self.events, "F-SEG-04", "events")
        need(total == self.start_frames, "F-SEG-05", f"{total} open frames")
        need(len(self.given_symbols) == self.given, "F-SEG-08", f"{len(seen)} given symbols")

    def read_bases(self):
        """F-BAS."""
        decoder, model = Decoder(self.section(BASES), "F-BAS-02"), Signed()
        tick = self.first_tick
        for segment in self.segments:
            tick = wrap64(tick + model.get(decoder))
            segment.base = tick

    def read_edges(self):
        """F-EDG."""
        decoder = Decoder(self.section(EDGES), "F-EDG-04")
        names = ("end_tick", "enter", "self", "unknown", "offset")
        signed = {name: Signed() for name in names}
        least, stack, kept, added = Number(), Number(), Number(), Number()
        frames = _Frames(decoder, "F-EDG-02")
        new_frames = 0
        for segment in self.segments:
            segment.edge = edge = Edge()
            edge.min_depth = least.get(decoder)
            need(edge.min_depth <= DEPTH_MAX, "F-EDG-02", "min depth")
            if self.times:
                edge.end_tick = wrap64(segment.base + signed["end_tick"].get(decoder))
                enter = segment.base
                for frame in segment.frames:
                    enter = frame.enter = wrap64(enter + signed["enter"].get(decoder))
                    frame.self = wrap64(signed["self"].get(decoder))
            edge.stack = stack.get(decoder)
            edge.unknown = segment.unknown + signed["unknown"].get(decoder)
            edge.offset = segment.offset + signed["offset"].get(decoder)
            gone = kept.get(decoder)
            need(gone <= len(segment.frames) and edge.stack < STACKS, "F-EDG-02", "kept or stack")
            need(0 <= edge.unknown <= DEPTH_MAX and abs(edge.offset) <= DEPTH_MAX, "F-EDG-02",
                 "depth")
            edge.kept = len(segment.frames) - gone
            count = added.get(decoder)
            new_frames += count
            need(new_frames <= self.new_frames, "F-EDG-03", f"{new_frames} added frames")
            edge.frames = []
            for old in segment.frames[:edge.kept]:
                frame = Frame(*old.key())
                frame.start, frame.enter, frame.self = old.start, old.enter, old.self
                if self.times:
                    frame.self = wrap64(frame.self + signed["self"].get(decoder))
                edge.frames.append(frame)
            enter = segment.base
            for _ in range(count):
                frame = frames.get()
                if self.times:
                    enter = frame.enter = wrap64(enter + signed["enter"].get(decoder))
                    frame.self = wrap64(signed["self"].get(decoder))
                edge.frames.append(frame)
        need(new_frames == self.new_frames, "F-EDG-03", f"{new_frames} added frames")

    def read_summary(self):
        """F-SUM: rows as summary_rows has them; None: no summary."""
        if SUMMARY not in self.entries:
            return None
        return summary_rows(self.section(SUMMARY), self.times)

    def read_own_times(self, rows):
        """F-OWN: site to its largest own time; rows: of the summary. None: no such section."""
        if OWN_TIMES not in self.entries:
            return None
        decoder, largest = Decoder(self.section(OWN_TIMES), "F-OWN-02"), {}
        is_bound, signed = Bits(2), Signed()
        for site, (_, exits, own, total, most, _, _) in rows.items():
            if exits:
                bound = decoder.bit(is_bound, int(own == total))
                largest[site] = min(own, most) if bound else signed.get(decoder)
        return largest

    def read_cpu_times(self, rows):
        """F-CPU: three sums, site to [of self, of total, largest], start frames. Or None."""
        if CPU_TIMES not in self.entries:
            return None
        decoder, start, off = Decoder(self.section(CPU_TIMES), "F-CPU-02"), Signed(), 0
        sums, found = cpu_rows(decoder, rows, self.resolution)
        for segment in self.segments:
            for frame in segment.frames:
                frame.off = off = wrap64(off + start.get(decoder))
        return sums, found

    # ---- values and depths ----

    def read_values(self):
        """F-VAL: event number to the list of (type, value)."""
        if VALUES not in self.entries:
            return {}
        cursor = Cursor(self.section(VALUES), "F-VAL-02")
        events, values, size = cursor.varint(), cursor.varint(), cursor.varint()
        need(events + values + size <= len(cursor.data) * 3, "F-VAL-02", "counts")
        numbers = self.event_column(cursor, events, "F-VAL-03")
        counts = [cursor.varint() for _ in range(events)]
        need(all(counts) and sum(counts) == values, "F-VAL-04", "values per event")
        types = cursor.take(values)
        need(all(kind <= 7 for kind in types), "F-VAL-05", "type of a value")
        found = []
        for kind in types:
            if kind == 1:
                found.append(cursor.svarint())
            elif kind == 3:
                found.append(f64(cursor.take(8)))
            else:
                found.append(None if kind == 6 else cursor.varint())
        need(sum(v for k, v in zip(types, found) if k in (4, 5)) == size, "F-VAL-06", "lengths")
        found = [cursor.take(v, "F-VAL-06") if k in (4, 5) else v for k, v in zip(types, found)]
        cursor.end("F-VAL-07")
        pairs = iter(zip(types, found))
        return {n: [next(pairs) for _ in range(c)] for n, c in zip(numbers, counts)}

    def event_column(self, cursor, count, rule):
        """Event numbers that ascend: differences from the number before, plus one."""
        need(count <= cursor.left(), cursor.rule, f"{count} events")
        numbers, last = [], -1
        for _ in range(count):
            last += 1 + cursor.varint()
            need(last < self.events, rule, f"event {last} of {self.events}")
            numbers.append(last)
        return numbers

    def read_depths(self):
        """F-DEP: event number to the depth offset that holds from it."""
        if DEPTHS not in self.entries:
            return {}
        cursor = Cursor(self.section(DEPTHS), "F-DEP-02")
        count, last, changes = cursor.varint(), -1, {}
        need(2 * count <= cursor.left(), "F-DEP-02", f"{count} changes")
        for _ in range(count):
            last += 1 + cursor.varint()
            need(last < self.events, "F-DEP-03", f"event {last}")
            changes[last] = cursor.svarint()
            need(abs(changes[last]) <= DEPTH_MAX, "F-DEP-04", f"offset {changes[last]}")
        cursor.end()
        return changes

    def read_switches(self):
        """F-SWI: for each segment None, or its spans as (event, kind, start, length)."""
        if SWITCHES not in self.entries:
            return [None] * len(self.segments)
        need(self.times, "F-SWI-05", "switches without times")
        cursor, found, at = Cursor(self.section(SWITCHES), "F-SWI-02"), [], 0
        for _ in self.segments:
            seen = cursor.varint()
            need(seen <= len(cursor.data), "F-SWI-02", f"{seen - 1} spans")
            found.append([[] for _ in range(seen - 1)] if seen else None)
        spans = [span for of_segment in found if of_segment for span in of_segment]
        need(4 * len(spans) <= cursor.left(), "F-SWI-02", f"{len(spans)} spans")
        for segment, of_segment in zip(self.segments, found):
            event = at
            for span in of_segment or ():
                event += cursor.varint()
                need(event < at + segment.events, "F-SWI-03", f"event {event}")
                span.append(event)
            at += segment.events
        for span in spans:
            span.append(min(cursor.take(1)[0], 4))
        for span in spans:
            span.append(cursor.svarint())
            need(abs(span[2]) < 1 << 62, "F-SWI-04", f"start {span[2]}")
        for span in spans:
            span.append(cursor.varint())
            need(span[3] < 1 << 62, "F-SWI-04", f"length {span[3]}")
        cursor.end()
        return found


def summary_rows(data, times):
    """F-SUM: site to [calls, exits, self, total, max, min, squares]."""
    decoder = Decoder(data, "F-SUM-04")
    site, calls, exits, high, middle, low = Number(), Number(), Signed(), Number(), Number(), \
        Number()
    own, total, most, least = Signed(), Signed(), Signed(), Signed()
    count, last, rows = site.get(decoder), -1, {}
    need(count < (1 << 32) - 1, "F-SUM-02", f"{count} rows")
    for _ in range(count):
        last += 1 + site.get(decoder)
        need(last < 1 << 32, "F-SUM-03", f"site {last}")
        row = [calls.get(decoder), 0, 0, 0, 0, 0, 0]
        row[1] = row[0] + exits.get(decoder)
        if times:
            row[2] = own.get(decoder)
            row[3] = wrap64(row[2] + total.get(decoder))
            if row[1] > 0:
                row[4] = row[5] = most.get(decoder)
                row[6] = row[4] ** 2
            if row[1] > 1:
                row[5] = least.get(decoder)
                row[6] += row[5] ** 2
            if row[1] > 2:
                row[6] = high.get(decoder) << 86 | middle.get(decoder) << 43
                row[6] |= low.get(decoder)
        rows[last] = row
    return rows


def cpu_rows(decoder, rows, resolution):
    """F-CPU: three sums, and site to [of self, of total, largest]."""
    own, total, most = [Signed() for _ in range(3)], [Signed() for _ in range(3)], Signed()
    sums, found = [model.get(decoder) for model in total], {}
    for site, row in rows.items():
        pairs = [(a.get(decoder), b.get(decoder)) for a, b in zip(own, total)]
        found[site] = [[wrap64(a) for a, _ in pairs], [wrap64(a + b) for a, b in pairs], None]
        if row[1]:
            found[site][2] = wrap64(row[4] * resolution - most.get(decoder))
    return sums, found


def spent(spans, event, length):
    """F-SWI-06: [preempted, blocked, not known] of an interval; spans: of its segment, or None."""
    length, done, sums = max(length, 0), 0, [0, 0, 0]
    mine = [] if spans is None else [span for span in spans if span[0] == event]
    if spans is None or any(kind == 4 for _, kind, _, _ in mine):
        return [0, 0, length]
    for _, kind, start, taken in mine:
        first, end = max(start, done), min(start + taken, length)
        if first < end:
            sums[min(kind, 2)] += end - first
            done = end
    return sums
