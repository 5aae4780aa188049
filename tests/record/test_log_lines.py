#!/usr/bin/env python3
"""`record --log-fd` and `context --annotate LOG --recording TRACE`, of a program whose log knows
nothing of context values: a line that was written alone is likely its printer's; several lines, and
parts of one, were written by somebody, and printed by nobody; with --libcalls a line is its stdio
call's. Lines of others in the log, threads, and spdlog's asynchronous logger are told apart."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOOL = os.environ["TTAPE_BIN"]
PROGRAMS = os.path.join(os.environ["TTAPE_SRC"], "tests", "record", "programs")
failures = []


def fail(what, why):
    failures.append(f"{what}: {why}")


def run(*command, **how):
    done = subprocess.run(command, capture_output=True, check=False, timeout=120, **how)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def record(folder, program, *options, arguments=()):
    trace = os.path.join(folder, "run.ttape")
    status, out, messages = run(TOOL, "record", "-f", "-q", "-o", trace, *options, "--",
                                program, *arguments)
    if status:
        fail(" ".join(options), f"exit {status}: {messages}")
    return trace, out


def annotate(folder, trace, log, wanted=0):
    path = os.path.join(folder, "app.log")
    with open(path, "wb") as file:
        file.write(log)
    status, out, messages = run(TOOL, "context", "--recording", trace, "--annotate", path)
    if status != wanted:
        fail("annotate", f"exit {status}: {messages}")
    lines = out.decode().splitlines()
    bare = "".join(re.sub(r" \{(?:likely printed|written) by: .*\}$", "", line) + "\n"
                   for line in lines)
    if bare.encode() != log:
        fail("annotate", "the log's own bytes have changed")
    return lines, messages


def meaning(line):
    found = re.search(r" \{(likely printed|written) by: (.*)\}$", line)
    return (found[1], found[2].split(" > ")) if found else (None, [])


def check_plain(folder, program):
    trace, out = record(folder, program, "--log-fd", "1")
    plain = run(program)[1]
    if sorted(plain.splitlines()) != sorted(out.splitlines()):
        fail("plain", "the recorded program prints something else")
    head = b"a line of another program\n\nand one more: no write is it\n"
    lines, messages = annotate(folder, trace, head + out + b"the end\n")
    if messages or any(meaning(line)[0] for line in lines[:3] + lines[-1:]):
        fail("plain", f"{messages} {lines[:3]}")
    count = 0
    for line in lines[3:-1]:
        name = line.split()[0]
        how, stack = meaning(line)
        if name in ("one_line", "long_line"):
            if how != "likely printed" or stack[-1] != name or stack[0] not in ("main", "thread"):
                fail("plain", line)
            if re.match(r"one_line 1\d\d\d ", line) and stack[0] != "thread":
                fail("plain", line)
        elif how != "written" or (name in ("several", "halves") and stack != ["main", name]) or \
                (name not in ("several", "halves") and stack != ["main"]):
            fail("plain", line)
        count += 1
    if count != 5 + 1 + 2 + 1 + 4 + 100:
        fail("plain", f"{count} lines")
    cut, messages = annotate(folder, trace, out[len(out) // 2:])
    if "writes of" not in messages or not all(meaning(line)[0] for line in cut[2:]):
        fail("a log of which the first half is gone", messages)


def check_stdio(folder, program):
    """As many calls of stdio as lines: each line is its call's."""
    trace, out = record(folder, program, "--log-fd", "1", "--libcalls")
    lines, _ = annotate(folder, trace, out)
    for line in lines:
        name = line.split()[0]
        how, stack = meaning(line)
        if name in ("buffered", "more_buffered") and (how != "likely printed" or
                                                      name not in stack):
            fail("stdio", line)
        elif name in ("several", "halves") and how != "written":
            fail("stdio", line)


def check_patched(folder):
    """Without hooks functions are patched, as without --log-fd."""
    program = os.path.join(folder, "patched")
    subprocess.run(["gcc", "-O1", "-g", "-pthread", "-o", program,
                    os.path.join(PROGRAMS, "log_lines.c")], check=True)
    trace, out = record(folder, program, "--log-fd=1")
    lines, _ = annotate(folder, trace, out)
    printed = [line for line in lines if meaning(line)[0] == "likely printed" and
               "one_line" in meaning(line)[1] and line.startswith("one_line ")]
    if len(printed) < 100:
        fail("without hooks", f"{len(printed)} of 105 lines: {lines[:4]}")


def check_others(folder, program):
    """A descriptor that was not chosen has nothing."""
    trace, out = record(folder, program, "--log-fd", "5,63", "--syscalls=write")
    lines, _ = annotate(folder, trace, out)
    if any(meaning(line)[0] for line in lines):
        fail("another descriptor", f"{lines[:3]}")
    for text in ("64", "", "1,", "x", "1;2"):
        status, _, messages = run(TOOL, "record", "--log-fd", text, "-o", trace, "--", program)
        if status != 2:
            fail(f"--log-fd '{text}'", f"exit {status}: {messages}")


def check_async(folder):
    """The logger's thread writes: it is never said to have printed more than one whole line."""
    source = os.path.join(PROGRAMS, "log_async.cpp")
    program, log = os.path.join(folder, "async"), os.path.join(folder, "async.log")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "spdlog"], capture_output=True,
                           text=True, check=False)
    if flags.returncode or not shutil.which("g++"):
        print("spdlog is missing (scripts/setup --slow installs it): its logger is left out")
        return
    subprocess.run(["g++", "-O1", "-g", "-finstrument-functions",
                    "-finstrument-functions-exclude-file-list=/usr/include", "-o", program, source,
                    *flags.stdout.split(), "-pthread"], check=True)
    trace, _ = record(folder, program, "--log-fd", "3,4,5,6,7,8,9", arguments=[log])
    with open(log, "rb") as file:
        lines, _ = annotate(folder, trace, file.read())
    if len(lines) != 20:
        fail("async", f"{len(lines)} lines")
    for line in lines:
        if meaning(line)[0] == "likely printed" or "asks" in meaning(line)[1]:
            fail("async", line)


def main():
    if os.environ.get("TTAPE_SANITIZE"):
        print("SKIPPED: a preloaded runtime and a sanitizer's cannot be in one process")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="ttlines") as folder:
        os.environ["XDG_CACHE_HOME"] = folder # plans are this test's own
        program = os.path.join(folder, "log_lines")
        subprocess.run(["gcc", "-O1", "-g", "-pthread", "-finstrument-functions", "-o", program,
                        os.path.join(PROGRAMS, "log_lines.c")], check=True)
        check_plain(folder, program)
        check_stdio(folder, program)
        check_patched(folder)
        check_others(folder, program)
        check_async(folder)
    for failure in failures[:20]:
        print(failure)
    print(f"log lines: {'FAILED' if failures else 'ok'}")
    sys.exit(bool(failures))


main()
