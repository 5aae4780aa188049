#!/usr/bin/env python3
"""`tracetape callgraph`: the graph that is read from a program and its libraries has every call
that a recording of them shows, inlined ones too, with and without symbols; and context values are
decoded from the files alone. The programs are the examples of the document on compressed stack
traces."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import setting

INCLUDE = setting.SOURCE / "libtrace" / "include"
SOURCE = setting.PROGRAMS / "context_document.c"
failures = []
work = tempfile.mkdtemp(prefix="ttcallgraph")


def note(what, problem):
    failures.append(f"{what}: {problem}")


def build(folder, compiler, *flags):
    """The program, the library with hooks and the third party's without."""
    os.mkdir(os.path.join(work, folder))
    paths = [os.path.join(work, folder, name) for name in ("prog", "libours.so", "libthird.so")]
    common = [compiler, "-g", *flags, f"-I{INCLUDE}", SOURCE]
    pie = ["-no-pie"] if "-fno-pie" in flags else []
    ours = [f"-L{setting.BUILD}", "-ltracetape-context", f"-Wl,-rpath,{setting.BUILD}"]
    subprocess.run([*common, "-DPART=2", "-fPIC", "-shared", "-o", paths[2]], check=True)
    subprocess.run([*common, "-DPART=1", "-finstrument-functions", "-fPIC", "-shared", "-o",
                    paths[1], *ours], check=True)
    subprocess.run([*common, *pie, "-finstrument-functions", "-o", paths[0], paths[1], paths[2],
                    *ours, f"-Wl,-rpath,{os.path.join(work, folder)}"], check=True)
    return paths


def callgraph(*words):
    done = subprocess.run([setting.COMMAND, "callgraph", "--json", *words], capture_output=True,
                          text=True, timeout=120)
    if done.returncode:
        note(" ".join(map(str, words)), f"status {done.returncode}: {done.stderr[:300]}")
    return json.loads(done.stdout)


def edges_of(graph):
    names = {0: "", **{one["number"]: one["name"] for one in graph["functions"]}}
    return {(names[edge["from"]], names[edge["to"]]): set(edge["kinds"])
            for edge in graph["edges"]}


def check_seen(label, paths):
    trace = os.path.join(work, f"{label}.ttape")
    subprocess.run([setting.COMMAND, "record", "--no-patch", "-q", "-f", "-o", trace, paths[0]],
                   check=True, stdout=subprocess.DEVNULL, timeout=60)
    graph = callgraph("--graph", trace, *paths)
    edges = edges_of(graph)
    seen = {edge for edge, kinds in edges.items() if "seen" in kinds}
    missing = {edge for edge in seen if edges[edge] == {"seen"}}
    if len(seen) < 12 or missing:
        note(label, f"of {len(seen)} edges that were seen these are not in the files: {missing}")
    return edges, graph


def summary_of(trace, *words):
    done = subprocess.run([setting.COMMAND, "graph", "--summary", "--no-pager", *words, trace],
                          capture_output=True, text=True, check=True, timeout=60)
    return done.stdout


def check_ways(label, paths):
    """`graph --summary` says how calls were made, by the files; by another build's it does not."""
    trace = os.path.join(work, f"{label}.ttape")
    graph = json.loads(summary_of(trace, "--json"))
    names = {one["node"]: one["name"] for one in graph["nodes"]}
    ways = {(names[one["from"]], names[one["to"]]): one.get("way") for one in graph["edges"]}
    inlined = "name" if label.endswith("-O0") else "inlined"
    for edge, way in ((("main", "F1"), "name"), (("A", "F2"), "name"), (("main", "B"), "pointer"),
                      (("main", "A"), "name_or_pointer"), (("F2", "F2_1"), inlined),
                      (("main", "compare"), "pointer"), (("**START**", "main"), None)):
        if ways.get(edge) != way:
            note(label, f"the call {edge} is made by {ways.get(edge)}, not {way}")
    summary = graph["summary"]
    told = summary["direct_calls_by"]
    if sum(told.values()) != summary["direct_calls"] or told["unknown"] or told["pointer"] < 2:
        note(label, f"calls of the summary: {told}")
    os.rename(paths[1], paths[1] + ".away")
    shutil.copy(paths[2], paths[1])
    told = json.loads(summary_of(trace, "--json"))["summary"]["direct_calls_by"]
    if told["missing_files"] != 1 or told["unknown"] != 2:
        note(label, f"with another build of the library: {told}")
    if f"no file of this build that fits into memory: {paths[1]}\n" not in summary_of(trace):
        note(label, "the summary does not name the file that is not there")
    os.replace(paths[1] + ".away", paths[1])


def check_beside():
    """How calls were made is known of programs with blocks, and of a patched one beside a library
    with hooks."""
    parts = {"blocks.c": "int s; __attribute__((noinline)) int leaf(int a) { return a + s; }\n"
                         "__attribute__((noinline)) int mid(int a)\n"
                         "{ if (a & 1) return leaf(a) + 1; return leaf(a + 1); }\n"
                         "int ENTRY(void) { int r = 0; for (int i = 0; i < 4; i++) r += mid(i); "
                         "return r == 1; }\n",
             "chosen.c": "#include <string.h>\nint main(int n, char **words) {\n"
                         "for (int i = 0; i < 3; i++) { __asm__ volatile(\"\" ::: \"memory\");\n"
                         "n += memcmp(words[0], words[0], strlen(words[0])); }\n"
                         "return n < 0; }\n",  # functions that the loader chooses
             "bare.c": "int entry(void); __attribute__((noinline)) int own(void)"
                       "{ return entry() + 1; } int main(void) { return own() == 3; }\n"}
    folder = os.path.join(work, "beside")
    os.mkdir(folder)
    for name, text in parts.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    hooks, blocks = ["-O1", "-finstrument-functions"], setting.BUILD / "libtracetape-blocks.a"
    for words in (["gcc", "-DENTRY=main", *hooks, "-fsanitize-coverage=trace-pc", "blocks.c", "-o",
                   "blocks", "-Wl,--whole-archive", blocks, "-Wl,--no-whole-archive", "-ldl"],
                  ["gcc", "-DENTRY=entry", *hooks, "-shared", "-fPIC", "blocks.c", "-o",
                   "libbeside.so"],
                  ["gcc", "-O1", "-fno-builtin", "chosen.c", "-o", "chosen"],
                  ["gcc", "-O1", "bare.c", "-o", "bare", "-L.", "-lbeside",
                   f"-Wl,-rpath,{folder}"]):
        subprocess.run(words, check=True, cwd=folder)
    for program, calls in (("blocks", 8), ("bare", 10), ("chosen", 6)):
        trace = os.path.join(folder, f"{program}.ttape")
        subprocess.run([setting.COMMAND, "record", "-q", "-f", "-o", trace, "--",
                        os.path.join(folder, program)], check=True, timeout=60)
        summary = json.loads(summary_of(trace, "--json"))["summary"]
        told = summary["direct_calls_by"]
        if summary["direct_calls"] != calls or told["name"] != calls:
            note(program, f"how its {calls} calls were made: {summary['direct_calls']}, {told}")


def check_kinds(label, edges, graph):
    for edge, kind in ((("main", "F1"), "direct"), (("A", "F2"), "linked"), (("B", "C"), "direct"),
                       (("main", "A"), "pointer"), (("main", "B"), "pointer"),
                       (("F2", "F2_1"), "direct" if label.endswith("-O0") else "inlined"),
                       (("F2_1", "F2_2"), "direct"), (("B", "back"), "outside"),
                       (("main", "compare"), "outside"), (("recurse", "recurse"), "direct"),
                       (("", "main"), "direct")):
        if kind not in edges.get(edge, ()):
            note(label, f"{edge} is {edges.get(edge)}, not {kind}")
    if ("A", "F1") in edges or ("F1", "A") in edges or ("", "F2_2") in edges:
        note(label, "calls that nobody makes")
    of = {one["name"]: one for one in graph["functions"]}
    taken = {name for name, one in of.items() if one["is_taken"]}
    if taken != {"A", "B", "back", "compare"}:
        note(label, f"addresses are taken of {taken}")
    if not of["recurse"]["is_recursive"] or of["F1"]["is_recursive"]:
        note(label, "recursion")
    if "third_party" in of or [one["has_hooks"] for one in graph["modules"]] != [True, True, False]:
        note(label, f"the third party: {graph['modules']}")


def check_values(label, paths):
    """Every value that the program says, by its files alone."""
    lines = subprocess.run([paths[0]], check=True, capture_output=True, text=True,
                           timeout=60).stdout.splitlines()
    right = {line.split()[0]: line.split()[1] for line in lines}
    words = [word for path in paths for word in ("--binary", path)]
    done = subprocess.run([setting.COMMAND, "context", "--json", *words, *right],
                          capture_output=True, text=True, timeout=120)
    answers = {one["value"]: one for one in json.loads(done.stdout)}
    for value, stack in right.items():
        found = [">".join(one["functions"]) for one in answers[value]["stacks"]]
        leaves = [one["no_reentry"] for one in answers[value]["stacks"]]
        names = stack.split(">")
        again = [at for at in range(1, len(names)) if names[at] in ("back", "compare")]
        back = [one["reentry"] for one in answers[value]["stacks"]]
        if back != [again[0] if again else None]:
            note(label, f"{stack}: called back: {back}")
        if leaves != [stack.split(">")[-1] in ("main", "B")]:  # these call through pointers
            note(label, f"{stack}: no re-entry {leaves}")
        if found != [stack] or answers[value]["certainty"] != "likely":
            note(label, f"{value} {stack}: {answers[value]['certainty']}, {found}")
    if len(right) < 15:
        note(label, f"{len(right)} values")
    wrong = f"{(int(value[:16], 16) ^ 1):016x}{value[16:]}"
    done = subprocess.run([setting.COMMAND, "context", *words, wrong], capture_output=True,
                          text=True, timeout=120)
    if done.returncode != 1 or "not found" not in done.stdout:
        note(label, f"a wrong value: {done.stdout}")


def check_recursion(label, paths, graph):
    """The document's recursion by XOR: an odd number of calls is as one, an even one as none."""
    ids = {one["name"]: int(one["id"], 16) for one in graph["functions"]}
    words = [word for path in paths for word in ("--binary", path)]
    for value, parity, most in ((ids["main"] ^ ids["recurse"], "odd", 63),
                                (ids["main"], "even", 64)):
        done = subprocess.run([setting.COMMAND, "context", "--operation", "xor", *words,
                               f"{value:016x}"], capture_output=True, text=True, timeout=120)
        if done.stdout.count(f"    main\n    recurse × {parity}, up to {most}\n") != 1 or \
                (parity == "even" and
                 not re.search("graph\n    main\n    NO RE-ENTRY: main calls .*\n  graph",
                               done.stdout)) or "NO RE-ENTRY: recurse" in done.stdout:
            note(label, f"{parity} recursion: {done.stdout[:400]}")


def check_stripped(label, paths, edges):
    """Without any symbols the same functions call each other: ids are the same."""
    before = callgraph(*paths)
    stripped = [path + ".stripped" for path in paths]
    for path, target in zip(paths, stripped):
        subprocess.run(["strip", "-s", "-o", target, path], check=True)
    after = callgraph(*stripped)
    of = [{(one["number"]): one["id"] for one in graph["functions"]} for graph in (before, after)]
    both = [{(ids.get(edge["from"]), ids.get(edge["to"])) for edge in graph["edges"]}
            for ids, graph in zip(of, (before, after))]
    if both[0] - both[1]:
        note(label, f"without symbols {len(both[0] - both[1])} of {len(edges)} edges are lost")


def check_words(paths):
    for words, status in (((), 2), (("--format", "svg", paths[0]), 2), (("/nowhere/at/all",), 4),
                          ((__file__,), 4)):
        done = subprocess.run([setting.COMMAND, "callgraph", *words], capture_output=True,
                              text=True, timeout=60)
        if done.returncode != status or not done.stderr.startswith("tracetape: "):
            note(f"{words}", f"{done.returncode} {done.stderr[:200]}")
    text = subprocess.run([setting.COMMAND, "callgraph", "--all", *paths], capture_output=True,
                          text=True, timeout=60).stdout
    for wanted in ("  main > F1: direct, debug\n", "no hooks", "recurse, recursion is possible"):
        if wanted not in text:
            note("text", f"has no '{wanted}'")
    dot = subprocess.run([setting.COMMAND, "callgraph", "--format", "dot", *paths],
                         capture_output=True, text=True, timeout=60).stdout
    if '  "main" -> "F1";\n' not in dot or not dot.endswith("}\n"):
        note("dot", dot[:200])


def main():
    setting.need_verb("record", "context", "callgraph")
    setting.need_command("gcc", "strip")
    if os.uname().machine != "x86_64":
        setting.skip("code is read of x86-64 only")
    for compiler in ("gcc", "clang"):
        if shutil.which(compiler) is None:
            continue
        for flags in (("-O2",), ("-O0",), ("-O1", "-fno-pie"))[:3 if compiler == "gcc" else 1]:
            label = f"{compiler}{''.join(flags)}"
            paths = build(label, compiler, *flags)
            edges, graph = check_seen(label, paths)
            check_ways(label, paths)
            check_kinds(label, edges, graph)
            check_values(label, paths)
            check_recursion(label, paths, graph)
            check_stripped(label, paths, edges)
    check_words(paths)
    check_beside()
    shutil.rmtree(work, ignore_errors=True)
    for failure in failures[:40]:
        print(failure)
    print(f"call graphs: {'FAILED' if failures else 'ok'}")
    sys.exit(bool(failures))


main()
