#!/usr/bin/env python3
"""Calls that hooks leave out leave nothing behind but themselves: what is recorded of the others,
of jumps, exceptions, handlers and coroutines, is what it is without that, in the same order."""
import subprocess
import sys

import arena as rt

shop = rt.Workshop()
failures = []
SOURCES = ("basic.c", "jumps.c", "coroutines.c", "handlers.c", "exceptions.cpp")


def record(exe, clock, left_out=None):
    """The words of the only stream, and its errors."""
    place = rt.Arena(clock=clock, left_out=left_out)
    try:
        status = place.run([exe])
        streams = [s for s in rt.streams(place.taken) if s.words]
        lost = place.get(rt.LOST, True)
        if status or lost or len(streams) != 1:
            failures.append(f"{exe}: status {status}, {lost} lost, {len(streams)} streams")
        return streams[0].words, [e for s in streams for e in s.errors]
    finally:
        place.close()


class Model:
    """Words without the calls of some functions. The first call of a thread and handlers are
    recorded in any case."""

    def __init__(self, names):
        self.names, self.stacks, self.stack, self.is_handler = names, {}, 0, True
        self.words = []

    def open(self):
        return self.stacks.setdefault(self.stack, [])

    def say(self, word, is_kept=True):
        if is_kept:
            self.words.append(word)

    def take(self, word):
        kind, rest = word[0], word[1:]
        if kind == "+":
            is_kept = rest not in self.names or self.is_handler
            self.open().append(is_kept)
            self.say(word, is_kept)
        elif kind == "-":
            self.say(word, self.open().pop())
        elif kind == "~":
            left = [self.open().pop() for _ in range(int(rest))]
            self.say(f"~{sum(left)}", any(left))
        elif word == "!.":
            self.open().pop()
            self.say(word)
        elif kind == "!":
            self.open().append(True)
            self.say(word)
        elif kind == "@":
            self.stack = int(rest)
            self.say(word)
        else:
            self.say(word)
        self.is_handler = kind == "!" and word != "!."


def addresses(exe):
    found = {}
    for line in subprocess.run(["nm", "-C", exe], capture_output=True, text=True,
                               check=True).stdout.splitlines():
        words = line.split(maxsplit=2)
        if len(words) == 3 and words[1] in "tTwW" and "[clone" not in words[2]:
            found[words[2].split("(")[0]] = int(words[0], 16)
    return found


def check(what, exe, clock):
    whole, errors = record(exe, clock)
    names = sorted({w[1:] for w in whole if w[0] == "+"} - {"main"})
    places = addresses(exe)
    sets = [names, ["leaf"], *([n for n in names if n != name] for name in names)]
    for left in sets:
        model = Model(set(left))
        for word in whole:
            model.take(word)
        got, more = record(exe, clock, [places[name] for name in left])
        label = f"{what}, without {' '.join(left)}"
        failures.extend(f"{label}: {e}" for e in errors + more)
        if got != model.words:
            at = next((i for i, (a, b) in enumerate(zip(got, model.words)) if a != b),
                      min(len(got), len(model.words)))
            failures.append(f"{label}: event {at}: {' '.join(got[max(0, at - 6):at + 6])}\n"
                            f"    wanted {' '.join(model.words[max(0, at - 6):at + 6])}")


def main():
    for compiler, levels in (("gcc", ("-O0", "-O2")), ("clang", ("-O2",))):
        if not rt.available(compiler):
            print(f"'{compiler}' is not there: left out")
            continue
        for source in SOURCES:
            for level in levels:
                name = {"gcc": "g++", "clang": "clang++"}[compiler] if source.endswith("pp") \
                    else compiler
                exe = shop.build(source, level, "-no-pie", compiler=name)
                check(f"{source} {name} {level}", exe, rt.NONE if level == "-O0" else rt.TSC)
    shop.close()
    for failure in failures:
        print(failure)
    print(f"calls left out: {'FAILED' if failures else 'ok'}")
    sys.exit(1 if failures else 0)


main()
