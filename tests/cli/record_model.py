"""What a recording has to hold, worked out from another recording of the same deterministic
program.

record_model.py same REF GOT                    each thread's calls are the same
record_model.py filter REF GOT OPTION...        REF's calls, filtered as the options say, are GOT's
record_model.py culled REF GOT NS COUNT         GOT leaves out short calls, and COUNT is how many
record_model.py resumed REF GOT COUNT           COUNT events are missing; behind the last gap all is
                                                as in REF

REF and GOT are CSV dumps, REF without filters."""
import collections
import re
import sys

KIND, DEPTH, SYMBOL, TIME = range(4)


def load(path):
    """Events by thread, as lists of (kind, depth, symbol, time)."""
    threads = {}
    with open(path, encoding="utf-8") as file:
        next(file)
        for line in file:  # the programs' symbols hold no commas
            stream, _, time, kind, depth, _, symbol = line.rstrip("\n").split(",")
            event = (kind, int(depth), symbol, int(time) if time else 0)
            threads.setdefault(stream, []).append(event)
    return list(threads.values())


def calls(events):
    return [e[:TIME] for e in events if e[KIND] in ("enter", "exit")]


def shape(threads):
    """Threads as call sequences, in an order that does not depend on when they ran."""
    return sorted(filter(None, map(calls, threads)))


def say(problem):
    print(problem)
    sys.exit(1)


def compare(wanted, got):
    if len(wanted) != len(got):
        say(f"{len(got)} threads with calls instead of {len(wanted)}")
    for number, (one, two) in enumerate(zip(wanted, got)):
        if one[:len(two)] != two[:len(one)]:
            place = next(i for i, (a, b) in enumerate(zip(one, two)) if a != b)
            say(f"thread {number}, call event {place}: {two[place]} instead of {one[place]}")
        if len(one) != len(two):
            say(f"thread {number}: {len(two)} call events instead of {len(one)}")


def matches(patterns, symbol):
    return any(re.search(p, symbol) for p in patterns)


def filtered(events, rules):
    """The filters as spec/recording.md states them: what is left out takes nothing with it."""
    kept, out, below = [], [], 0
    for kind, _, name, _ in events:
        if kind == "enter":
            opens = matches(rules["below"], name)
            keep = ((not rules["function"] or matches(rules["function"], name)) and
                    not matches(rules["no-function"], name) and
                    (not rules["below"] or below > 0 or opens) and
                    (not rules["depth"] or sum(k for k, _ in kept) < int(rules["depth"][0])))
            if keep:
                out.append(("enter", sum(k for k, _ in kept), name))
            below += opens
            kept.append((keep, opens))
        elif kind == "exit":
            keep, opens = kept.pop()
            below -= opens
            if keep:
                out.append(("exit", sum(k for k, _ in kept), name))
    return out


def check_filter(ref, got, words):
    rules = collections.defaultdict(list)
    for name, value in zip(words[::2], words[1::2]):
        rules[name.removeprefix("--")].append(value)
    compare(sorted(filter(None, (filtered(t, rules) for t in ref))), shape(got))


def paths(events):
    """How often each chain of callers was called; each call with its duration and how many calls
    it holds."""
    counts, stack, ended = collections.Counter(), [], []
    for kind, _, name, time in events:
        if kind == "enter":
            for frame in stack:
                frame[2] += 1
            stack.append([name, time, 0])
            counts["/".join(f[0] for f in stack)] += 1
        elif kind == "exit":
            name, start, holds = stack.pop()
            ended.append((name, time - start, holds))
    return counts, ended


def check_culled(ref, got, words):
    least, count = int(words[0]), int(words[1])
    wanted, found = collections.Counter(), collections.Counter()
    for events in ref:
        wanted += paths(events)[0]
    for events in got:
        counts, ended = paths(events)
        found += counts
        for name, length, holds in ended:
            if length < least and holds == 0:
                say(f"a call of {name} took {length} ns, holds nothing, and was kept")
    extra = found - wanted
    if extra:
        say(f"too many: {extra.most_common(3)}")
    missing = sum(wanted.values()) - sum(found.values())
    if missing == 0 or missing != count:
        say(f"{missing} calls are missing, {count} are counted")


def check_resumed(ref, got, words):
    if len(ref) != 1 or len(got) != 1:
        say("this is for one thread")
    reference, recorded = calls(ref[0]), calls(got[0])
    if len(recorded) + int(words[0]) != len(reference):
        say(f"{len(recorded)} call events and {words[0]} lost ones are not {len(reference)}")
    last = max((i for i, e in enumerate(got[0]) if e[KIND] == "gap"), default=None)
    if last is None:
        say("there is no gap")
    tail = calls(got[0][last:])
    if not tail:
        say("nothing follows the gap")
    compare([reference[-len(tail):]], [tail])


def main():
    what, ref, got = sys.argv[1], load(sys.argv[2]), load(sys.argv[3])
    if what == "same":
        compare(shape(ref), shape(got))
    elif what == "filter":
        check_filter(ref, got, sys.argv[4:])
    elif what == "culled":
        check_culled(ref, got, sys.argv[4:])
    else:
        check_resumed(ref, got, sys.argv[4:])


main()
