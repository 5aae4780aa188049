#!/usr/bin/env python3
"""State gate: the product has no mutable variable that outlives a call (file-wide or static in a
function), but for those that state_exceptions.txt gives a reason for: a server calls the same code
many times. recorder/runtime/ lives in traced programs and is free."""
import json
import os
import shlex
import subprocess
from pathlib import Path

import tidy

SECTIONS = (".bss", ".data", ".tbss", ".tdata", "COMMON", "*COM*")


def objects():
    """The objects of the product's own files: {object: source}."""
    listing = tidy.BUILD / "compile_commands.json"
    if not listing.is_file():
        tidy.skip(f"'{listing}' is absent: configure with CMAKE_EXPORT_COMPILE_COMMANDS=ON")
    found = {}
    for entry in json.loads(listing.read_text(encoding="utf-8")):
        source = Path(entry["file"])
        if not source.is_relative_to(tidy.ROOT):
            continue
        source = str(source.relative_to(tidy.ROOT))
        words = shlex.split(entry["command"])
        output = Path(entry["directory"], words[words.index("-o") + 1])
        if source.startswith(tuple(f"{top}/" for top in tidy.PRODUCT)) and output.is_file() \
                and not source.startswith("recorder/runtime/"):
            found[str(output)] = source
    return found


def variables(sources):
    """(source, name) of each variable in a section that can be written."""
    output = subprocess.run(["nm", "-A", "-f", "sysv", *sources], check=True,
                            capture_output=True, text=True).stdout
    for line in output.splitlines():
        fields = [field.strip() for field in line.split("|")]
        if len(fields) == 7 and fields[6].startswith(SECTIONS) and ".rel.ro" not in fields[6] \
                and fields[3] != "SECTION":
            path, _, name = fields[0].rpartition(":")
            yield sources[path], name.split(".")[0]


def main():
    if os.environ.get("TTAPE_SANITIZE"):
        tidy.skip("sanitizers have variables of their own; the release build counts")
    allowed = {words for words, _ in tidy.exceptions("state_exceptions.txt")}
    compiled = objects()
    if not compiled:
        tidy.skip("nothing is compiled")
    found = set(variables(compiled))
    problems = [f"{source}: '{name}' outlives the call that changes it" for source, name in
                sorted(found - allowed)]
    problems += [f"state_exceptions.txt: '{' '.join(words)}' is not needed"
                 for words in sorted(allowed - found)]
    tidy.verdict("state", problems,
                 f"{len(compiled)} objects, {len(allowed)} variables with a reason")


main()
