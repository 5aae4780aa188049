#!/usr/bin/env bash
# Builds every fuzz target with a fuzzing engine, its seed corpus and its dictionary, as OSS-Fuzz
# asks for it; by itself, with clang's libFuzzer and sanitizers, into build/fuzz-out.
#
#   $CC $CXX $CFLAGS $CXXFLAGS    compilers and their flags, sanitizers included
#   $LIB_FUZZING_ENGINE           what to link: -fsanitize=fuzzer, or a library
#   $OUT $WORK                    where the targets go, and where to build
#
#   AFL++ (persistent mode):
#   CC=afl-clang-fast CXX=afl-clang-fast++ OUT=build/afl-out WORK=build/afl CFLAGS='-O1 -g' \
#       fuzz/build.sh
set -euo pipefail
src=$(cd "$(dirname "$0")/.." && pwd)
cc=${CC:-clang}
cxx=${CXX:-clang++}
sanitizers='-fsanitize=address,undefined -fno-sanitize-recover=all'
flags=${CFLAGS--O2 -g -fno-omit-frame-pointer $sanitizers -fsanitize=fuzzer-no-link}
engine=${LIB_FUZZING_ENGINE:--fsanitize=fuzzer}
out=${OUT:-$src/build/fuzz-out}
work=${WORK:-$src/build/fuzz}

generator=()
command -v ninja >/dev/null && generator=(-G Ninja)
mkdir -p "$out" "$work"
cmake -S "$src" -B "$work" "${generator[@]}" -DCMAKE_BUILD_TYPE=None -DBUILD_SHARED_LIBS=OFF \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
    -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="${CXXFLAGS-$flags}" \
    -DTTAPE_FUZZ=ON -DTTAPE_FUZZING_ENGINE="$engine" >"$work/configure.log"
cmake --build "$work" --target ttape_fuzz >"$work/build.log" || {
    grep -E -A 5 'error|undefined' "$work/build.log" | head -n 40 >&2
    exit 1
}

# The generator needs no engine, but was built with the same flags: its runs are not fuzzed.
seeds=$work/seeds
rm -rf "$seeds"
ASAN_OPTIONS=detect_leaks=0 "$work/fuzz/ttape_make_seeds" "$seeds" "$src/spec/vectors"
while read -r target corpora; do
    cp "$work/fuzz/fuzz_$target" "$out/"
    cp "$src/fuzz/ttape.dict" "$out/fuzz_$target.dict"
    cp "$src/fuzz/ttape.options" "$out/fuzz_$target.options"
    rm -rf "$out/fuzz_${target}_seeds"
    mkdir "$out/fuzz_${target}_seeds"
    for corpus in $corpora; do
        cp "$seeds/$corpus"/* "$out/fuzz_${target}_seeds/"
    done
    if [ -d "$src/fuzz/findings/$target" ]; then
        cp "$src/fuzz/findings/$target"/* "$out/fuzz_${target}_seeds/"
    fi
    if command -v zip >/dev/null; then
        (cd "$out/fuzz_${target}_seeds" && zip -q -r "../fuzz_${target}_seed_corpus.zip" .)
    fi
done <"$work/fuzz/corpora.txt"
printf 'built in %s\n' "$out"
