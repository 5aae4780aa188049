#!/usr/bin/env bash
# Complete copies of a trace while it is recorded: when a function is entered, every so often; what
# happens where one cannot be written.
. "${TTAPE_SRC:?}/tests/cli/common.sh"
. "${TTAPE_SRC:?}/tests/cli/record_programs.sh"
make_stepper

start() {
    fresh
    local words=()
    while [ "$1" != -- ]; do words+=("$1"); shift; done
    background "$T" record --no-patch -f -o got.ttape "${words[@]}" ./stepper "${@:2}"
    await pid
}

# steps FILE: which steps are in it
steps() {
    csv "$1"
    awk -F, '$4 == "enter" && $7 ~ /^step_/ { printf "%s ", $7 }' "$1.csv"
}

# ---- when a function is entered ----
start --checkpoint 'step_1$' --checkpoint '^step_3' -- 50 50 50 50
step 1
await got.ttape.snapshot-1
step 2
step 3
await got.ttape.snapshot-2
step 4
ended 0
has bg.err "2 copies were made while it was recorded: 'got.ttape.snapshot-N'"
! grep -q 'no copy of their own' bg.err || fail 'each entry has a copy'
equals "$(steps got.ttape)" 'step_1 step_2 step_3 step_4 ' 'steps in the whole'
equals "$(called got.ttape.csv leaf)" 400 'calls in the whole'
equals "$(steps got.ttape.snapshot-1)" 'step_1 ' 'steps in the first copy'
equals "$(steps got.ttape.snapshot-2)" 'step_1 step_2 step_3 ' 'steps in the second'
for copy in 1 2; do # up to the entry, and not a call further
    equals "$(tail -n 1 got.ttape.snapshot-$copy.csv | cut -d, -f4,7)" \
        "enter,step_$((copy * 2 - 1))" 'the last event of a copy'
    equals "$(field got.ttape.snapshot-$copy checkpoint_hit)" $copy 'which entry'
    equals "$(field got.ttape.snapshot-$copy checkpoint_ns)" \
        "$(field got.ttape.snapshot-$copy time_last_ns)" 'when it was'
done
for file in got.ttape got.ttape.snapshot-1 got.ttape.snapshot-2; do
    status 0 "$T" verify $file
done
[ ! -e got.ttape.snapshot-3 ] || fail 'there is a third copy'
rm -f got.ttape*

# One that is entered all the time: as many as there are, all are complete.
start --checkpoint '^leaf$' -- 4000 4000
step 1
await got.ttape.snapshot-1
step 2
ended 0
equals "$(called <("$T" dump got.ttape --format csv) leaf)" 16000 'calls beside many copies'
has bg.err 'of 16000 entries of --checkpoint.s functions have no copy of their own'
for file in got.ttape.snapshot-*; do
    status 0 "$T" verify "$file"
done
rm -f got.ttape*

# ---- every so often ----
start --checkpoint-every 10ms -- 50 50
step 1
await got.ttape.snapshot-1
step 2
ended 0
status 0 "$T" verify got.ttape.snapshot-1
status 0 "$T" verify got.ttape
rm -f got.ttape*

# ---- where it cannot be written ----
start --checkpoint 'step_2' -- 50 50 50
step 1
touch got.ttape.recording/snapshot
step 2
until_true grep -q snapshot bg.err
step 3
ended 0
[ ! -e got.ttape.snapshot-1 ] || fail 'a copy that could not be written is there'
equals "$(steps got.ttape)" 'step_1 step_2 step_3 ' 'steps where no copy could be written'
status 0 "$T" verify got.ttape

status 2 "$T" record --no-patch --checkpoint x --no-symbols true
status 2 "$T" record --no-patch --checkpoint-every soon true
verdict
