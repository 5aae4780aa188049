"""Events from codes: stacks, depths, edges and measures (sections 7.1, 7.2, 7.4 and 7.5)."""
from mini_coder import need, wrap64
from mini_listed import Longest
from mini_partition import (ENTER, EXIT_ACROSS, EXIT_UNSEEN, GAP, LEAF, OPEN, PUSHING, SIGNAL,
                            STACKS, SWITCH, UNWIND, spent)

SITED = (ENTER, LEAF, OPEN, EXIT_UNSEEN)  # classes whose argument is a site
FRAMED = (ENTER, OPEN)                    # frames that have rows in a summary
KIND = {(ENTER, 0): "enter", (ENTER, 1): "exit", (OPEN, 0): "open", (OPEN, 1): "exit",
        (SIGNAL, 0): "signal", (SIGNAL, 1): "signal_end", (EXIT_UNSEEN, 0): "exit",
        (UNWIND, 0): "unwind", (EXIT_ACROSS, 0): "exit", (SWITCH, 0): "switch", (GAP, 0): "gap"}
LEAVES = {0: "leaf", 1: "block", 2: "branch", 3: "syscall", 4: "marker"}


class Activation:
    """A frame while it is open."""
    __slots__ = ("symbol", "kind", "argument", "enter", "self", "start", "off", "event")

    def __init__(self, symbol, kind, argument, enter, own=0, start=None, off=0, event=None):
        self.symbol, self.kind, self.argument = symbol, kind, argument
        self.enter, self.self, self.start, self.off = enter, own, start, off
        self.event = event                  # of its segment, that opened it


def bucket(ticks):
    """F-OVR-05: of a duration."""
    return min(max(ticks, 0).bit_length(), 47)


class Measures:
    """The rows of a summary, recomputed (F-SUM-05): site to the row of read_summary."""

    def __init__(self):
        self.rows = {}
        self.largest_own = {}               # F-OWN-01: of sites whose frames ended
        self.counts = {}                    # F-OVR-05: of the same, by bucket
        self.longest = Longest()            # F-OVR-12

    def row(self, site):
        return self.rows.setdefault(site, [0] * 7)

    def interval(self, stack, ticks):
        """The interval before an event: self of the top, total of every site on the stack."""
        if not stack:
            return
        top = stack[-1]
        top.self += ticks
        if top.kind in FRAMED:
            self.row(top.argument)[2] += ticks
        for site in {frame.argument for frame in stack if frame.kind in FRAMED}:
            self.row(site)[3] += ticks

    def ended(self, frame, tick):
        if frame.kind not in FRAMED:
            return
        row, lasted = self.row(frame.argument), wrap64(tick - frame.enter)
        row[4] = max(row[4], lasted) if row[1] else lasted
        row[5] = min(row[5], lasted) if row[1] else lasted
        row[1] += 1
        self.counts.setdefault(frame.argument, [0] * 48)[bucket(lasted)] += 1
        row[6] = row[6] + lasted * lasted & (1 << 128) - 1
        own = wrap64(frame.self)
        self.largest_own[frame.argument] = max(self.largest_own.get(frame.argument, own), own)


class CpuTimes:
    """F-CPU-01 and F-CPU-04, recomputed; partition: one that has CPU times."""

    def __init__(self, partition):
        self.resolution = partition.resolution
        self.spans = {}                     # event to the spans of the interval before it
        for spans in partition.read_switches():
            for span in spans or ():
                self.spans.setdefault(span[0], []).append(span)
        self.sums, self.rows = [0, 0, 0], {}

    def row(self, site):
        return self.rows.setdefault(site, [[0, 0, 0], [0, 0, 0], None])

    def interval(self, event, ticks, stack, others):
        length = ticks * self.resolution
        parts = spent(self.spans.get(event, []), event, length)
        for sums in [self.sums] + ([self.row(stack[-1].argument)[0]]
                                   if stack and stack[-1].kind in FRAMED else []):
            sums[:] = [a + b for a, b in zip(sums, parts)]
        for site in {frame.argument for frame in stack if frame.kind in FRAMED}:
            self.row(site)[1] = [a + b for a, b in zip(self.row(site)[1], parts)]
        for frame in stack:
            frame.off += sum(parts)
        for frame in others:
            frame.off += length

    def ended(self, frame, tick):
        if frame.kind not in FRAMED:
            return
        row, on = self.row(frame.argument), (tick - frame.enter) * self.resolution - frame.off
        row[2] = on if row[2] is None else max(row[2], on)


class Replay:
    """Runs one segment event by event: stacks, depth, and the frames at its end."""

    def __init__(self, place, symbols, numbers, measures, measure, cpu):
        segment, self.number, first = place
        self.segment = segment
        self.symbols, self.measures, self.measure = symbols, measures, measure
        self.cpu = cpu                      # CpuTimes or None
        self.first, self.event = first, 0   # of the partition; of the segment
        self.stacks, self.current = {}, segment.stack
        self.unknown, self.offset = segment.unknown, segment.offset
        self.tick = segment.base
        self.min_depth = self.exited = None
        for frame in segment.frames:
            stack = self.stacks.setdefault(frame.stack, [])
            stack.append(Activation(numbers[frame.kind, frame.argument], frame.kind,
                                    frame.argument, frame.enter, frame.self, frame.start,
                                    frame.off))
            if frame.kind in FRAMED:
                measures.row(frame.argument)   # F-SUM does not say it: rows of zeros too
        self.stack = self.stacks.setdefault(self.current, [])

    def depth(self):
        return self.offset + self.unknown + len(self.stack)

    def pop(self, unwound=False):
        self.exited = self.stack.pop()   # the frame that an exit across exits is the last
        self.measures.ended(self.exited, self.tick)
        if self.measure and self.exited.kind in FRAMED:
            self.measures.longest.ended(self, self.exited, self.tick, unwound)
        if self.cpu:
            self.cpu.ended(self.exited, self.tick)

    def step(self, code, tick=0):
        """One event: (class, argument, close bit, depth)."""
        need(code >> 1 < len(self.symbols), "O-CHK-02", f"code {code}")
        kind, argument = self.symbols[code >> 1]
        if self.measure:
            self.measures.interval(self.stack, wrap64(tick - self.tick))
        if self.cpu:
            others = [frame for n, stack in self.stacks.items() if n != self.current
                      for frame in stack]
            self.cpu.interval(self.first + self.event, wrap64(tick - self.tick), self.stack, others)
        self.tick = tick
        depth = self.depth()
        if code & 1:
            need(kind in PUSHING and self.stack and self.stack[-1].symbol == code >> 1,
                 "O-CHK-03", f"code {code} ends a frame that is not on top")
            self.pop()
            depth = self.depth()
        elif kind in PUSHING:
            self.stack.append(Activation(code >> 1, kind, argument, tick, event=self.event))
            if kind == ENTER:
                self.measures.row(argument)[0] += 1
            elif kind == OPEN:
                self.measures.row(argument)
        elif kind == EXIT_UNSEEN:
            if not self.stack and self.unknown:
                self.unknown -= 1
            depth = self.depth()
        elif kind in (UNWIND, EXIT_ACROSS):
            rule = "O-CHK-04" if kind == UNWIND else "O-CHK-05"
            gone = argument + (kind == EXIT_ACROSS)
            need(1 <= argument and gone <= len(self.stack), rule, f"pops {gone} frames")
            for left in range(gone, 0, -1):
                self.pop(kind == UNWIND or left > 1)
            depth = self.depth()
        elif kind == SWITCH:
            need(argument < STACKS, "O-CHK-06", f"stack {argument}")
            self.current = argument
            self.stack = self.stacks.setdefault(argument, [])
        need(0 <= depth < 1 << 31, "F-EVT-05", f"depth {depth}")
        self.min_depth = depth if self.min_depth is None else min(self.min_depth, depth)
        return kind, argument, code & 1, depth

    def open_frames(self):
        """(stack, activation) by ascending stack, outermost first."""
        return [(n, frame) for n in sorted(self.stacks) for frame in self.stacks[n]]


def kind_name(kind, close, argument, sites):
    """The name that `dump` prints for an event."""
    if kind == LEAF:
        return LEAVES.get(sites[argument][0], "leaf") if argument < len(sites) else "leaf"
    return KIND[kind, close]


def run(partition, symbols, codes, ticks, depths, measure=False, cpu=None):
    """Yields (segment, event number, class, argument, close, depth, tick, replay)."""
    numbers = {}
    for number, symbol in enumerate(symbols):
        numbers.setdefault(symbol, number)
    measures, at = Measures(), 0
    for number, segment in enumerate(partition.segments):
        replay = Replay((segment, number, at), symbols, numbers, measures,
                        measure and ticks is not None, cpu)
        for i in range(at, at + segment.events):
            if i in depths:
                replay.offset = depths[i]
            tick, replay.event = ticks[i] if ticks else 0, i - at
            yield segment, i, *replay.step(codes[i], tick), tick, replay
        at += segment.events
