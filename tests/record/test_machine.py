#!/usr/bin/env python3
"""A recording says where it was made, and what its command took as the kernel counts it, whichever
way it is recorded; info shows both."""
import json
import os
import subprocess
import tempfile
from pathlib import Path

COMMAND = os.environ["TTAPE_BIN"]
WORK = Path(tempfile.mkdtemp())
PROGRAM = r"""
#include <stdlib.h>
#define SIZE (64 << 20)
int main(void)
{
    volatile char *bytes = malloc(SIZE);
    for (int i = 0; i < 4; i++)
        for (int at = 0; at < SIZE; at += 64)
            bytes[at] = (char)(i + at);
    return bytes[64] == 1;
}
"""


def run(*arguments):
    done = subprocess.run([str(each) for each in arguments], capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL, timeout=120)
    assert done.returncode == 0, (arguments, done)
    return done.stdout


def check(name, *options):
    trace = WORK / f"{name}.ttape"
    run(COMMAND, "record", "--quiet", *options, "-o", trace, WORK / "program")
    info = json.loads(run(COMMAND, "info", "--json", trace))
    said = {each["key"]: each["value"] for each in info["metadata"]}
    for key in ("cpus", "memory_bytes", "memory_free_bytes"):
        assert int(said[key]) > 0, (name, key, said)
    assert int(said["memory_free_bytes"]) <= int(said["memory_bytes"]), said
    assert len(said["load"].split()) == 3, said
    assert int(said["max_rss_bytes"]) > 64 << 20, (name, said)
    assert int(said["minor_faults"]) > 0, (name, said)
    assert int(said["user_ns"]) + int(said["system_ns"]) > 0, (name, said)
    for key in ("major_faults", "voluntary_switches", "involuntary_switches",
                "blocks_read", "blocks_written"):
        assert int(said[key]) >= 0, (name, key, said)
    text = run(COMMAND, "info", trace)
    assert f"{said['cpus']} processor" in text and f"load {said['load']}" in text, text
    assert "MiB at most" in text and "page faults" in text, text


def main():
    source = WORK / "program.c"
    source.write_text(PROGRAM)
    run("cc", "-O1", "-g", "-finstrument-functions", "-o", WORK / "program", source)
    check("hooks", "--no-patch")
    check("patched")
    check("traced", "--engine", "ptrace", "--syscalls")
    print("machine: ok")


main()
