#!/usr/bin/env python3
"""Real recordings: calls and own times of functions in Arrow's stream, and own times in Firefox's
profile, are those of report, to the nanosecond."""
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import test_export_arrow as arrow
import test_export_firefox as firefox
from test_export_arrow import run

CORPUS = Path(os.environ.get("TTAPE_CORPUS") or
              Path(os.environ["TTAPE_SRC"]) / ".." / "shared" / "corpus")
PIECE = 400_000  # events, of which a profile in JSON is read at once


def key(name):
    """Functions without a name are addresses in reports, and places in their files elsewhere."""
    return "(no name)" if re.fullmatch(r"(.*\+)?0x[0-9a-f]+", name) else name


def reported(trace):
    said = json.loads(run("report", "--json", trace, good=(0, 3)))["rows"]
    own, calls = Counter(), Counter()
    for row in said:
        own[key(row["name"])] += row["self_ns"]
        calls[key(row["name"])] += row["calls"]
    return +own, +calls


def export(trace, kind, work):
    out = work / kind
    run("export", "--format", kind, trace, "-o", out, "--force", good=(0, 3))
    return out.read_bytes()


def check(archive, work):
    subprocess.run(["tar", "-xJf", archive, "-C", work], check=True)
    whole, piece = work / "whole.ttape", work / "piece.ttape"
    folder = next(work.rglob("info")).parent
    run("convert", folder, "-o", whole, good=(0, 3))
    own, calls, rows = Counter(), Counter(), 0
    for columns in arrow.batches(export(whole, "arrow", work)):
        rows += len(columns["call"])
        for name, self_ns, was_open in zip(columns["name"], columns["self_ns"],
                                           columns["was_open"]):
            own[key(name)] += self_ns
            calls[key(name)] += not was_open
    assert (+own, +calls) == reported(whole), archive
    run("cut", whole, "-o", piece, "--events", f"0..{PIECE}", good=(0, 3))
    wanted = reported(piece)[0]
    found = Counter()
    for stack, weight in firefox.read(export(piece, "firefox", work))[0].items():
        found[key(stack[-1])] += weight
    assert +found == wanted, ((found - wanted).most_common(3), (wanted - found).most_common(3))
    print(f"ok: {archive.name}: {rows} calls")


def main():
    archives = sorted(CORPUS.glob("*.uftrace.tar.xz"))
    if not archives:
        print(f"SKIPPED: no recordings in {CORPUS}")
        return 77
    for archive in archives:
        with tempfile.TemporaryDirectory(prefix="ttape-sums.") as work:
            check(archive, Path(work))
    return 0


sys.exit(main())
