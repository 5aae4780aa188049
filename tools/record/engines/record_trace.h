/* System calls by ptrace: the process that traces, beside the recorder. It is forked before the
 * recorder has threads, and waits for what to trace. */
#ifndef TOOL_RECORD_TRACE_H
#define TOOL_RECORD_TRACE_H

#include <stdbool.h>
#include <sys/types.h>

#include <tracetape/recording.h>
#include <tracetape/syscalls.h>

struct tool_record_trace {
    pid_t tracer; /* 0: there is none */
    int to, from; /* pipes */
};

/* As of ttape_trace_options. */
struct tool_trace_how {
    const char *runtime, *measure;
};

/* `calls`: which, and what of them. False, with a message: it cannot be. */
bool tool_trace_open(struct tool_record_trace *trace, const ttape_syscall_options *calls,
                     const struct tool_trace_how *how);
/* Holds the process, or says why it cannot be. A child that has not executed its program yet lets
 * itself be traced by tool_trace_allow. */
bool tool_trace_hold(struct tool_record_trace *trace, const char *arena, pid_t pid,
                     bool is_running);
void tool_trace_allow(const struct tool_record_trace *trace);
/* Asks it to let go of all programs, which run on. */
void tool_trace_leave(const struct tool_record_trace *trace);
/* Whether it has let go of all, or they have ended. */
bool tool_trace_has_ended(const struct tool_record_trace *trace);
/* Waits for its end: that of the last program. What was lost stands in the trace as gaps. */
void tool_trace_close(struct tool_record_trace *trace);

#endif
