#!/usr/bin/env python3
"""`tracetape context --graph`: values of one run are found by the calls that another run made,
which never had these stacks; with calls that it never made as far as they are allowed; and what is
found is likely or open, never certain."""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

import setting

FEW = ("--new-calls", "0", "--memory", "32M")
ENOUGH = ("--memory", "64M")  # what is not there is looked for until all of it is full
OPERATIONS = ("affine", "xor", "add", "multiply")
failures = []
work = tempfile.mkdtemp(prefix="ttsearch")


def note(what, problem):
    failures.append(f"{what}: {problem}")


def at(name):
    return os.path.join(work, name)


def build():
    include = setting.SOURCE / "libtrace" / "include"
    subprocess.run(["gcc", "-O1", "-g", "-finstrument-functions", f"-I{include}", "-o",
                    at("paths"), setting.PROGRAMS / "context_paths.c", f"-L{setting.BUILD}",
                    "-ltracetape-context", f"-Wl,-rpath,{setting.BUILD}"], check=True)


def record(name, *paths):
    subprocess.run([setting.COMMAND, "record", "-q", "-f", "-o", at(name), at("paths"), "0",
                    *paths], check=True, stdout=subprocess.DEVNULL, timeout=60)
    return at(name)


def say(operation, *paths):
    """{value: stack} of a run without any recording."""
    done = subprocess.run([at("paths"), str(OPERATIONS.index(operation)), *paths], check=True,
                          timeout=60, capture_output=True, text=True)
    return dict(line.split() for line in done.stdout.splitlines())


def search(words, values):
    done = subprocess.run([setting.COMMAND, "context", "--json", *ENOUGH, *words, *values],
                          capture_output=True, text=True, timeout=600)
    if done.returncode not in (0, 1) or done.stderr:
        note(" ".join(words), f"status {done.returncode}: {done.stderr[:300]}")
    answers = json.loads(done.stdout)
    if any(answer["certainty"] == "certain" for answer in answers):
        note(" ".join(words), "certain by a search")
    return {answer["value"]: answer for answer in answers}


def stacks(answer):
    return [">".join(stack["functions"]) for stack in answer["stacks"]]


def check_known(trace):
    """Stacks that no run has had, of calls that one has made."""
    right = say("affine", "abcabcabcabcabc", "bcabca", "cdcdcd")
    found = search(("--graph", trace, "--new-calls", "0"), right)
    for value, stack in right.items():
        if stacks(found[value]) != [stack] or found[value]["certainty"] != "likely" or \
                found[value]["stacks"][0]["new_calls"] != 0:
            note("known calls", f"{stack}: {found[value]}")
    value = next(iter(right))
    if search(("--graph", trace), [value.replace("/", "/9")])[value.replace("/", "/9")]["stacks"]:
        note("known calls", "found at a wrong depth")
    deep = max(right, key=lambda value: int(value.split("/")[1]))
    bare = deep.split("/")[0]
    if stacks(search(("--graph", trace), [bare])[bare]) != [right[deep]]:
        note("known calls", "not found without a depth")


def check_new(trace):
    """One call that the trace has not, in a stack: found where it may be, and counted."""
    right = {value: stack for value, stack in say("affine", "abcaabcd", "abcb").items()
             if "a>a" in stack or "c>b" in stack}
    found = search(("--graph", trace, "--new-calls", "1"), right)
    none = search(("--graph", trace, "--new-calls", "0"), right)
    for value, stack in right.items():
        if stacks(found[value]) != [stack] or found[value]["stacks"][0]["new_calls"] != 1:
            note("a new call", f"{stack}: {found[value]}")
        if stacks(none[value]):
            note("no new call", f"{stack}: {none[value]}")


def check_operations(trace):
    """The right stack is among those that are found; XOR does not tell orders apart."""
    for operation in OPERATIONS[1:]:
        right = say(operation, "abcabc", "abcd")
        found = search(("--graph", trace, "--operation", operation), right)
        for value, stack in right.items():
            if stack not in stacks(found[value]):
                note(operation, f"{stack}: {found[value]}")
    right = say("xor", "abcabc")
    value = next(v for v, stack in right.items() if stack == "main>a>b>c>a>b>c").split("/")[0]
    found = search(("--graph", trace, "--operation", "xor"), [value])[value]
    if found["certainty"] != "open" or "main" not in stacks(found):
        note("xor", f"recursion that cancels out: {found}")
    text = subprocess.run([setting.COMMAND, "context", "--graph", trace, "--operation", "xor",
                           value], capture_output=True, text=True, timeout=60).stdout
    if not text.startswith(f"{value}: open, more than 64 stacks have it\n"):
        note("xor", text[:200])


def check_recursions(*traces):
    """A recursion is put out once; by XOR without a depth all odd numbers of turns are one answer,
    and all even ones. With any operation and a depth the number is exact."""
    for operation in OPERATIONS:
        right = say(operation, "a" * 37, "abcabcabcd")
        for trace, stack, turn, times in (
                (traces[0], "main" + ">a" * 37, "a", 37),
                (traces[1], "main" + ">a>b>c" * 3 + ">d", "(a > b > c)", 3)):
            words = ("--graph", trace, "--operation", operation, *FEW)
            value = next(v for v, said in right.items() if said == stack)
            found = next((one for one in search(words, [value])[value]["stacks"]
                          if ">".join(one["functions"]) == stack), {"recursions": []})
            wanted = {"first": 1, "functions": stack.count(">") // times, "times": times}
            if operation == "xor":
                wanted["times_are"] = "odd"
            if found["recursions"] != [wanted]:
                note(operation, f"{stack}: {found}")
            text = subprocess.run([setting.COMMAND, "context", *words, value], timeout=60,
                                  capture_output=True, text=True).stdout
            if f"    {turn} × {times}{', odd' if operation == 'xor' else ''}\n" not in text:
                note(operation, f"{stack}: {text}")
    check_odd_and_even(traces[0])


def check_odd_and_even(trace):
    right = {stack: value.split("/")[0] for value, stack in say("xor", "aaaaa").items()}
    words = ("--graph", trace, "--operation", "xor", *FEW)
    odd, even = right["main>a>a>a"], right["main>a>a>a>a"]
    if odd != right["main>a"] or even != right["main"]:
        note("xor", f"{right}")
    for value, wanted in ((odd, ["main", "a × odd, up to 63"]),
                          (even, ["main", "a × even, up to 64"])):
        text = subprocess.run([setting.COMMAND, "context", *words, value], capture_output=True,
                              text=True, timeout=60).stdout
        if "".join(f"    {line}\n" for line in wanted) not in text or text.count("a × ") != 1:
            note("odd and even", f"{wanted}: {text}")
    found = search(words, [odd])[odd]
    if found["certainty"] != "likely" or \
            [one["times_up_to"] for one in found["stacks"][0]["recursions"]] != [63]:
        note("odd", f"{found}")
    found = search(words, [even])[even]
    if found["certainty"] != "open" or len(found["stacks"]) != 2:
        note("even", f"{found}")


def check_sources(trace, other):
    """Two traces add up; a recording that has the stack comes first; a log has both."""
    right = say("affine", "dadada")
    value = max(right, key=lambda value: int(value.split("/")[1]))
    if stacks(search(("--graph", trace, "--new-calls", "0"), [value])[value]):
        note("sources", "calls that the trace has not")
    found = search(("--graph", trace, "--graph", other, "--new-calls", "0"), [value])[value]
    if stacks(found) != [right[value]]:
        note("sources", f"two traces: {found}")
    whole = record("whole.ttape", "dadada")
    done = subprocess.run([setting.COMMAND, "context", "--recording", whole, "--graph", trace,
                           value], capture_output=True, text=True, timeout=60)
    if "certain" not in done.stdout or "graph" in done.stdout:
        note("sources", f"recording and graph: {done.stdout}")
    with open(at("log"), "w", encoding="ascii") as file:
        file.write(f"x {value} y\n")
    done = subprocess.run([setting.COMMAND, "context", "--graph", trace, "--graph", other,
                           "--annotate", at("log")], capture_output=True, text=True, timeout=60)
    if right[value] != "main>d>a>d>a>d>a" or \
            done.stdout != f"x {value} {{likely: main > (d > a) × 3}} y\n":
        note("sources", f"annotated: {done.stdout}")


def drawn(length):
    """{value: stack} of five that long."""
    asked = {}
    for seed in (1, 2, 3, 4, 6):
        draw = random.Random(seed)
        asked.update(say("affine", "".join(draw.choice("ab") for _ in range(length))))
    deep = {value: stack for value, stack in asked.items() if value.endswith(f"/{length + 1}")}
    if len(deep) != 5:
        note("deep", f"{len(deep)} values")
    return deep


def check_deep():
    """34 calls, each to one of two functions, or 20 to one of four as far as the binary says: more
    than the first table and its suffixes reach."""
    draw = random.Random(5)
    words = ["".join(draw.choice("ab") for _ in range(60)) for _ in range(6)]
    trace = record("deep.ttape", *words)
    default = ("--memory", "256M")
    for source, asked in ((("--graph", trace, "--new-calls", "0", *default), drawn(34)),
                          (("--binary", at("paths")), drawn(20))):
        found = search(source, asked)
        for value, stack in asked.items():
            if stacks(found[value]) != [stack] or found[value]["certainty"] != "likely":
                note(f"deep, {source[0]}", f"{stack}: {found[value]}")


def main():
    setting.need_verb("record", "context")
    setting.need_command("gcc")
    build()
    trace = record("known.ttape", "abca", "bca", "cdc")
    check_known(trace)
    check_new(trace)
    check_operations(trace)
    check_recursions(record("one.ttape", "aa"), record("three.ttape", "abcab", "abcd"))
    check_deep()
    check_sources(trace, record("other.ttape", "da", "ad"))
    shutil.rmtree(work, ignore_errors=True)
    for failure in failures[:40]:
        print(failure)
    print(f"context, searched: {'FAILED' if failures else 'ok'}")
    sys.exit(bool(failures))


main()
