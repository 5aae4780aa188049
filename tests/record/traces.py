"""Traces as the command shows them: streams with their frames, counts of calls, and how they
compare with what a program logged of itself."""
import collections
import functools
import json
import os
import re
import subprocess

from ownlog import Stacks
from setting import BUILD, COMMAND, tracetape

SIGNAL_UNKNOWN = "signal 0"


class TraceError(Exception):
    pass


def count_holes(told):
    """Records that were not written, of what dump says."""
    lost = re.findall(rb"gap: (\d+) events lost, reason: unknown", told)
    return sum(int(number) for number in lost)


def info(path):
    done = tracetape("info", "--json", "--all", path)
    if done.status:
        raise TraceError(f"info ended with {done.status}: {done.err.decode(errors='replace')}")
    return json.loads(done.out)


def lost(about):
    """Events that a trace says are missing: those in gaps, and those of which no thread could tell
    any more."""
    known = [item["value"] for item in about["metadata"]
             if item["key"] in ("dropped_events", "silenced_events")]
    return max([about["lost"], *known])


def number(about, key):
    """What the metadata has under a key, all added up; 0: nothing."""
    return sum(item["value"] for item in about["metadata"] if item["key"] == key)


def lost_and_told(about):
    """The same as a sum: gaps say what they stand for, the metadata what no gap stands for."""
    return about["lost"] + number(about, "dropped_events") + number(about, "silenced_events")


RECORDER = "(the recorder)"  # in whose calls threads waited for it


def recorder_calls(path):
    """(how many, nanoseconds) of the recorder's own calls."""
    said = json.loads(tracetape("report", "--json", path, timeout=600).out)
    own = [row for row in said["rows"] if row["name"] == RECORDER]
    return sum(row["calls"] for row in own), sum(row.get("self_ns") or 0 for row in own)


def verify(path):
    """None, or what is wrong."""
    done = tracetape("verify", path)
    if done.status == 0:
        return None
    return f"verify ended with {done.status}: {(done.out + done.err).decode(errors='replace')}"


def plain_name(symbol):
    """`space::Class<T>::name(int) [clone .part.0]` is `name`."""
    text = re.sub(r"\(anonymous namespace\)::", "", symbol)
    text = re.sub(r"(?<=.)\(.*", "", text)
    text = re.sub(r"<.*>", "", text).split(" [clone")[0].split(".")[0]
    return text.split("::")[-1].split(" ")[-1]


def call_counts(path):
    """{kind: {symbol: count}} of a trace of any size, without the recorder's own calls; that of the
    last one is kept."""
    state = os.stat(path)
    return counts_of(path, state.st_mtime_ns, state.st_ino)


@functools.lru_cache(maxsize=1)
def counts_of(path, *_):
    done = subprocess.run([BUILD / "tests" / "record_count_events", path], check=False,
                          capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise TraceError(done.stderr)
    counts = collections.defaultdict(lambda: collections.defaultdict(int))
    for line in done.stdout.splitlines():
        count, kind, symbol = line.split("\t", 2)
        if symbol == RECORDER:
            continue
        counts[kind][plain_name(symbol)] += int(count)
    return counts


def name_of(event):
    return plain_name(event["symbol"]) or event["address"]


class Stream(Stacks):
    """One stream's frames, from its events."""

    def __init__(self, about):
        super().__init__()
        self.about, self.problems, self.gaps, self.unseen = about, [], [], 0
        self.counts = collections.Counter()
        self.last_time = None
        self.backwards = 0

    def pop_many(self, count, event):
        if count > len(self.stack):
            self.problems.append(f"event {event['event']} leaves {count} of "
                                 f"{len(self.stack)} frames")
        for _ in range(min(count, len(self.stack))):
            self.pop("left")

    def leave(self, event):
        name = name_of(event)
        if event.get("unseen"):
            self.unseen += 1
            return
        self.pop_many(event.get("frames", 0), event)
        if not self.stack or self.top().name != name:
            self.problems.append(f"event {event['event']}: '{name}' exits in {self.names()[-4:]}")
            return
        self.pop("returned")

    def take(self, event):
        kind = event["kind"]
        self.counts[kind] += 1
        time = event.get("time_ns")
        if time is not None and self.last_time is not None and time < self.last_time:
            self.backwards += 1
        self.last_time = time
        if kind in ("enter", "open"):
            self.push(name_of(event), kind == "open")
        elif kind == "exit":
            self.leave(event)
        elif kind == "unwind":
            self.pop_many(event["frames"], event)
        elif kind == "signal":
            self.push(f"signal {event['signal']}")
        elif kind == "signal_end":
            if not self.stack or not self.top().name.startswith("signal "):
                self.problems.append(f"event {event['event']}: a signal ends in "
                                     f"{self.names()[-4:]}")
            else:
                self.pop("returned")
        elif kind == "switch":
            self.current = event["stack"]
        elif kind == "gap":
            self.gaps.append((event["lost"], event["reason"]))


def streams(path):
    """All streams with their frames: for traces of up to some 100,000 events."""
    found = {s["stream"]: Stream(s) for s in info(path)["stream_list"]}
    done = tracetape("dump", "--format", "ndjson", path)
    if done.status:
        raise TraceError(f"dump ended with {done.status}: {done.err.decode(errors='replace')}")
    for line in done.out.decode("utf-8", errors="replace").splitlines():
        event = json.loads(line)
        if event.get("symbol") != RECORDER:
            found[event["stream"]].take(event)
    return list(found.values())


# ---- comparing ----

def known_only(frames, known):
    """Frames of functions that the program logs; others are transparent. With their names."""
    kept, position, unknown = [], {}, set()
    for i, frame in enumerate(frames):
        if frame.name in known or frame.name.startswith("signal "):
            parent = frame.parent
            while parent >= 0 and parent not in position:
                parent = frames[parent].parent
            position[i] = len(kept)
            kept.append(type(frame)(frame.name, position[parent] if parent >= 0 else -1,
                                    frame.fate, frame.inherited))
        else:
            unknown.add(frame.name)
    return kept, unknown


FATES = {"returned": {"returned"}, "left": {"left", "returned", "open"}, "open": {"open", "left"}}


def name_at(frames, index):
    return frames[index].name if 0 <= index < len(frames) else "-"


def same_name(wanted, found, loose_signals):
    return wanted == found or (loose_signals and found == SIGNAL_UNKNOWN
                               and wanted.startswith("signal "))


def is_last(frames, index):
    """Whether all that came after a frame is inside of it: nothing has told that it ended."""
    return all(is_inside(frames, i, index) for i in range(index + 1, len(frames)))


def is_inside(frames, index, outer):
    while index > outer:
        index = frames[index].parent
    return index == outer


def differences(logged, traced, tolerate=frozenset(), cut_short=False, loose_signals=False):
    """What differs between the frames that a thread logged and those of its stream.

    tolerate: pairs (function, its parent as traced) that stay ambiguous. cut_short: the thread was
    ended from outside, so that the last step of either may be missing."""
    problems = []
    for i, (own, seen) in enumerate(zip(logged, traced)):
        if not same_name(own.name, seen.name, loose_signals):
            problems.append(f"call {i} is '{seen.name}' instead of '{own.name}'")
            break
        pair = (seen.name, name_at(traced, seen.parent))
        if own.parent != seen.parent and pair not in tolerate:
            problems.append(f"call {i}, '{own.name}': parent is {seen.parent} '{pair[1]}' "
                            f"instead of {own.parent} '{name_at(logged, own.parent)}'")
        if own.inherited != seen.inherited:
            problems.append(f"call {i}, '{own.name}': open before is {seen.inherited}")
        fates = FATES[own.fate] | ({"open", "left"} if cut_short else set())
        if own.name.startswith("signal ") and is_last(traced, i):
            fates = fates | {"open"}  # a handler's end is seen by the next call, and there is none
        if seen.fate not in fates:
            problems.append(f"call {i}, '{own.name}': {seen.fate} instead of {own.fate}")
    surplus = len(traced) - len(logged)
    if surplus and not (cut_short and abs(surplus) <= 1):
        problems.append(f"{len(traced)} calls instead of {len(logged)}")
    return problems


def pair_up(threads, found):
    """(thread, stream or None) for each thread that logged, and the streams that nobody logged."""
    by_tid = collections.defaultdict(list)
    for stream in sorted(found, key=lambda s: (s.about["start_time_ns"], s.about["stream"])):
        if stream.counts:
            by_tid[stream.about["tid"]].append(stream)
    pairs = []
    for thread in threads:
        rest = by_tid[thread.tid]
        pairs.append((thread, rest.pop(0) if rest else None))
    return pairs, [s for rest in by_tid.values() for s in rest]


def compare(threads, found, transparent=False, tolerate=frozenset(), cut_short=False,
            loose_signals=False):
    """All differences between a program's log and its trace."""
    known = {frame.name for thread in threads for frame in thread.frames}
    pairs, surplus = pair_up(threads, found)
    problems = [f"stream {s.about['stream']} of thread {s.about['tid']} that logged nothing"
                for s in surplus]
    for thread, stream in pairs:
        label = f"thread {thread.tid} (serial {thread.serial})"
        if stream is None:
            if any(not frame.inherited or frame.fate == "returned" for frame in thread.frames):
                problems.append(f"{label}: no stream; it logged {len(thread.frames)} calls")
            continue
        if thread.pid != stream.about["pid"]:
            problems.append(f"{label}: process {stream.about['pid']} instead of {thread.pid}")
        frames, unknown = known_only(stream.frames, known)
        if unknown and not transparent:
            problems.append(f"{label}: calls of {sorted(unknown)[:5]}, which are not in the log")
        if stream.unseen:
            problems.append(f"{label}: {stream.unseen} exits without an enter")
        problems += [f"{label}: {p}" for p in stream.problems]
        problems += [f"{label}: {p}" for p in differences(thread.frames, frames, tolerate,
                                                          cut_short, loose_signals)]
        if stream.backwards:
            problems.append(f"{label}: time runs backwards {stream.backwards} times")
    return problems
