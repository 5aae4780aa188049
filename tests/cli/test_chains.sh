#!/usr/bin/env bash
# info --chains: the example of spec/order-literal.md, whose records and chain are known, in each
# form of order; limits; many partitions with a model; damage.
. "${TTAPE_SRC:?}/tests/cli/common.sh"

awk 'BEGIN { print "0 1 enter main"; for (i = 1; i <= 40; i++) {
    print 10 * i, 1, "enter f"; print 10 * i + 5, 1, "exit f" }
    print 500, 1, "exit main" }' >in.txt
for level in 0 1 3; do
    status 0 "$T" convert in.txt -o l$level.ttape --level $level --threshold 8
    status 0 "$T" info --chains l$level.ttape
    has out '^   40  enter f     exit f 40$'
    has out '^   40  exit f      enter f 39, exit main 1$'
    has out '^    1  enter main  enter f 1$'
    has out '^    1  exit main *$'
    cp out out$level
done
# 40 calls: the first record of two that point into the chain has all of them
has out0 '^partition 0: 82 events, order in literal form; 80 of them in 1 chain, 2 by themselves$'
has out0 '^    0     1       2          80  enter f, exit f$'
has out1 'order in raw form; 0 of them in 0 chains, 82 by'
lines out1 7
has out3 'order in full form; 82 of them in 2 chains, 0 by themselves$'
has out3 '^    0    40       2          80  enter f, exit f$'
has out3 '^    1     1      82          82  enter main, enter f, exit f, .*, \.\.\.$'
status 0 "$T" info --chains --threshold 8 l0.ttape
has out '^   40  exit f      enter f 39$'

status 0 "$T" info --chains --json l3.ttape
cp out json
cat >check.py <<'PY'
import json, sys
part, = json.load(open("json"))["chain_list"]
assert [part[k] for k in ("partition", "form", "events", "chained_events")] == [0, "full", 82, 82]
f, main = part["chains"]
assert (f["chain"], f["uses"], f["length"], f["stands_for"]) == (0, 40, 2, 80), f
event = lambda kind, name: {"kind": kind, "function": name}
assert f["items"] == f["events"] == [event("enter", "f"), event("exit", "f")]
assert main["items"] == [event("enter", "main")] + 40 * [0] + [event("exit", "main")]
assert main["length"] == 82 and len(main["events"]) == 64
second = part["records"][1]
assert second["event"] == {"kind": "exit", "function": "f"} and second["count"] == 40
assert [s["count"] for s in second["successors"]] == [39, 1]
PY
status 0 python3 check.py

cat >sums.py <<'PY'
import json
parts = json.load(open("json"))["chain_list"]
assert sum(p["events"] for p in parts) == 16002, parts
for part in parts:
    own = lambda c: sum(isinstance(i, dict) for i in c["items"])
    full = part["form"] == "full"
    chains = part["chains"]
    assert len(chains) == part["chain_count"] > (2 if part["events"] > 100 else -1)
    assert len(part["records"]) == part["record_count"]
    stands = sum(own(c) * c["uses"] if full else c["stands_for"] for c in chains)
    assert part["chained_events"] == stands
    assert sum(r["count"] for r in part["records"]) == part["events"]
    assert sum(s["count"] for r in part["records"] for s in r["successors"]) == part["events"] - 1
    for c in chains:
        assert len(c["events"]) == min(c["length"], 64), c
        assert full or (c["length"] == own(c) and c["stands_for"] >= c["uses"])
PY

# Many functions and partitions: a screenful, or what is asked for.
awk 'BEGIN { print "0 1 enter main"; for (i = 1; i <= 6000; i++) {
    f = i % 50 * (i % 7); print 10 * i, 1, "enter f" f
    if (i % 3) print 10 * i + 2, 1, "marker m" i % 31
    print 10 * i + 5, 1, "exit f" f }
    print 70000, 1, "gap", 3 }' >many.txt
for level in 0 3; do
    status 0 "$T" convert many.txt -o many.ttape --level $level --partition-events 1000 --force
    status 0 "$T" info --chains many.ttape
    has out '^\.\.\. [0-9]+ more records \(--limit, --all\)$'
    has out '^\.\.\. [0-9]+ more chains \(--limit, --all\)$'
    has out '^\.\.\. 16 more partitions \(--partition, --all\)$'
    checks=$((checks + 1))
    [ "$(wc -l <out)" -le 30 ] || fail "more than a screenful"
    status 0 "$T" info --chains many.ttape --partition 3..5 -n 2
    checks=$((checks + 1))
    [ "$(grep -c '^partition' out)" = 2 ] || fail "not two partitions"
    has out '^partition 4: 1000 events'
    status 0 "$T" info --chains --all many.ttape
    checks=$((checks + 1))
    [ "$(grep -c '^partition' out)" = 17 ] || fail "not all partitions"
    checks=$((checks + 1))
    ! grep -q '^\.\.\. ' out || fail "--all leaves something out"
    has out '^ *1  gap unknown *$'
    status 0 "$T" info --chains --all --json many.ttape
    cp out json
    status 0 python3 sums.py
done

# Damage in the second partition: the others are shown.
status 0 "$T" info --json many.ttape
python3 - <<'PY'
import json
data = bytearray(open("many.ttape", "rb").read())
second = json.load(open("out"))["partition_list"][1]
for at in range(second["offset"] + 200, second["offset"] + second["bytes"], 50):
    data[at] ^= 1
open("bad.ttape", "wb").write(data)
PY
status 3 "$T" info --chains --all bad.ttape
checks=$((checks + 1))
[ "$(grep -c '^partition' out)" = 16 ] || fail "not all partitions but the damaged one"
status 2 "$T" info --limit 3 many.ttape
has err 'need --chains'
status 2 "$T" info --chains --partition 5 many.ttape

verdict
