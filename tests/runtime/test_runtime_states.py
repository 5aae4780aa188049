#!/usr/bin/env python3
"""What is told when nothing could be recorded for a while, of deep recursion, of threads that end,
and of handlers that come at any moment: each event is recorded or counted as lost (W11, W15, W16,
W18, W21)."""
import collections
import os
import resource
import sys

import arena as rt

THOROUGH = os.environ.get("TTAPE_THOROUGH") == "1"
STORM, STORM_WITHOUT_ROOM = ("700", "700") if THOROUGH else ("30", "100")  # milliseconds
DEPTHS = (1000, 65534, 65535, 65536, 70000) if THOROUGH else (65535, 65536)
STORM_THREADS = 2
shop = rt.Workshop()
failures = []


def note(what, problem):
    failures.append(f"{what}: {problem}")


def run(what, exe, arguments=(), code=0, on_stop=None, timeout=120, **kind):
    place = rt.Arena(**kind)
    try:
        status = place.run([exe, *arguments], on_stop=on_stop and (lambda _: on_stop(place)),
                           timeout=timeout)
        streams = rt.streams(place.taken)
        if status != code:
            note(what, f"exit {status}, wanted {code}: {place.output[-300:]}")
        for stream in streams:
            for error in stream.errors[:3]:
                note(what, f"thread {stream.serial}: {error}")
        lost = place.get(rt.LOST, True) + sum(s.lost for s in streams)
        return streams, lost, place.output.decode()
    finally:
        place.close()


def without_leaves(words):
    return " ".join(w for w in words if w not in ("+leaf", "-leaf"))


def actions(*steps):
    """What the test does at each stop of the program."""
    left = list(steps)

    def act(place):
        if left:
            step = left.pop(0)
            with place.lock:
                if step in ("off", "on"):
                    place.switch(step == "on")
                elif step in ("hold", "free"):
                    place.holds = step == "hold"
    return act


def test_off_and_on():
    exe = shop.build("stops.c", "-O2")
    start, end = "+main +around +left_in_it +stop", "-around -main"
    rest = "-stop +many -many"
    cases = {
        ("off", "on", ""): f"{start} gap:6:0 -stop +stop {rest} ?opened_in_it ~1 {end}",
        ("", "off", "on"): f"{start} {rest} -left_in_it +opened_in_it +stop gap:6:0 {rest} "
                           f"-opened_in_it {end}",
        ("off", "", "on"): f"{start} gap:6:0 {rest} ?opened_in_it ~1 {end}",
        ("off", "", ""): f"{start}",
    }
    for clock in (rt.TSC, rt.MONOTONIC, rt.NONE):
        for steps, wanted in cases.items():
            what = f"off and on {steps} clock {clock}"
            streams, _, _ = run(what, exe, ["3"], on_stop=actions(*steps), clock=clock)
            got = without_leaves(streams[0].words)
            if got != wanted:
                note(what, f"{got}\n    wanted {wanted}")


def test_silence():
    """Without blocks for a while: the count is exact, and the frames are right after it."""
    exe = shop.build("stops.c", "-O2")
    total = 2 * (1 + 1 + 1 + 1 + 3 + 2 + 5 + 2 * 20000) # main, around, two, stops, many, leaves
    for clock in (rt.TSC, rt.NONE):
        for steps in (("hold", "", "free"), ("hold", "free", ""), ("", "hold", "free"),
                      ("hold", "", "")):
            what = f"silence {steps} clock {clock} (W21)"
            streams, lost, _ = run(what, exe, ["20000"], on_stop=actions(*steps), clock=clock,
                                   blocks=4)
            recorded = sum(w[0] in "+-?" for w in streams[0].words)
            if recorded + lost != total:
                note(what, f"{recorded} recorded + {lost} lost, wanted {total}")
            if lost == 0:
                note(what, "nothing was lost: the case tests nothing")


def test_deep():
    exe = shop.build("deep.c", "-O2", "-fno-optimize-sibling-calls")
    for depth in DEPTHS:
        streams, lost, _ = run(f"deep {depth}", exe, ["jump", str(depth)], blocks=400)
        count = collections.Counter(streams[-1].words)
        calls = depth + 1
        wanted = {"+recurse": 4 * calls, "-recurse": 3 * calls, "!10": 2, "!.": 2, "+jumps": 1,
                  "-jumps": 1, "+handler": 2, "-handler": 2}
        got = {key: count[key] for key in wanted}
        left = sum(int(w[1:]) * n for w, n in count.items() if w[0] == "~")
        if got != wanted or left != calls or lost:
            note(f"deep {depth}", f"{got}, {left} left, {lost} lost")
    for arguments, code, end in ((["endless"], -11, "+endless"),
                                 (["endless", "1"], 42, "-leaf")):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        streams, lost, _ = run("endless recursion (W18)", exe, arguments, code=code, blocks=200)
        words = streams[0].words
        if words[-1] != end or lost or words.count("+endless") < 50000:
            note("endless recursion (W18)", f"{len(words)} events, {lost} lost, {words[-4:]}")


def test_threads():
    exe = shop.build("threads.c", "-O2")
    streams, lost, _ = run("threads", exe)
    leaf = "+leaf -leaf"
    wanted = ["+main " + "+run -run " * 4 + "-main", f"+returning {leaf} -returning",
              f"+exiting +leaves {leaf} ~2", f"+cancelled +waits {leaf} ~2",
              f"+destroying {leaf} -destroying" + f" +destructor {leaf} -destructor" * 4]
    words = [" ".join(s.words) for s in streams]
    if words != wanted or lost:
        note("threads (W15)", f"{words}, {lost} lost")
    # the last one's fourth round is after ours, and its block the recorder's to find
    if [s.state for s in streams[1:]] != [rt.DONE] * 3 + [rt.FILLING] or \
            streams[2].messages != [("thread", b"exiting")]:
        note("threads (W16)", f"states {[s.state for s in streams]}, {streams[2].messages}")
    for count, at_once in ((2000, 1), (2000, 100)):
        what = f"{count} threads, {at_once} at once (W16)"
        streams, lost, output = run(what, exe, [str(count), str(at_once)], blocks=2100)
        events = sum(len(s.words) for s in streams[1:])
        if events + lost != 4 * count or lost > 0:
            note(what, f"{events} events, {lost} lost")
        first, last = [int(line.split()[0]) for line in output.splitlines()]
        if last > first * 1.1 + 200:
            note(what, f"its own pages grow from {first} to {last}")


def test_storm():
    """Five timers a thread with handlers in handlers, with room and with hardly any."""
    exe = shop.build("storm.c", "-O2")
    for what, kind in (("storm (W11)", {"blocks": 400}),
                       ("storm without room (W11)", {"blocks": 3}),
                       ("storm without a clock (W11)", {"blocks": 400, "clock": rt.NONE}),
                       ("storm with a slow clock (W11)", {"blocks": 400, "clock": rt.MONOTONIC})):
        duration = STORM_WITHOUT_ROOM if kind["blocks"] < 10 else STORM
        streams, lost, output = run(what, exe, [duration, str(STORM_THREADS)], **kind)
        told = sum(int(line.split()[1]) for line in output.splitlines())
        recorded = sum(w[0] in "+-?" for s in streams for w in s.words)
        facts = 2 * STORM_THREADS - sum(len(s.facts) for s in streams)  # that may be lost, too
        if not 2 * told <= recorded + lost <= 2 * told + facts:
            note(what, f"{recorded} recorded + {lost} lost, the program counted {2 * told}")
        has_room = kind["blocks"] >= 10  # without, it is chance what is recorded
        if has_room and not any(w[0] == "!" and w != "!." for s in streams for w in s.words):
            note(what, "no handler was recorded")


def test_forks():
    """Children of one of many busy threads: streams of their own, nothing of their parent's."""
    exe = shop.build("forks.c", "-O2")
    streams, _, _ = run("forks (W13)", exe, ["8", "200"], blocks=400)
    main_image = streams[0].image
    children = [s for s in streams if s.image != main_image]
    first = [s for s in children if s.serial == s.image]
    threads = [s for s in children if s.serial != s.image]
    if len(first) != 200 or len(threads) != 100:
        note("forks (W13)", f"{len(first)} children, {len(threads)} threads of them")
    if any(" ".join(s.words) != "o:main +child +leaf -leaf" for s in first) or \
            any(" ".join(s.words) != "+in_child +leaf -leaf -in_child" for s in threads):
        note("forks (W13)", f"{[s.words for s in children[:4]]}")
    pids = {s.image: s.pid for s in [streams[0], *first]}
    if len(set(pids.values())) < 150 or any(s.pid != pids.get(s.image) for s in streams):
        note("forks (W13)", "process ids are mixed up")


def main():
    for test in (test_forks, test_off_and_on, test_silence, test_deep, test_threads, test_storm):
        test()
    shop.close()
    for failure in failures:
        print(failure)
    print(f"runtime states: {'FAILED' if failures else 'ok'}")
    sys.exit(1 if failures else 0)


main()
