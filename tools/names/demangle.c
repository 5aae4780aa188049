/* The door to libiberty, and why it: a mangled name is a program whose output can be 2^300 bytes
 * long.
 *
 * libstdc++'s __cxa_demangle builds the whole output in memory before it says how long it is,
 * refuses names of more than 1,024 bytes, which templates reach, and knows no Rust. elfutils has
 * no demangler of its own. libiberty has the same C++ code with a callback that gets the output
 * piece by piece and that may leave by longjmp: this code allocates on the stack only. So the
 * output's size, the input's size (which bounds the recursion and the stack), and the time are
 * all bounded here. */
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <libiberty/demangle.h>

#include "tools/names/demangle.h"

#define TIME_MAX_US          100000 /* of CPU, for one name */
#define STACK_BYTES_PER_BYTE 1536u /* of input; the deepest nestings that were tried take a fifth */

struct demangling {
    char *out;
    size_t size_bytes;
    sigjmp_buf too_much;
};

static struct demangling *current; /* for the signal handler */

static void take_piece(const char *piece, size_t size_bytes, void *context)
{
    struct demangling *work = context;
    if (size_bytes >= TOOL_DEMANGLE_OUTPUT_MAX - work->size_bytes)
        siglongjmp(work->too_much, 1);
    if (size_bytes > 0)
        memcpy(work->out + work->size_bytes, piece, size_bytes);
    work->size_bytes += size_bytes;
}

static void take_alarm(int number)
{
    (void)number;
    siglongjmp(current->too_much, 1);
}

static void set_timer(long microseconds)
{
    struct itimerval timer = {.it_value = {.tv_usec = microseconds}};
    (void)setitimer(ITIMER_VIRTUAL, &timer, NULL);
}

/* Rust's own form, and its older one, which is C++'s with a hash at the end. Its decoder
 * allocates: it may be left from the callback, but not from a signal. Its output grows with its
 * work. Returns whether it is such a name; -1 when it is too much. */
static int demangle_rust(const char *name, struct demangling *work)
{
    if (sigsetjmp(work->too_much, 1) != 0)
        return -1;
    return rust_demangle_callback(name, DMGL_PARAMS, take_piece, work) != 0;
}

static bool demangle_cpp(const char *name, struct demangling *work)
{
    struct sigaction action = {.sa_handler = take_alarm}, before;
    sigemptyset(&action.sa_mask);
    current = work;
    if (sigaction(SIGVTALRM, &action, &before) != 0)
        return false;
    volatile bool done = false;
    if (sigsetjmp(work->too_much, 1) == 0) {
        set_timer(TIME_MAX_US);
        done = cplus_demangle_v3_callback(
                   name, DMGL_PARAMS | DMGL_ANSI | DMGL_TYPES | DMGL_NO_RECURSE_LIMIT, take_piece,
                   work) != 0;
    }
    set_timer(0);
    (void)sigaction(SIGVTALRM, &before, NULL);
    return done;
}

static bool stack_suffices(size_t size_bytes)
{
    struct rlimit stack;
    return getrlimit(RLIMIT_STACK, &stack) == 0 &&
           stack.rlim_cur / STACK_BYTES_PER_BYTE > size_bytes;
}

size_t tool_demangle(const char *name, char *out)
{
    struct demangling work = {.out = out};
    bool rust = strncmp(name, "_R", 2) == 0;
    bool cpp = strncmp(name, "_Z", 2) == 0 || strncmp(name, "_GLOBAL_", 8) == 0;
    size_t size_bytes = strnlen(name, TOOL_DEMANGLE_INPUT_MAX + 1);
    if ((!rust && !cpp) || size_bytes > TOOL_DEMANGLE_INPUT_MAX || !stack_suffices(size_bytes))
        return 0;
    int done = demangle_rust(name, &work);
    if (done < 0)
        return 0;
    if (done == 0 && cpp) {
        work.size_bytes = 0;
        done = demangle_cpp(name, &work);
    }
    out[work.size_bytes] = '\0';
    return done != 0 ? work.size_bytes : 0;
}
