"""What gcc's own counters say of each block and arc, without gcov's arithmetic on lines: the graphs
of .gcno and the counters of .gcda as gcov-dump prints them. Counters stand on the arcs outside of
a spanning tree; the others follow, because what enters a block leaves it."""
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ENTRY, EXIT = 0, 1
RECORD = re.compile(r"^\S+?:\s+[0-9a-f]{8}:\s*\d+:(\w+)(.*)")


@dataclass
class Arc:
    source: int
    target: int
    is_measured: bool
    is_fake: bool
    count: int = None


@dataclass
class Graph:
    """A function, and where it begins; `lines` of a block are (file, line), in their order."""
    name: str
    begin: tuple
    arcs: list = field(default_factory=list)
    lines: dict = field(default_factory=dict)
    blocks: dict = field(default_factory=dict)


def dump(path):
    return subprocess.run(["gcov-dump", "-l", path.name], cwd=path.parent, check=True,
                          capture_output=True, encoding="utf-8", errors="replace").stdout


def take_arcs(graph, text):
    block, targets = text.split(":", 1)
    for target, flags, words in re.findall(r"(\d+):([0-9a-f]{4})(?:\(([a-z,]*)\))?", targets):
        words = words.split(",")
        graph.arcs.append(Arc(int(block), int(target), "tree" not in words, "fake" in words))


def take_lines(graph, text):
    block, rest = text.split(":", 1)
    for name, numbers in re.findall(r"`([^']*)':([\d, ]*)", rest):
        for number in re.findall(r"\d+", numbers):
            graph.lines.setdefault(int(block), []).append((Path(name).name, int(number)))


def read_graphs(path):
    """{ident: graph} of a .gcno."""
    graphs, graph, kind = {}, None, ""
    for line in dump(path).splitlines():
        record = RECORD.match(line)
        if record is not None:
            kind = record[1]
            if kind == "FUNCTION":
                ident = re.search(r"ident=(\d+)", line)[1]
                name, file, number = re.search(r"`([^']*)' (.*?):(\d+):", line).groups()
                graph = graphs[ident] = Graph(name, (Path(file).name, int(number)))
            continue
        block = re.match(r"^\S+?:\s+block (\d+:.*)", line)
        if block is not None and kind == "ARCS":
            take_arcs(graph, block[1])
        elif block is not None and kind == "LINES":
            take_lines(graph, block[1])
    return graphs


def read_counters(path):
    """{ident: counters} of a .gcda; of what never ran none."""
    found, ident = {}, None
    for line in dump(path).splitlines():
        record = RECORD.match(line)
        if record is not None and record[1] == "FUNCTION":
            name = re.search(r"ident=(\d+)", line)
            ident = name[1] if name else None
        elif record is None and ident is not None:
            numbers = re.match(r"^\S+?:\s+\d+: ([\d ]+)$", line)
            if numbers is not None:
                found.setdefault(ident, []).extend(int(n) for n in numbers[1].split())
    return found


def settle(known, block, side):
    """What follows at one side of a block: its passes, or the one arc that is not known."""
    unknown = [arc for arc in side if arc.count is None]
    if not unknown and block not in known:
        known[block] = sum(arc.count for arc in side)
        return True
    if len(unknown) == 1 and block in known:
        unknown[0].count = known[block] - sum(arc.count or 0 for arc in side)
        return True
    return False


def solve(graph, counters):
    """Counts of all arcs and blocks."""
    graph.arcs.append(Arc(EXIT, ENTRY, False, True))
    values = iter(counters)
    left, entered = {}, {}
    for arc in graph.arcs:
        if arc.is_measured:
            arc.count = next(values, 0)
        left.setdefault(arc.source, []).append(arc)
        entered.setdefault(arc.target, []).append(arc)
    is_new = True
    while is_new:
        is_new = False
        for block in left.keys() & entered.keys():
            for side in (left[block], entered[block]):
                is_new = settle(graph.blocks, block, side) or is_new
    graph.arcs.pop()


def read(folder):
    """All functions of the objects in a folder, solved."""
    graphs = []
    for path in sorted(folder.glob("*.gcno")):
        counters = path.with_suffix(".gcda")
        found = read_counters(counters) if counters.is_file() else {}
        for ident, graph in read_graphs(path).items():
            solve(graph, found.get(ident, []))
            graphs.append(graph)
    return graphs


def most(graphs):
    """{(file, line): passes of that of its blocks which ran most}, all functions added up."""
    found = {}
    for graph in graphs:
        here = {}
        for block, lines in graph.lines.items():
            for at in lines:
                here[at] = max(here.get(at, 0), graph.blocks.get(block, 0))
        for at, count in here.items():
            found[at] = found.get(at, 0) + count
    return found


def blocks_of_lines(graphs):
    """{(file, line): passes of each block of it}."""
    found = {}
    for graph in graphs:
        for block, lines in graph.lines.items():
            for at in lines:
                found.setdefault(at, set()).add(graph.blocks.get(block, 0))
    return found


def calls(graphs):
    """{(file, line): how often the functions that begin there were entered}."""
    found = {}
    for graph in graphs:
        entered = sum(arc.count for arc in graph.arcs if arc.source == ENTRY and not arc.is_fake)
        found[graph.begin] = found.get(graph.begin, 0) + entered
    return found


def heads(graph):
    """{block: the one that it goes on with}: gcov cuts blocks behind calls, which may not return
    and have an arc to the exit for that."""
    out, into = {}, {}
    for arc in graph.arcs:
        if not arc.is_fake:
            out.setdefault(arc.source, []).append(arc.target)
            into.setdefault(arc.target, []).append(arc.source)
    calling = {arc.source for arc in graph.arcs if arc.is_fake and arc.target == EXIT}
    found = {block: block for block in out.keys() | into.keys()}
    for block in sorted(found):
        before = into.get(block, [])
        if len(before) == 1 and before[0] in calling - {ENTRY} and len(out[before[0]]) == 1:
            found[block] = found[before[0]]
    return found


def arcs_by_lines(graphs):
    """How many blocks begin with a line, and passes of arcs between blocks by their first lines."""
    begins, found = {}, {}
    for graph in graphs:
        head, first = heads(graph), {}
        for block in sorted(graph.lines):
            first.setdefault(head.get(block, block), graph.lines[block][0])
        for at in first.values():
            begins[at] = begins.get(at, 0) + 1
        for arc in graph.arcs:
            source, target = head.get(arc.source), head.get(arc.target)
            is_within = source == target and arc.target != target
            if not arc.is_fake and not is_within and source in first and target in first:
                key = (first[source], first[target])
                found[key] = found.get(key, 0) + arc.count
    return begins, found


def beside(edges, begins, arcs):
    """Edges of `tracetape lines --edges` between blocks that are the only ones to begin with a
    line, here and there: all pairs that both have, and those with other counts."""
    sites, found = {}, {}
    for edge in edges:
        places = [(Path(edge[end].get("file") or "").name, edge[end].get("line"))
                  for end in ("from", "to")]
        for place, end in zip(places, ("from", "to")):
            sites.setdefault(place, set()).add(edge[end]["address"])
        found[tuple(places)] = found.get(tuple(places), 0) + edge["times"]
    both = [pair for pair in found if arcs.get(pair) and
            all(len(sites[at]) == 1 and begins.get(at) == 1 for at in pair)]
    return both, {pair: (found[pair], arcs[pair]) for pair in both if found[pair] != arcs[pair]}
