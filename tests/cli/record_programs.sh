# Sourced by the tests of recording: small instrumented programs, made in the working folder, and
# what starts and watches them.
here=${TTAPE_SRC:?}/tests/cli
cc=${TTAPE_CC:-cc}
model() { python3 "$here/record_model.py" "$@"; }

command -v "$cc" >/dev/null && command -v python3 >/dev/null || {
    echo "SKIPPED: a C compiler and python3 are needed"
    exit 77
}

# build NAME [OPTION]... <source: an instrumented program
build() {
    local name=$1
    shift
    cat >"$name.c"
    "$cc" -O1 -g -w -finstrument-functions -o "$name" "$name.c" "$@" || {
        echo "cannot compile $name"
        exit 1
    }
}

# csv FILE: its dump in FILE.csv, without the calls in which it waited for the recorder
csv() {
    "$T" dump --format csv "$1" >"$1.csv" || fail "cannot dump $1"
    LC_ALL=C sed -i '/,(the recorder)$/d' "$1.csv"
}

# field FILE KEY: a number of `info --json`, of its own or of the metadata; 0 where there is none
field() {
    "$T" info --json "$1" | LC_ALL=C awk -v key="\"$2\":" -v named="\"key\": \"$2\"," '
        function value() { sub(/^[^:]*: /, ""); sub(/,$/, ""); gsub(/^"|"$/, ""); return $0 }
        /^  "/ && $1 == key { own = value(); found = 1 }
        next_is { of_metadata = value(); next_is = 0 }
        $0 ~ "^ +" named "$" { next_is = 1 }
        END { print found ? own : of_metadata == "" ? 0 : of_metadata }'
}

# equals A B WHAT
equals() {
    checks=$((checks + 1))
    [ "$1" = "$2" ] || fail "$3: '$1' instead of '$2'"
}

# until_true COMMAND...: until it succeeds, a minute of waiting at most
until_true() {
    local n=0
    until "$@"; do
        sleep 0.02
        n=$((n + 1))
        [ $n -lt 3000 ] || { fail "never came true: $*"; return 1; }
    done
}

# await FILE...: until they are there
await() {
    local path
    for path in "$@"; do
        until_true test -e "$path" || return
    done
}

# background COMMAND...: started with its output in bg.out and bg.err; its number in $job
background() {
    "$@" >bg.out 2>bg.err </dev/null &
    job=$!
}

# ended WANTED: the background command's exit status
ended() {
    local got=0
    checks=$((checks + 1))
    wait "$job" || got=$?
    [ $got -eq "$1" ] || { fail "status $got instead of $1"; sed 's/^/    /' bg.err | head -n 5; }
}

# A program that takes a step of so many calls for each argument when there is a file go1, go2, ...
# and says done1, done2, ...
make_stepper() {
    build stepper <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define PLAIN __attribute__((noinline))
#define QUIET __attribute__((noinline, no_instrument_function))
volatile int sink;
PLAIN int leaf(int i) { sink += i; return i * 3; }
PLAIN int mid(int i) { int s = 0; for (int k = 0; k < 2; k++) s += leaf(i + k); return s; }
PLAIN int step_1(int n) { int s = 0; for (int i = 0; i < n; i++) s += mid(i); return s; }
PLAIN int step_2(int n) { int s = 0; for (int i = 0; i < n; i++) s += mid(i); return s + 1; }
PLAIN int step_3(int n) { int s = 0; for (int i = 0; i < n; i++) s += mid(i); return s + 2; }
PLAIN int step_4(int n) { int s = 0; for (int i = 0; i < n; i++) s += mid(i); return s + 3; }
PLAIN int step_5(int n) { int s = 0; for (int i = 0; i < n; i++) s += mid(i); return s + 4; }
static int (*const steps[])(int) = {step_1, step_2, step_3, step_4, step_5};
QUIET static void await(int i) {
    char name[16];
    snprintf(name, sizeof name, "go%d", i + 1);
    while (access(name, F_OK) != 0) usleep(2000);
}
QUIET static void say(const char *what, int i) {
    char name[16];
    snprintf(name, sizeof name, "%s%d", what, i + 1);
    fclose(fopen(name, "w"));
}
int main(int argc, char **argv) {
    int s = 0;
    FILE *pid = fopen("pid.new", "w");
    fprintf(pid, "%d", (int)getpid());
    fclose(pid);
    rename("pid.new", "pid");
    for (int i = 0; i + 1 < argc; i++) {
        await(i);
        s += steps[i](atoi(argv[i + 1]));
        say("done", i);
    }
    return s == 1;
}
END
}

# step N: lets the stepper take it
step() {
    touch "go$1"
    await "done$1"
}

fresh() { rm -f go[1-9] done[1-9] pid; }

# called FILE SYMBOL: how many calls of it there are
called() { LC_ALL=C awk -F, -v s="$2" '$4 == "enter" && $7 == s { n++ } END { print n + 0 }' "$1"; }
