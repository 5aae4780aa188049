"""A DuckDB that has the extension, in a process of Node.js; and what tables have to agree with."""
import json
import os
import subprocess
import sys
from pathlib import Path

TOOL = os.environ["TTAPE_BIN"]
SOURCE = Path(os.environ["TTAPE_SRC"])
EXTENSION = Path(os.environ["TTAPE_BUILD"]) / "ttape.duckdb_extension"
DUCKDB = Path(os.environ.get("TTAPE_DUCKDB", "/usr/local/src/duckdb"))


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(77)


def need_duckdb():
    if not EXTENSION.exists():
        skip("the extension was not built: DuckDB's headers are missing (scripts/fetch-duckdb)")
    if os.environ.get("TTAPE_SANITIZE"):
        skip("Node.js has no sanitizers")
    if not (DUCKDB / "node_modules" / "@duckdb" / "node-api").exists():
        skip("DuckDB for Node.js is missing (scripts/fetch-duckdb)")


def run(*words, data=None, good=(0,)):
    done = subprocess.run([TOOL, *map(str, words)], check=False, capture_output=True, input=data)
    assert done.returncode in good, (words, done.returncode, done.stderr[:400])
    return done.stdout


def make(place, rounds=2000):
    """Three threads in two processes, with system calls, values, unwinding, frames left open."""
    text = ["process 7 one", "process 8 two", "thread 7 7 first", "thread 7 9 second",
            "thread 8 8 third", "module 0x1000 0x9000 /usr/bin/prog",
            "symbol 0x1800 leaf", "symbol 0x1100 main main.c:3", "symbol 0x1200 parse_a a.c:9",
            "symbol 0x1300 parse_b"]
    at = 10_000
    for tid in (7, 9, 8):
        text.append(f"{at} {tid} enter 0x1100")
    for i in range(rounds):
        for tid in (7, 9, 8):
            at += 11 + i % 7
            name = "0x1200" if (i + tid) % 3 else "0x1300"
            text += [f"{at} {tid} enter {name} {i}", f"{at + 3} {tid} enter 0x1800"]
            if i % 50 == 3:
                text += [f"{at + 4} {tid} syscall-enter openat path=main;parse_x 3 \"/tmp/a b\"",
                         f"{at + 6} {tid} syscall-exit openat -2"]
            if i % 500 == 7:
                text += [f"{at + 4} {tid} syscall-enter close 3",
                         f"{at + 5} {tid} syscall-exit close 0"]
            if i % 97 == 5:
                text += [f"{at + 7} {tid} unwind 2"]
            else:
                text += [f"{at + 7 + i % 3} {tid} exit", f"{at + 10} {tid} exit"]
    run("convert", "-", "-o", place, "--force", "--partition-events", "2500",
        data="\n".join([*text, ""]).encode())
    return place


class SqlError(Exception):
    pass


class Session:
    def __init__(self, threads=2):
        self.process = subprocess.Popen(
            ["node", Path(__file__).with_name("query.mjs"), DUCKDB, EXTENSION, str(threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.seconds = 0

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.process.stdin.close()
        assert self.process.wait() == 0

    def rows(self, sql):
        """Tuples; numbers of 64 bits are texts."""
        self.process.stdin.write(json.dumps({"sql": sql}) + "\n")
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline())
        if "error" in reply:
            raise SqlError(reply["error"])
        self.seconds = reply.get("seconds", 0)
        return [tuple(row) for row in reply["rows"]]

    def numbers(self, sql):
        return [tuple(int(cell) if isinstance(cell, str) and cell.lstrip("-").isdigit() else cell
                      for cell in row) for row in self.rows(sql)]

    def refused(self, sql):
        try:
            self.rows(sql)
        except SqlError as error:
            return str(error)
        raise AssertionError(f"taken: {sql}")


def quoted(*paths):
    """A list of files as SQL."""
    return "[" + ", ".join("'" + str(path).replace("'", "''") + "'" for path in paths) + "]"


ENDED = "ending IN ('returned', 'unwound') AND NOT was_open"
SUMS = f"""count(*) FILTER (WHERE NOT was_open), count(*) FILTER (WHERE {ENDED}),
    sum(self_ns), min(duration_ns) FILTER (WHERE {ENDED}),
    max(duration_ns) FILTER (WHERE {ENDED})"""


NOTHING = (0, 0, 0, None, None)


def report_of(session, trace):
    """{name: (calls, ended, self, least, most)} as `tracetape report` says it."""
    names = dict(session.rows(f"SELECT site, name FROM ttape_sites('{trace}')"))
    report = json.loads(run("report", "--exact", "--json", "--names", "mangled", trace))
    sums = {}
    for row in report["rows"]: # several functions may have one name
        name = names[row["site"]]
        calls, ended, self_ns, least, most = sums.get(name, NOTHING)
        sums[name] = (
            calls + row["calls"], ended + row["ended"], self_ns + row.get("self_ns", 0),
            min((n for n in (least, row.get("min_ns")) if n is not None), default=None),
            max((n for n in (most, row.get("max_ns")) if n is not None), default=None))
    return sums


def check_sums(session, traces):
    """Calls in SQL are those of the reports, by both ways of reading, and so are summaries."""
    files = quoted(*traces)
    wanted = {str(trace): report_of(session, trace) for trace in traces}
    for number in ("0", "count(call)"):  # with numbers of calls, streams are read whole
        got = {str(trace): {} for trace in traces}
        for filename, name, *sums, _ in session.numbers(
                f"SELECT filename, name, {SUMS}, {number} FROM ttape_calls({files}) "
                f"WHERE name IS NOT NULL GROUP BY filename, name"):
            got[filename][name] = (*sums[:2], wrapped(sums[2]), *sums[3:])
        compare(wanted, got)
    got = {str(trace): {} for trace in traces}
    for filename, name, calls, self_ns in session.numbers(
            "SELECT filename, name, sum(calls)::BIGINT, sum(self_ns) "
            f"FROM ttape_summary({files}) GROUP BY filename, name"):
        got[filename][name] = (calls, wrapped(self_ns))
    compare({file: {name: (row[0], row[2]) for name, row in sums.items()}
             for file, sums in wanted.items() if "no-summary" not in file}, got)


def wrapped(sum_ns):
    """Reports add up in 64 bits; vectors have times at both ends of them."""
    return ((sum_ns or 0) + 2 ** 63) % 2 ** 64 - 2 ** 63


def compare(wanted, got):
    """Rows of nothing may be there or not."""
    for file, sums in wanted.items():
        for name in {*sums, *got[file]}:
            pair = [rows.get(name) for rows in (sums, got[file])]
            assert pair[0] == pair[1] or all(not any(row or ()) for row in pair), (file, name, pair)
