#!/usr/bin/env python3
"""`tracetape VERB --help` is no wider than the terminal, but for examples, which are to be pasted;
elsewhere it has the lines that it was written with, and the same words."""
import sys

import screen
import setting


def shown(verb, columns):
    return screen.look(verb, "--help", columns=columns, rows=1000)


def cut(lines):
    """Without the examples."""
    first = lines.index("Examples:")
    return lines[:first], lines[first:]


def main():
    checks = setting.Checks("help columns")
    listed = setting.tracetape("--help").out.decode().split("Verbs:\n")[1].split("\n\n")[0]
    verbs = [line.split()[0] for line in listed.splitlines()]
    checks.that(len(verbs) > 20, f"verbs: {verbs}")
    for verb in verbs:
        plain, examples = cut(setting.tracetape(verb, "--help").out.decode().splitlines())
        for columns in (60, 80):
            lines, _ = cut(shown(verb, columns))
            words = [word for line in lines for word in line.split()]
            checks.equal(words, [word for line in plain for word in line.split()],
                         f"{verb}, {columns}: words")
        checks.equal(cut(shown(verb, 1000)), (plain, examples), f"{verb}: as it was written")
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
