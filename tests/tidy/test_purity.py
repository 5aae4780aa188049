#!/usr/bin/env python3
"""Purity gate: the objects of format/ need nothing but each other and what purity.txt lists; those
of recorder/runtime/decide/ nothing but each other, and make no system call of their own; those of
what reads (format, reader, answers, names) nothing of what writes and records."""
import fnmatch
import os
import subprocess

import tidy


def symbols(objects, *options):
    output = subprocess.run(["nm", "-A", "-P", *options, *objects], check=True,
                            capture_output=True, text=True).stdout
    for line in output.splitlines():
        place, name, *_ = line.split()
        yield os.path.basename(place.rstrip(":")), name


def listed(name):
    listing = tidy.BUILD / "gates" / f"{name}_objects.txt"
    if not listing.is_file():
        tidy.skip(f"'{listing}' is absent: configure with TTAPE_TESTS=ON")
    return [o for o in listing.read_text(encoding="utf-8").split("\n") if o]


def check(objects, allowed, where):
    own = {name for _, name in symbols(objects, "--defined-only")}
    return [f"{place}: needs '{name}', which {where} may not use"
            for place, name in symbols(objects, "-u")
            if name not in own and not any(fnmatch.fnmatchcase(name, a) for a in allowed if a)]


def missing(objects):
    own = {name for _, name in symbols(objects, "--defined-only")}
    return [(place, name) for place, name in symbols(objects, "-u")
            if name not in own and (name.startswith(("ttp_", "ttape_")) or "fork" in name)]


def system_calls(objects):
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", *objects], check=True,
                          capture_output=True, text=True).stdout
    return ["recorder/runtime/decide/ makes a system call"] if "\tsyscall" in code else []


def main():
    if os.environ.get("TTAPE_SANITIZE"):
        tidy.skip("a sanitizer build needs its runtime; the release build is the one that counts")
    allowed = [line.split("#")[0].strip()
               for line in (tidy.HERE / "purity.txt").read_text(encoding="utf-8").splitlines()]
    formats = listed("format")
    decisions = [o for o in listed("runtime") if "/decide/" in o]
    reading = listed("read")
    problems = [f"{place}: needs '{name}', which is not among what reads"
                for place, name in missing(reading)]
    problems += (check(formats, allowed, "format/") + system_calls(decisions) +
                check(decisions, ["_GLOBAL_OFFSET_TABLE_"], "recorder/runtime/decide/"))
    tidy.verdict("purity", problems, f"{len(formats)} objects of format/ are pure, and "
                                     f"{len(decisions)} of recorder/runtime/decide/; "
                                     f"{len(reading)} that read stand alone")


main()
