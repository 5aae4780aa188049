#!/usr/bin/env python3
"""Sources of `tracetape callgraph` beside the instructions: call sites of debug information (DWARF
5 and GNU's older ones, tail calls, gcc and clang), which name the callee of a call through a
register as well; and what gcc -fcallgraph-info wrote. Each edge says which sources it has."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import setting

SOURCE = setting.PROGRAMS / "call_sources.c"
failures = []
work = tempfile.mkdtemp(prefix="ttsources")


def note(what, problem):
    failures.append(f"{what}: {problem}")


def build(name, compiler, *flags):
    """In a folder of its own; both files are compiled apart, as most programs are."""
    folder = os.path.join(work, name)
    os.mkdir(folder)
    for part in ("0", "1"):
        subprocess.run([compiler, *flags, f"-DPART={part}", "-c", SOURCE, "-o", f"part{part}.o"],
                       check=True, cwd=folder)
    program = os.path.join(folder, "program")
    subprocess.run([compiler, *flags, "-o", program, "part0.o", "part1.o"], check=True, cwd=folder)
    return program


def callgraph(*words, status=0):
    done = subprocess.run([setting.COMMAND, "callgraph", "--json", *words], capture_output=True,
                          text=True, timeout=120)
    if done.returncode != status:
        note(" ".join(map(str, words)), f"status {done.returncode}: {done.stderr[:300]}")
    return json.loads(done.stdout) if done.stdout else None


def edges_of(graph):
    names = {0: "", **{one["number"]: one["name"] for one in graph["functions"]}}
    return {(names[edge["from"]], names[edge["to"]]): set(edge["kinds"])
            for edge in graph["edges"]}


def strip(program):
    """Without debug information, under the same name."""
    folder = program + ".bare"
    os.mkdir(folder)
    bare = os.path.join(folder, os.path.basename(program))
    subprocess.run(["objcopy", "--strip-debug", program, bare], check=True)
    return bare


def expect(label, edges, wanted):
    for edge, kinds in wanted.items():
        if not kinds <= edges.get(edge, set()):
            note(label, f"{edge} is {edges.get(edge)}, not {kinds}")


DIRECT = {("main", "by_table"): {"direct", "debug"}, ("by_tail", "two"): {"direct", "debug"},
          ("two", "same_name"): {"direct", "debug"}, ("by_tail", "other"): {"direct", "debug"},
          ("by_tail", "one"): {"direct", "tail_call", "debug"},
          ("one", "other"): {"direct", "tail_call", "debug"}}


def check_debug():
    """Each call that debug information has is of the source `debug`; nothing else is."""
    cases = [("gcc 5", "gcc", "-gdwarf-5"), ("gcc 4", "gcc", "-gdwarf-4")]
    if shutil.which("clang") is not None:
        cases += [("clang 5", "clang", "-gdwarf-5"), ("clang 4", "clang", "-gdwarf-4", "-ggdb")]
    for label, compiler, *flags in cases:
        program = build(label.replace(" ", ""), compiler, "-O2", *flags)
        edges = edges_of(callgraph(program))
        expect(label, edges, DIRECT)
        if "debug" in edges.get(("by_table", "one"), {"debug"}):
            note(label, f"what a table leads to: {edges.get(('by_table', 'one'))}")
        without = edges_of(callgraph(strip(program)))
        if any("debug" in kinds for kinds in without.values()) or \
                {edge: kinds - {"debug"} for edge, kinds in edges.items()} != without:
            note(label, "without debug information the graph is another one")


def check_pointers():
    """In the large model each call is through a register: gcc's debug information names the
    callee."""
    program = build("large", "gcc", "-O1", "-g", "-mcmodel=large")
    graph = callgraph(program)
    expect("large", edges_of(graph), {("main", "by_table"): {"direct", "debug"},
                                      ("two", "same_name"): {"direct", "debug"}})
    calls = {one["name"] for one in graph["functions"] if one["makes_pointer_calls"]}
    if "by_table" not in calls or "two" in calls or "main" in calls:
        note("large", f"calls through pointers are in {calls}")
    if "direct" in edges_of(callgraph(strip(program))).get(("two", "same_name"), ()):
        note("large", "the instruction names the callee: nothing was tried")


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return path


def check_compiler():
    """Files of calls: named, in a folder, beside the program; a name that two functions have says
    nothing; what is no such file is said."""
    program = build("compiler", "gcc", "-O2", "-fcallgraph-info")
    folder = os.path.dirname(program)
    if any("compiler" in kinds for kinds in edges_of(callgraph(program)).values()):
        note("beside", "files of other programs are used")
    named = [word for part in "01" for word in ("--ci", os.path.join(folder, f"part{part}.ci"))]
    wanted = {edge: (kinds | {"compiler"}) - {"debug"} for edge, kinds in DIRECT.items()
              if edge[1] != "same_name"}
    for label, words in (("files", named), ("folder", ("--ci", work))):
        edges = edges_of(callgraph(program, *words))
        expect(label, edges, wanted)
        if "compiler" in edges[("two", "same_name")] or edges[("by_table", "one")] != {"pointer"}:
            note(label, f"{edges}")
    shutil.copy(os.path.join(folder, "part0.ci"), program + "-part0.ci")
    edges = edges_of(callgraph(program))
    if edges[("by_tail", "two")] != {"direct", "compiler"}:
        note("beside", f"{edges}")
    text = subprocess.run([setting.COMMAND, "callgraph", program], capture_output=True, text=True,
                          timeout=60).stdout
    if not re.search(r"compilers' files have \d+, 0 that no instruction has\n", text):
        note("text", text)
    bad = write(os.path.join(work, "bad.ci"), 'graph: { title: "x"\nedge: { sourcename: "one" '
                'targetname: "two" }\nedge: {{\n')
    done = subprocess.run([setting.COMMAND, "callgraph", "--json", "--ci", bad, program],
                          capture_output=True, text=True, timeout=60)
    if done.returncode != 3 or "bad.ci': line 3 " not in done.stderr or \
            edges_of(json.loads(done.stdout)).get(("one", "two")) != {"compiler"}:
        note("bad", f"{done.returncode} {done.stderr}")
    callgraph("--ci", os.path.join(work, "none.ci"), program, status=4)
    return program


def check_context(program):
    """A call that only the compiler's file has is searched by `context`."""
    ids = {one["name"]: int(one["id"], 16) for one in callgraph(program)["functions"]}
    stack = ["_start", "main", "by_tail", "one", "two"]
    value = f"{sum(ids[name] for name in stack) % (1 << 64):016x}/5"
    words = [setting.COMMAND, "context", "--json", "--operation", "add", "--binary", program, value]
    for is_there in (False, True):
        if is_there:
            write(program + "-more.ci", 'graph: { title: "x"\n'
                  'edge: { sourcename: "x.c:one" targetname: "x.c:two" label: "x.c:1:2" }\n}\n')
        done = subprocess.run(words, capture_output=True, text=True, timeout=120)
        stacks = [one["functions"] for one in json.loads(done.stdout)[0]["stacks"]]
        if (stack in stacks) != is_there:
            note("context", f"{is_there}: {stacks} {done.stderr}")


def main():
    setting.need_verb("callgraph")
    setting.need_command("gcc", "objcopy")
    if os.uname().machine != "x86_64":
        setting.skip("code is read of x86-64 only")
    check_debug()
    check_pointers()
    check_context(check_compiler())
    shutil.rmtree(work, ignore_errors=True)
    for failure in failures[:40]:
        print(failure)
    print(f"sources of calls: {'FAILED' if failures else 'ok'}")
    sys.exit(bool(failures))


main()
