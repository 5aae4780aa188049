#!/usr/bin/env bash
# Pipes in and out, a reader that goes away, ranges and limits.
. "${TTAPE_SRC:?}/tests/cli/common.sh"

calls 20000 >in.txt
status 0 "$T" convert in.txt -o a.ttape --partition-events 5000
status 0 "$T" dump a.ttape --format csv
cp out a.csv
lines a.csv 40003

"$T" convert - -o - <in.txt | "$T" dump --format csv - >out || fail "dump of a pipe"
same out a.csv
"$T" convert in.txt -o - | "$T" verify - >out || fail "verify of a pipe"
has out '^standard input: ok$'
"$T" convert in.txt -o - | "$T" info - >out || fail "info of a pipe"
has out '^events +40002 in 1 partition;'
"$T" convert in.txt -o - | "$T" cut - -o - --events 10..20 | "$T" dump --format csv - >out ||
    fail "cut in a pipe"
lines out 11

# The reader goes away: no message, no crash.
for format in text csv ndjson; do
    checks=$((checks + 1))
    "$T" dump a.ttape --format $format 2>err | head -n 1 >out
    got=${PIPESTATUS[0]}
    [ "$got" -eq 0 ] || [ "$got" -eq 141 ] || fail "dump --format $format | head: status $got"
    [ ! -s err ] || fail "dump --format $format | head: $(cat err)"
    lines out 1
done
(trap '' PIPE; "$T" dump a.ttape --format csv 2>err | head -n 1 >/dev/null)
[ ! -s err ] || fail "with SIGPIPE ignored: $(cat err)"

# The same of each verb that prints; and a terminal of one column changes no status.
for words in "tree" "tree --full" "tree --json" "report" "report --json" "graph" \
    "graph --format dot" "info --all" \
    "verify" "export --format chrome -o -" "export --format folded -o -"; do
    checks=$((checks + 1))
    # shellcheck disable=SC2086 # words
    "$T" $words a.ttape 2>err | head -n 1 >/dev/null
    got=${PIPESTATUS[0]}
    [ "$got" -eq 0 ] || [ "$got" -eq 141 ] || fail "$words | head: status $got"
    [ ! -s err ] || fail "$words | head: $(cat err)"
    # shellcheck disable=SC2086 # words
    COLUMNS=1 LC_ALL=C TZ=Antarctica/Troll status 0 "$T" $words a.ttape
    [ -s out ] || fail "$words in one column says nothing"
done

# Limits and ranges.
for format in text csv ndjson; do
    status 0 "$T" dump a.ttape --format $format --limit 7
    [ $format = ndjson ] && lines out 7 || lines out 8 # a header line is not counted
done
status 0 "$T" dump a.ttape --format csv --events 5..9
sed -n '1p;7,10p' a.csv >want.csv
same out want.csv
status 0 "$T" dump a.ttape --format csv --events 40000..
lines out 3
status 0 "$T" dump a.ttape --format csv --events 99999..
lines out 1
status 0 "$T" dump a.ttape --format csv --time 100ns..0.2us
awk -F, 'NR == 1 || ($3 >= 100 && $3 < 200)' a.csv >want.csv
same out want.csv
status 0 "$T" dump a.ttape --format csv --time +100..+200
same out want.csv
status 0 "$T" dump a.ttape --format csv --time 150us..
awk -F, 'NR == 1 || $3 >= 150000' a.csv >want.csv
same out want.csv
status 4 "$T" dump a.ttape --format csv --time ..0
lines out 0
status 0 "$T" dump a.ttape --format csv --thread 1
same out a.csv
status 4 "$T" dump a.ttape --thread 99
status 0 "$T" dump a.ttape --format csv --stream 0 --events 3..6
lines out 4

# Exits of frames that were open at the start of a range have durations.
status 0 "$T" dump a.ttape --events 40001..
has out '200 us +\} /\* main \*/'

# Strange surroundings.
LC_ALL=C COLUMNS=1 TZ=Antarctica/Troll "$T" dump a.ttape --format csv >out || fail "strange locale"
same out a.csv
verdict
