#!/usr/bin/env python3
"""Graphs known to the last edge: threads on several levels, forks, guesses, coroutines, signals,
open frames, order without times; hostile names in every output; what is refused."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from graph_model import START, Graph, cyclic_pairs, run

WORK = Path(tempfile.mkdtemp())
CREATE, STARTED = '"tracetape:thread_create"', '"tracetape:thread_start"'


def make(name, text, *options):
    source, path = WORK / f"{name}.txt", WORK / f"{name}.ttape"
    source.write_bytes(text if isinstance(text, bytes) else text.encode())
    run("convert", source, "-o", path, "--force", *options)
    return path


def edges_of(graph, field="calls"):
    return {ends: edge[field] for ends, edge in graph.edges.items()}


def check(got, wanted):
    assert got == wanted, f"\n got    {got}\n wanted {wanted}"


NESTED = f"""process 1 "p"
thread 1 1 start=0
thread 1 2 start=20
thread 1 3 start=40
thread 1 4 start=45
0 1 enter main
10 1 enter foo
20 1 marker {CREATE} 0xa 0x1
70 1 exit
71 1 enter qux
75 1 marker {CREATE} 0xa 0x1
80 1 exit
90 1 exit
20 2 marker {STARTED} 0xa
25 2 enter run
30 2 enter bar
38 2 marker {CREATE} 0xb 0x1
50 2 exit
51 2 enter run
52 2 exit
55 2 exit
40 3 marker {STARTED} 0xb
41 3 enter run
42 3 enter foo
43 3 exit
44 3 exit
45 4 marker {STARTED} 0xa
76 4 enter run
77 4 exit
"""


SHARED = """0 1 enter main
10 1 enter leaf
15 1 exit
20 1 enter one
30 1 enter both
35 1 enter leaf
45 1 exit
60 1 exit
70 1 exit
80 1 enter both
81 1 exit
100 1 exit
"""


def check_shared():
    """SELF is the line's own part of TIME, though a function has several callers."""
    text = run("graph", make("shared", SHARED), "--all", "--no-pager")
    rows = [line.split("  ") for line in text.splitlines()[2:]]
    rows = {tuple(word.strip() for word in row if word.strip())[1:] for row in rows}
    check(rows, {("0.100 us", "0.044 us", "1", "main"), ("0.050 us", "0.020 us", "1", "one"),
                 ("0.030 us", "<=0.021 us", "1", "both"), ("0.010 us", "0.010 us", "1", "leaf"),
                 ("0.005 us", "0.005 us", "1", "leaf", "^"),
                 ("0.001 us", "<=0.001 us", "1", "both", "^")})


def check_levels():
    """One routine on three levels: as one node it would close a cycle that no run had."""
    graph = Graph(make("nested", NESTED))
    check(edges_of(graph), {
        (START, ("main", 0)): 1, (("main", 0), ("foo", 0)): 1, (("main", 0), ("qux", 0)): 1,
        (("foo", 0), ("run", 1)): 1, (("qux", 0), ("run", 1)): 1,
        (("run", 1), ("bar", 0)): 1, (("run", 1), ("run", 1)): 1,
        (("bar", 0), ("run", 2)): 1, (("run", 2), ("foo", 0)): 1})
    # the second creation with a handle is the second thread's, though the first is nearer
    check({t: graph.threads[t]["started_by"] for t in graph.threads}, {1: None, 2: 0, 3: 1, 4: 0})
    merged = {(a[0], b[0]) for a, b in graph.edges if a != b}
    assert ("run", "bar") in cyclic_pairs(merged), "the example has no spurious cycle to avoid"
    summary = graph.json["summary"]
    # foo starts run [1], which starts run [2], which calls foo: a cycle, but none of calls
    check((summary["cycles"], summary["cycles_by_threads"], summary["threading_levels"]), (1, 1, 3))
    assert not cyclic_pairs(Graph(WORK / "nested.ttape", "--split-levels").edges)
    check(summary["direct_calls"], 5)
    check((summary["start_calls"], summary["started_calls"], summary["indirect_calls"]), (1, 3, 4))
    check((summary["recursive_calls"], summary["recursion_depth"]), (1, 2))
    out = run("graph", WORK / "nested.ttape", "--context", "foo->run [1]", "--no-pager")
    assert "0->1" in out and "0->3" not in out and "1->2" not in out, out
    assert "foo (marker)" in out


FORKED = """process 1 "p"
thread 1 1 start=0
process 2 "q" parent=1 start=20
thread 2 2 start=20
0 1 enter main
10 1 enter spawn
30 1 exit
40 1 exit
20 2 open main
20 2 open spawn
22 2 enter child
25 2 exit
26 2 exit
27 2 enter after
28 2 exit
29 2 exit
30 2 enter last
33 2 exit
process 3 "r" parent=2 start=24
thread 3 3 start=24
24 3 open main
24 3 open spawn
24 3 open child
28 3 exit
29 3 enter child
30 3 exit
"""


def check_fork():
    """A forked process goes on in its parent's frames: their time counts, their calls do not."""
    graph = Graph(make("forked", FORKED))
    check(edges_of(graph), {
        (START, ("main", 0)): 1, (("main", 0), ("spawn", 0)): 1, (("spawn", 0), ("child", 0)): 2,
        (("main", 0), ("after", 0)): 1, (("spawn", 0), ("last", 1)): 1})
    check(graph.nodes[("main", 0)]["total_ns"], 40 + 9 + 6)
    check(graph.edges[(START, ("main", 0))]["total_ns"], 40 + 9 + 6)
    check(graph.edges[(("main", 0), ("spawn", 0))]["total_ns"], 20 + 6 + 6)
    check([graph.threads[t]["level"] for t in (1, 2, 3)], [0, 1, 2])
    check(graph.threads[2]["known_by"], "fork")
    assert not cyclic_pairs(graph.edges)
    # without frames that say so, those that it leaves do
    left = FORKED.replace("20 2 open main\n20 2 open spawn\n", "") \
        .replace("26 2 exit", "26 2 exit spawn").replace("29 2 exit", "29 2 exit main")
    graph = Graph(make("left", left[:left.index("process 3")]))
    check(graph.threads[2]["known_by"], "fork")
    edge = graph.edges[(("spawn", 0), ("after", 1))]
    check((edge["calls"], edge["started"], edge["inferred"]), (1, 1, False))
    # without both it is a guess
    unseen = "\n".join(l for l in FORKED.splitlines() if " open " not in l and " 3" not in l
                       and "s 3" not in l and l not in ("26 2 exit", "29 2 exit"))
    graph = Graph(make("unseen", unseen))
    check(graph.threads[2]["known_by"], "inferred")
    assert graph.edges[(("spawn", 0), ("child", 1))]["inferred"]


FACTS = f"""process 1 "p"
process 2 "q" parent=1 start=60
process 3 "r" parent=1 start=61
thread 1 1 start=0
thread 1 2 start=20
thread 1 3 start=30
thread 1 4 start=40
thread 1 5 start=42
thread 1 6 start=50
thread 1 7 start=52
thread 2 8 start=60
thread 3 9 start=61
0 1 enter main
5 1 marker {CREATE} 1 0x99 7
6 1 enter start
7 1 marker {CREATE} 2 0x99
8 1 marker {CREATE} 0xa
9 1 marker "tracetape:thread_create_failed" 2 11
10 1 marker {CREATE} 4 0x99
11 1 marker {CREATE} 4 0x99
70 1 exit
71 1 enter later
72 1 marker "tracetape:process_create" 2 0x99
73 1 exit
80 1 exit
20 2 marker {STARTED} 2 1 7
21 2 enter run
22 2 marker {CREATE} 0xa
50 2 exit
30 3 marker {STARTED} 1 1
31 3 enter run
32 3 exit
40 4 marker {STARTED} 3 2
41 4 enter run
44 4 exit
42 5 marker {STARTED} 4 1
43 5 enter run
44 5 exit
50 6 marker {STARTED} 0xa
51 6 enter run
52 6 exit
52 7 marker {STARTED} 0 77
53 7 enter run
54 7 exit
60 8 enter child
61 8 exit
61 9 enter child
62 9 exit
"""


def check_facts():
    """What the recorder wrote of starts (spec/facts.md) is believed before all else."""
    graph = Graph(make("facts", FACTS))
    names = {n["node"]: n["name"] for n in graph.json["nodes"]}
    tids = [t["tid"] for t in graph.json["threads"]]
    found = {tid: (t["known_by"], None if t["started_by"] is None else tids[t["started_by"]],
                   names.get(t["started_in"])) for tid, t in graph.threads.items()}
    check(found[2], ("recorded", 1, "start"))      # F-FCT-02, with more values: F-FCT-01
    check(found[3], ("recorded", 1, "main"))
    check(found[4], ("recorded", 2, "**START**"))  # F-FCT-03: its creation is not there
    check(found[5], ("recorded", 1, "**START**"))  # F-FCT-02: two creations have its number
    check(found[6][:2], ("marker", 2))             # F-FCT-05: the nearest
    check(found[7][0], "inferred")                 # nobody had that number, and that id
    check(found[8], ("recorded", 1, "later"))      # F-FCT-04
    check(found[9][:2], ("inferred", 1))
    check({tid: graph.threads[tid]["level"] for tid in tids},
          {1: 0, 2: 1, 3: 1, 4: 2, 5: 1, 6: 2, 7: 1, 8: 1, 9: 1})


def check_facts_without_times():
    """Numbers say which of the threads that a clock cannot tell apart came first."""
    text = f"""process 1 "p"
thread 1 9 start=0
thread 1 8 start=0
thread 1 1 start=0
0 9 marker {STARTED} 2 8
0 9 enter run
0 9 exit
0 8 marker {STARTED} 1 1
0 8 enter run
0 8 marker {CREATE} 2 0x99
0 8 exit
0 1 enter main
0 1 marker {CREATE} 1 0x99
0 1 exit
"""
    graph = Graph(make("timeless", text))
    check({tid: (t["known_by"], t["level"]) for tid, t in graph.threads.items()},
          {1: ("start", 0), 8: ("recorded", 1), 9: ("recorded", 2)})


GUESSED = """process 1 "p"
thread 1 1 start=0
thread 1 2 start=5
thread 1 3 start=50
0 1 enter main
1 1 enter wait
90 1 exit
99 1 exit
5 2 enter worker
40 2 enter std::thread::_M_start_thread
60 2 exit
70 2 exit
50 3 enter task
51 3 exit
"""


def check_guess():
    """The thread that was creating one did it; otherwise the main thread is taken."""
    graph = Graph(make("guessed", GUESSED))
    creator = ("std::thread::_M_start_thread", 0)
    assert graph.edges[(creator, ("task", 2))]["inferred"]
    assert graph.edges[(("wait", 0), ("worker", 1))]["inferred"]
    assert "starts 1?" in run("graph", WORK / "guessed.ttape", "--all", "--no-pager")


STACKS = """0 1 enter main
10 1 enter resume
20 1 switch 1
21 1 enter body
25 1 enter main
29 1 exit
30 1 switch 0
40 1 exit
50 1 signal 10
52 1 enter handler
55 1 enter main
56 1 exit
57 1 exit
58 1 signal-end 10
60 1 exit
"""


def check_stacks():
    """A coroutine's first routine is a thread's; a handler is nobody's callee."""
    graph = Graph(make("stacks", STACKS))
    check(edges_of(graph), {
        (START, ("main", 0)): 1, (("main", 0), ("resume", 0)): 1,
        (("resume", 0), ("body", 1)): 1, (("body", 1), ("main", 0)): 1,
        (START, ("signal 10", 0)): 1, (("signal 10", 0), ("handler", 0)): 1,
        (("handler", 0), ("main", 0)): 1})
    check(graph.nodes[("main", 0)]["total_ns"], 50 + 4)  # its stack's clock stands meanwhile
    check(graph.edges[(("handler", 0), ("main", 0))]["total_ns"], 1)
    check(graph.json["summary"]["signal_calls"], 1)


def check_cycle():
    """Two functions that call each other, and one that calls itself: one cycle of several."""
    graph = Graph(make("cycle", "0 1 enter a\n1 1 enter b\n2 1 enter a\n3 1 enter a\n9 1 exit\n"
                       "9 1 exit\n10 1 exit\n11 1 exit\n"))
    summary = graph.json["summary"]
    check([summary[k] for k in ("cycles", "largest_cycle", "cycles_by_threads", "recursion_depth",
                                "recursive_calls")], [1, 2, 0, 3, 2])
    check((graph.nodes[("a", 0)]["total_ns"], graph.nodes[("a", 0)]["self_ns"]), (11, 10 - 1))


def check_order_only():
    path = make("order", NESTED, "--resolution", "none")
    graph = Graph(path)
    assert not graph.json["has_times"] and graph.json["span_ns"] == 0
    check(graph.nodes[("foo", 0)]["calls"], 2)
    kept = Graph(path, "--min-share", "20%")
    check(set(kept.nodes), {START, ("foo", 0), ("run", 1)})
    run("graph", path, "--no-pager")


NAMES = [b"\x1b[31mred\x1b[0m", b"\xc2\x9b31m", b"bidi\xe2\x80\xae", b"nul\x00byte", b'"]; x [',
         b"</svg><script>", b"&lt;&amp;", b"back\\slash\\n", b"line\nfeed\r", b"\xff\xfe\x80bad",
         b"\\", b'"', b"<b>html</b>", b"%s%n", b"->", b"x" * 100000,
         "gr\u00fc\u00df \u51fd\u6570".encode(), b"\\N\\G\\l", b"label=\"\"]", b"*"]


def check_hostile():
    quote = lambda b: b'"' + b"".join(b"\\x%02x" % c if c in b'"\\' or c < 32 else bytes([c])
                                      for c in b) + b'"'
    lines = [b"%d 1 enter %s" % (i, quote(name)) for i, name in enumerate(NAMES)]
    path = make("hostile", b"\n".join(lines) + b"\n")
    for arguments in (["--all"], ["--list", "--all"], ["--summary"], ["--format", "dot", "--all"],
                      ["--context", "*"]):
        out = run("graph", path, "--no-pager", *arguments, text=False)
        out.decode("utf-8", "strict")
        assert not any(c < 32 and c != 10 or c == 127 for c in out), arguments
        assert b"\xc2\x9b" not in out and b"\xe2\x80\xae" not in out
    graph = Graph(path)
    assert ("nul\0byte", 0) in graph.nodes and ('"]; x [', 0) in graph.nodes
    arrow = Graph(path, "--context", "%s%n->->")  # a name with an arrow
    assert any("contexts" in e for e in arrow.json["edges"])
    if shutil.which("dot") is None:
        print("SKIPPED: the pictures (no Graphviz)")
        return
    svg = ElementTree.fromstring(run("graph", path, "--format", "svg", "--all", "--context", "*",
                                     text=False))
    texts = ["".join(e.itertext()) for e in svg.iter("{http://www.w3.org/2000/svg}text")]
    for name in (r"\x1b[31mred\x1b[0m", '"]; x [', "</svg><script>", "&lt;&amp;", "\\", '"',
                 "back\\slash\\n", "<b>html</b>", "gr\u00fc\u00df \u51fd\u6570", "\\N\\G\\l"):
        assert name in texts, (name, texts)
    assert not list(svg.iter("{http://www.w3.org/2000/svg}script"))
    nodes = [e for e in svg.iter() if e.get("class", "").split()[:1] == ["node"]]
    check(len(nodes), len(NAMES) + 1)
    check([e.tag.split("}")[1] for e in svg][0], "style")
    assert svg[0].text.count("prefers-color-scheme:dark") == 1 and "hostile.ttape" in texts
    classes = {e.get("class").split()[1] for e in nodes}
    assert len(classes) > 5 and classes <= {f"c{i}" for i in range(36)} | {"m"}, classes


def check_shades():
    """Dark from 20 % of the run on, light from 5 % on."""
    text = "0 1 enter main\n"
    now = 0
    for name, length in (("dark", 700), ("light", 100), ("plain", 30)):
        text += f"{now + 10} 1 enter {name}\n{now + 10 + length} 1 exit\n"
        now += 10 + length
    path = make("shades", text + f"{now + 10} 1 exit\n")
    dot = run("graph", path, "--format", "dot", "--all")
    shade = {l.split('label="')[1].split("\\n")[0]: "#696969" in l and "dark" or
             "#d3d3d3" in l and "light" or "plain" for l in dot.splitlines() if "(1, " in l
             and "->" not in l}
    check(shade, {"main": "plain", "dark": "dark", "light": "light", "plain": "plain"})


def fails(status, *arguments):
    done = subprocess.run([os.environ["TTAPE_BIN"], "graph", *map(str, arguments)], text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    return done.stderr


def check_refusals():
    path = WORK / "nested.ttape"
    fails(2)
    fails(2, path, "--format", "dot", "--json")
    fails(2, path, "--format", "png")
    fails(2, path, "--min-share", "120%")
    fails(2, path, "--min-share", "x")
    fails(2, path, "--weight", "name")
    assert "no node or edge" in fails(4, path, "--context", "nothing")
    fails(4, path, "--thread", "77")
    fails(4, WORK / "absent.ttape")
    whole = path.read_bytes()
    (WORK / "short.ttape").write_bytes(whole[:-30])
    assert "truncated" in fails(3, WORK / "short.ttape", "--json")
    environment = dict(os.environ, PATH=str(WORK))
    done = subprocess.run([os.environ["TTAPE_BIN"], "graph", str(path), "--format", "svg"],
                          text=True,
                          capture_output=True, env=environment, check=False)
    assert done.returncode == 4 and "not installed" in done.stderr, done
    (WORK / "dot").write_text("#!/bin/sh\nexit 7\n", encoding="utf-8")
    (WORK / "dot").chmod(0o755)
    done = subprocess.run([os.environ["TTAPE_BIN"], "graph", str(path), "--format", "svg"],
                          text=True,
                          capture_output=True, env=environment, check=False)
    assert done.returncode == 4, "dot failed, and nobody said so"
    empty = make("empty", "")
    check(len(Graph(empty).nodes), 1)
    piped = subprocess.run([os.environ["TTAPE_BIN"], "graph", "-", "--json"], input=whole,
                           capture_output=True, check=True).stdout
    one, two = json.loads(piped), json.loads(run("graph", "--json", path))
    assert one.pop("file") != two.pop("file") and one == two


def check_damage():
    """A partition that cannot be read is left out; what was open behind it is taken up again."""
    lines = ["0 1 enter main"]
    for i in range(400):
        lines += [f"{10 * i + 1} 1 enter f{i // 100}", f"{10 * i + 5} 1 exit"]
    path = make("damaged", "\n".join(lines + ["5000 1 exit"]), "--partition-events", "200")
    info = json.loads(run("dump", path, "--format", "ndjson", "--limit", "1"))
    assert info["symbol"] == "main"
    whole = bytearray(path.read_bytes())
    for at in range(len(whole) // 2, len(whole) // 2 + 40):
        whole[at] ^= 0x5A
    path.write_bytes(whole)
    fails(3, path, "--json")
    out = subprocess.run([os.environ["TTAPE_BIN"], "graph", "--json", str(path)],
                         capture_output=True, check=False).stdout
    graph = json.loads(out)
    names = {n["name"] for n in graph["nodes"]}
    assert {"main", "f0", "f3"} <= names
    assert sum(n["self_ns"] for n in graph["nodes"]) == graph["span_ns"] < 5000
    edges = [e for e in graph["edges"] if e["from"] == 0]
    assert len(edges) == 1, "behind the damage, main is open still"


def main():
    try:
        checks = [check_levels, check_shared, check_fork, check_facts,
                  check_facts_without_times, check_guess, check_stacks, check_cycle,
                  check_order_only, check_hostile, check_shades, check_refusals, check_damage]
        for one in checks:
            one()
    finally:
        shutil.rmtree(WORK)
    print(f"ok: {len(checks)} kinds of graphs")
    return 0


sys.exit(main())
