#!/usr/bin/env python3
"""Runs the command on every vector and compares what it finds with the vector's expectation."""
import csv
import io
import json
import os
import pathlib
import re
import struct
import subprocess
import sys

SKIPPED = 77
STATUS = {"TTAPE_E_TRUNCATED": "truncated", "TTAPE_E_CORRUPT": "corrupt",
          "TTAPE_E_CHECKSUM": "checksum", "TTAPE_E_LIMIT": "limit",
          "TTAPE_E_VERSION": "version", "TTAPE_E_UNSUPPORTED": "unsupported",
          "TTAPE_E_NOT_TRACE": "not a trace"}
OK, FINDING, LOSS, CANNOT = 0, 1, 3, 4
FILE_HEADER_BYTES, CHUNK_HEADER_BYTES = 64, 64
DEFINITIONS = (2, 3)  # chunk kinds: site table, stream table


def run(binary, *words):
    done = subprocess.run([binary, *words], capture_output=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def kind_at(data, offset):
    """Kind of the chunk that holds a byte; None: none does."""
    at = FILE_HEADER_BYTES
    while at + CHUNK_HEADER_BYTES <= len(data):
        kind, stored = struct.unpack_from("<8xH14xQ", data, at)
        if offset < at + CHUNK_HEADER_BYTES + stored:
            return kind
        at += CHUNK_HEADER_BYTES + stored
    return None


def check_places(binary, path, findings):
    """Each finding has an offset in the file and a rule, in JSON and on its line of text."""
    data = path.read_bytes()
    for f in findings:
        if f["offset"] is None or f["rule"] is None or f["offset"] > len(data):
            yield f"a finding without its place or rule: {f}"
        elif f["rule"] == "F-SIT-09" and kind_at(data, f["offset"]) not in DEFINITIONS:
            yield f"a finding on definitions that is not at theirs: {f}"
    lines = run(binary, "verify", str(path))[1].decode(errors="surrogateescape").splitlines()
    if not findings:
        return
    wanted = [f"{path}: byte {f['offset']}: " for f in findings]
    if len(lines) != len(wanted):
        yield f"{len(lines)} lines for {len(wanted)} findings"
    for line, start in zip(lines, wanted):
        if not line.startswith(start) or not re.search(r" \[[A-Z]-[A-Z]{3}-\d\d\]$", line):
            yield f"a line without its place or rule: {line!r}, not {start!r}"


def check_verify(binary, path, expected):
    """The expected finding is among those of verify; a valid and complete file has none."""
    code, out, err = run(binary, "verify", "--json", str(path))
    if code not in (OK, FINDING):
        yield f"verify exits with {code}: {err.strip()}"
        return
    found = json.loads(out)["findings"]
    yield from check_places(binary, path, found)
    findings = [(f["rule"], f["status"]) for f in found]
    if expected["status"] == "TTAPE_OK":
        if findings or code != OK:
            yield f"verify finds {findings}"
        return
    wanted = (expected["rule"], STATUS[expected["status"]])
    if code != FINDING or wanted not in findings:
        yield f"verify exits with {code} and finds {findings}, not {wanted}"


def rows_by_stream(text):
    rows = {}
    for row in csv.reader(io.StringIO(text)):
        rows.setdefault(row[0], []).append(row)
    return rows


def check_dump(binary, path, expected):
    code, out, err = run(binary, "dump", "--format", "csv", str(path))
    if not expected["opens"]:
        if code != CANNOT:
            yield f"dump exits with {code} on a file that does not open"
        return
    count = out.count(b"\n") - 1
    if count != expected["events"]:
        yield f"dump has {count} events, not {expected['events']}: {err.strip()}"
    elif "csv" in expected:
        text = out.decode(errors="surrogateescape")
        if rows_by_stream(text) != rows_by_stream(expected["csv"]):
            yield f"dump differs:\n{text}\nnot\n{expected['csv']}"
    if expected["valid"] and code != OK:
        yield f"dump exits with {code}: {err.strip()}"
    if code not in (OK, FINDING, LOSS):
        yield f"dump exits with {code}: {err.strip()}"


def check_info(binary, path, expected):
    code, out, err = run(binary, "info", "--json", str(path))
    if not expected["opens"]:
        if code != CANNOT:
            yield f"info exits with {code} on a file that does not open"
        return
    if code not in (OK, LOSS) or (expected["valid"] and code != OK):
        yield f"info exits with {code}: {err.strip()}"
        return
    info = json.loads(out)
    for key, name in (("events", "event_count"), ("partitions", "partition_count"),
                      ("streams", "stream_count")):
        if expected["valid"] and name in info and info[name] != expected[key]:
            yield f"info says {name} {info[name]}, not {expected[key]}"


def main():
    binary = os.environ.get("TTAPE_BIN", "")
    source = pathlib.Path(os.environ.get("TTAPE_SRC", "."))
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else source / "spec" / "vectors"
    if not os.access(binary, os.X_OK):
        print(f"SKIPPED: there is no command '{binary}' yet")
        return SKIPPED
    expectations = sorted(folder.glob("*.json"))
    if os.environ.get("TTAPE_QUICK") == "1":
        expectations = expectations[::3]
    bad = 0
    for path in expectations:
        expected = json.loads(path.read_text(encoding="utf-8"))
        trace = path.with_suffix(".ttape")
        for check in (check_verify, check_dump, check_info):
            for problem in check(binary, trace, expected):
                bad += 1
                print(f"{path.stem}: {problem}")
    print(f"{len(expectations)} vectors, {bad} problems")
    return 1 if bad or not expectations else 0


sys.exit(main())
