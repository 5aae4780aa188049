#!/usr/bin/env python3
"""record --patch --plan: a program whose instructions we wrote, one program that is built in six
ways, and what Debian installs; where objdump says that instructions begin, and branches lead."""
import bisect
import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from patch_plan_code import CODE, EXPECTED

BIN = os.environ["TTAPE_BIN"]
SRC = os.environ["TTAPE_SRC"]
CC = os.environ.get("TTAPE_CC", "cc")
THOROUGH = os.environ.get("TTAPE_THOROUGH") == "1"

PROGRAM = """
#include <stdio.h>
static volatile int sum;
int leaf(int n) { return n * 3 + 1; }
int middle(int n) { int all = 0; for (int i = 0; i < n; i++) all += leaf(i); return all; }
int choose(int n) { return n == 0 ? leaf(1) : n == 1 ? middle(2) : leaf(n) + middle(n); }
void set(int n) { sum = n; }
int main(int count, char **words)
{
    (void)words;
    set(choose(count));
    return printf("%d\\n", sum) < 0;
}
"""
BUILDS = {
    "hooks": ["-finstrument-functions"],
    "plain": [],
    "debug": ["-O0"],
    "pg": ["-pg"],
    "fentry": ["-pg", "-mfentry"],
    "patchable": ["-fpatchable-function-entry=5"],
    "xray": ["-fxray-instrument", "-fxray-instruction-threshold=1"],
}


def plan(path, pattern="."):
    done = subprocess.run([BIN, "record", "--patch", pattern, "--plan", "--json", "--", path],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if "decodes no instructions" in done.stderr:
        print("SKIPPED: built without Zydis")
        sys.exit(77)
    assert done.returncode == 0, (path, done.stderr)
    return json.loads(done.stdout)


def said(probe):
    can = probe["reason"] == "can"
    return probe["kind"] if can else f"{probe['kind']}:{probe['reason']}"


def check_own(folder):
    with open(f"{folder}/code.s", "w") as out:
        out.write(CODE)
    path = f"{folder}/code.so"
    subprocess.run([CC, "-shared", "-nostdlib", "-Wl,--build-id=sha1", "-Wl,-Bsymbolic", "-o",
                    path, f"{folder}/code.s"], check=True)
    found = plan(path)
    functions = {f["name"]: f for f in found["functions"]}
    assert functions.keys() == EXPECTED.keys(), functions.keys() ^ EXPECTED.keys()
    for name, (entry, exits) in EXPECTED.items():
        probes = functions[name]["probes"]
        assert probes[0]["reason"] == entry, (name, probes[0])
        assert [said(p) for p in probes[1:]] == exits, (name, [said(p) for p in probes], probes)
    one = {name: f["probes"] for name, f in functions.items()}
    start = {name: f["start"] for name, f in functions.items()}
    assert one["plain"][0]["original"] == "534889fb488d4307"[:2 * one["plain"][0]["window_bytes"]]
    assert one["plain"][1]["original"][:2] == "c3" and one["plain"][1]["window_bytes"] == 5
    entry, leave = one["short"]
    assert entry["address"] == leave["address"] == start["short"] and entry["after"] == ""
    assert (leave["before"], leave["after"]) == ("8d4701", "c3")
    assert one["marked"][0]["address"] == start["marked"] + 4
    assert one["tight"][0]["fixups"][0]["at"] == 2
    assert one["tight"][1]["original"] == "83c008ffc0c3"
    taken = one["tail"][1]
    assert taken["original"].startswith("0f84") and taken["after"] == "e900000000"
    assert taken["fixups"] == [{"at": 1, "tail": 4, "target": start["short"]}]
    moved = one["calls"][0]
    assert moved["pushes"] and moved["window_bytes"] == 9 and not one["plain"][0]["pushes"]
    assert (moved["before"], moved["after"]) == ("4883ec08", "e900000000")
    assert [f["target"] for f in moved["fixups"]] == [start["short"]]
    assert (one["through"][0]["before"], one["through"][0]["after"]) == ("534889fb", "ff6708")
    near, host = one["ending"][1:]
    assert near["original"] == "c9c3" and (near["before"], near["after"]) == ("c9", "c3")
    assert near["jump"] == host["address"] + 5 and host["window_bytes"] >= 10
    assert all(p["jump"] == p["address"] for p in one["plain"])
    assert one["cold"][2]["address"] < start["plain"] or one["cold"][2]["address"] > start["cold"]
    assert found["chosen_functions"] == len(EXPECTED)
    assert plan(path, "^c")["chosen_functions"] == 2
    check_windows(path, found)


def calls(folder, name):
    """How often a recording says that the program's own functions were called."""
    subprocess.run([BIN, "record", "-q", "--patch", ".", "-o", f"{name}.ttape", "--", f"./{name}",
                    "a", "b", "c"], stdout=subprocess.DEVNULL, check=True, cwd=folder)
    text = subprocess.run([BIN, "report", "--json", f"{name}.ttape"], stdout=subprocess.PIPE,
                          check=True, cwd=folder).stdout
    return {row["name"]: row["calls"] for row in json.loads(text)["rows"]
            if row["name"] in ("main", "leaf", "middle", "choose", "set")}


def check_builds(folder):
    with open(f"{folder}/program.c", "w") as out:
        out.write(PROGRAM)
    counts = {}
    common = ["-O2", "-fno-inline", "-fno-optimize-sibling-calls", "-Wl,--build-id=sha1"]
    for name, options in BUILDS.items():
        path, compiler = f"{folder}/{name}", "clang" if name == "xray" else CC
        if name == "xray" and shutil.which("clang") is None:
            continue
        subprocess.run([compiler, *common, *options, "-o", path, f"{folder}/program.c"], check=True)
        functions = {f["name"]: f["probes"] for f in plan(path)["functions"]}
        for function in ("leaf", "middle", "choose", "set", "main"):
            probes = functions[function]
            wanted = "hooked" if name == "hooks" else "can"
            assert probes[0]["reason"] == wanted, (name, function, probes[0])
            assert name == "hooks" or len(probes) > 1, (name, function)
            left = [p for p in probes[1:] if p["reason"] != "can"] # one with a call in front
            assert not left or function in ("choose", "main"), (name, function, left)
            is_pad = probes[0].get("pad", False)
            assert is_pad == (name in ("patchable", "xray")), (name, function, probes[0])
            assert name != "fentry" or probes[0]["pushes"], (name, probes[0])
        counts[name] = calls(folder, name)
    assert all(c == counts["hooks"] for c in counts.values()), counts


def listing(path):
    """Instructions, as objdump has them: length and words; and where direct branches lead."""
    text = subprocess.run(["objdump", "-d", "--wide", path], stdout=subprocess.PIPE, check=True,
                          text=True).stdout
    found, targets = {}, set()
    for line in re.finditer(r"^ *([0-9a-f]+):\t([0-9a-f ]+)\t([^\n]*)", text, re.MULTILINE):
        found[int(line[1], 16)] = (len(line[2].split()), line[3])
        branch = re.match(r"(?:\w+ )?(?:j\w+|call|loop\w*|xbegin)\s+([0-9a-f]+)\b", line[3])
        if branch:
            targets.add(int(branch[1], 16))
    return found, targets


def check_windows(path, found):
    """Whole instructions, of one function, that nothing leads into; and none overlaps another."""
    instructions, targets = listing(path)
    starts = sorted(f["start"] for f in found["functions"])
    ends = sorted(targets)
    taken, count = [], 0
    for function in found["functions"]:
        for number, probe in enumerate(p for p in function["probes"] if p["reason"] == "can"):
            window = range(probe["address"], probe["address"] + probe["window_bytes"])
            at = window.start
            while at < window.stop:
                length, words = instructions[at]
                at += length
            is_fill = re.match(r"(data16 |cs )*(nop|int3|xchg +%ax|jmp)", words)
            assert at == window.stop or is_fill, \
                (path, function["name"], probe, words)
            into = bisect.bisect_right(ends, window.start)
            assert into == len(ends) or ends[into] >= window.stop, (path, probe, hex(ends[into]))
            other = bisect.bisect_right(starts, window.start)
            assert other == len(starts) or starts[other] >= window.stop, (path, probe)
            if number != 1 or window.start != taken[-1].start:
                taken.append(window)
            count += 1
    taken.sort(key=lambda w: w.start)
    for one, next_one in zip(taken, taken[1:]):
        assert one.stop <= next_one.start, (path, one, next_one)
    return count


def uftrace_share(folder, path):
    """The share of functions that uftrace -P patches, in percent; None: it does not say."""
    if shutil.which("uftrace") is None:
        return None
    try:
        done = subprocess.run(["uftrace", "record", "--force", "-P", ".", "-v", "-d",
                               f"{folder}/uftrace", path], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return None
    found = re.search(r"patched: +[0-9]+ +[(]([0-9.]+)%", done.stdout)
    return float(found[1]) if found else None


def check_small(folder):
    """Code that is to be small has no padding behind returns, and returns that branches lead to."""
    sources = sorted(glob.glob(f"{SRC}/examples/minilang/*.c"))
    for options in (["-Os"], ["-Os", "-fno-inline"]):
        path = f"{folder}/small"
        subprocess.run([CC, "-g", *options, "-Wl,--build-id=sha1", "-o", path, *sources, "-lm"],
                       check=True)
        found = plan(path)
        share = 100 * found["patched_functions"] / found["chosen_functions"]
        whole = 100 * found["functions_with_all_exits"] / found["patched_functions"]
        theirs = uftrace_share(folder, path)
        print(f"{CC} {' '.join(options)}: {share:.2f} % of {found['chosen_functions']} functions, "
              f"uftrace -P {theirs} %; with all exits {whole:.2f} % of these")
        assert share >= (theirs or 90) and whole >= 80, found["entry_reasons"]
        check_windows(path, found)


def check_installed():
    """No less of programs than uftrace -P does of lua, 97.3 % of its functions."""
    names = ["sqlite3", "git", "bash", "python3", "perl", "gcc", "vim"] if THOROUGH else \
        ["sqlite3", "bash"]
    for name in names:
        path = shutil.which(name)
        if path is None:
            continue
        found = plan(os.path.realpath(path))
        chosen, patched = found["chosen_functions"], found["patched_functions"]
        whole = found["functions_with_all_exits"]
        windows = check_windows(os.path.realpath(path), found) if THOROUGH or name == "sqlite3" \
            else 0
        print(f"{path}: {patched} of {chosen} functions, {100 * patched / chosen:.2f} %, with all "
              f"exits {100 * whole / patched:.2f} % of these; {windows} windows compared")
        assert patched >= 0.973 * chosen and whole >= 0.9 * patched, found["entry_reasons"]


def count_windows(found, counts):
    """How each entry and each exit is patched."""
    for function in found["functions"]:
        entry, *exits = function["probes"]
        counts["entry"] += 1
        if entry["reason"] != "can":
            continue
        counts["entry, pushes" if entry["pushes"] else "entry, whole instructions"] += 1
        counts["entry, with an exit"] += any(said(p) == p["kind"] and
                                             p["address"] == entry["address"] for p in exits)
        for probe in (p for p in exits if p["kind"] != "host"):
            kind = "return" if probe["kind"] == "return" else "jump to another function"
            counts[kind] += 1
            if probe["reason"] != "can":
                counts[f"{kind}, not patched"] += 1
            elif probe["address"] == entry["address"]:
                counts[f"{kind}, in the entry's window"] += 1
            elif probe["jump"] != probe["address"]:
                counts[f"{kind}, a jump of two bytes"] += 1
            else:
                counts[f"{kind}, {'alone' if probe['before'] == '' else 'with others'}"] += 1


def check_shares():
    """What decision 0073 has in its tables: of each file, and how windows are taken in all."""
    libraries = "/usr/lib/x86_64-linux-gnu"
    cc1 = subprocess.run([CC, "-print-prog-name=cc1"], stdout=subprocess.PIPE, text=True,
                         check=True).stdout.strip()
    together = ["/usr/bin/bash", "/usr/bin/git", f"{libraries}/libsqlite3.so.0",
                f"{libraries}/libc.so.6", f"{libraries}/libstdc++.so.6", cc1]
    alone = ["/usr/bin/sqlite3", "/usr/bin/perl", "/usr/bin/vim", "/usr/bin/cargo"]
    counts = collections.Counter()
    for path in filter(os.path.exists, together + alone):
        found = plan(os.path.realpath(path))
        chosen, patched = found["chosen_functions"], found["patched_functions"]
        whole = found["functions_with_all_exits"]
        print(f"{path}: {chosen} functions, entry {100 * patched / chosen:.2f} %, all exits "
              f"{100 * whole / patched:.1f} % of these")
        assert patched >= 0.973 * chosen and whole >= 0.9 * patched, found["entry_reasons"]
        if path in together:
            count_windows(found, counts)
    for kind, count in sorted(counts.items()):
        print(f"{kind}: {count}, {100 * count / counts[kind.split(',')[0]]:.1f} %")


def check_words(folder):
    def run(*words):
        return subprocess.run([BIN, "record", *words], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, cwd=folder)
    done = run("--patch", "^tail$", "--plan", "./code.so")
    assert done.returncode == 0 and "1 of 1 function" in done.stdout, done.stdout
    done = run("--patch", "loop", "--plan", "./code.so")
    assert "1 function not: it branches to its own start" in done.stdout, done.stdout
    assert run("--plan", "./code.so").returncode == 2
    assert run("--json", "./code.so").returncode == 2
    done = run("--patch", "^tail$", "-N", "^tail$", "--plan", "./code.so")
    assert "0 of 0 functions" in done.stdout, done.stdout
    assert run("--patch", ".", "--plan", "--attach", str(os.getpid())).returncode == 2
    assert run("--patch", ".", "--plan", "./nothing").returncode == 4
    with open(f"{folder}/script", "w") as out:
        out.write("#!/bin/sh\n")
    os.chmod(f"{folder}/script", 0o700)
    before = os.listdir(folder)
    done = run("--patch", ".", "--plan", "./script")
    assert done.returncode == 4 and "not an ELF file" in done.stderr, done.stderr
    assert before == os.listdir(folder)


def check_entered_gap(folder):
    """Code that is no function's, with an entry at each byte, as where linkers put data beside the
    code: it is looked at once, and functions do not lose their windows for it."""
    count = 8000
    taken = "\n".join(f"lea gap+{i}(%rip), %rax" for i in range(count))
    with open(f"{folder}/gap.s", "w") as out:
        out.write(f".text\ngap: .skip {count}, 0x90\nret\n.globl takes\n.type takes,@function\n"
                  f"takes: .cfi_startproc\n{taken}\nret\n.cfi_endproc\n.size takes, .-takes\n")
    subprocess.run([CC, "-shared", "-nostdlib", "-o", f"{folder}/gap.so", f"{folder}/gap.s"],
                   check=True)
    found = plan(f"{folder}/gap.so")
    assert (found["patched_functions"], found["functions_with_all_exits"]) == (1, 1), found


def main():
    if os.uname().machine != "x86_64":
        print("SKIPPED: plans are of x86-64")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/cache", 0o700)
        os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
        check_own(folder)
        check_builds(folder)
        check_words(folder)
        check_small(folder)
        check_entered_gap(folder)
        check_installed()
        if THOROUGH:
            check_shares()


main()
