#!/usr/bin/env python3
"""Pictures: well-formed, bounded, with text that is text; a timeline shows what was called when,
the others show what folded stacks and report say."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

TOOL = os.environ["TTAPE_BIN"]
SOURCE = Path(os.environ["TTAPE_SRC"])
SHAPES = {"rect", "line"}
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
LEFT, WIDTH = 12, 1176  # of the bars of few threads


def call(*words, data=None):
    return subprocess.run([TOOL, *map(str, words)], check=False, capture_output=True, input=data)


def run(*words, good=0, data=None):
    done = call(*words, data=data)
    assert done.returncode == good, (words, done.returncode, done.stderr[:400])
    return done.stdout


def convert(place, text, *options):
    run("convert", "-", "-o", place, "--force", *options, data=text.encode())
    return place


def draw(trace, *options, good=0):
    """The picture: its tree, texts, and bars as (class, x, y, width, what a pointer says)."""
    data = run("export", "--format", "svg", trace, *options, good=good)
    tree = ElementTree.fromstring(data)
    tags = [element.tag.split("}")[1] for element in tree.iter()]
    assert sum(tag in SHAPES for tag in tags) <= 5000, (trace, Counter(tags))
    assert set(tags) <= SHAPES | {"svg", "style", "text", "title"}, Counter(tags)
    texts = [element.text or "" for element in tree.iter() if element.tag.endswith("}text")]
    bars = []
    for bar in tree.iter("{http://www.w3.org/2000/svg}rect"):
        if bar.get("class") != "k":
            title = bar.find("{http://www.w3.org/2000/svg}title")
            bars.append((bar.get("class"), float(bar.get("x")), float(bar.get("y")),
                         float(bar.get("width")), title.text if title is not None else ""))
    return texts, bars


def nanoseconds(text):
    number, unit = re.match(r"([\d.]+) ?(ns|us|ms|s)?", text).groups()
    return float(number) * UNITS[unit or "ns"]


def calls_as_they_were(work):
    """At a scale at which each call is wider than a pixel, it lies where it was."""
    text = ["1000 7 enter main"]
    wanted = {}
    for i in range(40):
        text += [f"{1100 + 20 * i} 7 enter f{i}", f"{1110 + 20 * i} 7 exit"]
        wanted[f"f{i}"] = 100 + 20 * i
    trace = convert(work / "calls.ttape", "\n".join([*text, "2000 7 exit", ""]))
    texts, bars = draw(trace)
    assert "thread 7" in " ".join(texts) and texts[0] == "calls.ttape", texts[:4]
    scale = WIDTH / 1000
    found = {}
    for _, x, y, width, about in bars:
        found[about.split(",")[0]] = (x, y, width)
    assert set(found) == {"main", *wanted}, sorted(found)
    for name, start in wanted.items():
        x, y, width = found[name]
        assert abs(x - LEFT - start * scale) <= 2 * scale, (name, x, start * scale)
        assert abs(width - 10 * scale) <= 3 * scale and y > found["main"][1], (name, width)
    _, part = draw(trace, "--time", "+100ns..+110ns")
    assert [bar[4].split(",")[0] for bar in part] == ["main", "f0"], part


def as_folded(work):
    """Sums of a flame graph and of a tree are those of folded stacks."""
    text, at = [], 1000
    for i in range(300):
        text += [f"{at} 7 enter main", f"{at + 10} 7 enter f{i % 7}", f"{at + 15} 7 enter g",
                 f"{at + 40 + i % 5} 7 exit", f"{at + 60} 7 exit", f"{at + 90} 7 exit"]
        at += 100
    trace = convert(work / "folded.ttape", "\n".join([*text, ""]))
    sums = Counter()
    for line in run("export", "--format", "folded", trace).decode().splitlines():
        stack, weight = line.rsplit(" ", 1)
        names = stack.split(";")
        for depth in range(len(names) + 1):
            sums[tuple(names[:depth])] += int(weight)
    wanted = Counter((path[-1] if path else "all threads", time) for path, time in sums.items())
    for picture in ("flame", "tree"):
        texts, bars = draw(trace, "--picture", picture)
        assert len(bars) == len(sums), (picture, len(bars), len(sums))
        if picture == "flame":
            got = Counter((about.split(":")[0], round(nanoseconds(about.split(": ")[1])))
                          for *_, about in bars)
        else:
            sizes = [nanoseconds(text) for text in texts[2:] if text.endswith(" %")]
            got = Counter(zip((about for *_, about in bars), map(round, sizes)))
        assert got == wanted, (picture, got - wanted, wanted - got)
    row = {row["name"]: row for row in
           json.loads(run("report", trace, "--histogram", "--json", "-F", "^g$"))["rows"]}["g"]
    texts, _ = draw(trace, "--picture", "histogram", "-F", "^g$")
    counts = [int(text.split(",")[0]) for text in texts[2:] if text.endswith(" %")]
    assert sum(counts) == row["calls"] == 300, (counts, row)


def as_text(work):
    """Names that are no text in XML, a mebibyte, or of another script."""
    names = ["<script>alert(1)</script>", "a&b\"c'", "]]>", "\u202ertl", "\ufffe\uffff", "\x1b[31m",
             "\udcff\udcfe", "ש" * 40, "x" * (1 << 20)]
    head = ["process 7 p\x01rog<", "thread 7 7 t&<"]
    head += [f"symbol {0x1000 + 16 * i:#x} {name}" for i, name in enumerate(names)]
    body = []
    for i in range(len(names)):
        body += [f"{1000 + 100 * i} 7 enter {0x1000 + 16 * i:#x}", f"{1090 + 100 * i} 7 exit"]
    trace = work / "names.ttape"
    done = call("convert", "-", "-o", trace, "--force",
                data="\n".join([*head, *body, ""]).encode("utf-8", "surrogateescape"))
    assert done.returncode in (0, 3), done.stderr
    for picture in ("timeline", "flame", "tree"):
        texts, bars = draw(trace, "--picture", picture)
        abouts = " ".join(about for *_, about in bars)
        assert "<script>alert(1)" in abouts and "a&b" in abouts, abouts[:200]
        assert not re.search("[\x00-\x08\u202e\ufffe\uffff]", abouts + "".join(texts))


def much(work):
    """Many threads and many calls: bounded, and what is left out is said."""
    lines = []
    for thread in range(150):
        lines += [f"{1000 + thread} {100 + thread} enter work", f"{90000 + thread} "
                  f"{100 + thread} exit"]
    for i in range(20000):
        lines += [f"{1000 + 4 * i} 99 enter f{i % 90}", f"{1002 + 4 * i} 99 exit"]
    trace = convert(work / "much.ttape", "\n".join([*lines, ""]))
    texts, bars = draw(trace)
    assert "120 of 151 threads" in texts[1], texts[1]
    assert len({bar[2] for bar in bars}) >= 120
    draw(trace, "--thread", "99")
    deep = [f"{1000 + i} 1 enter f{i}" for i in range(3000)]
    deep += [f"{5000 + i} 1 exit" for i in range(3000)]
    trace = convert(work / "deep.ttape", "\n".join([*deep, ""]))
    texts, _ = draw(trace)
    assert any("deeper calls are left out" in text for text in texts), texts
    for picture in ("flame", "tree"):
        draw(trace, "--picture", picture)


def odd(work):
    calm = convert(work / "calm.ttape", "1 7 enter f\n9 7 exit\n")
    order = convert(work / "order.ttape", "1 7 enter f\n9 7 exit\n", "--resolution", "none")
    for picture, good in (("timeline", 4), ("flame", 0), ("tree", 0)):
        done = call("export", "--format", "svg", order, "--picture", picture)
        assert done.returncode == good and (good == 0 or b"no times" in done.stderr), done
    for words in (["--picture", "pie"], ["--picture", "histogram"], ["-F", "f"]):
        assert call("export", "--format", "svg", calm, *words).returncode == 2, words
    assert call("export", "--format", "csv", calm, "--picture", "flame").returncode == 2
    missing = call("export", "--format", "svg", calm, "--picture", "histogram", "-F", "^nobody$")
    assert missing.returncode == 4 and b"nobody" in missing.stderr, missing
    wrong = call("export", "--format", "svg", calm, "--picture", "histogram", "-F", "(")
    assert wrong.returncode == 4 and b"regular expression" in wrong.stderr, wrong
    for first in (0, 2**62, 2**63 - 3000, 2**63 - 3):  # doubles are far apart there
        draw(convert(work / f"{first}.ttape", f"{first} 7 enter f\n{2**63 - 2} 7 exit\n"))
    texts, _ = draw(convert(work / "empty.ttape", "thread 7 7 t\n"))
    assert "0 of 0 threads" in texts[1], texts
    if shutil.which("rsvg-convert"):
        png = run("export", "--format", "png", calm)
        assert png[:8] == b"\x89PNG\r\n\x1a\n" and png[16:20] == (2400).to_bytes(4, "big")
    else:
        assert b"librsvg2-bin" in call("export", "--format", "png", calm).stderr
        print("without rsvg-convert: PNG was NOT TESTED")


def vectors():
    count = 0
    for trace in sorted((SOURCE / "spec" / "vectors").glob("*.ttape")):
        if call("verify", "-q", trace).returncode == 0 or trace.name.startswith("gap"):
            for picture in ("timeline", "flame", "tree"):
                done = call("export", "--format", "svg", "--picture", picture, trace)
                assert done.returncode in (0, 3, 4), (trace, picture, done)
                if done.returncode != 4:
                    ElementTree.fromstring(done.stdout)
                    count += 1
    assert count > 60, count


def main():
    with tempfile.TemporaryDirectory(prefix="ttape-picture.") as folder:
        for check in (calls_as_they_were, as_folded, as_text, much, odd):
            check(Path(folder))
    vectors()
    print("ok")


if __name__ == "__main__":
    main()
