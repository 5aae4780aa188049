#!/usr/bin/env python3
"""The Python package's Arrow stream as DuckDB reads it, by a program of C: the rows that the
extension has."""
import os
import subprocess
import tempfile
from pathlib import Path

import duckdb_session
from duckdb_session import DUCKDB, SOURCE, Session, make, skip

BUILD = Path(os.environ["TTAPE_BUILD"])
QUESTIONS = (
    ("events", "count(*), sum(time_ns)::BIGINT, sum(number)::BIGINT, sum(site)::BIGINT, "
     "max(depth), count(DISTINCT kind), min(kind::VARCHAR), max(kind::VARCHAR)"),
    ("calls", "count(*), sum(self_ns)::BIGINT, sum(duration_ns)::BIGINT, sum(call)::BIGINT, "
     "count(parent), sum(parent)::BIGINT, min(ending::VARCHAR), max(ending::VARCHAR), "
     "sum(site)::BIGINT"))


def compile_reader(folder):
    libraries = sorted(DUCKDB.glob("node_modules/@duckdb/node-bindings-linux-x64/libduckdb.so"))
    if not libraries or not (BUILD / "libtracetape.so").exists():
        skip("DuckDB's library for Linux on x86-64 is missing, or ours")
    program = folder / "arrow_in_duckdb"
    native = [SOURCE / "python" / "native" / f"{name}.c"
              for name in ("query", "batch", "answers", "arrow")]
    subprocess.run(
        [os.environ["TTAPE_CC"], "-std=gnu11", "-O1", f"-I{SOURCE}",
         f"-I{SOURCE / 'libtrace' / 'include'}", "-isystem", DUCKDB / "include",
         Path(__file__).with_name("arrow_in_duckdb.c"), *native, "-o", program, f"-L{BUILD}",
         "-ltracetape", libraries[0], f"-Wl,-rpath,{BUILD}:{libraries[0].parent}"], check=True)
    return program


def main():
    duckdb_session.need_duckdb()
    with tempfile.TemporaryDirectory(prefix="ttape-arrow.") as folder, Session() as session:
        program = compile_reader(Path(folder))
        trace = make(Path(folder) / "a.ttape")
        for table, columns in QUESTIONS:
            done = subprocess.run([program, trace, table, f"SELECT {columns} FROM whole"],
                                  check=True, stdout=subprocess.PIPE, text=True)
            got = done.stdout.splitlines()[-1].split("\t")
            wanted = session.rows(f"SELECT {columns} FROM ttape_{table}('{trace}')")[0]
            assert got == [str(cell) for cell in wanted], (table, got, wanted)
    print("ok")


if __name__ == "__main__":
    main()
