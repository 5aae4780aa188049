"""What llvm-cov says of the lines of a program: counts of the regions that a line has code of. It
shows the largest of them, also of those that go around the line. Its counters and our blocks are in
two programs of the same sources: in one, the counter of a `case` or a label has the line of the
statement before it, and so has the block."""
import json
import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import setting

BRACES = re.compile(r"[\s})\];]*$")
LOOP = re.compile(r"\b(while|for|do)\b|\](\(|\s*\{)")  # or a function within a line
ENDLESS = re.compile(r"\b(for\s*\(\s*;\s*;\s*\)|while\s*\(\s*1\b)")
ABOVE = 8          # lines of a condition
STATIC_LINES = 16  # of one variable with what it is made of


def is_there():
    there = all(shutil.which(tool) for tool in ("clang", "clang++", "llvm-cov", "llvm-profdata",
                                               "setarch"))
    if not there:
        print("clang and llvm-cov are not installed: not compared")
    return there


def build(place, sources, flags, libraries, compiler="clang"):
    """Two programs, in new folders: `ours` tells of its blocks, `theirs` has clang's counters.
    Hooks are of what is left after inlining: clang's others need functions of the C++ library that
    only exist inlined."""
    kinds = {"ours": ["-finstrument-functions-after-inlining",
                      "-fsanitize-coverage=trace-pc-guard,pc-table,no-prune"],
             "theirs": ["-fprofile-instr-generate", "-fcoverage-mapping"]}
    for kind, more in kinds.items():
        (place / kind).mkdir(parents=True)
        subprocess.run([compiler, *flags, *more, *sources, "-o", "program",
                        *(libraries if kind == "ours" else ["-lm"])], cwd=place / kind, check=True)


def run(place, *arguments):
    """The trace of a run at the same addresses as one that counts, whose counts are then in
    `run.json`; and whether both wrote the same."""
    ways = {"ours": [setting.COMMAND.resolve(), "record", "-q", "-f", "-o", "run.ttape", "--"],
            "theirs": []}
    wrote = [subprocess.run(["setarch", "-R", *words, "./program", *arguments], cwd=place / kind,
                            check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            env={**os.environ, "LLVM_PROFILE_FILE": "run.profraw"}).stdout
             for kind, words in ways.items()]
    subprocess.run(["llvm-profdata", "merge", "-o", "run.profdata", "run.profraw"],
                   cwd=place / "theirs", check=True)
    with open(place / "theirs" / "run.json", "wb") as out:
        subprocess.run(["llvm-cov", "export", "-instr-profile", "run.profdata", "./program"],
                       cwd=place / "theirs", check=True, stdout=out)
    return place / "ours" / "run.ttape", wrote[0] == wrote[1]


def read(place):
    """{(file, line): (shown, counts of all regions that begin on it or go around it)}."""
    found = {}
    text = (place / "theirs" / "run.json").read_text(encoding="utf-8")
    for file in json.loads(text)["data"][0]["files"]:
        name, by_line, around = Path(file["filename"]).name, {}, None
        for segment in file["segments"]:  # line, column, count, has count, begins, is gap
            by_line.setdefault(segment[0], []).append(segment)
        for number in range(1, max(by_line, default=0) + 1):
            here = by_line.get(number, [])
            shown = [around[2]] if around and around[3] else []
            shown += [s[2] for s in here if s[3] and s[4] and not s[5]]
            if shown:
                found[name, number] = (max(shown), {*shown, *(s[2] for s in here if s[3])})
            around = here[-1] if here else around
    return found


def text_of(at, paths, folder):
    """A line's text; "?" where the source is not there."""
    path = folder / paths.get(at[0], "")
    if not path.is_file():
        return "?"
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return lines[at[1] - 1] if at[1] <= len(lines) else "?"


def without_braces(wrong, paths, folder):
    """Of lines that are more than closing braces, as far as the sources are there."""
    return {at: counts for at, counts in wrong.items()
            if not BRACES.match(text_of(at, paths, folder))}


def near(counts, at, before=1, behind=2):
    """All counts of a line and of those around it."""
    return {count for line in range(at[1] - before, at[1] + behind + 1)
            for count in counts.get((at[0], line), ()) if count is not None}


def is_of_static(at, paths, folder):
    """Is the line of a variable that is made once?"""
    for line in range(at[1], max(at[1] - STATIC_LINES, 0), -1):
        text = text_of((at[0], line), paths, folder)
        if re.match(r"\s*static\b", text):
            return True
        if text.rstrip().endswith(";"):
            return False
    return False


def like_gcov(count, at, of_gcov):
    """By gcov's counts, also of its blocks; of what it has no code of, by those right behind."""
    behind = next((of_gcov[at[0], line] for line in range(at[1], at[1] + 4)
                   if (at[0], line) in of_gcov), ())
    return count in behind


def rule(at, count, regions, text, of_gcov):
    """Why a line's count is not the one that is shown; None: there is no reason.

     - region: it is that of another one of the line's regions;
     - brace: at a closing brace is what destroys variables, or the jump over what follows, if any;
     - gcov: gcov counts so, or has a block of the line that ran so often: behind calls that did not
       return, in functions that the same line has several of, behind the writing of the counters at
       the end, and in conditions by macros;
     - sum: what comes to a loop or goes round in it has no region, and a function within a line has
       its own: it is the sum or the difference of two counts around, or one more where a call in
       front of a loop did not return; and an endless loop's line is the jump back from its end;
     - operator: where a line begins with && or ||, the jump of the operand before is there: it ran
       as often as a part of a line above was come to."""
    if count in regions[at]:
        return "region"
    if BRACES.match(text) or text.lstrip().startswith("}"):
        return "brace"
    if like_gcov(count, at, of_gcov):
        return "gcov"
    around = near(regions, at) | near(of_gcov, at)
    sums = {n for a in around for b in around for n in (a, a + b, a - b, a - b + 1)}
    is_back = ENDLESS.search(text) is not None and count <= max(regions[at])
    if is_back or (count in sums and LOOP.search(text)):
        return "sum"
    above = near(regions, at, ABOVE, 0) | near(of_gcov, at, ABOVE, 0)
    return "operator" if count in above and re.match(r"\s*(&&|\|\|)", text) else None


def unlike(ours, theirs, paths, folder, of_gcov=None):
    """Of lines that both know: how many have the count that is shown or by which rule another one
    (static: what is made once has no region), and those without a rule."""
    both, rules, wrong = ours.keys() & theirs.keys(), Counter(), {}
    regions = {at: counts for at, (_, counts) in theirs.items()}
    for at in sorted(both):
        why = "shown" if ours[at] == theirs[at][0] else rule(
            at, ours[at], regions, text_of(at, paths, folder), of_gcov or {})
        if why is None and is_of_static(at, paths, folder):
            why = "static"
        if why is None:
            wrong[at] = (ours[at], *theirs[at])
        else:
            rules[why] += 1
    return len(both), rules, wrong
