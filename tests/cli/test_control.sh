#!/usr/bin/env bash
# Steering a recording: on, off, flush, snapshot, stop and status by tracetape control, and by
# signals; who may not, and what has no recording.
. "${TTAPE_SRC:?}/tests/cli/common.sh"
. "${TTAPE_SRC:?}/tests/cli/record_programs.sh"
make_stepper

# start OPTION... -- N...: a recording of a stepper, in $job; the stepper's number in $program
start() {
    fresh
    local words=()
    while [ "$1" != -- ]; do words+=("$1"); shift; done
    background "$T" record --no-patch -f -o got.ttape "${words[@]}" "./stepper" "${@:2}"
    await pid || return
    program=$(cat pid)
}

# is_switched MODE: whether the recorder has done so
is_switched() { "$T" control "$job" status | grep -q "^mode *$1\$"; }

# says LINE: what the request says; HERE is this folder
says() { equals "$(sed "s|'$PWD/|'HERE/|" out)" "$1" 'what the request says'; }

# steps FILE: which steps are in it
steps() {
    csv "$1"
    awk -F, '$4 == "enter" && $7 ~ /^step_/ { printf "%s ", $7 }' "$1.csv"
}

# ---- on and off, by process and by recorder, by signal ----
start --off -- 50 50 50 50 50
status 0 "$T" control "$program" status
has out '^mode +off$'
has out "^output +$PWD/got.ttape$"
step 1
status 0 "$T" control "$program" on
says "process $program: recording into 'HERE/got.ttape' is on, it was off"
status 0 "$T" control "$job" status
has out '^mode +on$'
has out "^recorder +process $job$"
step 2
status 0 "$T" control "$job" off
says "process $job: recording into 'HERE/got.ttape' is off, it was on"
step 3
kill -USR1 "$job"
until_true is_switched on
step 4
kill -USR2 "$job"
until_true is_switched off
step 5
ended 0
status 0 "$T" verify got.ttape
equals "$(steps got.ttape)" 'step_2 step_4 ' 'steps while it was on'
equals "$(called got.ttape.csv leaf)" 200 'calls while it was on'
has got.ttape.csv ',gap,'

# ---- status ----
start -- 50 50
step 1
status 0 "$T" control "$program" flush
has out "^process $program: [0-9]+ events of '$PWD/got.ttape' are on disk, 0 are lost$"
status 0 "$T" control "$program" status --json
status 0 python3 - out "$job" "$program" <<'END'
import json, sys
s = json.load(open(sys.argv[1]))
assert s["mode"] == "on" and s["clock"] in ("tsc", "monotonic"), s
assert s["recorder"] == {"pid": int(sys.argv[2]), "alive": True}, s
assert s["pid"] == int(sys.argv[3]) and s["lost"] == 0 and s["snapshots"] == 0, s
assert 1 <= s["blocks"]["used"] <= s["blocks"]["ready"] <= s["blocks"]["max"], s
END
cp out status.json

# A flush puts everything into the file, as far as it goes.
status 0 "$T" info got.ttape.recording/trace.0
"$T" dump got.ttape.recording/trace.0 --format csv >flushed.csv 2>err
equals "$(called flushed.csv leaf)" 100 'calls in the file after a flush'
status 0 "$T" control "$job" off
status 0 "$T" control "$job" stop
says "process $job: recording into 'HERE/got.ttape' is stopped for good, it was off"
status 0 "$T" control "$job" status
has out '^mode +stopped$'
status 4 "$T" control "$job" on
has err 'stopped for good'
step 2
ended 0
equals "$(steps got.ttape)" 'step_1 ' 'steps before the stop'
status 0 "$T" verify got.ttape

# ---- snapshots ----
printf mine >got.ttape.snapshot-3
start -- 50 50 50 50
step 1
status 0 "$T" control "$program" snapshot
equals "$(cat out)" "$PWD/got.ttape.snapshot-1" 'what a snapshot is called'
step 2
status 0 "$T" control "$job" snapshot --json
equals "$(tr -d ' \n' <out)" "{\"snapshot\":[\"$PWD/got.ttape.snapshot-2\"]}" 'its name as JSON'
step 3
"$T" control "$job" snapshot & one=$!
"$T" control "$program" snapshot & two=$!
wait $one || fail 'one of two snapshots at once'
wait $two || fail 'the other one'
status 0 "$T" control "$job" status
has out '^snapshots +[34]$' # two at once may be one
step 4
ended 0
equals "$(steps got.ttape)" 'step_1 step_2 step_3 step_4 ' 'steps in the whole'
equals "$(steps got.ttape.snapshot-1)" 'step_1 ' 'steps in the first snapshot'
equals "$(steps got.ttape.snapshot-2)" 'step_1 step_2 ' 'steps in the second'
equals "$(steps got.ttape.snapshot-4)" 'step_1 step_2 step_3 ' 'steps in the fourth'
equals "$(cat got.ttape.snapshot-3)" mine 'a file that was there'
for n in 1 2 4; do
    status 0 "$T" verify got.ttape.snapshot-$n
    equals "$(stat -c %a got.ttape.snapshot-$n)" 600 'mode of a snapshot'
    events=$(wc -l <got.ttape.snapshot-$n.csv)
    head -n "$events" got.ttape.csv >wanted
    same got.ttape.snapshot-$n.csv wanted
done
rm -f got.ttape*

# Of a flight recorder: all that it keeps; with rotation and --live the current file; with --files
# of each; before there is anything.
start --keep-last 8K --block -- 4000 4000 200
status 0 "$T" control "$program" snapshot
status 0 "$T" verify got.ttape.snapshot-1
equals "$(field got.ttape.snapshot-1 events)" 1 'events of an early snapshot'
step 1
status 0 "$T" control "$program" snapshot
status 0 "$T" verify got.ttape.snapshot-2
equals "$(($(field got.ttape.snapshot-2 events) +
    $(field got.ttape.snapshot-2 overwritten_events)))" \
    24003 'events kept and overwritten until the snapshot'
step 2
status 0 "$T" control "$program" snapshot
step 3
ended 0
equals "$(($(field got.ttape.snapshot-3 events) +
    $(field got.ttape.snapshot-3 overwritten_events)))" \
    48005 'events kept and overwritten until the next'
equals "$(field got.ttape.snapshot-3 scopes)" 1 'scopes of a snapshot'
rm -f got.ttape*
start --live -- 50 50
step 1
status 0 "$T" control "$program" snapshot
step 2
ended 0
status 0 "$T" verify got.ttape.snapshot-1
equals "$(steps got.ttape.snapshot-1)" 'step_1 ' 'steps in the snapshot of a live trace'
rm -f got.ttape*
start --rotate 4K --block -- 4000 50 50
step 1
status 0 "$T" control "$program" snapshot
step 2
step 3
ended 0
status 0 "$T" verify got.ttape.snapshot-1
rm -f got*ttape*
start --files -- 50 50
step 1
status 0 "$T" control "$program" snapshot
equals "$(cat out)" "$PWD/got.$program-0.ttape.snapshot-1" 'what a snapshot of a file is called'
step 2
ended 0
status 0 "$T" verify "got.$program-0.ttape.snapshot-1"
equals "$(steps "got.$program-0.ttape.snapshot-1")" 'step_1 ' 'steps in a snapshot of a file'

# A snapshot that cannot be written is a failure of the snapshot, and of nothing else.
rm -rf got*ttape* sub
mkdir sub
fresh
background "$T" record --no-patch -f -o sub/got.ttape ./stepper 50 50
await pid
step 1
touch sub/got.ttape.recording/snapshot
status 4 "$T" control "$(cat pid)" snapshot
has err 'could not write the snapshot'
step 2
ended 0
has bg.err 'snapshot'
status 0 "$T" verify sub/got.ttape
equals "$(steps sub/got.ttape)" 'step_1 step_2 ' 'steps of a recording whose snapshot failed'

# ---- what cannot be steered ----
status 2 "$T" control
status 2 "$T" control 1
status 2 "$T" control one on
status 2 "$T" control 1 dance
status 2 "$T" control 1 on --json
status 4 "$T" control 4194305 on
has err 'there is no process 4194305'
status 4 "$T" control $$ status
has err "process $$ is not being recorded"
sleep 600 & sleeper=$!
status 4 "$T" control $sleeper off
has err 'is not being recorded'

# Files that are called like an arena and are none.
build pretender <<'END'
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <stdio.h>
int main(int argc, char **argv) {
    mkdir(argv[1], 0700);
    chdir(argv[1]);
    int fd = open("arena", O_RDWR | O_CREAT, 0600);
    ftruncate(fd, 1 << 20);
    void *p = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ((unsigned char *)p)[0] = 7;
    if (argc > 2) fchmod(fd, 0644);
    fclose(fopen("../pretends", "w"));
    sleep(600);
    return p == 0;
}
END
rm -f pretends
./pretender 'a b' & pretender=$!
await pretends
status 4 "$T" control $pretender status
has err 'is not being recorded'
kill $pretender
rm -f pretends
./pretender $'line\nfeed' open & pretender=$!
await pretends
status 4 "$T" control $pretender status
has err 'is recorded by somebody else'
kill $pretender $sleeper
wait $pretender $sleeper 2>/dev/null

if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
    nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    cp "$T" other && chmod 755 other && chmod 711 "$work"
    if "${nobody[@]}" ./other --version >/dev/null 2>&1; then
        status 4 "${nobody[@]}" ./other control $$ status
        has err 'it is not yours'
    fi
    chmod 700 "$work"
fi

# ---- a recorder that is gone ----
start -- 50 50
arena=$(awk '$6 ~ /\/arena$/ { print $6; exit }' "/proc/$program/maps")
kill -KILL "$job"
wait "$job" 2>/dev/null
status 0 "$T" control "$program" status
has out 'which is gone'
status 4 "$T" control "$program" flush
has err 'is gone'
status 4 "$T" control "$program" snapshot
status 0 "$T" control "$program" stop
status 0 "$T" control "$program" status
has out '^mode +stopped$'
rm -r "${arena%/arena}" got.ttape.recording

# Its arena is gone as well: the recording has ended. (Root may look at it all the same.)

"$T" control "$program" on 2>err && fail 'a recording that has ended was switched on'
has err 'has ended|stopped for good'
step 1
step 2
verdict
