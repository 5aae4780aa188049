#!/usr/bin/env python3
"""Each example builds, without a warning, and prints its `expected.txt`; so does that of
libtracetape(3), which prints the calls of a recording."""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ["TTAPE_SRC"])
BUILD = Path(os.environ["TTAPE_BUILD"])
COMPILER = os.environ.get("TTAPE_CC") or "cc"
TRACES = {"slowest": ["run.ttape"], "whocalls": ["run.ttape"], "sums": ["run.ttape"],
          "eight": ["run.ttape"],
          "compare": ["run.ttape", "other.ttape"]}  # of programs that read them
RECORDED = {"longestof": "whichway"}  # of programs that record another one
LOGS = ("logs", "postbox",  # test_log_headers.py
        "slurm", "kubernetes", "ci")  # test_fleet_examples.py
FLAGS = ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread",
         f"-I{SOURCE / 'libtrace' / 'include'}"]
VERSION = re.search(r"VERSION (\d+\.\d+\.\d+)",
                    (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
OTHER = """100 1 enter outer
130 1 enter inner
150 1 exit
160 1 enter inner
190 1 exit
240 1 exit
"""
RAW = """100 1 enter outer
130 1 enter inner
170 1 exit
200 1 exit
"""


def build_and_run(program, sources, folder):
    """What it prints; the library is linked by those that need it."""
    subprocess.run([COMPILER, *FLAGS, "-o", program, *sources, BUILD / "libtracetape.so",
                    f"-Wl,-rpath,{BUILD}"], check=True)
    words = TRACES.get(program.name, [])
    if program.name in RECORDED:
        words = ["recorded.ttape", build_recorded(RECORDED[program.name], folder)]
    run = subprocess.run([program, *words],
                         capture_output=True, text=True, check=False, cwd=folder)
    if run.returncode != 0:
        return f"it ends with {run.returncode}:\n{run.stderr}"
    return name_places(run.stdout, words[1]) if program.name in RECORDED else run.stdout


def build_recorded(name, folder):
    program = Path(folder, f"{name}.recorded")
    subprocess.run([COMPILER, "-O0", "-g", "-finstrument-functions", "-o", program,
                    SOURCE / "examples" / name / f"{name}.c"], check=True)
    return program


def name_places(text, program):
    """The library alone says where a function is; the program's symbols say which one. Times are
    as they come."""
    table = subprocess.run(["nm", "--defined-only", program], check=True, capture_output=True,
                           text=True).stdout
    names = {int(row.split()[0], 16): row.split()[2] for row in table.splitlines()}
    text = re.sub(re.escape(program.name) + r"\+0x([0-9a-f]+)",
                  lambda place: names.get(int(place[1], 16), place[0]), text)
    return re.sub(r"\b[1-9]\d* ns", "N ns", text)


def examples():
    folders = {path for path in (SOURCE / "examples").iterdir() if path.is_dir()}
    for folder in sorted(folders - {SOURCE / "examples" / name for name in LOGS}):
        expected = (folder / "expected.txt").read_text(encoding="utf-8")
        yield folder.name, sorted(folder.glob("*.c")), expected.replace("VERSION", VERSION)


def of_manual(work):
    """The example of the manual page as a program, and a trace where it looks for one."""
    page = (SOURCE / "man" / "libtracetape.3").read_text(encoding="utf-8")
    code = re.search(r"\.Sh EXAMPLES.*?\.Bd -literal\n(.*?)\.Ed", page, re.S)[1]
    source = Path(work, "manual.c")
    source.write_text("#include <stdio.h>\n#include <tracetape/tracetape.h>\nint main(void)\n{\n"
                      + code.replace("\\e", "\\") + "return status != TTAPE_END;\n}\n",
                      encoding="utf-8")
    for name, text in (("run", RAW), ("other", OTHER)):
        Path(work, f"{name}.txt").write_text(text, encoding="utf-8")
        subprocess.run([os.environ["TTAPE_BIN"], "convert", f"{name}.txt", "-o", f"{name}.ttape"],
                       check=True, cwd=work, capture_output=True)
    return "libtracetape.3", [source], "0 outer\n0 inner\n1 inner\n1 outer\n"


def main():
    if os.environ.get("TTAPE_SANITIZE") or not (BUILD / "libtracetape.so").exists():
        print("SKIPPED: no shared library that a program of its own could be linked with")
        sys.exit(77)
    count = failures = 0
    with tempfile.TemporaryDirectory() as work:
        for name, sources, expected in [*examples(), of_manual(work)]:
            count += 1
            got = build_and_run(Path(work, name), sources, work)
            if got != expected:
                failures += 1
                print(f"{name} prints\n{got}instead of\n{expected}")
    print(f"examples: {'FAILED' if failures else 'ok'}, {count} programs")
    sys.exit(1 if failures else 0)


main()
