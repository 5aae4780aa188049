#!/usr/bin/env python3
"""What test_many_exact.py says of real recordings, of 7 recordings with 10^9 events together: sums
by files and by partitions, in trees of 2, 3 and 7 workers, merged, and by 1 to 4 ranks of MPI.

TTAPE_BILLION_TRACES: a folder of traces to take instead. Exit 77: no corpus or compiler here."""
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

os.environ["TTAPE_THOROUGH"] = "1"
import test_many_exact as exact  # noqa: E402  (which looks at that)

EVENTS, FILES = 1_001_000_000, 7
NAMES = "lua", "sqlite", "redis", "tcc", "dash", "lua_jmp", "lua"


def make(work):
    big = work / "make_big"
    exact.run("gcc", "-O2", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64", f"-I{exact.SOURCE}",
              f"-I{exact.SOURCE}/libtrace/include", "-o", big,
              exact.SOURCE / "tests/bench/make_big.c", f"-L{exact.BUILD}", "-ltracetape",
              f"-Wl,-rpath,{exact.BUILD}")
    sources = {name: exact.convert(work, name) for name in set(NAMES)}
    files = []
    for number, name in enumerate(NAMES):
        files.append(work / f"{number}.ttape")
        exact.run(big, "-t", str(1 + number // 6), files[-1], str(EVENTS // FILES), "2",
                  sources[name])
    for path in sources.values():
        path.unlink()
    return files


def main():
    given = os.environ.get("TTAPE_BILLION_TRACES")
    has_corpus = all((exact.CORPUS / f"{name}.uftrace.tar.xz").exists() for name in NAMES)
    if given is None and (not has_corpus or shutil.which("gcc") is None):
        print("SKIPPED: no corpus or no compiler here")
        return 77
    rng = random.Random(46)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        files = sorted(Path(given).glob("*.ttape")) if given else make(work)
        want = exact.report(*files)
        print(f"{want['events']} events in {len(files)} files")
        assert want["events"] >= 10**9
        whole = exact.check_trees(files, rng, work)
        assert exact.report(whole)["rows"] == want["rows"]
        exact.check_merged(files, work)
        exact.check_ranks(files, work, options=((),))
    return 0


if __name__ == "__main__":
    sys.exit(main())
