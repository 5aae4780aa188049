#!/usr/bin/env python3
"""A build with Open MPI (`-DTTAPE_MPI_PACKAGE=ompi-c`): its ranks say what one process says; ranks
of the other MPI's launcher, which do not know of each other, say nothing.

Exit 77: no mpiexec.openmpi or no ompi-c.pc (Debian's openmpi-bin, libopenmpi-dev)."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE, BUILD = Path(os.environ["TTAPE_SRC"]), Path(os.environ["TTAPE_BUILD"])
BIN = os.environ["TTAPE_BIN"]
COMPILER = os.environ.get("TTAPE_CC") or "cc"
LAUNCHER, OTHER = shutil.which("mpiexec.openmpi"), shutil.which("mpiexec.mpich")
AS_ROOT = ["--allow-run-as-root"] if os.geteuid() == 0 else []
CANNOT = 4


def has_package():
    return shutil.which("pkg-config") is not None and \
        subprocess.run(["pkg-config", "--exists", "ompi-c"], check=False).returncode == 0


def build(work):
    subprocess.run(["cmake", "-S", SOURCE, "-B", work / "build", "-DTTAPE_MPI=ON",
                    "-DTTAPE_MPI_PACKAGE=ompi-c", "-DTTAPE_RECORD=OFF", "-DTTAPE_HTML=OFF",
                    "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_C_COMPILER={COMPILER}"],
                   check=True, capture_output=True)
    subprocess.run(["cmake", "--build", work / "build", "--target", "tracetape_mpi", "-j",
                    str(os.cpu_count() or 1)], check=True, capture_output=True)
    return next((work / "build").rglob("tracetape-mpi"))


def make_traces(work):
    (work / "d").mkdir()
    for number in range(3):
        text = f"process {number + 1} p\n" + "".join(
            f"{100 * i} {number + 1} enter f{i % 7}\n{100 * i + 50} {number + 1} exit\n"
            for i in range(4000))
        subprocess.run([BIN, "convert", "--partition-events", "1000", "-", "-o",
                        work / f"d/{number}.ttape"], input=text.encode(), check=True,
                       capture_output=True)


def run(work, *words, status=0):
    done = subprocess.run(words, cwd=work, env={**os.environ, "HOME": str(work)},
                          capture_output=True, check=False, timeout=600)
    assert (done.returncode != 0) == (status != 0), (words, done)
    return done


def main():
    if LAUNCHER is None or not has_package() or os.environ.get("TTAPE_SANITIZE"):
        print("SKIPPED: no Open MPI to build with, or sanitizers")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        ranked = build(work)
        make_traces(work)
        for options in ((), ("--exact",), ("--by", "call")):
            want = run(work, BIN, "report", "d", "--json", *options).stdout
            run(work, BIN, "report", "d", "--rollup", "one.rollup", "--force", *options)
            for ranks in ("1", "2", "3", "4"):
                launch = [LAUNCHER, *AS_ROOT, "--oversubscribe", "-n", ranks, ranked, "report", "d",
                          *options]
                assert run(work, *launch, "--json").stdout == want, (ranks, options)
                run(work, *launch, "--rollup", "ranks.rollup", "--force")
                one, many = work / "one.rollup", work / "ranks.rollup"
                assert one.read_bytes() == many.read_bytes(), (ranks, options)
        foreign = [[OTHER, "-n", "2", ranked]] if OTHER is not None else []
        if (BUILD / "tracetape-mpi").exists():
            foreign.append([LAUNCHER, *AS_ROOT, "--oversubscribe", "-n", "2",
                            BUILD / "tracetape-mpi"])
        for launch in foreign:
            done = run(work, *launch, "report", "d", "--json", status=CANNOT)
            assert b"started 2 ranks" in done.stderr and b'"rows"' not in done.stdout, done
    print(f"Open MPI: 1 to 4 ranks, {len(foreign)} launchers of another MPI")
    return 0


if __name__ == "__main__":
    sys.exit(main())
