#!/usr/bin/env bash
# The execution tree: what is pruned and what is shown add up, however it is cut, folded and opened.
. "${TTAPE_SRC:?}/tests/cli/common.sh"

cat >tree.py <<'END'
"""tree(options) -> nested nodes of `tracetape tree --json`, each checked: time = self + rest +
children + shorter ones."""
import json, os, subprocess

class Node(dict):
    def __init__(self, row):
        super().__init__(row)
        self.children = []

    def walk(self):
        yield self
        for child in self.children:
            yield from child.walk()

def tree(*options, checked=True):
    command = [os.environ["TTAPE_BIN"], "tree", "--json", *options]
    out = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    top, path = [], []
    for row in out["nodes"]:
        node = Node(row)
        del path[row["level"]:]
        (path[-1].children if path else top).append(node)
        path.append(node)
    if checked:
        for node in top:
            for one in node.walk():
                check(one)
    return top, out

def check(node):
    inside = sum(c["time_ns"] for c in node.children) + node.get("shorter", {}).get("time_ns", 0)
    if node["kind"] == "sequence":
        assert node["time_ns"] == inside, node
    elif "self_ns" in node and not node["deeper"]:
        assert node["time_ns"] == node["self_ns"] + node["rest_ns"] + inside, (node, inside)

def totals(top):
    """What a view shows of everything: calls, and time of threads."""
    calls = events = 0
    for node in (n for t in top for n in t.walk()):
        calls += node.get("shorter", {}).get("count", 0)
        calls += node["calls"] if node["kind"] == "call" else 0
    return calls, sum(t["time_ns"] for t in top)
END
export PYTHONPATH=.
check_python() { # TEXT ON STANDARD INPUT
    checks=$((checks + 1))
    python3 - || fail "line ${BASH_LINENO[0]}: an assertion of Python does not hold"
}

# main -> 40 times: step -> work, work, work(sub); a long tail that ends in other partitions
awk 'BEGIN { t = 1000; print t, "1 enter main"
    for (i = 0; i < 40; i++) { print t += 10, "1 enter step"
        for (k = 0; k < 3; k++) { print t += 5, "1 enter work"
            if (k == 2) { print t += 2, "1 enter sub"; print t += 3, "1 exit" }
            print t += 7, "1 exit" }
        print t += 4, "1 exit" }
    print t += 6, "1 enter tail"; print t += 500, "1 enter last"; print t += 1, "1 exit"
    print t += 9, "1 exit"; print t += 1, "1 exit" }' >in.txt
status 0 "$T" convert in.txt -o a.ttape --partition-events 50
status 0 "$T" verify a.ttape
export calls=$((1 + 40 * 5 + 2))

# Pruned: read from the summaries alone, nothing decoded. Every event is somewhere, once.
check_python <<'END'
from tree import *
top, out = tree("a.ttape", "--partitions", "--min-time", "0")
(thread,) = top
(main,) = [n for n in thread.children if n["kind"] == "call"]
assert main["name"] == "main" and main["end"] == "ended", main
lines = sum(1 for _ in open("in.txt"))
assert thread["pruned"]["events"] == lines and thread["pruned"]["calls"] == int(os.environ["calls"])
parts = [n for n in thread.walk() if n["kind"] == "part"]
assert sum(p["pruned"]["events"] for p in parts) == lines and len(parts) >= 1
assert sum(p["pruned"]["partitions"] for p in parts) == thread["pruned"]["partitions"] == 9
spanning = [n for n in thread.walk() if n["kind"] == "call"]
assert {n["name"] for n in spanning} >= {"main", "step"}
assert thread["time_ns"] == main["time_ns"] == main["end_ns"] - main["enter_ns"]
END
# A bracket names the functions that took most of it, but for those that it is inside of: by
# partitions of which they took a 64th.
check_python <<'END'
import math
from tree import *
def report(number):
    command = os.environ["TTAPE_BIN"]
    subprocess.run([command, "cut", "a.ttape", "-f", "-o", "part.ttape", "--partition",
                    f"{number}..{number + 1}"], check=True)
    out = subprocess.run([command, "report", "--json", "part.ttape"], capture_output=True,
                         check=True)
    return {row["name"]: row["self_ns"] for row in json.loads(out.stdout)["rows"]}
def look(node, way):
    if node["kind"] == "part":
        first, inside, whole = int(node["node"].split("p")[1]), {}, 0
        for number in range(first, first + node["pruned"]["partitions"]):
            times = {name: ns for name, ns in report(number).items() if ns > 0}
            large = {name: ns for name, ns in times.items() if ns >= sum(times.values()) // 64}
            whole += sum(times.values()) - sum(large.get(name, 0) for name in set(way))
            for name, ns in large.items():
                if name not in way:
                    inside[name] = inside.get(name, 0) + ns
        got, most = node["mostly"], sorted(inside.values(), reverse=True)[:3]
        assert [inside[f["name"]] for f in got] == most, (got, inside)
        assert all(math.isclose(f["share"], ns / whole, rel_tol=1e-5)
                   for f, ns in zip(got, most)), (got, inside)
        assert not node["mostly_of_all_threads"]
    return (node["kind"] == "part") + sum(look(c, [*way, node["name"]]) for c in node.children)
top, _ = tree("a.ttape", "--partitions", "--min-time", "0")
assert look(top[0], []) > 1
assert look(tree("a.ttape", "--open", "main", "--min-time", "0", "--depth", "9")[0][0], []) > 0
END
status 0 "$T" tree --open main --min-time 0 --depth 9 a.ttape
has out ' +\[work [0-9]+ %, step [0-9]+ %, sub [0-9]+ %\]$'
if grep -q partition out; then fail "brackets name partitions"; fi
awk '{ print; $2 = 2; print }' in.txt >both.txt
status 0 "$T" convert both.txt -o both.ttape --partition-events 100
status 0 "$T" tree --open main --min-time 0 --depth 9 both.ttape
has out ' +\[all threads: work [0-9]+ %, step [0-9]+ %, sub [0-9]+ %\]$'
python3 - <<'END'
data = bytearray(open("a.ttape", "rb").read())
sync, at = b"\xf3\x54\x54\x63\x68\x6b\xb1\x1a", -1
while (at := data.find(sync, at + 1)) >= 0:
    if int.from_bytes(data[at + 8:at + 10], "little") == 4:
        data[at + 63 + int.from_bytes(data[at + 24:at + 32], "little")] ^= 1  # its last byte
open("spoilt.ttape", "wb").write(data)
END
status 0 "$T" tree --json --partitions a.ttape
sed 's/a.ttape/spoilt.ttape/' out >want
status 0 "$T" tree --json --partitions spoilt.ttape
same out want
status 3 "$T" tree --full spoilt.ttape

# A small trace is decoded without being asked.
status 0 "$T" tree --full --min-time 0 a.ttape
cp out want
status 0 "$T" tree --min-time 0 a.ttape
same out want
has out ' sub$'
status 0 "$T" tree --partitions --min-time 0 a.ttape
has out '\[in (partition|[0-9]+ partitions)'
status 2 "$T" tree --partitions --full a.ttape
has err 'exclude each other'

# Of a large trace: a call that is there since a partition ends in it is in the bracket, and
# brackets side by side are one.
awk 'BEGIN { t = 1000; print t, "1 enter main"
    for (i = 0; i < 3000; i++) { print t += 10, "1 enter step"; print t += 5, "1 enter work"
        print t += 7, "1 exit"; print t += 4, "1 exit" }
    print t += 1, "1 exit" }' >many.txt
status 0 "$T" convert many.txt -o many.ttape --partition-events 50
status 0 "$T" tree --partitions many.ttape
has out '^ *48.000 us +12,000 +6,001 .* s0p0 +\[in 240 partitions\]$'
if grep -q step out || [ "$(wc -l <out)" -gt 5 ]; then fail "more than what is long: $(cat out)"; fi
status 0 "$T" tree --partitions --limit 20 many.ttape
has out ' step x 240,'

# Full: every call, in every node the time that the pruned tree gives it.
check_python <<'END'
from tree import *
top, _ = tree("a.ttape", "--full", "--min-time", "0")
assert totals(top)[0] == int(os.environ["calls"])
nodes = {n["node"]: n for t in top for n in t.walk()}
assert all(n["rest_ns"] == 0 for n in nodes.values())
assert not [n for n in nodes.values() if n["kind"] == "part"]
pruned, _ = tree("a.ttape", "--partitions", "--min-time", "0")
known = 0
for n in (n for t in pruned for n in t.walk()):
    if n["kind"] == "call":
        assert all(n[key] <= nodes[n["node"]][key] for key in ("time_ns", "self_ns")), n
    if n["kind"] == "call" and n["end"] == "ended":
        assert n["time_ns"] == nodes[n["node"]]["time_ns"]
        known += 1
    if n["kind"] == "call" and n["self_exact"]:
        assert n["self_ns"] == nodes[n["node"]]["self_ns"]
assert known >= 2
assert pruned[0]["time_ns"] == top[0]["time_ns"]
main = top[0].children[0]
assert [c["name"] for c in main.children] == ["step"] * 40 + ["tail"]
assert [c["name"] for c in main.children[7].children] == ["work"] * 3
assert main["calls_below"] == int(os.environ["calls"]) - 1

# --depth and --min-time leave out, and lose nothing.
for options in (["--depth", "2"], ["--depth", "1"], ["--depth", "0"], ["--min-time", "40ns"],
                ["--min-time", "1us", "--depth", "3"], ["--min-time", "1s"]):
    for full in (["--partitions"], ["--full"]):
        some, _ = tree("a.ttape", *full, *options)
        assert (some or _["shorter"]) and sum(t["time_ns"] for t in some) + \
            _.get("shorter", {}).get("time_ns", 0) == top[0]["time_ns"], options
END

# --find opens the way to what slow finds: the same call, the same callers, in time and threads
# that are selected.
check_python <<'END'
from tree import *
def longest(name, *options):
    command = [os.environ["TTAPE_BIN"], "slow", "--json", "--limit", "1", *options, "a.ttape", name]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["calls"][0]
nodes = {n["node"]: n for t in tree("a.ttape", "--full", "--min-time", "0")[0] for n in t.walk()}
for name in ("main", "step", "work", "sub", "tail", "last"):
    for options in ([], ["--time", "..+2us"], ["--stream", "0"]):
        if options[:1] == ["--time"] and name in ("main", "tail", "last"):
            continue  # they end later
        call = longest(name, *options)
        found, _ = tree("a.ttape", "--find", name, "--min-time", "0", *options, checked=False)
        way = [found[0]]
        while len(way) < len(call["path"]) + 2:
            assert len(way[-1].children) == 1, way[-1]
            way.append(way[-1].children[0])
        assert [n["name"] for n in way[1:]] == [*call["path"], name], (name, options)
        if not options:
            assert way[-1]["time_ns"] == call["duration_ns"], (way[-1], call)
            assert way[-1]["enter_ns"] == call["start_ns"] and way[-1]["self_ns"] == call["self_ns"]
            below = {n["name"] for n in way[-1].children if n["kind"] == "call"}
            assert below <= {"step", "tail", "work", "sub", "last"}, below
            whole = nodes[next(k for k, n in nodes.items()
                               if (n.get("enter_ns"), n.get("name")) == (call["start_ns"], name))]
            assert name != "step" or len(way[-1].children) == len(whole.children) == 3, way[-1]
END
status 4 "$T" tree a.ttape --find nothing
has err "'a.ttape' has no function 'nothing'"
status 4 "$T" tree a.ttape --find last --time ..+1us
has err "'a.ttape' has no call of 'last' there"
status 2 "$T" tree a.ttape --find main --open s0

# --fold: equal siblings once; the sums of calls and times stay.
check_python <<'END'
from tree import *
plain, _ = tree("a.ttape", "--full", "--min-time", "0")
fold, _ = tree("a.ttape", "--full", "--min-time", "0", "--fold")
assert totals(plain) == totals(fold), (totals(plain), totals(fold))
main = fold[0].children[0]
assert [(c["name"], c["calls"]) for c in main.children] == [("step", 40), ("tail", 1)]
step = main.children[0]
assert [(c["name"], c["calls"]) for c in step.children] == [("work", 80), ("work", 40)]
assert step["time_ns"] == sum(c["time_ns"] for c in plain[0].children[0].children[:40])
assert [(c["name"], c["calls"]) for c in step.children[1].children] == [("sub", 40)]
END
status 0 "$T" tree --full --fold --min-time 0 a.ttape
has out ' +step x 40$'

# Series of siblings: (a b b)(a b b)(a b b) c
printf '%s\n' a b b a b b a b b c | awk 'BEGIN { print "0 1 enter main" }
    { print NR * 10, "1 enter", $1; print NR * 10 + 4, "1 exit" }
    END { print "200 1 exit" }' >series.txt
status 0 "$T" convert series.txt -o series.ttape
status 0 "$T" tree --full --fold series.ttape --min-time 0
has out ' +3 times:$'
has out ' +b x 2$'
lines out 7
check_python <<'END'
from tree import *
plain, fold = tree("series.ttape", "--full"), tree("series.ttape", "--full", "--fold")
assert totals(plain[0]) == totals(fold[0])
END

# --open: a part, a call, a path, a time. What is opened is whole.
check_python <<'END'
from tree import *
full, _ = tree("a.ttape", "--full", "--min-time", "0")
main = full[0].children[0]
shown, _ = tree("a.ttape", "--partitions", "--min-time", "0")
found = 0
for node in (n for n in shown[0].walk() if n["kind"] == "part"):
    first = int(node["node"].split("p")[1])
    for partition in range(first, first + node["pruned"]["partitions"]):
        ((part,), _) = tree("a.ttape", "--open", f"s0p{partition}", "--min-time", "0",
                            "--depth", "9")
        assert all(c["name"] in ("step", "work", "sub", "tail", "last") for c in part.children)
        found += len([n for n in part.walk() if n["kind"] == "call"])
assert found > int(os.environ["calls"]) * 0.7, found
for want in [n for n in full[0].walk() if n["kind"] == "call"][::7]:
    ((got,), _) = tree("a.ttape", "--open", want["node"], "--min-time", "0", "--depth", "9")
    for key in ("name", "enter_ns", "end_ns", "time_ns", "self_ns", "node", "end"):
        assert got[key] == want[key], (key, got, want)
    if not any("pruned" in n for n in got.walk()):
        assert [n["node"] for n in got.walk()] == [n["node"] for n in want.walk()]
step = main.children[4]
((got,), _) = tree("a.ttape", "--open", "main/step[5]")
assert got["node"] == step["node"], (got, step)
((got,), _) = tree("a.ttape", "--open", "main/step[5]/work[3]/sub")
assert got["node"] == step.children[2].children[0]["node"]
((got,), _) = tree("a.ttape", "--open", "main/tail/last")
assert got["name"] == "last" and got["time_ns"] == 1
sub = step.children[2].children[0]
for moment in (f"{sub['enter_ns']}", f"+{sub['enter_ns'] - 1000 + 1}ns"):
    top, _ = tree("a.ttape", "--open", moment, checked=False)
    assert [n.get("name") for n in top[0].walk()][1:] == ["main", "step", "work", "sub"], top
    assert list(top[0].walk())[-1]["node"] == sub["node"]
END
status 4 "$T" tree --open main/nothing a.ttape
has err "no call 'main/nothing'"
status 4 "$T" tree --open 'main/step[41]' a.ttape
status 4 "$T" tree --open s9 a.ttape
status 4 "$T" tree --open s0p99 a.ttape
status 4 "$T" tree --open s0e1 --thread 99 a.ttape
status 4 "$T" tree --open 500s a.ttape
has err 'no thread of .* is in a call at that time'

# --time: what is cut is shown as far as it is inside.
check_python <<'END'
from tree import *
for span, length in (("+100ns..+300ns", 200), ("..+50ns", 50), ("+1500ns..", None)):
    top, out = tree("a.ttape", "--partitions", "--time", span, "--min-time", "0",
                    checked=False)
    whole, _ = tree("a.ttape", checked=False)
    length = length or whole[0]["time_ns"] - 1500
    assert top[0]["time_ns"] == length == top[0].children[0]["time_ns"], (span, top[0])
    for n in top[0].walk():
        end = n.get("end_most_ns", n["end_ns"])
        assert n["start_ns"] < out["to_ns"] and end >= out["from_ns"], n
END
status 4 "$T" tree --time 0..1 a.ttape
status 2 "$T" tree --time 5 a.ttape

# Threads, signals, stacks, unwinding, what is open at the end and the start.
cat >mixed.txt <<'END'
process 7 prog
thread 7 1 one
thread 7 2 two
0 1 open outer
0 1 open inner
10 1 enter a
20 1 signal 11
25 1 enter handler
30 1 exit
35 1 signal-end 11
40 1 unwind 2
50 1 enter b
0 2 enter main
10 2 switch 1
15 2 enter coroutine
20 2 switch 0
30 2 enter c
40 2 switch 1
60 2 exit
70 2 switch 0
80 2 exit
90 2 exit
END
for events in 2 3 1000; do
    status 0 "$T" convert mixed.txt -o mixed.ttape --partition-events $events --force
    status 0 "$T" tree --full --min-time 0 mixed.ttape
    has out 'thread 1 of process 7, one$'
    has out ' +outer +\[was running already\]  \[open at the end\]$'
    has out ' +\(signal 11\)'
    has out ' +handler'
    has out ' +coroutine \(stack 1\)$'
    status 0 "$T" tree --thread 2 --min-time 0 mixed.ttape
    checks=$((checks + 1))
    grep -q 'thread 1 ' out && fail "--thread shows another one"
    status 0 "$T" tree --stream 0 --min-time 0 mixed.ttape
done
# Where calls are folded, those that are open at the end are told.
awk 'BEGIN { print 0, "1 enter main"
    for (i = 1; i < 9; i++) { print i * 10, "1 enter step"; if (i < 8) print i * 10 + 5, "1 exit" }
    print 99, "1 enter last"; print 100, "1 exit" }' >left.txt
for events in 3 1000; do
    status 0 "$T" convert left.txt -o left.ttape --partition-events $events --force
    status 0 "$T" tree --full --fold --min-time 0 left.ttape
    has out ' main +\[open at the end\]$'
    has out ' step x 7$'
    has out ' step +\[open at the end\]$'
done
sed '/last/d; $d' left.txt >same.txt
status 0 "$T" convert same.txt -o same.ttape
status 0 "$T" tree --full --fold --min-time 0 same.ttape
has out ' step x 8  \[1 open at the end\]$'
status 0 "$T" tree --full --fold --min-time 0 --json same.ttape
has out '"open_frames": 1,'
check_python <<'END'
from tree import *
top, _ = tree("mixed.ttape", "--full", "--min-time", "0", "--thread", "1")
names = [(n["level"], n.get("name"), n["time_ns"]) for n in top[0].walk()]
assert names == [(0, "one", 50), (1, "outer", 50), (2, "inner", 40), (3, "a", 30),
                 (4, "(signal)", 15), (5, "handler", 5), (2, "b", 0)], names
END

# A piece of a trace knows what was open before it.
status 0 "$T" cut a.ttape -o cut.ttape --events 100..300
status 0 "$T" tree --partitions --min-time 0 cut.ttape
has out ' s0p0b0 +main'
status 0 "$T" tree --full --min-time 0 --json cut.ttape
check_python <<'END'
from tree import *
top, _ = tree("cut.ttape", "--full", "--min-time", "0")
(main,) = [n for n in top[0].children if n["name"] == "main"]
assert main["enter_ns"] == 1000 < main["start_ns"] and main["end"] == "open", main
((again,), _) = tree("cut.ttape", "--open", "s0p0b0")
assert again["name"] == "main"
END

# Without times, through a pipe, spoilt, hostile.
status 0 "$T" convert in.txt -o order.ttape --resolution none --partition-events 50
status 0 "$T" tree --partitions order.ttape
has out ' main +\[ends in partition 8\]$'
status 0 "$T" tree order.ttape --open main --depth 1
has out ' step ?.*\[[a-z]+ [0-9]+ %|\[work [0-9]+ %'
status 0 "$T" tree --full --fold order.ttape
has out 'step x 40$'
status 4 "$T" tree --open 5ms order.ttape
"$T" tree --json - <a.ttape >piped 2>err || fail "no tree of a pipe"
sed 's/standard input/a.ttape/' piped >piped2
status 0 "$T" tree --json a.ttape
same out piped2
status 0 "$T" tree --json --jobs 3 a.ttape
same out piped2
python3 - <<'END'
data = bytearray(open("a.ttape", "rb").read())
sync, at, seen = b"\xf3\x54\x54\x63\x68\x6b\xb1\x1a", -1, 0
while (at := data.find(sync, at + 1)) >= 0:
    seen += int.from_bytes(data[at + 8:at + 10], "little") == 4
    if seen == 4:
        data[at + 64 + 20] ^= 1
        break
open("damaged.ttape", "wb").write(data)
END
status 3 "$T" tree --partitions --min-time 0 damaged.ttape
has err 'F-PAR-03'
has out '\[end is missing\]$'
printf '0 1 enter "\\x1b[31mred"\n5 1 enter "a\\x00b/c"\n6 1 exit\n9 1 exit\n' |
    "$T" convert - -o hostile.ttape
for options in "" "--full" "--json --full" "--open 0x0" "--open s0p0"; do
    # shellcheck disable=SC2086 # words
    "$T" tree $options hostile.ttape >out 2>err
    clean out
    clean err
done
status 2 "$T" tree
status 2 "$T" tree --min-time +5 a.ttape
status 2 "$T" tree --depth x a.ttape
status 4 "$T" tree in.txt
# A small file whose whole tree would take hours, by its stacks: what is left out is said, and the
# work depends on the number of events. Levels are no reason: each event is looked at for all.
awk 'BEGIN { for (i = 0; i < 60000; i++) print i, 1, "enter f" i % 7 }' >deep.txt
awk 'BEGIN { for (i = 0; i < 200000; i++) printf "%d 1 switch %d\n- 1 enter f\n", i, i }' >wide.txt
status 0 "$T" convert deep.txt -o deep.ttape
status 0 timeout 100 "$T" tree --full --json deep.ttape
has out '"level": 4096,'
has out '"deeper": true'
status 0 "$T" convert wide.txt -o wide.ttape
status 3 timeout 100 "$T" tree --full wide.ttape
has err 'the whole tree would take too long: calls are left out'
has out 'thread 1 of process 1.*  \.\.\.$'

# What is shorter than --min-time takes little memory until it is left out, and is left out of what
# is folded: long siblings, long series, and calls that are short each and long together.
python3 - >random.txt <<'END'
import random
draw, now, lines = random.Random(7), 1000, []
def call(name, *below):
    global now
    lines.append(f"{now} 1 enter {name}")
    now += draw.choice((1, 1, 2, 900 if name == "slow" else 3))
    for one in below:
        one()
    lines.append(f"{now} 1 exit")
    now += 1
def leaf(): call(draw.choice("abcd"))
def node(): call(draw.choice("pqr"), *[draw.choice((leaf, leaf, leaf, node))
                                       for _ in range(draw.randrange(5))])
def equal(): [call("e", leaf_e, lambda: call("slow"), leaf_e) for _ in range(300)]
def leaf_e(): call("f")
def wide(): call("wide", *[draw.choice((node, leaf, node, equal if draw.random() < .01 else leaf))
                           for _ in range(4000)])
call("main", wide, wide)
print("\n".join(lines))
END
status 0 "$T" convert random.txt -o random.ttape
check_python <<'END'
from tree import *
for least in (20, 3000):
    folded, _ = tree("random.ttape", "--full", "--fold", "--min-time", "0")
    shown, _ = tree("random.ttape", "--full", "--fold", "--min-time", f"{least}ns",
                    "--memory", "20M")
    def left(node):
        out = [(node["kind"], node["node"] if "node" in node else "", node["time_ns"],
                node.get("calls"), node.get("events_below"), node.get("self_ns"))]
        for child in node.children:
            if child["time_ns"] >= least:
                out += left(child)
        return out
    wanted, got = left(folded[0]), left(shown[0])
    assert wanted == got and len(got) > 1, (least, len(wanted), len(got))
    assert sum(1 for _ in shown[0].walk()) == len(got)
END

# Stacks side by side: the counts of a thread are those of all of them.
cat >stacks.txt <<'END'
0 1 enter a
1 1 switch 5
2 1 enter b
4 1 exit
5 1 switch 9
6 1 enter c
8 1 switch 0
9 1 exit
10 1 switch 9
12 1 exit
13 1 switch 7
20 1 enter d
END
status 0 "$T" convert stacks.txt -o stacks.ttape
status 0 "$T" tree --full --json --min-time 0 stacks.ttape
python3 - out <<'END' || fail "several stacks"
import json, sys
top, *children = json.load(open(sys.argv[1]))["nodes"]
assert top["events_below"] == 12 and top["calls_below"] == 4 and top["self_ns"] == 12, top
names = [(item["name"], item["stack"], item["time_ns"]) for item in children]
assert names == [("a", 0, 9), ("b", 5, 2), ("c", 9, 6), ("d", 7, 0)], names
END
verdict
