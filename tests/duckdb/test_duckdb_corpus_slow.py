#!/usr/bin/env python3
"""Every recording of the corpus in SQL: sums of calls are those of the report, to the nanosecond,
by both ways of reading, with one thread and with several; and so are those of Parquet files."""
import os
import subprocess
import tempfile
from pathlib import Path

import duckdb_session
from duckdb_session import SOURCE, SUMS, Session, check_sums, run, skip

CORPUS = Path(os.environ.get("TTAPE_CORPUS", SOURCE / ".." / "shared" / "corpus"))


def convert(archive, folder):
    subprocess.run(["tar", "-xJf", archive, "-C", folder], check=True)
    recording = next(path.parent for path in Path(folder).rglob("info"))
    trace = Path(folder) / f"{archive.name.split('.')[0]}.ttape"
    run("convert", recording, "-o", trace, good=(0, 3))
    subprocess.run(["rm", "-rf", recording], check=True)
    return trace


def check_parquet(session, trace):
    place = trace.with_suffix(".parquet")
    session.rows(f"COPY (FROM ttape_calls('{trace}')) TO '{place}' "
                 "(FORMAT parquet, PARQUET_VERSION v2, COMPRESSION zstd)")
    rows = [session.numbers(f"SELECT name, {SUMS} FROM {source} GROUP BY name ORDER BY name")
            for source in (f"'{place}'", f"ttape_calls('{trace}')")]
    assert rows[0] == rows[1], trace
    place.unlink()


def main():
    duckdb_session.need_duckdb()
    archives = sorted(CORPUS.glob("*.uftrace.tar.xz"))
    if not archives:
        skip(f"no recordings in {CORPUS}")
    with Session(1) as one, Session(4) as several:
        for archive in archives:
            with tempfile.TemporaryDirectory(prefix="ttape-duckdb.") as folder:
                trace = convert(archive, folder)
                check_sums(one, [trace])
                check_sums(several, [trace])
                check_parquet(several, trace)
                print(f"{trace.name}: equal", flush=True)


if __name__ == "__main__":
    main()
