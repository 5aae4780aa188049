#!/usr/bin/env python3
"""context --branches-of: branch values of small programs are decoded to the blocks that a library
in front of the runtime saw, by each operation, of gcc's and clang's code, with a switch, loops, an
inlined function, without a build id; and what cannot be decoded is said in words."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE, BUILD = os.environ["TTAPE_SRC"], os.environ["TTAPE_BUILD"]
COMMAND = os.environ["TTAPE_BIN"]
problems = []

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <tracetape/branch.h>
static volatile int sink;
__attribute__((no_instrument_function, noinline, no_sanitize_coverage)) static void say(void)
{
    char text[TTAPE_BRANCH_TEXT_BYTES];
    ttape_branch_text(text, sizeof text);
    puts(text);
    fflush(stdout);
}
static inline __attribute__((always_inline)) int inlined(int number)
{
    if (number > 1)
        sink += 2;
    return number + sink;
}
__attribute__((noinline)) int path(int a, int b, int loops)
{
    if (a == 1)
        sink = 1;
#ifndef PLAIN /* optimised, nobody can tell from outside whose a block is */
    inlined(a);
#endif
    if (b == 1)
        sink = 2;
    for (int i = 0; i < loops; i++)
        sink += 3;
    say();
    return sink;
}
__attribute__((noinline)) int choose(int which)
{
    switch (which) {
    case 0:
        sink = 10;
        break;
    case 1:
        sink = 11;
        break;
    case 2:
        sink = 12;
        break;
    case 3:
        sink = 13;
        break;
    case 4:
        sink = 14;
        break;
    default:
        sink = 15;
    }
    say();
    return sink;
}
#ifdef __cplusplus
__attribute__((noinline)) int caught(int which)
{
    sink = 20;
    try {
        if (which == 1)
            throw which;
        sink = 21;
    } catch (int) {
        sink = 22;
    }
    say();
    return sink;
}
#endif
int main(int count, char **words)
{
#ifdef __cplusplus
    if (count == 3)
        return caught(atoi(words[2])) == 0;
#endif
    if (count == 4)
        path(atoi(words[1]), atoi(words[2]), atoi(words[3]));
    else
        choose(atoi(words[1]));
    return 0;
}
"""


def build(work, name, compiler, *flags):
    target = os.path.join(work, name)
    source = os.path.join(work, "branches.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    kind = "trace-pc" if compiler in ("gcc", "g++") else "trace-pc-guard"
    subprocess.run([compiler, "-g", "-w", "-finstrument-functions", f"-fsanitize-coverage={kind}",
                    f"-I{SOURCE}/libtrace/include", *flags, "-o", target, source, f"-L{BUILD}",
                    "-Wl,--whole-archive", "-ltracetape-blocks", "-Wl,--no-whole-archive",
                    "-ltracetape-context", f"-Wl,-rpath,{BUILD}"], check=True)
    return target


def build_front(work):
    target = os.path.join(work, "seen.so")
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", target,
                    f"{SOURCE}/tests/runtime/subjects/branch_seen.c", "-ldl"], check=True)
    return target


def value_of(program, operation, *words, front=""):
    """What the program says, and the blocks that came before."""
    done = subprocess.run([program, *map(str, words)], check=True, capture_output=True, text=True,
                          env=dict(os.environ, TRACETAPE_BRANCH=operation, LD_PRELOAD=front))
    lines = done.stdout.splitlines()
    said = next(i for i, line in enumerate(lines) if not line.startswith("block"))
    return lines[said], [int(line.split()[3], 16) for line in lines[:said]]


def own_blocks(program, function, seen):
    """Those of the function's own code, without the first one, which is in front of its hook."""
    done = subprocess.run(["addr2line", "-fie", program, *(hex(block + 1) for block in seen)],
                          check=True, capture_output=True, text=True)
    names = {}
    place = iter(seen)
    lines = done.stdout.splitlines()[::2]
    if len(lines) != len(seen):  # more lines where something was inlined: one by one
        lines = [subprocess.run(["addr2line", "-fie", program, hex(block + 1)], check=True,
                                capture_output=True, text=True).stdout.split()[0]
                 for block in seen]
    for name in lines:
        names.setdefault(name, []).append(next(place))
    return names.get(function, [])[1:]


def context(*words):
    return subprocess.run([COMMAND, "context", *words], capture_output=True, text=True,
                          check=False, timeout=100)


def decode(program, function, operation, value):
    done = context("--binary", program, "--branches-of", function, "--operation", operation,
                   "--json", value)
    return done.returncode, json.loads(done.stdout)[0] if done.stdout else done.stderr


def check(what, program, front, function, operation, words):
    value, seen = value_of(program, operation, *words, front=front)
    wanted = own_blocks(program, function, seen)
    status, answer = decode(program, function, operation, value)
    if operation in ("primes", "counts"):
        found = {int(block["address"], 16): block["times"] for block in answer["counts"]}
        right = found == {block: wanted.count(block) for block in wanted}
    else:
        right = wanted in [[int(block["address"], 16) for block in way] for way in answer["ways"]]
    unsure = answer["certainty"] not in ("certain", "likely")
    if not right or (unsure and operation == "affine") or status != (1 if unsure else 0):
        problems.append(f"{what} {operation} {words}: {status}, {json.dumps(answer)[:300]}, "
                        f"not {[hex(block) for block in wanted]}")


def check_program(what, program, front):
    for operation in ("affine", "xor", "add", "primes", "counts"):
        for words in ((0, 0, 0), (1, 0, 0), (0, 1, 2), (1, 1, 3), (2, 1, 1)):
            check(what, program, front, "path", operation, words)
        for which in (0, 2, 4, 9):
            check(what, program, front, "choose", operation, (which,))


def check_answers(program):
    """Other functions, other values, and text."""
    value, _ = value_of(program, "affine", 1, 1, 3)
    number, blocks = value.split("/")
    status, answer = decode(program, "path", "affine", f"{int(number, 16) ^ 1:x}/{blocks}")
    if status != 1 or answer["certainty"] != "not found" or not answer["all_looked_at"]:
        problems.append(f"another value: {status} {answer}")
    status, answer = decode(program, "choose", "affine", value)
    if status != 1 or answer["certainty"] != "not found":
        problems.append(f"another function: {status} {answer}")
    status, answer = decode(program, "path", "affine", number)
    if status != 0 or answer["certainty"] != "likely":
        problems.append(f"without blocks: {status} {answer}")
    done = context("--binary", program, "--branches-of", "path", value)
    if done.returncode or not done.stdout.startswith(f"{value}: certain, in path\n") or \
            "branches.c:" not in done.stdout:
        problems.append(f"text: {done}")
    many, _ = value_of(program, "affine", 1, 1, 300)
    done = context("--binary", program, "--branches-of", "path", many)
    if done.returncode or "300 times" not in done.stdout:
        problems.append(f"a long way: {done}")


def check_impossible(program):
    """Counts that no way has are refused; a product is said in decimal, too."""
    value, _ = value_of(program, "counts", 1, 0, 0)
    counts, blocks = value.split("/")
    at = counts.index("01")
    again = f"{counts[:at]}04{counts[at + 2:]}/{int(blocks) + 3}"
    status, answer = decode(program, "path", "counts", again)
    if status != 1 or answer["certainty"] != "not found" or not answer["is_impossible"] or \
            4 not in [block["times"] for block in answer["counts"]]:
        problems.append(f"impossible counts: {status} {answer}")
    done = context("--binary", program, "--branches-of", "path", "--operation", "counts", again)
    if "no way through path runs these blocks so often" not in done.stdout:
        problems.append(f"impossible counts: {done}")
    # beside a jump by a table, which may lead anywhere, but ran once
    value, _ = value_of(program, "counts", 2)
    counts, blocks = value.split("/")
    for at in range(0, len(counts), 2):
        many = f"{counts[:at]}04{counts[at + 2:]}/{int(blocks) + 3}"
        if counts[at:at + 2] != "01":
            continue
        status, answer = decode(program, "choose", "counts", many)
        if status != 1 or answer["certainty"] != "not found" or not answer["is_impossible"]:
            problems.append(f"impossible beside a table: {status} {answer}")
    value, _ = value_of(program, "primes", 1, 1, 3)
    done = context("--binary", program, "--branches-of", "path", "--operation", "primes", value)
    number = int(value.split("/")[0], 16)
    if f"certain (0x{number:x} = {number}), in path" not in done.stdout:
        problems.append(f"a product: {done}")


def check_exception(work):
    """A catch may come behind any block, but brings no loop: counts that none has are refused."""
    program = build(work, "caught", "g++", "-O0", "-xc++")
    for which in (0, 1):
        value, _ = value_of(program, "counts", 0, which)
        status, answer = decode(program, "_Z6caughti", "counts", value)
        if status != 0 or answer["certainty"] != ("likely" if which else "certain"):
            problems.append(f"an exception {which}: {status} {answer}")
        counts, blocks = value.split("/")
        at = counts.index("01")
        many = f"{counts[:at]}04{counts[at + 2:]}/{int(blocks) + 3}"
        status, answer = decode(program, "_Z6caughti", "counts", many)
        if status != 1 or answer["certainty"] != "not found" or not answer["is_impossible"]:
            problems.append(f"impossible beside an exception {which}: {status} {answer}")


def check_words(program, work):
    for words, status, said in (
            (("--branches-of", "path", "1"), 2, "takes one --binary"),
            (("--binary", program, "--binary", program, "--branches-of", "path", "1"), 2,
             "takes one --binary"),
            (("--binary", program, "--branches-of", "path"), 2, "give branch values"),
            (("--binary", program, "--branches-of", "path", "x/1"), 2, "is no VALUE/BLOCKS"),
            (("--binary", program, "--branches-of", "path", "1/"), 2, "is no VALUE/BLOCKS"),
            (("--binary", program, "--branches-of", "path", "--operation", "multiply", "1"), 2,
             "--operation primes"),
            (("--recording", program, "--operation", "primes", "1"), 2, "are of --branches-of"),
            (("--binary", program, "--branches-of", "path", "--dictionary", "x", "1"), 2,
             "in the binary only"),
            (("--binary", program, "--branches-of", "nobody", "1"), 4, "no function of that name"),
            (("--binary", program, "--branches-of", "0x10", "1"), 4, "no function is there"),
            (("--binary", program, "--branches-of", "say", "1"), 4, "no hooks or no blocks"),
            (("--binary", "/dev/null", "--branches-of", "path", "1"), 4, "/dev/null"),
            (("--binary", work, "--branches-of", "path", "1"), 4, "path")):
        done = context(*words)
        if done.returncode != status or said not in done.stderr:
            problems.append(f"{words}: {done}")


def main():
    if not os.path.exists(os.path.join(BUILD, "libtracetape-blocks.a")) or \
            os.environ.get("TTAPE_SANITIZE"):
        print("SKIPPED: no runtime in this build")
        return 77
    with tempfile.TemporaryDirectory() as work:
        front = build_front(work)
        kinds = [("gcc", "-O0"), ("gcc", "-O1", "-DPLAIN")]
        if shutil.which("clang"):
            kinds.append(("clang", "-O0"))
        for compiler, level, *more in kinds:
            program = build(work, f"{compiler}{level}", compiler, level, *more)
            check_program(f"{compiler} {level}", program, front)
        bare = build(work, "bare", "gcc", "-O0", "-no-pie", "-Wl,--build-id=none")
        check("no build id", bare, front, "path", "affine", (1, 0, 2))
        check_answers(bare)
        check_impossible(bare)
        if shutil.which("g++"):
            check_exception(work)
        check_words(bare, work)
    for problem in problems[:20]:
        print(problem)
    print(f"branches of: {'FAILED' if problems else 'ok'}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
