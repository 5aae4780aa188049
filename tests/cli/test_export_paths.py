#!/usr/bin/env python3
"""Paths of system calls in exports: stacks of Chrome, frames around calls in speedscope and folded
stacks, callers without calls in callgrind, an annotation for Perfetto, a table for SQL."""
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

import export_readers as readers

TOOL = os.environ["TTAPE_BIN"]
# A path with a frame that has no name; one that is cut; recursion, and a call in its handler.
TEXT = """module 0x1000 0x2000 /opt/app/run
module 0x8000 0x9000 /usr/lib/sys.so
symbol 0x1010 A
symbol 0x1020 B
0 1 syscall-enter S path=A;B;0x8044
4us 1 syscall-exit S
6us 1 syscall-enter T path=-;A
9us 1 syscall-exit T
10us 1 syscall-enter S path=A;A
11us 1 signal 14
12us 1 syscall-enter T path=A;A;0x8048
14us 1 syscall-exit T
15us 1 signal-end 14
16us 1 syscall-exit S
18us 1 syscall U
20us 1 syscall-enter U
21us 1 syscall-exit U
"""


def run(*words):
    found = subprocess.run([TOOL, *map(str, words)], capture_output=True, timeout=60, check=False)
    assert found.returncode == 0, (words, found.returncode, found.stderr)
    return found.stdout


def export(name, *words):
    return run("export", "--format", name, "paths.ttape", *words)


def has(name):
    found = subprocess.run([TOOL, "export", "--format", name, "/nonexistent"], capture_output=True)
    return b"not in this build" not in found.stderr


def test_chrome():
    whole = json.loads(export("chrome"))
    frames = whole["stackFrames"]

    def stack(number):
        frame = frames[str(number)]
        return [*(stack(frame["parent"]) if "parent" in frame else []), frame["name"]]

    found = [(event["name"], stack(event["sf"]) if "sf" in event else None)
             for event in whole["traceEvents"] if event["ph"] == "B"]
    assert found == [("S", ["A", "B", "sys.so+0x44"]), ("T", ["...", "A"]), ("S", ["A", "A"]),
                     ("signal 14", None), ("T", ["A", "A", "sys.so+0x48"]), ("U", None)], found
    readers.read_chrome(json.dumps(whole).encode())


def test_speedscope():
    whole = json.loads(export("speedscope"))
    names = [frame["name"] for frame in whole["shared"]["frames"]]
    assert len(set(names)) == len(names) - 2, names  # of S and T, each with two paths
    stack, lines = [], []
    for event in whole["profiles"][0]["events"]:
        if event["type"] == "O":
            stack.append(names[event["frame"]])
            lines.append((event["at"] // 1000, " ".join(stack)))
        else:
            assert stack.pop() == names[event["frame"]]
    assert not stack
    last = dict(lines)  # by time, what was opened last
    assert last == {0: "A B sys.so+0x44 S", 6: "... A T", 10: "A A S", 11: "A A S signal 14",
                    12: "A A S signal 14 T", 20: "U"}, last


def test_folded():
    lines = dict(line.rsplit(" ", 1) for line in export("folded").decode().splitlines())
    assert lines == {"A;B;sys.so+0x44;S": "4000", "...;A;T": "3000", "A;A;S": "2000",
                     "A;A;S;signal 14": "2000", "A;A;sys.so+0x48;T": "2000", "U": "1000"}, lines


def test_callgrind():
    text = export("callgrind").decode()
    names = dict(re.findall(r"^c?fn=\((\d+)\) (.+)$", text, re.M))
    edges, caller = {}, None
    for line in text.splitlines():
        number = re.match(r"c?fn=\((\d+)\)", line)
        if number and line.startswith("fn"):
            caller = names[number[1]]
        elif number:
            callee = names[number[1]]
        elif line.startswith("calls="):
            count = int(line[6:].split()[0])
        elif callee_line := re.fullmatch(r"\d+ (\d+)", line):
            if caller is not None and count is not None:
                key = (caller, callee)
                before = edges.get(key, (0, 0))
                edges[key] = (before[0] + count, before[1] + int(callee_line[1]))
        if not line.startswith("calls="):
            count = None
    assert edges == {("(root)", "A"): (0, 10000), ("A", "B"): (0, 4000),
                     ("B", "sys.so+0x44"): (0, 4000), ("sys.so+0x44", "S"): (1, 4000),
                     ("(root)", "..."): (0, 3000), ("...", "A"): (0, 3000), ("A", "T"): (1, 3000),
                     ("A", "A'2"): (0, 6000), ("A'2", "S"): (1, 6000),
                     ("S", "signal 14"): (1, 4000), ("signal 14", "T"): (1, 2000),
                     ("(root)", "U"): (1, 1000)}, edges


def test_sqlite():
    export("sqlite", "-o", "paths.db", "--force")
    base = readers.open_sqlite(Path("paths.db"))
    rows = base.execute("""
        WITH RECURSIVE stack(call, path, names) AS (
          SELECT call, path, '' FROM calls JOIN sites USING(site) WHERE path NOT NULL
          UNION ALL
          SELECT call, parent, coalesce(symbol, '?') || ';' || names
          FROM stack JOIN paths USING(path) LEFT JOIN sites USING(site))
        SELECT call, names FROM stack WHERE path IS NULL ORDER BY call""").fetchall()
    base.close()
    assert [names for _, names in rows] == ["A;B;;", "?;A;", "A;A;", "A;A;;"], rows


def test_perfetto():
    data = export("perfetto")
    for text in (b"stack", b"A > B > sys.so+0x44", b"... > A", b"A > A"):
        assert text in data, text


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("paths.txt").write_text(TEXT)
        run("convert", "--strict", "paths.txt", "-o", "paths.ttape")
        for name, test in (("chrome", test_chrome), ("speedscope", test_speedscope),
                           ("folded", test_folded), ("callgrind", test_callgrind),
                           ("sqlite", test_sqlite), ("perfetto", test_perfetto)):
            if has(name):
                test()


main()
