/* One thread's events as calls that begin and end on stacks, with their times: what graphs and
 * comparisons are made of.
 *
 *   cursor -> stacks (unwinding, switches, signals, damage) -> enter, leave, switch, alarm, leaf
 *
 * Conventions are those of reports: the time between two events belongs to what was on the current
 * stack before the later one; each stack has a clock that runs only while it is the current one. */
#ifndef TOOL_GRAPH_CALLS_H
#define TOOL_GRAPH_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/calls/selection.h"
#include "tools/io/input.h"

struct tool_calls;

/* An open call. */
struct tool_call {
    uint32_t kind; /* TTAPE_EVENT_ENTER, TTAPE_EVENT_OPEN or TTAPE_EVENT_SIGNAL_BEGIN */
    uint32_t site;
    uint32_t argument; /* signal number */
    bool counts;       /* it was made in what is read: an enter of the selection */
    uint64_t enter_ns;
    uint64_t clock; /* of its stack, when it began */
    int64_t self_ns;
    /* the handler's */
    uint32_t node, shown, edge, flags;
};

struct tool_call_stack {
    struct tool_call *calls; /* outermost first */
    size_t count, capacity;
    uint64_t clock;
    uint32_t number;
    bool is_known;            /* it was the current one before */
    uint32_t origin, through; /* the handler's */
};

/* What is told; all but enter and leave may be NULL. */
struct tool_calls_handler {
    /* `call` is the top of the current stack (or, where reading begins, of any). */
    void (*enter)(void *context, struct tool_calls *calls, struct tool_call_stack *stack,
                  struct tool_call *call);
    /* The top leaves: total_ns is its time on its stack. `ended`: it did so in the trace. */
    void (*leave)(void *context, struct tool_calls *calls, struct tool_call_stack *stack,
                  struct tool_call *call, int64_t total_ns);
    /* A stack is run for the first time. */
    void (*change)(void *context, struct tool_calls *calls, const struct tool_call_stack *from,
                   struct tool_call_stack *to);
    void (*leaf)(void *context, struct tool_calls *calls, const ttape_event *event);
    /* Before the first event at or after alarm_ns; sets another (UINT64_MAX: none). */
    void (*alarm)(void *context, struct tool_calls *calls);
};

struct tool_calls {
    const struct tool_input *input;
    const struct tool_calls_handler *handler;
    void *context;
    const struct tool_selection *selection; /* its time range only */
    uint32_t stream;
    struct tool_call_stack **stacks;
    size_t stack_count;
    struct tool_call_stack *current;
    uint64_t now_ns, alarm_ns;
    uint64_t number; /* of the event at hand in its stream */
    uint64_t event_count;
    int64_t span_ns, outside_ns; /* time; part of it with no frame on the current stack */
    uint64_t error_count;        /* reported failures, over all streams */
    bool failed;                 /* not worth going on, reported */
    ttape_cursor *cursor;
    ttape_event *events;
};

/* Streams one after the other with one tool_calls. */
void tool_calls_open(struct tool_calls *calls, const struct tool_input *input,
                     const struct tool_selection *selection,
                     const struct tool_calls_handler *handler, void *context);
void tool_calls_stream(struct tool_calls *calls, uint32_t stream, uint64_t alarm_ns);
void tool_calls_close(struct tool_calls *calls);

/* The status of a run over streams: damage that was met is a loss. */
int tool_calls_status(const struct tool_calls *calls);

#endif
