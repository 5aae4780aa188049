#!/usr/bin/env python3
"""mini_reader against the test vectors and against `tracetape dump`, on vectors and fresh traces.

Every file in spec/vectors/ is read by mini_reader (written from the specification alone): its CSV
must be the vector's, and what `$TTAPE_BIN dump --format csv` prints; a valid file must have no
findings, an invalid one some. Fresh traces are made by `$TTAPE_BIN convert` from text
(spec/raw-text.md). What is absent is skipped loudly; exit 77 when nothing could be compared.
"""
import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import mini_reader
from xxh3 import xxh3_64

SOURCE = pathlib.Path(os.environ.get("TTAPE_SRC", pathlib.Path(__file__).parents[2]))
BIN = os.environ.get("TTAPE_BIN", "")
OPTIONS = ([], ["--level", "0"], ["--level", "1"], ["--level", "9"], ["--resolution", "none"],
           ["--resolution", "64ns"], ["--partition-events", "100"],
           ["--level", "0", "--partition-events", "7"])

PLAIN = "0 1 enter main\n5 1 enter work\n9 1 exit\n12 1 exit\n"
EVERY_KIND = """process 7 prog
thread 7 70 main
thread 7 71 "second, thread"
symbol 0x1000 main
symbol 0x1010 "a,\\"b\\" \\x01\\\\" file.c:3
symbol 0x1020 block kind=block
symbol 0x1030 write kind=syscall
0 70 open outer
1 70 enter 0x1000
2 71 enter 0x1010 1 -2 0x3 0.5 null hex:00ff "text"
3 70 block 0x1020
4 70 syscall 0x1030
5 70 signal 11
6 70 enter 0x1010
7 70 exit
8 70 signal-end 11
9 70 gap 17 overflow
10 70 enter 0x1010
11 70 unwind 1
12 70 switch 3
13 70 enter 0x1010
14 70 switch 0
15 70 exit 0x1000
14 70 marker m depth=9
16 71 exit never-entered
90000000000 71 exit - 5
"""


def loops():
    """Two threads with loops, recursion and a clock that is not quite regular."""
    time, lines, seed = 1000, [], 1
    for turn in range(160):
        for tid in (1, 2):
            lines.append(f"{time} {tid} enter loop{turn % 3}")
            for depth in range(turn % 7):
                seed = seed * 1103515245 + 12345 & 0x7FFFFFFF
                time += seed >> 20
                lines.append(f"{time} {tid} enter f{depth * tid % 5}")
            for _ in range(turn % 7 + 1):
                time += 3 + turn % 2
                lines.append(f"{time} {tid} exit")
    return "\n".join(lines) + "\n"


CALLS = """1 1 enter main
2 1 syscall-enter read path="main;f(int, int);\\"quoted\\";0x1010" 3
3 1 syscall-exit - -11
4 1 syscall-enter write path=-;main;work
5 1 syscall-enter poll path=-;main;work;write
6 1 syscall-exit
7 1 syscall-exit
8 1 syscall-enter read path="main;f(int, int);\\"quoted\\";0x1010" 4
9 1 syscall-enter getpid
10 1 syscall-exit getpid
"""
TEXTS = {"plain": PLAIN, "every-kind": EVERY_KIND, "loops": loops(), "empty": "", "calls": CALLS}


class Results:
    def __init__(self):
        self.compared = self.failed = self.skipped = self.other_rules = 0

    def fail(self, name, text):
        self.failed += 1
        print(f"FAIL {name}: {text}")

    def skip(self, text):
        self.skipped += 1
        print(f"SKIPPED: {text}")


def run_mini(path, *flags):
    """(exit status, text on standard output) of mini_reader, within this process."""
    class Out(io.StringIO):
        def reconfigure(self, **_):
            pass
    out, err = Out(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = mini_reader.main([str(path), *flags])
    return status, out.getvalue().encode("utf-8", "surrogateescape")


def check_rules(results, path, is_valid):
    """Of files that are valid, each third in the gate: it takes as long as reading them."""
    if is_valid and results.compared % 3 and os.environ.get("TTAPE_THOROUGH") != "1":
        return 0, b""
    return run_mini(path, "--check")


def dump(path, *options):
    done = subprocess.run([BIN, "dump", "--format", "csv", *options, str(path)],
                          capture_output=True, check=False)
    return done.stdout


def first_difference(ours, theirs):
    ours, theirs = ours.split(b"\n"), theirs.split(b"\n")
    for number, (a, b) in enumerate(zip(ours, theirs)):
        if a != b:
            return f"line {number + 1}: {a!r}, not {b!r}"
    return f"{len(ours)} lines, not {len(theirs)}"


def check_vector(results, path):
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    name = path.stem
    status, ours = run_mini(path)
    checked, findings = check_rules(results, path, expected["status"] == "TTAPE_OK")
    rules = [line.split(":")[0] for line in findings.decode("utf-8", "replace").splitlines()]
    results.compared += 1
    if expected["status"] == "TTAPE_OK" and checked:
        results.fail(name, f"findings in a valid file: {findings[:200]!r}")
    if expected["status"] != "TTAPE_OK":
        if checked == 0:
            results.fail(name, f"nothing found, {expected['rule']} is broken")
        elif expected["rule"] not in rules:      # which rule is met first is a reader's own
            results.other_rules += 1
    if "csv" in expected and not expected["rule"].startswith("F-IDX"):
        # a scan reads everything behind a wrong index, a reader by the index does not
        want = expected["csv"].encode("utf-8")
        if ours != want:
            results.fail(name, "csv: " + first_difference(ours, want))
    elif "csv_xxh3" in expected and f"{xxh3_64(ours):016x}" != expected["csv_xxh3"]:
        results.fail(name, f"csv has another hash (status {status})")
    if BIN and expected["valid"]:
        theirs = dump(path)
        if ours != theirs:
            results.fail(name, "dump: " + first_difference(ours, theirs))
        if name.startswith("paths"):
            check_paths(results, name, path)


def check_paths(results, name, path):
    ours, theirs = run_mini(path, "--paths")[1], dump(path, "--paths")
    if ours != theirs or b";" not in ours:
        results.fail(name, "paths: " + first_difference(ours, theirs))


def check_text(results, folder, name, text, options):
    path = folder / "fresh.ttape"
    done = subprocess.run([BIN, "convert", "-", "--force", "-o", str(path), *options],
                          input=text.encode(), capture_output=True, check=False)
    name = f"{name} {' '.join(options)}"
    if done.returncode:
        results.fail(name, f"convert: {done.returncode} {done.stderr[:200]!r}")
        return
    results.compared += 1
    status, ours = run_mini(path)
    theirs = dump(path)
    if status or ours != theirs:
        results.fail(name, f"status {status}, dump: " + first_difference(ours, theirs))
    checked, findings = check_rules(results, path, True)
    if checked:
        results.fail(name, f"findings: {findings[:300]!r}")
    if "path=" in text:
        check_paths(results, name, path)


def main():
    results = Results()
    vectors = sorted((SOURCE / "spec" / "vectors").glob("*.ttape"))
    if os.environ.get("TTAPE_QUICK") == "1":
        vectors = vectors[1::3]  # others than test_vector_tools.py takes
    if not vectors:
        results.skip("no files in spec/vectors")
    for path in vectors:
        if path.with_suffix(".json").exists():
            check_vector(results, path)
        else:
            results.skip(f"{path.name} has no expectation")
    if not BIN or not os.access(BIN, os.X_OK):
        results.skip("no TTAPE_BIN: nothing is compared with dump")
    else:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in TEXTS.items():
                for options in OPTIONS:
                    check_text(results, pathlib.Path(folder), name, text, options)
    print(f"{results.compared} files compared, {results.failed} failures, {results.skipped} "
          f"skipped, {results.other_rules} invalid files with a rule other than the vector's")
    if results.failed:
        return 1
    return 0 if results.compared else 77


if __name__ == "__main__":
    sys.exit(main())
