/* The process that traces system calls, beside the recorder. It is forked before the recorder has
 * threads, and waits for what to trace. */
#ifndef TTP_SESSION_TRACER_H
#define TTP_SESSION_TRACER_H

#include <stdbool.h>
#include <sys/types.h>

#include <tracetape/session.h>

struct ttp_session_tracer {
    pid_t pid;  /* 0: there is none */
    int socket; /* to it */
};

ttape_status ttp_tracer_open(struct ttp_session_tracer *tracer,
                             const ttape_session_options *options,
                             const ttape_syscall_options *calls, const char *runtime,
                             ttape_error *err);
/* Holds the process, or says why it cannot be. A child that has not executed its program yet lets
 * itself be traced by ttp_tracer_allow. */
ttape_status ttp_tracer_hold(struct ttp_session_tracer *tracer, const char *arena, pid_t pid,
                             bool is_running, ttape_error *err);
void ttp_tracer_allow(const struct ttp_session_tracer *tracer);
/* Asks it to let go of all programs, which run on. */
void ttp_tracer_leave(const struct ttp_session_tracer *tracer);
/* Whether it has let go of all, or they have ended. */
bool ttp_tracer_has_ended(const struct ttp_session_tracer *tracer);
/* Waits for its end: that of the last program. What was lost stands in the trace as gaps. */
void ttp_tracer_close(struct ttp_session_tracer *tracer, ttape_trace_counts *counts);

#endif
