#!/usr/bin/env python3
"""Every export of pieces of real recordings; and Chrome JSON that uftrace itself writes, converted,
against the same recording converted from its files."""
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import export_checks
import export_model
from export_checks import CHECKS, MISSING, NAMES, TOOL, run

CORPUS = Path(os.environ.get("TTAPE_CORPUS") or
              Path(os.environ["TTAPE_SRC"]) / ".." / "shared" / "corpus")
PIECES = (("lua_args", 0, 60_000), ("lua_jmp", 300_000, 80_000), ("sqlite", 1_000_000, 80_000))


def unpack(name, work):
    subprocess.run(["tar", "-xJf", CORPUS / f"{name}.uftrace.tar.xz", "-C", work], check=True)
    return [p.parent for p in work.rglob("info")][0]


def calls(trace):
    """Calls by function, from the plain list of events."""
    found = Counter()
    with subprocess.Popen([TOOL, "dump", "--format", "csv", trace], stdout=subprocess.PIPE,
                          text=True) as process:
        for line in process.stdout:
            fields = line.rstrip("\n").split(",", 6)
            if fields[3] == "enter":
                found[fields[6].strip('"')] += 1
    return found


def check_piece(name, first, count, work):
    whole, piece = work / "whole.ttape", work / "piece.ttape"
    run("convert", unpack(name, work), "-o", whole, good=(0, 3))
    run("cut", whole, "-o", piece, "--events", f"{first}..{first + count}", "--thread",
        tid_of(whole))
    streams = export_model.dump(TOOL, piece)
    if first > 0:  # frames are open at its start, of which the events do not tell
        check_counts(piece, streams, work)
        return
    times = [e["time_ns"] for e in list(streams.values())[0]]
    start, end = times[len(times) // 3], times[len(times) // 2]
    ways = (([], {}), (["--min-time", "3us"], {"least": 3000}),
            (["--time", f"{start}..{end}"], {"start": start, "end": end}))
    for options, how in ways:
        wanted = export_model.Selection(streams, **how)
        export_checks.check_all(piece, options, wanted, work,
                                [name for name in CHECKS if export_checks.has_format(name)])


def check_counts(piece, streams, work):
    """All exports tell of the same calls."""
    entered = Counter(e["symbol"] or e["address"] for e in list(streams.values())[0]
                      if e["kind"] == "enter")
    rows = export_checks.readers.read_csv(run("export", "--format", "csv", piece))
    open_before = Counter(r["symbol"] or r["address"] for r in rows if r["kind"] == "open")
    assert Counter(r["symbol"] or r["address"] for r in rows if r["kind"] == "enter") == entered
    assert sum(r["duration_ns"] != "" for r in rows) == sum((entered + open_before).values())
    tracks, _, _ = export_checks.readers.read_chrome(run("export", "--format", "chrome", piece))
    got = Counter(f[2] for t in tracks.values() for f in t.frames)
    assert got == entered + open_before
    place = work / "callgrind.out"
    run("export", "--format", "callgrind", piece, "-o", place, "--force")
    _, edges, summary = export_checks.readers.read_callgrind(place.read_bytes())
    found = Counter()
    for (_, callee), (count, _) in edges.items():
        found[callee[0].removesuffix("'2")] += count
    assert found == entered + open_before
    folded = export_checks.readers.read_folded(run("export", "--format", "folded", piece))
    assert sum(folded.values()) == summary


def tid_of(trace):
    """The thread with the most events."""
    text = run("dump", "--format", "csv", trace, "--limit", "1").decode().splitlines()
    return text[1].split(",")[1]


def check_uftrace(name, work):
    """Calls by function are the same by either way into a trace."""
    recording = unpack(name, work)
    run("convert", recording, "-o", work / "direct.ttape", good=(0, 3))
    with open(work / "chrome.json", "wb") as file:
        subprocess.run(["uftrace", "dump", "--chrome", "-d", recording], stdout=file,
                       stderr=subprocess.DEVNULL, check=True)
    run("convert", work / "chrome.json", "-o", work / "by_json.ttape", good=(0, 3))
    run("verify", work / "by_json.ttape")
    direct, by_json = calls(work / "direct.ttape"), calls(work / "by_json.ttape")
    same = sum(min(count, by_json[name]) for name, count in direct.items())
    assert same >= 0.999 * sum(direct.values()), (direct - by_json, by_json - direct)


def main():
    if not all((CORPUS / f"{name}.uftrace.tar.xz").is_file() for name, _, _ in PIECES):
        print(f"SKIPPED: no recordings in '{CORPUS}'")
        sys.exit(77)
    for name, first, count in PIECES:
        with tempfile.TemporaryDirectory() as folder:
            NAMES.update(thread={"lua_args": "lua.pg"}.get(name, name), processes={"lua.pg"})
            check_piece(name, first, count, Path(folder))
            print(f"ok: exports of {name}")
    if not shutil.which("uftrace"):
        MISSING.add("uftrace")
    else:
        with tempfile.TemporaryDirectory() as folder:
            check_uftrace("lua_jmp", Path(folder))
            print("ok: uftrace's own JSON of lua_jmp")
    if MISSING:
        print(f"SKIPPED: {', '.join(sorted(MISSING))} missing")
        sys.exit(77)


main()
