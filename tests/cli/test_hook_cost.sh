#!/usr/bin/env bash
# What recording itself cost: said by record, where it is 10 % or more, and by info; rows of report
# that are mostly hooks are marked. Traces of others tell nothing of it.
. "${TTAPE_SRC:?}/tests/cli/common.sh"
. "${TTAPE_SRC:?}/tests/cli/record_programs.sh"

build prog <<'END'
#include <stdlib.h>
#include <time.h>
volatile int sink;
__attribute__((noinline)) int tiny(int a) { return a + 1; }
__attribute__((noinline)) void busy(void) {
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000000l + now.tv_nsec - from.tv_nsec < 2000000);
}
int main(int n, char **v) {
    for (int i = 0; i < atoi(v[1]); i++) sink = tiny(sink);
    busy();
    return 0;
}
END
status 0 "$T" record --no-patch -o run.ttape ./prog 200000
cp err said
status 0 "$T" info run.ttape --json
cp out info.json
status 0 "$T" report run.ttape --json
cp out report.json
checks=$((checks + 1))
python3 - <<'END' || fail 'numbers'
import json, sys
info, report = json.load(open("info.json")), json.load(open("report.json"))
rows = {row["name"]: row for row in report["rows"]}
hook = info["hook_ns"]
if hook is None:  # a machine without a fine clock: then nothing is said anywhere
    assert report["hook_ns"] is None and not any("mostly_hook" in r for r in rows.values())
    sys.exit()
assert hook == report["hook_ns"] == min(r["min_ns"] for r in rows.values() if r["ended"])
assert info["hook_cost_ns"] == hook * info["events"] and 0 < info["hook_share"] <= 1
assert not rows["busy"]["mostly_hook"]
tiny = rows["tiny"]
assert tiny["mostly_hook"] or tiny["self_ns"] > 2.5 * hook * tiny["calls"]
END
if grep -q '"hook_ns": *null' info.json; then
    echo 'left out: the words (no call was short enough to know)'
else
    # on a busy machine functions may take so long that it is little of their time
    much=$(python3 -c 'import json; print(json.load(open("info.json"))["hook_share"] >= 0.1)')
    if [ "$much" = True ]; then
        has said '^tracetape: recording itself took at least [0-9]+ ns an event: .* in functions$'
    elif grep -q 'recording itself' said; then
        fail 'a cost of less than a tenth is said'
    fi
    status 0 "$T" info run.ttape
    has out '^recording   at least [0-9]+ ns an event: .* of the time in functions$'
    status 0 "$T" record --no-patch -q -o run.ttape ./prog 200000
    lines err 0
    status 0 "$T" record -o few.ttape ./prog 20
    if grep -q 'recording itself' err; then # on a busy machine twenty calls may take so long
        status 0 "$T" info few.ttape --json
        python3 -c 'import json; assert json.load(open("out"))["hook_share"] >= 0.1' ||
            fail 'a cost of 0.0 % is said'
    fi
    status 0 "$T" report run.ttape --json # of this run: on a busy machine each is another one
    cp out report.json
    status 0 "$T" report run.ttape
    if grep -q 'tiny.*"mostly_hook": *true' report.json; then
        has out '~ .*tiny$'
        has out '^~ for the most part the time of recording itself'
    fi
fi

# A tool's own trace, and one without exact times.
calls 30 >in.txt
status 0 "$T" convert in.txt -o other.ttape
status 0 "$T" record --no-patch -q -o coarse.ttape --resolution 1us ./prog 2000
for file in other.ttape coarse.ttape; do
    status 0 "$T" info "$file"
    if grep -q '^recording ' out; then fail "$file tells of hooks"; fi
    status 0 "$T" report "$file"
    if grep -q '~' out; then fail "rows of $file are marked"; fi
done
verdict
