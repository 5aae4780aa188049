/* Starting the command that is recorded. */
#ifndef TOOL_RECORD_START_H
#define TOOL_RECORD_START_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include <tracetape/recording.h>

#include "tools/record/bare/record_bare.h"
#include "tools/record/engines/record_trace.h"

struct tool_record_start {
    const char *runtime;                 /* NULL: nothing is loaded into the command */
    struct tool_record_trace *trace;     /* that sees its system calls; NULL: nobody */
    const struct tool_record_bare *bare; /* what it has of its own */
    const sigset_t *mask;                /* signals that were blocked before we blocked some */
    bool follows;                        /* the kernel is asked when its threads do not run ... */
    bool is_quiet;                       /* ... and that it refuses is not said */
};

/* The child, or -1; *code: errno of what failed, in the child too. */
pid_t tool_record_start(char **argv, ttape_recording *recording,
                        const struct tool_record_start *how, int *code);

/* Large blocks go back to the system as soon as they are free: else malloc keeps them, and as much
 * again between them, while other partitions want some of another size. */
void tool_record_give_back_memory(void);

/* Signals that end or steer the recorder wait until it can take them: the command may run by then.
 */
void tool_record_block_signals(sigset_t *before);

#define TOOL_RUNTIME_NAME "libtracetape-rt.so.0"

/* The runtime beside this program, or the one that TRACETAPE_RUNTIME names; NULL: none. The caller
 * frees it. */
char *tool_record_find_runtime(void);

#endif
