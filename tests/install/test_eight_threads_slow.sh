#!/usr/bin/env bash
# Eight threads ask one open trace of many partitions at once, by a program on the library alone;
# ThreadSanitizer watches both.
set -euo pipefail

source=${TTAPE_SRC:?}
compiler=${TTAPE_CC:-cc}
fail() { printf 'FAILED: %s\n' "$1"; exit 1; }

[ -z "${TTAPE_SANITIZE:-}" ] || { echo "SKIPPED: it builds a library of its own"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake -S "$source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTTAPE_SANITIZE=thread \
    "-DCMAKE_C_COMPILER=$compiler" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cmake --build "$work/build" --target tracetape >"$work/log" 2>&1 || { tail "$work/log"; exit 1; }
"$compiler" -std=c11 -O1 -g -fsanitize=thread -pthread "-I$source/libtrace/include" \
    -o "$work/eight" "$source/examples/eight/eight.c" "$work/build/libtracetape.so" \
    "-Wl,-rpath,$work/build"
awk 'BEGIN { for (i = 0; i < 20000; i++) {
    print 100 * i, i % 4 + 1, "enter", "outer" i % 17
    print 100 * i + 10, i % 4 + 1, "enter inner" i % 5
    print 100 * i + 50, i % 4 + 1, "exit"
    print 100 * i + 90, i % 4 + 1, "exit" } }' >"$work/run.txt"
"${TTAPE_BIN:?}" convert "$work/run.txt" -o "$work/run.ttape" --partition-events 1000
export TSAN_OPTIONS=halt_on_error=1
for round in 1 2 3 4 5; do
    "$work/eight" "$work/run.ttape" >"$work/said" || fail "round $round: status $?"
    [ "$(wc -l <"$work/said")" -eq 8 ] || fail "round $round: not eight answers"
    [ "$(sort -u "$work/said" | wc -l)" -eq 1 ] || fail "round $round: other answers"
    grep -q '^40000 calls, ' "$work/said" || fail "round $round: $(head -1 "$work/said")"
done
echo "ok: eight threads, five times"
