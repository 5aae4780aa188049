#!/usr/bin/env python3
"""Dialect gate: one dialect of C. Every C file is as .clang-format writes it (single statements
stand without braces), and inner types are `struct`, `enum` and `union` by their tags: a typedef
marks a public type (ttape_), a function's type, or another library's name made short. C tests take
Check from tests/asserts.h, where an assertion that holds costs nothing."""
import re
import shutil
import subprocess

import tidy

TYPEDEF = re.compile(r"^[ \t]*typedef\s+(struct|enum|union)\b[^;{]*?(\w+)\s*[;{]", re.M)
VERSIONS = ("14", "15", "16") # later ones wrap lines in other ways


def formatter():
    program = shutil.which("clang-format")
    if not program:
        tidy.skip("clang-format is missing (scripts/setup installs it)")
    version = subprocess.run([program, "--version"], capture_output=True, text=True,
                             check=True).stdout
    major = re.search(r"version (\d+)", version)
    if not major or major.group(1) not in VERSIONS:
        tidy.skip(f"the style is written for clang-format {' to '.join(VERSIONS[::2])}, "
                  f"this is {version.strip()}")
    return program


def main():
    problems = []
    sources = tidy.files(".c", ".h")
    for path in tidy.files(".c", ".h", under=tidy.PRODUCT):
        if str(path).startswith("libtrace/include/"):
            continue
        code = tidy.without_comments(tidy.text(path))
        for match in TYPEDEF.finditer(code):
            if not match.group(2).startswith("ttape_"):
                line = code.count("\n", 0, match.start(1)) + 1
                problems.append(f"{path}:{line}: typedef of the inner type '{match.group(2)}'")
    problems += [f'{path}: includes <check.h>: write "tests/asserts.h"'
                 for path in tidy.files(".c", ".h", under=["tests", "fuzz"])
                 if "<check.h>" in tidy.without_comments(tidy.text(path))
                 and str(path) != "tests/asserts.h"]
    program = formatter()
    formatted = tidy.recent(sources)
    for start in range(0, len(formatted), 64):
        run = subprocess.run([program, "--dry-run", *map(str, formatted[start:start + 64])],
                             cwd=tidy.ROOT, capture_output=True, text=True, check=False)
        seen = set(re.findall(r"^(\S+?):\d+:\d+: (?:warning|error)", run.stderr, re.M))
        problems += [f"{path}: not as .clang-format has it (clang-format -i mends it)"
                     for path in sorted(seen)]
    tidy.verdict("dialect", problems, f"{len(sources)} files in one dialect, "
                 f"{len(formatted)} of them formatted anew")


main()
