"""Interrupts hooks at each of their instructions (subjects/step.c): after each, the stream is
well-formed, nothing is missing but what is counted, and nothing was invented."""
import collections
import socket
import sys
import threading

import arena as rt

SCENARIOS = ("plain", "alternate", "jump", "coroutine", "block", "silence", "speech", "off",
             "thread", "away", "away-bare", "away-block", "away-silence", "within", "fork",
             "fork-block", "fork-silence", "fork-here", "fork-silence-here")
BLOCKS = {"silence": 2, "fork-silence": 2, "fork-silence-here": 2, "speech": 4, "twice": 4,
          "away-silence": 4}
GAP_MAX = 45 # a hook's instructions
TWICE_STRIDE = 4
WITH_VALUES = ("plain", "jump", "block", "within", "away", "away-bare", "away-block", "fork")
ALL_OF_IT = 1 << 30 # instructions
FUNCTIONS = ("leaf", "handler", "target", "thrower", "outer")


def serve(place, ours):
    """The program asks for blocks to be held back and freed."""
    while True:
        request = ours.recv(1)
        if not request:
            return
        with place.lock:
            place.holds = request == b"h"
        if request == b"l":
            place.take_left()
        place.poll()
        ours.send(b"k")


def interrupt(exe, scenario, clock, stride, first=0, gap=0, sites=False):
    """The problems of one scenario, and how many instructions were stepped over."""
    place = rt.Arena(clock=clock, blocks=BLOCKS.get(scenario, 64), hook_sites=sites)
    ours, theirs = socket.socketpair()
    threading.Thread(target=serve, args=(place, ours), daemon=True).start()
    try:
        status = place.run([exe, scenario, str(stride), str(first), str(theirs.fileno()), str(gap)],
                           timeout=3000, pass_fds=[theirs.fileno()])
    finally:
        theirs.close()
        place.close()
    if status != 0:
        return [f"exit {status}: {place.output[-300:]}"], 0
    told = dict(line.split() for line in place.output.decode().splitlines())
    if scenario == "bare":
        return check_whole(told), int(told["looks"])
    if scenario.startswith("away") and not sites:
        return check_away(place, told), int(told["steps"])
    streams = rt.streams(place.taken, lenient=scenario.startswith("away"))
    problems = [f"thread {s.serial}: {e}" for s in streams for e in s.errors[:3]]
    if scenario.startswith("away"):
        return problems, int(told["steps"])
    silent = scenario.startswith("fork-silence")
    if scenario.startswith("fork"): # nothing of the children may be in their parent's
        children = [s for s in streams if s.serial != s.image or s.serial > 2]
        streams = [s for s in streams if s not in children]
        if not silent and len(children) < int(told["steps"]) // stride // 3:
            problems.append(f"{len(children)} children")
        problems += [f"child {s.serial}: {s.words[:60]}" for s in children if not check_child(s)]
    words = collections.Counter(w for s in streams for w in s.words)
    lost = sum(s.lost for s in streams)
    if not scenario.startswith("fork") or silent: # elsewhere children lose some
        lost += place.get(rt.LOST, True)
    recorded = sum(words[sign + name] for name in FUNCTIONS for sign in "+-?")
    wanted = 2 * sum(int(told[name]) for name in FUNCTIONS)
    if scenario == "jump": # its exits are the unwinds
        wanted -= int(told["thrower"])
    if recorded + lost != wanted and (not silent or recorded > wanted or
                                      recorded + lost < wanted): # children's are lost as well
        problems.append(f"{recorded} recorded + {lost} lost, the program counted {wanted}")
    if scenario in ("plain", "alternate", "jump", "coroutine", "block", "within", "fork",
                    "fork-block"):
        repaired = sum(n for w, n in words.items() if w[0] == "?" or
                       (w[0] == "~" and scenario not in ("jump", "within")))
        if lost or repaired:
            problems.append(f"{lost} lost and {repaired} repaired where nothing had to be")
    return problems, int(told["steps"])


def check_whole(told):
    """A recorder that looks at any instruction finds a call with its values, or not yet."""
    problems = [f"{told['bares']} times a call without its values"] if told["bares"] != "0" else []
    return problems + (["nothing was seen"] if int(told["looks"]) < 100 else [])


def check_child(stream):
    """What was open when it was forked is open in it, and what it interrupted is there once."""
    words = collections.Counter(stream.words)
    return stream.lost or not words["+leaf"] or (
        words["o:outer"] == 1 and words["o:target"] + words["+target"] <= 1 and
        words["-target"] <= 1 and words["+leaf"] == words["-leaf"] >= 2)


def check_away(place, told):
    """Handlers that jump out of hooks: what they left may have one of its two records, or a hole,
    but nothing that comes after may be inside of it."""
    streams = rt.streams(place.taken, lenient=True)
    problems = [f"thread {s.serial}: {e}" for s in streams for e in s.errors[:3]]
    words = collections.Counter(w for s in streams for w in s.words)
    lost = place.get(rt.LOST, True) + sum(s.lost for s in streams)
    for name in ("leaf", "after"):
        wanted = int(told[name])
        if lost < 2 * wanted - words["+" + name] - words["-" + name] or \
                max(words["+" + name], words["-" + name]) > wanted:
            problems.append(f"{name}: {words['+' + name]}, {words['-' + name]} of {wanted}, "
                            f"{lost} lost")
    rounds = int(told["after"]) // 2
    if not lost and not 0 <= words["+target"] - int(told["target"]) <= rounds:
        problems.append(f"{words['+target']} enters of {told['target']} targets")
    if sum(words[sign + name] for sign in "?" for name in FUNCTIONS):
        problems.append("exits unseen")
    for stream in streams:
        depth = 0
        for at, word in enumerate(stream.words):
            if word == "+after" and depth:
                problems.append(f"inside of what was left: {stream.words[max(0, at - 9):at + 1]}")
                break
            depth += (word[0] in "+o" or (word[0] == "!" and word != "!.")) - \
                (word[0] == "-" or word == "!.") - (int(word[1:]) if word[0] == "~" else 0)
    return problems


def show(what, problems, steps):
    print(f"{what}: {steps} instructions, {len(problems)} problems")
    for problem in problems:
        print(f"    {problem}")
    return bool(problems)


def main(stride):
    shop = rt.Workshop()
    failed = False
    exe = shop.build("step.c", "-O2")
    for scenario in SCENARIOS:
        for clock in (rt.TSC, rt.NONE):
            problems, steps = interrupt(exe, scenario, clock, stride)
            failed |= show(f"{scenario} clock {clock}", problems, steps)
    problems, steps = interrupt(exe, "bare", rt.TSC, 1, ALL_OF_IT, sites=True)
    failed |= show("calls with values", problems, steps)
    for scenario in WITH_VALUES:
        problems, steps = interrupt(exe, scenario, rt.TSC, stride, sites=True)
        failed |= show(f"{scenario} with values", problems, steps)
    for gap in range(1, GAP_MAX, stride):
        # with all gaps together at each instruction
        problems, steps = interrupt(exe, "twice", rt.TSC, TWICE_STRIDE, gap % TWICE_STRIDE, gap)
        failed |= show(f"twice, {gap} instructions between", problems, steps)
    shop.close()
    print(f"runtime steps: {'FAILED' if failed else 'ok'}")
    sys.exit(1 if failed else 0)
