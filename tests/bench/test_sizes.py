#!/usr/bin/env python3
"""Sizes are exact: sizes.csv says what the first million events of each recording take under each
setting, by category, and any difference fails, so that the diff of that file is the review.

  test_sizes.py            recomputes and compares: two recordings, with TTAPE_THOROUGH=1 all; 77
                           where they are absent (the rows of inputs that the test makes itself
                           are compared all the same)
  test_sizes.py --write    writes sizes.csv anew; keeps the rows of absent recordings"""
import concurrent.futures
import csv
import ctypes
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import recordings
from measure import CONVERTED, SETTINGS

HERE = Path(__file__).resolve().parent
SOURCE = Path(os.environ.get("TTAPE_SRC") or HERE.parents[1])
COMMAND = Path(os.environ.get("TTAPE_BIN") or SOURCE / "build" / "release" / "tracetape").resolve()
TABLE = HERE / "sizes.csv"
PARTS = ("order", "times", "values", "summaries", "sites", "models", "other")
FIELDS = ("recording", "setting", "events", *PARTS, "file", "bytes_per_event")
SYNTHETIC = {"synthetic": (200_000, 300), "synthetic_small": (1_000, 40)}  # events, functions
FEW = ("sqlite", "lua_jmp")  # what the gate compares of SIZED; --write has all
ZSTD_SETTINGS = ("literal", "level1")  # their bytes depend on the version of zstd too
ZSTD_TOLERANCE = 0.02


def zstd_version():
    try:
        library = ctypes.CDLL("libzstd.so.1")
    except OSError:
        return "unknown"
    library.ZSTD_versionString.restype = ctypes.c_char_p
    return library.ZSTD_versionString().decode()


def measure(work, name, setting):
    """One row; paths are relative to `work`, so that none gets into the file."""
    out = f"{name}.{setting}.ttape"
    convert = [COMMAND, "convert", name, "-o", out, *SETTINGS[setting]]
    done = subprocess.run(convert, cwd=work, check=False, capture_output=True)
    if done.returncode not in CONVERTED:
        sys.exit(f"FAILED: convert of {name}, {setting}: exit {done.returncode}: "
                 f"{done.stderr.decode(errors='replace').strip()}")
    info = json.loads(subprocess.run([COMMAND, "info", "--json", out], cwd=work, check=True,
                                     capture_output=True).stdout)
    parts = {part: info["bytes"][part] for part in PARTS}
    if sum(parts.values()) != info["file_bytes"]:
        sys.exit(f"FAILED: {name}, {setting}: the categories add up to {sum(parts.values())}, "
                 f"the file has {info['file_bytes']} bytes")
    os.unlink(Path(work) / out)
    row = {"recording": name, "setting": setting, "events": info["events"], **parts,
           "file": info["file_bytes"],
           "bytes_per_event": f"{info['file_bytes'] / info['events']:.5f}"}
    return {field: str(row[field]) for field in FIELDS}


def make_inputs(work, names):
    for name in names:
        if name in SYNTHETIC:
            events, functions = SYNTHETIC[name]
            recordings.write(work / name, recordings.program_events(events, functions, 1),
                             functions)
        else:
            whole = recordings.unpack(corpus(), name, work / "whole")
            recordings.cut(whole, work / name, recordings.MILLION)
    return names


def corpus():
    return recordings.corpus_dir(os.environ, SOURCE)


def missing_corpus():
    """Why recordings cannot be measured, or None."""
    if os.environ.get("TTAPE_SANITIZE"):
        return "a sanitizer build is too slow for millions of events"
    absent = [n for n in recordings.SIZED if not recordings.archive(corpus(), n).is_file()]
    return f"no recordings of {', '.join(absent)} in '{corpus()}'" if absent else None


def recompute(names):
    rows = []
    with tempfile.TemporaryDirectory(prefix="tracetape-sizes-") as work, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = []
        for name in make_inputs(Path(work), names):
            jobs += [pool.submit(measure, work, name, setting) for setting in SETTINGS]
        rows += [job.result() for job in jobs]
    return {(row["recording"], row["setting"]): row for row in rows}


def read_table():
    """Rows by (recording, setting), and the version of zstd that they were made with."""
    if not TABLE.is_file():
        return {}, "unknown"
    first, _, rest = TABLE.read_text(encoding="ascii").partition("\n")
    rows = csv.DictReader(io.StringIO(rest))
    return {(row["recording"], row["setting"]): row for row in rows}, first.split()[-1]


def write_table(rows):
    names = [*recordings.SIZED, *SYNTHETIC]
    text = io.StringIO()
    text.write("# exact bytes, at most 1 M events of the largest task; made by test_sizes.py "
               f"--write; zstd {zstd_version()}\n")
    table = csv.DictWriter(text, FIELDS, lineterminator="\n")
    table.writeheader()
    for key in sorted(rows, key=lambda k: (names.index(k[0]), list(SETTINGS).index(k[1]))):
        table.writerow(rows[key])
    TABLE.write_text(text.getvalue(), encoding="ascii")


def differences(key, before, now, same_zstd):
    if before is None or now is None:
        return [f"{' '.join(key)}: {'not in sizes.csv' if before is None else 'was not measured'}"]
    if key[1] in ZSTD_SETTINGS and not same_zstd:
        change = abs(int(now["file"]) / int(before["file"]) - 1)
        return [] if change <= ZSTD_TOLERANCE else [
            f"{' '.join(key)}: file {before['file']} -> {now['file']}, another zstd apart"]
    changes = [f"{field} {before[field]} -> {now[field]} "
               f"({100 * (float(now[field]) / float(before[field]) - 1):+.2f} %)"
               if float(before[field]) else f"{field} {before[field]} -> {now[field]}"
               for field in FIELDS[2:-1] if before[field] != now[field]]
    return [f"{' '.join(key)}: {', '.join(changes)}"] if changes else []


def main():
    why = missing_corpus()
    is_whole = "--write" in sys.argv[1:] or os.environ.get("TTAPE_THOROUGH") == "1"
    names = [*SYNTHETIC] if why else [*(recordings.SIZED if is_whole else FEW), *SYNTHETIC]
    before, version = read_table()
    now = recompute(names)
    if "--write" in sys.argv[1:]:
        write_table({key: row for key, row in before.items() if key[0] not in names} | now)
        print(f"written: {TABLE} ({len(now)} rows measured{', rest kept: ' + why if why else ''})")
        return 0
    same_zstd = version == zstd_version()
    if not same_zstd:
        print(f"sizes.csv was made with zstd {version}, this is {zstd_version()}: rows of "
              f"{', '.join(ZSTD_SETTINGS)} may differ by {100 * ZSTD_TOLERANCE:g} %")
    expected = [key for key in before if key[0] in names]
    problems = [line for key in dict.fromkeys([*expected, *now])
                for line in differences(key, before.get(key), now.get(key), same_zstd)]
    for line in problems:
        print(line)
    if problems:
        print(f"sizes: FAILED, {len(problems)} of {len(now)} rows differ from sizes.csv; where "
              "that is intended: python3 tests/bench/test_sizes.py --write, and commit the diff")
        return 1
    print(f"sizes: ok, {len(now)} rows")
    if why:
        print(f"SKIPPED: {why}: only what the test makes itself was compared")
        return 77
    return 0


sys.exit(main())
