#!/usr/bin/env python3
"""The agent of programs that are attached to, as it was built: no undefined symbol, no relocation,
no vector or x87 register, no thread-local storage, and system calls in its beginning only."""
import os
import re
import subprocess
import sys
from pathlib import Path

AGENT = Path(os.environ["TTAPE_BUILD"]) / "agent.elf"
# those that map the arena: two of each of the helper's and the last one
BEGINNING = {"ttp_agent_begin", "ttp_agent_map", "call_system", "map_file", "map_arena", "wipe"}
VECTORS = re.compile(r"%[xyz]mm\d|%st\b|%k[0-7]|\bf(?:ld|st|xsave|xrstor)|xsave|ldmxcsr")


def say(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def functions():
    """Lines of code by function."""
    found, name = {}, None
    for line in say("objdump", "-d", "--no-show-raw-insn", AGENT).splitlines():
        head = re.match(r"[0-9a-f]+ <([^>]+)>:", line)
        name = head[1].split(".")[0] if head else name
        if name not in (None, "__ehdr_start") and not head and "\t" in line:  # a head is no code
            found.setdefault(name, []).append(line.split("\t", 1)[1])
    return found


def main():
    if not AGENT.is_file():
        print("SKIPPED: there is no agent in this build")
        sys.exit(77)
    code = functions()
    problems = [f"undefined: {line}" for line in say("nm", "-u", AGENT).splitlines()]
    if "no relocations" not in say("readelf", "-r", AGENT):
        problems.append("it has relocations")
    if re.search(r"\.(?:tdata|tbss|init_array|ctors)\b", say("readelf", "-SW", AGENT)):
        problems.append("it has thread-local storage, or something to begin by itself")
    for name, lines in code.items():
        for line in lines:
            if re.match(r"(?:syscall|sysenter|int )", line) and name not in BEGINNING:
                problems.append(f"{name}: {line}")
            if VECTORS.search(line) and not line.startswith("movsd"):
                problems.append(f"{name}: {line}")
            if "%fs:" in line and "%fs:0x0" not in line:
                problems.append(f"{name}: {line}")
    if "ttp_probe_enter" not in code or "ttp_probe_exit" not in code:
        problems.append("it has no hooks")
    for problem in problems:
        print(problem)
    print(f"agent: {'FAILED' if problems else 'ok'}, {len(code)} functions")
    sys.exit(1 if problems else 0)


main()
