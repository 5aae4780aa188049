"""By which events open frames began (spec/format.md, section 7.12), told and worked out."""
from mini_coder import Decoder, Number, need
from mini_partition import ENTERS, EXIT_ACROSS, PUSHING, SWITCH, UNWIND


def by_stack(frames):
    """How many frames each stack has, by ascending stack."""
    counts = {}
    for frame in frames:
        counts[frame.stack] = counts.get(frame.stack, 0) + 1
    return counts


def read_enters(partition):
    """F-ENT: for each segment {stack: [(event, above) of end frames]}; event None: it stayed."""
    decoder = Decoder(partition.section(ENTERS), "F-ENT-03")
    left, above, enter = Number(), Number(), Number()
    told = []
    for segment in partition.segments:
        starts, rows = by_stack(segment.frames), {}
        for stack, count in by_stack(segment.edge.frames).items():
            stayed = starts.get(stack, 0)
            if stayed:
                gone = left.get(decoder)
                need(gone <= stayed, "F-ENT-02", f"{gone} of {stayed} frames leave")
                stayed -= gone
            need(stayed <= count, "F-ENT-02", f"{stayed} of {count} frames stay")
            row = [(None, 0)] * stayed
            if stayed:
                row[-1] = None, above.get(decoder)
            event = -1
            while len(row) < count:
                event += 1 + enter.get(decoder)
                need(event < segment.events, "F-ENT-02", f"event {event} of {segment.events}")
                row.append((event, above.get(decoder)))
            rows[stack] = row
        told.append(rows)
    return told


def worked_out(segment, events):
    """The same from (class, argument, close)."""
    stacks = {}
    for frame in segment.frames:
        stacks.setdefault(frame.stack, []).append([None, 0])
    stack = stacks.setdefault(segment.stack, [])
    for number, (kind, argument, close) in enumerate(events):
        ended = 1 if close else argument if kind == UNWIND \
            else argument + 1 if kind == EXIT_ACROSS else 0
        for _ in range(ended):
            _, above = stack.pop()
            if stack:
                stack[-1][1] += above + 1
        if not close and kind in PUSHING:
            stack.append([number, 0])
        if kind == SWITCH:
            stack = stacks.setdefault(argument, [])
    return {number: [tuple(frame) for frame in frames]
            for number, frames in sorted(stacks.items()) if frames}


def check_enters(checker, partition, symbols, codes):
    """F-ENT-01."""
    if ENTERS not in partition.entries:
        return
    at = 0
    for segment, said in zip(partition.segments, read_enters(partition)):
        events = [(*symbols[c >> 1], c & 1) for c in codes[at:at + segment.events]]
        at += segment.events
        checker.same("F-ENT-01", f"enters of stream {segment.stream}",
                     worked_out(segment, events), said)
