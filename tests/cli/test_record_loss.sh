#!/usr/bin/env bash
# A recorder that does not keep up: what is lost is counted, where it is lost the trace says so,
# and all that follows is right; with --block nothing is lost.
. "${TTAPE_SRC:?}/tests/cli/common.sh"
. "${TTAPE_SRC:?}/tests/cli/record_programs.sh"
make_stepper

# The whole, for comparison.
fresh
touch go1 go2 go3
status 0 "$T" record --no-patch -q -o ref.ttape --block --clock none ./stepper 12000 100 100
csv ref.ttape
equals "$(field ref.ttape lost)" 0 'events lost with --block'

# lost FILE: events that gaps count, and those that no gap stands for
lost() { echo $(($(field "$1" lost) + $(field "$1" dropped_events))); }

call_events() { grep -cE ',(enter|exit),' "$1"; }

# start OPTION...: with the recorder stopped while the program takes its first step
start() {
    fresh
    background "$T" record --no-patch -f -o got.ttape --buffer 128K "$@" ./stepper 12000 100 100
    await pid
    sleep 0.2
    kill -STOP "$job"
    touch go1
}

finish() {
    kill -CONT "$job"
    await done1
    step 2
    status 0 "$T" control "$job" flush # there is room again
    step 3
}

for clock in tsc none; do
    start --clock $clock
    await done1
    finish
    ended 3
    has bg.err 'events were lost'
    status 0 "$T" verify got.ttape
    csv got.ttape
    has got.ttape.csv ',gap,'
    status 0 model resumed ref.ttape.csv got.ttape.csv "$(lost got.ttape)"
    "$T" dump got.ttape --format ndjson >got.ndjson
    has got.ndjson '"lost":[1-9][0-9]*,"reason":"overflow"'
    absent got.ttape.recording
done

start --block --clock tsc
sleep 0.5
absent done1
finish
ended 0
status 0 "$T" verify got.ttape
equals "$(field got.ttape lost)" 0 'events lost with --block'
csv got.ttape
status 0 model same ref.ttape.csv got.ttape.csv

# A program that waits for a recorder that died goes on after a while.
start --block
sleep 0.3
kill -KILL "$job"
await done1
step 2
step 3
wait "$job" 2>/dev/null
has got.ttape.recording/journal '.'
rm -rf got.ttape.recording

# Encoding is what is slow.
fresh
touch go1 go2 go3
status 0 "$T" record --no-patch -q -f -o got.ttape --buffer 256K --spill 256K --level 9 --block \
    ./stepper 12000 100 100
csv got.ttape
status 0 model same ref.ttape.csv got.ttape.csv
fresh
touch go1 go2 go3
got=0
"$T" record --no-patch -q -f -o got.ttape --buffer 128K --spill 1K --level 9 \
    ./stepper 12000 100 100 2>err || got=$?
lost=$(lost got.ttape)
equals "$got" $((lost > 0 ? 3 : 0)) "status with $lost events lost"
csv got.ttape
equals $(($(call_events got.ttape.csv) + lost)) "$(call_events ref.ttape.csv)" \
    'calls recorded and lost'
verdict
