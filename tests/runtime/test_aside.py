#!/usr/bin/env python3
"""Each hook looks at the mode before it looks at its thread: in a process with threads that are not
the C library's, whose mode is "stopped", none reads anything by such a thread's pointer
(recorder/runtime/process/aside.c)."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

BUILD = Path(os.environ.get("TTAPE_BUILD", "build/release"))
LIBRARY = BUILD / "libtracetape-rt.so.0"
HOOKS = ("__cyg_profile_func_enter", "__cyg_profile_func_exit", "ttp_probe_enter",
         "ttp_library_enter", "ttape_rt_block", "ttape_rt_enter", "ttape_rt_exit",
         "ttape_rt_scope_enter", "ttape_rt_scope_exit", "ttape_rt_mark", "ttape_rt_mark_string")
ENTRIES = 8  # of stubs' kinds, at least: patch/probe_entry.c
MODE = 56  # of the arena's head: recording.md, 2.1


def functions():
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", LIBRARY], check=True,
                          capture_output=True, text=True).stdout
    found, name = {}, None
    for line in text.splitlines():
        head = re.match(r"[0-9a-f]+ <(.+)>:$", line)
        if head:
            name = head[1]
            found[name] = []
        elif name and "\t" in line:
            address, words = line.split("\t", 1)
            found[name].append((int(address.strip(" :"), 16), words))
    return found


def hooks(code):
    """Those that are exported, and what the entries of stubs call."""
    found = set()
    for name, lines in code.items():
        if name.endswith("_entry"):
            found |= {m[1] for _, words in lines
                      for m in [re.match(r"call\s+[0-9a-f]+ <(\w+)>", words)] if m}
    return found


def arena():
    for line in subprocess.run(["nm", LIBRARY], check=True, capture_output=True,
                               text=True).stdout.splitlines():
        words = line.split()
        if words[-1] == "ttp_arena":
            return int(words[0], 16)
    return 0


def problem(name, code, places):
    """What a way through the hook meets first: a comparison with the mode, or the thread."""
    index, by_address = 0, {address: i for i, (address, _) in enumerate(code)}
    for _ in range(len(code)):
        address, words = code[index]
        if any(f"{place:x} <" in words for place in places) and "cmp" in words:
            return None
        if re.search(rf"cmp\w*\s+\$0x1,0x{MODE:x}\(%\w+\)", words):
            return None
        if "%fs:" in words:
            return f"{name}: {address:x}: {words} before the mode"
        if words.startswith("ret"):
            return None
        jump = re.match(r"jmp\s+([0-9a-f]+) <(.+)>", words)
        if jump and int(jump[1], 16) in by_address:
            index = by_address[int(jump[1], 16)]
        elif jump or index + 1 >= len(code):
            return None  # into another hook, which is looked at itself
        else:
            index += 1
    return f"{name}: no comparison with the mode is found"


def main():
    if os.environ.get("TTAPE_SANITIZE") or not LIBRARY.exists() or not shutil.which("objdump"):
        print("SKIPPED: the preloaded runtime is not in this build, or there is no objdump")
        sys.exit(77)
    code, at = functions(), arena()
    stubs = hooks(code)
    problems = [f"{name}: not there" for name in HOOKS if name not in code]
    problems += [f"{len(stubs)} entries of stubs"] if len(stubs) < ENTRIES else []
    names = sorted({*HOOKS, *stubs} & set(code))
    problems += [problem(name, code[name], {at + MODE}) for name in names]
    problems = [text for text in problems if text]
    print("\n".join(problems) or f"{len(names)} hooks: the mode first")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
