#!/usr/bin/env bash
# The harness reports what it must: each kind of bug that fuzz/target_canary.c has in it ends the
# run as a crash, leaves the input behind, and is found by mutation as well.
set -uo pipefail
canary=${TTAPE_BUILD:?}/fuzz/fuzz_canary
work=$(mktemp -d "${TMPDIR:-/tmp}/ttape-canary.XXXXXX") || exit 1
cd "$work" || exit 1
trap 'cd /; rm -rf "$work"' EXIT
failures=0
fail() {
    failures=$((failures + 1))
    printf 'FAILED: %s\n' "$*"
}

# crashes TEXT PATTERN: an input of that text is a crash, and the report says so
crashes() {
    printf '%s' "$1" >input
    rm -f crash-fuzz_canary
    "$canary" input >out 2>&1
    local got=$?
    [ "$got" -ne 0 ] && [ "$got" -ne 2 ] || fail "'$1' ends with status $got"
    grep -qE "$2" out || fail "'$1' is reported as: $(head -n 3 out)"
    cmp -s input crash-fuzz_canary || fail "'$1' was not kept"
}

printf 'BUG' >input
"$canary" input >out 2>&1 || fail "a harmless input fails: $(cat out)"
crashes 'BUG!' 'does not hold: size == 0'
crashes 'BUGM' 'does not hold: .*limit_bytes'
crashes 'BUGL' 'does not hold: .*used_bytes == 0'
case ${TTAPE_SANITIZE:-} in
    *address*) crashes 'BUGO' 'heap-buffer-overflow' ;;
esac
printf 'BUG?' >input
"$canary" --mutate 200000 input >out 2>&1 && fail "mutation does not find the bug: $(cat out)"
grep -q 'does not hold\|ERROR' out || fail "the mutant is not reported: $(cat out)"
"$canary" >out 2>&1
[ $? -eq 2 ] || fail "nothing to run is no error"
"$canary" missing >out 2>&1
[ $? -eq 2 ] || fail "a missing input is no error"
if [ "$failures" -gt 0 ]; then
    exit 1
fi
printf 'ok\n'
