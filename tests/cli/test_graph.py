#!/usr/bin/env python3
"""Call graphs against a model that adds up the events of `dump` one by one: complete and pruned;
that pruning conserves time and calls, adds no cycles and leaves no orphans; merged processes;
contexts; other selections."""
import sys
import tempfile
from pathlib import Path

from graph_model import START, Graph, Model, cyclic_pairs, make_text, run


def check_nodes(graph, model, kept):
    assert set(graph.nodes) == kept | {START}, set(graph.nodes) ^ (kept | {START})
    for name, node in graph.nodes.items():
        expected = model.nodes[name]
        got = (node["calls"], node["self_ns"], node["total_ns"], node["recursive_calls"],
               node["pruned_ns"])
        wanted = tuple(expected[k] for k in ("calls", "self", "total", "recursion", "pruned"))
        assert got == wanted, (name, got, wanted)
        assert node["call_times"] == call_times(model.times.get(name)), (name, node["call_times"])


def call_times(calls):
    """Of single calls that ended: mean, least and most, of the whole call and of its own time."""
    if calls is None:
        return None
    wanted = {"calls": len(calls)}
    for place, prefix in enumerate(("", "self_")):
        spent = [call[place] for call in calls]
        wanted |= {f"{prefix}mean_ns": sum(spent) // len(spent), f"{prefix}min_ns": min(spent),
                   f"{prefix}max_ns": max(spent)}
    return wanted


def check_edges(graph, model):
    for ends, edge in graph.edges.items():
        expected = model.edges[ends]
        got = (edge["calls"], edge["started"], edge["indirect"])
        assert got == tuple(expected[k] for k in ("calls", "started", "indirect")), (ends, got)
        if ends[0] == ends[1]:
            assert edge["recursion"] == expected["calls"] and "total_ns" not in edge
        else:
            assert edge["total_ns"] == expected["total"], (ends, edge, dict(expected))


def check_conserved(graph, span, calls):
    """No time and no call is lost or counted twice."""
    assert graph.json["span_ns"] == span
    assert sum(n["self_ns"] + n["pruned_ns"] for n in graph.nodes.values()) == span
    own = sum(n["calls"] for n in graph.nodes.values())
    assert own + graph.json["pruned"]["calls"] == calls, (own, calls)


def check_whole(path, made):
    model, graph = Model(path, made), Graph(path)
    check_nodes(graph, model, set(model.nodes) - {START})
    check_edges(graph, model)
    assert set(graph.edges) == set(model.edges)
    calls = sum(n["calls"] for n in model.nodes.values())
    check_conserved(graph, model.span, calls)
    assert graph.reached() == set(graph.nodes)
    for tid, thread in graph.threads.items():
        creator = model.creators.get(tid)
        assert thread["level"] == model.level[tid]
        if creator is None:
            assert thread["started_by"] is None and thread["known_by"] == "start"
        else:
            assert thread["started_by"] == graph.threads[creator]["thread"], (tid, creator)
            assert graph.names[thread["started_in"]] == model.origin[tid]
            assert thread["known_by"] == "marker"
    # a function's calls are what the report says, over all levels
    return model, graph


LIMITS = [
    (["--min-share", "5%"], lambda c, span: c["total"] >= 0.05 * span),
    (["--min-share", "0.3"], lambda c, span: c["total"] >= 0.3 * span),
    (["--min-share", "8%", "--weight", "self"], lambda c, span: c["self"] >= 0.08 * span),
    (["--min-calls", "9"], lambda c, span: c["calls"] >= 9),
    (["--min-time", "2us"], lambda c, span: c["total"] >= 2000),
    (["--min-time", "1us", "--min-calls", "3", "--weight", "self"],
     lambda c, span: c["self"] >= 1000 and c["calls"] >= 3),
    (["--min-share", "100%", "--weight", "self"], lambda c, span: c["self"] >= span),
]


def is_above(arguments, edge, span):
    """Does an edge reach the limits?"""
    words = dict(zip(arguments[::2], arguments[1::2]))
    share = words.get("--min-share", "0")
    share = float(share[:-1]) / 100 if share.endswith("%") else float(share)
    least = float(words.get("--min-time", "0us")[:-2]) * 1000
    return (edge["total"] >= share * span and edge["total"] >= least
            and edge["calls"] >= int(words.get("--min-calls", 0)))


def check_pruned(path, made, whole, arguments, rule):
    full, _ = whole
    kept = {n for n, c in full.nodes.items() if n != START and rule(c, full.span)}
    model, graph = Model(path, made, kept), Graph(path, *arguments)
    check_nodes(graph, model, kept)
    check_edges(graph, model)
    calls = sum(n["calls"] for n in full.nodes.values())
    check_conserved(graph, full.span, calls)
    assert graph.json["pruned"]["nodes"] == len(full.nodes) - 1 - len(kept)
    assert graph.json["pruned"]["edges"] == len(model.edges) - len(graph.edges)
    assert graph.reached() == set(graph.nodes), "orphans"
    assert cyclic_pairs(graph.edges) <= cyclic_pairs(full.edges), "new cycles"
    for ends, edge in model.edges.items():
        if ends[0] == ends[1] or is_above(arguments, edge, full.span):
            assert ends in graph.edges, (ends, dict(edge))
    # an edge below the limits is there only because its callee would hang in the air
    for ends in graph.edges:
        if ends[0] != ends[1] and not is_above(arguments, model.edges[ends], full.span):
            rest = Graph.__new__(Graph)
            rest.edges = {e: 0 for e in graph.edges if e != ends}
            assert rest.reached() != set(graph.nodes), ends


def check_top(path, whole):
    full, _ = whole
    order = sorted((n for n in full.nodes if n != START),
                   key=lambda n: (-full.nodes[n]["self"], -full.nodes[n]["calls"]))
    graph = Graph(path, "--limit", "3")
    assert len(graph.nodes) == 4
    least = min(full.nodes[n]["self"] for n in graph.nodes if n != START)
    assert least == full.nodes[order[2]]["self"]


def check_contexts(path, model):
    graph = Graph(path, "--context", "*")
    for ends, edge in graph.edges.items():
        contexts = edge["contexts"]
        assert sum(c["calls"] for c in contexts) == edge["calls"]
        by_tid = {t["thread"]: tid for tid, t in graph.threads.items()}
        assert {by_tid[c["thread"]]: c["calls"] for c in contexts} == dict(model.contexts[ends])
        if ends[0] != ends[1]:
            assert sum(c["total_ns"] for c in contexts) == edge["total_ns"]
        for context in contexts:
            if "started_by" in context:
                tid = by_tid[context["thread"]]
                assert context["started_by"] == graph.threads[model.creators[tid]]["thread"]
    for node in graph.nodes.values():
        assert sum(c["self_ns"] for c in node["contexts"]) == node["self_ns"]
    text = run("graph", path, "--context", "*", "--no-pager")
    assert "->" in text and "Threads" in text


def check_threads(path, model):
    """Threads apart: their sums are the whole's; first routines are then nobody's."""
    calls = span = 0
    for tid in model.threads:
        one = Graph(path, "--thread", tid)
        calls += sum(n["calls"] for n in one.nodes.values())
        span += one.json["span_ns"]
    assert calls == sum(n["calls"] for n in model.nodes.values()) and span == model.span


def check_times(path, whole):
    """Neighbouring ranges add up, time by time and call by call."""
    full, graph = whole
    times = sorted(int(r["time_ns"]) for rows in full.threads.values() for r in rows)
    cuts = [times[0], times[len(times) // 3], times[len(times) // 2] + 1, times[-1] + 1]
    parts = [Graph(path, "--time", f"{a}..{b}") for a, b in zip(cuts, cuts[1:])]
    assert sum(p.json["span_ns"] for p in parts) == full.span
    for field in ("self_ns", "total_ns", "calls"):
        sums = {}
        for part in parts:
            for (name, _), node in part.nodes.items():
                sums[name] = sums.get(name, 0) + node[field]
        wanted = {}
        for (name, _), node in graph.nodes.items():
            wanted[name] = wanted.get(name, 0) + node[field]
        if field != "total_ns":  # levels are other ones where creations are not in the range
            sums = {k: v for k, v in sums.items() if v}
            assert sums == {k: v for k, v in wanted.items() if v}, field


def check_levels(path, made):
    """With functions by level, no thread closes a cycle."""
    graph = Graph(path, "--split-levels")
    assert graph.json["summary"]["cycles_by_threads"] == 0
    assert graph.json["calls"] == Graph(path).json["calls"]
    assert any(made.values()) == any(level > 0 for _, level in graph.nodes)


def check_merged(work, paths):
    """Processes of several traces: the merged graph is the sum of theirs, node by node, edge by
    edge, with its threads below their own process's functions."""
    run("merge", *paths, "-o", work / "merged.ttape", "--force")
    whole, parts = Graph(work / "merged.ttape"), [Graph(path) for path in paths]
    for which, fields in (("nodes", ("calls", "self_ns", "total_ns", "recursive_calls")),
                          ("edges", ("calls", "started", "indirect", "total_ns"))):
        sums = {}
        for part in parts:
            for key, row in getattr(part, which).items():
                counts = sums.setdefault(key, dict.fromkeys(fields, 0))
                for field in fields:
                    counts[field] += row.get(field, 0)
        got = {key: {field: row.get(field, 0) for field in fields}
               for key, row in getattr(whole, which).items()}
        assert got == sums, which
    assert whole.json["span_ns"] == sum(part.json["span_ns"] for part in parts)
    assert whole.reached() == set(whole.nodes)
    assert whole.json["summary"]["processes"] == len(paths)
    pruned = Graph(work / "merged.ttape", "--min-share", "10%")
    check_conserved(pruned, whole.json["span_ns"],
                    sum(n["calls"] for n in whole.nodes.values()))
    assert pruned.reached() == set(pruned.nodes), "orphans"
    assert cyclic_pairs(pruned.edges) <= cyclic_pairs(whole.edges), "new cycles"


def main():
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for seed, threads, size in ((1, 1, 40), (2, 4, 60), (3, 9, 150), (4, 14, 300), (5, 3, 2)):
            text, made = make_text(seed, threads, size)
            path = work / f"{seed}.ttape"
            (work / "in.txt").write_text(text, encoding="utf-8")
            run("convert", work / "in.txt", "-o", path, "--partition-events", "100", "--strict")
            whole = check_whole(path, made)
            for arguments, rule in LIMITS:
                check_pruned(path, made, whole, arguments, rule)
            check_top(path, whole)
            check_contexts(path, whole[0])
            check_threads(path, whole[0])
            check_times(path, whole)
            check_levels(path, made)
            count += 6 + len(LIMITS)
        check_merged(work, [work / f"{seed}.ttape" for seed in (2, 3, 5)])
        count += 1
    print(f"ok: {count} graphs checked")
    return 0


sys.exit(main())
