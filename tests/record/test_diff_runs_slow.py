#!/usr/bin/env python3
"""Two runs of one program beside busy processes: `diff` shows fewer than ten functions; what was
made slower is among the first three: in most of five tries, as a machine may be busy with more than
what is asked of it here. In its long form of SQLite with a script, and with one query made slower,
too."""
import json
import sys
from pathlib import Path

import setting
from test_switches import busy

sys.path.insert(0, str(setting.SOURCE / "tests" / "bench"))
import measure  # noqa: E402
import record_programs  # noqa: E402

SLOW, TRIES = 30, 5
WHAT = ("rows of two runs", "of two others", "of two runs a side",
        "the slower one is among the first", "of two runs a side, too")
QUERY = "SELECT sum(length(name)), total(age) FROM person;\n"
SLOWER = "SELECT count(*) FROM person a, city b WHERE a.age + b.id = 100;\n"


class Bench:
    """What building the programs of the bench asks for."""
    quick, source = True, setting.SOURCE

    def __init__(self, work):
        self.work = work

    def call(self, words, cwd=None):
        done = setting.run([str(word) for word in words], timeout=1200, cwd=cwd)
        if done.status:
            raise measure.BenchError(f"{words[0]}: status {done.status}")
        return done.out


def record(checks, trace, words):
    done = setting.tracetape("record", "-q", "-f", "-o", trace, "--", *words)
    checks.equal((done.status, done.err), (0, b""), f"recording {trace.name}")
    return trace


def diff(checks, *words):
    done = setting.tracetape("diff", "--json", "--by", "function", *words)
    checks.equal(done.status, 0, f"diff {words}: {done.err}")
    return json.loads(done.out)["functions"]


def names(found):
    return [row["name"] for row in found["rows"]]


def check(checks, work, same, slower, wanted):
    tries = [try_once(checks, work, same, slower, wanted) for _ in range(TRIES)]
    for i, what in enumerate(WHAT):
        right = sum(found[i] for found in tries)
        checks.that(right > TRIES // 2, f"{same[0]}: {what}: {right} of {TRIES}")


def try_once(checks, work, same, slower, wanted):
    """Two runs a side, and one."""
    few, first = [], []
    with busy(2):
        a, b, c, d = [record(checks, work / f"{i}.ttape", same) for i in range(4)]
        slow = [record(checks, work / f"slow{i}.ttape", slower) for i in range(2)]
    for words in ((a, b), (b, c), (a, b, "--against", c, d)):
        found = diff(checks, *words)
        few.append(len(found["rows"]) < 10)
    for words in ((a, slow[0]), (a, b, "--against", *slow)):
        found = diff(checks, *words)
        first.append(wanted in names(found)[:3])
    return [*few, *first]


def check_sqlite(checks, work):
    bench = Bench(work)
    programs = [p for p in record_programs.available(bench) if p.name == "sqlite"]
    if not programs:
        return
    script = Path(programs[0].arguments[-1].split()[-1])
    text = script.read_text(encoding="utf-8")
    assert QUERY in text
    slow = work / "slow.sql"
    slow.write_text(text.replace(QUERY, QUERY + SLOWER), encoding="utf-8")
    words = [programs[0].hooked, "-batch", ":memory:"]
    check(checks, work, [*words, f".read {script}"], [*words, f".read {slow}"], "sqlite3VdbeExec")


def main():
    setting.need_verb("record", "diff")
    checks = setting.Checks("diff of runs")
    with setting.work_dir() as folder:
        work = Path(folder)
        program = setting.build("p_many_works.c", "gcc", flags=("-O1",), log=False)
        trace = record(checks, work / "0.ttape", [program])
        report = json.loads(setting.tracetape("report", "--json", trace).out)
        if report["idle_source"] != "switches":
            setting.skip("the kernel does not tell when threads run")
        check(checks, work, [program], [program, str(SLOW)], f"work_{SLOW}")
        if setting.cut(True, False):
            check_sqlite(checks, work)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
