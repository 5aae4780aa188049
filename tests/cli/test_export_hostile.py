#!/usr/bin/env python3
"""Names that would act on a terminal, a spreadsheet, a page or a parser, through every export: each
output parses strictly and has no raw control byte."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import export_readers as readers

TOOL = os.environ["TTAPE_BIN"]
PROTO = Path(os.environ["TTAPE_SRC"]) / "tools" / "export" / "formats" / "export_perfetto.proto"
NAMES = [b"\x1b[31mred\x1b[0m", b"\xc2\x9b31m", b"bidi\xe2\x80\xae\xe2\x81\xa6", b"nul\x00byte",
         b'"]}', b"</script>", b"${HOME}", b"=cmd|' /C calc'!A0", b'comma,quote"', b"line\nfeed\r",
         b"\xff\xfe\x80bad", b"back\\slash \\x1b", b"\xed\xa0\x80", b"%s%n", b"x" * 1_000_000,
         "gr\u00fc\u00df \u51fd\u6570".encode(), b"\x7f\x08\x07", b"\xe2\x80\xa8sep",
         b"semi;colon 7", b"(3) fn=(1) x", b" lead and trail ", b"#comment", b"calls=1 2",
         b"\xe2\x82" * 9000, b"'", b"\xef\xbb\xbfmark", b"fn=(1)\n+5 3",
         "c1 {}".format("".join(map(chr, range(0x80, 0xa0)))).encode(),
         b"raw " + bytes(range(0x80, 0xa0)), b"%d " * 9 + bytes(range(0x20)),
         "bidi \u061c\u200e\u200f\u202a\u202b\u202c\u202d\u2066\u2067\u2068\u2069".encode()]
EVENTS = 2 * len(NAMES)


def quote(name):
    return b'"' + b"".join(b"\\x%02x" % c if c in b'"\\' or c < 32 else bytes([c])
                           for c in name) + b'"'


def text():
    yield b"process 1 " + quote(NAMES[0]) + b"\nthread 1 1 " + quote(NAMES[2])
    yield b"meta " + quote(NAMES[8]) + b" " + quote(NAMES[5]) + b"\nmeta command " + quote(NAMES[9])
    yield b"module 0x1000 0x2000 " + quote(NAMES[10])
    for i, name in enumerate(NAMES):
        yield b"symbol %#x %s %s" % (0x1000 + i, quote(name), quote(name[:5000] + b":5"))
    for i, name in enumerate(NAMES):
        yield b"%d 1 enter %#x %s 1" % (10 * i, 0x1000 + i, quote(name[:60000]))
    for i, name in enumerate(reversed(NAMES)):
        yield b"%d 1 exit - %s" % (1000 + 10 * i, quote(name[:60000]))


def run(*words):
    done = subprocess.run([TOOL, *map(str, words)], check=False, capture_output=True)
    assert done.returncode == 0, (words, done.returncode, done.stderr[:300])
    return done.stdout


def check_texts(trace, work):
    tracks, threads, processes = readers.read_chrome(run("export", "--format", "chrome", trace))
    frames = list(tracks.values())[0].frames
    assert len(tracks) == 1 and len(frames) == len(NAMES) and len(threads) == len(processes) == 1
    names = [frame[2] for frame in reversed(frames)]
    assert names[0] == "\x1b[31mred\x1b[0m" and names[3] == "nul\0byte" and names[5] == "</script>"
    assert names[10] == r"\xff\xfe\x80bad" and names[11] == "back\\slash \\x1b"
    assert b"</script>" not in run("export", "--format", "chrome", trace), "</script> in JSON"
    profiles = readers.read_speedscope(run("export", "--format", "speedscope", trace))
    assert [len(p) for p in profiles.values()] == [len(NAMES)]
    assert list(profiles.values())[0][-1][2]["file"] == "\x1b[31mred\x1b[0m"
    stacks = readers.read_folded(run("export", "--format", "folded", trace))
    assert sorted(map(len, stacks)) == list(range(1, len(NAMES) + 1))
    assert [p for p in stacks if len(p) == len(NAMES)][0][18] == "semi:colon 7"
    rows = readers.read_csv(run("export", "--format", "csv", trace))
    assert len(rows) == EVENTS and rows[8]["symbol"] == 'comma,quote"'
    assert rows[8]["file"] == 'comma,quote"' and rows[8]["module"] == r"\xff\xfe\x80bad"
    place = work / "callgrind.out"
    run("export", "--format", "callgrind", trace, "-o", place)
    own, edges, _ = readers.read_callgrind(place.read_bytes())
    assert len(own) == len(NAMES) + 1 and len(edges) == len(NAMES)
    readers.callgrind_annotate(place)


def check_binaries(trace, work):
    """What of them could not be read back here."""
    missing = []
    usage = run("export", "--help").decode()
    for name in ("perfetto", "ctf", "sqlite"):
        assert f"  {name} " in usage
        done = subprocess.run([TOOL, "export", "--format", name, str(trace), "-o",
                               str(work / f"out.{name}")], check=False, capture_output=True)
        if b"not in this build" in done.stderr:
            missing.append(name)
            continue
        assert done.returncode == 0, done.stderr
        place = work / f"out.{name}"
        if name == "sqlite":
            base = readers.open_sqlite(place)
            for symbol, file in base.execute("SELECT symbol, file FROM sites"):
                readers.text_of(symbol.encode() + file.encode())
            assert base.execute("SELECT count(*) FROM calls").fetchone() == (len(NAMES),)
            continue
        found = readers.decode_perfetto(place, PROTO) if name == "perfetto" \
            else readers.read_ctf(place)
        if found is None:
            missing.append(f"the reader of {name}")
        elif name == "perfetto":
            tracks = readers.Perfetto(found).tracks
            assert sum(len(t.frames) for t in tracks.values()) == len(NAMES)
        else:
            assert sum("func_" in event[1] for event in found) == EVENTS
    return missing


def main():
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "in.txt").write_bytes(b"\n".join(text()) + b"\n")
        trace = work / "a.ttape"
        run("convert", work / "in.txt", "-o", trace, "--strict")
        check_texts(trace, work)
        missing = check_binaries(trace, work)
    if missing:
        print(f"SKIPPED: {', '.join(missing)} missing")
        sys.exit(77)
    print("ok: hostile names in every export")


main()
