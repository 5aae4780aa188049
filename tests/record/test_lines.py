#!/usr/bin/env python3
"""`tracetape lines`: states and counts of a program whose lines say themselves how often they run,
with exceptions, jumps, recursion, a handler and two threads; the same as gcov says of an
interpreter; one call, two side by side, calls of a line, edges, lcov; events that are missing."""
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import gcov_graph
import llvm_regions
import setting

STUB = setting.BUILD / "libtracetape-blocks.a"
WHOLE = ["-Wl,--whole-archive", STUB, "-Wl,--no-whole-archive", "-lpthread", "-ldl", "-lm"]
FLAGS = ["-g", "-O0", "-finstrument-functions"]
STATES = {"-": "elsewhere", "!": "never"}


def build(compiler, sources, output, flags):
    subprocess.run([compiler, *flags, *sources, "-o", output, *WHOLE], check=True)


def ask(trace, *options):
    done = setting.tracetape("lines", "--json", *options, trace)
    if done.status:
        raise SystemExit(f"FAILED: lines {options}: {done.err.decode()}")
    return json.loads(done.out)


def lines_of(answer, name):
    for file in answer["files"]:
        if file["file"].endswith(name):
            return {line["line"]: line for line in file["lines"]}
    return {}


def compare(checks, label, found, number, word):
    if label.startswith("clang") and (found.get("or_more") or found.get("state") == "unseen"):
        # it leaves blocks out where functions with hooks are inlined: what is not known says so
        checks.that(found["times"] <= (0 if word in STATES else int(word)),
                    f"{label}: line {number}: {found}")
        return
    if word in STATES:
        checks.equal(found.get("state"), STATES[word], f"{label}: line {number}")
    else:
        checks.equal((found.get("state"), found.get("times")), ("ran", int(word)),
                     f"{label}: line {number}")


def check_known(checks, compiler, work):
    source, trace = setting.PROGRAMS / "p_lines.cc", work / "known.ttape"
    build(compiler, [source], work / "known", [*FLAGS, "-fsanitize-coverage=trace-pc"])
    done = setting.tracetape("record", "-q", "-f", "-o", trace, "--", work / "known")
    checks.equal((done.status, done.err), (0, b""), f"{compiler}: record")
    listed = json.loads(setting.tracetape("slow", "--first", "--json", "--limit", "99", trace,
                                          "walk(int)").out)["calls"]
    third = sorted(listed, key=lambda call: call["event"])[2]["id"]
    every, one = lines_of(ask(trace), source.name), ask(trace, "--frame", third)
    checks.equal((one["calls_chosen"], one["complete"]), (1, True), f"{compiler}: one call")
    one = lines_of(one, source.name)
    for number, text in enumerate(source.read_text("utf-8").splitlines(), 1):
        words = re.search(r"//= (\S+)(?: : (\S+)| once each| inlined)?$", text)
        if words is None:
            continue
        compare(checks, f"{compiler}, all", every.get(number, {}), number, words[1])
        if words[2] is not None:
            compare(checks, f"{compiler}, one call", one.get(number, {}), number, words[2])
    inlined = {number for number, line in every.items() if "limit" in line.get("inlined", "")}
    wanted = {n for n, text in enumerate(source.read_text("utf-8").splitlines(), 1)
              if text.endswith(" inlined")}
    checks.that(wanted and wanted <= inlined, f"{compiler}: inlined: {inlined}, not {wanted}")
    return trace, third, [call["id"] for call in sorted(listed, key=lambda call: call["event"])]


def check_questions(checks, trace, third, walks):
    both = lines_of(ask(trace, "--frame", third, "--with", walks[0]), "p_lines.cc")
    apart = {line for line, state in both.items() if state["state"] != state["second_state"]}
    source = (setting.PROGRAMS / "p_lines.cc").read_text("utf-8").splitlines()
    wanted = {n for n, text in enumerate(source, 1) if "sum += 10" in text or "recurse(3);  " in
              text and "sum" in text}
    checks.that(wanted <= apart, f"two calls: {apart}, not {wanted}")
    number = next(n for n, text in enumerate(source, 1) if "sum += 2;" in text)
    calls = ask(trace, "--line", f"p_lines.cc:{number}")["calls"]
    checks.equal([call["id"] for call in calls], walks[4:], "calls of a line")
    first = next(n for n, text in enumerate(source, 1) if "once each" in text)
    calls = ask(trace, "--line", f"p_lines.cc:{first}")["calls"]
    checks.equal([call["times"] for call in calls], [1, 1, 1], "calls one right after the other")
    for more in (("--edges",), ("--frame", third, "--with", walks[0])):
        answer = ask(trace, "--line", f"p_lines.cc:{number}", *more)
        checks.that({call["id"] for call in answer["calls"]} <= set(walks), f"{more}: {answer}")
    edges = ask(trace, "--function", "^recurse", "--edges")["edges"]
    checks.that(sum(edge["times"] for edge in edges) > 30, "edges")
    done = setting.tracetape("lines", trace, "--line", f"p_lines.cc:{number}", "--lcov")
    checks.equal((done.status, done.out), (2, b""), "calls of a line, for lcov")
    done = setting.tracetape("lines", trace, "--line", "p_lines.cc:1")
    checks.equal(done.status, 4, "a line without code")
    checks.that(b"no block of 'p_lines.cc:1' ran" in done.err, done.err)
    done = setting.tracetape("lines", trace, "--function", "^walk", "--no-pager")
    checks.that(re.search(rb"never +\d+ +sum \+= 70;", done.out), done.out)


def check_missing(checks, work, trace):
    """Of a part that begins within a call, what did not run may have run before."""
    text = setting.tracetape("dump", "--format", "csv", trace).out.decode().splitlines()
    begins = [n for n, line in enumerate(text) if ",enter," in line and ",walk(int)" in line]
    cut = work / "cut.ttape"
    done = setting.tracetape("cut", "-f", trace, "-o", cut, "--events", f"{begins[1] + 3}..")
    checks.equal(done.status, 0, f"cut: {done.err}")
    answer = ask(cut)
    states = {line["state"] for line in lines_of(answer, "p_lines.cc").values()}
    checks.equal(answer["complete"], False, "a part: complete")
    checks.that("unseen" in states and "never" not in states, f"a part: {states}")


def check_partitions(checks, work, trace):
    """Calls that go from one partition to the next are named by a tree, and are the same ones."""
    small, spanning = work / "small.ttape", re.compile(r"s\d+p\d+f\d+$")
    setting.tracetape("convert", "-f", trace, "-o", small, "--partition-events", "20")
    nodes = json.loads(setting.tracetape("tree", "--json", "--min-time", "0", small).out)["nodes"]
    calls = json.loads(setting.tracetape("slow", "--first", "--json", "--limit", "99", trace,
                                         "walk(int)").out)["calls"]
    by_start = {call["start_ns"]: call["id"] for call in calls}
    named = [(node["node"], by_start[node["enter_ns"]]) for node in nodes
             if spanning.match(node["node"]) and node.get("name") == "walk(int)"
             and node["enter_ns"] in by_start]
    checks.that(len(named) > 2, f"calls in two partitions: {named}")
    for node, call in named:
        checks.equal(ask(small, "--frame", node)["files"], ask(trace, "--frame", call)["files"],
                     f"{node} and {call}")
    done = setting.tracetape("lines", small, "--frame", "s0p0")
    checks.that(done.status == 4 and b"tree --open s0p0" in done.err, f"a part: {done.err}")
    done = setting.tracetape("lines", small, "--frame", "s0p0f9999")
    checks.that(done.status == 4 and b"no call 's0p0f9999'" in done.err, f"no call: {done.err}")


def check_example(checks, work):
    """The program of examples/: which way the call with the mistake went, and no other one."""
    source, trace = setting.SOURCE / "examples" / "whichway" / "whichway.c", work / "way.ttape"
    build("gcc", [source], work / "whichway", [*FLAGS, "-fsanitize-coverage=trace-pc"])
    done = setting.tracetape("record", "-q", "-f", "-o", trace, "--", work / "whichway")
    checks.equal(done.out, (source.parent / "expected.txt").read_bytes(), "example: output")
    found = json.loads(setting.tracetape("slow", "--first", "--json", trace, "discount").out)
    calls = sorted(found["calls"], key=lambda call: call["event"])
    text = source.read_text("utf-8").splitlines()
    mistake = next(n for n, line in enumerate(text, 1) if "the mistake" in line)
    never = next(n for n, line in enumerate(text, 1) if "/* never */" in line)
    states = [lines_of(ask(trace, "--frame", call["id"]), source.name)[mistake]["state"]
              for call in calls]
    checks.equal(states, ["elsewhere", "ran", "elsewhere"], "example: the mistake")
    every = lines_of(ask(trace), source.name)
    checks.equal((every[mistake]["times"], every[never]["state"]), (1, "never"), "example: all")


def from_gcov(work, sources):
    """{(file, line): count} of lines of code, as gcov has them."""
    subprocess.run(["gcc", "-g", "-O0", "--coverage", *sources, "-o", "covered", "-lm"], cwd=work,
                   check=True)
    subprocess.run(["./covered"], cwd=work, check=True, stdout=subprocess.DEVNULL)
    found, name = {}, ""
    for data in sorted(work.glob("*.gcda")):
        text = subprocess.run(["gcov", "-t", data.name], cwd=work, check=True, capture_output=True,
                              text=True).stdout
        for line in text.splitlines():
            count, number, rest = line.split(":", 2)
            name = Path(rest[7:]).name if rest.startswith("Source:") else name
            if count.strip() != "-" and number.strip() != "0":
                found[name, int(number)] = int(re.sub(r"\D", "", count) or 0)
    return found


def of_lines(trace):
    """Counts by (file, line), and the paths of the files."""
    found, name, paths = {}, "", {}
    for line in setting.tracetape("lines", trace, "--lcov").out.decode().splitlines():
        if line.startswith("SF:"):
            name = Path(line[3:]).name
            paths[name] = line[3:]
        if line.startswith("DA:"):
            number, count = line[3:].split(",")
            found[name, int(number)] = int(count)
    return found, paths


def check_llvm(checks, work):
    """Each line as one of its regions, but for closing braces and loops, by clang's own counters of
    the same sources."""
    if not llvm_regions.is_there():
        return
    place = work / "llvm"
    sources = sorted((setting.SOURCE / "examples" / "minilang").glob("*.c"))
    llvm_regions.build(place, sources, ["-g", "-O0"], WHOLE)
    trace, is_same = llvm_regions.run(place)
    checks.that(is_same, "llvm-cov: output")
    (found, paths), wanted = of_lines(trace), llvm_regions.read(place)
    both, rules, wrong = llvm_regions.unlike(found, wanted, paths, place / "ours")
    checks.that(both > 250 and rules["shown"] >= both * 0.9, f"llvm-cov: {both} lines, {rules}")
    checks.equal(wrong, {}, "llvm-cov: lines")


def check_gcov(checks, work):
    """On lines that both know, which are all but openings and ends of functions."""
    if shutil.which("gcov") is None:
        print("gcov is not installed: not compared")
        return
    sources = sorted((setting.SOURCE / "examples" / "minilang").glob("*.c"))
    wanted = from_gcov(work, sources)
    build("gcc", sources, work / "plain", [*FLAGS, "-fsanitize-coverage=trace-pc"])
    trace = work / "gcov.ttape"
    setting.tracetape("record", "-q", "-f", "-o", trace, "--", work / "plain")
    found, _ = of_lines(trace)
    both = found.keys() & wanted.keys()
    checks.that(len(both) > 250, f"gcov: {len(both)} lines in common")
    wrong = {at: (found[at], wanted[at]) for at in both if (found[at] > 0) != (wanted[at] > 0)}
    checks.equal(wrong, {}, "gcov: which lines ran")
    if shutil.which("gcov-dump") is None:
        return
    graphs = gcov_graph.read(work)
    most, calls = gcov_graph.most(graphs), gcov_graph.calls(graphs)
    wrong = {at: (found[at], wanted[at], most.get(at)) for at in both
             if found[at] not in (wanted[at], most.get(at), calls.get(at))}
    checks.equal(wrong, {}, "gcov: counts, also those of its blocks")
    arcs, wrong = gcov_graph.beside(ask(trace, "--edges")["edges"],
                                    *gcov_graph.arcs_by_lines(graphs))
    checks.that(len(arcs) > 40, f"gcov: {len(arcs)} arcs in common")
    checks.equal(wrong, {}, "gcov: arcs")


def check_linked(checks, work):
    """Programs that bring the runtime: linked statically, where it is the only one, and not, where
    another one is preloaded."""
    archive = setting.BUILD / "libtracetape-rt.a"
    if not archive.is_file():
        print(f"no '{archive.name}' in this build: left out")
        return
    source, trace = setting.SOURCE / "examples" / "whichway" / "whichway.c", work / "own.ttape"
    text = source.read_text("utf-8").splitlines()
    mistake = next(n for n, line in enumerate(text, 1) if "the mistake" in line)
    for kind in ("-static", "-static-pie", "-pie"):
        words = ["gcc", *FLAGS, "-fsanitize-coverage=trace-pc", "-fPIE", kind, source, "-o",
                 work / "own", *WHOLE[:3], archive, *WHOLE[3:]]
        if subprocess.run(words, stderr=subprocess.DEVNULL).returncode != 0:
            print(f"gcc {kind} does not link here: left out")
            continue
        done = setting.tracetape("record", "-q", "-f", "-o", trace, "--", work / "own")
        checks.equal(done.out, (source.parent / "expected.txt").read_bytes(), f"{kind}: output")
        found = lines_of(ask(trace), source.name)
        checks.equal((found.get(mistake, {}).get("state"), found.get(mistake, {}).get("times")),
                     ("ran", 1), f"{kind}: lines")


def check_union(checks, trace):
    """All calls of a function, one by one, are what the function's lines are together."""
    for function in ("falls(int, int)", "walk(int)", "catches(int)"):
        listed = json.loads(setting.tracetape("slow", "--first", "--json", "--limit", "99", trace,
                                              function).out)["calls"]
        pattern = "^" + re.escape(function).replace("\\ ", " ") + "$"
        whole, sums = lines_of(ask(trace, "--function", pattern), "p_lines.cc"), {}
        for call in listed:
            for number, line in lines_of(ask(trace, "--frame", call["id"]), "p_lines.cc").items():
                sums[number] = sums.get(number, 0) + line["times"]
        checks.that(len(listed) >= 6 and len(whole) > 3, f"{function}: {len(listed)} calls")
        checks.equal({number: count for number, count in sums.items() if number in whole},
                     {number: line["times"] for number, line in whole.items()},
                     f"{function}: its calls added up")


def check_arcs(checks, work):
    """Passes from block to block beside gcov's own counters, of the program with known lines."""
    if any(shutil.which(tool) is None for tool in ("gcov", "gcov-dump")):
        print("gcov is not installed: arcs are not compared")
        return
    place = work / "arcs"
    place.mkdir()
    subprocess.run(["g++", "-g", "-O0", "--coverage", setting.PROGRAMS / "p_lines.cc", "-o",
                    "covered", "-pthread"], cwd=place, check=True)
    subprocess.run(["./covered"], cwd=place, check=True, stdout=subprocess.DEVNULL)
    begins, arcs = gcov_graph.arcs_by_lines(gcov_graph.read(place))
    edges = ask(work / "known.ttape", "--edges")["edges"]
    both, wrong = gcov_graph.beside(edges, begins, arcs)
    checks.that(len(both) > 10, f"arcs in common: {len(both)}")
    checks.equal(wrong, {}, "arcs beside gcov's")


JOINED = """
volatile int v;
__attribute__((noinline)) static int classify(int x)
{
    if (x % 10 == 0)
        return 1;
    if (x > 1000)
        return 3;
    return 2;
}
int main(void)
{
    int s = 0;
    for (int i = 0; i < 100; i++) {
        int c = classify(i);
        if (c == 1)
            s += 2;
        else
            s += c;
    }
    v = s;
    return 0;
}
"""


def check_optimised(checks, compiler, work):
    """Counts of what an optimizer has had are marked: it moves and joins lines. With -O0 and gcc's
    -Og they are exact, and bare."""
    source, program = work / "joined.c", work / "joined"
    source.write_text(JOINED, encoding="utf-8")
    for level, exact in {"-O0": True, "-Og": compiler == "gcc", "-O1": False, "-O2": False}.items():
        build(compiler, [source], program, ["-g", level, "-finstrument-functions",
                                            "-fsanitize-coverage=trace-pc"])
        trace, label = work / "joined.ttape", f"{compiler} {level}"
        setting.tracetape("record", "-q", "-f", "-o", trace, "--", program)
        lines = lines_of(ask(trace), "joined.c")
        checks.equal({line.get("about", False) for line in lines.values()}, {not exact}, label)
        told = setting.tracetape("lines", trace)
        checks.equal((b"~ " in told.out, b"-O0 or -Og for exact ones" in told.err),
                     (not exact, not exact), f"{label}: {told}")
        told = setting.tracetape("lines", "--line", "joined.c:17", trace)
        if compiler == "gcc":  # the other one leaves no code of it with -O2
            checks.equal(b"optimised" in told.err, not exact, f"{label}: {told}")
        if exact:
            checks.equal([lines[number]["times"] for number in (5, 6, 7, 14, 17, 19)],
                         [100, 10, 90, 101, 10, 90], label)


def check_folded(checks, work):
    """A function longer than a screen: what ran of it is on the first one."""
    source, program, trace = work / "long.c", work / "long", work / "long.ttape"
    cases = "".join(f"    case {n}:\n        n += {n};\n        break;\n" for n in range(60))
    source.write_text(f"int pick(int n) {{\n    switch (n) {{\n{cases}    }}\n    return n;\n}}\n"
                      "int main(void) { return pick(3) + pick(30) == 0; }\n", encoding="utf-8")
    build("gcc", [source], program, [*FLAGS, "-fsanitize-coverage=trace-pc"])
    setting.tracetape("record", "-q", "-f", "-o", trace, "--", program)
    short = setting.tracetape("lines", "-F", "^pick$", trace).out.decode()
    whole = setting.tracetape("lines", "-F", "^pick$", "--all", trace).out.decode()
    checks.that(len(short.splitlines()) <= 30 and len(whole.splitlines()) > 180, short)
    checks.equal(len(re.findall(r"^ +never +\d+  to \d+: \d+ lines \(--all shows them\)$", short,
                                re.M)), 2, short)
    for text in (short, whole):
        checks.that(re.search(r"^ +1 +13 +n \+= 3;$", text, re.M) and
                    re.search(r"^ +1 +94 +n \+= 30;$", text, re.M), text)
    answer = ask(trace, "-F", "^pick$")
    checks.that(len(lines_of(answer, "long.c")) > 120, "JSON has all")


def main():
    setting.need_verb("record", "lines")
    if not STUB.is_file():
        setting.skip(f"no '{STUB.name}' in this build")
    checks = setting.Checks("lines")
    with setting.work_dir() as folder:
        work = Path(folder)
        for compiler in ("g++", "clang++"):
            if shutil.which(compiler) is None:
                print(f"{compiler} is not installed: left out")
                continue
            trace, third, walks = check_known(checks, compiler, work)
            if compiler == "g++":
                check_questions(checks, trace, third, walks)
                check_missing(checks, work, trace)
                check_partitions(checks, work, trace)
                check_union(checks, trace)
                check_arcs(checks, work)
        for compiler in ("gcc", "clang"):
            if shutil.which(compiler) is not None:
                check_optimised(checks, compiler, work)
        check_example(checks, work)
        check_gcov(checks, work)
        check_llvm(checks, work)
        check_linked(checks, work)
        check_folded(checks, work)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
