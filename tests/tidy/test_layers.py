#!/usr/bin/env python3
"""Architecture gate: every #include of the product agrees with layers.txt."""
import fnmatch
import re
from pathlib import Path

import tidy

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(?:<([^>]+)>|"([^"]+)")', re.M)


def rules():
    table = {"layer": {}, "system": {}, "door": {}}
    for line in (tidy.HERE / "layers.txt").read_text(encoding="utf-8").splitlines():
        line = line.split("#")[0].strip()
        if line:
            head, _, rest = line.partition(":")
            kind, *names = head.split()
            for name in names:
                table["layer" if kind == "each" else kind][name] = [
                    f"{name}/" if word == "{}" else word for word in rest.split()]
    return table


def owner(path, folders):
    """The most specific folder of `folders` that holds the path, or None."""
    holding = [f for f in folders if str(path).startswith(f + "/")]
    return max(holding, key=len, default=None)


def resolve(path, name):
    """Repository-relative path of a quoted include: beside the file, then from the root."""
    for base in (path.parent, Path()):
        candidate = base / name
        if (tidy.ROOT / candidate).is_file():
            return candidate
    return None


def matches(target, pattern):
    if pattern.endswith("/"):
        return target.startswith(pattern)
    return fnmatch.fnmatch(target, pattern) and target.count("/") == pattern.count("/")


def check_public(name, allowed):
    if any(fnmatch.fnmatch(f"<{name}>", pattern) for pattern in allowed):
        return None
    return f"public header <{name}> is not for this layer"


def check_include(path, angled, quoted, table):
    """One include of one file: None, or what is wrong with it."""
    allowed = table["layer"][owner(path, table["layer"])]
    name = angled or quoted
    if name.startswith("tracetape/"):
        return f'"{name}" is public: write <{name}>' if quoted else check_public(name, allowed)
    if quoted:
        target = resolve(path, name)
        if target is None:
            return f'"{name}" is not a file of this project'
        if any(matches(str(target), a) for a in allowed):
            return None
        return f'"{name}" is outside what this layer may include'
    if name in table["door"] and str(path) not in table["door"][name]:
        return f"<{name}> has its door in {' and '.join(table['door'][name])}"
    system = table["system"].get(owner(path, table["system"]))
    if system is not None and name not in system:
        return f"<{name}> is not among the system headers of this layer"
    return None


def reached(arrows):
    """{name: all that it leads to}"""
    found = {}
    for start in arrows:
        seen, todo = set(), [start]
        while todo:
            for target in arrows.get(todo.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        found[start] = seen
    return found


def circles(arrows):
    """Sets of names that lead to each other."""
    reach = reached(arrows)
    found = {frozenset(b for b in reach[a] if a in reach.get(b, ())) for a in arrows}
    return [sorted(f) for f in found if len(f) > 1]


def room(name):
    return str(Path(name).parent)


def room_circles(arrows):
    """Folders that include each other in a circle."""
    rooms = {}
    for name, targets in arrows.items():
        rooms.setdefault(room(name), set()).update(room(t) for t in targets)
    for folder, targets in rooms.items():
        targets.discard(folder)
    return [f"these folders include each other in a circle: {', '.join(c)}"
            for c in circles(rooms)]


def main():
    table = rules()
    problems, seen, arrows = [], 0, {}
    for path in tidy.files(".c", ".h", ".inc", under=tidy.PRODUCT):
        code = tidy.without_comments(tidy.text(path))
        for match in INCLUDE.finditer(code):
            seen += 1
            if match.group(2):
                target = str(Path(match.group(2)).with_suffix(""))
                if target != str(path.with_suffix("")):
                    arrows.setdefault(str(path.with_suffix("")), set()).add(target)
            wrong = check_include(path, match.group(1), match.group(2), table)
            if wrong:
                line = code.count("\n", 0, match.start()) + 1
                problems.append(f"{path}:{line}: {wrong}")
    problems += [f"these include each other in a circle: {', '.join(c)}" for c in circles(arrows)
                 if len({room(name) for name in c}) > 1]
    problems += room_circles(arrows)
    tidy.verdict("layers", problems, f"{seen} includes follow layers.txt")


main()
