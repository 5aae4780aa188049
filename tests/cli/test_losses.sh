#!/usr/bin/env bash
# Losses are told by every verb that counts or draws: one line on standard error, a field in JSON, a
# mark in pictures; and by none of them where nothing was lost.
. "${TTAPE_SRC:?}/tests/cli/common.sh"

calls 30 >whole.txt
awk '{ print }
    NR == 9 { print $1 + 1, 1, "gap 70 overflow" }
    NR == 20 { print $1 + 1, 1, "gap 7 overflow" }' whole.txt >lossy.txt
status 0 "$T" convert whole.txt -o whole.ttape
status 0 "$T" convert lossy.txt -o lossy.ttape
status 0 "$T" info lossy.ttape
has out '^lost +2 gaps, 77 events$'

# told VERB OPTION...: with and without a loss
told() {
    local verb=$1
    shift
    status 0 "$T" "$verb" whole.ttape "$@"
    lines err 0
    status 0 "$T" "$verb" lossy.ttape "$@"
    lines err 1
    has err "^tracetape: 'lossy.ttape' lost 77 events when it was recorded: "
}

# number FILE KEY WANTED
number() {
    checks=$((checks + 1))
    python3 -c 'import json, sys
sys.exit(json.load(open(sys.argv[1]))[sys.argv[2]] != int(sys.argv[3]))' "$@" || fail "$*"
}

told report
told report --by thread
told tree
told graph
told graph --summary
told slow
told last
told cut --events 0..40 -o part.ttape --force
told merge -o merged.ttape --force
told convert -o converted.ttape --force
told dump --last 3
told dump --function .
for format in folded csv chrome speedscope callgrind; do
    told export --format "$format" -o /dev/null
done
for verb in report tree graph slow last; do
    told $verb --json
    number out lost_events 77
    status 0 "$T" $verb whole.ttape --json
    number out lost_events 0
done
told graph --format dot
has out 'label="lossy.ttape\\l77 events were lost\\l"'
status 0 "$T" graph --format dot whole.ttape
if grep -q 'events were lost' out; then fail 'a picture of a whole trace is marked'; fi

# What reads a recording beside other files: the value of a call, and its edges.
for trace in whole lossy; do
    "$T" context --recording $trace.ttape 0000000000000001/1 >out 2>err
    "$T" callgraph "$(command -v sh)" --graph $trace.ttape >out 2>graph
    for said in err graph; do
        checks=$((checks + 1))
        wanted=$([ $trace = lossy ] && echo 1 || echo 0)
        [ "$(grep -c "'lossy.ttape' lost 77 events" $said)" = "$wanted" ] ||
            fail "$trace: $said: $(cat $said)"
    done
done

# The last calls of a thread, and where events between them are lost.
status 0 "$T" last lossy.ttape --limit 60
has out '^ +\(70 events were lost here\)$'
has out '^ +\(7 events were lost here\)$'
[ "$(grep -n 'lost here' out | wc -l)" = 2 ] || fail 'last: more gaps than there are'
status 0 "$T" last lossy.ttape --limit 60 --json
checks=$((checks + 1))
python3 - out <<'END' || fail 'last: JSON'
import json, sys
thread = json.load(open(sys.argv[1]))["threads"][0]
sys.exit(sum(call["lost_before"] for call in thread["calls"]) + thread["lost_after"] != 77)
END

# Chrome's and Perfetto's pictures: where, how many, why.
status 0 "$T" export --format chrome whole.ttape -o -
if grep -qE 'lost_events|"gap"' out; then fail 'a picture of a whole trace is marked'; fi
status 0 "$T" export --format chrome lossy.ttape -o -
has out '"lost_events":"77"'
for lost in 70 7; do
    has out "\"ph\":\"i\".*\"name\":\"gap\",\"args\":\{\"reason\":\"overflow\",\"lost\":$lost\}"
done
if "$T" export --help | grep -q perfetto; then
    status 0 "$T" export --format perfetto lossy.ttape -o lossy.pftrace --force
    checks=$((checks + 1))
    [ "$(grep -aoc 'overflow' lossy.pftrace)" -gt 0 ] || fail "Perfetto's picture has no mark"
fi

status 0 "$T" diff whole.ttape lossy.ttape
lines err 1
status 0 "$T" diff lossy.ttape lossy.ttape --json
lines err 2
number out lost_events_a 77
number out lost_events_b 77
status 0 "$T" diff whole.ttape whole.ttape
lines err 0

# What was left out on purpose is no loss.
if command -v "${TTAPE_CC:-cc}" >/dev/null; then
    printf 'int f(int a) { return a + 1; }
int main(void) { int s = 0; for (int i = 0; i < 500; i++) s = f(s); return s == 0; }\n' >prog.c
    "${TTAPE_CC:-cc}" -O1 -finstrument-functions -o prog prog.c || exit 1
    status 0 "$T" record -q -o culled.ttape --function '^f$' --min-time 10s ./prog
    status 0 "$T" info culled.ttape
    has out '^lost +1 gaps, 1000 events$'
    status 0 "$T" report culled.ttape
    lines err 0
    status 0 "$T" report culled.ttape --json
    number out lost_events 0
fi
verdict
