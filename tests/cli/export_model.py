"""What an export must show, computed from `tracetape dump --format ndjson` alone: frames, points
and times of a selection; and made-up recordings with everything in them to try it on."""
import json
import random
import subprocess
from dataclasses import dataclass, field


def dump(command, trace):
    """Events by stream number, in order."""
    done = subprocess.run([command, "dump", "--format", "ndjson", trace], check=False,
                          capture_output=True)
    assert done.returncode in (0, 3), done.stderr
    streams = {}
    for line in done.stdout.decode().splitlines():
        event = json.loads(line)
        streams.setdefault(event["stream"], []).append(event)
    return streams


@dataclass
class Frame:
    """One activation."""
    stream: int
    stack: int
    name: str
    enter: int  # as recorded
    parent: object
    depth: int
    site: tuple = ()
    is_signal: bool = False
    was_open: bool = False
    forced: bool = False  # shown however short it is
    shown: bool = False
    start: int = 0
    end: int = 0
    ending: str = ""
    values: list = field(default_factory=list)
    results: list = field(default_factory=list)
    self_ns: int = 0

    def path(self):
        names, at = [], self.shown_self()
        while at:
            names.append(at.name)
            at = at.shown_parent()
        return tuple(reversed(names))

    def shown_self(self):
        return self if self.shown else self.shown_parent()

    def shown_parent(self):
        at = self.parent
        while at and not at.shown:
            at = at.parent
        return at


@dataclass
class Point:
    stream: int
    stack: int
    time: int
    kind: str
    name: str
    values: list
    detail: object = None


class Selection:
    """The frames and points of a selection."""

    def __init__(self, streams, start=None, end=None, least=0, keep=lambda stream: True):
        self.start, self.end, self.least = start, end, least
        self.frames, self.points, self.pieces = [], [], []
        self.shown_streams = []
        for number, events in sorted(streams.items()):
            if keep(number):
                Walk(self, number, events)
        for frame in self.frames:
            long_enough = frame.end - frame.enter >= least
            frame.shown = least == 0 or frame.forced or long_enough
        if least:
            self.points = [p for p in self.points if p.kind == "gap"]
        for frame, length in self.pieces:
            top = frame.shown_self() if frame else None
            if top:
                top.self_ns += length
        self.frames = [f for f in self.frames if f.shown]

    def by_name(self):
        """{name: (calls, total)}; total counts every call's whole length."""
        found = {}
        for frame in self.frames:
            calls, total = found.get(frame.name, (0, 0))
            found[frame.name] = (calls + 1, total + frame.end - frame.start)
        return found

    def folded(self):
        found = {}
        for frame in self.frames:
            path = frame.path()
            found[path] = found.get(path, 0) + frame.self_ns
        return {path: time for path, time in found.items() if time}


class Walk:
    """One stream's events."""

    def __init__(self, selection, number, events):
        self.sel, self.number = selection, number
        self.stacks, self.now, self.stack = {}, None, 0
        self.inside = self.behind_gap = False
        self.order = events and events[0]["time_ns"] is None
        if any(self.time(e) >= (selection.start or 0) for e in events):
            self.run(events)

    def time(self, event):
        return event["event"] if self.order else event["time_ns"]

    def run(self, events):
        last = 0
        for event in events:
            time = self.time(event)
            if self.sel.start is None or time >= self.sel.start:
                is_past = self.sel.end is not None and time >= self.sel.end
                if not self.inside and is_past and not any(self.stacks.values()):
                    return
                if not self.inside:
                    self.open_window(time)
                if is_past:
                    self.close(self.sel.end)
                    return
            self.pass_time(time)
            self.take(event, time)
            last = time
        self.close(last)

    def open_window(self, time):
        self.inside = True
        self.now = time if self.now is None else self.sel.start
        self.sel.shown_streams.append(self.number)
        for stack, frames in self.stacks.items():
            for frame in frames:
                frame.start, frame.was_open = self.now, True
                frame.forced = frame.forced or stack != self.stack
                self.sel.frames.append(frame)

    def pass_time(self, time):
        if self.inside and self.now is not None:
            frames = self.stacks.get(self.stack)
            self.sel.pieces.append((frames[-1] if frames else None, time - self.now))
        self.now = time

    def close(self, time):
        self.pass_time(time)
        for stack in self.stacks.values():
            while stack:
                self.leave(stack, time, "open")

    def leave(self, stack, time, ending, results=()):
        frame = stack.pop()
        frame.end, frame.ending, frame.results = time, ending, list(results)

    def enter(self, event, time, name, **more):
        stack = self.stacks.setdefault(self.stack, [])
        frame = Frame(self.number, self.stack, name, time, stack[-1] if stack else None,
                      len(stack), (event.get("address"), event.get("symbol")), start=time,
                      values=event.get("values", []), **more)
        stack.append(frame)
        if self.inside:
            self.sel.frames.append(frame)

    def take(self, event, time):
        kind, values = event["kind"], event.get("values", [])
        if kind == "gap":  # spec/format.md, 7.11
            self.behind_gap = event["reason"] not in ("filter", "cut")
        elif kind not in ("unwind", "switch") and not event.get("frames"):
            self.behind_gap = False
        stack = self.stacks.setdefault(self.stack, [])
        name = event.get("symbol") or event.get("address")
        if kind in ("enter", "open"):
            self.enter(event, time, name, was_open=kind == "open")
        elif kind == "signal":
            self.enter(event, time, f"signal {event['signal']}", is_signal=True)
        elif kind == "exit" and event.get("unseen"):
            self.point(time, "exit_unseen", name, values)
        elif kind in ("exit", "signal_end", "unwind"):
            for _ in range(event.get("frames", 0)):
                self.leave(stack, time, "lost" if self.behind_gap else "unwind")
            if kind != "unwind":
                self.leave(stack, time, "exit", values)
        elif kind == "switch":
            self.switch(event["stack"], stack)
        elif kind == "gap":
            for frame in stack:
                frame.forced = frame.forced or self.inside
            self.point(time, "gap", "gap", [], (event["reason"], event["lost"]))
        else:
            self.point(time, kind, name, values)

    def switch(self, to, stack):
        if to != self.stack:
            for frame in stack:
                frame.forced = frame.forced or self.inside
        self.stack = to

    def point(self, time, kind, name, values, detail=None):
        if self.inside:
            self.sel.points.append(Point(self.number, self.stack, time, kind, name, values, detail))


# ---- recordings ----

VALUES = ["7", "-5", "0x7ffe12345678", "0.5", "null", "hex:00ff", '"a \\"b\\", c"', "nan",
          "18446744073709551615", '"\\xff\\x1b[31m"']
NAMES = [f"function_{i}" for i in range(12)] + ["operator()", "a b;c", "ns::f<int, 3>(char*)"]


class Thread:
    """Makes up one thread's lines."""

    def __init__(self, draw, pid, tid, base):
        self.draw, self.pid, self.tid = draw, pid, tid
        self.time = base + draw.randrange(1_000_000, 2_000_000)
        self.stacks, self.stack = {0: []}, 0

    def line(self, depth_aim):
        draw, stack = self.draw, self.stacks[self.stack]
        self.time += draw.choice((0, 1, 7, 300, 2_000, 40_000))
        head, choice = f"{self.time} {self.tid}", draw.random()
        values = " ".join(draw.choices(VALUES, k=draw.choice((0, 0, 0, 1, 3))))
        if choice < 0.02:
            self.stack = draw.choice((0, 0, 1, 5))
            self.stacks.setdefault(self.stack, [])
            return f"{head} switch {self.stack}"
        if choice < 0.04:
            return f"{head} gap {draw.randrange(9)} overflow"
        if choice < 0.08:
            kind = draw.choice(("marker", "block", "syscall"))
            return f"{head} {kind} place{draw.randrange(3)} {values}"
        if choice < 0.09:
            return f"{head} exit never_entered"
        if len(stack) > 1 and choice < 0.12:
            count = draw.randrange(1, min(4, len(stack)))
            del stack[-count:]
            return f"{head} unwind {count}"
        if stack and draw.random() < len(stack) / (2 * depth_aim):
            return f"{head} {self.end(stack)} {values}"
        if choice < 0.15:
            stack.append(11)
            return f"{head} signal 11"
        name = draw.choice(NAMES)
        stack.append(name)
        return f'{head} enter "{name}" {values}'

    def end(self, stack):
        if stack[-1] == 11:
            stack.pop()
            return "signal-end 11"
        named = [i for i, name in enumerate(stack) if name != 11]
        if len(named) > 2 and self.draw.random() < 0.1:
            name = stack[named[-2]]
            while stack.pop() != name:
                pass
            return f'exit "{name}"'
        return f'exit "{stack.pop()}"'


def make_text(seed, count, threads=4, base=0):
    """A recording as plain text, with everything that can happen but steps of the clock."""
    draw = random.Random(seed)
    lines = ["process 100 first", "process 200 second parent=100 start=5"]
    made = []
    for i in range(threads):
        pid = 100 if i % 2 == 0 else 200
        lines.append(f"thread {pid} {pid + i} thread{i}")
        made.append(Thread(draw, pid, pid + i, base))
    lines.append("module 0x400000 0x500000 /usr/bin/program build-id=00ff11")
    for i, name in enumerate(NAMES[:8]):
        lines.append(f'symbol {0x400000 + 16 * i:#x} "{name}" "dir/file{i % 3}.c:{10 + i}"')
    lines.append('meta command "program --flag"')
    events = []
    for thread in made:
        for _ in range(count):
            events.append((thread.time, thread.tid, len(events), thread.line(6)))
    events.sort(key=lambda event: (int(event[3].split()[0]), event[2]))
    return "\n".join(lines + [event[3] for event in events]) + "\n"
