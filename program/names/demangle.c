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

#include "program/names/demangle.h"

#define TICK_US              50000 /* of CPU: a name that sees three of them takes too long */
#define TICKS_MAX            2u
#define STACK_BYTES_PER_BYTE 1536u /* of input; the deepest nestings that were tried take a fifth */

struct demangling {
    char *out;
    size_t size_bytes;
    unsigned ticks;
    sigjmp_buf too_much;
};

static struct demangling *volatile current; /* for the signal handler */

static void take_piece(const char *piece, size_t size_bytes, void *context)
{
    struct demangling *work = context;
    if (size_bytes >= TOOL_DEMANGLE_OUTPUT_MAX - work->size_bytes)
        siglongjmp(work->too_much, 1);
    if (size_bytes > 0)
        memcpy(work->out + work->size_bytes, piece, size_bytes);
    work->size_bytes += size_bytes;
}

/* Comes all the time, so that a name costs no system call: thousands of names are ordinary. */
static void take_tick(int number)
{
    (void)number;
    if (current && ++current->ticks > TICKS_MAX)
        siglongjmp(current->too_much, 1);
}

/* What the stack holds of input; 0: names cannot be bounded here. */
static size_t start_buffer(void)
{
    /* It is not masked while it is handled: leaving by a jump then has no mask to restore. */
    struct sigaction action = {.sa_handler = take_tick, .sa_flags = SA_RESTART | SA_NODEFER};
    struct itimerval timer = {.it_value = {.tv_usec = TICK_US},
                              .it_interval = {.tv_usec = TICK_US}};
    struct rlimit stack;
    sigemptyset(&action.sa_mask);
    if (getrlimit(RLIMIT_STACK, &stack) != 0 || sigaction(SIGVTALRM, &action, NULL) != 0 ||
        setitimer(ITIMER_VIRTUAL, &timer, NULL) != 0)
        return 0;
    return (size_t)stack.rlim_cur / STACK_BYTES_PER_BYTE;
}

/* Rust's own form, and its older one, which is C++'s with a hash at the end. Its decoder
 * allocates: it may be left from the callback, but not from a signal. Its output grows with its
 * work. Returns whether it is such a name; -1 when it is too much. */
static int demangle_rust(const char *name, struct demangling *work)
{
    if (sigsetjmp(work->too_much, 0) != 0)
        return -1;
    return rust_demangle_callback(name, DMGL_PARAMS, take_piece, work) != 0;
}

static bool demangle_cpp(const char *name, struct demangling *work)
{
    volatile bool done = false;
    if (sigsetjmp(work->too_much, 0) == 0) {
        current = work;
        done = cplus_demangle_v3_callback(
                   name, DMGL_PARAMS | DMGL_ANSI | DMGL_TYPES | DMGL_NO_RECURSE_LIMIT, take_piece,
                   work) != 0;
    }
    current = NULL;
    return done;
}

size_t tool_demangle(const char *name, char *out)
{
    static size_t size_max; /* ... that a name may have; 0: not started */
    struct demangling work = {.out = out};
    bool rust = strncmp(name, "_R", 2) == 0;
    bool cpp = strncmp(name, "_Z", 2) == 0 || strncmp(name, "_GLOBAL_", 8) == 0;
    size_t size_bytes = strnlen(name, TOOL_DEMANGLE_INPUT_MAX + 1);
    if ((!rust && !cpp) || size_bytes > TOOL_DEMANGLE_INPUT_MAX)
        return 0;
    if (size_max == 0)
        size_max = start_buffer();
    if (size_bytes >= size_max)
        return 0;
    /* the older form of Rust ends with 17 characters, h and a hash: C++ names need not be asked */
    int done = rust || strstr(name, "17h") != NULL ? demangle_rust(name, &work) : 0;
    if (done < 0)
        return 0;
    if (done == 0 && cpp) {
        work.size_bytes = 0;
        done = demangle_cpp(name, &work);
    }
    out[work.size_bytes] = '\0';
    return done != 0 ? work.size_bytes : 0;
}
