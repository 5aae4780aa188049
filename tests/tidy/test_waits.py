#!/usr/bin/env python3
"""Waits gate: no test waits for a fixed time or compares seconds, so that a busy machine changes
nothing. A test waits for what it is about (a file, a line, a process) and gives up after a minute
or more. Pauses between two looks, and the few others, are counted in waits_exceptions.txt."""
import re

import tidy

PAUSE = re.compile(r"\b(?:usleep|nanosleep|time\.sleep|alarm|sleep|setitimer)\s*"
                   r"\((?!\s*(?:const|void|int|unsigned|struct))"
                   r"|(?:^|[;&|{])[ \t]*sleep[ \t]+[\d.$]", re.M)
COMPARED = re.compile(r"[<>]=?\s*\w*(?:SECONDS|_MS)\b"
                      r"|\b(?:seconds|took|wall|elapsed)\w*\s*[<>]=?\s*[\d.]"
                      r"|\btook\}?\"? -(?:lt|gt|le|ge)\b")
SUFFIXES = (".c", ".cc", ".h", ".sh", ".py")


def count(path):
    """Pauses and comparisons of a test, with their lines."""
    code = tidy.text(path)
    if path.suffix in (".c", ".cc", ".h"):
        code = tidy.without_comments(code)
    else:
        code = re.sub(r"#[^\n]*", "", code)
    found = {m.start() for kind in (PAUSE, COMPARED) for m in kind.finditer(code)}
    return sorted({code.count("\n", 0, at) + 1 for at in found})


def main():
    allowed = {words[0]: int(words[1]) for words, _ in tidy.exceptions("waits_exceptions.txt")}
    found = {name: [] for name in allowed}
    for path in tidy.files(*SUFFIXES, under=["tests"]):
        if path.parts[1] != "tidy":
            name = str(path.parent) if str(path.parent) in allowed else str(path)
            found.setdefault(name, []).extend(f"{path.name}:{line}" for line in count(path))
    problems = [f"{name}: {len(lines)} waits or compared times, not {allowed.get(name, 0)}"
                + "".join(f"\n    {line}" for line in lines)
                for name, lines in sorted(found.items()) if len(lines) != allowed.get(name, 0)]
    total = sum(map(len, found.values()))
    tidy.verdict("waits", problems, f"{total} waits in tests, each with a reason")


main()
