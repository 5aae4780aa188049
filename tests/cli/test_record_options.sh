#!/usr/bin/env bash
# Every option of record, by real recordings of small programs: what is left out is exactly what the
# option says, files are as large as they may be, the command is what it is without us.
. "${TTAPE_SRC:?}/tests/cli/common.sh"
. "${TTAPE_SRC:?}/tests/cli/record_programs.sh"

# ---- programs ----
cat >work.c <<'END'
#define PLAIN __attribute__((noinline))
extern int plug_call(int);
volatile int sink;
PLAIN int leaf(int i) { sink += i; return i * 3; }
PLAIN int mid(int i) { int s = 0; for (int k = 0; k < 2; k++) s += leaf(i + k); return s; }
PLAIN int recurse(int n) { return n == 0 ? leaf(n) : recurse(n - 1) + 1; }
PLAIN int top(int i) {
    int s = 0;
    for (int k = 0; k < 3; k++) s += mid(i + k);
    return s + plug_call(i) + recurse(4);
}
END
cat >plug.c <<'END'
volatile int plug_sink;
__attribute__((noinline)) int plug_leaf(int i) { plug_sink += i; return i; }
__attribute__((noinline)) int plug_call(int i) { return plug_leaf(i) + plug_leaf(i + 1); }
END
"$cc" -O1 -g -fPIC -shared -finstrument-functions plug.c -o libplug.so || exit 1
build prog work.c -L. -lplug -Wl,-rpath,"$work" <<'END'
#include <stdio.h>
#include <stdlib.h>
extern int top(int);
__attribute__((noinline)) static int outer(int n) {
    int s = 0;
    for (int i = 0; i < n; i++) s += top(i);
    return s;
}
int main(int argc, char **argv) { printf("%d\n", outer(argc > 1 ? atoi(argv[1]) : 40)); return 0; }
END
build threads -pthread <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#define PLAIN __attribute__((noinline))
static int rounds;
volatile int sink;
PLAIN int leaf(int i) { sink += i; return i * 3; }
PLAIN int deep(int n) { return n == 0 ? leaf(n) : deep(n - 1) + 1; }
PLAIN int one(int i) { return deep(i % 7) + leaf(i); }
PLAIN int two(int i) { return deep(i % 5) + deep(3); }
PLAIN int three(int i) { return leaf(i) + leaf(i + 1) + leaf(i + 2); }
static int (*const work[])(int) = {one, two, three};
PLAIN void *run(void *which) {
    int s = 0;
    for (int i = 0; i < rounds; i++) s += work[(long)which](i);
    return (void *)(long)s;
}
int main(int argc, char **argv) {
    pthread_t t[3];
    rounds = atoi(argv[1]);
    for (long i = 0; i < 3; i++) pthread_create(&t[i], NULL, run, (void *)i);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    return 0;
}
END
build hot <<'END'
volatile int s;
__attribute__((noinline)) int tiny(int i) { return s + i; }
__attribute__((noinline)) int large(int i)
{ int r = 0; for (int k = 0; k < 4000; k++) r += s; return r; }
__attribute__((noinline)) int caller(int i) { return tiny(i) + large(i); }
int main(void) { int r = 0; for (int i = 0; i < 70000; i++) r += caller(i); return r == 1; }
END
build forks <<'END'
#include <sys/wait.h>
#include <unistd.h>
#define PLAIN __attribute__((noinline))
volatile int sink;
PLAIN int in_parent(int i) { sink += i; return i; }
PLAIN int in_child(int i) { sink += i; return i; }
int main(void) {
    for (int c = 0; c < 3; c++)
        if (fork() == 0) { for (int i = 0; i < 100; i++) in_child(i); _exit(0); }
    for (int i = 0; i < 200; i++) in_parent(i);
    while (wait(0) > 0) { }
    return 0;
}
END
"$cc" -x c - -o plain <<<'int main(void) { return 5; }' || exit 1

record() { "$T" record -q -f -o "$@"; }

# ---- filters ----
status 0 record ref.ttape --clock none ./prog
status 0 "$T" verify ref.ttape
csv ref.ttape
filter() { # OPTION... : for record and for the model
    status 0 record got.ttape --clock none "$@" ./prog
    status 0 "$T" verify got.ttape
    csv got.ttape
    status 0 model filter ref.ttape.csv got.ttape.csv "$@"
}
filter --function '^(top|leaf)$'
filter --function '^top$' --function 'plug'
filter --no-function 'recurse|^main$'
filter --function 'l' --no-function '^leaf$'
filter --below '^mid$'
filter --below '^(top|mid)$' --no-function '^leaf$'
filter --below '^recurse$' --depth 3
filter --depth 1
filter --depth 3
filter --depth 100
# shellcheck disable=SC2043 # the model knows symbols only: what the option says in their terms
alike() { # OPTION VALUE MODEL-OPTION VALUE...
    status 0 record got.ttape --clock none "$1" "$2" ./prog
    csv got.ttape
    status 0 model filter ref.ttape.csv got.ttape.csv "${@:3}"
}
alike --module 'libplug\.so$' --function '^plug_'
alike --no-module 'libplug\.so$' --no-function '^plug_'
alike --source 'work\.c$' --function '^(leaf|mid|recurse|top)$'
alike --no-source 'work\.c$' --no-function '^(leaf|mid|recurse|top)$'
status 4 "$T" record -f -o no.ttape --function 'no such function' ./prog
has err "^tracetape: nothing was recorded, and 'no.ttape' not written: "
absent no.ttape no.ttape.recording
status 4 "$T" record -f --off -o no.ttape --max-time 1ns -- sleep 0.2
has err "^tracetape: nothing was recorded, .* not written: it was stopped, by its time "
checks=$((checks + 1))
grep -q "could be patched" err && fail "a reason that is none"
status 2 "$T" record --function '(' ./prog

status 0 record got.ttape --min-time 2us ./prog
status 0 "$T" verify got.ttape
csv got.ttape
status 0 model culled ref.ttape.csv got.ttape.csv 2000 "$(field got.ttape culled_calls)"
equals "$(field got.ttape lost)" $((2 * $(field got.ttape culled_calls))) \
    'events that the gaps count'
status 0 record got.ttape --clock none --min-time 3600s ./prog

status 0 record hotref.ttape --block --clock none ./hot
csv hotref.ttape
status 0 record got.ttape --block --cull-hot ./hot
status 0 "$T" verify got.ttape
csv got.ttape
equals "$(called got.ttape.csv caller)" 70000 'calls of a function that calls others'
equals "$(($(called got.ttape.csv tiny) + $(field got.ttape culled_calls)))" 70000 'calls of tiny'
checks=$((checks + 1))
[ "$(field got.ttape culled_calls)" -gt 4000 ] || fail 'nothing was culled'
equals "$(called got.ttape.csv large)" 70000 'calls of a function that takes its time'

# ---- files ----
status 0 record ref.ttape --block --clock none ./threads 4500
csv ref.ttape
equals "$(field ref.ttape lost)" 0 'lost with --block'
for clock in auto tsc monotonic coarse none; do
    status 0 record "$clock.ttape" --block --clock "$clock" ./threads 2000
    status 0 "$T" verify "$clock.ttape"
    csv "$clock.ttape"
done
for clock in auto tsc monotonic coarse; do
    status 0 model same none.ttape.csv "$clock.ttape.csv"
    [ "$clock" = auto ] || equals "$(field "$clock.ttape" clock)" \
        "${clock/coarse/monotonic-coarse}" 'the clock'
done
status 2 "$T" record --clock sundial ./prog
status 0 record got.ttape --block --resolution 64ns ./threads 2000
status 0 "$T" verify got.ttape
equals "$(field got.ttape resolution_ns)" 64 'resolution'
status 0 record got.ttape --block --resolution none ./threads 2000
csv got.ttape
status 0 model same none.ttape.csv got.ttape.csv

rotate() { # OPTION...: in files that open alone, and together are the whole
    rm -f piece.*
    status 0 record piece.ttape --block "$@" ./threads 4500
    local piece count=0 events=0
    for piece in piece.*.ttape; do
        status 0 "$T" verify "$piece"
        count=$((count + 1))
        events=$((events + $(field "$piece" events)))
    done
    checks=$((checks + 1))
    [ $count -ge 3 ] || fail "$count files with $*"
    status 0 "$T" merge -f -o merged.ttape piece.*.ttape
    status 0 "$T" verify merged.ttape
    equals "$(field merged.ttape events)" $events 'events of the pieces together'
    equals "$(field merged.ttape scopes)" 1 'scopes of the merged trace'
    csv merged.ttape
    local culled # calls between two ticks of a clock take 0 ns
    culled=$(field merged.ttape culled_calls)
    if [ "$culled" -eq 0 ]; then
        status 0 model same ref.ttape.csv merged.ttape.csv
    else
        status 0 model culled ref.ttape.csv merged.ttape.csv 1 "$culled"
    fi
    absent piece.ttape piece.ttape.recording
}
rotate --rotate 8K
rotate --clock none --rotate 2K
rotate --rotate 8K --min-time 1ns

# As little may be spilled, most of it lies in memory when the program ends.
status 0 record keep.ttape --block --spill 64K --keep-last 24K ./threads 4500
status 0 "$T" verify keep.ttape
equals "$(($(field keep.ttape events) + $(field keep.ttape overwritten_events)))" \
    "$(field ref.ttape events)" 'events kept and overwritten'
equals "$(stat -c %a keep.ttape)" 600 'mode of the file'
checks=$((checks + 1))
size=$(stat -c %s keep.ttape)
[ "$size" -gt 8000 ] && [ "$size" -le 24576 ] || fail "--keep-last 24K kept $size bytes"
equals "$(field keep.ttape scopes)" 1 'scopes of the kept trace'
status 0 record keep.ttape --block --keep-last 3600s ./threads 4500
equals "$(field keep.ttape events)" "$(field ref.ttape events)" 'events with --keep-last 3600s'
status 2 "$T" record --keep-last 1M --rotate 1M ./prog
status 2 "$T" record --block --drop ./prog

status 0 record got.ttape --block --spill 64K --max-size 20K ./threads 4500
status 0 "$T" verify got.ttape
checks=$((checks + 1))
size=$(stat -c %s got.ttape)
[ "$size" -gt 16000 ] && [ "$size" -lt 32000 ] || fail "--max-size 20K made $size bytes"
checks=$((checks + 1))
[ "$(field got.ttape overwritten_events)" -gt 0 ] ||
    fail 'what came after --max-size is not counted'

rm -f piece*
status 0 record piece.ttape --files --note 'of four' ./forks
equals "$(find . -name 'piece.*-*.ttape' | wc -l)" 4 'files of four processes'
for piece in piece.*.ttape; do
    status 0 "$T" verify "$piece"
    equals "$(field "$piece" processes)" 1 "processes in $piece"
    equals "$(field "$piece" note)" 'of four' "the note in $piece"
    csv "$piece"
    echo "$(called "$piece.csv" in_parent) $(called "$piece.csv" in_child)" >>counts.new
done
sort counts.new >counts
printf '0 100\n0 100\n0 100\n200 0\n' >wanted
same counts wanted
status 0 record got.ttape --no-children ./forks
equals "$(field got.ttape processes)" 1 'processes with --no-children'
status 0 record got.ttape ./forks
equals "$(field got.ttape processes)" 4 'processes without it'
csv got.ttape
equals "$(called got.ttape.csv in_child)" 300 'calls in children'

# ---- names ----
status 0 record got.ttape --no-symbols --clock none ./prog
csv got.ttape
equals "$(called got.ttape.csv leaf)" 0 'named calls with --no-symbols'
status 0 "$T" symbolize -o named.ttape got.ttape
csv named.ttape
status 0 record ref.ttape --clock none ./prog
csv ref.ttape
status 0 model same ref.ttape.csv named.ttape.csv

# ---- outputs ----
printf 'mine' >there.ttape
status 4 "$T" record -o there.ttape ./prog
has err "'there.ttape' exists already, and is no trace; --force replaces it"
printf 'mine' >wanted
same there.ttape wanted
absent there.ttape.recording
status 0 "$T" record -f -o there.ttape ./prog
status 0 "$T" verify there.ttape
equals "$(stat -c %a there.ttape)" 600 'mode of the file'
# A trace that is there becomes FILE.old, which is replaced by the next; nothing else is touched.
cp there.ttape first
status 0 "$T" record -o there.ttape ./prog
same there.ttape.old first
cp there.ttape second
status 0 "$T" record --live -o there.ttape ./prog
same there.ttape.old second
cp there.ttape third
status 5 "$T" record --no-patch -o there.ttape ./plain
same there.ttape third
same there.ttape.old second
status 5 "$T" record --no-patch --live -o other.ttape ./plain
status 5 "$T" record --no-patch --files -o other.ttape ./plain
status 5 "$T" record --no-patch --rotate 64k -o other.ttape ./plain
status 5 "$T" record --no-patch --keep-last 64k -o other.ttape ./plain
absent other*
status 0 "$T" record --keep-last 64k -o there.ttape ./prog
same there.ttape.old third
printf mine >there.ttape.old
cp there.ttape fourth
status 4 "$T" record -o there.ttape ./prog
has err "'there.ttape' exists already, and 'there.ttape.old' is no trace"
same there.ttape fourth
equals "$(cat there.ttape.old)" mine 'a file called .old'
status 0 "$T" record -f -o there.ttape ./prog
equals "$(cat there.ttape.old)" mine 'a file called .old, with --force'
rm there.ttape.old
ln -s fourth link.ttape
status 4 "$T" record -o link.ttape ./prog
has err "'link.ttape' exists already"

# To standard output: the trace alone, what the command says goes to standard error.
status 0 env TMPDIR="$work" "$T" record -o - ./prog
cp out piped.ttape
equals "$(grep -cxE -- '-?[0-9]+' err)" 1 'what the command says'
has err "report '-'$"
status 0 "$T" verify piped.ttape
status 5 "$T" record --no-patch -q -o - ./plain
lines out 0
status 2 "$T" record --live -o - ./prog
status 4 sh -c '"$0" record -q -o - ./prog >/dev/full' "$T"
has err 'cannot write standard output'
absent tracetape.*
status 4 "$T" record -o no/such/folder.ttape ./prog
if [ "$(id -u)" -ne 0 ]; then
    mkdir locked && chmod 500 locked
    status 4 "$T" record -o locked/a.ttape ./prog
fi
status 4 "$T" record -f -o . ./prog
mkdir taken.ttape.recording
status 4 "$T" record -o taken.ttape ./prog
has err "'taken.ttape.recording' exists: .*'tracetape last taken.ttape.recording' .*"
has err "'tracetape recover taken.ttape.recording -o taken.ttape' makes a trace"
rm -f prog.ttape
status 0 "$T" record ./prog
status 0 "$T" verify prog.ttape

# ---- sites of the program's own ----
# A marker that several threads pass has its name in each, whoever is read first.
build markers -I"$TTAPE_SRC/libtrace/include" -L"$TTAPE_BUILD" -ltracetape-rt \
    -Wl,-rpath,"$TTAPE_BUILD" -pthread <<'END'
#include <pthread.h>
#include <stdint.h>
#include <tracetape/runtime.h>
static ttape_rt_site mark = TTAPE_RT_SITE("my mark", TTAPE_SITE_MARKER);
static void *run(void *unused) {
    for (int i = 0; i < 5; i++) ttape_rt_mark_unsigned(&mark, (uint64_t)i);
    return unused;
}
int main(void) {
    pthread_t threads[6];
    for (int i = 0; i < 6; i++) pthread_create(&threads[i], 0, run, 0);
    for (int i = 0; i < 6; i++) pthread_join(threads[i], 0);
    run(0);
    return 0;
}
END
for turn in 1 2 3 4 5; do
    status 0 "$T" record -q -f --no-patch -o got.ttape ./markers
    csv got.ttape
    equals "$(grep -c ',my mark' got.ttape.csv)" 35 "named markers, turn $turn"
    equals "$(field got.ttape sites)" 7 'sites' # two say who started threads, two how they ended
done

# ---- the command ----
status 127 "$T" record -o never.ttape ./no-such-command
has err 'cannot run'
printf 'int x;' >data
status 126 "$T" record -o never.ttape ./data
mkdir -p folder
status 126 "$T" record -o never.ttape ./folder
absent never.ttape never.ttape.recording
status 5 "$T" record --no-patch -f -o got.ttape ./plain
has err "nothing was recorded, and 'got.ttape' not written: 1 process: 1 not compiled with "
status 137 "$T" record -f -o got.ttape sh -c 'kill -9 $$'
status 143 "$T" record -f -o got.ttape sh -c 'kill -15 $$'
status 7 "$T" record -f -o got.ttape -- sh -c 'exit 7' -o not.ttape
absent not.ttape
checks=$((checks + 1))
[ "$(printf 'a\0b' | "$T" record -q -f -o got.ttape cat 2>/dev/null |
    od -An -c | tr -d ' ')" = 'a\0b' ] ||
    fail 'standard input and output do not pass through'
status 4 "$T" record --no-patch -q -f -o got.ttape sh -c 'echo out; echo err >&2'
equals "$(cat out)/$(head -n 1 err)" out/err 'outputs of the command'
status 0 ./prog
cp out wanted
status 0 "$T" record -q -f -o got.ttape ./prog
same out wanted
status 2 "$T" record
status 2 "$T" record --no-such-option ./prog
# ---- never over the command itself, by no name ----
cp prog own
ln own own.link
ln -s own own.soft
sum=$(md5sum <own)
for name in own ./own own.link own.soft "$work/own"; do
    status 4 "$T" record -o "$name" --force ./own
    has err "cannot record into '$name': it is the command"
done
status 4 env PATH="$PATH:$work" "$T" record -o own --force own
status 4 env PATH="$PATH:" "$T" record -o own --force own
[ "$sum" = "$(md5sum <own)" ] || fail "record changed the program"
verdict
