"""What llvm-cov says of the lines of a program that tells its blocks too: counts of the regions
that a line has code of. It shows the largest of them, also of those that go around the line."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import setting

BRACES = re.compile(r"[\s})\];]*$")


def is_there():
    there = all(shutil.which(tool) for tool in ("clang", "llvm-cov", "llvm-profdata"))
    if not there:
        print("clang and llvm-cov are not installed: not compared")
    return there


def build(place, sources, flags, libraries):
    """clang's blocks and its own counters in one program, in a new folder."""
    place.mkdir()
    subprocess.run(["clang", *flags, "-finstrument-functions",
                    "-fsanitize-coverage=trace-pc-guard,pc-table,no-prune",
                    "-fprofile-instr-generate", "-fcoverage-mapping", *sources, "-o", "program",
                    *libraries], cwd=place, check=True)


def run(place, *arguments):
    """The trace of a run; its counts are then in `run.json`."""
    subprocess.run([setting.COMMAND.resolve(), "record", "-q", "-f", "-o", "run.ttape", "--",
                    "./program", *arguments], cwd=place, check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "LLVM_PROFILE_FILE": "run.profraw"})
    subprocess.run(["llvm-profdata", "merge", "-o", "run.profdata", "run.profraw"], cwd=place,
                   check=True)
    with open(place / "run.json", "wb") as out:
        subprocess.run(["llvm-cov", "export", "-instr-profile", "run.profdata", "./program"],
                       cwd=place, check=True, stdout=out)
    return place / "run.ttape"


def read(path):
    """{(file, line): (shown, counts of all regions that begin on it or go around it)}."""
    found = {}
    for file in json.loads(path.read_text(encoding="utf-8"))["data"][0]["files"]:
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


def unlike(ours, theirs, paths, folder):
    """Lines that have the count of none of their regions. A loop's condition that is a macro has no
    region: it ran as often as the loop was come to and gone round, together."""
    both = ours.keys() & theirs.keys()
    wrong = {at: (ours[at], *theirs[at]) for at in sorted(both) if ours[at] not in theirs[at][1]}
    sums = {at for at in wrong if ours[at] in {a + b for a in theirs[at][1] for b in theirs[at][1]}
            and re.search(r"\b(while|for)\b", text_of(at, paths, folder))}
    wrong = {at: counts for at, counts in wrong.items() if at not in sums}
    return both, without_braces(wrong, paths, folder)
