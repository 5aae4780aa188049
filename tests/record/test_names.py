#!/usr/bin/env python3
"""Each thread has the name in the trace that it had at its end, whoever gave it and when; and the
changes are facts (F-FCT-07). Run as root and as an ordinary user."""
import re
import subprocess
import sys
from pathlib import Path

import setting
import traces

RUNS = setting.cut(50, 3)
CHANGES = 6 * 4 + 1  # two of themselves, one of these twice, one by main; main's own


def names_of(trace):
    return {stream["tid"]: stream["name"] for stream in traces.info(trace)["stream_list"]}


def check(checks, work, program, label, options):
    trace = work / "names.ttape"
    done = setting.tracetape("record", "-q", "-f", "-o", trace, *options, "--", program)
    checks.equal((done.status, done.err), (0, b""), f"{label}: status, messages")
    told = {int(tid): name for tid, name in re.findall(r"(?m)^(\d+) (.*)$", done.out.decode())}
    checks.equal(len(told), 25, f"{label}: threads")
    dump = subprocess.run([setting.COMMAND, "dump", trace], capture_output=True, text=True,
                          check=True, timeout=60).stdout
    facts = re.findall(r'tracetape:thread_name\((\d+), "([^"]*)"\)', dump)
    checks.equal(len(facts), CHANGES, f"{label}: facts")
    last = {int(tid): name for tid, name in facts}
    checks.that(all(told[tid] == name for tid, name in last.items()), f"{label}: names in facts",
                last)
    checks.equal(traces.verify(trace), None, f"{label}: verify")
    return told, names_of(trace)


def check_late(checks, work):
    """Names that others gave, in processes that end at once; one that the kernel does not know; and
    which thread ended its process."""
    trace = work / "late.ttape"
    program = setting.build(
        "p_names_late.c", flags=("-O1", f"-I{setting.SOURCE}/libtrace/include"), log=False,
        libraries=(setting.BUILD / "libtracetape-rt.so", f"-Wl,-rpath,{setting.BUILD}"))
    wanted = ["named0", "named1", "named2"]
    for how in ("exit", "abort", "kill", "thread") * RUNS:
        setting.tracetape("record", "-q", "-f", "-o", trace, "--", program, how)
        names = sorted(names_of(trace).values())
        checks.equal(names[:3], wanted, f"{how}: names that others gave")
        told = setting.tracetape("last", trace).out.decode()
        if how == "thread":
            checks.that(re.match(r"thread \d+ of process \d+, named1: ended its process, as it "
                                 r"called exit", told), "who called exit comes first", told)
            checks.that("the process exited with code 3" in told, "and how it ended", told)
    setting.tracetape("record", "-q", "-f", "-o", trace, "--", program, "told")
    checks.that("alpha" in names_of(trace).values(), "a name of the program's own stays",
                names_of(trace))


def main():
    setting.need_verb("record", "info")
    checks = setting.Checks("names")
    with setting.work_dir() as folder:
        work = Path(folder)
        for compiler in setting.COMPILERS:
            program = setting.build("p_names.c", compiler, flags=("-O1",), log=False)
            for _ in range(RUNS):
                told, found = check(checks, work, program, compiler, [])
                checks.equal(found, told, f"{compiler}: names at the end")
            check(checks, work, program, f"{compiler}, live", ["--live"])
        check_late(checks, work)
        setting.tracetape("record", "-q", "-f", "-o", work / "run.ttape", "--rotate", "2K", "--",
                          program)
        merged = setting.tracetape("merge", *sorted(work.glob("run.0*.ttape")), "-o",
                                   work / "merged.ttape")
        checks.equal(merged.status, 0, f"pieces of a rotation can be joined; {merged.err}")
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
