/* One thread's events as calls that begin and end on stacks, with their times: what
 * comparisons are made of.
 *
 *   call cursor -> enter, leave, time off the CPU */
#ifndef TOOL_CALLS_WALK_H
#define TOOL_CALLS_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/calls.h>

#include "tools/io/input.h"

struct tool_calls;

/* What a handler keeps in the words of a call that are its own. */
enum tool_call_word { TOOL_CALL_NODE, TOOL_CALL_FLAGS };

static inline uint32_t tool_call_word(const ttape_call *call, enum tool_call_word word)
{
    return (uint32_t)call->user[word];
}

/* It was made in what is read: an enter of the selection. */
static inline bool tool_call_counts(const ttape_call *call)
{
    return call->kind != TTAPE_EVENT_OPEN && !call->is_found;
}

struct tool_call_stack {
    ttape_call *calls; /* outermost first */
    size_t count;
};

/* What is called; all but enter may be NULL. */
struct tool_calls_handler {
    /* `call` is the top of the current stack (or, where reading begins, of any). */
    void (*enter)(void *context, struct tool_call_stack *stack, ttape_call *call);
    /* The top leaves. */
    void (*leave)(void *context, struct tool_call_stack *stack, ttape_call *call);
    /* A part of the interval that ends now, in which the thread did not run. `top`: the call that
     * it belongs to, or NULL. */
    void (*off)(void *context, ttape_call *top, int64_t preempted_ns, int64_t blocked_ns);
};

struct tool_calls {
    const struct tool_input *input;
    const struct tool_calls_handler *handler;
    void *context;
    struct tool_call_stack **stacks;
    size_t stack_count;
    struct tool_call_stack *current;
    uint64_t error_count; /* reported failures, over all streams */
    bool switches;        /* time off the CPU is asked for */
    int status;           /* TOOL_CANNOT: not worth going on */
};

/* Streams one after the other with one tool_calls. With a handler of `off`, time off the CPU is
 * asked for, unless the trace is so long that this takes too long. */
void tool_calls_open(struct tool_calls *calls, const struct tool_input *input,
                     const struct tool_calls_handler *handler, void *context);
void tool_calls_stream(struct tool_calls *calls, uint32_t stream);
void tool_calls_close(struct tool_calls *calls);

/* The status of a run over streams: damage that was met is a loss. */
int tool_calls_status(const struct tool_calls *calls);

#endif
