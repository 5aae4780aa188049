"""What `report` says of a trace, counted again from `dump --format csv`: a stack machine of its
own, with no code of the product. Its rules, from spec/format.md (F-SUM-05, F-END-04) and the
manual:

- A row's depth is how many frames are on the current stack before an enter, and after an exit or
  unwinding. An exit at the depth that there is has no call. One further out first leaves what is
  above it, as an unwind event does; right behind a gap such frames are lost.
- The time between two rows of a stream is of the frame on top of the stack that is current before
  the second row (self), and of each function that is anywhere on that stack (total), once.
  Signals are frames, but no functions: what they interrupted has no self time meanwhile.
- A call is an enter. A frame that was open before ("open") is none.
- A frame that ends by exit or by unwinding (kind left) has a duration, whatever stack is current
  meanwhile. One that ends otherwise (unseen, late, lost), or was open before, has none: it counts
  under "unknown ends", and not in the least and largest.
- Where a stream begins within calls, as of a trace that kept its last part, no row opens them:
  `tree` names them, and since when they were open, which their duration counts from. What it does
  not name, as of a child that another tool recorded from its fork on, is a depth and no more.
- Behind a gap of reason damage nothing says what is open, and functions at 0x0 are those whose
  definitions are lost: such traces are not counted again.
- Other tools' traces may have depths that are no heights of stacks. Their rows do not say which
  frames end: `has_own_depths`.
- Of a trace without times, only what is counted is compared.
- What is open when its stream ends has time up to the last row, and no duration.
"""
import csv
import json
import os
import re
import subprocess
from dataclasses import dataclass, field

import setting

NAME_BYTES = 100  # of which one function is known by its name alone
PUSHES = ("enter", "open", "signal")


def between(earlier, later):
    """Times are 64 bits, and what is between two of them a signed number."""
    return (later - earlier + (1 << 63)) % (1 << 64) - (1 << 63)


@dataclass
class Frame:
    key: tuple  # (address, symbol); None: a signal
    name: str
    number: int
    parent: int  # number of a frame of the same stream, or -1
    start: int
    event: int
    is_inherited: bool = False
    fate: str = "open"  # returned, left, unseen, late, lost
    end: int = None
    end_event: int = None

    @property
    def is_known(self):
        """Whether its duration is known."""
        return self.fate in ("returned", "left") and not self.is_inherited


@dataclass
class Sums:
    calls: int = 0
    ended: int = 0
    unknown: int = 0
    self_ns: int = 0
    total_ns: int = 0
    durations: int = 0
    least: int = None
    most: int = None

    def take_end(self, frame):
        if not frame.is_known:
            self.unknown += 1
            return
        duration = between(frame.start, frame.end)
        self.ended += 1
        self.durations += duration
        self.least = duration if self.least is None else min(self.least, duration)
        self.most = duration if self.most is None else max(self.most, duration)

    def add(self, other):
        for name in ("calls", "ended", "unknown", "self_ns", "total_ns", "durations"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name, choose in (("least", min), ("most", max)):
            both = [x for x in (getattr(self, name), getattr(other, name)) if x is not None]
            setattr(self, name, choose(both) if both else None)

    def row(self):
        return {"calls": self.calls, "ended": self.ended, "unknown_ends": self.unknown,
                "self_ns": between(0, self.self_ns), "total_ns": between(0, self.total_ns),
                "min_ns": self.least,
                "max_ns": self.most}


@dataclass
class Stream:
    number: int
    tid: int
    is_kept: bool = True  # all frames, not only those that are open
    frames: list = field(default_factory=list)
    frame_count: int = 0
    stacks: dict = field(default_factory=lambda: {0: []})
    current: int = 0
    last: int = None
    events: int = 0
    strays: int = 0
    unknown_depth: int = 0  # calls further out that nobody knows
    behind_gap: bool = False
    has_times: bool = True
    has_own_depths: bool = False  # depths that are not the stack's height
    is_damaged: bool = False  # what was open, or which function it is, is lost
    sums: dict = field(default_factory=dict)
    present: dict = field(default_factory=dict)  # stack: {key: frames on it}
    markers: list = field(default_factory=list)
    gaps: list = field(default_factory=list)

    def sum_of(self, key):
        if key not in self.sums:
            self.sums[key] = Sums()
        return self.sums[key]

    def pass_time(self, now):
        step = between(self.last, now) if self.last is not None else 0
        self.last = now
        if step == 0:
            return
        stack = self.stacks[self.current]
        if stack and stack[-1].key is not None:
            self.sum_of(stack[-1].key).self_ns += step
        for key in self.present.get(self.current, ()):
            self.sum_of(key).total_ns += step

    def push(self, row, kind, now):
        stack = self.stacks[self.current]
        name = row["symbol"] or row["address"]  # of a stripped program there is no name
        key = None if kind == "signal" else (row["address"], name)
        self.is_damaged |= name == "0x0"
        name = f"signal {name}" if key is None else name
        stack.append(Frame(key, name, self.frame_count, stack[-1].number if stack else -1, now,
                           self.events, kind == "open"))
        self.frame_count += 1
        if self.is_kept:
            self.frames.append(stack[-1])
        if key is not None:
            on = self.present.setdefault(self.current, {})
            on[key] = on.get(key, 0) + 1
            self.sum_of(key).calls += kind == "enter"

    def begin(self, height, names, addresses):
        """With what was open before: (name, when it was entered, when the stream begins)."""
        self.unknown_depth = height - len(names)
        for name, start, begin in names:
            row = {"address": addresses.get(name, name), "symbol": name}
            self.push(row, "enter", start)
            self.stacks[0][-1].event = None
            self.sum_of(self.stacks[0][-1].key).calls -= 1
            self.last = begin

    def pop(self, fate, now):
        frame = self.stacks[self.current].pop()
        frame.fate, frame.end, frame.end_event = fate, now, self.events
        if frame.key is None:
            return
        on = self.present[self.current]
        on[frame.key] -= 1
        if on[frame.key] == 0:
            del on[frame.key]
        self.sum_of(frame.key).take_end(frame)

    def pop_to(self, height, fate, now):
        while len(self.stacks[self.current]) > height:
            self.pop(fate, now)

    def take_exit(self, depth, now):
        if depth < 0:  # of a call that nobody knows
            self.pop_to(0, "left", now)
            self.unknown_depth += depth
        if depth < 0 or depth >= len(self.stacks[self.current]):
            self.strays += 1
            return
        self.pop_to(depth + 1, "lost" if self.behind_gap else "left", now)
        self.pop("returned", now)

    def take(self, row):
        kind, depth = row["kind"], int(row["depth"])
        if self.current == 0:
            depth -= self.unknown_depth
        self.has_times = row["time_ns"] != ""
        now = int(row["time_ns"] or 0)
        self.pass_time(now)
        if kind in PUSHES:
            self.has_own_depths |= depth != len(self.stacks[self.current])
            self.push(row, kind, now)
        elif kind in ("exit", "signal_end"):
            self.take_exit(depth, now)
        elif kind == "unwind":
            self.pop_to(depth, row["symbol"] or "left", now)
        elif kind == "switch":
            self.current = int(row["symbol"])
            self.stacks.setdefault(self.current, [])
        elif kind == "gap":
            self.gaps.append(row["symbol"])
            self.is_damaged |= row["symbol"].startswith("damage ")
        elif kind == "marker":
            self.markers.append(row["symbol"])
        self.behind_gap = kind == "gap" or \
            (self.behind_gap and kind in ("switch", "unwind", "marker"))
        self.events += 1


def kept_streams(trace):
    """Those whose first events are not there any more."""
    streams = json.loads(setting.tracetape("info", "--json", "--all", trace).out)["stream_list"]
    return {stream["stream"] for stream in streams if stream["first_event"] > 0}


def begun(trace, stream, first):
    """What is open where a stream begins, the outermost first; and addresses by name. Without times
    (first is None), it is what is open at the edge of the first partition of all."""
    time = [] if first is None else ["--min-time", "0", "--time", f"{first}..{first + 1}"]
    done = setting.tracetape("tree", "--json", "--full", *time, "--stream", str(stream), trace,
                             timeout=600)
    found, edge = [], None
    for node in json.loads(done.out)["nodes"]:
        place = re.fullmatch(r"(s\d+p\d+)b\d+", node["node"])
        edge = edge or (place and place[1])
        if place and (first is not None or place[1] == edge):
            found.append((node["name"], node.get("enter_ns", 0), node.get("start_ns", 0)))
    done = setting.tracetape("report", "--json", trace) if found else None
    return found, {row["name"]: row["address"] for row in json.loads(done.out)["rows"]} \
        if found else {}


def height_before(row):
    """How many calls were open before the first row of a stream."""
    return 0 if row["kind"] == "unwind" else int(row["depth"]) + (row["kind"] == "exit")


def read(trace, is_kept=True):
    """All streams of a trace, by number."""
    kept = None
    words, found = [setting.COMMAND, "dump", "--format", "csv", "--details", "--", trace], {}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="surrogateescape", env=setting.environment()) as dump:
        for row in csv.DictReader(dump.stdout):
            number = int(row["stream"])
            if number not in found:
                found[number] = Stream(number, int(row["tid"]), is_kept)
                height = height_before(row)
                if height > 0:
                    first = int(row["time_ns"]) if row["time_ns"] else None
                    kept = kept_streams(trace) if kept is None else kept
                    known = begun(trace, number, first) if number in kept else ([], {})
                    found[number].begin(height, *known)
            found[number].take(row)
        said = dump.stderr.read()
    if dump.returncode not in (0, 3):
        raise RuntimeError(f"dump: {dump.returncode}, {said[-500:]}")
    return found


def sums_of(streams):
    whole = {}
    for stream in streams:
        for key, one in stream.sums.items():
            whole.setdefault(key, Sums()).add(one)
    return whole


def rows_of(trace, *options):
    """Rows of report as sums by (address, symbol), and what the head says."""
    done = setting.tracetape("report", "--json", *options, trace, timeout=600)
    if done.status not in (0, 3):
        raise RuntimeError(f"report: {done.status}, {done.err.decode(errors='replace')[-500:]}")
    said = json.loads(done.out)
    found = {}
    for row in said["rows"]:
        sums = Sums(row["calls"], row["ended"], row["unknown_ends"], row.get("self_ns") or 0,
                    row.get("total_ns") or 0, 0, row.get("min_ns"), row.get("max_ns"))
        found.setdefault((row["address"], row["name"]), Sums()).add(sums)
    return found, said


def files_of(trace):
    """{address: file's name and offset} of functions without names: one file that is executed, or
    loaded, several times lies at several places, and its functions are the same."""
    words, found = [setting.COMMAND, "dump", "--format", "ndjson", "--places", "--", trace], {}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          errors="surrogateescape", env=setting.environment()) as dump:
        for line in dump.stdout:
            event = json.loads(line)
            if event.get("symbol") == "" and "module" in event:
                found[event["address"]] = f"{os.path.basename(event['module'])}+{event['offset']}"
    return found


def by_name(sums, trace):
    is_bare = any(address == name for address, name in sums)
    whole, files = {}, files_of(trace) if is_bare else {}
    for (address, name), one in sums.items():
        name = files.get(address, name) if address == name else name[:NAME_BYTES]
        whole.setdefault(("", name), Sums()).add(one)
    return whole


def differences(counted, said, head, label, trace, has_times=True):
    """What report says otherwise than it was counted: by place and name, or by name where it takes
    places of several runs, or names that are cut, for one."""
    problems, names = [], ("calls", "ended", "unknown_ends")
    if set(counted) != set(said):
        counted, said = by_name(counted, trace), by_name(said, trace)
    for key in sorted(set(counted) | set(said), key=str):
        mine, theirs = counted.get(key, Sums()).row(), said.get(key, Sums()).row()
        other = {name: (mine[name], theirs[name]) for name in (mine if has_times else names)
                 if mine[name] != theirs[name]}
        if other:
            problems.append(f"{label}: {key[1]}: (counted, reported) {other}")
    calls = sum(one.calls for one in counted.values())
    if head["calls"] != calls:
        problems.append(f"{label}: {head['calls']} calls reported, {calls} counted")
    return problems


def is_told(streams):
    """Whether the rows of a dump say all that is counted."""
    return not any(one.has_own_depths or one.is_damaged for one in streams.values())


def compare(trace, streams=None, each=8):
    """All that differs between report and the recount: whole, decoded, and stream by stream."""
    streams = streams if streams is not None else read(trace, False)
    whole, has_times = sums_of(streams.values()), all(s.has_times for s in streams.values())
    if not is_told(streams):
        return ["rows do not say which frames end"]
    problems = []
    for options in ((), ("--exact",)):
        said, head = rows_of(trace, *options)
        problems += differences(whole, said, head, " ".join(("report", *options)), trace,
                                has_times)
        strays = sum(stream.strays for stream in streams.values())
        if head.get("unseen_exits", strays) != strays:  # summaries do not know them
            problems.append(f"{head['unseen_exits']} exits without calls reported, "
                            f"{strays} counted")
    if 1 < len(streams) <= each:
        for number, stream in streams.items():
            said, head = rows_of(trace, "--stream", str(number))
            problems += differences(stream.sums, said, head, f"report --stream {number}", trace,
                                    has_times)
    return problems
