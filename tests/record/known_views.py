"""What the other verbs say of a trace, compared with its frames as recount.py has them from `dump`:
tree, slow, last, graph and context each have the same calls, at the same times, with the same
ends."""
import json
import os
import re
import subprocess
import sys
from collections import Counter

import setting

sys.path.insert(0, str(setting.HERE.parent / "runtime"))
import contexts  # noqa: E402

ENDS = {"returned": "ended", "left": "ended", "open": "open", "unseen": "unseen", "late": "late",
        "lost": "lost"}
SLOW_ENDS = {"returned": "returned", "left": "unwound", "open": "open"}
MILLION = 1_000_000
CONTEXTS = 12  # values that are asked for of a trace


def answer(verb, trace, *options, more=()):
    done = setting.tracetape(verb, "--json", *options, "--", trace, *more, timeout=300)
    if done.status not in (0, 3):
        raise RuntimeError(f"{verb}: {done.status}, {done.err.decode(errors='replace')[-400:]}")
    return json.loads(done.out)


def numbered(streams):
    """((stream, frame's number), stream, frame) of all."""
    for stream in streams.values():
        for number, frame in enumerate(stream.frames):
            yield (stream.number, number), stream, frame


def node_of(stream, number):
    return f"s{stream.number}e{stream.frames[number].event}"


def end_of(stream, frame):
    return frame.end if frame.end is not None else stream.last


def shown_name(frame):
    """`0x..` for what has no name, in some verbs `file+0x..`."""
    return "" if "0x" in frame.name else frame.name


def named(name):
    return "" if "0x" in name else name


# ---- tree ----

def check_tree(trace, streams):
    """Each frame is a node, below that of its caller; times and ends are as in the events."""
    wanted, found, way, open_frames = {}, {}, [], {}
    for _, stream, frame in numbered(streams):
        if frame.fate == "open":  # it is called by its place among those that are open
            open_frames.setdefault((stream.number, shown_name(frame), frame.start), []).append(
                f"s{stream.number}e{frame.event}")
        above = node_of(stream, frame.parent) if frame.parent >= 0 else f"s{stream.number}"
        duration = end_of(stream, frame) - frame.start
        end = ENDS[frame.fate] if frame.key else ""
        wanted[f"s{stream.number}e{frame.event}"] = (shown_name(frame), above, duration, end)
    for node in answer("tree", trace, "--full", "--min-time", "0")["nodes"]:
        del way[node["level"]:]
        if node["kind"] != "thread":
            is_call = node["kind"] == "call"
            name = named(node["name"]) if is_call else f"signal {node['signal']}"
            same = open_frames.get((int(way[0][1:]), name, node["enter_ns"]))
            if "p" in node["node"] and same:
                node["node"] = same.pop(0)
            found[node["node"]] = (name, way[-1], node["time_ns"],
                                   node.get("end", "") if is_call else "")
        way.append(node["node"])
    return [f"tree: {key} is {found.get(key)} instead of {wanted.get(key)}"
            for key in sorted(set(wanted) | set(found)) if wanted.get(key) != found.get(key)]


# ---- slow ----

def path_of(stream, frame):
    path = []
    while frame.parent >= 0:
        frame = stream.frames[frame.parent]
        path.append(shown_name(frame) if frame.key else "(signal)")
    return path[::-1]


def check_slow(trace, streams, function):
    """All calls of a function: their times, ends, and what led to them."""
    wanted = Counter()
    for _, stream, frame in numbered(streams):
        if frame.key and frame.name == function and not frame.is_inherited:
            known = SLOW_ENDS.get(frame.fate, frame.fate)
            wanted[f"s{stream.number}e{frame.event}", end_of(stream, frame) - frame.start, known,
                   tuple(path_of(stream, frame))] += 1
    found = Counter()
    for call in answer("slow", trace, "--limit", "1000000", more=[function])["calls"]:
        found[call["id"], call["duration_ns"], call["end"], tuple(map(named, call["path"]))] += 1
    more, less = list((found - wanted))[:2], list((wanted - found))[:2]
    problems = [f"slow {function}: {more} instead of {less}"] if more or less else []
    ids = {key[0] for key in wanted}  # on the CPU: of those of which it is known
    for call in answer("slow", trace, "--on-cpu", "--limit", "1000000", more=[function])["calls"]:
        if call["id"] not in ids:
            problems.append(f"slow --on-cpu {function}: {call['id']} is no call of its thread")
    return problems


# ---- last ----

def check_last(trace, streams):
    """What is open where a thread ends, the innermost first, and what it called."""
    problems = []
    for thread in answer("last", trace, "--all", "--limit", "1000000")["threads"]:
        stream = streams.get(thread["stream"])
        if stream is None:
            continue
        wanted = [(shown_name(frame), frame.start) for frame in reversed(stream.frames)
                  if frame.fate == "open"]
        found = [(named(one["function"]) if one["signal"] is None else f"signal {one['signal']}",
                  one["enter_time_ns"]) for one in thread["open"]]
        if len(stream.stacks) > 1:  # stack by stack
            wanted, found = sorted(wanted), sorted(found)
        if wanted != found:
            problems.append(f"last: of thread {stream.tid} {found} are open, not {wanted}")
        calls = Counter(shown_name(f) for f in stream.frames if f.key and not f.is_inherited)
        told = Counter()
        for call in thread["calls"]:
            told[named(call["function"])] += call["count"]
        if told != calls:
            problems.append(f"last: of thread {stream.tid} calls: {told - calls} too many, "
                            f"{calls - told} too few")
    return problems


# ---- graph ----

def check_graph(trace, streams):
    """Who called whom, and how often. Those that begin a thread or a stack have no caller."""
    wanted, found = Counter(), Counter()
    for _, stream, frame in numbered(streams):
        if frame.key is None or frame.is_inherited or frame.parent < 0:
            continue
        above = stream.frames[frame.parent]
        if above.key is not None:
            wanted[shown_name(above), shown_name(frame)] += 1
    graph = answer("graph", trace, "--all")
    names = {node["node"]: named(node["name"]) for node in graph["nodes"]}
    for edge in graph["edges"]:
        if edge["from"] != 0:
            found[names[edge["from"]], names[edge["to"]]] += edge["calls"] - edge["started"]
    found = +found
    problems = [f"graph: {pair} {found[pair]} times instead of {wanted[pair]}"
                for pair in sorted(wanted) if found[pair] < wanted[pair]]
    behind_signals = Counter(shown_name(f) for _, s, f in numbered(streams)
                             if f.key and f.parent >= 0 and s.frames[f.parent].key is None)
    more = {pair: count - wanted[pair] for pair, count in found.items() if count > wanted[pair]}
    problems += [f"graph: {pair} {count} times too often" for pair, count in more.items()
                 if count > behind_signals[pair[1]]]
    return problems


# ---- context ----

def offsets_of(trace, program):
    """{address: offset} of a program's functions: of what has a line, by the others' distance."""
    rows = answer("report", trace)["rows"]
    mine = {int(row["address"], 16) for row in rows
            if row["module"] and os.path.samefile(row["module"], program)}
    places = set(contexts.symbols(program.parent / program.name.replace("_bare", "")))
    bases = [address & ~4095 for address in mine]
    for base in sorted({base - (place & ~4095) for base in bases for place in places}):
        if all(address - base in places for address in mine):
            return {hex(address): address - base for address in mine}
    return {}  # executed anew, it was somewhere else


def seed_of(module):
    said = subprocess.run(["readelf", "-n", module], check=False, capture_output=True, text=True)
    build_id = re.search(r"Build ID: ([0-9a-f]+)", said.stdout)
    return contexts.seed(bytes.fromhex(build_id[1])) if build_id else None


def chain_of(stream, frame):
    chain = []
    while True:
        if frame.key is not None:
            chain.append(frame)
        if frame.parent < 0:
            return chain[::-1]
        frame = stream.frames[frame.parent]


def check_context(trace, streams, program):
    """Values of stacks that were, counted by the specification alone, stand for these stacks."""
    seed, stacks, places = seed_of(program), Counter(), offsets_of(trace, program)
    for _, stream, frame in numbered(streams):
        chain = chain_of(stream, frame) if frame.key and not frame.is_inherited else []
        offsets = tuple(places.get(one.key[0]) for one in chain)
        if chain and None not in offsets:
            stacks[offsets, tuple(shown_name(one) for one in chain)] += 1
    by_offsets = Counter()
    for (offsets, _), count in stacks.items():
        by_offsets[offsets] += count
    chosen = sorted(stacks, key=lambda s: (-len(s[0]), -stacks[s]))
    chosen = chosen[::max(1, len(chosen) // CONTEXTS)][:CONTEXTS]
    values = {}
    for offsets, names in chosen:
        numbers = [contexts.identity(seed, offset) for offset in offsets]
        value = f"{contexts.value_of(contexts.AFFINE, numbers):016x}/{len(offsets)}"
        values[value] = (list(names), by_offsets[offsets])
    if not values:
        return []
    done = setting.tracetape("context", "--json", "--recording", trace, *values)
    problems, told = [], {one["value"]: one for one in json.loads(done.out)}
    for value, (names, count) in values.items():
        stack = (told.get(value, {}).get("stacks") or [{}])[0]
        found = (list(map(named, stack.get("functions", []))), stack.get("entered"))
        if found != (names, count):
            problems.append(f"context: {value} is {found} instead of {(names, count)}")
    return problems


# ---- where the time went ----

def check_blame(trace, known, names_of_row):
    """Of the program's functions `burn` used the processor most, and `naps` slept."""
    busy, asleep = Counter(), 0
    for row in answer("report", trace)["rows"]:
        name = names_of_row(row)
        if name not in known.counts and name != "clock_gettime" and "nanosleep" not in name:
            continue
        busy["burn" if name in ("burn", "clock_gettime") else name] += row["on_cpu_ns"] or 0
        if name in ("naps", "nanosleep", "clock_nanosleep"):
            asleep += row["blocked_ns"] or 0
    problems, most = [], busy.most_common(1)[0]
    if "burn" in known.counts and most[0] != "burn":
        problems.append(f"blame: '{most[0]}' took {most[1]} ns of the processor, burn "
                        f"{busy['burn']}")
    if asleep < MILLION * known.counts.get("naps", 0):
        problems.append(f"blame: the program slept for {asleep} ns in naps")
    return problems
