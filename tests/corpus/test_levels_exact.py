#!/usr/bin/env python3
"""What overviews and levels of detail change in answers: nothing, on real recordings.

Each recording is brought to partitions of 131,072 events, which say what was on their stacks at
some instants, and coded anew with an overview behind each eight of them, and without any.

- `report` says the same of both, to the nanosecond, by function and by thread, with histograms and
  from events alone.
- Tiles at several levels are the same from overviews, from sections of instants and from events
  (tiles_agree.c), and each of these is what some of them are made of.

Two recordings; all with TTAPE_THOROUGH=1. Exit 77: no corpus here."""
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

TOOL = os.environ.get("TTAPE_BIN", "tracetape")
SOURCE = pathlib.Path(os.environ.get("TTAPE_SRC", "."))
CORPUS = pathlib.Path(os.environ.get("TTAPE_CORPUS", SOURCE / ".." / "shared" / "corpus"))
PROGRAMS = pathlib.Path(os.environ.get("TTAPE_BUILD", "build/release"), "tests")
FEW = ("lua_jmp", "redis")  # jumps, threads
NO_OVERVIEWS = str(2**64 - 1)
WAYS = ([], ["--histogram"], ["--by", "thread"], ["--exact"])
# What says how an answer was made, and what is compared row by row.
HOW = ("file", "exact", "decoded_partitions", "rows")


def report(trace, options):
    out = subprocess.run([TOOL, "report", "--json", *options, trace], check=True,
                         capture_output=True).stdout
    return json.loads(out)


def different(one, two):
    """Keys; what only events say may be missing in one of both."""
    return [key for key in sorted(set(one) | set(two))
            if key not in HOW and one.get(key) != two.get(key)
            and not (key == "unseen_exits" and (key in one) != (key in two))]


def differences(one, two):
    """Lines that name what differs between two reports."""
    found = [f"{key}: {one.get(key)} and {two.get(key)}" for key in different(one, two)]
    found += [f"{a.get('name')}: {key}: {a.get(key)} and {b.get(key)}"
              for a, b in zip(one["rows"], two["rows"]) for key in different(a, b)]
    if len(one["rows"]) != len(two["rows"]):
        found.append(f"{len(one['rows'])} and {len(two['rows'])} rows")
    return found


def check_reports(name, trace, bare):
    for way in WAYS:
        found = differences(report(trace, way), report(bare, way))
        if found:
            sys.exit(f"FAILED {name}: report {' '.join(way)}: with and without overviews: "
                     + "; ".join(found[:5]))


def check_tiles(name, trace):
    done = subprocess.run([PROGRAMS / "corpus_tiles_agree", trace], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        sys.exit(f"FAILED {name}: {done.stderr}")
    return [int(word) for word in done.stdout.split()]


def check(name, folder, work):
    small, trace, bare = work / "small.ttape", work / "trace.ttape", work / "bare.ttape"
    subprocess.run([TOOL, "convert", folder, "-o", small, "--partition-events", "131072"],
                   check=True)
    subprocess.run([PROGRAMS / "corpus_with_overviews", small, trace, "8"], check=True)
    subprocess.run([PROGRAMS / "corpus_with_overviews", small, bare, NO_OVERVIEWS], check=True)
    subprocess.run([TOOL, "verify", "--quiet", trace], check=True)
    check_reports(name, trace, bare)
    return check_tiles(name, trace)


def main():
    archives = [path for path in sorted(CORPUS.glob("*.uftrace.tar.xz"))
                if os.environ.get("TTAPE_THOROUGH") == "1" or path.name.split(".")[0] in FEW]
    if not archives:
        print(f"SKIPPED: no recordings in {CORPUS}")
        sys.exit(77)
    sums = [0] * 4
    for archive in archives:
        name = archive.name.split(".")[0]
        with tempfile.TemporaryDirectory(prefix="ttape-overviews-") as work:
            work = pathlib.Path(work)
            with tarfile.open(archive) as tar:
                tar.extractall(work / "all")
            folder = next(p.parent for p in (work / "all").rglob("info"))
            counts = check(name, folder, work)
        print(f"{name}: reports agree; {counts[0]} tiles agree, made of {counts[1]} segments by "
              f"overviews, {counts[2]} by sections, {counts[3]} by events", flush=True)
        sums = [a + b for a, b in zip(sums, counts)]
    if not all(sums):
        sys.exit(f"FAILED: a source told nothing: {sums}")


main()
