#!/usr/bin/env python3
"""One program under two names, two versions of a library, a source file that was renamed: diff
compares their functions, and says so; what is called the same by chance stays apart."""
import json
import sys
import tempfile
from pathlib import Path

from graph_model import run

WORK = Path(tempfile.mkdtemp())


def make(name, modules, calls):
    """modules: (path, file, functions); calls: names, each called once by main."""
    lines, address = ["process 1 p", "thread 1 1"], 0x10000
    for path, file, functions in modules:
        lines.append(f"module {address:#x} {address + 0x1000:#x} {path}")
        for i, function in enumerate(functions):
            where = f" {file}:{i + 1}" if file else ""
            lines.append(f"symbol {address + 16 * i:#x} {function}{where}")
        address += 0x10000
    now = 0
    for call in calls:
        lines += [f"{now} 1 enter {call}", f"{now + 5} 1 exit"]
        now += 10
    source, path = WORK / f"{name}.txt", WORK / f"{name}.ttape"
    source.write_text("\n".join(lines) + "\n")
    run("convert", source, "-o", path, "--force")
    return path


def compare(a, b):
    got = json.loads(run("diff", "--json", "--all", "--by", "function", a, b))
    states = {}
    for row in got["functions"]["rows"]:
        calls = (row[side]["calls"] if row[side] else 0 for side in "ab")
        states[row["name"]] = (row["state"], *calls)
    joined = {(one["a"], one["b"]): one["functions"] for one in got.get("compared_as_one", [])}
    return states, joined, run("diff", a, b)


FOUR = ["f", "g", "h", "k"]


def main():
    a = make("a", [("/bin/app1", "app.c", FOUR)], ["f", "g", "h", "k"])
    b = make("b", [("/bin/app2", "app.c", [*FOUR, "more"])], ["f", "f", "g", "h", "k", "more"])
    states, joined, text = compare(a, b)
    assert joined == {("app1", "app2"): 4}, joined
    assert states["f"] == ("changed", 1, 2) and states["more"] == ("new", 0, 1), states
    assert "'app1' of A and 'app2' of B, 4 functions" in text, text

    # a library of two versions, beside a program that is the same
    a = make("a", [("/bin/app", "app.c", ["main", "f"]), ("/lib/libx.so.1", "", FOUR[1:])],
             ["main", "g", "h"])
    b = make("b", [("/bin/app", "app.c", ["main", "f"]), ("/lib/libx.so.2", "", FOUR[1:])],
             ["main", "g", "h", "h"])
    states, joined, _ = compare(a, b)
    assert joined == {("libx.so.1", "libx.so.2"): 3}, joined
    assert states["h"] == ("changed", 1, 2), states

    # the program's file too
    a = make("a", [("/bin/slow", "slow.c", FOUR), ("/bin/slow", "util.c", ["u", "init"])],
             ["f", "u"])
    b = make("b", [("/bin/fast", "fast.c", FOUR), ("/bin/fast", "util.c", ["u", "init"])],
             ["f", "f", "u", "u"])
    states, joined, _ = compare(a, b)
    assert joined == {("slow", "fast"): 6}, joined
    assert states["u"] == ("changed", 1, 2), states

    # files of one function each; --first says it, too
    parts = [("p.c", ["f"]), ("q.c", ["g", "static"]), ("r.c", ["static"])]
    a = make("a", [("/bin/app1", *part) for part in parts], ["f", "g"])
    b = make("b", [("/bin/app2", *part) for part in parts], ["f", "g"])
    states, joined, _ = compare(a, b)
    assert joined == {("app1", "app2"): 4} and states == {}, (joined, states)
    text = run("diff", "--first", a, b)
    assert text.startswith("no difference in 4 events") and "'app1' of A and 'app2'" in text, text
    first = json.loads(run("diff", "--first", "--json", a, b))
    assert first["equal"] and first["compared_as_one"][0]["functions"] == 4, first

    # one file of a program
    a = make("a", [("/bin/app", "old.c", FOUR), ("/bin/app", "util.c", ["u"])], ["f", "u"])
    b = make("b", [("/bin/app", "new.c", FOUR), ("/bin/app", "util.c", ["u"])], ["f", "f", "u"])
    states, joined, text = compare(a, b)
    assert joined == {("app", "app"): 4} and states["f"] == ("changed", 1, 2), (joined, states)
    assert "'old.c' of A and 'new.c' of B, 4 functions" in text, text
    one = json.loads(run("diff", "--json", a, b))["compared_as_one"][0]
    assert (one["file_a"], one["file_b"]) == ("old.c", "new.c"), one

    # several runs a side, of which one has both
    c = make("c", [("/bin/app1", "p.c", FOUR), ("/bin/app2", "p.c", FOUR)], ["f"])
    a = make("a", [("/bin/app1", "p.c", FOUR)], ["f"])
    b = make("b", [("/bin/app2", "p.c", FOUR)], ["f"])
    for runs, wanted in (([a, a, "--against", b, b], 4), ([a, "--against", b, c], None)):
        got = json.loads(run("diff", "--json", *runs)).get("compared_as_one")
        assert (got and got[0]["functions"]) == wanted, got

    # its programs, of which little is recorded
    a = make("a", [("/lib/libx.so.1", "x.c", FOUR), ("/bin/use1", "use.c", ["main"])],
             ["main", "f"])
    b = make("b", [("/lib/libx.so.2", "x.c", FOUR), ("/bin/use2", "use.c", ["main"])],
             ["main", "f", "f"])
    states, joined, _ = compare(a, b)
    assert joined == {("libx.so.1", "libx.so.2"): 4, ("use1", "use2"): 1}, joined
    assert "main" not in states or states["main"][0] == "changed", states

    # other programs, which both have a main
    a = make("a", [("/bin/one", "one.c", ["main", "p", "q", "r"])], ["main", "p"])
    b = make("b", [("/bin/two", "two.c", ["main", "x", "y", "z"])], ["main", "x"])
    states, joined, text = compare(a, b)
    assert joined == {} and "compared as one" not in text, joined
    assert states["p"][0] == "gone" and states["x"][0] == "new", states


main()
sys.exit(0)
