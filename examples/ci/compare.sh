#!/bin/bash
# Ten runs of this build against ten of another one, for continuous integration:
#
#   compare.sh MAIN_PROGRAM NEW_PROGRAM [ARGUMENT...]
#
# comment.md has the three functions that got slower by most. Status 1: one got slower by 5 % or
# more, by more than runs of one build differ; otherwise 0. A program that fails ends it with
# another status.
set -euo pipefail
main=$1 new=$2
shift 2
runs=${RUNS:-10}
record() {
    local status=0
    tracetape record -q -f -o "$@" >/dev/null || status=$?
    [ "$status" -ne 1 ] || status=2 # 1 is for what got slower
    return "$status"
}
for ((run = 0; run < runs; run++)); do # in turn: what the machine does meanwhile, it does to both
    record "main.$run.ttape" -- "$main" "$@"
    record "new.$run.ttape" -- "$new" "$@"
done
status=0
tracetape diff main.*.ttape --against new.*.ttape --by function --fail-over 5% --json >diff.json ||
    status=$?
[ "$status" -le 1 ] || exit "$status"
jq -r '
    def self(side): side.self_ns // 0;
    def ms: . / 1000 | round / 1000;
    [.functions.rows[] | select(self(.a) < self(.b))] | sort_by(self(.a) - self(.b)) | .[:3]
    | if length == 0 then "No function got slower."
      else "| function | before, ms | now, ms |", "|---|--:|--:|",
           (.[] | "| `\(.name)` | \(self(.a) | ms) | \(self(.b) | ms) |")
      end' diff.json >comment.md
cat comment.md
exit "$status"
