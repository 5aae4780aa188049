#!/usr/bin/env python3
"""Two runs of one program show few functions, whatever the machine did; a function that became
slower, was called more often, is new or gone is among the first."""
import json
import random
import shutil
import sys
import tempfile
from pathlib import Path

from graph_model import run

WORK = Path(tempfile.mkdtemp())
FUNCTIONS = 60
FIELDS = ("changed", "new", "gone")


def make(name, seed, pace=1.0, slower=None, more=None, less=None,
         tiny=0):
    """A run in which each function takes its time give or take some percent, small ones more."""
    rng = random.Random(seed)
    now, lines = 1000, ["0 1 enter main"]
    for number in range(FUNCTIONS):
        if number == less:
            continue
        own = f"f{number}"
        usual = 200_000 // (1 + number) + 50
        factor = pace * max(rng.gauss(1, 0.04 if number < 30 else 0.3), 0.1)
        factor *= slower[1] if slower and own == slower[0] else 1
        for _ in range(20 + (own == more)):
            lines.append(f"{now} 1 enter {own}")
            now += max(1, round(usual * factor))
            lines.append(f"{now} 1 exit")
    for number in range(tiny):
        lines.append(f"{now} 1 enter t{number}")
        now += rng.choice((20, 200, 2000))
        lines.append(f"{now} 1 exit")
    lines.append(f"{now + 10} 1 exit")
    source, path = WORK / f"{name}.txt", WORK / f"{name}.ttape"
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    run("convert", source, "-o", path, "--force")
    return path


def functions(one, two, *options):
    return json.loads(run("diff", "--json", one, two, *options))["functions"]


def names(found):
    return [row["name"] for row in found["rows"]]


def check(seed):
    one = make("one", seed)
    for pace in (1.0, 1.2, 0.7):
        found = functions(one, make("two", seed + 1, pace))
        assert len(found["rows"]) < 10 and found["within_noise"] > FUNCTIONS - 10, found
        assert found["noise"]["from"] < pace - 1 < found["noise"]["to"], found["noise"]
        for name, factor in (("f3", 1.7), ("f7", 2.2), ("f5", 0.5)):
            slow = make("slow", seed + 1, pace, slower=(name, factor))
            assert name in names(functions(one, slow))[:3], (seed, pace, name)
    every = functions(one, make("two", seed + 1), "--all")
    assert every["within_noise"] == 0 and "noise" not in every
    assert len(every["rows"]) == sum(every[f] for f in FIELDS) == FUNCTIONS + 1 - every["same"]
    own = functions(one, make("two", seed + 1), "--min-change", "1000%")
    assert own["within_noise"] == 0 and "noise" not in own
    # facts that do not depend on the clock, of functions that take next to no time
    assert "f59" in names(functions(one, make("two", seed + 1, more="f59")))
    gone = make("two", seed + 1, less=58)
    assert "f58" in names(functions(one, gone)) and "f58" in names(functions(gone, one))
    # many that take next to no time say nothing about the others
    few, many = make("few", seed, tiny=200), make("many", seed + 1, slower=("f3", 1.7), tiny=200)
    assert "f3" in names(functions(few, many))[:3]
    text = run("diff", one, make("two", seed + 1), "--by", "function", "--no-pager")
    found = functions(one, make("two", seed + 1))
    assert f"\n{found['within_noise']} more are within the noise: self time changed by -" in text
    assert found["changed"] == len(found["rows"])


def check_few():
    """Of fewer than five functions, what changed by more than 5 % is shown."""
    text = "0 1 enter main\n0 1 enter f\n{} 1 exit\n{} 1 exit\n"
    paths = []
    for name, first, last in (("a", 1000, 2000), ("b", 1040, 2040), ("c", 1060, 2060)):
        (WORK / f"{name}.txt").write_text(text.format(first, last), encoding="utf-8")
        run("convert", WORK / f"{name}.txt", "-o", WORK / f"{name}.ttape")
        paths.append(WORK / f"{name}.ttape")
    assert names(functions(paths[0], paths[1])) == []
    assert names(functions(paths[0], paths[2])) == ["f"]
    assert sorted(names(functions(paths[0], paths[2], "--sort", "total"))) == ["f"]


def main():
    try:
        for seed in (10, 20, 30):
            check(seed)
        check_few()
    finally:
        shutil.rmtree(WORK)
    print("ok: three programs, at three paces")
    return 0


sys.exit(main())
