#!/usr/bin/env python3
"""`syscalls --by file`: files by path and by descriptor, through dup, numbers that are used again,
folders and forks; the operations, the code that they come from, errors by name; both engines."""
import json
import re
import sys
from pathlib import Path

import screen
import setting


def count(rows, file, call, function):
    """Calls and errors of a file, an operation and a function that led to it."""
    found = [row for row in rows if row["file"] == file and row["call"] == call and
             function in row["path"]]
    errors = {}
    for row in found:
        for name, number in row["errors"].items():
            errors[name] = errors.get(name, 0) + number
    return sum(row["calls"] for row in found), errors


WANTED = [("app.log", "openat", "main", 1, {}), ("app.log", "write", "writes", 7, {}),
          ("other", "write", "writes", 2, {}), ("app.log", "dup", "main", 1, {}),
          ("app.log", "close", "main", 1, {}), ("missing", "newfstatat", "asks", 5, {"ENOENT": 5}),
          ("folder", "mkdir", "asks", 1, {"EEXIST": 1}),
          ("folder", "openat", "reads_below", 1, {}),
          ("folder/inside", "openat", "reads_below", 1, {}),
          ("folder/inside", "read", "reads_below", 2, {}),
          ("folder/inside", "close", "reads_below", 1, {}),
          ("folder", "close", "reads_below", 1, {}), ("(socket)", "close", "main", 1, {}),
          ("(socket)", "newfstatat", "main", 1, {})]


def check_odd(checks, place):
    """An error that has no name is its number; of calls there are percentiles."""
    program = setting.build("p_odd_error.c", log=False, hooks=False)
    done = setting.run([setting.COMMAND, "syscalls", "--by", "file", "--engine", "ptrace", "--",
                        program], cwd=place)
    checks.equal(done.status, 0, "an odd error: status")
    checks.that("1 errno 777" in done.err.decode(), "an odd error is its number", done.err)
    program = setting.build("p_slow_once.c", log=False, hooks=False)
    for _ in range(10):  # a busy machine may wake most of its sleepers late
        setting.run([setting.COMMAND, "syscalls", "--json", "--report", "sizes.json", "--engine",
                     "ptrace", "--", program], cwd=place)
        rows = {row["call"]: row for row in json.loads((place / "sizes.json").read_text())["rows"]}
        sleeps = rows["clock_nanosleep"]
        if sleeps["p50_ns"] < 30_000_000:
            break
    checks.that(1_000_000 <= sleeps["p50_ns"] < 30_000_000 and 58_000_000 <= sleeps["p99_ns"] <=
                sleeps["sum"]["longest_ns"], "percentiles", sleeps)
    checks.that(sleeps["p50_ns"] <= sleeps["p95_ns"] <= sleeps["p99_ns"], "their order", sleeps)
    setting.run([setting.COMMAND, "syscalls", "--json", "--by", "file", "--report", "sizes.json",
                 "--", "dd", "if=/dev/zero", "of=copy", "bs=1", "count=50"], cwd=place)
    rows = json.loads((place / "sizes.json").read_text())["rows"]
    writes = [row for row in rows if row["call"] == "write" and row["file"].endswith("copy")]
    checks.that(len(writes) == 1 and writes[0]["calls"] == 50 and 0 < writes[0]["p50_ns"] <=
                writes[0]["p95_ns"] <= writes[0]["p99_ns"] <= writes[0]["longest_ns"],
                "percentiles of a file", writes)
    checks.that(all("p50_ns" not in row for row in rows if row["calls"] < 3), "of few none")


def check_decoded(checks, engine, trace):
    """`--list -y`: through copies, children and what is executed."""
    text = setting.tracetape("syscalls", "--list", "-y", trace).out.decode()
    for line, times in ((r"write\(\d+<app\.log>, ", 7), (r"read\(\d+<folder/inside>, ", 2),
                        (r'openat\(\d+<folder>, "inside", O_RDONLY\) = \d+<folder/inside>\n', 1),
                        (r"dup\(\d+<app\.log>\) = \d+<app\.log>\n", 1),
                        (r"pipe2?\(\[\d+<pipe>, \d+<pipe>\]", 1),
                        (r"close\(\d+<socket>\) = 0\n", 1), (r"close\(\d+<other>\) = 0\n", 1),
                        (r"fcntl\(\d+, F_GETFD\) = -1 EBADF", 2),
                        (r"fcntl\(\d+<app\.log>, F_GETFD\) = 0\n", 1)):
        checks.equal(len(re.findall(r"\texit\t" + line, text)), times, f"{engine} -y: {line}")
    only = setting.tracetape("syscalls", "--list", "-y", "--calls", "read", trace).out.decode()
    checks.equal(only.count("<folder/inside>"), 4, f"{engine} -y: of some calls")
    checks.that("<" not in setting.tracetape("syscalls", "--list", trace).out.decode(), "not asked")


def check_paths(checks, place, program):
    """What a path ends with is seen on a narrow terminal."""
    setting.run([setting.COMMAND, "record", "-q", "-f", "--syscalls", "-o", place / "p.ttape", "--",
                 program], cwd=place)
    lines = screen.look("syscalls", "--by", "path", place / "p.ttape")
    checks.that(screen.has(lines, r" asks > (\w+ > )*mkdir$"), "the end of a path", lines)


def main():
    setting.need_syscalls()
    checks = setting.Checks("files of code")
    program = setting.build("p_files_of_code.c", flags=("-O1",), log=False, hooks=False)
    with setting.work_dir() as folder:
        place = Path(folder)
        (place / "folder").mkdir()
        (place / "folder" / "inside").write_bytes(b"abc")
        for engine in ("in-process", "ptrace"):
            done = setting.run([setting.COMMAND, "syscalls", "--by", "file", "--json", "--engine",
                                engine, "--report", "found.json", "-o", f"{engine}.ttape",
                                "--", program], cwd=place)
            checks.equal(done.status, 0, f"{engine}: status")
            told = json.loads((place / "found.json").read_text())
            for file, call, function, calls, errors in WANTED:
                checks.equal(count(told["rows"], file, call, function), (calls, errors),
                             f"{engine}: {call} of {file}")
            files = {row["file"] for row in told["rows"]}
            checks.that(not files & {"", "(descriptor -1)"}, "memory is no file", files)
            done = setting.run([setting.COMMAND, "syscalls", "--by", "file", "--failed", "--calls",
                                "%file", "--engine", engine, "--report", "found.txt", "--",
                                program], cwd=place)
            checks.equal(done.status, 0, f"{engine}: status of what failed")
            text = (place / "found.txt").read_text()
            checks.that("5 ENOENT" in text and "1 EEXIST" in text and "app.log" not in text,
                        f"{engine}: what failed", text)
            check_decoded(checks, engine, place / f"{engine}.ttape")
        check_odd(checks, place)
        check_paths(checks, place, program)
    checks.equal(setting.tracetape("syscalls", "-y", "x.ttape").status, 2, "-y without --list")
    for words in (["--list"], ["--path", "/"], ["--through", "main"]):
        done = setting.tracetape("syscalls", "--by", "file", *words, "x.ttape")
        checks.equal(done.status, 2, f"--by file {words}")
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
