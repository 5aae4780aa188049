#!/usr/bin/env python3
"""`graph --format mermaid` has the nodes and edges of the graph's JSON, each name between quotes
without a sign that ends them, and what a program cannot draw is refused."""
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

COMMAND = os.environ["TTAPE_BIN"]
WORK = Path(tempfile.mkdtemp())
TRACE = r'''process 7 prog
thread 7 1 one
symbol 0x10 main
symbol 0x20 "say<\"a & b\">(#1)"
symbol 0x30 leaf
0 1 enter 0x10
100 1 enter 0x20
150 1 enter 0x30
170 1 exit
180 1 enter 0x20
190 1 exit
300 1 exit
400 1 exit
'''


def run(*arguments, status=0):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL, timeout=60)
    assert done.returncode == status, (arguments, done)
    return done.stdout if status == 0 else done.stderr


def main():
    text, trace = WORK / "t.txt", WORK / "t.ttape"
    text.write_text(TRACE)
    run("convert", text, "-o", trace)
    lines = run("graph", trace, "--all", "--format", "mermaid", "--names",
                "full").splitlines()
    graph = json.loads(run("graph", trace, "--all", "--json"))
    node = re.compile(r'  n(\d+)\["([^"]*)"\]')
    edge = re.compile(r'  n(\d+) -\.?->\|"[^"]*"\| n(\d+)')
    nodes = dict(match.groups() for match in map(node.fullmatch, lines) if match)
    edges = [match.groups() for match in map(edge.fullmatch, lines) if match]
    assert lines[0] == "flowchart TD" and len(lines) == 1 + len(nodes) + len(edges), lines
    assert len(nodes) == len(graph["nodes"]) and len(edges) == len(graph["edges"]), (lines, graph)
    assert all(end in nodes for pair in edges for end in pair), lines
    said = [label for label in nodes.values() if label.startswith("say")]
    assert said and said[0].startswith("say#60;#34;a #38; b#34;#62;(#35;1)<br/>2, "), nodes
    assert any("rc=1" in line for line in lines), lines
    assert "--reach has" in run("graph", trace, "--reach", "leaf", "--format", "mermaid", status=2)
    assert "only one of" in run("graph", trace, "--json", "--format", "mermaid", status=2)
    print("graph in mermaid: ok")


main()
