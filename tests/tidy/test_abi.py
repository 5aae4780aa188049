#!/usr/bin/env python3
"""ABI gate: functions declared TTAPE_API == names in the version script == dynamic symbols.

`test_abi.py --write-map` writes the version script anew from the headers."""
import re
import subprocess
import sys

import tidy

MAP = tidy.ROOT / "libtrace" / "libtracetape.map"
HEAD = """/* What libtracetape exports. After adding a public function (the linker says 'undefined
 * reference' until then): `tests/tidy/test_abi.py --write-map` takes the names from the headers. */
"""
DECLARATION = re.compile(r"\bTTAPE_API\b([^;{]*?)\b(ttape_\w+)\s*\(", re.S)
VARIABLE = re.compile(r"\bTTAPE_API\s+extern\b[^;()]*?\b(ttape_\w+)\s*(?:\[[^;]*\])?;", re.S)


def declared():
    names = set()
    for path in tidy.files(".h", under=["libtrace/include"]):
        code = re.sub(r"^[ \t]*#(?:.*\\\n)*.*$", "", tidy.without_comments(tidy.text(path)),
                      flags=re.M)
        names |= {match.group(2) for match in DECLARATION.finditer(code)}
        names |= {match.group(1) for match in VARIABLE.finditer(code)}
    return names


def mapped():
    """The global names of the version script, local ones left out."""
    script = tidy.without_comments(MAP.read_text(encoding="utf-8"))
    names = set()
    for node in re.findall(r"\{(.*?)\}", script, re.S):
        scope = "global"
        for label, name in re.findall(r"(\w+)\s*:|([\w*?]+)\s*;", node):
            scope = label or scope
            if name and scope == "global":
                names.add(name)
    return names


def exported(library):
    output = subprocess.run(["nm", "-D", "--defined-only", "-P", library], check=True,
                            capture_output=True, text=True).stdout
    rows = [line.split() for line in output.splitlines()]
    return {row[0].split("@")[0] for row in rows if row[1] != "A"}


def write_map(names):
    body = "".join(f"    {name};\n" for name in sorted(names))
    MAP.write_text(f"{HEAD}TRACETAPE_0 {{\nglobal:\n{body}local:\n    *;\n}};\n", encoding="utf-8")
    print(f"wrote {len(names)} names to libtrace/libtracetape.map")


def main():
    headers = declared()
    if "--write-map" in sys.argv:
        write_map(headers)
        return
    library = tidy.BUILD / "libtracetape.so"
    if not library.exists():
        tidy.skip("no shared library in this build")
    if not headers:
        tidy.skip("no public header declares a TTAPE_API function yet")
    sides = {"the public headers": headers, "libtrace/libtracetape.map": mapped(),
             "the shared library": exported(library)}
    problems = []
    for name in sorted(set().union(*sides.values())):
        missing = [side for side, names in sides.items() if name not in names]
        if missing:
            problems.append(f"'{name}' is not in {' nor in '.join(missing)}")
    if problems:
        problems.append("(tests/tidy/test_abi.py --write-map rewrites the map from the headers)")
    tidy.verdict("abi", problems, f"{len(headers)} functions declared, mapped and exported")


main()
