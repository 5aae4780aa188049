#!/usr/bin/env python3
"""A filter means the same in every verb: what dump leaves equals a plain walk over all events, for
traces of chance and rules of chance; what the other verbs say of a trace with a filter equals what
they say of a trace that never had the rest; and what is no filter is refused with its place."""
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from filter_model import Rule, Trigger, expect, named, read, rows_of

COMMAND = os.environ["TTAPE_BIN"]
WORK = Path(tempfile.mkdtemp())
NAMES = ("main", "work", "read_it", "write_it", "app::fill")
ROUNDS = 200 if os.environ.get("TTAPE_THOROUGH") == "1" else 10


def run(*arguments, status=0, errors=False):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    return done.stderr if errors else done.stdout


def dump(path, *options):
    return list(read(run("dump", path, "--format", "ndjson", *options).splitlines()))


def make(dice, path):
    """Threads that call at random, on two stacks, with values, handlers, jumps and losses."""
    lines, time = [], 5_000_000_000
    stacks, current = {t: [[], []] for t in (1, 2, 3)}, {1: 0, 2: 0, 3: 0}
    for _ in range(dice.randrange(20, 600)):
        thread, chance = dice.choice((1, 2, 3)), dice.random()
        stack = stacks[thread][current[thread]]
        time += dice.randrange(1, 2000)
        event = None
        if chance < 0.38 and stack:
            event = "signal-end 11" if stack.pop() == "!" else f"exit - {dice.randrange(-2, 3):+d}"
        elif chance < 0.42 and len(stack) > 2 and "!" not in stack[-2:]:
            event = "unwind 2"
            del stack[-2:]
        elif chance < 0.46 and len(stack) > 3 and "!" not in stack[-3:] and \
                stack[-3] not in stack[-2:]:
            event = f"exit {stack[-3]} {dice.randrange(3)}"
            del stack[-3:]
        elif chance < 0.48 and stack:
            event = "signal 11"
            stack.append("!")
        elif chance < 0.52:
            event = f"marker mark {dice.randrange(5)}"
        elif chance < 0.55:
            current[thread] = 1 - current[thread]
            event = f"switch {current[thread]}"
        elif chance < 0.56:
            event = f"gap {dice.randrange(1, 9)} overflow"
        elif len(stack) < 14:
            name = dice.choice(NAMES)
            event = f"enter {name} {dice.randrange(9)} \"/p/{dice.randrange(3)}\""
            stack.append(name)
        lines += [f"{time} {thread} {event}"] if event else []
    text = path.with_suffix(".txt")
    text.write_text("\n".join(lines) + "\n")
    run("convert", text, "-o", path, "--force", "--partition-events", dice.choice((37, 5000)))


def value(call, place):
    return call.arguments[place] if place < len(call.arguments) else None


def is_result(call, test):
    return bool(call.results) and test(call.results[0])


def calls_of(dice, is_late=True):
    """A function with conditions, as text and as what it means."""
    text, pattern = dice.choice((
        ("work", "^work$"), ("*_it", "^.*_it$"), ("/r/", "r"), ("[rw]*", "^[rw].*$"),
        ("'app::fill'", "^app::fill$"), ("app::*", "^app::"), ("mar?", "^mar.$"),
        ("main", "^main$")))
    base, conditions = named(pattern), []
    for _ in range(dice.choice((0, 0, 1, 2))):
        number = dice.randrange(8)
        conditions.append(dice.choice((
            (f"arg1={number}", lambda c, n=number: value(c, 0) == n),
            (f"arg1 != {number}", lambda c, n=number: value(c, 0) not in (n, None)),
            (f"arg1<{number}", lambda c, n=number: value(c, 0) is not None and value(c, 0) < n),
            (f"arg1 >= 0x{number:x}", lambda c, n=number: (value(c, 0) or -1) >= n or
             (n == 0 and value(c, 0) == 0)),
            ("arg1 & 3", lambda c: value(c, 0) is not None and value(c, 0) & 3 == 3),
            ('arg2="/p/[01]"', lambda c: value(c, 1) in ("/p/0", "/p/1")),
            ("arg2!=/2/", lambda c: value(c, 1) in ("/p/0", "/p/1")))))
    tail = dice.choice((("", lambda c: True),) * 4 + (
        (" = -1", lambda c: is_result(c, lambda r: r == -1)),
        (" > 0", lambda c: is_result(c, lambda r: r > 0)),
        (" != 2", lambda c: is_result(c, lambda r: r != 2)),
        (" > 5us", lambda c: c.end - c.start > 5000),
        ("<=1.5us", lambda c: c.end - c.start <= 1500)))
    tail = tail if is_late else ("", lambda c: True)
    if tail[0].startswith("<") and not conditions:
        tail = (" " + tail[0], tail[1])
    inside = ", ".join(each for each, _ in conditions)
    tests = [base] + [test for _, test in conditions] + [tail[1]]
    return (text + (f"({inside})" if conditions else "") + tail[0],
            lambda call: all(test(call) for test in tests))


WORDS = {"only": "", "without": "!", "below": "below ", "not_below": "! below ", "to": "to "}


def make_filter(dice):
    rules, parts, depth, min_ns = [], [], None, None
    for _ in range(dice.randrange(1, 4)):
        kind, lists = dice.choice(list(WORDS)), []
        for _ in range(dice.choice((1, 1, 2))):
            text, holds = calls_of(dice)
            rules.append(Rule(kind, text, holds))
            lists.append(text)
        parts.append(WORDS[kind] + ", ".join(lists))
    if dice.random() < 0.3:
        depth = dice.randrange(1, 4)
        parts.append(f"depth {depth}")
    if dice.random() < 0.3:
        min_ns = dice.choice((800, 2500, 20000))
        parts.append(f"time {min_ns / 1000}us")
    if dice.random() < 0.4:
        text, holds = calls_of(dice, is_late=False)
        word, kind, number = dice.choice((("depth", "depth_below", dice.randrange(1, 4)),
                                          ("time", "time_below", dice.choice((0, 800, 9000)))))
        rules.append(Rule(kind, text, holds, number))
        parts.append(f"{word} {number}{'ns' * (word == 'time')} below {text}")
    return dice.choice((";", " ; ", "\n")).join(parts), rules, depth, min_ns


def make_triggers(dice):
    texts, triggers = [], []
    for _ in range(dice.choice((0, 0, 1, 2, 3))):
        kind, action = dice.randrange(6), dice.choice(("on", "off", "off", "on", "off", "finish",
                                                       "depth", "depth", "time"))
        value = {"depth": dice.randrange(1, 4), "time": dice.choice((0, 800, 9000))}.get(action)
        word = action + (f" {value}" if value is not None else "") + "ns" * (action == "time")
        if kind == 0:
            triggers.append(Trigger("signal", action, number=11, value=value))
            text = "signal SEGV"
        elif kind == 1:
            number = dice.choice((0, 20_000, 90_000))
            triggers.append(Trigger("after", action, number=number, value=value))
            text = f"after {number}ns"
        else:
            is_end, times = kind < 4, dice.choice((1, 1, 2, 5))
            text, holds = calls_of(dice, is_late=is_end)
            triggers.append(Trigger("end" if is_end else "begin", action, holds, times=times,
                                    value=value))
            text = ("end " * is_end) + text + (f" times {times}" if times > 1 else "")
        texts += ["--on", f"{text} do {word}"]
    return texts, triggers


def exact_results(rules):
    """A leaf has no result, and no time: rules about these do not choose it. The model's calls of
    leaves have no results; their time is 0, of which rules of time would be true."""
    for rule in rules:
        if "us" in rule.text:
            holds = rule.holds
            rule.holds = lambda call, holds=holds: call.serial >= 0 and holds(call)
    return rules


def check_random(seed):
    dice = random.Random(seed)
    path = WORK / f"{seed}.ttape"
    make(dice, path)
    everything = dump(path)
    for _ in range(12):
        text, rules, depth, min_ns = make_filter(dice)
        texts, triggers = make_triggers(dice)
        done = subprocess.run([COMMAND, "dump", path, "--format", "ndjson", "--filter", text,
                               *texts], capture_output=True, text=True, check=False)
        if done.returncode == 4 and "nothing that was called matches" in done.stderr:
            continue # the trace happens to have no such function
        assert done.returncode == 0, (seed, text, done.stderr)
        got = rows_of(read(done.stdout.splitlines()))
        wanted = expect(everything, exact_results(rules), depth, min_ns, triggers)
        if got != wanted:
            print(f"seed {seed}, filter {text!r}, {texts}")
            for stream in sorted(set(got) | set(wanted)):
                one, other = got.get(stream, []), wanted.get(stream, [])
                for at in range(max(len(one), len(other))):
                    if one[at:at + 1] != other[at:at + 1]:
                        print(f"{stream}, {at}: {one[at:at + 1]}, not {other[at:at + 1]}")
                        break
            sys.exit(1)


def main():
    for seed in range(ROUNDS):
        check_random(seed)
    print(f"filters: ok, {ROUNDS} traces")


main()
