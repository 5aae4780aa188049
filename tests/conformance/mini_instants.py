"""What was on the stacks at instants (spec/format.md, section 7.10), told and worked out."""
from mini_coder import Bits, Decoder, Number, Signed, need
from mini_partition import (EXIT_ACROSS, GAP, INSTANTS, PUSHING, SIGNAL, SWITCH, UNWIND)

INSTANTS_MOST, FRAMES_MOST, RANKS = 4096, 65536, 8


def instant_numbers(segment, exponent):
    """Multiples of 2^exponent from the base on, below the end tick."""
    step = 1 << exponent
    return range(-(-segment.base // step), -(-segment.edge.end_tick // step))


class Instants:
    """A stream of instants, and its models."""

    def __init__(self, data, rule):
        self.decoder = Decoder(data, rule)
        self.exponent, self.left, self.added, self.rank = (Number() for _ in range(4))
        self.gap, self.signal, self.argument = Bits(1), Bits(1), Signed()
        self.last = self.instants = self.frames = 0
        self.slots = [[] for _ in range(256)]

    def frame(self, stack):
        below = stack[-1][1] if stack else 0xFFFFFFFF
        slot = self.slots[(below * 2654435761 & 0xFFFFFFFF) >> 24]
        rank = self.rank.get(self.decoder)
        need(rank <= len(slot), "F-INS-05", f"rank {rank}")
        if rank < len(slot):
            frame = slot.pop(rank)
        else:
            signal = bool(self.decoder.bit(self.signal))
            self.last += self.argument.get(self.decoder)
            need(0 <= self.last < 1 << 32, "F-INS-05", f"argument {self.last}")
            frame = signal, self.last
        slot.insert(0, frame)
        del slot[RANKS:]
        stack.append(frame)
        return frame

    def kept(self, stack):
        gap, left = bool(self.decoder.bit(self.gap)), self.left.get(self.decoder)
        need(left <= len(stack), "F-INS-03", f"{left} frames leave")
        del stack[len(stack) - left:]
        return gap, left

    def count_frames(self, model):
        count = model.get(self.decoder)
        self.frames += count
        need(self.frames <= FRAMES_MOST, "F-INS-04", f"{self.frames} frames")
        return count

    def rows(self, stack, count):
        """(gap, left, added frames) of each instant, and of what follows the last one."""
        found = []
        for _ in range(count):
            gap, left = self.kept(stack)
            found.append((gap, left,
                          [self.frame(stack) for _ in range(self.count_frames(self.added))]))
        return [*found, (*self.kept(stack), [])]


class Told(Instants):
    """The section, decoded: a list for each segment, None where nothing is told."""

    def __init__(self, partition):
        super().__init__(partition.section(INSTANTS), "F-INS-01")
        self.segments = [self.segment(s) for s in partition.segments]

    def segment(self, segment):
        exponent = self.exponent.get(self.decoder)
        if not exponent:
            return None
        need(exponent <= 64 and segment.edge.end_tick >= segment.base
             and all(f.stack == segment.stack for f in segment.frames), "F-INS-02",
             f"exponent {exponent}")
        numbers = instant_numbers(segment, exponent - 1)
        self.instants += max(len(numbers), 0)
        need(self.instants <= INSTANTS_MOST, "F-INS-04", f"{self.instants} instants")
        stack = [(f.kind == SIGNAL, f.argument) for f in segment.frames]
        return exponent - 1, self.rows(stack, max(len(numbers), 0))


def worked_out(segment, exponent, events):
    """The same rows from (class, argument, close, tick)."""
    stack = [(f.kind == SIGNAL, f.argument) for f in segment.frames]
    rows, gap, before, low = [], False, len(stack), len(stack)
    numbers, last = list(instant_numbers(segment, exponent)), segment.base

    def tell():
        nonlocal gap, before, low
        rows.append((gap, before - low, stack[low:]))
        gap, before, low = False, len(stack), len(stack)

    for kind, argument, close, tick in events:
        need(tick >= last and kind != SWITCH, "F-INS-02", "a step back, or a switch")
        last = tick
        while numbers and numbers[0] << exponent < tick:
            numbers.pop(0)
            tell()
        if close or kind in (UNWIND, EXIT_ACROSS):
            count = 1 if close else argument + (kind == EXIT_ACROSS)
            del stack[len(stack) - count:]
            low = min(low, len(stack))
        elif kind in PUSHING:
            stack.append((kind == SIGNAL, argument))
        gap = gap or kind == GAP
    rows.append((gap, before - low, []))
    return rows


def check_instants(checker, partition, symbols, codes, ticks):
    """F-INS-02."""
    if INSTANTS not in partition.entries:
        return
    at = 0
    for segment, said in zip(partition.segments, Told(partition).segments):
        events = [(*symbols[c >> 1], c & 1, t) for c, t in
                  zip(codes[at:at + segment.events], ticks[at:at + segment.events])]
        at += segment.events
        if said:
            checker.same("F-INS-02", f"instants of stream {segment.stream}",
                         worked_out(segment, said[0], events), said[1])
