"""Columns: calls in DuckDB, events and calls in numpy and pandas, events as an Arrow stream."""
import json
import os
import subprocess
import sys
from pathlib import Path

from measure import BenchError, Row, median

DEBIAN = "/usr/bin/python3"  # which has numpy and pandas
DUCKDB = Path(os.environ.get("TTAPE_DUCKDB", "/usr/local/src/duckdb"))
QUERY = """SELECT name, count(*), sum(duration_ns), sum(self_ns), quantile_disc(duration_ns, 0.99)
    FROM ttape_calls('{}') GROUP BY name"""
NUMBERS = "SELECT sum(call), sum(parent), sum(calls_below) FROM ttape_calls('{}'{})"
LAST = ", times := '{}..'"  # of the trace, a twentieth
# A frame of columns from a file that was just opened: what was decoded before is not there.
FRAME = """
import sys, time
sys.path.insert(0, {package!r})
import numpy, pandas, tracetape
times = []
for _ in range({repeats}):
    begin = time.thread_time()
    with tracetape.open({trace!r}, jobs=1) as trace:
        table = {table}
    times.append(time.thread_time() - begin)
    rows = len(table) if not isinstance(table, dict) else len(next(iter(table.values())))
    del table
print(rows, sorted(times)[len(times) // 2])
"""


def make_trace(bench, *options):
    name = "lua" if "lua" in bench.names else bench.names[0]
    trace = bench.work / f"columns{len(options)}.ttape"
    bench.convert(bench.recording(name), trace, *options, jobs=2)
    return trace


def in_duckdb(bench, query):
    """Seconds on the clock, and of the processor."""
    extension = bench.command.parent / "ttape.duckdb_extension"
    if not extension.exists() or not (DUCKDB / "node_modules").exists():
        raise BenchError("DuckDB, or the extension, is not there (scripts/fetch-duckdb)")
    statement = json.dumps({"sql": query}) + "\n"
    done = subprocess.run(
        ["node", bench.source / "tests" / "duckdb" / "query.mjs", DUCKDB, extension, "2"],
        input=statement * bench.repeats, capture_output=True, text=True, check=True)
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    if "error" in replies[0]:
        raise BenchError(replies[0]["error"])
    return [median([reply[key] for reply in replies]) for key in ("seconds", "cpu")]


def in_python(bench, trace, table):
    """Rows, and seconds of processor time of the thread."""
    program = FRAME.format(package=str(bench.command.parent / "python"), repeats=bench.repeats,
                           trace=str(trace), table=table)
    python = DEBIAN if Path(DEBIAN).exists() else sys.executable
    rows, seconds = bench.call([python, "-c", program]).split()
    return int(rows), float(seconds)


def as_arrow(bench, trace):
    runs = []
    for _ in range(bench.repeats):
        rows, seconds, _ = bench.call([bench.programs / "arrow_measured", trace]).split()
        runs.append(float(seconds))
    return int(rows), median(runs)


def number_rows(bench, trace):
    """Numbers of calls and parents: of a file that has to be read from its beginning, and of one
    that says by which events open calls began; of all, and of the last twentieth."""
    numbered = make_trace(bench, "--call-numbers")
    info = bench.info(trace)
    last = LAST.format(info["time_last_ns"] - (info["time_last_ns"] - info["time_first_ns"]) // 20)
    for label, times in (("all calls", ""), ("a twentieth", last)):
        plain, ours = (in_duckdb(bench, NUMBERS.format(file, times)) for file in (trace, numbered))
        yield Row(f"DuckDB, numbers and parents, {label}, 2 threads, ms",
                  f"{plain[0] * 1000:.0f} ms", f"{ours[0] * 1000:.0f} ms", ours[0] * 1000, 0, 0,
                  details=[f"of processor time: {plain[1] * 1000:.0f} ms without call numbers in "
                           f"the file, {ours[1] * 1000:.0f} ms with them"])


def rate_row(figure, rows, seconds, floor, aim):
    value = rows / seconds / 1e6
    return Row(figure, "-", f"{value:.1f} M/s", value, floor, aim, higher=True,
               details=[f"{rows} rows in {seconds:.3f} s of one thread's processor time"])


def columns(bench):
    trace = make_trace(bench)
    seconds, cpu = in_duckdb(bench, QUERY.format(trace))
    yield Row("DuckDB, calls, p99 by function, 2 threads, ms", "-", f"{seconds * 1000:.0f} ms",
              seconds * 1000, 200, 100,
              details=[f"wall time, of an idle machine; {cpu * 1000:.0f} ms of processor time"])
    yield from number_rows(bench, trace)
    yield rate_row("Python, events to numpy", *in_python(bench, trace, "trace.events().to_numpy()"),
                   15, 30)
    rows, seconds = in_python(bench, trace, "trace.calls().to_pandas()")
    yield Row("Python, calls to a pandas frame, s of 2 M", "-", f"{seconds:.2f} s",
              seconds * 2e6 / rows, 0.5, 0.2, details=[f"{rows} calls"])
    yield rate_row("Arrow stream, events", *as_arrow(bench, trace), 30, 60)
