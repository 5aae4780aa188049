#!/usr/bin/env python3
"""Shape gate: 100 columns, 70 lines a function, 600 lines a file, every .c and .h name once;
of the product: 24 source files a folder, 8 parameters a function; a name of one word (run, find)
for functions of 14 files at most.

Exceptions, each with its reason: shape_exceptions.txt."""
import re
from collections import Counter

import tidy

COLUMNS, FUNCTION_LINES, FILE_LINES, FOLDER_FILES, PARAMETERS = 100, 70, 600, 24, 8
WORD_FILES = 14
EXCEPTIONS = "shape_exceptions.txt"
SIGNATURE = re.compile(r"^(?!typedef\b|struct\b[^()]*$|enum\b[^()]*$)[A-Za-z_][^;=]*\)")


def scripts():
    """Files without a suffix that a shell runs."""
    return [p for p in tidy.files("", under=["scripts", ".ci"]) if not p.suffix]


def parameters(head):
    """How many parameters follow the first bracket: commas that no other bracket has in it."""
    depth, count = 0, 1
    for letter in head:
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            break
        count += letter == "," and depth == 1
    return count


def functions(code):
    """(name, first line, lines, parameters) of each function definition whose closing brace is in
    column 0."""
    lines = tidy.without_comments(code).split("\n")
    start = None
    for number, line in enumerate(lines):
        if line.startswith("}") and start is not None:
            head = re.sub(r"__attribute__\s*\(\(.*?\)\)\s*", "", " ".join(lines[start:number]))
            name = re.search(r"(\w+)\s*\(", head)
            count = parameters(head[head.index("(", name.start()):]) if name else 0
            yield name.group(1) if name else "?", start + 1, number - start + 1, count
            start = None
        elif line[:1].isalpha() or line[:1] == "_":
            joined = " ".join(lines[number:number + 8]).split("{")[0]
            start = number if SIGNATURE.match(joined) and ";" not in joined else None


def measure():
    """Every finding as (what, path, function or None, text)."""
    longest, names, words = [], {}, {}
    folders = Counter(path.parent for path in tidy.files(".c", ".h", under=tidy.PRODUCT))
    for folder, count in sorted(folders.items()):
        if count > FOLDER_FILES:
            yield "folder", folder, None, f"{folder}: {count} source files"
    for path in tidy.files(".c", ".h", ".inc", ".py", ".sh", ".cmake") + scripts():
        code = tidy.text(path)
        lines = code.splitlines()
        for number, line in enumerate(lines, 1):
            if len(line) > COLUMNS:
                yield "columns", path, None, f"{path}:{number}: {len(line)} columns"
        if len(lines) > FILE_LINES:
            yield "file", path, None, f"{path}: {len(lines)} lines"
        if path.suffix not in (".c", ".h", ".inc"):
            continue
        if path.name in names:
            yield "name", path, None, f"{path}: {names[path.name]} has the same name"
        names.setdefault(path.name, path)
        for name, first, count, taken in functions(code):
            longest.append((count, f"{path}:{first}: {name}"))
            if path.parts[0] in tidy.PRODUCT and "_" not in name:
                words.setdefault(name, set()).add(path)
            if taken > PARAMETERS and path.parts[0] in tidy.PRODUCT:
                yield "parameters", path, name, f"{path}:{first}: '{name}' has {taken} parameters"
            if count > FUNCTION_LINES:
                yield "function", path, name, f"{path}:{first}: '{name}' has {count} lines"
    for name, paths in sorted(words.items()):
        if len(paths) > WORD_FILES:
            yield "word", min(paths), name, (f"{len(paths)} files have a function '{name}', as "
                                             f"{min(paths)}: say what of (verb and noun)")
    for count, place in sorted(longest, reverse=True)[:5]:
        print(f"  {count:4} lines  {place}")


def main():
    excused = {words for words, _ in tidy.exceptions(EXCEPTIONS)}
    problems, used = [], set()
    for what, path, function, message in measure():
        key = tuple(w for w in (what, str(path), function) if w)
        if key in excused:
            used.add(key)
        else:
            problems.append(message)
    problems += [f"tests/tidy/{EXCEPTIONS}: '{' '.join(key)}' is no longer needed"
                 for key in sorted(excused - used)]
    tidy.verdict("shape", problems, f"{len(used)} exceptions in use")


main()
