#!/usr/bin/env python3
"""One letter and one long name mean one thing in all verbs: the --help of each verb against the
tables of spec/decisions/0065-vocabulary.md."""
import os
import re
import subprocess
import sys
from pathlib import Path

COMMAND, SOURCE = os.environ["TTAPE_BIN"], Path(os.environ["TTAPE_SRC"])
PAGE = "spec/decisions/0065-vocabulary.md"


def say(*words):
    return subprocess.run([COMMAND, *words], check=True, capture_output=True, text=True).stdout


def read_page():
    """Letters by long name (None: none), whether the ones with letters have an argument, and which
    verbs have the others."""
    page = (SOURCE / PAGE).read_text(encoding="utf-8")
    rows = re.findall(r"^\| (-\S) \| --([a-z-]+) \| ([^|]*)\|", page, re.M)
    letters = {name: letter for letter, name, _ in rows}
    arguments = {name: bool(argument.strip()) for _, name, argument in rows}
    bare = re.search(r"## Without a letter\n(.*?)\n## ", page, re.S)[1]
    verbs = {name: set(text.split(", "))
             for name, text in re.findall(r"^\| --([a-z-]+) \| ([a-z, ]+) \|$", bare, re.M)}
    return letters, arguments, {**dict.fromkeys(verbs), **letters}, len(rows), verbs


def main():
    problems, letters_seen = [], {}
    letters, arguments, known, row_count, verbs_of = read_page()
    if len(letters) != row_count or len(set(letters.values())) != row_count:
        problems.append("the page has a letter or a name twice")
    verbs = re.findall(r"^  ([a-z]+)  ", say("--help"), re.M)
    for verb in verbs:
        for letter, name, argument in re.findall(r"^ +(?:(-\w), )?--([a-z-]+)( \S+)?", say(
                verb, "--help").split("\nOptions:\n")[1].split("\nExamples:")[0], re.M):
            letter, what = letter or None, f"{verb} --{name}"
            if name not in known:
                problems.append(f"{what} is not in the tables of {PAGE}: add it, or take its name "
                                "for that from there")
            elif known[name] != letter:
                problems.append(f"{what} has the letter {letter}, in {PAGE} it is {known[name]}")
            elif name in arguments and arguments[name] != bool(argument.strip()):
                problems.append(f"{what} takes an argument elsewhere, or nowhere else")
            elif name in verbs_of and verb not in verbs_of[name]:
                problems.append(f"{what} is not in the row of --{name} in {PAGE}")
            if letter and letters_seen.setdefault(letter, name) != name:
                problems.append(f"{what}: {letter} is --{letters_seen[letter]} elsewhere")
    for problem in problems:
        print(problem)
    print(f"vocabulary: {'FAILED' if problems or not verbs else 'ok'}, {len(verbs)} verbs, "
          f"{len(letters_seen)} letters")
    sys.exit(1 if problems or not verbs else 0)


main()
