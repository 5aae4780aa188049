#!/usr/bin/env python3
"""Values by name and type in dump, tree, last and slow: constants of enumerations, flags,
characters, truth and addresses in words, parameters of the C library's functions where the file has
no names."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BIN = os.environ["TTAPE_BIN"]
VECTOR = str(pathlib.Path(os.environ["TTAPE_SRC"]) / "spec" / "vectors" / "value-names.ttape")
FIELDS = VECTOR.replace("value-names", "value-fields")
PAINT = 'paint(path="/a", color=GREEN) = -3'
ODD = "odd(flags=READ|SYNC, more=9, key=97 'a', at=0x1f00, is_last=true, 7, 8)"
ODD_RESULT = " = 0x1f00, is_last=true, 7"
OPEN = "open(pathname=5, flags=O_WRONLY|0x8) = 5"
failures = []


def run(*arguments):
    done = subprocess.run([BIN, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        failures.append(f"{arguments}: status {done.returncode}: {done.stderr}")
    return done.stdout


def check(good, what):
    if not good:
        failures.append(what)


def wants(text, *parts):
    for part in parts:
        check(part in text, f"no {part!r} in:\n{text}")


def check_text():
    wants(run("dump", VECTOR), PAINT, ODD, OPEN, ODD_RESULT)
    for verb in ("slow", "tree", "last"):
        wants(run(verb, VECTOR), PAINT, ODD + ODD_RESULT, OPEN)


def check_fields():
    """A field is shown with what it is in, where it is there (F-VNM-11)."""
    wants(run("dump", FIELDS),
          'move(p=0x7f00{x=5, name="here"}, s={wide.low=7}, n=3, q.x=9) = {x=5}',
          "move(p=0x0, s={wide.low=7}, n=3) = 0x0")
    wants(run("dump", FIELDS, "--filter", "move(p.x=5, s.wide.low>6, arg3=3)"), "p=0x7f00")
    check("p=0x0" not in run("dump", FIELDS, "--filter", "move(p.x!=6)"), "a field that is absent")


def check_call(call, key, what):
    check(call.get(key + "s") == ['"/a"', "-3"], f"{what}: {call}")
    check(call.get(key + "_names") == ["path", "color"], f"{what}: {call}")
    check(call.get(key + "_types") == ["const char *", "enum color"], f"{what}: {call}")
    check(call.get(key + "_constants") == [None, "GREEN"], f"{what}: {call}")
    check(call.get("results") == ["-3"] and call.get("result_types") == ["int"], f"{what}: {call}")
    check("result_names" not in call, f"{what}: {call}")


def check_json():
    lines = [json.loads(line) for line in run("dump", "--format", "ndjson", VECTOR).splitlines()]
    enter = lines[0]
    check(enter["values"] == ["/a", -3] and enter["value_names"] == ["path", "color"] and
          enter["value_types"] == ["const char *", "enum color"] and
          enter["value_constants"] == [None, "GREEN"], f"dump: {enter}")
    check(lines[1]["value_types"] == ["int"] and "value_names" not in lines[1], f"{lines[1]}")
    check(lines[2]["value_constants"] == ["READ|SYNC"] + [None] * 6, f"{lines[2]}")
    check(lines[3]["value_names"] == ["pathname", "flags"] and "value_types" not in lines[3],
          f"{lines[3]}")
    check(lines[3]["value_constants"] == [None, "O_WRONLY|0x8"], f"{lines[3]}")
    check("value_names" not in lines[4], f"{lines[4]}")
    check_call(json.loads(run("slow", "--json", VECTOR))["calls"][0], "argument", "slow")
    check_call(json.loads(run("tree", "--json", VECTOR))["nodes"][1], "argument", "tree")
    check_call(json.loads(run("last", "--json", VECTOR))["threads"][0]["calls"][0], "argument",
               "last")


def check_table():
    """The C library's functions have as many names as values are recorded of them."""
    source = pathlib.Path(os.environ["TTAPE_SRC"])
    recorded = (source / "recorder" / "arena" / "prototypes.h").read_text()
    named = (source / "tools" / "values" / "parameter_names.c").read_text()
    letters = dict(re.findall(r'\{"(\w+)", "(\w+)"\}', recorded))
    names = re.findall(r'\{"(\w+)", "([\w /]+)"\}', named)
    check([name for name, _ in names] == sorted(name for name, _ in names), "names are not sorted")
    check(len(letters) > 150, f"{len(letters)} prototypes")
    for function, parameters in letters.items():
        found = dict(names).get(function, "").split()
        check(len(found) == len(parameters) - 1, f"{function}: {found}, {parameters}")


def convert(folder, text):
    source, trace = folder / "events.txt", folder / "events.ttape"
    source.write_text(text)
    run("convert", "-o", trace, source, "--force")
    return trace


def check_library(folder):
    """Names of the C library's parameters, for functions of the file that have as many values."""
    trace = convert(folder, "".join((
        '1 7 enter open "a" 66\n2 7 exit open +3\n',
        "3 7 enter read +3 0x1000 10 11\n4 7 exit read +0\n",
        '5 7 enter opener "a" 66\n6 7 exit opener\n',
        "7 7 enter malloc 64\n8 7 enter deep\n9 7 exit deep\n")))
    for verb in ("dump", "tree", "last"):
        wants(run(verb, trace), 'open(pathname="a", flags=O_RDWR|O_CREAT) = 3',
              "read(3, 0x1000, 10, 11) = 0", 'opener("a", 66)', "malloc(size=64)")
    check(run("last", trace).count("malloc(size=64)") == 2, "open frames have values")


def check_long(folder):
    """A long value is whole in JSON."""
    trace = convert(folder, '0 1 enter f "a%s"\n10 1 exit f\n' % (r"\x01" * 60000))
    for verb in ("slow", "tree"):
        wants(run(verb, "--json", trace), r'"\"a\\x01', r'\\x01\""')


def check_same_time(folder):
    """Of calls of one function at one time, those that are known by their time only have no
    values: they may be another one's."""
    trace = convert(folder, "0 1 enter f 3\n0 1 enter f 2\n0 1 enter f 1\n0 1 exit f\n0 1 exit f\n")
    check("f(" not in run("last", trace), "last shows values of another call")
    wants(run("tree", trace), "f(2)", "f(1)")


def check_copies(folder):
    """What copies definitions keeps the names."""
    parts = folder / "first.ttape", folder / "second.ttape"
    merged, whole = folder / "merged.ttape", folder / "whole.ttape"
    run("cut", "-o", parts[0], "--events", "0..2", VECTOR)
    run("cut", "-o", parts[1], "--events", "2..", VECTOR)
    run("merge", "-o", merged, *parts)
    run("recover", "-o", whole, VECTOR)
    wants(run("dump", parts[0]), PAINT)
    for trace in (parts[1], merged, whole):
        wants(run("dump", trace), ODD, ODD_RESULT, OPEN)


def main():
    check_text()
    check_fields()
    check_json()
    check_table()
    with tempfile.TemporaryDirectory() as folder:
        check_library(pathlib.Path(folder))
        check_long(pathlib.Path(folder))
        check_same_time(pathlib.Path(folder))
        check_copies(pathlib.Path(folder))
    for failure in failures:
        print(failure)
    return 1 if failures else 0


sys.exit(main())
