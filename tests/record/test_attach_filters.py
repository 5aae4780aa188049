#!/usr/bin/env python3
"""A process that is attached to is recorded by the rules of a filter, its conditions on times
included, and triggers end the recording. A library of its own is part of it; --module chooses."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

COMMAND = os.environ["TTAPE_BIN"]
WORK = Path(tempfile.mkdtemp())
LIBRARY = r"""
volatile int sum;
__attribute__((noinline)) int leaf(int n) { return sum += n; }
"""
PROGRAM = r"""
#include <unistd.h>
int leaf(int n);
__attribute__((noinline)) int work(int n) { return leaf(n) + 1; }
__attribute__((noinline)) int other(int n) { return leaf(n) - 1; }
int main(void)
{
    char byte;
    while (read(0, &byte, 1) == 1)
        for (int i = 0; i < 20; i++) {
            work(i);
            other(i);
        }
    return 0;
}
"""


def attach(program, *options, ends="other"):
    """What is recorded of a hundred rounds, by function; the trigger ends the recording."""
    trace = WORK / "t.ttape"
    process = subprocess.Popen([program], stdin=subprocess.PIPE)
    recorder = subprocess.Popen(
        [COMMAND, "attach", "--force", "-o", trace, "--on", f"{ends} times 1000 do finish",
         *options,
         str(process.pid)], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while recorder.poll() is None:
        process.stdin.write(b"x")
        process.stdin.flush()
    said = recorder.stderr.read()
    process.stdin.close()
    assert process.wait(timeout=60) == 0, said
    if "rdfsbase" in said or "forbids" in said:
        print(f"SKIPPED: {said.strip()}")
        sys.exit(77)
    assert recorder.returncode in (0, 3), said
    report = subprocess.run([COMMAND, "report", "--json", trace], check=True, capture_output=True,
                            text=True)
    return {row["name"]: row["calls"] for row in json.loads(report.stdout)["rows"]}


def main():
    flags, library, program = ["-g", "-O1", "-fno-optimize-sibling-calls"], "libleaf.so", WORK / "p"
    (WORK / "l.c").write_text(LIBRARY)
    (WORK / "p.c").write_text(PROGRAM)
    subprocess.run(["cc", *flags, "-shared", "-fPIC", "-o", library, "l.c"], check=True, cwd=WORK)
    subprocess.run(["cc", *flags, "-o", program, "p.c", library, "-Wl,-rpath,$ORIGIN"], check=True,
                   cwd=WORK)
    for text, wanted in (("leaf", {"leaf"}), ("below work", {"work", "leaf"}),
                         ("!leaf", {"work", "other"}), ("to work > 0ns", {"work"}),
                         ("below work < 100s; !leaf", {"work"})):
        found = attach(program, "--filter", text)
        # calls that were open when their code was changed are seen in part
        many = {name for name, calls in found.items() if calls > 10}
        assert many - {"main", "read", "(the recorder)"} == wanted, (text, found)
    found = attach(program, "--module", "/libleaf", ends="leaf")
    assert set(found) - {"(the recorder)"} == {"leaf"}, found
    print("filters of what is attached to: ok")


main()
