#!/usr/bin/env python3
"""The extension for DuckDB, in DuckDB: rows are the command's, whichever thread reads them; what is
asked for by parameters is what WHERE would keep; damage is named, or left out."""
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import duckdb_session
from duckdb_session import (ENDED, SOURCE, TOOL, Session, check_sums, make, quoted, report_of,
                            run)

sys.path.append(str(SOURCE / "tests" / "cli"))
import npm_package


ALWAYS = ("all-kinds", "clock-steps", "coroutines", "enters", "no-summary", "paths")


def good_vectors():
    every = 1 if os.environ.get("TTAPE_THOROUGH") == "1" else 3
    vectors = sorted((SOURCE / "spec" / "vectors").glob("*.ttape"))
    chosen = [vector for i, vector in enumerate(vectors)
              if i % every == 0 or vector.stem in ALWAYS]
    return [vector for vector in chosen
            if subprocess.run([TOOL, "verify", "-q", vector], check=False,
                              capture_output=True).returncode == 0]


def same_events(session, traces):
    plain = ("enter", "open", "switch", "gap")  # others are said in more words
    wanted, got = Counter(), Counter()
    for trace in traces:
        for line in run("dump", "--format", "ndjson", trace).splitlines():
            row = json.loads(line)
            wanted[str(trace), row["stream"], row["event"], (row.get("time_ns") or 0) % 2 ** 64,
                   row["depth"], row["kind"] if row["kind"] in plain else ""] += 1
    for file, stream, number, time, depth, kind in session.numbers(
            f"SELECT filename, stream, number, time_ns, depth, kind "
            f"FROM ttape_events({quoted(*traces)})"):
        got[file, stream, number, (time or 0) % 2 ** 64, depth, kind if kind in plain else ""] += 1
    assert got == wanted, ((got - wanted).most_common(2), (wanted - got).most_common(2))
    files = quoted(*traces)
    gaps = session.numbers("SELECT filename, partition, gaps, lost FROM "
                           f"ttape_partitions({files}) WHERE gaps > 0 ORDER BY ALL")
    events = session.numbers("SELECT filename, partition, count(*), coalesce(sum(lost), 0)::BIGINT "
                             f"FROM ttape_events({files}) WHERE kind = 'gap' "
                             "GROUP BY ALL ORDER BY ALL")
    assert gaps == events and len(gaps) > 3, (gaps, events)


def both_ways(session, traces):
    """Parts of streams have the rows that whole streams have, with partitions."""
    files = quoted(*traces)
    parts = "SELECT * EXCLUDE (call, parent, calls_below, called_from) FROM"
    whole = f"SELECT * EXCLUDE (call, parent, calls_below, called_from, n) FROM " \
            f"(SELECT *, call n FROM ttape_calls({files}))"
    count, = session.numbers(f"SELECT count(*) FROM ttape_calls({files})")[0]
    same, = session.numbers(f"SELECT count(*) FROM ({parts} ttape_calls({files}) "
                            f"INTERSECT ALL {whole})")[0]
    other, = session.numbers(f"SELECT count(*) FROM ({whole})")[0]
    assert count == same == other > 0, (count, same, other)


def parents(session, trace):
    rows = session.numbers("SELECT stream, call, parent, depth, calls_below, start_ns, "
                           f"duration_ns FROM ttape_calls('{trace}')")
    known = {(row[0], row[1]): (row[5], row[5] + row[6]) for row in rows}
    below = Counter()
    for stream, call, parent, depth, _, start, length in rows:
        assert (parent is None) == (depth == 0)
        if parent is not None:
            begin, end = known[stream, parent]
            assert begin <= start and start + length <= end
    children = {}
    for stream, call, parent, *_ in rows:
        children.setdefault((stream, parent), []).append(call)
    for stream, call, *_ in sorted(rows, key=lambda row: -row[1]):  # children have higher numbers
        below[stream, call] = sum(1 + below[stream, child]
                                  for child in children.get((stream, call), ()))
    assert all(row[4] == below[row[0], row[1]] for row in rows)


def rows_without_places(trace):
    return f"(SELECT * EXCLUDE (filename) FROM ttape_calls('{trace}'))"


def numbered(session, traces, folder):
    """Files that say by which events open calls began have the same rows, also where events are
    missing, and of some time read no more than that."""
    for i, trace in enumerate(traces):
        plain, with_numbers = folder / f"plain-{i}.ttape", folder / f"numbered-{i}.ttape"
        for place, words in ((plain, ()), (with_numbers, ("--call-numbers",))):
            run("convert", trace, "-o", place, "--partition-events", 700 if i == 0 else 5, *words)
        if i == 0:
            for place in (plain, with_numbers):  # copied, coded anew at the edges, with a hole
                for part, time in (("a", "..+30us"), ("b", "+50us..")):
                    run("cut", place, "--time", time, "-o", folder / f"{part}.part", "--force")
                run("merge", folder / "a.part", folder / "b.part", "-o", place, "--force")
        run("verify", "-q", with_numbers)
        assert with_numbers.read_bytes()[8] == 1 and (i > 0 or plain.read_bytes()[8] == 0)  # minor
        for one, other in ((plain, with_numbers), (with_numbers, plain)):
            rows = session.rows(f"FROM {rows_without_places(one)} EXCEPT ALL "
                                f"FROM {rows_without_places(other)} LIMIT 3")
            assert not rows, (trace, one, rows)
    assert len(session.rows(f"FROM {rows_without_places(folder / 'numbered-0.ttape')}")) > 4000
    for place, is_refused in ((folder / "plain-0.ttape", True),
                              (folder / "numbered-0.ttape", False)):
        first, = session.numbers(f"SELECT \"offset\" + stored_bytes // 2 FROM "
                                 f"ttape_partitions('{place}') WHERE partition = 1")[0]
        data = bytearray(place.read_bytes())
        data[first] ^= 0x55
        place.write_bytes(data)
        late = f"SELECT count(parent) FROM ttape_calls('{place}', times := '+60us..')"
        if is_refused:
            session.refused(late)
        else:
            assert session.numbers(late)[0][0] > 1000


def choices(session, traces):
    """Named parameters keep what WHERE keeps."""
    files = quoted(*traces)
    first = 10_000
    cases = (("calls", "function := '^parse_'", "regexp_matches(name, '^parse_')"),
             ("calls", "function := '^main$'", "name = 'main'"),
             ("events", "function := 'leaf|main'", "regexp_matches(name, 'leaf|main')"),
             ("summary", "function := 'parse_b'", "name = 'parse_b'"),
             ("calls", "thread := 9", "tid = 9"), ("events", "thread := [7, 8]", "tid IN (7, 8)"),
             ("values", "thread := [8]", "tid = 8"),
             ("events", "times := '+2us..+3.5us'",
              f"time_ns >= {first + 2000} AND time_ns < {first + 3500}"),
             ("calls", "times := '..15us'", "start_ns + duration_ns < 15000"),
             ("values", f"times := '{first + 999}..'", f"event_time >= {first + 999}"),
             ("syscalls", "times := '+1us..'", f"start_ns + duration_ns >= {first + 1000}"),
             ("calls", "thread := 1234", "false"))
    timed = f"(SELECT v.*, e.time_ns event_time FROM ttape_values({files}) v " \
            f"JOIN ttape_events({files}) e USING (filename, stream, number))"
    for table, parameter, where in cases:
        source = f"(SELECT *, 0 event_time FROM ttape_{table}({files}))"
        source = timed if "event_time" in where else source
        wanted = session.numbers("SELECT count(*), sum(hash(COLUMNS(* EXCLUDE (event_time)))) "
                                 f"FROM {source} WHERE {where}")
        got = session.numbers(f"SELECT count(*), sum(hash(COLUMNS(*))) "
                              f"FROM ttape_{table}({files}, {parameter})")
        assert got == wanted and (where == "false" or got[0][0] > 0), (parameter, got, wanted)


def values_and_calls(session, trace):
    """Values go with their events; system calls have results, arguments and paths."""
    rows = session.numbers(f"SELECT e.name, v.integer, v.position FROM ttape_values('{trace}') v "
                           f"JOIN ttape_events('{trace}') e USING (stream, number) "
                           "WHERE e.kind = 'enter' AND e.name LIKE 'parse%'")
    assert Counter(integer for _, integer, _ in rows) == Counter({i: 3 for i in range(2000)})
    rows = session.rows(f"SELECT name, result, error, arguments, stack, ending "
                        f"FROM ttape_syscalls('{trace}') WHERE name = 'openat'")
    wanted = ("openat", "-2", 2, ["3", "/tmp/a b"], "main;parse_x", "returned")
    assert len(rows) == 120 and all(row == wanted for row in rows), rows[:2]
    texts = session.rows(f"SELECT DISTINCT text, is_return FROM ttape_values('{trace}') "
                         "WHERE type = 'text'")
    assert texts == [("/tmp/a b", False)], texts
    assert session.numbers(f"SELECT sum(result)::BIGINT, count(DISTINCT number) FROM "
                           f"ttape_syscalls('{trace}') WHERE name = 'openat'") == [(-240, 1)]
    rows = session.rows(f"SELECT stack, error, count(*) FROM ttape_syscalls('{trace}') "
                        "WHERE name = 'close' GROUP BY stack, error ORDER BY stack")
    assert rows == [("main;parse_a;leaf", None, "8"), ("main;parse_b;leaf", None, "4")], rows


def names_of_values(session, trace):
    """Parameters are called as dump calls them: those of the C library's functions, not of others
    with such a name, nor where there are more values than parameters; and of system calls."""
    rows = session.rows(f"SELECT DISTINCT value_name, text FROM ttape_values('{trace}') "
                        "WHERE name = 'openat' ORDER BY ALL")
    assert rows == [("dirfd", None), ("pathname", "/tmp/a b"), (None, None)], rows
    place = trace.with_name("names.ttape")
    run("convert", "-", "-o", place, data=b"""thread 7 7 first
module 0x1000 0x2000 /usr/bin/prog
module 0x3000 0x4000 /lib/libc.so.6
symbol 0x1100 lseek
symbol 0x3100 lseek
symbol 0x3200 nobody
1 7 enter 0x1100 1 2 3
2 7 enter 0x3100 4 5 6
3 7 enter 0x3100 7 8
4 7 enter 0x3200 9
""")
    rows = session.rows(f"SELECT value_name, integer FROM ttape_values('{place}') ORDER BY integer")
    wanted = [name for line in run("dump", "--format", "ndjson", place).splitlines()
              for row in (json.loads(line),)
              for name in row.get("value_names", [None] * len(row["values"]))]
    assert [name for name, _ in rows] == wanted and wanted.count("offset") == 1, (rows, wanted)


def definitions(session, trace):
    sites = session.rows("SELECT name, symbol, module, file, line, kind FROM "
                         f"ttape_sites('{trace}') WHERE name IN ('parse_a', 'leaf') ORDER BY name")
    assert sites == [("leaf", "leaf", "/usr/bin/prog", None, None, "function"),
                     ("parse_a", "parse_a", "/usr/bin/prog", "a.c", 9, "function")], sites
    streams = session.numbers("SELECT tid, pid, process, name, events > 0 FROM "
                              f"ttape_streams('{trace}') ORDER BY tid")
    assert streams == [(7, 7, "one", "first", True), (8, 8, "two", "third", True),
                       (9, 7, "one", "second", True)], streams
    partitions = session.numbers(
        f"SELECT sum(events)::BIGINT, count(*), count(damage) FROM ttape_partitions('{trace}')")
    events = session.numbers(f"SELECT count(*) FROM ttape_events('{trace}')")
    assert partitions[0][0] == events[0][0] and partitions[0][1] > 5 and partitions[0][2] == 0


def many_files(session, trace):
    copy = trace.with_name("again.ttape")
    copy.write_bytes(trace.read_bytes())
    one = session.numbers(f"SELECT count(*) FROM ttape_calls('{trace}')")[0][0]
    pattern = f"'{trace.parent}/a*.ttape'"
    for files in (quoted(trace, copy), pattern, f"[{pattern}]"):
        rows = session.numbers(f"SELECT filename, count(*) FROM ttape_calls({files}) "
                               "GROUP BY filename ORDER BY filename")
        assert rows == [(str(trace), one), (str(copy), one)], rows
    functions = session.numbers(f"SELECT count(DISTINCT function), count(*) FROM "
                                f"ttape_sites({quoted(trace, copy)}) WHERE kind = 'function'")
    assert 2 * functions[0][0] == functions[0][1]
    assert session.numbers(f"SELECT count(*) FROM '{trace}'") == [(one,)]
    session.refused("SELECT count(*) FROM '.ttape'")
    any_depth(session, copy)
    copy.unlink()


def any_depth(session, trace):
    """Two stars are folders of any depth, each file once; glob(3) finds but some of them."""
    top = trace.with_name("depths")
    (top / "a" / "b" / ".hidden").mkdir(parents=True)
    (top / "c").mkdir()
    (top / "c" / "link").symlink_to("../a")
    for place in ("x", "a/x", "a/b/y", "a/b/.hidden/x", "c/x"):
        (top / f"{place}.ttape").write_bytes(trace.read_bytes())
    for pattern, wanted in (("**/*.ttape", "a/b/y a/x c/x x"), ("**/x.ttape", "a/x c/x x"),
                            ("**", "a/b/y a/x c/x x"), ("**/b/**/*.ttape", "a/b/y"),
                            ("c/link/**/*.ttape", "c/link/b/y c/link/x"),
                            ("**/**/[xy].ttape", "a/b/y a/x c/x x"), ("*/*.ttape", "a/x c/x")):
        files = session.rows("SELECT DISTINCT filename FROM "
                             f"ttape_streams('{top}/{pattern}') ORDER BY ALL")
        assert files == [(f"{top}/{name}.ttape",) for name in wanted.split()], (pattern, files)
    assert "no file matches" in session.refused(f"FROM ttape_streams('{top}/**/z*.ttape')")


def parquet(session, trace, folder):
    """What the manual says to export with, read again: no column becomes an inexact one."""
    place = folder / "calls.parquet"
    session.rows(f"COPY (SELECT * FROM ttape_calls('{trace}')) TO '{place}' "
                 "(FORMAT parquet, PARQUET_VERSION v2, COMPRESSION zstd)")
    types = dict(session.rows(f"SELECT column_name, column_type FROM "
                              f"(DESCRIBE SELECT * FROM '{place}')"))
    assert types["start_ns"] == types["self_ns"] == "BIGINT" and "DOUBLE" not in types.values()
    for source in (f"'{place}'", f"ttape_calls('{trace}')"):
        sums = session.numbers(f"SELECT count(*), sum(self_ns)::BIGINT, sum(call)::BIGINT, "
                               f"min(name), count(*) FILTER (WHERE {ENDED}) FROM {source}")
        wanted = sums if source.startswith("'") else wanted
        assert sums == wanted
    other_reader(session, trace, place)


def other_reader(session, trace, place):
    """A reader that is not DuckDB finds the same in that file."""
    try:
        packages = [npm_package.find(name) for name in ("hyparquet", "fzstd")]
    except npm_package.Absent as why:
        print(f"SKIPPED: hyparquet was not asked: {why}")
        return
    done = subprocess.run(["node", Path(__file__).with_name("read_parquet.mjs"), *packages, place],
                          check=True, capture_output=True)
    said = json.loads(done.stdout)
    wanted = {name: row[2] for name, row in report_of(session, trace).items()}
    assert {name: int(sum_ns) for name, sum_ns in said["sums"]} == wanted, said["sums"]
    types = dict(said["types"])
    assert said["rows"] > 10_000 and {types[name] for name in (
        "call", "parent", "start_ns", "duration_ns", "self_ns")} == {"INT64"}, types


def damage(session, trace):
    data = bytearray(trace.read_bytes())
    places = session.numbers(f"SELECT \"offset\", stored_bytes FROM ttape_partitions('{trace}') "
                             "WHERE partition = 2")
    data[places[0][0] + places[0][1] // 2] ^= 0x55
    broken = trace.with_name("broken.ttape")
    broken.write_bytes(data)
    for table in ("events", "calls", "values", "syscalls"):
        said = session.refused(f"SELECT sum(hash(t)) FROM ttape_{table}('{broken}') t")
        assert str(broken) in said and "at byte" in said and "damaged :=" in said, said
    assert "partition 2" in session.refused(f"SELECT sum(time_ns) FROM ttape_events('{broken}')")
    assert session.numbers(f"SELECT partition, gaps, lost FROM ttape_partitions('{broken}') "
                           "WHERE damage IS NOT NULL") == [(2, None, None)]
    rows = session.numbers(f"SELECT partition, count(*) FROM ttape_events('{broken}', "
                           "damaged := 'skip') GROUP BY partition ORDER BY partition")
    whole = session.numbers(f"SELECT partition, count(*) FROM ttape_events('{trace}') "
                            "GROUP BY partition ORDER BY partition")
    assert rows == [row for row in whole if row[0] != 2], rows
    # Of calls that end in the others, all is known: main lasts, and its time in the damaged one is
    # in what it has behind it.
    report = json.loads(run("report", "--exact", "--json", broken, good=(0, 3)))
    wanted = {row["name"]: row["self_ns"] for row in report["rows"]}
    got = dict(session.numbers(f"SELECT name, sum(self_ns)::BIGINT FROM ttape_calls('{broken}', "
                               "damaged := 'skip') GROUP BY name"))
    assert got.pop("main") > wanted.pop("main") and got == wanted, (got, wanted)
    broken.unlink()


def guide(session, trace, folder):
    """What the guide's page shows runs."""
    runs = folder / "runs"
    runs.mkdir()
    (runs / "one.ttape").write_bytes(trace.read_bytes())
    page = (SOURCE / "doc" / "how-to" / "sql.md").read_text(encoding="utf-8")
    counts = []
    for block in page.split("```sql\n")[1:]:
        for statement in block.split("```")[0].split(";\n"):
            statement = statement.replace("'run.ttape'", f"'{trace}'") \
                .replace("'runs/", f"'{runs}/").replace("'calls.parquet'", f"'{folder}/c.parquet'")
            if statement.strip() and not statement.startswith("LOAD"):
                counts.append(len(session.rows(statement)))
    assert len(counts) == 6 and all(counts), counts
    # A column that the page does not name is not there, nor the other way round.
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 3 and cells[1].startswith("`ttape_"):
            columns = ["trace", "filename", *cells[3].strip("`").split()]
            found = session.rows(f"SELECT column_name FROM (DESCRIBE FROM {cells[1].strip('`')}"
                                 f"('{trace}'))")
            assert [name for name, in found] == columns, (cells[1], found)


def places(session, folder):
    """Where calls were made: as the command has it, also over partitions' edges and where files
    know by which events calls began; library functions' own parameters keep their names."""
    program, trace = folder / "program", folder / "places.ttape"
    subprocess.run(["gcc", "-O1", "-g", "-fno-builtin", "-o", program,
                    SOURCE / "tests" / "record" / "programs" / "p_call_sites.c"], check=True)
    run("record", "-q", "-f", "-o", trace, "--patch", ".", "--libcalls", "--args", "--call-sites",
        "-p", "500", "--", program)
    numbered_one = folder / "places-numbered.ttape"
    run("convert", trace, "-o", numbered_one, "--partition-events", "300", "--call-numbers")
    wanted = Counter({(row["name"], row["from"]): row["calls"] for row in
                      json.loads(run("report", "--by", "site", "--json", trace))["rows"]})
    assert len({place for _, place in wanted}) > 8, wanted
    for one in (trace, numbered_one):
        rows = session.numbers("SELECT name, called_from, count(*) FROM "
                               f"ttape_calls('{one}') WHERE NOT was_open GROUP BY ALL")
        assert Counter({row[:2]: row[2] for row in rows}) == +wanted, (one, rows, wanted)
    for chosen in ("", ", function := '^work$'"):
        rows = session.numbers("SELECT name, called_from, count(*) FROM "
                               f"ttape_events('{trace}'{chosen}) WHERE kind = 'enter' "
                               "GROUP BY ALL")
        some = {key: count for key, count in wanted.items() if chosen == "" or key[0] == "work"}
        assert Counter({row[:2]: row[2] for row in rows}) == +Counter(some), (rows, some)
    odd = session.numbers(f"SELECT count(*) FROM ttape_events('{trace}') WHERE kind = 'exit' "
                          "AND called_from IS NOT NULL")
    assert odd == [(0,)] or odd == [[0]], odd
    rows = session.numbers("SELECT name, target, count(*) FROM "
                           f"ttape_values('{trace}') WHERE value_name = 'from' GROUP BY ALL")
    known = Counter({key: count for key, count in wanted.items() if key[1] is not None})
    assert Counter({row[:2]: row[2] for row in rows}) == +known, (rows, known)
    rows = session.rows("SELECT value_name, target FROM "
                        f"ttape_values('{trace}') WHERE name IN ('strdup', 'free') "
                        "AND NOT is_return ORDER BY number, position")
    assert [row[0] for row in rows] == ["s", "from", "ptr", "from"] and \
        all((place is None) == (name != "from") for name, place in rows), rows
    kinds = dict(session.numbers(f"SELECT kind, count(*) FROM ttape_sites('{trace}') "
                                 "GROUP BY kind"))
    assert kinds["call site"] >= len({place for _, place in known}) and \
        "unknown" not in kinds, kinds


def refusals(session, trace):
    for parameters, said in (("'nowhere.ttape'", "nowhere.ttape"),
                             ("'no*where.ttape'", "no file matches"),
                             (f"'{SOURCE / 'README.md'}'", "README.md"),
                             (f"'{trace}', times := 'soon'", "times := '1s..2s'"),
                             (f"'{trace}', times := '2us..1us'", "range"),
                             (f"'{trace}', function := '('", "regular expression"),
                             (f"'{trace}', damaged := 'mend'", "'raise' or 'skip'"),
                             (f"'{trace}', colour := 1", "colour"),
                             (f"'{trace}', thread := 'first'", "thread is a number"),
                             (f"'{trace}', thread := [7, NULL]", "thread is a number"),
                             (f"'{trace}', thread := -7", "thread is a number"),
                             (f"'{trace}', thread := [7, -1::BIGINT]", "thread is a number"),
                             ("[]::VARCHAR[]", "no file is named"), ("NULL", "no file is named")):
        message = session.refused(f"SELECT * FROM ttape_calls({parameters})")
        assert said in message, (parameters, message)
    assert "function" in session.refused(f"SELECT * FROM ttape_streams('{trace}', function := 'a')")


def main():
    duckdb_session.need_duckdb()
    vectors = good_vectors()
    assert len(vectors) > 20, len(vectors)
    with tempfile.TemporaryDirectory(prefix="ttape-duckdb.") as folder, Session() as session:
        trace = make(Path(folder) / "a.ttape")
        same_events(session, [trace, *vectors])
        check_sums(session, [trace, *vectors])
        both_ways(session, [trace, *vectors])
        numbered(session, [trace, *[v for v in vectors if v.stem in ("coroutines", "enters")]],
                 Path(folder))
        choices(session, [trace])
        for check in (parents, values_and_calls, names_of_values, definitions, many_files, damage,
                      refusals):
            check(session, trace)
        parquet(session, trace, Path(folder))
        guide(session, trace, Path(folder))
        places(session, Path(folder))
    print(f"ok: {len(vectors)} vectors, and traces of its own")


if __name__ == "__main__":
    main()
