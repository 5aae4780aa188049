#!/usr/bin/env python3
"""What is in a file of `tracetape export --format html`, byte by byte, and what is not unless it is
asked for; its policy; and what the command says before it writes it."""
import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "view"))
from view_client import COMMAND, check, end, problems, skip  # noqa: E402


def run(*words):
    return subprocess.run([COMMAND, *map(str, words)], capture_output=True)


def make_trace(folder):
    """Values, metadata, paths, and source in a folder whose name nobody else needs to know."""
    home = Path(folder, "home-of-somebody")
    home.mkdir()
    source = Path(home, "work.c")
    source.write_text("int work(void)\n{\n    return 7; // a-line-of-source\n}\n")
    text = Path(folder, "trace.txt")
    text.write_text("\n".join([
        'meta command "prog --password=opensesame"', 'meta host our-host',
        f"module 0x0 0x1000 {home}/prog",
        'process 1 "prog"', 'thread 1 10 "first"', f'symbol 0x20 work {source}:1',
        "symbol 0x10 main", "0 10 enter 0x10",
        *[line for i in range(3000) for line in (f'{100 * i + 10} 10 enter 0x20 "secret-{i}"',
                                                 f'{100 * i + 60} 10 exit')],
        "400000 10 exit"]) + "\n")
    trace = Path(folder, "run.ttape")
    done = run("convert", text, "-o", trace, "--partition-events", "1000")
    check("conversion", (done.returncode, done.stderr), (0, b""))
    return trace


def blocks(page, what):
    found = re.findall(f'<script type="text/plain" data-is="{what}">([^<]*)</script>'.encode(),
                       page)
    return [base64.b64decode(block, validate=True) for block in found]


def check_policy(page):
    policy = re.search(rb'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1].decode()
    script = re.search(rb"<script>(.*?)</script>", page, re.S)[1]
    style = re.search(rb"<style>(.*?)</style>", page, re.S)[1]
    digest = [base64.b64encode(hashlib.sha256(text).digest()).decode() for text in (script, style)]
    check("policy", policy,
          f"default-src 'none'; script-src 'wasm-unsafe-eval' 'sha256-{digest[0]}'; "
          f"style-src 'sha256-{digest[1]}'; worker-src blob:; img-src blob:; base-uri 'none'; "
          "form-action 'none'; require-trusted-types-for 'script'; trusted-types tracetape")
    check("scripts that run", len(re.findall(rb"<script>", page)), 1)
    check("addresses that are loaded", re.findall(rb'(?:src|href)="[^"]*"', page), [])


def cut_of(folder, page):
    cut = Path(folder, "cut.ttape")
    cut.write_bytes(b"".join(blocks(page, "trace")))
    return cut


def check_privacy(folder, trace):
    """Nothing that was not asked for is in the trace or the notes, whatever it is coded in."""
    for i, words in enumerate(((), ("--with-source",), ("--with-values",))):
        has_paths, has_values = "--with-source" in words, "--with-values" in words
        page_path = Path(folder, f"page{i}.html")
        done = run("export", "--format", "html", *words, trace, "-o", page_path)
        check(f"status with {words}", done.returncode, 0)
        page = page_path.read_bytes()
        check_policy(page)
        said = re.search(rb"will have (\d+)\.(\d) MB", done.stderr)
        size = int(said[1]) * 10 + int(said[2])
        check("size", abs(size - len(page) // 100000) <= 1)
        cut = cut_of(folder, page)
        check("verified", run("verify", cut).returncode, 0)
        sites = b"".join(run(*verb, cut).stdout for verb in (
            ("dump", "--format", "csv"), ("info", "--json", "--all"), ("dump", "--details")))
        notes = b"".join(blocks(page, "notes"))
        everything = cut.read_bytes() + sites + notes
        check(f"source with {words}", b"a-line-of-source" in notes, has_paths)
        check(f"paths with {words}", b"home-of-somebody" in everything, has_paths)
        check(f"folder with {words}", os.fsencode(folder) in everything.replace(
            os.fsencode(cut), b""), has_paths)
        told = [word in everything for word in (b"our-host", b"opensesame", b"secret-1234")]
        check(f"host, command line and values with {words}", told, [has_values] * 3)
        check("says what is left out", b"left out" in done.stderr)
        rows = [run("report", "--json", file).stdout for file in (trace, cut)]
        strip = [re.sub(rb'"(file|file_bytes|place|where|module)": *"?[^,}]*', b"", row)
                 for row in rows]
        check("report of what is inside", strip[0] == strip[1])


def check_cut(folder, trace):
    page_path = Path(folder, "part.html")
    run("export", "--format", "html", "--time", "+0ns..+100us", trace, "-o", page_path)
    cut = cut_of(folder, page_path.read_bytes())
    check("cut", run("verify", cut).returncode, 0)
    check("cut is smaller", cut.stat().st_size < trace.stat().st_size)
    whole = run("export", "--format", "html", trace).stdout
    check("standard output", whole.startswith(b"<!doctype html>") and whole.endswith(b"</html>\n"))
    empty = run("export", "--format", "html", "--empty").stdout
    check("empty has no trace", (blocks(empty, "trace"), blocks(empty, "notes")), ([], []))
    check_policy(empty)


def check_damage(folder, trace):
    """A partition that cannot be read is left out, and said to be; the rest is in the page."""
    info = json.loads(run("info", "--json", "--all", trace).stdout)
    part = info["partition_list"][2]
    bytes_ = bytearray(trace.read_bytes())
    for i in range(part["bytes"] // 2, part["bytes"] // 2 + 40):
        bytes_[part["offset"] + i] ^= 0x55
    damaged, page_path = Path(folder, "damaged.ttape"), Path(folder, "damaged.html")
    damaged.write_bytes(bytes_)
    done = run("export", "--format", "html", damaged, "-o", page_path)
    check("status of damage", done.returncode, 3)
    check("what is damaged", (b"damaged.ttape': " in done.stderr, b" at byte " in done.stderr),
          (True, True))
    cut = cut_of(folder, page_path.read_bytes())
    check("what is left verifies", run("verify", cut).returncode, 0)
    left = json.loads(run("info", "--json", cut).stdout)
    check("what is left", left["partitions"] >= info["partitions"] - 1 and
          left["events"] >= info["events"] - part["events"])
    check("it is said", left["dropped"] + left["events"], info["events"])


def check_usage(trace):
    for words, message in (
            (("--empty", trace), "with --empty there is no FILE"),
            ((), "FILE is missing"),
            (("--picture", "flame", trace), "--picture is for"),
            (("--function", "x", trace), "--with-source"),
            (("--function", "(", "--with-source", trace), "'(' as a regular expression"),
            (("--min-time", "1us", trace), "--min-time is not for"),
            (("--thread", "77", trace), "thread")):
        done = run("export", "--format", "html", *words)
        check(f"message of {words}", message in done.stderr.decode())
        check(f"status of {words}", done.returncode, 4 if "--thread" in words else 2)
    done = run("export", "--format", "csv", "--with-values", trace)
    check("of html only", (done.returncode, b"--format html" in done.stderr), (2, True))


def main():
    probe = run("export", "--format", "html", "--empty")
    if probe.returncode == 4 and b"not in this build" in probe.stderr:
        said = probe.stderr.decode().strip()
        check("nothing is written", probe.stdout, b"")
        check("what is missing, and what to do", bool(re.fullmatch(
            r"tracetape: format 'html' is not in this build for want of \S.*: scripts/setup .*",
            said)))
        if problems:
            end("")
        skip(said)
    with tempfile.TemporaryDirectory() as folder:
        trace = make_trace(folder)
        check_privacy(folder, trace)
        check_cut(folder, trace)
        check_damage(folder, trace)
        check_usage(trace)
    end("a file of HTML has what was asked for, and no more")


main()
