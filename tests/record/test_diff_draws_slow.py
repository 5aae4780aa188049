#!/usr/bin/env python3
"""`diff` of ten runs against ten, drawn from recordings of one program, each of 25 ms: of the same
program it calls no change in at least 95 of 100 draws; with one function made 5 % slower it finds
that one in at least 90. `--fail-over` says the same by its status."""
import json
import random
import sys
from pathlib import Path

import setting

RUNS, SIDE, DRAWS = 40, 10, 100
QUIET_LEAST, FOUND_LEAST = 95, 90
SLOWER = "work_7"
SOURCE = """
#include <stdint.h>
#include <stdlib.h>
static volatile uint64_t sink;
static void spin(unsigned rounds)
{
    uint64_t x = rounds;
    for (unsigned i = 0; i < rounds; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    sink += x;
}
%s
int main(int argc, char **argv)
{
    unsigned slower = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    for (int i = 0; i < 25; i++) {
        %s
    }
    return 0;
}
"""


def build(work):
    functions = "".join(f"__attribute__((noinline)) void work_{n}(unsigned more)\n"
                        f"{{ spin({20_000 + 3_000 * n} / 100 * (100 + more)); }}\n"
                        for n in range(16))
    calls = "\n        ".join(f"work_{n}({'slower' if f'work_{n}' == SLOWER else 0});"
                              for n in range(16))
    (work / "p.c").write_text(SOURCE % (functions, calls), encoding="utf-8")
    done = setting.run(["gcc", "-O1", "-finstrument-functions",
                        "-finstrument-functions-exclude-function-list=spin", "-o", work / "p",
                        work / "p.c"], timeout=60)
    assert done.status == 0, done
    return work / "p"


def record(work, program, count):
    """Runs of both in turn: what the machine does meanwhile, it does to both."""
    sides = ([], [])
    for number in range(count):
        for side, words in enumerate(([program], [program, "5"])):
            trace = work / f"{side}.{number}.ttape"
            done = setting.tracetape("record", "-q", "-o", trace, "--", *words)
            assert done.status == 0, done
            sides[side].append(trace)
    return sides


def found(a, b, *options):
    done = setting.tracetape("diff", "--json", "--by", "function", *options, *a, "--against", *b)
    assert done.status in (0, 1), done
    rows = json.loads(done.out)["functions"]["rows"]
    return [row["name"] for row in rows if row["name"].startswith(("work_", "main"))], done.status


def main():
    setting.need_verb("record", "diff")
    checks = setting.Checks("draws of runs")
    rng = random.Random(46)
    with setting.work_dir() as folder:
        work = Path(folder)
        same, slower = record(work, build(work), RUNS)
        quiet = hits = right = 0
        for _ in range(DRAWS):
            drawn = rng.sample(same, 2 * SIDE)
            names, status = found(drawn[:SIDE], drawn[SIDE:], "--fail-over", "1%")
            quiet += not names
            right += status == (1 if names else 0)
            names, status = found(rng.sample(same, SIDE), rng.sample(slower, SIDE), "--fail-over",
                                  "1%")
            hits += SLOWER in names
            right += status == (1 if SLOWER in names else 0)
        print(f"no change in {quiet} of {DRAWS} draws, +5 % found in {hits} of {DRAWS}")
        checks.that(quiet >= QUIET_LEAST, f"no change in {quiet} of {DRAWS}")
        checks.that(hits >= FOUND_LEAST, f"+5 % found in {hits} of {DRAWS}")
        checks.that(right >= 2 * DRAWS - 10, f"status as the table in {right} of {2 * DRAWS}")
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
