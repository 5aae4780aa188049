#!/usr/bin/env bash
# Options that were called otherwise in the version before: they work, are not in --help, and a
# letter that is going to mean something else says what to write.
. "${TTAPE_SRC:?}/tests/cli/common.sh"

calls 40 >in.txt
status 0 "$T" convert in.txt -o a.ttape --partition-events 20

# old_new HINT VERB OLD-WORDS -- NEW-WORDS: the same output; HINT: what the message names, or -
old_new() {
    local hint=$1 verb=$2 old=()
    shift 2
    while [ "$1" != -- ]; do old+=("$1"); shift; done
    shift
    status 0 "$T" "$verb" a.ttape "$@"
    cp out want
    lines err 0
    status 0 "$T" "$verb" a.ttape "${old[@]}"
    same out want
    if [ "$hint" = - ]; then
        lines err 0
    else
        lines err 1
        has err "^tracetape: option '${old[0]:0:2}' .*: write '$hint'$"
    fi
}

old_new - dump --from 50 --to 100 -- --time 50..100
old_new - dump --from=+50 -- --time +50..
old_new - dump --tid 1 -- --thread 1
old_new --format dump -f csv -- --format csv
old_new --stream dump -s 0 -- --stream 0
old_new --places dump -p -- --places
old_new - export --to folded -- --format folded
old_new --format export -t folded -- --format folded
old_new --format export -tcsv -- --format csv
old_new - export --format csv --thread 1,7 -- --format csv --thread 1
old_new - report --match f1 -- --group f1
old_new --group report -m f1 -- --group f1
old_new - report --filter f1 -- -F f1
old_new --exact report -e -- --exact
old_new --open tree -o s0p1 -- --open s0p1
old_new --fold tree -f -- --fold
old_new - graph --dot -- --format dot
old_new --format graph -d -- --format dot
old_new - graph --top 2 -- --limit 2
old_new --weight graph -b self --min-time 1 -- --weight self --min-time 1
old_new --list graph -l -- --list
old_new --context graph -c main -- --context main
old_new - cut --tid 1 -o - -- --thread 1 -o -
old_new - cut --partitions 1..2 -o - -- --partition 1..2 -o -
old_new - cut --from 100 -o - -- -t 100.. -o -
status 0 "$T" convert in.txt -o want.ttape --resolution 64ns
status 0 "$T" convert in.txt -o old.ttape --time 64ns
same old.ttape want.ttape
status 0 "$T" convert in.txt -o letter.ttape -t 64ns
same letter.ttape want.ttape
has err "write '--resolution'$"

# The new meaning comes first, and what is neither is refused.
status 0 "$T" export a.ttape --format csv -t 100..200
lines err 0
status 2 "$T" export a.ttape --format csv -t 9..5
has err 'ends before it starts'
for verb in cut dump export graph report tree convert record; do
    status 0 "$T" "$verb" --help
    for name in from to tid partitions top match filter dot svg; do
        [ "$verb $name" = "tree partitions" ] && continue # a word of its own there
        if grep -q -- "--$name " out; then fail "$verb --help shows --$name"; fi
    done
done

# What the trace does not have is refused by each verb in the same way.
for verb in "dump" "tree" "graph" "report" "export --format csv" "cut -o -"; do
    for name in thread process stream; do
        # shellcheck disable=SC2086 # a verb and its options
        status 4 "$T" $verb a.ttape --$name 77,78
        has err "^tracetape: 'a.ttape' has no such $name$"
        lines err 1
    done
    # shellcheck disable=SC2086
    status 2 "$T" $verb a.ttape --time 9..5
    # shellcheck disable=SC2086
    status 0 "$T" $verb a.ttape --thread 77 --thread 1,78 --process 1
done

# A range outside of the trace, and a pattern that matches nothing, are answers, told in one line.
for verb in "dump" "tree" "graph" "report" "slow" "export --format csv" "cut -o -"; do
    # shellcheck disable=SC2086
    status 0 "$T" $verb a.ttape --time +5s..+6s
    has err "^tracetape: nothing of 'a.ttape' is in the range of --time: "
    lines err 1
done
for option in --function --group; do
    status 0 "$T" report a.ttape $option nowhere
    has err "^tracetape: nothing that was called matches 'nowhere'$"
    lines err 1
done
status 0 "$T" dump a.ttape --function nowhere
has err "^tracetape: nothing that was called matches 'nowhere'$"
verdict
