#!/usr/bin/env python3
"""examples/slurm by a real Slurm: slurmctld and slurmd on the loopback, with a munge socket of
their own, linuxproc and no cgroups. An array of rollups, one task of which is killed and run again,
gives the bytes of one report; ranks of an MPI step give its rows; each rank of a step has its own
recording.

Exit 77: no slurmctld, slurmd, munge (Debian's packages of these names, slurm-client), not root."""
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE, BUILD = Path(os.environ["TTAPE_SRC"]), Path(os.environ["TTAPE_BUILD"])
BIN = os.environ["TTAPE_BIN"]
EXAMPLES = SOURCE / "examples/slurm"
DAEMONS = "munged", "slurmctld", "slurmd"
TOOLS = "sbatch", "srun", "sinfo", "scancel", "scontrol"
NAME = socket.gethostname().split(".")[0]
SECONDS = 60  # for what takes some


def find(tool):
    return shutil.which(tool, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def write_config(work):
    user = pwd.getpwuid(os.geteuid()).pw_name
    (work / "slurm.conf").write_text(f"""ClusterName=loopback
SlurmctldHost={NAME}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
AuthType=auth/munge
AuthInfo=socket={work}/munge.socket
CredType=cred/munge
StateSaveLocation={work}/state
SlurmdSpoolDir={work}/spool
SlurmctldPidFile={work}/slurmctld.pid
SlurmdPidFile={work}/slurmd.pid
SlurmctldLogFile={work}/slurmctld.log
SlurmdLogFile={work}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1
NodeName={NAME} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
""", encoding="ascii")
    for name in ("state", "spool"):
        (work / name).mkdir()


def start(work, env):
    key = work / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    words = ([find("munged"), "--foreground", "--force", f"--key-file={key}",
              f"--socket={work}/munge.socket", f"--pid-file={work}/munged.pid",
              f"--log-file={work}/munged.log", f"--seed-file={work}/munged.seed"],
             [find("slurmctld"), "-D", "-f", work / "slurm.conf"],
             [find("slurmd"), "-D", "-N", NAME, "-f", work / "slurm.conf"])
    daemons = []
    for number, one in enumerate(words):
        with open(work / f"daemon.{number}", "wb") as log:
            daemons.append(subprocess.Popen([str(w) for w in one], env=env, stdout=log,
                                            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL))
        if number == 0:
            wait_for((work / "munge.socket").exists, "munged's socket")
    return daemons


def wait_for(is_there, what):
    end = time.monotonic() + SECONDS
    while not is_there():
        assert time.monotonic() < end, f"no {what} in {SECONDS} s"
        time.sleep(0.1)


def end_all(daemons):
    for daemon in reversed(daemons):
        daemon.send_signal(signal.SIGTERM)
        try:
            daemon.wait(20)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()


def run(*words, env=None, cwd=None, status=0):
    done = subprocess.run([str(w) for w in words], env=env, cwd=cwd, text=True, check=False,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=4 * SECONDS)
    assert done.returncode == status, (words, done)
    return done.stdout


def make_traces(work):
    (work / "traces").mkdir()
    paths = []
    for number in range(7):
        text = f"process {number + 7} p{number}\n" + "".join(
            f"{100 * i} {number + 7} enter f{i % 5}\n{100 * i + 10 + number} {number + 7} exit\n"
            for i in range(2000))
        paths.append(work / f"traces/{number}.ttape")
        subprocess.run([BIN, "convert", "-", "-o", paths[-1]], input=text, text=True, check=True,
                       capture_output=True)
    (work / "traces.list").write_text("".join(f"{path}\n" for path in paths), encoding="utf-8")
    run(BIN, "report", *paths, "--rollup", work / "one.rollup")
    return paths


def batch(work, env, *words):
    return run("sbatch", "--wait", f"--output={work}/job.%A.%a.out", "--parsable", *words, env=env,
               cwd=work)


def check_array(work, env):
    """The tasks' rollups, and their sum; a task that was killed is run again."""
    batch(work, env, "--array=0-3", EXAMPLES / "rollups.sbatch", "traces.list", "rollups")
    first = {path.name: path.read_bytes() for path in (work / "rollups").glob("*.rollup")}
    assert len(first) == 4, first.keys()
    batch(work, env, EXAMPLES / "sum.sbatch", "rollups", "sum.rollup")
    assert (work / "sum.rollup").read_bytes() == (work / "one.rollup").read_bytes()
    slow = work / "slow.sbatch"
    slow.write_text("#!/bin/bash\nif [ ! -e again ]; then touch begun; sleep 600; fi\n"
                    f"SLURM_ARRAY_TASK_COUNT=4 exec bash {EXAMPLES}/rollups.sbatch traces.list "
                    "rollups\n", encoding="ascii")
    (work / "rollups/task.2.rollup").unlink()
    job = run("sbatch", "--array=2-2", f"--output={work}/slow.out", "--parsable", slow, env=env,
              cwd=work).strip()
    wait_for((work / "begun").exists, "task")
    (work / "again").touch()
    assert not (work / "rollups/task.2.rollup").exists()
    run("scancel", "--signal=KILL", f"{job}_2", env=env)
    batch(work, env, "--array=2-2", slow)
    assert (work / "rollups/task.2.rollup").read_bytes() == first["task.2.rollup"]


def check_ranks(work, env, paths):
    if not (BUILD / "tracetape-mpi").exists():
        print("no tracetape-mpi: ranks were not tried")
        return
    want = json.loads(run(BIN, "report", *paths, "--across", "builds", "--json"))
    batch(work, env, "--ntasks=4", "--output=ranks.json", EXAMPLES / "report.sbatch",
          work / "traces", "--json")
    found = json.loads((work / "ranks.json").read_text(encoding="utf-8"))
    assert found["rows"] == want["rows"], "ranks of a step"


def check_record(work, env):
    batch(work, env, "--ntasks=4", EXAMPLES / "record.sbatch", "true")
    names = sorted(path.name for path in work.glob("traces.*/*.ttape"))
    assert names == [f"run.{rank}.ttape" for rank in range(4)], names


def main():
    missing = [tool for tool in (*DAEMONS, *TOOLS) if find(tool) is None]
    if missing or os.geteuid() != 0:
        print(f"SKIPPED: {', '.join(missing) + ' not installed' if missing else 'needs root'}")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        work.chmod(0o755)
        write_config(work)
        env = os.environ | {"SLURM_CONF": str(work / "slurm.conf"),
                            "PATH": f"{BUILD}:{os.environ['PATH']}"}
        daemons = start(work, env)
        try:
            wait_for(lambda: "idle" in run("sinfo", "-h", "-o", "%t", env=env), "node")
            paths = make_traces(work)
            check_array(work, env)
            check_ranks(work, env, paths)
            check_record(work, env)
        except Exception:
            for log in sorted(work.glob("*.log")):
                print(f"== {log.name}\n{log.read_text(errors='replace')[-3000:]}")
            raise
        finally:
            end_all(daemons)
    print("slurm: an array, ranks and recordings")
    return 0


if __name__ == "__main__":
    sys.exit(main())
