#!/usr/bin/env python3
"""What dump leaves out: calls by name, depth and length, all but the last events; compared with
what its output of everything says, for traces of chance with threads, stacks and missing ends."""
import csv
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile

COMMAND = os.environ["TTAPE_BIN"]
NAMES = ["main", "work", "read_it", "write_it"]
ROUNDS = 40 if os.environ.get("TTAPE_THOROUGH") == "1" else 6


def run(*arguments, status=0):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    return done.stdout


def make(dice, path):
    """Threads that call at random; times are never equal."""
    lines, time, stacks = [], 5_000_000_000, {thread: [] for thread in range(1, 4)}
    for _ in range(dice.randrange(20, 400)):
        thread = dice.choice(list(stacks))
        time += dice.randrange(1, 2000)
        stack = stacks[thread]
        if stack and dice.random() < 0.5:
            lines.append(f"{time} {thread} exit")
            stack.pop()
        elif dice.random() < 0.05:
            lines.append(f"{time} {thread} leaf mark")
        else:
            lines.append(f"{time} {thread} enter {dice.choice(NAMES)}")
            stack.append(1)
    text = path.replace(".ttape", ".txt")
    with open(text, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    run("convert", text, "-o", path, "--force", "--partition-events", 37)
    return int(lines[0].split()[0])


def events(path, *options):
    return [json.loads(line) for line in run("dump", path, "--format", "ndjson", *options)
            .splitlines()]


def key(event):
    return event["stream"], event["event"]


def long_ones(everything, least):
    """Events that begin and end calls of at least this length; open calls last until their thread's
    last event."""
    keep, stacks, last = set(), {}, {}
    for event in everything:
        last[event["stream"]] = event["time_ns"]
        stack = stacks.setdefault(event["stream"], [])
        if event["kind"] == "enter":
            stack.append(event)
        elif event["kind"] == "exit":
            begin = stack.pop()
            if event["time_ns"] - begin["time_ns"] >= least:
                keep |= {key(begin), key(event)}
    for stream, stack in stacks.items():
        keep |= {key(begin) for begin in stack if last[stream] - begin["time_ns"] >= least}
    return keep


def check(path, start):
    everything = events(path)
    for pattern in ("^read_it$", "it$", "mark"):
        assert events(path, "-F", pattern) == [event for event in everything
                                               if re.search(pattern, event.get("symbol", ""))]
    for depth in (0, 1, 3):
        assert events(path, "--depth", depth) == [event for event in everything
                                                  if event["depth"] < depth]
    for least in (1, 3000, 10**9):
        keep = long_ones(everything, least)
        assert events(path, "--min-time", f"{least}ns") == [event for event in everything
                                                            if key(event) in keep]
    for last in (1, 7, len(everything), len(everything) + 5):
        assert events(path, "--last", last) == everything[-last:]
        tail = [event for event in everything if event["symbol"] == "work"][-last:]
        assert events(path, "--last", last, "--function", "^work$") == tail
        middle = start + 100_000
        assert events(path, "--last", last, "--time", f"..{middle}") == \
            [event for event in everything if event["time_ns"] < middle][-last:]
        one = [event for event in everything if event["stream"] == 0]
        assert events(path, "--last", last, "--stream", 0) == one[-last:]
    assert events(path, "--last", 0) == []
    # CSV: the same events, thread by thread
    for options in (["--last", 9], ["--depth", 2], ["--min-time", "3us"], ["-F", "work"]):
        rows = list(csv.DictReader(io.StringIO(run("dump", path, "--format", "csv", *options))))
        wanted = sorted(events(path, *options), key=lambda event: event["tid"])
        assert [(int(row["tid"]), int(row["time_ns"])) for row in rows] == \
            [(event["tid"], event["time_ns"]) for event in wanted]
    # times: from the start in text, as recorded elsewhere; 50us.. is since the start in each
    shown = [line.split()[0] for line in run("dump", path, "--last", 1).splitlines()[1:]]
    assert shown == [f"{(everything[-1]['time_ns'] - start) / 1e9:.9f}"], shown
    text = run("dump", path, "--origin", "monotonic", "--last", 1).splitlines()[1]
    assert text.split()[0] == f"{everything[-1]['time_ns'] / 1e9:.9f}"
    for span in ("50us..90us", "+50us..+90us", f"{start + 50000}..{start + 90000}"):
        assert events(path, "--time", span) == \
            [event for event in everything
             if start + 50_000 <= event["time_ns"] < start + 90_000], span
    for verb in ("report", "graph"):
        assert run(verb, path, "--json", "--time", "50us..90us") == \
            run(verb, path, "--json", "--time", "+50us..+90us")


def on_terminal(*arguments, **environment):
    """What a terminal gets."""
    ours, theirs = os.openpty()
    done = subprocess.run([COMMAND, *map(str, arguments)], stdout=theirs, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, check=False,
                          env={**os.environ, "TERM": "xterm", "NO_COLOR": "", **environment})
    os.close(theirs)
    assert done.returncode == 0, done.stderr
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError: # the other end is closed
        pass
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def check_terminal(path):
    plain = run("dump", path, "--last", 3)
    paged = on_terminal("dump", path, "--last", 3, TRACETAPE_PAGER="sed s/^/P:/")
    assert re.sub(r"\x1b\[[0-9]*m", "", paged) == re.sub("(?m)^", "P:", plain.rstrip("\n")) + "\n"
    assert "\x1b[2m" in paged and "\x1b" not in plain
    assert on_terminal("dump", path, "--last", 3, "--no-pager", NO_COLOR="1",
                       TRACETAPE_PAGER="sed s/^/P:/") == plain


def check_side_by_side(path, untimed):
    """Each line as without columns, further to the right by the columns of threads before its
    own; the head says whose each column is."""
    for trace, head in ((path, 37), (untimed, 19)):
        plain, wide = (run("dump", trace, *more).splitlines() for more in ((), ("--side-by-side",)))
        assert len(plain) == len(wide) and wide[0][:head - 8] == plain[0][:head - 8], wide[0]
        threads = re.findall(r"  THREAD (\d+)", wide[0])
        starts = [match.start() for match in re.finditer(r"  THREAD", wide[0])]
        assert threads == ["1", "2", "3"] and starts == [head, head + 48, head + 96], wide[0]
        for one, line in zip(plain[1:], wide[1:]):
            before = 48 * threads.index(one[head - 19:head - 10].strip())
            deep = len(one[head:]) - len(one[head:].lstrip()) > 2 + 2 * 12
            assert line[:head] == one[:head], (one, line)
            assert deep or line[head:] == before * " " + one[head:], (one, line)
    named = os.path.join(os.path.dirname(path), "named")
    with open(named + ".txt", "w", encoding="utf-8") as file:
        file.write("".join(f'thread 1 {tid} "{"éß" * tid * 7}"\n{tid} {tid} leaf mark\n'
                           for tid in (1, 2, 4)))
    run("convert", named + ".txt", "-o", named)
    head = run("dump", named, "--side-by-side").splitlines()[0]  # characters, not bytes
    assert head[37:] == "".join(f"  THREAD {tid} {'éß' * tid * 7}"[:48].ljust(48)
                                for tid in (1, 2, 4)), head
    assert len(run("dump", path, "--side-by-side", "--thread", 2).splitlines()[0]) < 37 + 48
    run("dump", path, "--side-by-side", "--format", "csv", status=2)
    run("dump", path, "--side-by-side", "--follow", status=2)
    many = os.path.join(os.path.dirname(path), "many")
    with open(many + ".txt", "w", encoding="utf-8") as file:
        file.write("".join(f"{i} {i + 1} leaf mark\n" for i in range(17)))
    run("convert", many + ".txt", "-o", many)
    run("dump", many, "--side-by-side", status=2)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "calls.ttape")
        for seed in range(ROUNDS):
            start = make(random.Random(seed), path)
            check(path, start)
        check_terminal(path)
        run("dump", path, "--follow", "--last", 3, status=2)
        run("dump", path, "--function", "(", status=2)
        untimed = os.path.join(folder, "untimed.ttape")
        run("convert", path.replace(".ttape", ".txt"), "-o", untimed, "--resolution", "none")
        assert events(untimed, "--last", 4) == events(untimed)[-4:]
        run("dump", untimed, "--min-time", "1us", status=4)
        check_side_by_side(path, untimed)
    print(f"ok: {ROUNDS} traces")


if __name__ == "__main__":
    sys.exit(main())
