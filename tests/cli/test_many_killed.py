#!/usr/bin/env python3
"""What adds up many files is killed, at each of its writes in turn, or as any rank of MPI in the
middle of its work: there is no half answer and no half file, and run again it gives the same bytes.

Exit 77: no C compiler, or a build with sanitizers, which preloading disturbs."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

BIN = os.environ["TTAPE_BIN"]
RANKED = Path(os.environ.get("TTAPE_BUILD", "."), "tracetape-mpi")
LAUNCHER = shutil.which("mpiexec.mpich")
RANKS = 4
STEPS_MOST = 100
SHIM = """
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static void step(void)
{
    static long done;
    const char *at = getenv("KILL_AT");
    if (at != NULL && done++ == atol(at))
        raise(SIGKILL);
}

static void send(void)
{
    const char *rank = getenv("PMI_RANK"), *killed = getenv("KILL_RANK");
    if (rank != NULL && killed != NULL && strcmp(rank, killed) == 0)
        raise(SIGKILL);
}

#define INSTEAD(type, name, parameters, arguments, what) \\
    type name parameters \\
    { \\
        type(*real) parameters = (type(*) parameters)dlsym(RTLD_NEXT, #name); \\
        what(); \\
        return real arguments; \\
    }
INSTEAD(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size), step)
INSTEAD(int, fsync, (int fd), (fd), step)
INSTEAD(int, fdatasync, (int fd), (fd), step)
INSTEAD(int, link, (const char *from, const char *to), (from, to), step)
INSTEAD(int, rename, (const char *from, const char *to), (from, to), step)
INSTEAD(int, MPI_Send, (const void *data, int count, int type, int to, int tag, int all),
        (data, count, type, to, tag, all), send)
INSTEAD(int, MPI_Recv, (void *data, int count, int type, int from, int tag, int all, void *status),
        (data, count, type, from, tag, all, status), send)
"""


def run(work, *words, **more):
    return subprocess.run(words, cwd=work, env={**os.environ, **more}, capture_output=True,
                          check=False, timeout=500)


def make_traces(work):
    for number in range(3):
        text = f"process {number + 1} p\n" + "".join(
            f"{100 * i} {number + 1} enter f{i % 7}\n{100 * i + 50} {number + 1} exit\n"
            for i in range(4000))
        done = subprocess.run([BIN, "convert", "--partition-events", "1000", "-", "-o",
                               work / f"d/{number}.ttape"], input=text.encode(), check=False,
                              capture_output=True)
        assert done.returncode == 0, done


def check_rollup(work, shim, whole):
    """Where the name is taken, what was there stands until the new one is whole."""
    out = work / "out.rollup"
    for before in (None, b"what was there"):
        for at in range(STEPS_MOST):
            out.unlink(missing_ok=True)
            if before is not None:
                out.write_bytes(before)
            done = run(work, BIN, "report", "d", "--rollup", out, "--force", LD_PRELOAD=shim,
                       KILL_AT=str(at))
            now = out.read_bytes() if out.exists() else None
            assert now in (before, whole), (at, now)
            if done.returncode == 0:
                break
            assert done.returncode == -signal.SIGKILL and not done.stdout, done
            assert run(work, BIN, "report", "d", "--rollup", out, "--force").returncode == 0
            assert out.read_bytes() == whole, at
        assert 2 < at < STEPS_MOST - 1 and now == whole, at
    print(f"killed at each of {at} steps")


def check_ranks(work, shim, whole):
    want = run(work, BIN, "report", "d", "--json").stdout
    out = work / "ranks.rollup"
    for rank in range(RANKS):
        ranked = [LAUNCHER, "-n", str(RANKS), RANKED, "report", "d"]
        done = run(work, *ranked, "--json", LD_PRELOAD=shim, KILL_RANK=str(rank))
        assert done.returncode != 0 and b'"rows"' not in done.stdout, (rank, done)
        done = run(work, *ranked, "--rollup", out, LD_PRELOAD=shim, KILL_RANK=str(rank))
        assert done.returncode != 0 and not out.exists(), (rank, done)
    assert run(work, *ranked, "--rollup", out, LD_PRELOAD=shim).returncode == 0
    assert out.read_bytes() == whole
    assert run(work, *ranked, "--json", LD_PRELOAD=shim).stdout == want


def main():
    if os.environ.get("TTAPE_SANITIZE") or shutil.which("gcc") is None:
        print("SKIPPED: no gcc, or a build with sanitizers")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "d").mkdir()
        (work / "shim.c").write_text(SHIM, encoding="ascii")
        subprocess.run(["gcc", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", "-o", work / "shim.so",
                        work / "shim.c", "-ldl"], check=True)
        make_traces(work)
        assert run(work, BIN, "report", "d", "--rollup", "whole.rollup").returncode == 0
        whole = (work / "whole.rollup").read_bytes()
        check_rollup(work, work / "shim.so", whole)
        if LAUNCHER is None or not RANKED.exists():
            print("no tracetape-mpi: ranks were not tried")
        else:
            check_ranks(work, work / "shim.so", whole)
    return 0


if __name__ == "__main__":
    sys.exit(main())
