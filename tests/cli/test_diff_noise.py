#!/usr/bin/env python3
"""Two runs of one program show few functions, whatever the machine did; a function that became
slower, was called more often, is new or gone is among the first."""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from graph_model import run

COMMAND = os.environ["TTAPE_BIN"]
WORK = Path(tempfile.mkdtemp())
FUNCTIONS = 60
FIELDS = ("changed", "new", "gone")


def make(name, seed, pace=1.0, slower=None, more=None, less=None, extra=None, tiny=0):
    """A run in which each function takes its time give or take some percent, small ones more."""
    rng = random.Random(seed)
    now, lines = 1000, ["0 1 enter main"]
    for number in range(FUNCTIONS):
        if number == less:
            continue
        own = f"f{number}"
        usual = 200_000 // (1 + number) + 50
        factor = pace * max(rng.gauss(1, 0.04 if number < 30 else 0.3), 0.1)
        factor *= slower.get(own, 1) if slower else 1
        for _ in range(20 + (own == more)):
            lines.append(f"{now} 1 enter {own}")
            now += max(1, round(usual * factor))
            lines.append(f"{now} 1 exit")
    if extra:
        lines += [f"{now} 1 enter {extra}", f"{now + 9} 1 exit"]
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
            slow = make("slow", seed + 1, pace, slower={name: factor})
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
    few, many = make("few", seed, tiny=200), make("many", seed + 1, slower={"f3": 1.7}, tiny=200)
    assert "f3" in names(functions(few, many))[:3]
    text = run("diff", one, make("two", seed + 1), "--by", "function", "--no-pager")
    found = functions(one, make("two", seed + 1))
    assert f"\n{found['within_noise']} more are within the noise: self time changed by -" in text
    assert found["changed"] == len(found["rows"])


def several(first, second, *options):
    return functions(*first, "--against", *second, *options)


def check_several(seed):
    """The runs of a side say what is noise, also of a function that varies by itself, and of a
    program most of whose functions changed; one run that was disturbed does not count."""
    ones = [make(f"a{i}", seed + i) for i in range(3)]
    twos = [make(f"b{i}", seed + 10 + i, pace) for i, pace in enumerate((1, 1.3, 1))]
    slow = [make(f"c{i}", seed + 20 + i, slower={"f3": 1.6}) for i in range(3)]
    assert len(several(ones, twos)["rows"]) < 5
    found = several(ones, slow)
    assert names(found)[0] == "f3" and len(found["rows"]) < 5, names(found)
    row = found["rows"][0]
    for side in "ab":
        runs = [run["self_ns"] for run in row[side]["runs"]]
        assert len(runs) == 3 and row[side]["self_ns"] == sorted(runs)[1], row
    disturbed = [make("d", seed + 30, slower={"f2": 9}), *ones[1:]]
    assert "f2" not in names(several(disturbed, twos))
    assert names(several(disturbed, slow))[0] == "f3"
    # machines of two paces: no function of a side is faster than the others
    paced = [make(f"p{i}", seed + 70 + i, (1, 2)[i % 2]) for i in range(4)]
    noise = several(paced, paced[::-1])["noise"]
    assert noise["from"] > -0.25 and noise["to"] < 0.25, noise
    # a function that varies by itself, in time and in calls
    wild = [[make(f"w{factor}", seed + 80 + i, slower={"f4": factor}, more=more and "f58")
             for i, (factor, more) in enumerate(runs)]
            for runs in (((1, 0), (4, 1), (2, 0)), ((3, 1), (6, 1), (2.5, 0)))]
    assert not {"f4", "f58"} & set(names(several(*wild)))
    assert {"f4", "f58"} <= set(names(functions(wild[0][0], wild[1][0])))
    assert names(several(ones[:1], slow))[0] == "f3" == names(several(ones, slow[:1]))[0]
    # what two of five functions changed by is no noise, where the runs of a side tell
    halves = [make(f"h{i}", seed + 40 + i, slower={f"f{n}": 2.5 for n in range(60) if n % 5 < 2})
              for i in range(3)]
    found, pair = several(ones, halves), functions(ones[0], halves[0])
    widths = [noise["to"] - noise["from"] for noise in (found["noise"], pair["noise"])]
    assert {"f0", "f1", "f5", "f6"} <= set(names(found)) and widths[0] < widths[1] / 2, widths
    # what one run of three has, or calls once more, is chance; what all have is new
    odd = [*twos[:2], make("odd", seed + 50, extra="odd", more="f59")]
    assert not {"odd", "f59"} & set(names(several(ones, odd)))
    assert not {"odd", "f59"} & set(names(several(odd, ones)))
    new = [make(f"n{i}", seed + 60 + i, extra="odd", more="f59") for i in range(3)]
    states = {row["name"]: row["state"] for row in several(ones, new)["rows"]}
    assert states["odd"] == "new" and states["f59"] == "changed"
    assert {row["name"]: row["state"] for row in several(new, ones)["rows"]}["odd"] == "gone"


def make_disturbed(name, seed, factors, fast=1.0):
    """A run of ten functions, each call of which takes the same, and longer where the machine was
    busy. f9 has a way through it that hardly ever counts, and takes `fast`."""
    rng = random.Random(seed)
    now, lines = 1000, ["0 1 enter main"]
    for turn in range(30):
        for number in range(10):
            takes = 10_000 * (1 + number / 10) * factors.get(f"f{number}", 1)
            takes = 2000 * fast if number == 9 and turn % 10 == 0 else takes
            lines.append(f"{now} 1 enter f{number}")
            now += round(takes * (1 + (rng.expovariate(3) if rng.random() < 0.3 else 0)))
            lines.append(f"{now} 1 exit")
    source, path = WORK / f"{name}.txt", WORK / f"{name}.ttape"
    source.write_text("\n".join([*lines, f"{now + 10} 1 exit"]) + "\n", encoding="utf-8")
    run("convert", source, "-o", path, "--force")
    return path


def check_shortest():
    """Of ten disturbed runs a side the shortest calls tell what 5 % are; times alone do not. A way
    that hardly ever counts does not make a function another one."""
    def ten(side, factors, **options):
        return [make_disturbed(f"{side}{i}", f"{side}{i}", factors, **options) for i in range(10)]
    ones, twos = ten("u", {}), ten("v", {})
    assert names(several(ones, twos)) == [], names(several(ones, twos))
    assert names(several(ones, ten("s", {"f3": 1.05}))) == ["f3"]
    assert "f3" in names(several(ones, ten("q", {"f3": 0.95})))
    assert names(several(ones, ten("w", {}, fast=1.2))) == []


def check_words(one, two):
    def fails(*words):
        done = subprocess.run([COMMAND, "diff", *words], capture_output=True, text=True)
        assert done.returncode == 2, done
        return done.stderr
    assert "'--against' stands before those of B" in fails(one, two, two)
    for words in ((one, two, "--against"), ("--against", one, two)):
        assert "needs files of A before it and of B behind it" in fails(*words)
    assert "--first compares two files" in fails(one, two, "--against", two, "--first")
    assert run("diff", one, "--against", two) == run("diff", one, two)
    lines = run("diff", one, two, "--against", one, two).splitlines()
    assert [line.split()[0] for line in lines[1:5]] == ["A1", "A2", "B1", "B2"], lines
    found = json.loads(run("diff", "--json", one, "--against", one, two))
    assert [(r["side"], r["trace"]) for r in found["runs"]] == [
        ("a", str(one)), ("b", str(one)), ("b", str(two))], found["runs"]
    assert len(found["paths"]["rows"]) == 0 < found["paths"]["within_noise"]


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
        check_several(10)
        check_words(make("one", 1), make("two", 2))
        check_few()
        check_shortest()
    finally:
        shutil.rmtree(WORK)
    print("ok: three programs, at three paces")
    return 0


sys.exit(main())
