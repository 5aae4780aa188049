#!/usr/bin/env python3
"""Programs that were compiled with an older header go on to work with a newer library.

`struct_layout.txt` has the size of each public struct, the place and type of each field, and the
number of each constant, as they were when it was written. A struct keeps them; what is new stands
where `reserved` words were, or, in options, which begin with their size, behind the rest. Then a
program that was compiled with the frozen `older/older_tracetape.h` is run with the library of this
build: behind each struct that the library fills are bytes that it must leave alone.

Before 1.0 a struct may still change: `test_older_header.py --write-layout` writes the list anew."""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = Path(os.environ.get("TTAPE_SRC") or HERE.parents[1])
INCLUDE = SOURCE / "libtrace" / "include"
LAYOUT = HERE / "struct_layout.txt"
COMPILER = os.environ.get("TTAPE_CC") or "cc"
HEAD = "# Written by test_older_header.py --write-layout: what compiled programs rely on.\n"


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(77)


def declarations():
    """All public headers' code in one string, without comments."""
    code = "\n".join(path.read_text(encoding="utf-8")
                     for path in sorted((INCLUDE / "tracetape").glob("*.h")))
    return re.sub(r"/\*.*?\*/", " ", code, flags=re.S)


def fields_of(body):
    """(type, name) of each field."""
    for line in body.split(";"):
        line = " ".join(line.split())
        function = re.match(r"(.*)\(\*(\w+)\)(\(.*\))$", line)
        if function:
            yield f"{function[1].strip()} (*){function[3]}", function[2]
        elif line:
            kind, names = re.match(r"((?:const )?\w+(?: \w+)?) (?=[\w*])(.*)$", line).groups()
            for name in names.split(","):
                name = name.strip()
                bare = name.strip("* ").split("[")[0]
                yield kind + name.replace(bare, "", 1).replace(" ", ""), bare


def public():
    """{struct: [(type, name)]} and the names of constants."""
    code = declarations()
    structs = {match[1]: list(fields_of(match[2])) for match in
               re.finditer(r"typedef struct (\w+) \{(.*?)\} \1;", code, re.S)}
    constants = [name for body in re.findall(r"typedef enum \w+ \{(.*?)\}", code, re.S)
                 for name in re.findall(r"\b(TTAPE_\w+)\b(?= ?=|,|\s*$)", body)
                 if not name.endswith("_COUNT")]
    return structs, constants


def measure(structs, constants, work):
    """The lines of the list, by a program that is compiled with the headers."""
    lines = []
    for struct, fields in sorted(structs.items()):
        lines.append(f'printf("struct {struct} %zu\\n", sizeof({struct}));')
        lines += [f'printf("  %zu %zu {name}: {kind}\\n", offsetof({struct}, {name}), '
                  f'sizeof((({struct} *)0)->{name}));' for kind, name in fields]
    lines += [f'printf("constant {name} %d\\n", (int){name});' for name in sorted(constants)]
    program = Path(work, "layout.c")
    program.write_text("#include <stddef.h>\n#include <stdio.h>\n"
                       "#include <tracetape/branch.h>\n#include <tracetape/context.h>\n"
                       "#include <tracetape/runtime.h>\n"
                       "#include <tracetape/tracetape.h>\nint main(void)\n{\n"
                       + "\n".join(lines) + "\nreturn 0;\n}\n", encoding="utf-8")
    subprocess.run([COMPILER, "-std=c11", f"-I{INCLUDE}", "-o", program.with_suffix(""), program],
                   check=True)
    return subprocess.run([program.with_suffix("")], check=True, capture_output=True,
                          text=True).stdout


def parse(text):
    structs, constants, fields = {}, {}, {}
    for line in text.splitlines():
        words = line.split()
        if line.startswith("struct"):
            fields = {}
            structs[words[1]] = (int(words[2]), fields)
        elif line.startswith("constant"):
            constants[words[1]] = int(words[2])
        elif line.startswith("  "):
            place, size, name, kind = re.match(r"  (\d+) (\d+) (\w+): (.*)$", line).groups()
            fields[name] = (int(place), int(size), kind)
    return structs, constants


def compare_struct(struct, old, new):
    (old_size, old_fields), (size, fields) = old, new
    grows = next(iter(old_fields)) == "size"
    start, room, _ = old_fields.get("reserved", (old_size, 0, ""))
    if size < old_size or (size > old_size and not grows):
        yield f"{struct} has {size} bytes instead of {old_size}"
    for name, was in old_fields.items():
        if name != "reserved" and fields.get(name) != was:
            yield f"{struct}.{name} is {fields.get(name)} instead of {was}"
    for name, (place, length, _) in fields.items():
        if name in old_fields or (start <= place and place + length <= start + room):
            continue
        if not grows or place < old_size:
            yield f"{struct}.{name} is not where reserved words were"


def compare(old, new):
    (old_structs, old_constants), (structs, constants) = old, new
    for struct, was in old_structs.items():
        if struct not in structs:
            yield f"{struct} is gone"
        else:
            yield from compare_struct(struct, was, structs[struct])
    for struct in structs.keys() - old_structs.keys():
        yield f"{struct} is not in the list yet: --write-layout"
    for name, was in old_constants.items():
        if constants.get(name) != was:
            yield f"{name} is {constants.get(name)} instead of {was}"


def run_older(work):
    """What the program says that knows the older header only; "" when all is well."""
    library = Path(os.environ["TTAPE_BUILD"], "libtracetape.so")
    if os.environ.get("TTAPE_SANITIZE") or not library.exists():
        print("no shared library that a program could be run with: only layouts were compared")
        return ""
    program = Path(work, "older")
    subprocess.run([COMPILER, "-std=c11", "-O1", f"-I{HERE / 'older'}", "-o", program,
                    HERE / "older" / "older_consumer.c", library,
                    f"-Wl,-rpath,{library.parent}"], check=True)
    run = subprocess.run([program], capture_output=True, text=True, check=False)
    return "" if run.returncode == 0 else f"the older program: {run.returncode}\n{run.stdout}"


def main():
    if sys.maxsize < 2 ** 32:
        skip("the list is of a 64-bit machine")
    with tempfile.TemporaryDirectory() as work:
        structs, constants = public()
        text = measure(structs, constants, work)
        if "--write-layout" in sys.argv:
            LAYOUT.write_text(HEAD + text, encoding="utf-8")
            print(f"wrote {len(structs)} structs and {len(constants)} constants")
            return
        problems = list(compare(parse(LAYOUT.read_text(encoding="utf-8")), parse(text)))
        problems += filter(None, [run_older(work)])
    for problem in problems:
        print(problem)
    print(f"older header: {'FAILED' if problems else 'ok'}, {len(structs)} structs")
    sys.exit(1 if problems else 0)


main()
