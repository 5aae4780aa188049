#!/usr/bin/env bash
# A program traced by LTTng's function tracer, here and now: every call arrives, in its thread, with
# the module that it is in.
. "${TTAPE_SRC:?}/tests/cli/common.sh"

skip() {
    printf 'SKIPPED: %s\n' "$1"
    exit 77
}

for command in lttng lttng-sessiond gcc; do
    command -v "$command" >/dev/null || skip "$command is not installed"
done
("$T" convert --from-format ctf /nonexistent -o x 2>&1 || true) | grep -q 'not in this build' &&
    skip "built without babeltrace2"
export LTTNG_HOME=$work
export LTTNG_UST_REGISTER_TIMEOUT=-1 # after three seconds a program would go on untraced
export HOME=$work
session=tracetape-$$
finish() {
    if [ -s "$work/pid" ]; then # the daemon is ours
        kill "$(cat "$work/pid")"
    else
        timeout 30 lttng destroy "$session" >/dev/null 2>&1
    fi
    cd /
    rm -rf "$work"
}
trap finish EXIT

cat >program.c <<'END'
#include <pthread.h>
#define CALL __attribute__((noinline))
CALL int leaf(int x) { return x * 2; }
CALL int middle(int x) { int s = 0; for (int i = 0; i < 3; i++) s += leaf(x + i); return s; }
CALL void *work(void *p)
{
    volatile int s = 0;
    for (int i = 0; i < 20; i++)
        s += middle(i);
    return p;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    work(0);
    return pthread_join(thread, 0);
}
END
gcc -g -O1 -fno-optimize-sibling-calls -finstrument-functions -pthread program.c -o program

if ! timeout 100 lttng list >log 2>&1; then # none is running
    timeout 100 lttng-sessiond --daemonize --no-kernel --pidfile "$work/pid" >log 2>&1 ||
        skip "no session daemon starts here: $(tail -n 1 log)"
fi
# Of that program alone: others that a daemon knows may run beside it.
cat >traced <<'END'
timeout 100 lttng track --userspace --session="$1" --vpid=$$ || exit
LD_PRELOAD=liblttng-ust-cyg-profile.so exec ./program
END
{
    timeout 100 lttng create --output="$work/trace" "$session" &&
        timeout 100 lttng enable-event --userspace --all --session="$session" &&
        timeout 100 lttng add-context --userspace --session="$session" -t vpid -t vtid \
            -t procname &&
        timeout 100 lttng start "$session" &&
        timeout 200 bash traced "$session" &&
        timeout 100 lttng stop "$session" &&
        timeout 100 lttng destroy "$session"
} >log 2>&1 || skip "LTTng does not record here: $(tail -n 1 log)"

status 0 "$T" convert trace -o run.ttape
status 0 "$T" verify run.ttape
status 0 "$T" info --json run.ttape
has out '"streams": 2'
has out '"source"'
has out '"value": "realtime"'
status 0 "$T" dump --format csv run.ttape
lines out 327
checks=$((checks + 1))
awk -F, 'NR > 1 && $4 == "enter" { calls[$6]++ } END { for (a in calls) print calls[a] }' out |
    sort -n | paste -sd ' ' >counts
[ "$(cat counts)" = "1 2 40 120" ] || fail "calls by function: $(cat counts)"
awk -F, 'NR > 1 && $5 > 3' out >deep
lines deep 0
status 0 "$T" export --format csv run.ttape
has out ",$work/program,"
if "$T" help symbolize >/dev/null 2>&1; then
    status 0 "$T" symbolize run.ttape -o named.ttape
    status 0 "$T" export --format folded named.ttape
    has out '^main;work;middle;leaf [0-9]+$'
fi
verdict
