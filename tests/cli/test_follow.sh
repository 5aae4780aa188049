#!/usr/bin/env bash
# record --live and dump --follow: events are printed soon after they happen, in every format what
# a dump of the finished file prints; beginnings, ends and interruptions.
. "${TTAPE_SRC:?}/tests/cli/common.sh"
. "${TTAPE_SRC:?}/tests/cli/record_programs.sh"
make_stepper

# follow FILE OUT OPTION...: in the background, its number in $follower
follow() {
    env --default-signal=INT "$T" dump --follow "$1" "${@:3}" >"$2" 2>"$2.err" </dev/null &
    follower=$!
}

# followed STATUS
followed() {
    local got=0
    checks=$((checks + 1))
    wait "$follower" 2>/dev/null || got=$?
    [ $got -eq "$1" ] || fail "the follower's status is $got instead of $1"
}

# has_open PROCESS NAME: whether it has a file of that name
has_open() { readlink "/proc/$1/fd"/* 2>/dev/null | grep -q "/$2\$"; }

# looks PROCESS: whether it is a follower that sleeps until it looks again
looks() { grep -q '^Name:.tracetape' "/proc/$1/status" && grep -q '^State:.S' "/proc/$1/status"; }

# shows FILE PATTERN: waits until it does
shows() { until_true grep -qE "$2" "$1"; }

# ---- three formats, from before the file is there; event by event ----
follow live.ttape text.out
text=$follower
follow live.ttape csv.out --format csv
csv=$follower
follow live.ttape ndjson.out --format ndjson
ndjson=$follower
for follower in $text $csv $ndjson; do until_true looks "$follower"; done
fresh
background "$T" record --no-patch --live -o live.ttape ./stepper 3 3 3 3 3
for n in 1 2 3 4 5; do
    step $n
    shows csv.out "enter,.*,step_$n\$" # while the program waits for its next step
done
ended 0
for follower in $text $csv $ndjson; do followed 0; done
for format in text csv ndjson; do
    status 0 "$T" dump --format $format live.ttape
    # A call that was open at the end of a partition is not on one line, and has no duration
    # where it begins: text only.
    [ $format != text ] || for file in out text.out; do
        sed 's/ {$/;/; /^ .*} \/\* /d' $file | cut -c 1-28,38- >events
        cp events $file
    done
    same out $format.out
    same $format.out.err /dev/null
done
status 0 "$T" verify live.ttape
checks=$((checks + 1))
[ "$("$T" info --json live.ttape | python3 -c 'import json, sys
print(json.load(sys.stdin)["partitions"])')" -ge 3 ] || fail 'a live trace of a few partitions only'

# ---- several streams, and a complete file ----
build threads -pthread <<'END'
#include <pthread.h>
#include <unistd.h>
volatile int sink;
__attribute__((noinline)) int leaf(int i) { sink += i; return i; }
void *run(void *n) {
    for (int i = 0; i < 30; i++) { leaf(i); usleep(20000); }
    return n;
}
int main(void) {
    pthread_t t[3];
    for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, run, 0);
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
    return 0;
}
END
follow many.ttape csv.out --format csv
status 0 "$T" record --no-patch -q --live -o many.ttape ./threads
followed 0
status 0 "$T" dump --format csv many.ttape
sort out >wanted
sort csv.out >got
same got wanted
for stream in 0 1 2 3; do # each in its order
    grep "^$stream," out >wanted
    grep "^$stream," csv.out >got
    same got wanted
done
status 0 "$T" dump --follow many.ttape --format csv
sort out >got
sort csv.out >wanted
same got wanted
checks=$((checks + 1))
"$T" dump --follow - --format csv <many.ttape | cmp -s - csv.out || fail 'a pipe was not followed'
status 0 "$T" dump --follow many.ttape --format csv --stream 2
"$T" dump many.ttape --format csv --stream 2 >wanted
same out wanted
status 0 "$T" dump --follow many.ttape --format csv --limit 7
lines out 8
status 0 "$T" dump --follow many.ttape --format csv --events 3..5
equals "$(($(wc -l <out) - 1))" 8 'events 3 and 4 of four threads'

# ---- a file that grows by itself ----
size=$(stat -c %s many.ttape)
head -c $((size / 2)) many.ttape >part.ttape
follow part.ttape csv.out --format csv
until_true has_open "$follower" part.ttape
tail -c +$((size / 2 + 1)) many.ttape | head -c 100 >>part.ttape
sleep 0.2
kill -0 $follower || fail 'an unfinished file was not waited for'
tail -c +$((size / 2 + 101)) many.ttape >>part.ttape
followed 0
status 0 "$T" dump --follow many.ttape --format csv
same csv.out out

# ---- ends ----
follow never.ttape none.out --wait 300ms
followed 4
has none.out.err "cannot open 'never.ttape'"
status 4 "$T" dump --follow .
has err 'is not a regular file'
status 4 "$T" dump --follow stepper
has err 'not a trace'
status 2 "$T" dump --wait 1s many.ttape
status 2 "$T" dump --follow --on 'step_1 do off' many.ttape
has err '--on, --below and --no-below go without --follow'

# Ctrl-C and a reader that goes away end it at once and quietly.
fresh
background "$T" record --no-patch --live -o wait.ttape ./stepper 3000 3
follow wait.ttape csv.out --format csv
step 1
shows csv.out 'step_1'
kill -INT $follower
followed 130
same csv.out.err /dev/null
checks=$((checks + 1))
got=0
timeout 60 bash -c '"$0" dump --follow wait.ttape --format csv 2>pipe.err |
    head -n 2 >pipe.out' "$T" ||
    got=$?
equals $got 0 'status of a pipe whose reader is content'
lines pipe.out 2
same pipe.err /dev/null

# The recorder dies: so does the waiting, also of who has not come to the file's end by then.
follow wait.ttape dead.out --format csv
dead=$follower
shows dead.out 'step_1'
mkfifo slow
timeout 60 "$T" dump --follow wait.ttape --format csv >slow 2>slow.err </dev/null &
follower=$!
exec 8<slow
read -r first <&8
program=$(cat pid)
arena=$(awk '$6 ~ /\/arena$/ { print $6; exit }' "/proc/$program/maps")
kill -KILL "$job"
{ printf '%s\n' "$first"; cat <&8; } >slow.csv
exec 8<&-
followed 3
has slow.err 'nobody is writing it any more'
follower=$dead
followed 3
has dead.out.err 'nobody is writing it any more'
same slow.csv dead.out
step 2
wait "$job" 2>/dev/null
rm -rf "${arena%/arena}" wait.ttape*

# The file is removed: the same.
follow removed.ttape csv.out --format csv
head -c 2000 many.ttape >removed.ttape
until_true has_open "$follower" removed.ttape
rm removed.ttape
followed 3
verdict
