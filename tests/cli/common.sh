# Sourced by the tests of the command: a working folder, checks that count, a verdict at the end.
set -uo pipefail
T=${TTAPE_BIN:?the command to test}
work=$(mktemp -d "${TMPDIR:-/tmp}/ttape-cli.XXXXXX") || exit 1
cd "$work" || exit 1
trap 'cd /; rm -rf "$work"' EXIT
checks=0
failures=0

fail() {
    failures=$((failures + 1))
    printf 'FAILED: %s\n' "$*"
}

# status WANTED COMMAND...: runs it with stdout in out and stderr in err, and checks its exit status
status() {
    local wanted=$1 got=0
    shift
    checks=$((checks + 1))
    "$@" >out 2>err </dev/null || got=$?
    if [ "$got" -ne "$wanted" ]; then
        fail "status $got instead of $wanted: $*"
        sed 's/^/    /' err | head -n 5
    fi
}

# has FILE PATTERN: a line of the file matches the extended regular expression
has() {
    checks=$((checks + 1))
    grep -qaE -- "$2" "$1" || { fail "no '$2' in $1:"; head -n 5 "$1" | sed 's/^/    /'; }
}

# python3 WORD...: started in a hundredth of a second (see tests/CMakeLists.txt)
python=$(command -v "${TTAPE_PYTHON:-python3}" || echo python3)
python3() { command "$python" -S "$@"; }

# same FILE FILE
same() {
    checks=$((checks + 1))
    cmp -s "$1" "$2" || { fail "$1 and $2 differ"; diff "$1" "$2" | head -n 6; }
}

# noise BYTES: of chance, drawn once and for all, so that every run sees the same
noise() { python3 -c 'import random, sys
sys.stdout.buffer.write(random.Random(1).randbytes(int(sys.argv[1])))' "$1"; }

# lines FILE N
lines() {
    checks=$((checks + 1))
    local count
    count=$(wc -l <"$1")
    [ "$count" -eq "$2" ] || fail "$1 has $count lines instead of $2"
}

# absent FILE...
absent() {
    checks=$((checks + 1))
    local path
    for path in "$@"; do
        [ ! -e "$path" ] || fail "$path is there"
    done
}

# clean FILE: no control byte but line feeds, no C1 or bidi character
clean() {
    checks=$((checks + 1))
    local raw='[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]'
    if LC_ALL=C grep -qaP "$raw" "$1"; then
        fail "raw control characters in $1"
    fi
}

# alone: nothing but the listed files is in the working folder
alone() {
    checks=$((checks + 1))
    local extra
    extra=$(find . -mindepth 1 -maxdepth 1 -printf '%f\n' | grep -vxF -e out -e err \
        "${@/#/-e}" || true)
    [ -z "$extra" ] || fail "left behind: $extra"
}

# calls N: N calls of a function by one thread, as raw text
calls() {
    awk -v n="$1" 'BEGIN { print "0 1 enter main"
        for (i = 1; i <= n; i++) { print i * 10, 1, "enter f" i % 7; print i * 10 + 5, 1, "exit" }
        print n * 10 + 10, 1, "exit" }'
}

verdict() {
    if [ "$failures" -gt 0 ]; then
        printf '%d of %d checks failed\n' "$failures" "$checks"
        exit 1
    fi
    printf 'ok: %d checks\n' "$checks"
    exit 0
}
