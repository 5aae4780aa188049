#!/usr/bin/env python3
"""Purity gate: the objects of format/ need nothing but each other and what purity.txt lists."""
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


def main():
    if os.environ.get("TTAPE_SANITIZE"):
        tidy.skip("a sanitizer build needs its runtime; the release build is the one that counts")
    listing = tidy.BUILD / "gates" / "format_objects.txt"
    if not listing.is_file():
        tidy.skip(f"'{listing}' is absent: configure with TTAPE_TESTS=ON")
    objects = [o for o in listing.read_text(encoding="utf-8").split("\n") if o]
    allowed = [line.split("#")[0].strip()
               for line in (tidy.HERE / "purity.txt").read_text(encoding="utf-8").splitlines()]
    own = {name for _, name in symbols(objects, "--defined-only")}
    problems = [f"{place}: needs '{name}', which format/ may not use"
                for place, name in symbols(objects, "-u")
                if name not in own and not any(fnmatch.fnmatchcase(name, a) for a in allowed if a)]
    tidy.verdict("purity", problems, f"{len(objects)} objects of format/ are pure")


main()
