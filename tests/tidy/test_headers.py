#!/usr/bin/env python3
"""Header gate: every public header compiles on its own, as C11 and as C++11, without a warning."""
import os
import shutil
import subprocess

import tidy

INCLUDE = tidy.ROOT / "libtrace" / "include"


def compilers():
    cc = os.environ.get("TTAPE_CC") or "cc"
    yield [cc, "-x", "c", "-std=c11", "-Wstrict-prototypes"]
    if shutil.which("c++"):
        yield ["c++", "-x", "c++", "-std=c++11"]


def main():
    problems = []
    headers = tidy.files(".h", under=["libtrace/include"])
    for header in headers:
        name = (tidy.ROOT / header).relative_to(INCLUDE)
        for command in compilers():
            run = subprocess.run(
                [*command, "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                 f"-I{INCLUDE}", "-"], input=f"#include <{name}>\nint ttest_unused;\n",
                capture_output=True, text=True, check=False)
            if run.returncode:
                problems.append(f"{header} ({command[0]}):\n{run.stderr}")
    tidy.verdict("headers", problems, f"{len(headers)} headers stand alone in C and C++")


main()
