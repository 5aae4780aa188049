"""The longest calls in overviews (F-OVR-11 and F-OVR-12), beside their partitions."""
from mini_coder import Bits, Decoder, Number, Signed, need, wrap64
from mini_partition import DEPTHS, PUSHING, STACKS, SWITCHES, VALUES

RULE, WRONG = "F-OVR-11", "F-OVR-12"
MOST, DEPTH, CALLS, NODES, EVENTS = 32, 1024, 1 << 17, 1 << 16, 1 << 24
NUMBERS = "stack", "enter event", "events", "enter", "others", "path"
AGAIN = "enter event", "enter"


class _Models:
    """Of the first calls of rows, or of the others."""

    def __init__(self):
        self.known, self.unwound = Bits(1), Bits(1)
        self.again = {name: Bits(1) for name in AGAIN}
        self.signed = {name: Signed() for name in ("partition", "segment") + NUMBERS}


class Listed:
    """The field, decoded: .rows is site to calls, each (duration, partition, segment, known) with
    known None or (unwound, stack, enter event, events, enter tick, self, path)."""

    def __init__(self, data, overview, first_ticks):
        need(overview.resolution, RULE, "longest calls without times")
        self.decoder, self.n, self.first_ticks = Decoder(data, RULE), overview.n, first_ticks
        self.steps = dict.fromkeys(AGAIN, 0)
        self.above, self.kind, self.listed, self.less = (Number() for _ in range(4))
        self.models = _Models(), _Models()
        nodes, calls = self.above.get(self.decoder), self.listed.get(self.decoder)
        need(nodes <= NODES and calls <= CALLS, RULE, f"{calls} calls, {nodes} nodes")
        self.paths = [()]
        self.read_nodes(nodes)
        self.rows = {}
        for site, row in overview.rows.items():
            if row[1]:
                self.rows[site] = self.read_row(row, calls)
                calls -= len(self.rows[site])
        need(not calls, RULE, f"{calls} calls less than it says")

    def read_nodes(self, count):
        arguments = [(Signed(), [0]) for _ in range(9)]
        for number in range(count):
            below = number - self.above.get(self.decoder)
            kind = self.kind.get(self.decoder)
            need(below >= 0 and kind in PUSHING, RULE, f"node {number + 1}")
            model, last = arguments[kind]
            last[0] += model.get(self.decoder)
            need(0 <= last[0] < 1 << 32, RULE, f"argument {last[0]}")
            self.paths.append(self.paths[below] + ((kind, last[0]),))

    def read_row(self, row, left):
        calls, before, known = [], (row[4], 0, 0), {}
        count = self.listed.get(self.decoder)
        need(count <= min(MOST, row[1], left), RULE, f"{count} calls of a function")
        for i in range(count):
            duration = before[0] - (self.less.get(self.decoder) if i else 0)
            need(duration >= row[5], RULE, f"duration {duration}")
            before = (duration,) + self.place(self.models[i > 0], before)
            is_known = self.decoder.bit(self.models[i > 0].known)
            calls.append(before + (self.known(before, known) if is_known else None,))
        return calls

    def place(self, models, before):
        partition = before[1] + models.signed["partition"].get(self.decoder)
        segment = before[2] + models.signed["segment"].get(self.decoder)
        need(0 <= partition < self.n and segment >= 0, RULE, f"partition {partition}")
        return partition, segment

    def step(self, models, name, is_first):
        if is_first or name not in AGAIN:
            return models.signed[name].get(self.decoder)
        if not self.decoder.bit(models.again[name]):
            self.steps[name] = models.signed[name].get(self.decoder)
        return self.steps[name]

    def known(self, place, known):
        is_first, models = not known, self.models[bool(known)]
        if is_first:
            known.update(dict.fromkeys(NUMBERS, 0), enter=self.first_ticks[place[1]])
        unwound = bool(self.decoder.bit(models.unwound))
        for name in NUMBERS:
            known[name] = wrap64(known[name] + self.step(models, name, is_first))
        need(0 <= known["stack"] < STACKS and 0 <= known["enter event"] <= EVENTS
             and 1 <= known["events"] <= EVENTS and 0 <= known["path"] < len(self.paths), RULE,
             f"{known}")
        return (unwound, known["stack"], known["enter event"], known["events"], known["enter"],
                wrap64(place[0] - known["others"]), self.paths[known["path"]])


class Longest:
    """The longest calls of each function in one partition, from its events."""

    def __init__(self):
        self.calls = {}                     # site to (-duration, segment, known), in order

    def ended(self, replay, frame, tick, unwound):
        calls = self.calls.setdefault(frame.argument, [])
        segment = replay.segment
        key = -wrap64(tick - frame.enter), replay.number
        at = len(calls)
        while at and calls[at - 1][:2] > key:
            at -= 1
        if at == MOST:
            return
        known = None
        if frame.event is not None and not segment.unknown and not segment.offset:
            known = (unwound, replay.current, frame.event, replay.event - frame.event, frame.enter,
                    wrap64(frame.self), tuple((f.kind, f.argument) for f in replay.stack))
        calls.insert(at, key + (known,))
        del calls[MOST:]


def wanted(site, parts):
    """The longest calls of a site in all of them: (duration, partition, segment, known)."""
    found = []
    for i, part in enumerate(parts):
        entries = part.partition.entries
        is_plain = not any(kind in entries for kind in (VALUES, DEPTHS, SWITCHES))
        for minus, segment, known in part.longest.calls.get(site, ()):
            found.append((-minus, i, segment, known if is_plain else None))
    return sorted(found, key=lambda call: (-call[0], call[1], call[2]))[:MOST]


def check_listed(data, overview, parts):
    listed = Listed(data, overview, [part.partition.first_tick for part in parts])
    for site, calls in listed.rows.items():
        for _, partition, segment, known in calls:
            segments = parts[partition].partition.segments
            need(segment < len(segments)
                 and (not known or known[2] + known[3] < segments[segment].events), RULE,
                 f"segment {segment} of partition {partition}")
        for said, there in zip(calls, wanted(site, parts)):
            need(said[:3] == there[:3] and said[3] in (None, there[3]), WRONG,
                 f"site {site}: {said} in place of {there}")
