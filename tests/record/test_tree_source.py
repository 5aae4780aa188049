#!/usr/bin/env python3
"""`tracetape tree --source`: file, first and last line of each function that is shown, as a program
is marked with them, by both compilers with and without optimisation; copies of inlined functions;
without debug information what the trace knows; without the program what the trace knows, and one
line that says why."""
import json
import re
import shutil
import sys
from pathlib import Path

import setting

SOURCE = setting.PROGRAMS / "p_source.cc"


def marks():
    """{function: [first, last]}"""
    found = {}
    for number, text in enumerate(SOURCE.read_text("utf-8").splitlines(), 1):
        for what, name in re.findall(r"//([\[\]]) ([a-z_()]+)(?= |$)", text):
            found.setdefault(name, [0, 0])[what == "]"] = number
    return found


def short(name):
    """space::box::hold<int>(int) [inlined] -> hold"""
    name = name.removesuffix(" [inlined]")
    return "operator()" if "operator()" in name else re.split(
        r"::", re.sub(r"[<(].*", "", name).strip())[-1].split()[-1]


def tree(trace, *options):
    done = setting.tracetape("tree", "--json", "--source", "--min-time", "0ns", *options, trace)
    return [node for node in json.loads(done.out)["nodes"] if node["kind"] == "call"], done


def check(checks, label, trace, wanted):
    nodes, done = tree(trace)
    checks.equal((done.status, done.err), (0, b""), label)
    seen = set()
    for node in nodes:
        name, source = short(node["name"]), node.get("source")
        if name not in wanted:
            continue
        if node["name"].endswith("[inlined]"):
            seen.add("[inlined]")
        seen.add(name)
        checks.that(source is not None, f"{label}: {node['name']} has no source")
        if source is not None:
            first, last = wanted[name]  # of a brace behind a return clang has no code
            given = (source["first_line"], source["last_line"], Path(source["file"]).name)
            checks.that(given in [(first, last, SOURCE.name)] + [(first, last - 1, SOURCE.name)]
                        * label.startswith("clang"), f"{label}: {node['name']}: {given}")
    return seen


def record(checks, label, work, program, *options):
    trace = work / "source.ttape"
    done = setting.tracetape("record", "-q", "-f", *options, "-o", trace, "--", program)
    checks.equal((done.status, done.err), (0, b""), f"{label}: record")
    return trace


def check_poor(checks, work, program):
    """Without the program, and without lines."""
    poor = work / "poor"
    shutil.copy(program, poor)
    trace = record(checks, "poor", work, poor)
    text = setting.tracetape("tree", "--source", "--no-pager", trace).out.decode()
    first, last = marks()["main"]
    checks.that(f"main (p_source.cc:{first}-{last})" in text, text)
    poor.unlink()
    nodes, done = tree(trace)
    checks.equal((done.status, done.err.count(b"\n")), (0, 1), done.err)
    checks.that(b"no symbols of '" in done.err, done.err)
    main_source = next(node["source"] for node in nodes if short(node["name"]) == "main")
    checks.equal((main_source["first_line"], main_source["last_line"]),
                 (first + 1, None), "no program")  # the line of its first code
    done = setting.tracetape("tree", "--json", trace)
    checks.that(b'"source"' not in done.out, "without --source")


def main():
    setting.need_verb("record", "tree")
    checks = setting.Checks("tree_source")
    wanted = marks()
    with setting.work_dir() as folder:
        work = Path(folder)
        for compiler in ("gcc", "clang"):
            if shutil.which(compiler) is None:
                print(f"{compiler} is not installed: left out")
                continue
            for level in ("-O0", "-O2"):
                label = f"{compiler} {level}"
                program = setting.build("p_source.cc", compiler, (level,), log=False)
                seen = check(checks, label, record(checks, label, work, program), wanted)
                checks.that(set(wanted) <= seen, f"{label}: not called: {set(wanted) - seen}")
            program = setting.build("p_source.cc", compiler, ("-O2",), log=False)
            trace = record(checks, label, work, program, "--patch", ".", "--inlined")
            seen = check(checks, f"{compiler}, inlined", trace, wanted)
            checks.that("[inlined]" in seen, f"{compiler}: no copies: {seen}")
        check_poor(checks, work, setting.build("p_source.cc", "gcc", ("-O0",), log=False))
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
