"""Merged instants in overviews (spec/format.md, F-OVR-13 and F-OVR-14), beside their partitions."""
from mini_coder import Number, Signed, need, wrap64
from mini_instants import INSTANTS_MOST, Instants, Told, instant_numbers
from mini_partition import INSTANTS, SIGNAL

RULE, NOT_TOLD = "F-OVR-13", "F-OVR-14"
SEGMENTS_MOST, SECTIONS_INSTANTS, SECTIONS_FRAMES = 1 << 16, 1 << 16, 1 << 18


class Segment:
    """A segment of a stream, and what its partition's section says of it: None, if nothing."""

    def __init__(self, segment, first_tick, told):
        self.segment, self.first_tick, self.told = segment, first_tick, told

    def frames(self):
        return [(f.kind == SIGNAL, f.argument) for f in self.segment.frames]

    def follows(self, before):
        one, two = before.segment, self.segment
        return one.first + one.events == two.first and one.edge.end_tick == two.base

    def merge(self, stack, low, exponent):
        """Yields, instant by instant of the run, (frames left down to which, gap since)."""
        own, rows = self.told
        numbers = [*instant_numbers(self.segment, own), None]
        gap = False
        for number, (has_gap, left, added) in zip(numbers, rows):
            del stack[len(stack) - left:]
            low, gap = min(low, len(stack)), gap or has_gap
            stack.extend(added)
            if number is None:
                yield False, low, gap
            elif number % (1 << exponent - own) == 0:
                yield True, low, gap
                low, gap = len(stack), False


class Runs(Instants):
    """Reads the field against what its partitions say."""

    def __init__(self, data, streams):
        super().__init__(data, RULE)
        self.untold, self.count, self.height = (Number() for _ in range(3))
        self.first = Signed()
        self.pairs = [self.run(segments) for segments in streams]

    def run(self, segments):
        """(segments that are told of, exponent, what is said of them), or None."""
        untold = self.untold.get(self.decoder)
        need(untold <= len(segments), RULE, f"{untold} segments are not told of")
        segments = segments[:len(segments) - untold]
        if not segments:
            return None
        exponent = self.exponent.get(self.decoder)
        first, count = self.first.get(self.decoder), self.count.get(self.decoder)
        need(exponent <= 63, RULE, f"exponent {exponent}")
        first = wrap64(first + (segments[0].first_tick >> exponent))
        need(-(1 << 63) >> exponent <= first
             and (not count or first + count - 1 <= ((1 << 63) - 1) >> exponent),
             RULE, f"{count} instants from {first} on")
        self.instants += count
        need(self.instants <= INSTANTS_MOST, NOT_TOLD, f"{self.instants} instants")
        stack = []
        start = [self.frame(stack) for _ in range(self.count_frames(self.height))]
        rows = self.rows(stack, count)
        added = self.added.get(self.decoder)
        need(len(stack) + added < 1 << 32, RULE, f"{added} frames at the end")
        return segments, exponent, (first, start, rows, len(stack) + added)

    def check(self):
        for pair in filter(None, self.pairs):
            segments, exponent, said = pair
            for before, one in zip([None] + segments, segments):
                need(one.told and one.told[0] <= exponent and (not before or one.follows(before)),
                     NOT_TOLD, f"stream {one.segment.stream}")
            need(merged(segments, exponent) == said, RULE,
                 f"instants of stream {segments[0].segment.stream}")


def merged(segments, exponent):
    """What has to be said of segments, one behind the other."""
    step, stack = 1 << exponent, segments[0].frames()
    start, rows, before, low, gap = list(stack), [], len(stack), len(stack), False
    for one in segments:
        stack.extend(one.frames()[len(stack):])
        for is_instant, low, has_gap in one.merge(stack, low, exponent):
            gap = gap or has_gap
            if is_instant:
                kept = min(before, low)
                rows.append((gap, before - kept, stack[kept:]))
                before, gap = len(stack), False
                low = before
    rows.append((gap, before - min(before, low), []))
    first = -(-segments[0].segment.base // step)
    return first, start, rows, len(segments[-1].segment.edge.frames)


def check_merged(data, parts):
    partitions = [part.partition for part in parts]
    need(all(p.resolution and p.origin == partitions[0].origin for p in partitions), NOT_TOLD,
         "no times, or several origins")
    need(sum(len(p.segments) for p in partitions) <= SEGMENTS_MOST, NOT_TOLD, "segments")
    streams, instants, frames = {}, 0, 0
    for p in partitions:
        told = Told(p) if INSTANTS in p.entries else None
        if told:
            instants, frames = instants + told.instants, frames + told.frames
        for i, segment in enumerate(p.segments):
            streams.setdefault(segment.stream, []).append(
                Segment(segment, p.first_tick, told.segments[i] if told else None))
    need(instants <= SECTIONS_INSTANTS and frames <= SECTIONS_FRAMES, NOT_TOLD,
         f"{instants} instants and {frames} frames")
    Runs(data, [segments for _, segments in sorted(streams.items())]).check()
