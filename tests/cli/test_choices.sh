#!/usr/bin/env bash
# What is chosen: options that no verb has any more name what to write, and threads, ranges and
# patterns that the trace does not have are refused, or told, by each verb in the same way.
. "${TTAPE_SRC:?}/tests/cli/common.sh"

calls 40 >in.txt
status 0 "$T" convert in.txt -o a.ttape --partition-events 20

# gone NOW VERB OPTION...: refused, and the message says NOW
gone() {
    local now=$1 verb=$2
    shift 2
    status 2 "$T" "$verb" a.ttape "$@"
    has err "^tracetape: unknown option '$1': write '$now'"
}

gone '--time A..B' dump --from 50
gone '--time A..B' cut --to 50
gone '--thread TID' dump --tid 1
gone '--format FORMAT' export --to folded
gone '--group REGEX' report --match f1
gone '--format dot' graph --dot
gone '--format svg' graph --svg
gone '--limit N' graph --top 2
gone '--weight TIME' graph --by self
gone '--partition A..B' cut --partitions 1..2
gone '--resolution HOW' convert --time 64ns
status 2 "$T" record --time none -- true
has err "write '--resolution HOW'"
status 2 "$T" callgraph --from main "$T" # has no --time
has err "^tracetape: unknown option '--from'( \\(|$)"

status 0 "$T" export a.ttape --format csv -t 100..200
lines err 0
status 2 "$T" export a.ttape --format csv -t 9..5
has err 'ends before it starts'

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

# A range of which the trace has nothing fails as a name or a pattern does that matches nothing.
for verb in "dump" "tree" "graph" "report" "report --by thread" "report --butterfly main" "slow" \
    "graph --reach main" "export --format csv" "cut -o -"; do
    # shellcheck disable=SC2086
    status 4 "$T" $verb a.ttape --time +5s..+6s
    has err "^tracetape: nothing of 'a.ttape' is in the range of --time: "
    lines err 1
    lines out 0
done
# Of several traces one that has something is enough; one that has nothing is told.
printf '0 1 enter main\n9000000000 1 exit main\n' >long.txt
status 0 "$T" convert long.txt -o long.ttape
for verb in "report" "slow"; do
    # shellcheck disable=SC2086
    status 0 "$T" $verb a.ttape long.ttape --time +5s..+6s
    has err "^tracetape: nothing of 'a.ttape' is in the range of --time: "
    lines err 1
    # shellcheck disable=SC2086
    status 4 "$T" $verb a.ttape long.ttape --time +15s..+16s
    lines err 2
    lines out 0
done
# What a trace that grows has not yet is waited for.
status 0 "$T" dump a.ttape --follow --time +5s..+6s
for option in --function --group; do
    status 4 "$T" report a.ttape $option nowhere
    has err "^tracetape: nothing that was called matches 'nowhere'$"
    lines err 1
done
status 4 "$T" dump a.ttape --function nowhere
has err "^tracetape: nothing that was called matches 'nowhere'$"
lines out 0

# A folder's .tracetape gives options to its verbs, before those that are typed, and says so.
# Nobody else's file does, and none that says where to write.
mkdir -p folder
cp a.ttape folder/
cd folder || exit 1
cat >.tracetape <<'EOF'
# ours
report --limit=2 "--columns=calls,name" --sort=calls

dump --limit=1
EOF
status 0 "$T" report a.ttape
used='report --limit=2 --columns=calls,name --sort=calls'
has err "^tracetape: $used \\(by '.tracetape' of this folder\\)$"
status 0 "$T" report a.ttape --limit 1 --format csv
lines out 2
has out '^calls,name'
status 0 "$T" --no-defaults report a.ttape --format csv
lines err 0
if grep -q '^calls,name' out; then fail 'defaults were used'; fi
status 2 "$T" --no-defaults
chmod g+w .tracetape
status 0 "$T" dump a.ttape
has err "left alone: others may write it"
chmod g-w .tracetape
mv .tracetape own
ln -s own .tracetape
status 0 "$T" dump a.ttape
has err "left alone: it is a link"
rm .tracetape
# What needs a value and has none takes no other word for it, of the file or of the command line.
printf 'report --limit\ndump --function --json\n' >.tracetape
status 2 "$T" report a.ttape
has err "^tracetape: option '--limit' needs N"
status 2 "$T" dump a.ttape
has err "^tracetape: option '--function' needs REGEX"
rm .tracetape
for line in 'dump a.ttape' 'dump -n1' "dump --filter='x" 'cut --output=x' 'dump --force' \
    'receive --listen=0.0.0.0:1' 'recover --clean'; do
    echo "$line" >.tracetape
    status 2 "$T" "${line%% *}" a.ttape
    has err "^tracetape: '.tracetape', line 1: '.*' (is no option|says where)"
done
rm .tracetape
cd ..
verdict
