#!/usr/bin/env python3
"""Each verb that the command lists has a manual page, which names each option of its help."""
import os
import re
import subprocess
import sys
from pathlib import Path

COMMAND, SOURCE = os.environ["TTAPE_BIN"], Path(os.environ["TTAPE_SRC"])


def say(*words):
    return subprocess.run([COMMAND, *words], check=True, capture_output=True, text=True).stdout


def main():
    problems = []
    verbs = re.findall(r"^  ([a-z]+)  ", say("--help"), re.M)
    for verb in verbs:
        page = SOURCE / "man" / f"tracetape-{verb}.1"
        if not page.is_file():
            problems.append(f"{verb}: no {page.relative_to(SOURCE)}")
            continue
        # `.Fl -name` or `-name` in a line of options
        told = set(re.findall(r"(?<![\w-])-([a-z][a-z-]+)", page.read_text(encoding="utf-8")))
        wanted = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", say(verb, "--help"), re.M)) - {"help"}
        problems += [f"{verb}: its page does not tell of --{name}" for name in
                     sorted(wanted - told)]
    for problem in problems:
        print(problem)
    print(f"manual: {'FAILED' if problems or not verbs else 'ok'}, {len(verbs)} verbs")
    sys.exit(1 if problems or not verbs else 0)


main()
