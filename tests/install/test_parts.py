#!/usr/bin/env python3
"""Parts of the build (cmake/parts.cmake): what is left out is in the table with what it would take;
a part that is asked for and lacks something ends the configuration, which names that."""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ["TTAPE_SRC"])
NOWHERE = ["-DTTAPE_MPI_PACKAGE=no-such-mpi", "-DTTAPE_ZSTD_SOURCE=/nowhere"]


def configure(folder, *options):
    done = subprocess.run(["cmake", "-S", SOURCE, "-B", folder, *NOWHERE, *options],
                          capture_output=True, text=True, check=False)
    return done.returncode, re.sub(r"\s+", " ", done.stdout + done.stderr)


def expect(folder, options, status, *words):
    got, said = configure(folder, *options)
    assert (got != 0) == (status != 0), (options, got, said)
    for word in words:
        assert word in said, (options, word, said)


def main():
    if os.environ.get("TTAPE_SANITIZE"):
        print("SKIPPED: it is the same configuration as that of a release")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        expect(folder, ["-DTTAPE_JSON=OFF"], 0, "tracetape-mpi no would be with: no-such-mpi.pc",
               "Chrome's JSON in no -DTTAPE_JSON=OFF", "zstd's source (scripts/fetch-zstd)")
        expect(folder, ["-DTTAPE_MPI=ON"], 1, "TTAPE_MPI=ON, and missing is: no-such-mpi.pc")
        expect(folder, ["-DTTAPE_MPI=AUTO", "-DTTAPE_HTML=ON"], 1, "TTAPE_HTML=ON, and missing is:",
               "zstd's source")
        expect(folder, ["-DTTAPE_HTML=OFF"], 0, "traces as one HTML file no -DTTAPE_HTML=OFF")
        expect(folder, ["-DTTAPE_THREADS=OFF", "-DTTAPE_RECORD=ON"], 1,
               "TTAPE_RECORD=ON, and missing is: -DTTAPE_THREADS=ON")
        expect(folder, ["-DTTAPE_RECORD=AUTO"], 0)
        expect(folder, ["-DTTAPE_RECORD=AUTO", "-DTTAPE_THREADS=ON", "-DTTAPE_HTML=AUTO",
                        "-DTTAPE_WASM_CLANG=", "-DTTAPE_WASM_LD=", "-DTTAPE_WASM_OPT="], 0,
               "traces as one HTML file no would be with: clang, lld, binaryen, libclang-rt")
    print("parts: ok")


main()
