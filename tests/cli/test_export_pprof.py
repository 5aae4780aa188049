#!/usr/bin/env python3
"""pprof's profiles, read by the published field numbers alone: samples are those of folded stacks,
and each id and text that something refers to is there."""
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

TOOL = os.environ["TTAPE_BIN"]
EVENTS = """process 7 prog
thread 7 70 worker
module 0x1000 0x2000 /bin/x build-id=aabbcc
symbol 0x1010 main main.c:12
symbol 0x1020 a;b"c x.c:3
10 70 enter main
20 70 enter 0x1020
31 70 exit
35 70 enter 0x1800
47 70 signal 11
50 70 enter main
53 70 exit
54 70 signal-end 11
60 70 exit
"""


def run(*words, data=None, good=0):
    done = subprocess.run([TOOL, *map(str, words)], check=False, capture_output=True, input=data)
    assert done.returncode == good, (words, done.returncode, done.stderr[:300])
    return done


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """[(number, value)]: numbers, or bytes."""
    at, found = 0, []
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        assert key & 7 in (0, 2), key
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
            assert len(value) or key >> 3 in (5, 6), "cut"
        found.append((key >> 3, value))
    return found


def numbers(data):
    at, found = 0, []
    while at < len(data):
        value, at = varint(data, at)
        found.append(value)
    return found


def read(data):
    """(types, {stack: value}, {name: file}, {file of a mapping: build id})"""
    texts, elements = [], {2: [], 3: [], 4: [], 5: []}
    types, lengths = [], []
    for number, value in fields(data):
        if number == 6:
            texts.append(value.decode())
        elif number == 1:
            types.append(dict(fields(value)))
        elif number == 10:
            lengths.append(value)
        else:
            elements[number].append(fields(value))
    assert texts[0] == ""
    functions = {dict(f)[1]: (texts[dict(f)[2]], texts[dict(f).get(4, 0)]) for f in elements[5]}
    modules = {dict(m)[1]: (texts[dict(m)[5]], texts[dict(m)[6]]) for m in elements[3]}
    places = {}
    for location in map(dict, elements[4]):
        places[location[1]] = functions[dict(fields(location[4]))[1]][0]
        assert location.get(2, 0) in {0, *modules}
    stacks = Counter()
    for sample in elements[2]:
        ids = [i for number, value in sample if number == 1 for i in numbers(value)]
        value, = [i for number, value in sample if number == 2 for i in numbers(value)]
        stacks[";".join(places[i] for i in reversed(ids))] += value
    return ([(texts[t[1]], texts[t[2]]) for t in types], stacks, dict(functions.values()),
            dict(modules.values()), lengths)


def main():
    with tempfile.TemporaryDirectory(prefix="ttape-pprof.") as folder:
        trace, out = Path(folder) / "in.ttape", Path(folder) / "out"
        run("convert", "-", "-o", trace, data=EVENTS.encode())
        done = subprocess.run([TOOL, "export", "--format", "pprof", trace, "-o", out], check=False,
                              capture_output=True)
        if b"not in this build" in done.stderr:
            print("SKIPPED: the command was built without protobuf-c")
            return 77
        assert done.returncode == 0, done
        types, stacks, files, modules, lengths = read(out.read_bytes())
        folded = Counter()
        for line in run("export", "--format", "folded", trace).stdout.decode().splitlines():
            stack, weight = line.rsplit(" ", 1)
            folded[stack] += int(weight)
        mine = Counter()
        for stack, value in stacks.items():
            mine[stack.replace('a;b"c', 'a:b"c')] += value
        assert mine == folded and sum(folded.values()) == 50, (mine, folded)
        assert types == [("time", "nanoseconds")] and lengths == [50]
        assert files["main"] == "main.c" and "/bin/x" in modules, (files, modules)
        assert any("signal 11" in stack for stack in stacks)
        if shutil.which("go"):
            settings = Path(folder) / "settings"  # newer ones leave a process that counts
            (settings / "go/telemetry").mkdir(parents=True)
            (settings / "go/telemetry/mode").write_text("off")
            top = subprocess.run(["go", "tool", "pprof", "-top", out], check=False,
                                 capture_output=True, text=True,
                                 env={**os.environ, "HOME": folder,
                                      "XDG_CONFIG_HOME": str(settings)}).stdout
            assert "main" in top and "50ns" in top, top
        order = Path(folder) / "order.ttape"
        run("convert", "-", "-o", order, "--resolution", "none", data=EVENTS.encode())
        run("export", "--format", "pprof", order, "-o", out, "--force")
        assert read(out.read_bytes())[0] == [("events", "count")]
    print("ok")
    return 0


sys.exit(main())
