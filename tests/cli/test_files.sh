#!/usr/bin/env bash
# What is no trace, what must not be replaced, what must not be left behind.
. "${TTAPE_SRC:?}/tests/cli/common.sh"

calls 20 >in.txt
status 0 "$T" convert in.txt -o a.ttape
cp a.ttape copy
status 4 "$T" convert in.txt -o a.ttape
has err 'exists already'
same a.ttape copy
status 0 "$T" convert in.txt -o a.ttape --force
same a.ttape copy
status 4 "$T" cut a.ttape -o a.ttape --events 0..4
same a.ttape copy
status 0 "$T" cut a.ttape -o a.ttape --events 0..4 --force
status 0 "$T" verify a.ttape
cp copy a.ttape

# Inputs that are no traces: one line, no hang.
mkdir folder
mkfifo fifo
: >empty
head -c 100000 /dev/zero >zeros
noise 100000 >random
(printf '[]' && cat random) >behind # starts like an array of no events
truncate -s 1P sparse 2>/dev/null || truncate -s 1T sparse
for verb in info verify dump; do
    for path in folder fifo empty zeros random behind sparse /dev/zero /dev/null; do
        got=0
        timeout 60 "$T" "$verb" "$path" >out 2>err </dev/null || got=$?
        checks=$((checks + 1))
        case $verb-$got in
            verify-1 | *-4) ;;
            *) fail "$verb $path: status $got" ;;
        esac
        clean err
        [ "$(wc -l <err)" -le 1 ] || fail "$verb $path: more than one line of messages"
    done
done
for path in folder fifo zeros random /dev/zero; do
    status 4 timeout 60 "$T" convert "$path" -o no.ttape
    lines err 1
done
status 4 "$T" convert behind -o no.ttape
absent no.ttape
status 4 "$T" convert folder -o no.ttape --from-format uftrace
status 0 "$T" convert empty -o empty.ttape
status 0 "$T" verify empty.ttape
status 0 "$T" dump empty.ttape --format csv
lines out 1

# Outputs that cannot be.
status 4 "$T" convert in.txt -o folder
status 4 "$T" convert in.txt -o missing/x.ttape
status 4 "$T" convert in.txt -o /dev/full
status 0 "$T" convert in.txt -o /dev/null
[ -c /dev/null ] || fail "/dev/null was replaced"
checks=$((checks + 1))
"$T" dump a.ttape >/dev/full 2>err && fail "dump to a full device succeeds"
has err 'cannot write standard output'
"$T" info a.ttape >/dev/full 2>err && fail "info to a full device succeeds"
"$T" info a.ttape >&- 2>err && fail "info to a closed output succeeds"
has err 'cannot write standard output'
"$T" --help >&- 2>err && fail "help to a closed output succeeds"
rm -f fifo sparse
alone in.txt a.ttape copy folder empty zeros random behind empty.ttape

# An interrupt leaves nothing behind, and the shell sees the signal.
mkfifo feed
for signal in INT TERM HUP; do
    (
        trap - "$signal"
        exec "$T" convert - -o interrupted.ttape <feed
    ) &
    child=$!
    exec 9>feed
    calls 20000 >&9 # more than it reads before it writes
    for _ in $(seq 1200); do
        ls -A | grep -q interrupted && break
        sleep 0.05
    done
    [ -n "$(ls -A | grep interrupted)" ] || fail "nothing to leave behind before SIG$signal"
    kill -"$signal" "$child"
    exec 9>&-
    wait "$child" 2>/dev/null
    got=$?
    checks=$((checks + 1))
    if [ "$signal" = INT ] && [ "$got" -eq 0 ]; then
        # A shell without job control starts background commands with SIGINT ignored.
        rm -f interrupted.ttape
    elif [ "$got" -le 128 ]; then
        fail "status $got after SIG$signal"
    fi
    [ -z "$(ls -A | grep interrupted)" ] || fail "left after SIG$signal: $(ls -A | grep interr)"
done

# Every truncation of a trace ends well, and the longest ones with what is there.
calls 4000 >long.txt
status 0 "$T" convert long.txt -o long.ttape --partition-events 500
size=$(stat -c %s long.ttape)
for cut in 0 1 63 64 65 200 1000 $((size / 3)) $((size / 2)) $((size - 200)) $((size - 1)); do
    head -c "$cut" long.ttape >short.ttape
    for verb in info verify dump; do
        got=0
        timeout 60 "$T" "$verb" short.ttape >out 2>err || got=$?
        checks=$((checks + 1))
        [ "$got" -le 4 ] && [ "$got" -ne 2 ] || fail "$verb of $cut bytes: status $got"
    done
done
head -c $((size / 2)) long.ttape >short.ttape
status 3 "$T" dump short.ttape --format csv
[ "$(wc -l <out)" -gt 500 ] || fail "a truncated file gives $(wc -l <out) lines"
lines err 1
has err 'truncated'
status 1 "$T" verify short.ttape
status 3 "$T" info short.ttape
has out 'truncated'
# what is no trace any more afterwards is never written over its input, by no name
printf '0 1 enter f\n5 1 exit\n' >own.txt
status 0 "$T" convert own.txt -o own.ttape
ln own.txt link.txt
ln -s own.ttape soft.ttape
cat own.txt own.ttape >own.before
for name in own.txt ./own.txt link.txt; do
    status 4 "$T" convert own.txt -o "$name" --force
    has err 'in place'
done
for name in own.ttape soft.ttape; do
    for format in folded sqlite chrome; do
        status 4 "$T" export own.ttape --format "$format" -o "$name" --force
        has err 'in place'
    done
done
cat own.txt own.ttape >own.after
same own.before own.after
verdict
