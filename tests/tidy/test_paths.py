#!/usr/bin/env python3
"""Paths gate: each file that a page names, in backticks or as a link, is there. A page that leads a
newcomer to a file that was moved is worse than none."""
import re

import tidy

TOP = ("(?:answers|base|binary|cmake|doc|examples|format|fuzz|libtrace|man|program|python|reader|"
       "recorder|scripts|spec|tests|tools|writer)")
NAMED = re.compile(r"`(" + TOP + r"/[\w./{},*+-]+)`")
LINKED = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
ENDING = re.compile(r"\.(c|h|py|sh|md|txt|cmake|csv|lua|sql|map|in|cddl)$|^scripts/[\w-]+$")
HISTORY = "CHANGELOG.md"  # tells of what was


def alternatives(path):
    """name.{c,h} is two files."""
    braces = re.search(r"\{([^{}]*)\}", path)
    if not braces:
        return [path]
    return [one for word in braces.group(1).split(",")
            for one in alternatives(path[:braces.start()] + word + path[braces.end():])]


def is_there(where, path):
    return any(True for _ in where.glob(path)) if "*" in path else (where / path).exists()


def main():
    problems, count = [], 0
    for page in tidy.files(".md"):
        if page.name == HISTORY:
            continue
        text = tidy.text(page)
        found = [(tidy.ROOT, name, match.start()) for match in NAMED.finditer(text)
                 for name in alternatives(match.group(1)) if ENDING.search(name)]
        found += [((tidy.ROOT / page).parent, match.group(1), match.start())
                  for match in LINKED.finditer(text)]
        count += len(found)
        for where, name, at in found:
            if not is_there(where, name):
                line = text.count("\n", 0, at) + 1
                problems.append(f"{page}:{line}: there is no '{name}'")
    tidy.verdict("paths", problems, f"{count} names of files in pages, all there")


main()
