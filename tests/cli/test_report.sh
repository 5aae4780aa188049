#!/usr/bin/env bash
# Reports of small traces whose every number is known, their sums under every cut, how they look.
. "${TTAPE_SRC:?}/tests/cli/common.sh"

# rows FILE PYTHON: evaluates with `rows` (by name), `r` (the whole object) of a JSON report
rows() {
    checks=$((checks + 1))
    python3 - "$1" <<END || fail "$1: $2"
import json, sys
r = json.load(open(sys.argv[1]))
rows = {row["name"]: row for row in r["rows"]}
$2
END
}

# report OPTION...: JSON into the file `out`
report() { status 0 "$T" report --json "$@"; }

cat >in.txt <<'END'
process 7 prog
thread 7 1 one
thread 7 2 two
module 0x1000 0x2000 /bin/prog
symbol 0x1100 main main.c:3
symbol 0x1200 fact fact.c:9
symbol 0x1300 helper
symbol 0x1400 helper
0 1 open main
100 1 enter fact
110 1 enter fact
130 1 enter fact
160 1 exit
180 1 exit
200 1 exit
300 1 enter 0x1300
305 1 enter epoll_wait
395 1 exit
400 1 exit
400 1 enter 0x1400
460 1 enter wait_for_it
490 1 exit
500 1 unwind 1
1000 1 leaf mark
0 2 enter main
10 2 signal 11
20 2 enter fact
40 2 exit
50 2 signal-end 11
60 2 exit ghost
1000 2 exit
END
status 0 "$T" convert in.txt -o a.ttape --partition-events 4
status 0 "$T" verify a.ttape

# The call of MAX: what slow says of it, not that which is open at the end.
report a.ttape --ids
cp out ids.json
for name in main fact epoll_wait wait_for_it; do
    status 0 "$T" slow --json a.ttape $name
    cp out slow.json
    rows ids.json "
calls = json.load(open('slow.json'))['calls']
assert rows['$name']['max_id'] == [c['id'] for c in calls if c['end'] != 'open'][0], rows['$name']"
    status 0 "$T" tree a.ttape --open "$(python3 -c "
import json
print([r['max_id'] for r in json.load(open('ids.json'))['rows'] if r['name'] == '$name'][0])")"
    has out "$name"
done
rows ids.json 'assert [r["name"] for r in r["rows"] if "max_id" not in r] == \
    [r["name"] for r in r["rows"] if r["ended"] == 0 or r["name"] == "ghost"], r'
report a.ttape --ids --limit 2 --sort max
rows out 'assert [len(r["max_id"]) > 0 for r in r["rows"]] == [True, True], r'
status 0 "$T" report a.ttape --ids
has out ' CALL  '
status 2 "$T" report a.ttape --ids --by thread

# Known numbers: recursion counts once, unwound frames end, what is open counts to self and total.
report a.ttape
cp out summary.json
rows out '
f = rows["fact"]
assert (f["calls"], f["ended"], f["self_ns"], f["total_ns"]) == (4, 4, 120, 120), f
assert (f["min_ns"], f["max_ns"], f["mean_ns"]) == (20, 100, 30), f
m = rows["main"]
assert (m["calls"], m["ended"], m["self_ns"], m["total_ns"]) == (1, 1, 1660, 2000), m
assert (m["min_ns"], m["max_ns"]) == (1000, 1000), m
e = rows["epoll_wait"]
assert (e["self_ns"], e["idle_ns"]) == (90, 90), e
assert r["span_ns"] == 2000 and r["idle_ns"] == 90 and not r["idle_exact"], r
assert rows["main"]["idle_ns"] is None
assert r["decoded_partitions"] == 0 and r["partitions"] == 6 and not r["exact"], r
assert rows["fact"]["file"] == "fact.c" and rows["fact"]["line"] == 9
assert rows["fact"]["module"] == "/bin/prog" and rows["fact"]["address"] == "0x1200"
assert sum(x["self_ns"] for x in r["rows"]) == 2000 - 20  # a signal handler has no row
assert all(x["total_ns"] <= r["span_ns"] for x in r["rows"])
'
status 0 "$T" report a.ttape --columns calls,mean,deviation -F '^fact$'
has out '>=0.040 us  <=0.049 us'
# Decoded: the same to the nanosecond, and more.
report --exact a.ttape
cp out exact.json
rows out '
s = {x["site"]: x for x in json.load(open("summary.json"))["rows"]}
assert len(s) == len(r["rows"]) == 6
for x in r["rows"]:
    for key, value in s[x["site"]].items():
        assert key == "idle_ns" or x[key] == value, (x["name"], key)
f = rows["fact"]
assert f["recursive_calls"] == 2 and f["duration_sum_ns"] == 220 and f["duration_mean_ns"] == 55
assert (f["p50_ns"], f["p90_ns"], f["p99_ns"]) == (30, 100, 100), f
assert "ghost" not in rows  # nothing is known of it but an exit
assert r["idle_exact"] and r["idle_ns"] == 90 and rows["main"]["idle_ns"] == 90
assert r["exact"] and r["decoded_partitions"] == 6 and r["percentile_error"] == 0
'
status 0 "$T" report a.ttape --exact --columns calls,mean -F '^fact$'
has out ' 0.055 us'
status 0 "$T" report a.ttape --exact --format csv --columns calls,mean -F '^fact$'
has out '4,55'
# Estimated: by powers of two, of one row with its durations.
report --histogram a.ttape
rows out '
f = rows["fact"]
h = [(b["least_ns"], b["most_ns"], b["calls"]) for b in f["histogram"]]
assert sum(n for _, _, n in h) == f["ended"] == 4 and h[0][0] <= f["min_ns"] and h[-1][1] >= 100, h
for share, exact in (("p50", 30), ("p90", 100), ("p99", 100)):
    inside = [(a, b) for a, b, _ in h if a <= exact <= b]
    assert inside[0][0] <= f[share + "_estimate_ns"] <= inside[0][1], (share, f)
assert r["percentiles_from"] == "histograms" and "p50_ns" not in f and "percentile_error" not in r
'
"$T" report --histogram -F '^fact$' a.ttape >text || fail "no table of estimates"
grep -q "~" text && grep -q "FROM  *TO  *CALLS" text && grep -q "####" text ||
    fail "no durations: $(cat text)"
"$T" report --histogram --exact a.ttape >text 2>&1 && fail "estimates of what is exact"

# What blocks can be said.
report --exact --idle wait_for_it a.ttape
rows out 'assert r["idle_ns"] == 120 and rows["wait_for_it"]["idle_ns"] == 30, r'
report --no-idle a.ttape
rows out 'assert r["idle_ns"] == 0 and rows["main"]["idle_ns"] == 0 and r["idle_exact"], r'

# A part of the time, of the threads: sums are the whole.
python3 - "$T" <<'END' || fail "parts do not add up"
import json, subprocess, sys
def rows(*options):
    out = subprocess.run([sys.argv[1], "report", "--json", *options, "a.ttape"],
                         capture_output=True, check=True).stdout
    return {r["site"]: r for r in json.loads(out)["rows"]}
KEYS = ("calls", "ended", "self_ns", "total_ns")
def added(parts):
    total = {}
    for part in parts:
        for site, row in part.items():
            mine = total.setdefault(site, dict.fromkeys(KEYS, 0))
            for key in KEYS:
                mine[key] += row[key]
    return total
whole = {s: {k: r[k] for k in KEYS} for s, r in rows().items()}
edges = ["", "60ns", "+115", "305", "306", "397", "0.5us", "999", ""]
spans = [f"{a}..{b}" for a, b in zip(edges, edges[1:])]
assert added(rows("--time", s) for s in spans) == whole
assert added(rows("--thread", t) for t in "12") == whole
assert added(rows("--stream", s) for s in "01") == whole
assert added([rows("--stream", "0,1")]) == whole
END
report --time 300..400 a.ttape
rows out '
assert r["from_ns"] == 300 and r["to_ns"] == 400 and r["span_ns"] == 200, r
assert rows["epoll_wait"]["total_ns"] == 90 and rows["helper"]["calls"] == 1
'

# Other rows.
report --by thread a.ttape
rows out '
assert [(x["name"], x["tid"], x["pid"]) for x in r["rows"]] == [("one", 1, 7), ("two", 2, 7)]
assert rows["one"]["events"] == 16 and rows["one"]["span_ns"] == 1000 == rows["one"]["self_ns"]
'
report --by process a.ttape
rows out 'assert rows["prog"]["span_ns"] == 2000 and rows["prog"]["calls"] == 9, r["rows"]'
report --by module a.ttape
rows out '
assert rows["/bin/prog"]["self_ns"] == 1860 and rows["(no module)"]["self_ns"] == 120
assert rows["/bin/prog"]["total_ns"] == 2000
'
report --by file a.ttape
rows out 'assert rows["fact.c"]["total_ns"] == 120 and rows["main.c"]["total_ns"] == 2000'
report --by name a.ttape
rows out 'assert rows["helper"]["calls"] == 2 and rows["helper"]["total_ns"] == 200'
report --by call a.ttape
rows out '
calls = {(x["caller"], x["name"]): x for x in r["rows"]}
assert calls["main", "fact"]["calls"] == 1 and calls["main", "fact"]["total_ns"] == 100
assert calls["fact", "fact"]["calls"] == 2 and calls["fact", "fact"]["total_ns"] == 70
assert calls["(signal)", "fact"]["total_ns"] == 20 and calls[None, "main"]["calls"] == 1
'
report --callers fact a.ttape
rows out 'assert sorted(str(x["caller"]) for x in r["rows"]) == ["(signal)", "fact", "main"]'
report --callees main a.ttape
rows out 'assert sorted(x["name"] for x in r["rows"]) == ["fact", "helper", "helper"]'
report --butterfly fact a.ttape
rows out '
assert [x["role"] for x in r["rows"]] == ["caller"] * 3 + ["function", "callee"], r["rows"]
assert r["rows"][3]["total_ns"] == 120 and r["rows"][4]["total_ns"] == 70
'
report --group 'fact|helper' --group '^epoll' a.ttape
rows out '
assert rows["fact|helper"]["calls"] == 6 and rows["fact|helper"]["total_ns"] == 320
assert rows["^epoll"]["total_ns"] == 90 and len(rows) == 2
'
status 4 "$T" report --json --group 'no such' a.ttape
has err "nothing that was called matches 'no such'"

# Orders, filters, limits.
report --sort self --limit 2 a.ttape
rows out 'assert [x["name"] for x in r["rows"]] == ["main", "fact"] and r["rows_left_out"] == 4'
report --sort calls,name --reverse --limit 1 a.ttape
rows out 'assert r["rows"][0]["calls"] == 1 and r["rows"][0]["name"] == "wait_for_it", r["rows"]'
report --function '^h' a.ttape
rows out 'assert [x["name"] for x in r["rows"]] == ["helper", "helper"] and r["rows_left_out"] == 0'
status 0 "$T" report --function '^h' a.ttape
grep -q 'left out' out && fail "what --function drops is counted as left out"
status 0 "$T" report --function '^h' --limit 1 a.ttape
has out '^1 more row left out$'
for key in total self calls mean min max deviation idle span name; do
    status 0 "$T" report --sort "$key" a.ttape
done
status 0 "$T" report --exact --sort p99 a.ttape
has out 'P50 +P90 +P99'

# For people: namesakes are told apart, "?" is what summaries do not know.
status 0 "$T" report a.ttape
has out '^9 calls in 2 threads, .*, of which idle at least 0.090 us .blocking functions.$'
has out 'helper \(prog\+0x300\)$'
has out '120 ns|0.120 us +0.120 us +6.0 +4 +>=0.040 us'
has out '\? +main$'
status 0 "$T" report --by thread a.ttape
has out '^ +SELF +SELF % +CALLS +SPAN|SELF'
status 0 "$T" report --butterfly fact a.ttape
has out '^callers:$'

# Without times there are calls.
status 0 "$T" convert in.txt -o order.ttape --resolution none
report order.ttape
rows out 'assert rows["fact"]["calls"] == 4 and not {"self_ns", "span_ns"} & {*rows["fact"], *r}'
status 0 "$T" report order.ttape
has out '^CALLS +FUNCTION$'
status 4 "$T" report --time 1..2 order.ttape
has err 'has no times'

# Coarse times: the tick is the unit, sums still agree.
status 0 "$T" convert in.txt -o coarse.ttape --resolution 64ns --partition-events 4
report coarse.ttape
cp out one.json
report --exact coarse.ttape
rows out '
for x, y in zip(json.load(open("one.json"))["rows"], r["rows"]):
    assert all(x[k] == y[k] for k in x if k != "idle_ns"), (x, y)
'

# Functions of several files of one program are one.
sed 's/^\(process\|thread\) 7/\1 8/' in.txt >in2.txt
status 0 "$T" convert in2.txt -o b.ttape
status 0 "$T" merge -o both.ttape a.ttape b.ttape
report both.ttape
rows out '
for x in json.load(open("summary.json"))["rows"]:
    y = [y for y in r["rows"] if (y["name"], y["address"]) == (x["name"], x["address"])]
    assert len(y) == 1 and y[0]["calls"] == 2 * x["calls"], (x, y)
    assert y[0]["total_ns"] == 2 * x["total_ns"] and y[0]["max_ns"] == x["max_ns"]
'
report --exact both.ttape

# Pipes, jobs.
"$T" report --json - <a.ttape >piped.json 2>err || fail "no report of a pipe"
sed 's/"standard input"/"a.ttape"/' piped.json >piped2.json
same piped2.json summary.json
report --jobs 3 --exact a.ttape
same out exact.json

# What is wrong.
status 2 "$T" report
status 2 "$T" report --by nothing a.ttape
has err "unknown kind of rows 'nothing'"
status 2 "$T" report --by name --callers fact a.ttape
status 2 "$T" report --sort nothing a.ttape
status 2 "$T" report --group '(' a.ttape
status 2 "$T" report --function '(' a.ttape
status 2 "$T" report --time 5 a.ttape
status 2 "$T" report --time 5..2 a.ttape
status 2 "$T" report --thread x a.ttape
status 4 "$T" report --thread 99 a.ttape
has err 'no such thread'
status 4 "$T" report --callers nobody a.ttape
has err "no function 'nobody'"
status 4 "$T" report in.txt
status 4 "$T" report missing.ttape

# Damage: what can be read is reported, with status 3.
python3 - <<'END'
import json, subprocess, os
data = bytearray(open("a.ttape", "rb").read())
parts = []
at = data.find(b"\xf3\x54\x54\x63\x68\x6b\xb1\x1a")
while at >= 0:
    if int.from_bytes(data[at + 8:at + 10], "little") == 4:
        parts.append(at)
    at = data.find(b"\xf3\x54\x54\x63\x68\x6b\xb1\x1a", at + 8)
data[parts[2] + 64 + 16] ^= 1  # a head
open("damaged.ttape", "wb").write(data)
open("short.ttape", "wb").write(data[:parts[4] + 30])
END
status 3 "$T" report --json damaged.ttape
has err 'F-PAR-03'
rows out 'assert r["damaged_partitions"] == 1 and r["partitions"] == 5'
status 3 "$T" report short.ttape
has err 'truncated|F-PAR-03'

# On a terminal: fits it, in colours, through a pager; not elsewhere.
grep -q $'\x1b' out && fail "colours without a terminal"
cat >terminal.py <<'END'
import os, pty, subprocess, sys
columns, pager, command = sys.argv[1], sys.argv[2], sys.argv[3:]
lead, follow = pty.openpty()
environment = dict(os.environ, COLUMNS=columns, TRACETAPE_PAGER=pager, TERM="xterm")
environment.pop("NO_COLOR", None)
child = subprocess.Popen(command, stdout=follow, stdin=subprocess.DEVNULL, env=environment)
os.close(follow)
data = b""
while True:
    try:
        more = os.read(lead, 65536)
    except OSError:
        break
    if not more:
        break
    data += more
sys.stdout.buffer.write(data.replace(b"\r\n", b"\n"))
sys.exit(child.wait())
END
status 0 python3 terminal.py 60 cat "$T" report a.ttape
checks=$((checks + 1))
grep -q $'\x1b\\[1m' out || fail "no colours on a terminal"
sed $'s/\x1b\\[[0-9;]*m//g' out >plain.txt
checks=$((checks + 1))
[ "$(sed 1d plain.txt | wc -L)" -le 60 ] || fail "wider than the terminal: $(wc -L <plain.txt)"
has plain.txt 'TOTAL +SELF .*CALLS .*FUNCTION'
status 0 python3 terminal.py 200 "sed 's/^/> /'" "$T" report a.ttape
has out '^> .*TOTAL'
status 0 python3 terminal.py 200 "sed 's/^/> /'" "$T" report --no-pager a.ttape
checks=$((checks + 1))
grep -q '^> ' out && fail "a pager with --no-pager"
status 0 python3 terminal.py 200 "sed 's/^/> /'" "$T" report --json a.ttape
checks=$((checks + 1))
grep -q '^> ' out && fail "a pager for JSON"
status 0 python3 terminal.py 200 "head -n 1" "$T" report a.ttape
lines out 1
status 0 python3 terminal.py 200 /nonexistent/pager "$T" report a.ttape

# Hostile names do nothing.
printf '0 1 enter "\\x1b[31mred"\n5 1 enter "a\\x00b"\n6 1 exit\n9 1 exit\n' |
    "$T" convert - -o hostile.ttape
for options in "" "--by call" "--group a" "--json" "--callers 0x0"; do
    # shellcheck disable=SC2086 # words
    "$T" report $options hostile.ttape >out 2>err
    clean out
    clean err
done
# Deep stacks in little memory: where a half of it does not suffice, one thread has all of it.
awk 'BEGIN { for (t = 1; t <= 2; t++) { for (i = 0; i < 60000; i++) print i, t, "enter f" i % 50
    for (; i < 120000; i++) print i, t, "exit" } }' | "$T" convert - -o deep.ttape -p 120000
report --exact -j 1 --memory 12M deep.ttape
cp out want.json
report --exact -j 2 --memory 12M deep.ttape
same out want.json
verdict
