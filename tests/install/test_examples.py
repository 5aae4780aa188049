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
TRACES = {"slowest": ["run.ttape"], "whocalls": ["run.ttape"],
          "compare": ["run.ttape", "other.ttape"]}  # of programs that read them
LOGS = ("logs", "postbox")  # test_log_headers.py
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
    run = subprocess.run([program, *TRACES.get(program.name, [])],
                         capture_output=True, text=True, check=False, cwd=folder)
    return run.stdout if run.returncode == 0 else f"it ends with {run.returncode}:\n{run.stderr}"


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
