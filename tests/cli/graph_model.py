"""Call graphs worked out from `tracetape dump --format csv`, event by event, as plainly as can be;
random traces with threads that start threads; and the graph that the command makes of a trace."""
import csv
import io
import json
import os
import random
import subprocess

TOOL = os.environ["TTAPE_BIN"]
START = ("**START**", 0)
CREATE, STARTED = "tracetape:thread_create", "tracetape:thread_start"


def run(*arguments, status=0, text=True):
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=text,
                          stdin=subprocess.DEVNULL, timeout=120, check=False)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    return done.stdout


# ---- random traces ----

def make_thread(rng, start, size):
    """Events (time, words) of one thread: calls, recursion, unwinding, a handler now and then."""
    events, stack, now = [], [], start
    while len(events) < size or stack:
        now += rng.choice((0, 1, 1, 3, 10, 50, 400))
        ends = len(events) >= size or len(stack) > 12 or rng.random() < 0.45
        if stack and ends:
            if len(stack) > 3 and rng.random() < 0.1 and "!" not in stack[-2:]:
                events.append((now, "unwind 2"))
                del stack[-2:]
            else:
                events.append((now, "signal-end 11" if stack.pop() == "!" else "exit"))
        elif stack and rng.random() < 0.03:
            events.append((now, "signal 11"))
            stack.append("!")
        elif len(events) < size:
            name = rng.choice(("alpha", "beta", "gamma", "delta", "eps", "zeta", "eta"))
            name = stack[-1] if stack and stack[-1] != "!" and rng.random() < 0.2 else name
            events.append((now, f"enter {name}"))
            stack.append(name)
    return events


def make_text(seed, threads, size):
    """A raw text trace of one process, and (tid -> tids that it creates, in order)."""
    rng = random.Random(seed)
    events = {100: make_thread(rng, 1000, size)}
    taken = set()
    for tid in range(101, 100 + threads):
        creator = rng.choice(sorted(events))
        place = rng.randrange(1, len(events[creator]))
        when = events[creator][place - 1][0]
        handle = rng.choice((0x7000, 0x8000, 0x9000 + tid))
        while (handle, when // 5000) in taken:  # a handle comes again, but not at once
            handle += 1
        taken.update((handle, when // 5000 + i) for i in (-1, 0, 1))
        events[creator].insert(place, (when, f'marker "{CREATE}" {handle:#x} {tid}'))
        child = make_thread(rng, when + rng.randrange(1, 30), rng.randrange(2, size + 1))
        events[tid] = [(child[0][0], f'marker "{STARTED}" {handle:#x}')] + child
    lines = ['process 1 "random"']
    for tid, list_of in events.items():
        lines.append(f"thread 1 {tid} start={list_of[0][0]}")
    for tid, list_of in events.items():
        lines += [f"{when} {tid} {words}" for when, words in list_of]
    made = {tid: [int(words.split()[-1]) for _, words in list_of if CREATE in words]
            for tid, list_of in events.items()}
    return "\n".join(lines) + "\n", made


# ---- the model ----

class Counts(dict):
    """Numbers by name, 0 where there is none."""

    def __missing__(self, key):
        return 0


class Model:
    """Nodes and edges of a trace; `made`: which thread creates which; `kept`: nodes that are not
    passed over."""

    def __init__(self, path, made=None, kept=None):
        self.nodes, self.edges, self.kept = {START: Counts()}, {}, kept
        self.made, self.level, self.origin = made or {}, {}, {}
        self.creators = {child: tid for tid, children in self.made.items() for child in children}
        self.span, self.contexts, self.times = 0, {}, {}
        self.threads = {}
        for row in csv.DictReader(io.StringIO(run("dump", "--format", "csv", path))):
            self.threads.setdefault(int(row["tid"]), []).append(row)
        self.created = {}  # tid -> origin
        for tid in sorted(self.threads):  # creators come first
            self.add_thread(tid)

    def is_kept(self, node):
        return self.kept is None or node == START or node in self.kept

    def add_thread(self, tid):
        creator = self.creators.get(tid)
        self.level[tid] = 0 if creator is None else self.level[creator] + 1
        self.origin[tid] = START if creator is None else self.created[tid]
        children = iter(self.made.get(tid, ()))
        stack, now = [], None
        for row in self.threads[tid]:
            time, kind, depth = int(row["time_ns"]), row["kind"], int(row["depth"])
            self.pass_time(stack, 0 if now is None else time - now)
            now = time
            if kind in ("enter", "signal"):
                self.enter(tid, stack, "signal 11" if kind == "signal" else row["symbol"])
            elif kind in ("exit", "signal_end"):
                self.leave(stack, len(stack) - 1)
            elif kind == "unwind":
                self.leave(stack, depth)
            elif row["symbol"] == CREATE:
                shown = stack[-1]["shown"] if stack else self.origin[tid]
                self.created[next(children)] = shown
        self.leave(stack, 0, has_end=False)

    def pass_time(self, stack, step):
        self.span += step
        for frame in stack:
            frame["time"] += step
        if stack:
            stack[-1]["self"] += step
            self.nodes[stack[-1]["node"]]["self"] += step
            if stack[-1]["shown"] != stack[-1]["node"]:
                self.nodes[stack[-1]["shown"]]["pruned"] += step
        else:
            self.nodes[START]["self"] += step

    def enter(self, tid, stack, name):
        is_signal = name.startswith("signal ")
        if not stack and not is_signal:
            node = (name, self.level[tid])
        elif stack and stack[0]["node"][0] == name:
            node = stack[0]["node"]
        else:
            node = (name, 0)
        above = stack[-1]["shown"] if stack else self.origin[tid]
        above = START if is_signal else above
        counts = self.nodes.setdefault(node, Counts())
        counts["calls"] += 1
        counts["recursion"] += any(frame["node"] == node for frame in stack)
        if self.is_kept(node):
            edge = self.edges.setdefault((above, node), Counts())
            edge["calls"] += 1
            hidden = bool(stack) and not is_signal and not self.is_kept(stack[-1]["node"])
            edge["indirect"] += hidden
            edge["started"] += not stack or is_signal
            context = self.contexts.setdefault((above, node), Counts())
            context[tid] += 1
            stack.append({"node": node, "shown": node, "edge": (above, node), "time": 0,
                          "self": 0})
        else:
            stack.append({"node": node, "shown": above, "edge": None, "time": 0, "self": 0})

    def leave(self, stack, height, has_end=True):
        """Outermost frames of a node (of an edge) have its time; each has its own length."""
        while len(stack) > height:
            frame = stack.pop()
            if has_end:
                self.times.setdefault(frame["node"], []).append((frame["time"], frame["self"]))
            if all(other["node"] != frame["node"] for other in stack):
                self.nodes[frame["node"]]["total"] += frame["time"]
            if frame["edge"] and all(other["edge"] != frame["edge"] for other in stack):
                self.edges[frame["edge"]]["total"] += frame["time"]


# ---- what the command says ----

class Graph:
    """The command's graph, with the names of the model."""

    def __init__(self, *arguments):
        self.json = json.loads(run("graph", "--json", *arguments))
        self.names = {n["node"]: (n["name"], n["level"]) for n in self.json["nodes"]}
        assert len(set(self.names.values())) == len(self.names), "a node is there twice"
        self.nodes = {self.names[n["node"]]: n for n in self.json["nodes"]}
        self.edges = {(self.names[e["from"]], self.names[e["to"]]): e for e in self.json["edges"]}
        assert len(self.edges) == len(self.json["edges"]), "an edge is there twice"
        self.threads = {t["tid"]: t for t in self.json["threads"]}

    def reached(self):
        """Nodes that edges lead to from the start."""
        seen, todo = {START}, [START]
        while todo:
            at = todo.pop()
            for (one, two) in self.edges:
                if one == at and two not in seen:
                    seen.add(two)
                    todo.append(two)
        return seen


def cyclic_pairs(edges):
    """Pairs of different nodes that lie on a common cycle."""
    nodes = {n for edge in edges for n in edge}
    reach = {n: set() for n in nodes}
    for one, two in edges:
        reach[one].add(two)
    for via in nodes:
        for one in nodes:
            if via in reach[one]:
                reach[one] |= reach[via]
    return {(a, b) for a in nodes for b in reach[a] if a != b and a in reach[b]}
