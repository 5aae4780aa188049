"""Programs whose calls are known (known/), the ways to build them, and what each must have in its
trace.

What is known comes from the program itself: built with LOGGED, at -O0, run without tracetape, it
writes down its calls (programs/own.h). That log is checked against the numbers in the program's
head, and is what the trace of the other builds is compared with, thread by thread."""
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import known_views
import ownlog
import recount
import setting
import traces

FOLDER = setting.HERE / "known"


@dataclass(frozen=True)
class Way:
    """How a program is built and recorded."""
    compiler: str
    flags: tuple
    has_hooks: bool = False
    is_stripped: bool = False

    @property
    def jumps(self):
        """Whether calls in last place are jumps."""
        return "-O2" in self.flags and not self.has_hooks


HOOKS, PADS = "-finstrument-functions", "-fpatchable-function-entry=5"
XRAY = ("-fxray-instrument", "-fxray-instruction-threshold=1")
WAYS = {
    "hooks, gcc -O0": Way("gcc", ("-O0", HOOKS), has_hooks=True),
    "hooks, clang -O2": Way("clang", ("-O2", HOOKS), has_hooks=True),
    "-pg, gcc -O2": Way("gcc", ("-O2", "-pg")),
    "-mfentry, gcc -O2": Way("gcc", ("-O2", "-pg", "-mfentry")),
    "pads, gcc -O0": Way("gcc", ("-O0", PADS)),
    "pads, clang -O2": Way("clang", ("-O2", PADS)),
    "XRay, clang -O2": Way("clang", ("-O2", *XRAY)),
    "plain, gcc -O0": Way("gcc", ("-O0",)),
    "plain, gcc -O2": Way("gcc", ("-O2",)),
    "plain, clang -O0": Way("clang", ("-O0",)),
    "plain, clang -O2": Way("clang", ("-O2",)),
    "stripped, gcc -O2": Way("gcc", ("-O2",), is_stripped=True),
}


def programs():
    return sorted(path for path in FOLDER.iterdir() if path.suffix in (".c", ".cc"))


def head_counts(source):
    """{function: calls} of the head; "*": as often as the C library likes."""
    text = source.read_text("utf-8").split("#include")[0]
    known = re.sub(r"\n(//| \*)", " ", text.split("Known:")[1]).replace("*/", "")
    return {name: None if count == "*" else int(count)
            for name, count in re.findall(r"(~?\w+) (\d+|\*)", known)}


def make(source, compiler, flags, objects=(), name=None):
    """A program of known/, made once per content and options."""
    tool = setting.compiler_of(source.name, compiler)
    if shutil.which(tool) is None:
        setting.skip(f"'{tool}' is not installed")
    words = [tool, "-g", "-w", "-D_GNU_SOURCE", "-fpermissive", *flags, f"-I{setting.PROGRAMS}"]
    facts = [" ".join(words), *(path.read_text("utf-8") for path in
                                (source, FOLDER / "known.h", setting.PROGRAMS / "own.h"))]
    key = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:12]
    place = f"{source.stem}-{compiler}-{key}"
    target = setting.made_before(place, name or source.stem)
    if target.is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        made = Path(work, "made")
        setting.call([*words, source, *objects, "-o", made, "-pthread"])
        setting.keep_made(made, target)
    return target


def build(source, way):
    whole = make(source, way.compiler, way.flags)
    if not way.is_stripped:
        return whole
    bare = whole.parent / f"{source.stem}_bare"
    if not bare.is_file():
        with tempfile.TemporaryDirectory(dir=whole.parent) as work:
            setting.call(["strip", "-o", Path(work, "bare"), whole])
            setting.keep_made(Path(work, "bare"), bare)
    return bare


# ---- the oracle ----

class Replay:
    """One thread's frames out of its log; with `jumps` as an optimised program has them: a chain of
    calls in last place has each function once (spec/recording.md, 3.5). What a function calls so
    whose jump cannot be seen has that one's caller."""

    def __init__(self, jumps, without_ends=frozenset()):
        self.jumps, self.without_ends = jumps, without_ends
        self.frames, self.is_tail = [], False
        self.stacks, self.current = {0: []}, 0

    @property
    def stack(self):
        """What the source has open: (name, number of its frame, whether it is in last place)."""
        return self.stacks.setdefault(self.current, [])

    def close(self, number, fate):
        if self.frames[number].fate == "open":
            self.frames[number].fate = fate

    def chain(self):
        """Numbers of the frames that jumped to one another, the outermost first."""
        found = []
        for _, number, is_tail in reversed(self.stack):
            if self.frames[number].fate == "open":
                found.append(number)
            if not is_tail:
                break
        return found[::-1]

    def parent(self):
        return next((number for _, number, _ in reversed(self.stack)
                     if self.frames[number].fate == "open"), -1)

    def push(self, name, inherited=False):
        is_tail, self.is_tail = self.is_tail and self.jumps, False
        if is_tail and self.stack[-1][0] in self.without_ends:
            self.close(self.stack[-1][1], "late")
        elif is_tail:
            chain = self.chain()
            again = [i for i, number in enumerate(chain) if self.frames[number].name == name]
            for number in chain[again[0]:] if again else ():
                self.close(number, "returned")
        self.frames.append(ownlog.Frame(name, self.parent(), inherited=inherited))
        self.stack.append((name, len(self.frames) - 1, is_tail))

    def pop(self, fate):
        self.close(self.stack.pop()[1], fate)

    def take(self, kind, text, forks):
        if kind == "N":
            self.is_tail = self.is_tail or text == "tail"
            return
        if kind == "E":
            self.push(text)
        elif kind == "S":
            self.push(f"signal {text}")
        elif kind in "Xs":
            name = text if kind == "X" else f"signal {text}"
            if not self.stack or self.stack[-1][0] != name:
                raise ownlog.LogError(f"leaves '{name}' in {self.stack}")
            self.pop("returned")
        elif kind == "B":
            while self.stack[-1][0] != text:
                self.pop("left")
        elif kind == "R":
            while self.stack:
                self.pop("left")
        elif kind == "W":
            self.current = int(text)
        elif kind == "f":
            forks[int(text)] = [self.frames[number].name for _, number, _ in self.stack
                                if self.frames[number].fate == "open"]
        elif kind == "F":
            for name in forks[int(text)]:
                self.push(name, True)
        self.is_tail = False


def replay(log, jumps, without_ends=frozenset()):
    """Frames of each thread and process."""
    threads, forks = {}, {}
    for serial, kind, text in ownlog.entries(log):
        if kind == "T":
            threads[serial] = Replay(jumps, without_ends)
        else:
            threads[serial].take(kind, text, forks)
    return [thread.frames for thread in threads.values()]


@dataclass
class Known:
    source: Path
    status: int
    out: bytes
    log: Path
    counts: dict

    def threads(self, way, plan):
        frames = replay(self.log, way.jumps, plan.without_ends)
        return [without(thread, plan.left_out) for thread in frames]


def oracle(source, work):
    """What a program does, by its own log."""
    program = make(source, "gcc", ("-O0", "-DLOGGED"), [setting.log_object("gcc")])
    log = work / f"{source.stem}.log"
    ownlog.create(log)
    done = setting.run([program], env=setting.environment(OWN_LOG=log), cwd=work)
    return Known(source, done.status, done.out, log, head_counts(source))


def check_oracle(checks, known):
    """The log has the calls that the head says."""
    calls = Counter(frame.name for thread in replay(known.log, False) for frame in thread
                    if not frame.inherited and not frame.name.startswith("signal "))
    wanted = {name: calls[name] if count is None else count
              for name, count in known.counts.items()}
    checks.equal(dict(calls), wanted, f"{known.source.name}: its log, and its head")
    checks.equal(calls, Counter(frame.name for thread in replay(known.log, True) for frame in thread
                                if not frame.inherited and not frame.name.startswith("signal ")),
                 f"{known.source.name}: as many calls with jumps")


# ---- traces ----

MARKS = {"unseen", "late"}


class Names:
    """Symbols of a trace as names of the source; of a stripped program by the file that it was."""

    def __init__(self, program, way, trace):
        self.places, self.symbols = {}, {}
        if not way.is_stripped:
            return
        whole = program.parent / program.name.replace("_bare", "")
        self.symbols = {int(place, 16): name for place, name in
                   re.findall(r"^([0-9a-f]+) [tTwW] (.*)$",
                              setting.call(["nm", "-C", whole]).decode(), re.M)}
        done = setting.tracetape("dump", "--format", "ndjson", "--places", trace)
        for event in map(json.loads, done.out.decode().splitlines()):
            if event.get("module", "").endswith(program.name):
                place = int(event["offset"], 16)
                self.places[event["address"]] = self.symbols.get(place)

    def at(self, place):
        """Of what lies there in a stripped program."""
        return traces.plain_name(self.symbols.get(place, ""))

    def of(self, frame):
        if frame.key is None:
            return frame.name
        return traces.plain_name(self.places.get(frame.key[0]) or frame.name)

    def of_row(self, row):
        """Of a row of report."""
        return traces.plain_name(self.places.get(row["address"]) or row["name"])


def known_frames(frames, names, known):
    """Frames of known functions and of signals; the others are transparent."""
    kept, position = [], {}
    for number, frame in enumerate(frames):
        name = names.of(frame)
        if frame.key is not None and name not in known:
            continue
        parent = frame.parent
        while parent >= 0 and parent not in position:
            parent = frames[parent].parent
        position[number] = len(kept)
        kept.append(ownlog.Frame(name, position[parent] if parent >= 0 else -1, frame.fate,
                                 frame.is_inherited))
    return kept


def shape(frames):
    """What threads are paired by: all but their fates."""
    return tuple((frame.name, frame.parent, frame.inherited) for frame in frames)


@dataclass
class Plan:
    """What `record` says beforehand that it cannot see: functions, and ends of functions."""
    left_out: frozenset = frozenset()
    without_ends: frozenset = frozenset()


def plan_of(program, way, names):
    if way.has_hooks:
        return Plan()
    done = setting.tracetape("record", "--patch", ".", "--plan", "--json", "--", program)
    found = {"entry": set(), "exit": set()}
    for function in json.loads(done.out)["functions"]:
        for probe in function["probes"]:
            if probe["reason"] != "can":
                found["entry" if probe["kind"] == "entry" else "exit"].add(
                    names.at(function["start"]) or traces.plain_name(function["name"]))
    return Plan(frozenset(found["entry"]), frozenset(found["exit"]))


def without(frames, left_out):
    """Frames of the source, but for functions that cannot be seen."""
    kept, position = [], {}
    for number, frame in enumerate(frames):
        parent = frame.parent
        while parent >= 0 and parent not in position:
            parent = frames[parent].parent
        if frame.name not in left_out:
            position[number] = len(kept)
            kept.append(ownlog.Frame(frame.name, position[parent] if parent >= 0 else -1,
                                     frame.fate, frame.inherited))
    return kept


def fate_holds(wanted, frames, number, way, plan):
    """Whether an end is as known, or carries its mark."""
    found, fates = frames[number].fate, {wanted} - {"late"}
    if wanted == "left" and way.has_hooks:
        fates = fates | {"returned"}  # gcc's hooks are called when an exception passes
    if not way.has_hooks:
        fates = fates | MARKS
    if frames[number].name in plan.without_ends and \
            all(frame.parent >= number for frame in frames[number + 1:]):
        fates = fates | {"open"}  # nothing came that would have shown its end
    return found in fates


def first_difference(wanted, found):
    for number, (one, two) in enumerate(zip(wanted, found)):
        if one != two:
            return f"call {number}: {two} instead of {one}; before: " \
                   f"{found[max(0, number - 3):number]}"
    return f"{len(found)} calls instead of {len(wanted)}"


def compare(known, way, streams, names, plan=Plan()):
    """What differs between a trace and what is known; how many ends carry a mark."""
    functions, problems, marks = set(known.counts) - plan.left_out, [], Counter()
    rest = [known_frames(stream.frames, names, functions) for stream in streams]
    rest = [frames for frames in rest if frames]
    threads = known.threads(way, plan)
    for wanted in sorted(filter(None, threads), key=len, reverse=True):
        like = [frames for frames in rest if shape(frames) == shape(wanted)]
        if not like:
            near = sorted(rest, key=lambda frames: abs(len(frames) - len(wanted)))
            problems.append(f"no thread with the {len(wanted)} calls of '{wanted[0].name}': " +
                            (first_difference(shape(wanted), shape(near[0])) if near else "none"))
            continue
        best = min(like, key=lambda frames: sum(
            a.fate != b.fate for a, b in zip(wanted, frames)))
        rest.remove(best)
        for number, one in enumerate(wanted):
            marks[best[number].fate] += best[number].fate in MARKS
            if not fate_holds(one.fate, best, number, way, plan):
                problems.append(f"call {number}, '{one.name}': {best[number].fate} instead of "
                                f"{one.fate}")
    problems += [f"a thread that is not known: {shape(frames)[:4]}" for frames in rest]
    return problems, marks


# ---- all of it ----

def record(program, trace, work):
    """With the options that one has who gives none."""
    environment = setting.environment(XDG_CACHE_HOME=work / "cache")
    return setting.run([setting.COMMAND, "record", "-f", "-o", trace, "--", program],
                       env=environment, cwd=work, timeout=120)


def check_views(checks, label, known, trace, streams, names, program):
    functions = sorted({frame.name for stream in streams.values() for frame in stream.frames
                        if frame.key and names.of(frame) in known.counts})
    for function in functions[::setting.cut(1, max(1, len(functions) // 2))]:
        checks.extend(known_views.check_slow(trace, streams, function), label)
    checks.extend(known_views.check_tree(trace, streams), label)
    checks.extend(known_views.check_last(trace, streams), label)
    checks.extend(known_views.check_graph(trace, streams), label)
    checks.extend(known_views.check_context(trace, streams, program), label)
    checks.extend(known_views.check_blame(trace, known, names.of_row), label)


def prove(checks, source, label, work, marks=None):
    """One program, built in one way: each verb says what is known of it."""
    way, known = WAYS[label], oracle(source, work)
    label = f"{source.stem}, {label}"
    check_oracle(checks, known)
    program, trace = build(source, way), work / f"{source.stem}.ttape"
    done = record(program, trace, work)
    if not checks.equal((done.status, done.out, traces.verify(trace)),
                        (known.status, known.out, None), f"{label}: status, output, verify"):
        print(done.err.decode(errors="replace"))
        return
    streams, names = recount.read(trace), Names(program, way, trace)
    problems, found = compare(known, way, streams.values(), names)
    if problems:
        problems, found = compare(known, way, streams.values(), names,
                                  plan_of(program, way, names))
    checks.extend(problems, label)
    checks.extend([f"gap: {gap}" for stream in streams.values() for gap in stream.gaps], label)
    checks.extend(recount.compare(trace, streams, setting.cut(8, 3)), label)
    check_views(checks, label, known, trace, streams, names, program)
    if marks is not None:
        marks[label] = +found
