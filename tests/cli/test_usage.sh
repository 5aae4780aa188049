#!/usr/bin/env bash
# Help, version, wrong command lines: what stands where, and the exit statuses.
. "${TTAPE_SRC:?}/tests/cli/common.sh"

status 0 "$T" --help
has out '^Usage: tracetape VERB'
status 0 "$T" help
status 0 "$T" -h
status 0 "$T" --version
has out '^tracetape [0-9]+\.[0-9]+\.[0-9]+$'
lines out 1
verbs=$("$T" --help | awk '/^Verbs:/ { on = 1 } /^Options:/ { on = 0 } on && /^  / { print $1 }')
for verb in $verbs; do
    status 0 "$T" help "$verb"
    cp out first
    status 0 "$T" "$verb" --help
    same out first
    has out "^Usage: tracetape $verb "
    has out '^Options:'
    has out '^Examples:'
    has out '^Exit status:'
    awk 'length > 100 { exit 1 }' out || fail "help of $verb is too wide"
    [ ! -s err ] || fail "help of $verb writes messages"
    status 2 "$T" "$verb" --no-such-option x
    has err "^tracetape: unknown option '--no-such-option'"
    lines err 1
    status 2 "$T" "$verb"
    lines err 1
done
rm -f first
[ "${verbs%%$'\n'*}" = record ] || fail "help begins with another verb than record"
for group in "The trace" "Which functions and calls" "When, how much, and of which processes"; do
    "$T" record --help | grep -q "^ $group:\$" || fail "record's options have no group '$group'"
done
status 2 "$T" record --=x ./x
has err "^tracetape: unknown option '--'"

status 2 "$T"
status 2 "$T" frobnicate
has err "^tracetape: unknown verb 'frobnicate' \\(see"
# near VERB|- WORDS -- MEANT: what a mistyped word is said to be
near() { status 2 "$T" $1; lines err 1; has err ": is it '$2'\\? \\(see "; }
near "reprot x" report
near "dmup x" dump
near "help sym" symbolize
near "dump --limt 3 x" --limit
near "dump --thraed=3 x" --thread
near "graph --min-cals 3 x" --min-calls
near "record --checkpoint-evry 3 x" --checkpoint-every
status 2 "$T" dump --tame 3 x
has err "is it '--time'"
status 2 "$T" dump --frm 3 x
has err "unknown option '--frm' \\(see"
lines err 1
status 2 "$T" help frobnicate
status 2 "$T" --frobnicate
has err 'unknown option'
# What a wrong command line has said before it is wrong is given back: sanitizers tell what is not.
while read -r verb words; do
    for wrong in --no-such-option ''; do
        status 2 "$T" "$verb" $words $wrong
        lines err 1
    done
done <<'END'
report --group a --idle b --thread 1 --filter c --by no.such x
slow --process 1 --filter a --limit 1000000000 x
tree --stream 1 --below a --min-time +1s x
graph --thread 1 --filter a --weight no.such x
diff --filter a x
dump --thread 1 --no-below a --format no.such x
lines --line a:1 --function a --filter b --thread 1 --json --lcov x
export --thread 1 --filter a x
view --filter a --at " x
last --thread 1 --pid 1 x
cut --thread 1 x
syscalls --thread 1 --filter a --calls read --by no.such x
context --graph a --binary b not.a.value
context --graph a --binary b --operation primes 1
callgraph --graph a --ci b
END
status 2 "$T" convert in
has err 'o FILE is missing'
status 2 "$T" convert in -o
has err "needs FILE"
status 2 "$T" convert in -o out.ttape --level 10
status 2 "$T" convert in -o out.ttape --level x
status 2 "$T" convert in -o out.ttape --resolution 0ns
status 2 "$T" convert in -o out.ttape --resolution sometimes
status 2 "$T" convert in -o out.ttape --jobs 0
status 2 "$T" convert in -o out.ttape --partition-events 99999999
status 2 "$T" convert in -o out.ttape --trace-id 12
status 2 "$T" convert in -o out.ttape --from-format nonsense
status 2 "$T" convert one two -o out.ttape
status 2 "$T" convert in -o out.ttape --force=yes
status 2 "$T" dump x --format yaml
status 2 "$T" dump x --events 5..3
status 2 "$T" dump x --events 99999999999999999999..
status 2 "$T" dump x --time 1.0000000001s..
status 2 "$T" dump x --time ..20000000000s
status 2 "$T" dump x --time soon..
status 2 "$T" dump x --limit -1
status 2 "$T" convert in -o out.ttape --resolution sometimes
status 2 "$T" cut x -o y
has err 'nothing says what to cut'
status 4 "$T" info missing
has err "^tracetape: .*missing.*: .*[Nn]o such file"
lines err 1
status 4 "$T" convert missing -o out.ttape
alone

# A name on the command line is as hostile as one in a file.
status 4 "$T" info $'\e[31mred\e[0m'
clean err
verdict
