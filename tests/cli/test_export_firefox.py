#!/usr/bin/env python3
"""Firefox Profiler's profiles: their tables hold together, samples follow each other without a
hole, and weights are those of folded stacks and of report, to the nanosecond."""
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

TOOL = os.environ["TTAPE_BIN"]
VECTORS = Path(os.environ["TTAPE_SRC"]) / "spec/vectors"
EVENTS = """process 7 prog
thread 7 7 first
thread 7 70 worker
module 0x1000 0x2000 /bin/x build-id=00112233445566778899aabbccddeeff01234567
symbol 0x1010 main main.c:12
symbol 0x1020 a"b<\\x01> x.c:3
10 7 enter main
10 70 enter main
20 70 enter 0x1020
31 70 exit
35 70 enter 0x1800
47 70 signal 11
50 70 enter main
53 70 exit
54 70 signal-end 11
60 70 gap 5 overflow
70 70 enter 0x1020
70 70 enter 0x1800
70 70 exit
75 70 switch 3
80 70 enter 0x1800
85 70 switch 0
90 70 unwind 3
95 7 exit
"""


def run(*words, data=None, good=(0,)):
    done = subprocess.run([TOOL, *map(str, words)], check=False, capture_output=True, input=data)
    assert done.returncode in good, (words, done.returncode, done.stderr[:300])
    return done.stdout


def columns(table, length):
    for name, column in table.items():
        if isinstance(column, list):
            assert len(column) == length, (name, len(column), length)
    return table


def table(thread, name):
    return columns(thread[name], thread[name]["length"])


def nanoseconds(number):
    return round(number * 1e6)


def stacks_of(thread):
    """Names of each stack, outermost first."""
    texts, stacks = thread["stringArray"], table(thread, "stackTable")
    frames, functions = table(thread, "frameTable"), table(thread, "funcTable")
    resources, found = table(thread, "resourceTable"), []
    for index, frame in enumerate(stacks["frame"]):
        prefix, function = stacks["prefix"][index], frames["func"][frame]
        assert prefix is None or 0 <= prefix < index
        assert functions["resource"][function] < resources["length"]
        file = functions["fileName"][function]
        assert file is None or isinstance(texts[file], str)
        found.append((found[prefix] if prefix is not None else ()) +
                     (texts[functions["name"][function]],))
    for library, name in zip(resources["lib"], resources["name"]):
        assert thread["libs"][library]["name"] == texts[name]
    return found


def read(data):
    """({stack: ns}, [thread])"""
    profile, weights = json.loads(data), Counter()
    assert profile["meta"]["preprocessedProfileVersion"] == 40
    for thread in profile["threads"]:
        stacks, samples = stacks_of(thread), table(thread, "samples")
        assert samples["weightType"] == "tracing-ms" and table(thread, "markers")["length"] == 0
        times = [nanoseconds(time) for time in samples["time"]]
        lengths = [nanoseconds(weight) for weight in samples["weight"]]
        assert [t + w for t, w in zip(times, lengths)][:-1] == times[1:], thread["name"]
        assert samples["stack"][-1] is None and lengths[-1] == 0
        for stack, weight in zip(samples["stack"], lengths):
            if stack is not None:
                weights[stacks[stack]] += weight
    return weights, profile["threads"]


def folded(trace, *options):
    found = Counter()
    for line in run("export", "--format", "folded", *options, trace).decode().splitlines():
        stack, weight = line.rsplit(" ", 1)
        found[stack] += int(weight)
    return found


def plain(weights):
    """As folded stacks have names: semicolons part them."""
    found = Counter()
    for stack, weight in weights.items():
        found[";".join(name.replace(";", ":") for name in stack)] += weight
    return found


def same_as_report(trace, weights):
    own = Counter()
    for stack, weight in weights.items():
        own[stack[-1]] += weight
    rows = json.loads(run("report", "--json", trace))["rows"]
    said = Counter()
    for row in rows:
        said[row["name"] if row.get("name") else row["symbol"]] += row["self_ns"]
    assert +own == +said, ((own - said).most_common(3), (said - own).most_common(3))


def look_closely(threads):
    first, worker = threads
    assert first["name"] == "first" and first["pid"] == 7 and first["tid"] == "7"
    assert worker["processName"] == "prog" and worker["tid"] == "70"
    library, = worker["libs"]
    assert library["breakpadId"] == "33221100554477668899AABBCCDDEEFF0"
    assert library["codeId"] == "00112233445566778899aabbccddeeff01234567"
    texts, functions, frames = worker["stringArray"], worker["funcTable"], worker["frameTable"]
    place = next(i for i, name in enumerate(functions["name"]) if texts[name] == "main")
    assert texts[functions["fileName"][place]] == "main.c" and functions["lineNumber"][place] == 12
    assert frames["address"][frames["func"].index(place)] == 0x10
    assert 'a"b<\\x01>' in texts, texts


def main():
    with tempfile.TemporaryDirectory(prefix="ttape-firefox.") as folder:
        trace = Path(folder) / "in.ttape"
        run("convert", "-", "-o", trace, data=EVENTS.encode())
        weights, threads = read(run("export", "--format", "firefox", trace))
        assert plain(weights) == folded(trace), (weights, folded(trace))
        assert sum(weights.values()) == 85 + 75, weights  # nothing ran on stack 3 for 5
        look_closely(threads)
        for options in (["--time", "25..72"], ["--min-time", "9"], ["--thread", "70"]):
            cut, _ = read(run("export", "--format", "firefox", *options, trace))
            assert plain(cut) == folded(trace, *options), (options, cut)
        order = Path(folder) / "order.ttape"
        run("convert", "-", "-o", order, "--resolution", "none", data=EVENTS.encode())
        counted = json.loads(run("export", "--format", "firefox", order))["threads"][1]["samples"]
        assert counted["weightType"] == "samples" and max(counted["weight"]) >= 1
        count = 0
        for vector in sorted(VECTORS.glob("*.ttape"))[::6]:
            done = subprocess.run([TOOL, "export", "--format", "firefox", str(vector)], check=False,
                                  capture_output=True)
            if done.returncode == 0 and b'"tracing-ms"' in done.stdout:
                assert plain(read(done.stdout)[0]) == folded(vector), vector
                count += 1
        assert count > 12, count
        big = Path(folder) / "big.ttape"
        lines = [f"{i * 7 + 3} 1 {'enter f%d' % (i % 5) if i % 2 == 0 else 'exit'}"
                 for i in range(40_000)]
        run("convert", "-", "-o", big, data="\n".join(lines).encode())
        weights, _ = read(run("export", "--format", "firefox", big))
        assert plain(weights) == folded(big)
        same_as_report(big, weights)
    print(f"ok: {count} vectors")


if __name__ == "__main__":
    main()
