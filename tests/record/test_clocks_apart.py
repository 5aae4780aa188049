#!/usr/bin/env python3
"""Two recordings, one in a time namespace 100,000 s away, stand on one axis within the error that
is said, and by messages within a smaller one; a recording says the kernel's error against UTC."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import setting
import traces

AWAY_NS = 100_000 * 10**9
TIMES = "40"


def texts(trace):
    return {item["key"]: item["value"] for item in traces.info(trace)["metadata"]}


def test_utc(checks, work, program):
    shim, trace = Path(work, "shim_adjtimex.so"), Path(work, "utc.ttape")
    setting.call(["gcc", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", "-o", shim,
                  setting.PROGRAMS / "shim_adjtimex.c"])
    done = setting.run(setting.record_words(trace, [program, "5000"]),
                       env=setting.environment(LD_PRELOAD=shim))
    checks.equal(done.status, 0, f"utc: status; {done.err!r}")
    about = texts(trace)
    checks.equal(about.get("utc_error_ns"), 7_000_000, "utc: at the start")
    checks.equal(about.get("utc_error_end_ns"), 3_000_000, "utc: at the end")
    checks.equal(about.get("utc_error_most_ns"), 7_000_000, "utc: at most")
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    checks.equal(about.get("boot_id"), boot, "utc: boot id")
    checks.that(1000 <= about.get("realtime_error_ns", 0) < 1_000_000, "utc: of the reading", about)
    own = os.stat("/proc/self/ns/time").st_ino
    checks.equal(about.get("time_namespace"), None if own == 4026531834 else own, "utc: namespace")


def away(words):
    return ["unshare", "--time", "--monotonic", str(AWAY_NS // 10**9), "--boottime",
            str(AWAY_NS // 10**9), *words]


def record_both(work, program, name):
    """Their traces: the second one is away."""
    pipes = [Path(work, f"{name}.{i}") for i in range(2)]
    for pipe in pipes:
        os.mkfifo(pipe)
    files = [Path(work, f"{name}{i}.ttape") for i in range(2)]
    words = [setting.record_words(files[0], [program, pipes[0], pipes[1], TIMES, "first"]),
             away(setting.record_words(files[1], [program, pipes[0], pipes[1], TIMES, "second"]))]
    words[1][-4], words[1][-3] = pipes[1], pipes[0]
    both = [subprocess.Popen([str(w) for w in one], stdin=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, env=setting.environment()) for one in words]
    ends = [(one.communicate(timeout=120)[1], one.returncode) for one in both]
    return files, ends


def test_away(checks, work):
    if os.geteuid() != 0 or shutil.which("unshare") is None or \
            subprocess.run(away(["true"]), capture_output=True, check=False).returncode:
        print("SKIPPED: a time namespace needs root, unshare(1) and a kernel that has them")
        return
    program = setting.build("p_peer.c", flags=("-O2", f"-I{setting.SOURCE}/libtrace/include"),
                            log=False, hooks=False,
                            libraries=(setting.BUILD / "libtracetape-rt.so",
                                       f"-Wl,-rpath,{setting.BUILD}"))
    files, ends = record_both(work, program, "peer")
    if not checks.equal([status for _, status in ends], [0, 0], f"away: status; {ends}"):
        return
    whole = Path(work, "whole.ttape")
    done = setting.tracetape("merge", "-o", whole, *files)
    said = done.err.decode()
    found = re.search(r"is (\d+)\.(\d{9}) s ahead of .*, within (\d+) (ns|us|ms)", said)
    if not checks.that(found is not None, "away: it is said", said):
        return
    by_ns = int(found[1]) * 10**9 + int(found[2])
    error_ns = int(found[3]) * {"ns": 1, "us": 1000, "ms": 10**6}[found[4]]
    print(f"away: {by_ns - AWAY_NS} ns beside the truth, within {error_ns} ns")
    checks.that(abs(by_ns - AWAY_NS) <= error_ns, f"away: {by_ns - AWAY_NS} ns off", said)
    checks.that(error_ns <= 10_000_000, f"away: the error is {error_ns} ns", said)
    dump = setting.tracetape("dump", "--format", "csv", whole).out.decode().splitlines()[1:]
    at = {}
    for line in dump:
        _, _, time, kind, *_ = line.split(",")
        at.setdefault(kind, []).append(int(time))
    checks.that(max(map(max, at.values())) - min(map(min, at.values())) < 60 * 10**9,
                "away: all stand in one minute")
    checks.equal([sum(line.endswith(f",{what}") for line in dump) for what in ("sent", "received")],
                 [2 * int(TIMES)] * 2, "away: messages")
    graph = setting.tracetape("graph", "--json", *files)
    checks.equal(graph.status, 0, f"away: graph; {graph.err!r}")


def main():
    setting.need_verb("record")
    checks = setting.Checks("clocks apart")
    program = setting.build("p_clock.c", log=False)
    with setting.work_dir() as work:
        test_utc(checks, work, program)
        test_away(checks, work)
    checks.verdict()


main()
