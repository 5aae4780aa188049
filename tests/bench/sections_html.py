"""`tracetape export --format html`: sizes of the reader as WebAssembly, of the page and of a cut of
ten million events of T1 (sections_view.py), until such a file and a T1 that is dropped show
something, and memory of what reads it."""
import json
import re
import subprocess
import time
from pathlib import Path

import sections_view
from measure import BenchError, Row, median

EVENTS = 10 * sections_view.MILLION
WHERE = 0.3  # of the run: where the cut begins
ENGINE = Path(__file__).resolve().parents[1] / "html" / "engine.js"
ASKED = ["trace\nthreads\nmodules", "functions?count=300", "children?id=-&count=100",
         "longest?by=duration&count=30", "longest?by=self&count=30", "search?text=e&count=500"]


def module(bench):
    path = bench.command.parent / "engine" / "engine.wasm"
    if not path.exists():
        raise BenchError("this build has no reader as WebAssembly (scripts/setup)")
    return path


def export(bench, output, *words):
    """(seconds, events)."""
    start = time.monotonic()
    done = subprocess.run([bench.command, "export", "--format", "html", "-f", "-o", output, *words],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"export {words}: {done.stderr.strip()[-300:]}")
    said = re.search(r"MB: (\d+) events", done.stderr)
    return time.monotonic() - start, int(said[1]) if said else 0


def cut(bench, path, output):
    """(seconds, events): about as many events as that, by trying."""
    info = bench.info(path)
    length = info["time_last_ns"] - info["time_first_ns"]
    share, seconds, events = EVENTS / info["events"], 0, 0
    for _ in range(6):
        first = int(length * WHERE)
        last = first + int(length * min(share, 1 - WHERE))
        seconds, events = export(bench, output, path, "--time", f"+{first}ns..+{last}ns")
        if EVENTS <= events <= 1.05 * EVENTS or share >= 1 - WHERE:
            break
        share *= 1.02 * EVENTS / max(events, 1)
    return seconds, events


def size_rows(bench, empty):
    size = module(bench).stat().st_size
    yield Row("html: the reader as WebAssembly, KB", "-", f"{size / 1000:.1f} KB", size / 1000, 450,
              430)
    page = empty.stat().st_size
    yield Row("html: the page without a trace, MB", "-", f"{page / 1e6:.3f} MB", page / 1e6, 0.75,
              0.7)


def cut_rows(bench, path, output):
    seconds, events = cut(bench, path, output)
    size = output.stat().st_size
    yield Row("html T1: a cut of 10 million events, MB", "-", f"{size / 1e6:.2f} MB",
              size / 1e6 * EVENTS / events, 12, 9, details=[f"{events} events, {size} bytes"])
    yield Row("html T1: to write it, s", "-", f"{seconds:.2f} s", seconds, 4, 1)


def open_rows(bench, path, output, empty):
    measured = Path(__file__).with_name("html_measured.py")
    done = subprocess.run([sections_view.PYTHON, measured, bench.command, output, empty, path],
                          check=False, capture_output=True, text=True)
    if done.returncode:
        raise BenchError(f"html_measured.py: {done.stderr.strip()[-300:]}")
    found = json.loads(done.stdout)
    if found["asked"]:
        raise BenchError(f"a page loaded {found['asked'][:3]}")
    for what, key, floor, aim in (("it opens from a disk", "open_ms", 2, 1),
                                  ("dropped on the page, first picture", "drop_ms", 2.5, 0.8)):
        seconds = median(found[key]) / 1000
        yield Row(f"html T1: {what}, s", "-", f"{seconds:.2f} s", seconds, floor, aim,
                  details=[f"each, ms: {[round(t) for t in found[key]]}",
                           f"load {found['load']:.1f} when it began"])


def memory_row(bench, path):
    task = {"engine": str(module(bench)),
            "traces": [{"path": str(path), "name": "t1", "requests": ASKED}]}
    done = subprocess.run(["node", ENGINE], input=json.dumps(task), capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise BenchError(f"engine.js: {done.stderr.strip()[-300:]}")
    answer = json.loads(done.stdout)
    bad = [text for text in answer["responses"] if text.startswith("error") or '"error"' in text]
    if bad:
        raise BenchError(f"the reader: {bad[0][:200]}")
    mib = answer["memory"] / 2**20
    return Row("html T1: memory of both workers, MiB", "-", f"{mib:.0f} MiB", mib, 300, 200)


def html(bench):
    if not Path("/usr/bin/chromedriver").exists():
        raise BenchError("chromium-driver and python3-selenium are needed (scripts/setup)")
    empty, output = bench.work / "html-empty.html", bench.work / "html-cut.html"
    path, is_ours = sections_view.large(bench)
    try:
        export(bench, empty, "--empty")
        yield from size_rows(bench, empty)
        yield from cut_rows(bench, path, output)
        yield from open_rows(bench, path, output, empty)
        yield memory_row(bench, path)
    finally:
        for file in (empty, output, *([path] if is_ours else [])):
            file.unlink(missing_ok=True)
