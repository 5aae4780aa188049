#!/usr/bin/env bash
# fuzz/build.sh builds every target with libFuzzer, and with AFL++ where it is there; each runs, and
# both report the canary.
set -uo pipefail
src=${TTAPE_SRC:?}
command -v clang >/dev/null || { printf 'SKIPPED: no clang\n'; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/ttape-engines.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
unset CC CXX CFLAGS CXXFLAGS LIB_FUZZING_ENGINE OUT WORK ASAN_OPTIONS UBSAN_OPTIONS
failures=0 left=0
fail() {
    failures=$((failures + 1))
    printf 'FAILED: %s\n' "$*"
}

cd "$work" || exit 1
OUT=$work/out WORK=$work/build "$src/fuzz/build.sh" >log 2>&1 || { tail -n 20 log; exit 1; }
count=0
for target in "$work"/out/fuzz_*; do
    name=${target##*/}
    case $name in *.dict | *.options | *_seeds | *.zip) continue ;; esac
    count=$((count + 1))
    if [ "$name" = fuzz_canary ]; then
        "$target" -runs=5000000 -seed=1 "${target}_seeds" >log 2>&1 && fail "the canary lives"
        grep -q 'does not hold\|heap-buffer-overflow' log || fail "the canary: $(tail -n 3 log)"
        continue
    fi
    "$target" -runs=1000 -seed=1 -max_len=8192 -rss_limit_mb=1024 -malloc_limit_mb=300 \
        -dict="$target.dict" "${target}_seeds" >log 2>&1 || {
        fail "$name: $(grep -E 'does not hold|ERROR|error:' log | head -n 2)"
        cat crash-* 2>/dev/null | base64 -w 0 # the next run may not find it again
        printf '\n'
        rm -f crash-*
    }
done
[ "$count" -gt 20 ] || fail "only $count targets were built"

if ! command -v afl-clang-fast >/dev/null; then
    printf 'no afl-clang-fast: AFL++ is not tried\n'
    left=1
else
    CC=afl-clang-fast CXX=afl-clang-fast++ CFLAGS='-O1 -g' OUT=$work/afl WORK=$work/afl-build \
        "$src/fuzz/build.sh" >log 2>&1 || { tail -n 20 log; fail "AFL++ does not build"; }
    mkdir -p in found
    printf 'BUG?' >in/seed
    AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_SKIP_CPUFREQ=1 AFL_NO_UI=1 AFL_NO_AFFINITY=1 \
        AFL_BENCH_UNTIL_CRASH=1 timeout 120 afl-fuzz -V 60 -i in -o found "$work/afl/fuzz_canary" \
        >log 2>&1
    grep -qai 'persistent mode' log || fail "AFL++ does not run in persistent mode"
    ls found/default/crashes 2>/dev/null | grep -q '^id' || fail "AFL++: the canary lives"
fi
if [ "$failures" -gt 0 ]; then
    exit 1
fi
printf 'ok: %d targets\n' "$count"
if [ "$left" -ne 0 ]; then
    printf 'SKIPPED: AFL++ (apt-get install afl++); libFuzzer: ok\n'
    exit 77
fi
