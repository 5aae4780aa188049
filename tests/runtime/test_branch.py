#!/usr/bin/env python3
"""Branch values, alone and beside recording, by gcc's and clang's callbacks: what the program says
is what the blocks give that a library in front of the runtime saw, by each operation, behind jumps,
in recursion, threads, children and handlers."""
import os
import re
import shutil
import subprocess
import sys

import arena as rt

MASK = (1 << 64) - 1
FACTOR = 0x9E3779B97F4A7C15
COUNTERS = 32
OPERATIONS = ("affine", "xor", "add", "primes", "counts")
CALLBACKS = r"__sanitizer_cov_trace_pc(?:_guard)?"
STUB = ("-Wl,--whole-archive", "-ltracetape-blocks", "-Wl,--no-whole-archive")
shop = rt.Workshop()
failures = []


def primes():
    found = []
    number = 2
    while len(found) < 256:
        if all(number % one for one in found):
            found.append(number)
        number += 1
    return found


PRIMES = primes()


def expect(operation, blocks):
    """The text of a value: `blocks` are (id, number in the function)."""
    value, count, overflows = (1 if operation == "primes" else 0), 0, False
    counters = [0] * COUNTERS
    for address, number in blocks:
        if operation == "affine":
            value = (value * FACTOR + address) & MASK
        elif operation == "xor":
            value ^= address
        elif operation == "add":
            overflows |= value + address > MASK
            value = (value + address) & MASK
        elif operation == "primes":
            overflows |= value * PRIMES[number] > MASK
            if overflows:
                continue
            value *= PRIMES[number]
        elif number < COUNTERS:
            counters[number] = min(255, counters[number] + 1)
        else:
            continue
        count += 1
    text = "".join(f"{one:02x}" for one in counters) if operation == "counts" else f"{value:016x}"
    return f"{text}/{count}{'+' if overflows else ''}"


def build(name, compiler, kind, level, library, *flags):
    target = os.path.join(shop.directory, name)
    subprocess.run([compiler, level, "-g", "-pthread", f"-I{rt.INCLUDE}", "-finstrument-functions",
                    f"-fsanitize-coverage={kind}", *flags, "-o", target,
                    os.path.join(rt.SUBJECTS, "branch.c"), f"-L{rt.BUILD}", *STUB, library,
                    f"-Wl,-rpath,{rt.BUILD}"], check=True)
    return target


def build_front():
    target = os.path.join(shop.directory, "seen.so")
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", target,
                    os.path.join(rt.SUBJECTS, "branch_seen.c"), "-ldl"], check=True)
    return target


def sites_of(program):
    """{address in a callback's call: (function, number)}, and the functions' callbacks that come
    before their enter hook."""
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], check=True,
                          capture_output=True, text=True).stdout
    sites, outside, function, last = {}, set(), None, None
    for line in code.splitlines():
        head = re.match(r"[0-9a-f]+ <(.+)>:$", line)
        if head:
            function, number, entered, last = head[1], 0, False, None
            continue
        place = re.match(r"\s+([0-9a-f]+):", line)
        if last is not None and place:
            sites[int(place[1], 16) - 1] = (function, number)
            if not entered:
                outside.add(int(place[1], 16) - 1)
            number, last = number + 1, None
        if re.search(rf"call\w*\s+\S+ <{CALLBACKS}>", line):
            last = line
        elif "<__cyg_profile_func_enter" in line:
            entered = True
    return sites, outside


def check_lines(what, operation, sites, outside, lines):
    """Blocks belong to the latest call whose first block had the same stack pointer."""
    processes, before, said = {}, {}, 0
    for line in lines:
        words = line.split()
        if words[0] == "fork":
            before = {sp: list(blocks) for sp, blocks in calls.items()}
            continue
        calls = processes.setdefault(words[1], before)
        sp = words[2]
        if words[0] == "block":
            address = int(words[3], 16)
            if address in outside:
                calls[sp] = []
            elif sp in calls:
                calls[sp].append((address, sites[address][1]))
        elif words[0] == "said":
            wanted = expect(operation, calls.get(sp, []))
            if words[3] != wanted:
                failures.append(f"{what}: said {words[3]}, it is {wanted}")
            said += 1
    return said


def alone(command, extra):
    done = subprocess.run(command, env=dict(os.environ, **extra), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=120)
    return done.returncode, done.stdout


def check(what, program, operation, way, front):
    status, output = way([program], {"TRACETAPE_BRANCH": operation, "LD_PRELOAD": front})
    lines = output.decode().splitlines()
    sites, outside = sites_of(program)
    last = max((i for i, line in enumerate(lines) if line.startswith("said")), default=0)
    said = check_lines(what, operation, sites, outside, lines[:last])
    if status or said < 60:
        failures.append(f"{what}: exit {status}, {said} lines: {output[-200:]}")
    if not lines or not lines[last].endswith("/0"):
        failures.append(f"{what}: behind a reset it is {lines[last:]}")


def check_thread_scope(program):
    """One value over all that a thread runs: each block is in it."""
    _, output = alone([program], {"TRACETAPE_BRANCH": "add:thread"})
    lines = [line for line in output.decode().splitlines() if line.startswith("said")]
    counts = [int(line.split("/")[1]) for line in lines[:20]]
    if counts != sorted(counts) or counts[0] < 4 or counts[-1] < 60:
        failures.append(f"one value over several functions: {counts}")


def check_words(program):
    for word in ("affin", "primes:thread", "xor:threads", "counts:"):
        status, output = alone([program], {"TRACETAPE_BRANCH": word})
        lines = output.decode().splitlines()
        if status or not lines[0].startswith("tracetape: TRACETAPE_BRANCH is ") or \
                not lines[1].endswith(" -"):
            failures.append(f"'{word}': exit {status}, {lines[:2]}")


def check_static():
    """Linked into the program; and where there is no loader at all."""
    for flags in ((), ("-static",)):
        program = build("static", "gcc", "trace-pc", "-O1", "-l:libtracetape-context.a", *flags)
        status, output = alone([program], {"TRACETAPE_BRANCH": "xor"})
        lines = output.decode().splitlines()
        if status or len(lines) < 60 or any(line.endswith(" -") for line in lines):
            failures.append(f"static {flags}: exit {status}, {output[-200:]}")


def main():
    if os.environ.get("TTAPE_SANITIZE"):
        rt.skip("a preloaded runtime and a sanitizer's cannot be in one process")
    front = build_front()
    kinds = [("gcc", "trace-pc", "-O0"), ("gcc", "trace-pc", "-O2")]
    if shutil.which("clang"):
        kinds += [("clang", "trace-pc", "-O1"), ("clang", "trace-pc-guard", "-O0")]
    for compiler, kind, level in kinds:
        program = build(f"{compiler}-{kind}{level}", compiler, kind, level, "-ltracetape-context")
        for operation in OPERATIONS:
            check(f"{compiler} {kind} {level} {operation}", program, operation, alone, front)
    check_thread_scope(program)
    check_words(program)
    program = build("bare", "gcc", "trace-pc", "-O1", "-ltracetape-context", "-no-pie",
                    "-Wl,--build-id=none")
    check("no build id", program, "affine", alone, front)
    check_static()
    shop.close()
    for failure in failures[:40]:
        print(failure)
    print(f"branch: {'FAILED' if failures else 'ok'}")
    sys.exit(bool(failures))


main()
