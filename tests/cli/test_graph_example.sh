#!/usr/bin/env bash
# The example program: recorded, its graph is known to the last call, recursion and thread.
. "${TTAPE_SRC:?}/tests/cli/common.sh"

if [ -n "${TTAPE_SANITIZE:-}" ]; then
    echo "SKIPPED: nothing is recorded with sanitizers"
    exit 77
fi
cc=${TTAPE_CC:-cc}
if ! "$cc" -O1 -g -finstrument-functions -pthread -o callgraph -I "$TTAPE_SRC/libtrace/include" \
    "$TTAPE_SRC/examples/callgraph/callgraph.c" 2>err; then
    echo "SKIPPED: $cc cannot build the example: $(head -n 1 err)"
    exit 77
fi
if ! "$T" record --no-patch -o run.ttape -- ./callgraph >out 2>err </dev/null; then
    echo "SKIPPED: no recording here: $(head -n 1 err)"
    exit 77
fi
has out '^0 63$'
"$T" record --no-patch -o again.ttape -- ./callgraph >out 2>err </dev/null ||
    fail "the second recording"

# what the source says, whatever the threads did in which order
status 0 "$T" graph --json run.ttape
cp out run.json
status 0 "$T" graph --json --context '*' run.ttape
cp out contexts.json
status 0 "$T" report --json run.ttape
cp out report.json
"$T" dump --format csv run.ttape >run.csv
python3 - <<'END' || fail "the graph is another"
import collections, csv, json
graph = json.load(open("run.json", encoding="utf-8"))
label = {n["node"]: n["name"] + (f" [{n['level']}]" if n["level"] else "") for n in graph["nodes"]}
nodes = {label[n["node"]]: n for n in graph["nodes"]}
edges = {(label[e["from"]], label[e["to"]]): e for e in graph["edges"]}
calls = {name: node["calls"] for name, node in nodes.items()}
assert {t["known_by"] for t in graph["threads"]} == {"start", "marker"}
assert calls == {"**START**": 0, "main": 1, "sort_basket": 127, "foo": 1, "bar": 2, "alpha": 10,
                 "beta": 1, "start_thread [1]": 6, "start_thread [2]": 1}, calls
wanted = {("**START**", "main"): 1, ("main", "sort_basket"): 1, ("sort_basket", "sort_basket"): 126,
          ("main", "foo"): 1, ("main", "bar"): 1, ("foo", "alpha"): 1, ("foo", "beta"): 1,
          ("bar", "alpha"): 2, ("start_thread [1]", "bar"): 1,
          # six threads in one edge, and the one that the first of them started
          ("foo", "start_thread [1]"): 6, ("bar", "start_thread [2]"): 1,
          ("start_thread [1]", "alpha"): 6, ("start_thread [2]", "alpha"): 1}
assert not any(edge["inferred"] for edge in edges.values())
got = {e: v["calls"] for e, v in edges.items()}
assert got == wanted, got
recursion = edges[("sort_basket", "sort_basket")]
assert recursion["recursion"] == 126 and "total_ns" not in recursion
assert nodes["sort_basket"]["depth"] == 7 and nodes["sort_basket"]["recursive_calls"] == 126
summary = graph["summary"]
assert summary["cycles"] == 0, "a cycle that no call went round"
assert summary["threads"] == 8 and summary["nodes"] == len(nodes)
assert summary["threading_levels"] == 3
assert summary["direct_calls"] == 127 + 2 + 10 + 1 + 1 and summary["indirect_calls"] == 8

# times: out of the events themselves
own, threads = collections.Counter(), {}
for row in csv.DictReader(open("run.csv", newline="", encoding="utf-8")):
    stack = threads.setdefault(row["stream"], [[], None])
    now = int(row["time_ns"])
    if stack[0]:
        own[stack[0][-1]] += now - stack[1]
    elif stack[1] is not None:
        own["**START**"] += now - stack[1]
    stack[1] = now
    if row["kind"] == "enter":
        stack[0].append(row["symbol"])
    elif row["kind"] == "exit":
        stack[0].pop()
got = collections.Counter()
for node in graph["nodes"]:
    got[node["name"]] += node["self_ns"]
assert +got == +own, (got, own)
assert sum(own.values()) == graph["span_ns"]
report = {r["name"]: r for r in json.load(open("report.json", encoding="utf-8"))["rows"]}
for name in ("main", "sort_basket", "foo", "bar", "alpha", "beta"):
    for field in ("calls", "self_ns", "total_ns"):
        assert report[name][field] == nodes[name][field], (name, field)

# vectors by thread: beta was called by foo's thread only, alpha by all
contexts = json.load(open("contexts.json", encoding="utf-8"))
node = {n["name"] + str(n["level"]): n for n in contexts["nodes"]}
main_thread = next(t["thread"] for t in contexts["threads"] if t["level"] == 0)
assert [c["thread"] for c in node["beta0"]["contexts"]] == [main_thread]
assert len(node["alpha0"]["contexts"]) == 8
assert all(n["threads"] == len(n["contexts"]) for n in contexts["nodes"])
edge = next(e for e in contexts["edges"] if label[e["from"]] == "foo"
            and label[e["to"]] == "start_thread [1]")
assert len(edge["contexts"]) == 6
# beta was called by foo only, alpha by foo, bar and the threads' routines
assert {label[e["from"]] for e in contexts["edges"] if label[e["to"]] == "beta"} == {"foo"}
assert {label[e["from"]] for e in contexts["edges"] if label[e["to"]] == "alpha"} == {
    "foo", "bar", "start_thread [1]", "start_thread [2]"}
assert all(c["calls"] == 1 and c["started_by"] == main_thread for c in edge["contexts"])
END

status 0 "$T" graph --all --no-pager run.ttape
has out 'sort_basket  rc=126$'
has out 'start_thread \[1\]  starts 6$'
status 0 "$T" graph --summary --no-pager run.ttape
has out 'nodes +9$'
has out ' alpha  in 8 threads$'
has out '^Hottest path$'
has out 'recursion depth +7$'
has out 'cycles of several nodes +0$'
has out ' callgraph$'
status 0 "$T" graph --no-pager --context 'foo->start_thread [1]' run.ttape
grep -E '^ *0->[1-7] ' out >threads
lines threads 6

if command -v dot >/dev/null; then
    status 0 "$T" graph --format svg --all --context 'foo->start_thread [1]' run.ttape
    cp out run.svg
    has run.svg '\*\*START\*\*'
    has run.svg 'rc=126'
    has run.svg '\(127, '
    has run.svg '0→1 \(1, '
    has run.svg '#696969'
    python3 -c 'import xml.etree.ElementTree as t; t.parse("run.svg")' || fail "no XML"
else
    echo "SKIPPED: the picture (no Graphviz)"
fi

# two runs of a program that does the same each time
status 0 "$T" diff --first run.ttape again.ttape
has out '^no difference in [0-9]+ events of 8 threads$'
status 0 "$T" diff --json run.ttape again.ttape
python3 - <<'END' || fail "the runs differ in calls"
import json
found = json.load(open("out", encoding="utf-8"))
for kind in ("functions", "paths"):
    assert found[kind]["new"] == found[kind]["gone"] == 0
    assert all(row["a"]["calls"] == row["b"]["calls"] for row in found[kind]["rows"])
END
verdict
