#!/usr/bin/env python3
"""Ways into code that no branch shows: labels by distance, tables of bytes, words and 32 bits,
constants and words of data in programs at fixed addresses, restartable sequences. Programs with
them, patched by default, print what they print otherwise, and --plan names what is left out. Run as
root and as an ordinary user."""
import json
import os
import subprocess
import sys
from pathlib import Path

import setting

LEVELS = ("-O0", "-O1", "-O2", "-O3", "-Os")
TYPES = ("int", "short", "unsigned char")
FIXED = ("-no-pie", "-fno-pie")
LABELS = [(compiler, level, "-DTYPE=" + kind, *more) for compiler in setting.COMPILERS
          for level in LEVELS for kind in TYPES for more in ((), ("-DMANY",))]
PLACES = [(compiler, level, *FIXED) for compiler in setting.COMPILERS for level in LEVELS]
SEQUENCES = [(), ("-DMADE",), ('-DSECTION=".data.other"',), ('-DSECTION=".data.other"', *FIXED)]
FEW = {("gcc", "-Os"), ("clang", "-O1"), ("clang", "-O3")}
CASES = [*[("p_into_labels.c", *case) for case in LABELS],
         *[("p_into_places.c", *case) for case in PLACES],
         ("p_into_tables.c", "gcc", "-O1"), ("p_into_tables.c", "clang", "-O2"),
         *[("p_into_rseq.c", "gcc", "-O1", *case) for case in SEQUENCES]]
# what is patched of hand-written functions, and why not: entry, exits
LEFT = {**{name: ["can", "computed", "computed"] for name in
           ("bytes", "words", "longs", "negative", "own", "others")},
        "sized": ["can", "computed"], "skips": ["computed"]}


def chosen(case):
    """All kinds in the gate, but of labels and places those where compilers differ most."""
    return setting.cut(True, (case[1], case[2]) in FEW or case[0] not in
                       ("p_into_labels.c", "p_into_places.c"))


def plan_of(program, environment):
    done = subprocess.run([setting.COMMAND, "record", "--patch", ".", "--plan", "--json", "--",
                           program], capture_output=True, check=True, env=environment)
    return {f["name"]: f["probes"] for f in json.loads(done.stdout)["functions"]}


def check_program(checks, work, environment, case):
    name, compiler, *flags = case
    program = setting.build(name, compiler, flags=flags, hooks=False, log=False)
    plain = subprocess.run([program], capture_output=True, check=False, timeout=60)
    if plain.returncode != 0:  # unsigned distances to labels that the compiler put in front
        return program
    done = setting.run([setting.COMMAND, "record", "-q", "-f", "-o", work / "into.ttape", "--",
                        program], env=environment)
    checks.equal((done.status, done.out, done.err), (plain.returncode, plain.stdout, b""),
                 " ".join(case))
    return program


def check_reasons(checks, case, plan):
    if case[0] == "p_into_rseq.c":
        reasons = {probe["reason"] for probe in plan["counts_up"]}
        checks.that("restartable" in reasons and "can" not in
                    {p["reason"] for p in plan["counts_up"][1:]}, f"sequences: {case}", reasons)
    if case[0] == "p_into_tables.c":
        found = {name: [p["reason"] for p in plan[name] if p["kind"] != "host"] for name in LEFT}
        checks.equal(found, LEFT, "reasons of tables")


def main():
    setting.need_verb("record")
    checks = setting.Checks("ways into patched code")
    with setting.work_dir() as folder:
        work = Path(folder)
        setting.plans(work / "cache")
        environment = setting.environment(XDG_CACHE_HOME=work / "cache")
        for case in filter(chosen, CASES):
            program = check_program(checks, work, environment, case)
            if case[0] in ("p_into_rseq.c", "p_into_tables.c"):
                check_reasons(checks, case, plan_of(program, environment))
    checks.verdict()


if __name__ == "__main__":
    if os.uname().machine != "x86_64":
        setting.skip("plans are of x86-64")
    sys.exit(main())
