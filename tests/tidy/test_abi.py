#!/usr/bin/env python3
"""ABI gate: functions declared TTAPE_API == names in the version script == dynamic symbols, for the
library and for the runtime (whose names begin with ttape_rt_, ttape_context or ttape_branch; what
else it exports are other libraries' names, in its version script and in the file alike).

`test_abi.py --write-map` writes the library's version script anew from the headers."""
import re
import subprocess
import sys

import tidy

MAP = tidy.ROOT / "libtrace" / "libtracetape.map"
RUNTIME_MAP = tidy.ROOT / "recorder" / "runtime" / "libtracetape-rt.map"
RUNTIME_PREFIX = ("ttape_rt_", "ttape_context", "ttape_branch")
CONTEXT_PREFIX = ("ttape_context", "ttape_branch", "ttape_rt_branch")
CONTEXT_MAP = tidy.ROOT / "recorder" / "runtime" / "alone" / "libtracetape-context.map"
HEAD = """/* What libtracetape exports. After adding a public function (the linker says 'undefined
 * reference' until then): `tests/tidy/test_abi.py --write-map` takes the names from the headers. */
"""


def declared():
    return {name for names in tidy.public_names().values() for name in names}


def mapped(path):
    """The global names of a version script, local ones left out."""
    script = tidy.without_comments(path.read_text(encoding="utf-8"))
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


def compare(sides):
    problems = []
    for name in sorted(set().union(*sides.values())):
        missing = [side for side, names in sides.items() if name not in names]
        if missing:
            problems.append(f"'{name}' is not in {' nor in '.join(missing)}")
    return problems


def compare_runtime(headers, name="libtracetape-rt.so", script=RUNTIME_MAP):
    library = tidy.BUILD / name
    if not library.exists():
        return [f"'{library.name}' was not built"]
    there, wanted = exported(library), mapped(script)
    foreign = {name for name in there | wanted if not name.startswith(RUNTIME_PREFIX)}
    return compare({"the public headers": headers | foreign, script.name: wanted,
                    "the runtime": there})


def main():
    headers = declared()
    runtime = {name for name in headers if name.startswith(RUNTIME_PREFIX)}
    headers -= runtime
    if "--write-map" in sys.argv:
        write_map(headers)
        return
    library = tidy.BUILD / "libtracetape.so"
    if not library.exists():
        tidy.skip("no shared library in this build")
    if not headers:
        tidy.skip("no public header declares a TTAPE_API function yet")
    problems = compare({"the public headers": headers, "libtrace/libtracetape.map": mapped(MAP),
                        "the shared library": exported(library)})
    problems += compare_runtime(runtime)
    problems += compare_runtime({name for name in runtime if name.startswith(CONTEXT_PREFIX)},
                                "libtracetape-context.so", CONTEXT_MAP)
    if problems:
        problems.append("(tests/tidy/test_abi.py --write-map rewrites the map from the headers)")
    tidy.verdict("abi", problems,
                 f"{len(headers) + len(runtime)} functions declared, mapped and exported")


main()
