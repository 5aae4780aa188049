#!/usr/bin/env python3
"""`tracetape context --log TEXT`: which of the stacks with one value can have printed a text, by
the program's strings: formats, parts, tables, through helpers, inlined, with and without symbols;
what two print stays open, what nobody prints is said, and nothing is certain by a text. The
document's collisions are told apart as it says."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import setting

INCLUDE = setting.SOURCE / "libtrace" / "include"
WAYS = (("-O2",), ("-O0",), ("-O2", "-fno-pie", "-no-pie"), ("-O0", "-fno-pie", "-no-pie"))
PARTS = {"apples": len("picked" "apples of" "trees"), "pears": len("picked" "pears")}
PLACES = {"a": 0x500100, "d": 0xA00200, "f1": 0xF00300, "b": 0x640000, "c": 0x650000}
failures = []
work = tempfile.mkdtemp(prefix="tttext")


def note(what, problem):
    failures.append(f"{what}: {problem}")


def build(compiler, source, name, *flags):
    path = os.path.join(work, name)
    subprocess.run([setting.compiler_of(source, compiler), "-g", "-finstrument-functions",
                    f"-I{INCLUDE}", *flags, "-o", path, setting.PROGRAMS / source,
                    f"-L{setting.BUILD}", "-ltracetape-context",
                    f"-Wl,-rpath,{setting.BUILD}"], check=True)
    return path


def lines_of(path, *words):
    return subprocess.run([path, *words], check=True, capture_output=True, text=True,
                          timeout=60).stdout.splitlines()


def context(*words, status=(0, 1)):
    done = subprocess.run([setting.COMMAND, "context", *words], capture_output=True, text=True,
                          timeout=120)
    if done.returncode not in status:
        note(f"{words}", f"status {done.returncode}: {done.stderr[:300]}")
    return done


def names_by_place(path):
    """{"file+0x12": name} of the program before it was stripped."""
    start = min(int(line.split()[2], 16) & ~0xFFF
                for line in subprocess.run(["readelf", "-lW", path], check=True,
                                           capture_output=True, text=True).stdout.splitlines()
                if line.split()[:1] == ["LOAD"])
    found = {}
    for line in subprocess.run(["nm", path], check=True, capture_output=True,
                               text=True).stdout.splitlines():
        words = line.split()
        if len(words) == 3 and words[1] in "tT":
            found[f"{os.path.basename(path)}+0x{int(words[0], 16) - start:x}"] = words[2]
    return found


def check_line(label, path, names, line):
    """VALUE|STACK HOW-FAR|TEXT: that stack is likely, by the right function's string."""
    value, stack, text = line.split("|", 2)
    stack, far = stack.split()
    right = ["main", *stack.split(">")]
    done = context("--json", "--operation", "xor", "--binary", path, "--log", text, value)
    answer = json.loads(done.stdout)[0]
    found = [[names.get(name, name) for name in one["functions"]] for one in answer["stacks"]]
    teller = answer["stacks"][0].get("text", {}).get("function") if found else None
    if not found or found[0] != right or answer["certainty"] != "likely" or done.returncode or \
            names.get(teller, teller) != right[-1 - int(far)]:
        note(label, f"{line}: {answer['certainty']} {found}, by {teller}")


def check_program(compiler, flags):
    label = f"{compiler} {' '.join(flags)}"
    path = build(compiler, "context_printed.c", "text", *flags)
    lines = lines_of(path, "1")
    names = names_by_place(path)
    for strip in (False, True):
        if strip:
            subprocess.run(["strip", "-s", path], check=True)
        for line in lines:
            check_line(f"{label}{', stripped' if strip else ''}", path, names, line)
    if len(lines) != 17:
        note(label, f"{len(lines)} lines")


def check_printers(path):
    """Who can print it, without any value."""
    def printers(text, status=(0,)):
        done = context("--json", "--binary", path, "--log", text, status=status)
        return [one["function"] for one in json.loads(done.stdout)]
    for text, right in (
            ("said by two", {"twice_a", "twice_b"}),
            ("Nov 28 x[7]: said by two.", {"twice_a", "twice_b"}),
            ("Plain text of 12 parts, 99.50 %", {"plain"}), ("Plain text of many parts", set()),
            ("wanted 0xdeadbeef by root    |   12", {"wide"}), ("parts, 1.5", {"plain"}),
            ("2026 Plain text of 7 par", {"plain"}), ("E7: kettle is empty", {"structs"}),
            ("one piece 17 and another piece", {"parts"}), ("nobody says this", set()),
            ("12:00 1234 0x77", set()), ("", set()), ("unstopped", set())):
        found = printers(text, (0 if right else 1,))
        if set(found) != right:
            note("printers", f"'{text}': {found}")
    if printers("the engine has stopped")[0] != "whole":
        note("printers", "the longer string does not come first")
    if context("--binary", path, "--log", "said by two").stdout != \
            'twice_a: "said by two"\ntwice_b: "said by two"\n':
        note("printers", "text")


def check_open(path):
    """Two that print the same stay open; what has no text of it keeps what it was."""
    lines = {line.split("|")[1].split()[0]: line for line in lines_of(path, "1")}
    value, stack, _ = lines["first>second"].split("|")
    words = ("--operation", "xor", "--binary", path)
    for text, count, certainty in (("nobody says this", 2, "open"), ("12 | 13", 2, "open"),
                                   ("second shouts 7", 2, "likely")):
        answer = json.loads(context("--json", *words, "--log", text, value).stdout)[0]
        if len(answer["stacks"]) != count or answer["certainty"] != certainty:
            note("open", f"'{text}': {answer}")
    told = context(*words, "--log", "nobody says this", value)
    if "nothing of the text" not in told.stdout or "no function of these" not in told.stderr or \
            told.returncode != 1:
        note("open", f"{told}")
    value = lines["plain"].split("|")[0]
    told = context(*words, "--log", "said by two", value)
    if ": likely, whose functions have nothing of the text\n" not in told.stdout:
        note("one stack", told.stdout)
    log = os.path.join(work, "log")
    right = "".join(f"{one.split('|')[0]} {{likely: main > "
                    f"{one.split('|')[1].split()[0].replace('>', ' > ')}}} {one.split('|')[2]}\n"
                    for one in lines.values())
    with open(log, "w", encoding="ascii") as file:
        file.writelines(f"{one.split('|')[0]} {one.split('|')[2]}\n" for one in lines.values())
    told = context(*words, "--annotate", log)
    if told.stdout != right:
        note("annotated", told.stdout)


def check_streams(compiler):
    path = build(compiler, "context_parts.cc", "parts", "-O2")
    for line in lines_of(path):
        value, name, text = line.split("|", 2)
        answer = json.loads(context("--json", "--operation", "xor", "--binary", path, "--log",
                                    text, value).stdout)[0]
        told = answer["stacks"][0].get("text", {})
        if name not in told.get("function", "") or told["bytes"] != PARTS[name]:
            note(f"streams, {compiler}", f"{line}: {told}")


def check_golden(compiler):
    """[0000...] TEXT: the document's lines, each with its stack."""
    stacks = {"one": ["main", "F1"], "Hello mars": ["main", "A", "B"],
              "Hello 2 mars": ["main", "A", "B"], "Hello world.": ["main", "A", "B", "C"],
              "Hello earth.": ["main", "A", "D"]}
    path = build(compiler, "context_golden.c", "golden", "-O1", "-fno-pie", "-no-pie",
                 *(f"-Wl,--section-start=code_{name}={place:#x}" for name, place in PLACES.items()))
    lines = dict(line[1:].split("] ", 1)[::-1] for line in lines_of(path))
    if set(lines) != set(stacks) or lines["one"] != lines["Hello earth."]:
        note("the document", f"no collision: {lines}")
    for text, value in lines.items():
        words = ("--json", "--operation", "xor", "--id-kind", "address", "--binary", path, value)
        alone = json.loads(context(*words).stdout)[0]
        told = json.loads(context(*words, "--log", f"[{value}] {text}").stdout)[0]
        if [one["functions"] for one in told["stacks"]] != [stacks[text]] or \
                told["certainty"] != "likely":
            note("the document", f"{text}: {told}")
        if (alone["certainty"] == "open") != (text in ("one", "Hello earth.")):
            note("the document", f"without its text {text}: {alone}")


def check_words(path):
    for words in (("--log", "text", "0/0"), ("--log", "text"),
                  ("--binary", path, "--log", "text", "--annotate", path)):
        done = context(*words, status=(2,))
        if not done.stderr.startswith("tracetape: "):
            note(f"{words}", done.stderr[:200])


def main():
    setting.need_verb("context", "callgraph")
    setting.need_command("gcc", "g++", "strip", "nm", "readelf")
    if os.uname().machine != "x86_64":
        setting.skip("code is read of x86-64 only")
    for compiler in ("gcc", "clang"):
        if shutil.which(compiler) is None:
            continue
        for flags in WAYS if compiler == "gcc" else setting.cut(WAYS, WAYS[:1]):
            check_program(compiler, flags)
        check_golden(compiler)
        check_streams(compiler)
    path = build("gcc", "context_printed.c", "whole", "-O2")
    check_printers(path)
    check_open(path)
    check_words(path)
    shutil.rmtree(work, ignore_errors=True)
    for failure in failures[:40]:
        print(failure)
    print(f"context, by text: {'FAILED' if failures else 'ok'}")
    sys.exit(bool(failures))


main()
