/* System calls of programs that nothing is loaded into: linked statically, of 32 bits, running
 * already. They are stopped at each call by ptrace, and what is seen goes into a recording's arena
 * as if the programs had written it themselves.
 *
 * ttape_trace_calls runs in a process of its own, with one thread, from before the programs start
 * (or are attached to) until the last has ended; the recorder is another process. Where it is
 * killed, the programs run on. */
#ifndef TRACETAPE_SYSCALLS_H
#define TRACETAPE_SYSCALLS_H

#include <stdbool.h>

#include <tracetape/error.h>
#include <tracetape/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of x86-64, as the kernel's headers have it; static. NULL: there is none, or it is newer. */
TTAPE_API const char *ttape_system_call_name(uint32_t number);

#define TTAPE_CALL_NUMBERS 512u /* of the kernel; higher ones, and those of 32 bits, are one */

/* Names of counters, from 0 on; static. NULL: there are no more. */
TTAPE_API const char *ttape_trace_counter(uint32_t number);

typedef struct ttape_trace_options {
    size_t size;       /* sizeof(ttape_trace_options) */
    const char *arena; /* ttape_recording_arena */
    uint32_t pid;      /* the process, and all that it starts */
    bool is_running;   /* it runs already; else it is a child of the recorder's that waits, and is
                        * seen from the program on that it executes next */
    const uint64_t *chosen;       /* a bit by number, the lowest first; NULL: all */
    void (*ready)(void *context); /* called once, when the process is held */
    bool stacks;                  /* with each call, the stack that led to it */
    /* The plan of a module (`tracetape binary`), which stays as it is while programs are traced;
     * NULL: it has none, and stacks end there. */
    const void *(*plan)(void *context, const char *module_path, size_t *size_bytes);
    void *context;       /* of both */
    bool arguments;      /* with what calls are given, as of ttape_syscall_options, and results */
    uint64_t data_bytes; /* as there */
    /* The file that is preloaded into programs, and records their calls itself as soon as it can
     * (ttape_syscall_options.traced): from then on they run free. Its own calls, and those that
     * load it, are left out. NULL: there is none. */
    const char *runtime;
    /* A counter of the thread, by its name: how much it went on from each call's entry to its exit
     * is the last value of the exit (F-SIT-11). NULL: none. */
    const char *measure;
} ttape_trace_options;

/* What was seen, and what was not. */
typedef struct ttape_trace_counts {
    uint64_t calls, processes, threads;
    uint64_t lost;        /* events for which the recorder had no room */
    uint64_t other_calls; /* of 32 bits, or above TTAPE_CALL_NUMBERS */
} ttape_trace_counts;

/* Returns when all have ended, or after ttape_trace_leave. TTAPE_E_UNSUPPORTED: the kernel refuses
 * (no such process, another user's, traced by another, a rule of the machine), or the machine has
 * no such counter. */
TTAPE_API ttape_status ttape_trace_calls(const ttape_trace_options *options,
                                         ttape_trace_counts *counts, ttape_error *err);
/* For a handler of signals: lets go of all programs, which run on. */
TTAPE_API void ttape_trace_leave(void);

#ifdef __cplusplus
}
#endif
#endif
