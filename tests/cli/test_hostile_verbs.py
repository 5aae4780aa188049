#!/usr/bin/env python3
"""R12: names that would act on a terminal, a page, a shell or a parser, and names of a megabyte, of
functions, threads, processes, source files, modules and metadata, through every verb that prints
them: what is for programs parses strictly, and no output has a raw control byte, a C1 or a bidi
character."""
import csv
import io
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from bounded import run
from export_readers import strict_json, text_of

MEGABYTE = 1_000_000  # a line of raw text may have 1 MiB, a name of the format too
C1 = "".join(map(chr, range(0x80, 0xa0))).encode()
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069".encode()
NAMES = [C1, bytes(range(0x80, 0xa0)), BIDI, bytes(range(0x20)) + b"\x7f", b'"]}', b"</script>",
         b"${HOME}`id`", b"=cmd|' /C calc'!A0", b"\x1b]0;title\x07", b"\xed\xa0\x80\xc0\xaf",
         b"\\N\\\"} -> {", b"<b>&amp;", "\u2028\u2029\ufeff".encode(), b"x" * MEGABYTE,
         b"\xc2\x9b" * (MEGABYTE // 10)]  # a line has it as it is, every output four times as long
PRINTING = [["tree"], ["tree", "--partitions"],
            ["tree", "--fold"], ["tree", "--open", "s0"], ["report"],
            ["report", "--by", "name"], ["report", "--by", "module"], ["report", "--by", "file"],
            ["report", "--by", "thread"], ["report", "--by", "process"], ["report", "--by", "call"],
            ["report", "--exact"], ["slow"],
            ["slow", "--self"], ["last"], ["last", "--all"], ["graph"], ["dump"],
            ["dump", "--places"], ["info"], ["info", "--all"], ["verify"]]
JSON = [["tree", "--json"], ["report", "--json"], ["report", "--json", "--by", "call"],
        ["report", "--json", "--by", "thread"], ["slow", "--json"], ["last", "--json"],
        ["graph", "--json"], ["info", "--json"],
        ["verify", "--json"]]


def quote(name):
    return b'"' + b"".join(b"\\x%02x" % c if c in b'"\\' or c < 32 else bytes([c])
                           for c in name) + b'"'


def lines(order):
    """Every name is a function, and one of a thread, a file, a module and a value."""
    yield b"meta command " + quote(NAMES[3]) + b"\nmeta " + quote(NAMES[0]) + b" " + quote(NAMES[2])
    for i, name in enumerate(NAMES):
        start, short = 0x1000 * (i + 1), quote(name[:MEGABYTE // 2])
        yield b"process %d %s\nthread %d %d %s" % (i + 1, quote(name), i + 1, i + 1, short)
        yield b"module %#x %#x %s" % (start, start + 0x1000, quote(name))
        yield b"symbol %#x %s" % (start, quote(name))
        yield b"symbol %#x f%d %s" % (start + 8, i, quote(name[:MEGABYTE // 2] + b":7"))
    for i in order:
        start = 0x1000 * (i + 1)
        yield b"%d %d enter %#x %s" % (i * 10, i + 1, start, quote(NAMES[i][:60000]))
        yield b"%d %d enter %#x" % (i * 10 + 1, i + 1, start + 8)
        yield b"%d %d exit\n%d %d exit" % (i * 10 + 5, i + 1, i * 10 + 7, i + 1)


def make(work, name, order):
    text, trace = work / f"{name}.txt", work / f"{name}.ttape"
    text.write_bytes(b"\n".join(lines(order)) + b"\n")
    run("convert", text, "-o", trace, "--strict")
    return trace


def check_texts(trace, other):
    for words in PRINTING:
        ended = run(*words, trace)
        assert text_of(ended.out).strip(), f"{ended}: says nothing"
        text_of(ended.err)
    for words in (["diff", trace, other], ["diff", "--first", trace, other]):
        ended = run(*words, good=(0, 1))
        text_of(ended.out + ended.err)


def check_json(trace, other):
    for words in JSON:
        data = run(*words, trace).out
        assert strict_json(data) and b"</script" not in data, words
    data = run("diff", "--json", trace, other, good=(0, 1)).out
    assert strict_json(data) and b"</script" not in data
    rows = strict_json(run("report", "--json", trace).out)["rows"]
    names = {row["name"] for row in rows}
    for name in NAMES[:1] + NAMES[2:9] + NAMES[10:]:
        assert name.decode() in names, f"{name[:40]!r}: not as it was in JSON"
    events = run("dump", "--format", "ndjson", trace).out
    assert len([strict_json(line) for line in events.splitlines()]) == 4 * len(NAMES)
    csv.field_size_limit(8 * MEGABYTE)
    text = text_of(run("dump", "--format", "csv", trace).out)
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert len(rows) == 4 * len(NAMES) + 1 and all(len(row) == len(rows[0]) for row in rows)


def check_dot(trace, work):
    """Statements of one line each; and Graphviz takes it, where there is one."""
    data = run("graph", "--format", "dot", trace).out
    string = r'"(?:[^"\\]|\\.)*"'
    for line in text_of(data).splitlines():
        assert '"' not in re.sub(string, "", line), line[:200]
    if not shutil.which("dot"):
        return False
    (work / "a.dot").write_bytes(data)
    done = subprocess.run(["dot", "-Tcanon", work / "a.dot", "-o", work / "b.dot"], check=False,
                          capture_output=True)
    assert done.returncode == 0, done.stderr[:300]
    return True


def check_refused(work):
    """A name that is longer than a line may be: told by its number, and nothing else is lost."""
    text, trace = work / "long.txt", work / "long.ttape"
    text.write_bytes(b"0 1 enter a\n1 1 enter " + b"y" * (1 << 20) + b"\n2 1 exit\n")
    ended = run("convert", text, "-o", trace, good=(3,))
    assert b"line 2" in ended.err and len(ended.err) < 1000, str(ended)
    assert run("dump", "--format", "csv", trace).out.count(b"\n") == 3
    ended = run("convert", text, "-o", trace, "--strict", "--force", good=(4,))
    assert b"line 2" in ended.err, str(ended)


def main():
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        trace = make(work, "a", range(len(NAMES)))
        other = make(work, "b", reversed(range(len(NAMES))))
        check_texts(trace, other)
        check_json(trace, other)
        drawn = check_dot(trace, work)
        check_refused(work)
    print("ok: hostile names in every verb" + ("" if drawn else "; no Graphviz to read the DOT"))


main()
