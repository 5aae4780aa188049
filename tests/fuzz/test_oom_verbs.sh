#!/usr/bin/env bash
# R17: the n-th allocation of a verb fails, once or from then on, for every n until none is left: an
# exit status of the command's own, a message where it is not done, and nothing half-written. With
# the address sanitizer (its shared runtime, before which the shim comes): no leak either.
. "${TTAPE_SRC:?}/tests/cli/common.sh"
each=60 step=13
case ${TTAPE_SANITIZE:-} in
    '') ;;
    *thread*)
        printf 'SKIPPED: the thread sanitizer ends a program whose allocation fails\n'
        exit 77
        ;;
    *)
        each=30 step=37 # its runs are ten times as slow
        export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"
        ;;
esac

cat >shim.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
static void *(*next_malloc)(size_t size); /* a sanitizer's, or the library's */
static void *(*next_calloc)(size_t count, size_t size);
static void *(*next_realloc)(void *block, size_t size);
static void find_next(void)
{
    *(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
    *(void **)&next_calloc = dlsym(RTLD_NEXT, "calloc");
    *(void **)&next_realloc = dlsym(RTLD_NEXT, "realloc");
}
typedef int main_function(int, char **, char **);
typedef int start_function(main_function *, int, char **, void (*)(void), void (*)(void),
                           void (*)(void), void *);
static main_function *the_main;
static int started; /* what libraries do before main is theirs */
static int wrapped(int argc, char **argv, char **env)
{
    started = 1;
    return the_main(argc, argv, env);
}
int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*end)(void), void *stack)
{
    start_function *real = (start_function *)dlsym(RTLD_NEXT, "__libc_start_main");
    the_main = main;
    return real(wrapped, argc, argv, init, fini, end, stack);
}
static int fails(void)
{
    static long calls, at = -2;
    static int for_ever;
    if (!started)
        return 0;
    if (at == -2) {
        const char *text = getenv("OOM_AT");
        at = text != NULL ? atol(text) : -1;
        for_ever = getenv("OOM_EVER") != NULL;
    }
    long call = __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    if (at < 0 || call < at || (call > at && !for_ever))
        return 0;
    return call > at || write(9, "x", 1) >= 0;
}
void *malloc(size_t size)
{
    if (next_malloc == NULL)
        find_next();
    return fails() ? NULL : next_malloc(size);
}
void *calloc(size_t count, size_t size)
{
    if (next_calloc == NULL)
        find_next();
    return fails() ? NULL : next_calloc(count, size);
}
void *realloc(void *block, size_t size)
{
    if (next_realloc == NULL)
        find_next();
    return fails() ? NULL : next_realloc(block, size);
}
END
"${TTAPE_CC:-cc}" -shared -fPIC -O1 -o shim.so shim.c -ldl 2>err || {
    printf 'SKIPPED: no allocator to replace: %s\n' "$(head -n 1 err)"
    exit 77
}

calls 300 >in.txt
printf 'meta k v\n0 2 enter x "text" 5\n9 2 exit x\n' >>in.txt
"$T" convert in.txt -o a.ttape --partition-events 100 || fail "convert"
"$T" cut a.ttape --events 0..200 -o one.ttape && "$T" cut a.ttape --events 200.. -o two.ttape ||
    fail "cut"

env LD_PRELOAD="$PWD/shim.so" OOM_AT=0 "$T" verify a.ttape >out 2>err 9>hit
if [ ! -s hit ]; then
    printf 'SKIPPED: the shim is not in front of the allocator: %s\n' "$(head -n 1 err)"
    exit 77
fi

# oom NAME VERB...: the verb with faults; its output, where it has one, is new.ttape
oom() {
    local name=$1 mode at got ever runs=0
    shift
    for mode in once ever; do
        ever=
        [ $mode = once ] || ever=OOM_EVER=1
        for ((at = 0; at < 4000; at += at < each ? 1 : step)); do
            rm -f new.ttape
            : >hit
            got=0
            timeout 100 env LD_PRELOAD="$PWD/shim.so" OOM_AT="$at" $ever \
                "$T" "$@" >out 2>err 9>>hit \
                </dev/null || got=$?
            runs=$((runs + 1))
            checks=$((checks + 1))
            [ -s hit ] || break
            [ "$got" -le 4 ] || fail "$name: allocation $at fails ($mode): status $got: $(cat err)"
            [ "$got" -ne 4 ] || [ -s err ] ||
                fail "$name: allocation $at fails ($mode): not done, and no message"
            if [ "$got" -eq 4 ] && [ -e new.ttape ]; then
                fail "$name: allocation $at fails ($mode): an output is left"
            fi
            if [ "$got" -eq 0 ] && [ -e new.ttape ]; then
                "$T" verify -q new.ttape || fail "$name: allocation $at fails ($mode): a bad output"
            fi
        done
        [ ! -s hit ] || [ "$at" -ge 4000 ] || fail "$name: the loop ends early"
    done
    printf '%s: %d runs\n' "$name" "$runs"
}
oom convert convert in.txt -o new.ttape --partition-events 100
oom verify verify a.ttape
oom info info --json a.ttape
oom dump dump a.ttape --limit 20
oom cut cut a.ttape --events 50..150 -o new.ttape
oom merge merge one.ttape two.ttape -o new.ttape
checks=$((checks + 1))
extra=$(find . -name '*.ttape*' | grep -vE '/(a|one|two|new)\.ttape$' || true)
[ -z "$extra" ] || fail "left behind: $extra"
verdict
