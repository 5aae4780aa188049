#!/usr/bin/env bash
# Fuzzes the targets that fuzz/build.sh left, each for a time and by itself, and prints a row of the
# table in README.md for each: seconds, executions, executions by second of processor time (its
# start with the seeds included), findings. Exit status 1: something was found.
#
#   fuzz/run.sh [--seconds N] [TARGET]...     600 seconds each, all targets but the canary
#
#   $OUT     where build.sh left them (build/fuzz-out)
#   $CORPUS  inputs that are kept from one run to the next (OUT/corpus); findings go to OUT/found
set -uo pipefail
src=$(cd "$(dirname "$0")/.." && pwd)
out=${OUT:-$src/build/fuzz-out}
corpus=${CORPUS:-$out/corpus}
seconds=600
targets=()
while [ $# -gt 0 ]; do
    case $1 in
        --seconds) seconds=${2:?--seconds needs a number}; shift ;;
        -*) printf 'usage: fuzz/run.sh [--seconds N] [TARGET]...\n' >&2; exit 2 ;;
        *) targets+=("$1") ;;
    esac
    shift
done
if [ "${#targets[@]}" -eq 0 ]; then
    for program in "$out"/fuzz_*.options; do
        name=$(basename "$program" .options)
        [ "$name" = fuzz_canary ] || targets+=("${name#fuzz_}")
    done
fi

total=0 found_any=0
TIMEFORMAT='%U %S %R'
for target in "${targets[@]}"; do
    program=$out/fuzz_$target
    [ -x "$program" ] || { printf 'run.sh: no %s: run fuzz/build.sh\n' "$program" >&2; exit 2; }
    options=()
    while IFS=' =' read -r name value; do
        case $name in '' | '['* | dict) ;; *) options+=("-$name=$value") ;; esac
    done <"$program.options"
    mkdir -p "$corpus/$target" "$out/found/$target"
    used=$( { time "$program" "${options[@]}" -dict="$program.dict" -max_total_time="$seconds" \
        -print_final_stats=1 -artifact_prefix="$out/found/$target/" "$corpus/$target" \
        "${program}_seeds" >"$out/found/$target.log" 2>&1; } 2>&1)
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out/found/$target.log" | tail -n 1)
    found=$(find "$out/found/$target" -type f | wc -l)
    [ "$found" -eq 0 ] && [ -n "$runs" ] || found_any=1
    total=$((total + ${runs:-0}))
    read -r user system real <<<"$used"
    awk -v t="$target" -v r="${runs:-0}" -v u="$user" -v s="$system" -v e="$real" -v f="$found" \
        'BEGIN { printf "| `%s` | %.0f | %d | %.0f | %d |\n", t, e, r, r / (u + s), f }'
done
printf 'together %d executions\n' "$total"
exit "$found_any"
