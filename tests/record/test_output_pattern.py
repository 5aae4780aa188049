#!/usr/bin/env python3
"""Names with a pattern: host, process, rank, time, percent sign; what is not known, and a rank
that nobody gave, end with 2 before the command runs. Under mpiexec, where there is one, each rank
has a file."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

RANKS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID")
BARE = {name: value for name, value in os.environ.items() if name not in RANKS}


def record(work, pattern, **more):
    return subprocess.run([os.environ["TTAPE_BIN"], "record", "-q", "-o", pattern, "--", "sh", "-c",
                           "echo x >ran"], cwd=work, env={**BARE, **more}, text=True,
                          capture_output=True, check=False)


def check_name(pattern, regex, **more):
    with tempfile.TemporaryDirectory() as work:
        done = record(work, pattern, **more)
        assert done.returncode == 0, (pattern, done)
        names = [path.name for path in Path(work).iterdir() if path.name != "ran"]
        assert len(names) == 1 and re.fullmatch(regex, names[0]), (pattern, names)


def check_odd_host():
    """A host may be called anything; a file may not."""
    code = (r"import os, socket, sys; socket.sethostname('a/b\x01c\x7f'); "
            "os.execv(sys.argv[1], sys.argv[1:])")
    apart = ["unshare", "--uts"]
    if os.geteuid() != 0 or shutil.which("unshare") is None or \
            subprocess.run([*apart, "true"], capture_output=True, check=False).returncode:
        print("no other host's name: it needs root and unshare(1)")
        return
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([*apart, sys.executable, "-c", code, os.environ["TTAPE_BIN"], "record", "-q",
                        "-o", "x.%h.ttape", "--", "true"], cwd=work, check=True)
        names = [path.name for path in Path(work).iterdir()]
        assert names == ["x.a_b_c_.ttape"], names


def check_refused(pattern, said, **more):
    with tempfile.TemporaryDirectory() as work:
        done = record(work, pattern, **more)
        assert done.returncode == 2 and said in done.stderr, (pattern, done)
        assert not any(Path(work).iterdir()), pattern


def check_launcher(name, *options):
    launcher = shutil.which(name)
    if launcher is None:
        print(f"no {name}: ranks of a real launcher were not tried")
        return
    with tempfile.TemporaryDirectory() as work:
        done = subprocess.run([launcher, *options, "-n", "4", os.environ["TTAPE_BIN"], "record",
                               "-q", "-o", "run.%r.ttape", "--", "true"], cwd=work,
                              env={**BARE, "HOME": work}, check=False, capture_output=True)
        names = sorted(path.name for path in Path(work).glob("*.ttape"))
        assert names == [f"run.{r}.ttape" for r in range(4)], (name, names, done)
        assert done.returncode == 0, (name, done)


def main():
    host = re.escape(os.uname().nodename)
    check_name("a.%h.ttape", f"a\\.{host}\\.ttape")
    check_odd_host()
    check_name("%p-%t.ttape", r"\d+-\d{8}T\d{6}Z\.ttape")
    check_name("50%%.ttape", r"50%\.ttape")
    for number, name in enumerate(RANKS):
        check_name("%r%r.ttape", f"{number}{number}\\.ttape", **{name: str(number)})
    check_refused("a%x.ttape", "%x in --output is not known")
    check_refused("a%", "% in --output is not known")
    check_refused("%r.ttape", "no launcher gave this process a rank")
    check_refused("%r.ttape", "no launcher gave this process a rank", PMI_RANK="../../etc")
    check_launcher("mpiexec.mpich")
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    check_launcher("mpiexec.openmpi", "--oversubscribe", *root)
    print("output patterns: ok")


main()
