#!/usr/bin/env python3
"""examples/slurm, kubernetes and ci do what they say, without a cluster: scripts run with the
variables that a task, a pod or a rank would have, and give the bytes of one report; what is killed
is run again, to the same bytes; YAML is parsed where there is a parser."""
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

SOURCE, BIN = Path(os.environ["TTAPE_SRC"]), Path(os.environ["TTAPE_BIN"])
EXAMPLES = SOURCE / "examples"
TASKS = 3
PROGRAM = """
static volatile unsigned long sum;
void quick(void) { for (int i = 0; i < 20000; i++) sum += i; }
void slower(void) { for (int i = 0; i < ROUNDS; i++) sum += i; }
int main(void) { for (int i = 0; i < 20; i++) { quick(); slower(); } return 0; }
"""


def run(work, *words, status=0, **more):
    env = {**os.environ, "PATH": f"{BIN.parent}:{os.environ['PATH']}", **more}
    done = subprocess.run(words, cwd=work, env=env, text=True, capture_output=True, check=False)
    assert done.returncode == status, (words, done)
    return done.stdout


def make_traces(work):
    (work / "traces").mkdir()
    for number in range(7):
        text = f"process {number + 1} p{number}\n" + "".join(
            f"{100 * i + number} {number + 1} enter f{i % 5}\n{100 * i + 50} {number + 1} exit\n"
            for i in range(40))
        (work / "t.txt").write_text(text, encoding="utf-8")
        run(work, "tracetape", "convert", "t.txt", "-o", f"traces/{number}.ttape")
    run(work, "tracetape", "report", "traces", "--rollup", "whole.rollup")
    return (work / "whole.rollup").read_bytes()


def check_slurm(work, whole):
    paths = sorted((work / "traces").glob("*.ttape"))
    (work / "traces.list").write_text("".join(f"{path}\n" for path in paths), encoding="utf-8")
    for task in (2, 0, 1, 2):  # one twice
        run(work, "bash", EXAMPLES / "slurm/rollups.sbatch", "traces.list", "rollups",
            SLURM_ARRAY_TASK_ID=str(task), SLURM_ARRAY_TASK_COUNT=str(TASKS))
    run(work, "bash", EXAMPLES / "slurm/sum.sbatch", "rollups", "sum.rollup")
    assert (work / "sum.rollup").read_bytes() == whole
    ranks = work / "bin"
    ranks.mkdir()
    (ranks / "srun").write_text("#!/bin/sh\n[ \"$1\" = --mpi=pmi2 ] && shift\nexec \"$@\"\n",
                                encoding="utf-8")
    (ranks / "srun").chmod(0o755)
    for rank in range(2):
        run(work, "bash", EXAMPLES / "slurm/record.sbatch", "true", SLURM_JOB_ID="7",
            SLURM_PROCID=str(rank), PATH=f"{ranks}:{BIN.parent}:{os.environ['PATH']}")
    assert len(list((work / "traces.7").glob("run.[01].ttape"))) == 2


def check_kubernetes(work, whole):
    text = (EXAMPLES / "kubernetes/rollups.yaml").read_text(encoding="utf-8")
    script = re.search(r"- \|\n((?: {14}.*\n)+)", text)[1]
    script = re.sub(r"^ {14}", "", script, flags=re.M).replace("/traces", str(work / "volume"))
    shutil.copytree(work / "traces", work / "volume")
    for index in range(16):
        run(work, "sh", "-ec", script, JOB_COMPLETION_INDEX=str(index))
    run(work, "tracetape", "report", "volume/rollups", "--rollup", "pods.rollup")
    assert (work / "pods.rollup").read_bytes() == whole


def check_yaml():
    try:
        import yaml
    except ImportError:
        print("no python3-yaml: YAML was not parsed")
        return
    for name in ("kubernetes/rollups.yaml", "ci/github.yml"):
        assert yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8")), name


def check_ci(work):
    (work / "p.c").write_text(PROGRAM, encoding="utf-8")
    for name, rounds in (("main", 20000), ("new", 2000000)):
        run(work, "gcc", "-O1", "-finstrument-functions", f"-DROUNDS={rounds}", "-o", name, "p.c")
    compare = EXAMPLES / "ci/compare.sh"
    out = run(work, "bash", compare, "./main", "./new", status=1, RUNS="3")
    assert re.search(r"^\| `slower` \| [0-9.]+ \| [0-9.]+ \|$", out, re.M), out
    assert json.loads((work / "diff.json").read_text(encoding="utf-8"))["functions"]["rows"]
    (work / "comment.md").unlink()
    run(work, "bash", compare, "./main", "./missing", status=127, RUNS="1")
    run(work, "bash", compare, "./main", "false", status=2, RUNS="1")
    assert not (work / "comment.md").exists()


def main():
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        whole = make_traces(work)
        check_slurm(work, whole)
        check_kubernetes(work, whole)
        check_yaml()
        if shutil.which("jq"):
            check_ci(work)
    print("fleets: ok")


main()
