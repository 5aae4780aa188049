"""Outlines in overviews (spec/format.md, F-OVR-09 and F-OVR-10), beside their partitions."""
from mini_coder import Bits, Decoder, Number, Signed, need, wrap64
from mini_events import SIGNAL
from mini_partition import _Frames

ITEMS, SEGMENTS, MOST = 1 << 18, 1 << 16, 1 << 63
RULE, WRONG = "F-OVR-09", "F-OVR-10"


class Outlines:
    """Reads the field against what its partitions say."""

    def __init__(self, data, timed):
        self.decoder, self.timed = Decoder(data, RULE), timed
        self.wide, self.goes_on, self.ends = Bits(1), Bits(1), Bits(1)
        self.numbers = {name: Number() for name in ("stack", "frames", "left", "added", "calls",
                                                    "sum", "rows", "site", "ended", "row calls")}
        self.signed = {name: Signed() for name in ("base", "enter", "self", "more self", "end tick",
                                                   "own", "own of ends", "most", "least")}
        self.frame_models = _Frames(self.decoder, RULE)
        self.pairs, self.before, self.left = [], {}, {name: self.number(name)
                                      for name in ("frames", "added", "rows")}
        need(max(self.left.values()) <= ITEMS, RULE, f"{self.left}")

    def number(self, name):
        return self.numbers[name].get(self.decoder)

    def difference(self, name, value):
        return wrap64(value + self.signed[name].get(self.decoder))

    def use(self, name, count):
        self.left[name] -= count
        need(self.left[name] >= 0, RULE, f"more {name} than it says")

    def frames(self, count, base):
        """(class, argument, stack), enter, self of each."""
        found, enter = [], base
        for _ in range(count):
            frame, own = self.frame_models.get(), 0
            if self.timed:
                enter = self.difference("enter", enter)
                own = self.difference("self", 0)
            found.append((frame.key(), enter if self.timed else 0, own))
        return found

    def start(self, segment, first_tick):
        """Current stack, base tick, start frames."""
        if self.decoder.bit(self.goes_on):
            need(segment.stream in self.before, RULE, "goes on with no segment")
            stack, base, frames = self.before[segment.stream]
            self.use("frames", len(frames))
            return stack, base, frames
        stack, count = self.number("stack"), self.number("frames")
        self.use("frames", count)
        base = self.difference("base", first_tick) if self.timed else 0
        found = stack, base, self.frames(count, base)
        self.compare("goes on", found == self.before.get(segment.stream), False)
        return found

    def end(self, stack_base_frames):
        """Kept frames, end tick, current stack, end frames."""
        _, base, start = stack_base_frames
        tick = self.difference("end tick", base) if self.timed else 0
        stack, gone, added = self.number("stack"), self.number("left"), self.number("added")
        need(gone <= len(start), RULE, f"{gone} frames that are not kept")
        self.use("added", added)
        frames = start[:len(start) - gone]
        if self.timed:
            frames = [(key, enter, self.difference("more self", own)) for key, enter, own in frames]
        return len(frames), tick, stack, frames + self.frames(added, base)

    def segment(self, segment, first_tick):
        start = self.start(segment, first_tick)
        kept, tick, stack, frames = self.end(start)
        edge, timed = segment.edge, self.timed
        self.before[segment.stream] = stack, tick, frames
        there = ((segment.stack, segment.base if timed else 0,
                  [self.plain(frame) for frame in segment.frames]),
                 edge.kept, edge.end_tick if timed else 0, edge.stack,
                 [self.plain(frame) for frame in edge.frames])
        self.compare(f"stream {segment.stream}", (start, kept, tick, stack, frames), there)

    def plain(self, frame):
        return frame.key(), frame.enter if self.timed else 0, frame.self if self.timed else 0

    def compare(self, what, said, there):
        """Later: what ends early or is out of range comes before what is wrong."""
        self.pairs.append((what, said, there))

    def row(self, last):
        """site, *ends*, and the numbers of a row."""
        site = last + 1 + self.number("site")
        need(site < (1 << 32) - 1, RULE, f"site {site}")
        ends = self.timed and bool(self.decoder.bit(self.ends))
        said = [site, ends, self.difference("own of ends" if ends else "own", 0)]
        if ends:
            said += [self.number("ended") + 1, self.number("row calls"),
                     self.difference("most", 0)]
            least = self.signed["least"].get(self.decoder) if said[3] > 1 else 0
            said.append(wrap64(said[5] - least))
        return said

    def rows(self, part):
        calls = self.number("calls")
        total = self.number("sum") if self.timed else calls
        count, last, said = self.number("rows"), -1, []
        self.use("rows", count)
        need(calls < MOST and total < MOST, RULE, "sums of an outline")
        for _ in range(count):
            said.append(self.row(last))
            last = said[-1][0]
        self.compare("rows", (calls, total, said), wanted_rows(part, self.timed))

    def finish(self):
        need(not any(self.left.values()), RULE, f"fewer than it says: {self.left}")
        for what, said, there in self.pairs:
            need(said == there, WRONG, f"{what}: {said} in place of {there}")


def wanted_rows(part, timed):
    """F-OVR-10."""
    rows = part.rows
    own = {site: max(row[2], 0) if timed else row[0] for site, row in rows.items()}
    calls, total = sum(row[0] for row in rows.values()), sum(own.values())
    ending = {frame.argument for segment in part.partition.segments
              for frame in segment.frames[segment.edge.kept:] if frame.kind != SIGNAL}
    ending = {site for site in ending if timed and site in rows and rows[site][1]}
    found = []
    for site, row in sorted(rows.items()):
        if site in ending:
            found.append([site, True, row[2], row[1], row[0], row[4], row[5]])
        elif own[site] >= max(1, total // 64):
            found.append([site, False, row[2] if timed else row[0]])
    return calls, total, found


def check_outlines(data, timed, parts):
    need(sum(len(part.partition.segments) for part in parts) <= SEGMENTS, RULE, "segments")
    outlines = Outlines(data, timed)
    for part in parts:
        if timed:
            wide = bool(outlines.decoder.bit(outlines.wide))
            outlines.compare("wide time differences", wide, bool(part.partition.wide))
        for segment in part.partition.segments:
            outlines.segment(segment, part.partition.first_tick)
        outlines.rows(part)
    outlines.finish()
