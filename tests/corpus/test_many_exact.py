#!/usr/bin/env python3
"""Many files, one answer: rows of `report f...`, of rollups added up in any order and tree, by
files and by partitions, of `merge` and then `report`, and of 1 to 4 ranks of MPI are equal on real
recordings, times to the nanosecond and squares to the bit.

Two recordings, 3 ranks; all, 1 to 4, with TTAPE_THOROUGH=1. Exit 77: no corpus here."""
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

TOOL = os.environ.get("TTAPE_BIN", "tracetape")
BUILD = Path(os.environ.get("TTAPE_BUILD", "build/release"))
RANKED = BUILD / "tracetape-mpi"
SHARE = BUILD / "tests/corpus_add_share"
SOURCE = Path(os.environ.get("TTAPE_SRC", "."))
CORPUS = Path(os.environ.get("TTAPE_CORPUS", SOURCE / ".." / "shared" / "corpus"))
THOROUGH = os.environ.get("TTAPE_THOROUGH") == "1"
FEW = ("lua_jmp", "tcc")
LAUNCHER = shutil.which("mpiexec.mpich")
SUMS = ("calls", "ended", "unknown_ends", "self_ns", "total_ns", "idle_ns")
FIELDS = (*SUMS, "min_ns", "max_ns", "mean_ns", "deviation_ns")
SQUARES = "squares_ns2"
WORKERS = 2, 3, 7


def run(*words, **more):
    done = subprocess.run(words, capture_output=True, check=False, **more)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def report(*words):
    return json.loads(run(TOOL, "report", "--json", *words))


def place(row):
    """What stands for a function in both: without a name its place in its module."""
    is_named = not (row["name"] or "0x").startswith("0x") and "+0x" not in row["name"]
    return row["name"] if is_named else "", row["module"], row["file"], row["line"]


def rows_of(answer):
    rows = {}
    for row in answer["rows"]:
        rows.setdefault(place(row), []).append(tuple(row[field] for field in FIELDS))
    return {key: sorted(values, key=str) for key, values in rows.items()}


def convert(work, name):
    with tarfile.open(CORPUS / f"{name}.uftrace.tar.xz") as archive:
        archive.extractall(work / name, filter="data")
    folder = next((work / name).rglob("info")).parent
    run(TOOL, "convert", "--partition-events", "200000", folder, "-o", work / f"{name}.ttape")
    shutil.rmtree(work / name)
    return work / f"{name}.ttape"


def by_files(files, workers, work):
    """The rollups of workers that have every n-th file each."""
    sums = []
    for worker in range(workers):
        if files[worker::workers]:
            sums.append(work / f"w{worker}.rollup")
            run(TOOL, "report", *files[worker::workers], "--rollup", sums[-1], "--force")
    return sums


def by_partitions(files, workers, work):
    sums = [work / f"p{worker}.rollup" for worker in range(workers)]
    for worker, path in enumerate(sums):
        run(SHARE, path, str(worker), str(workers), *files)
    return sums


def tree(sums, rng, work):
    """The bytes of all sums, of which two by chance are added up at a time."""
    while len(sums) > 1:
        two = rng.sample(sums, 2)
        out = work / f"t{len(sums)}.rollup"
        run(TOOL, "report", *two, "--rollup", out, "--force")
        sums = [path for path in sums if path not in two] + [out]
    return sums[0].read_bytes()


def check_trees(files, rng, work):
    """Returns the rollup of all."""
    whole = work / "all.rollup"
    run(TOOL, "report", *files, "--rollup", whole)
    for workers in WORKERS:
        for share in (by_files, by_partitions):
            sums = share(rng.sample(files, len(files)), workers, work)
            assert tree(sums, rng, work) == whole.read_bytes(), (share, workers)
    return whole


def folded(rows):
    """Rows as one: sums, the least and the greatest."""
    columns = list(zip(*rows))
    return (*map(sum, columns[:len(SUMS)]), min(columns[len(SUMS)]), max(columns[len(SUMS) + 1]))


def check_rows(one, many):
    """Functions without a module are told apart by their addresses in one trace, and by their names
    in many: there their sums are equal, elsewhere all is."""
    assert one.keys() == many.keys()
    for key, rows in one.items():
        if key[1] is None and len(rows) != len(many[key]):
            assert folded(rows) == folded(many[key]), key
        else:
            assert rows == many[key], key


def check_merged(files, work):
    """Functions of one program and one place are rows of both; whose clock is another one is not
    merged."""
    if subprocess.run([TOOL, "merge", *files, "-o", work / "m.ttape"], check=False,
                      capture_output=True).returncode != 0:
        return
    one, many = report(work / "m.ttape"), report(*files, "--across", "none")
    check_rows(rows_of(one), rows_of(many))
    for key in ("events", "calls", "span_ns", "idle_ns", "open_frames"):
        assert one[key] == many[key], key
    run(TOOL, "report", work / "m.ttape", "--rollup", work / "m.rollup", "--force")
    summed = report(work / "m.rollup", "--across", "none")
    assert all(SQUARES in row for row in summed["rows"])
    assert sorted(summed["rows"], key=str) == sorted(many["rows"], key=str)


def check_ranks(files, work, options=((), ("--exact",), ("--by", "call"))):
    if LAUNCHER is None or not RANKED.exists():
        print("no tracetape-mpi: ranks were not tried")
        return
    for chosen in options if THOROUGH else ((),):
        words = [*files, *chosen]
        want = run(TOOL, "report", *words, "--across", "builds", "--json")
        run(TOOL, "report", *words, "--rollup", work / "one.rollup", "--force")
        for ranks in ("1", "2", "3", "4") if THOROUGH else ("3",):
            ranked = [LAUNCHER, "-n", ranks, RANKED, "report", *words]
            assert run(*ranked, "--json") == want, (ranks, chosen)
            run(*ranked, "--rollup", work / "ranks.rollup", "--force")
            one, other = work / "one.rollup", work / "ranks.rollup"
            assert one.read_bytes() == other.read_bytes(), (ranks, chosen)


def main():
    names = FEW
    if THOROUGH:
        names = sorted(path.name.split(".")[0] for path in CORPUS.glob("*.uftrace.tar.xz"))
    if not all((CORPUS / f"{name}.uftrace.tar.xz").exists() for name in names) or not names:
        print("SKIPPED: no corpus here")
        return 77
    rng = random.Random(46)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        files = [convert(work, name) for name in names]
        whole = check_trees(files, rng, work)
        assert report(whole)["rows"] == report(*files)["rows"]
        check_merged(files, work)
        check_ranks(files, work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
