#!/usr/bin/env bash
# A trace cut into ten and merged again is the trace; different traces lie side by side.
. "${TTAPE_SRC:?}/tests/cli/common.sh"

# Three threads that take turns, with frames open across every boundary, values and gaps.
awk 'BEGIN { for (t = 1; t <= 3; t++) print "0 " t " enter main" t
    for (i = 1; i <= 6000; i++) { t = i % 3 + 1
        if (i % 50 < 25) print i * 10, t, "enter f" i % 11, i; else print i * 10, t, "exit -", i
        if (i % 997 == 0) print i * 10, t, "gap", i } }' >in.txt
"$T" convert in.txt -o a.ttape --partition-events 700 2>err
status 0 "$T" verify a.ttape
status 0 "$T" dump a.ttape --format csv
cp out a.csv
status 0 "$T" dump a.ttape --format ndjson
cp out a.ndjson

compare() { # NAME PIECE...
    local name=$1
    shift
    status 0 "$T" merge -o "$name.ttape" --force "$@"
    status 0 "$T" verify "$name.ttape"
    status 0 "$T" dump "$name.ttape" --format csv
    same out a.csv
    status 0 "$T" dump "$name.ttape" --format ndjson
    same out a.ndjson
}

pieces=()
for i in $(seq 0 9); do
    status 0 "$T" cut a.ttape -o "time$i.ttape" --time $((i * 6100))..$((i * 6100 + 6100))
    status 0 "$T" verify "time$i.ttape"
    pieces+=("time$i.ttape")
done
compare times "${pieces[@]}"
compare shuffled time3.ttape time9.ttape time0.ttape time7.ttape time1.ttape time2.ttape \
    time8.ttape time4.ttape time6.ttape time5.ttape

pieces=()
for i in $(seq 0 9); do
    status 0 "$T" cut a.ttape -o "event$i.ttape" --events $((i * 250))..$((i * 250 + 250))
    pieces+=("event$i.ttape")
done
compare events "${pieces[@]}"

status 0 "$T" info --json a.ttape
count=$(python3 -c 'import json; print(json.load(open("out"))["partitions"])')
status 0 "$T" cut a.ttape -o p1.ttape --partition 0..4
status 0 "$T" cut a.ttape -o p2.ttape --partition "4..$count"
compare parts p2.ttape p1.ttape

for i in 1 2 3; do
    status 0 "$T" cut a.ttape -o "tid$i.ttape" --thread $i
    status 0 "$T" dump "tid$i.ttape" --format csv
    awk -F, -v t=$i 'NR == 1 || $2 == t' a.csv >want.csv
    same out want.csv
done

# A piece knows its place, and what is open at its start.
status 0 "$T" info time5.ttape
has out 'from event'
status 0 "$T" dump time5.ttape --format csv
awk -F, 'NR == 1 || ($3 >= 30500 && $3 < 36600)' a.csv >want.csv
same out want.csv

# Pieces that overlap are refused.
status 0 "$T" cut a.ttape -o over.ttape --events 100..300
status 4 "$T" merge -o no.ttape event0.ttape over.ttape
has err 'both hold event'
absent no.ttape

# Two traces: every event of both, each with streams of its own.
calls 50 >other.txt
status 0 "$T" convert other.txt -o other.ttape
status 0 "$T" merge -o both.ttape a.ttape other.ttape
status 0 "$T" verify both.ttape
status 0 "$T" dump both.ttape --format csv
lines out $(($(wc -l <a.csv) + 102))
status 0 "$T" merge -o one.ttape a.ttape
status 0 "$T" dump one.ttape --format csv
same out a.csv
status 2 "$T" merge -o none.ttape
status 4 "$T" merge -o none.ttape in.txt
absent none.ttape
# Times whose ticks reach past 2^63 ns, where rounding took them: a piece says the same ones.
cat >far.txt <<'END'
0 1 enter a
9223372036854774999 1 enter b
9223372036854775807 1 enter c
9223372036854775807 1 exit
9223372036854775807 1 exit
9223372036854775807 1 exit
END
status 0 "$T" convert far.txt -o far.ttape --resolution 1us
status 0 "$T" dump far.ttape --format csv
has out '^0,1,9223372036854776000,enter,2,0x0,c$'
tail -n +3 out >want.csv
status 0 "$T" cut far.ttape -o near.ttape --events 1..6
status 0 "$T" verify near.ttape
status 0 "$T" dump near.ttape --format csv
tail -n +2 out >got.csv
same got.csv want.csv
status 0 "$T" report far.ttape --exact --json
cp out want.json
status 0 "$T" cut far.ttape -o first.ttape --events 0..1
status 0 "$T" merge -o whole.ttape first.ttape near.ttape
status 0 "$T" report whole.ttape --exact --json
sed -i '/file/d; /partitions/d' out want.json
same out want.json
verdict
