/* What `last` shows: of each thread what is open at its end, its last calls, and how it ended, as
 * text and as JSON. */
#ifndef TOOL_LAST_VIEW_H
#define TOOL_LAST_VIEW_H

#include <sys/types.h>

#include <tracetape/last.h>

#include "tools/calls/inlined/inlined_callers.h"
#include "tools/calls/site_name.h"
#include "tools/command/output.h"
#include "tools/io/input.h"
#include "tools/last/core_fault.h"
#include "tools/values/value_search.h"

struct tool_last {
    const struct tool_input *input;
    const ttape_reader *reader;
    struct tool_site_names names; /* opened by the verb, in the style that was asked for */
    bool has_times, is_limit_given;
    uint32_t process_count, thread_count;
    ttape_last *answer;
    const ttape_last_thread *threads;
    struct tool_value_search values;
    struct tool_inlined *inlined;
    struct tool_core_fault core; /* tid 0: none was given */
    bool *ran;                   /* by thread: it ran when that signal came; */
    uint32_t ran_count;          /* so many did, others waited; 0: that is not known */
    uint32_t ran_latest;         /* the one with the latest event */
    uint32_t ran_process;
    uint64_t ran_signal;
};

/* Where the process ended by a fault that this thread met: false, if it is not known. */
bool tool_last_fault(const struct tool_last *last, const ttape_last_thread *thread,
                     uint64_t *signal, uint64_t *address);

/* fault_place.c: the code that met the fault of a thread, by the core file. False: it is not
 * known. */
struct tool_last_place {
    char function[512], file[512]; /* "": not known */
    uint32_t line;
};
bool tool_last_core_place(const struct tool_last *last, const ttape_last_thread *thread,
                          struct tool_last_place *place);

/* Inlined functions of the frame around the open one number `at`, in which that was called:
 * outermost first. */
char *const *tool_last_inlined(const struct tool_last *last, const ttape_last_thread *thread,
                               uint32_t at, uint32_t *count);

/* last_running.c: which threads ran when a fault's signal ended their process, the first one that
 * ended so. */
void tool_last_find_ran(struct tool_last *last);

/* An open frame, and a call that stands alone, as the search takes them. */
static inline struct tool_value_call tool_last_frame(const ttape_last_thread *thread,
                                                     const ttape_open_frame *frame)
{
    return (struct tool_value_call){.stream = thread->stream,
                                    .site = frame->site,
                                    .partition = TTAPE_NONE,
                                    .enter_ns = frame->enter_time_ns,
                                    .enter_number = TOOL_VALUE_NO_NUMBER,
                                    .end_number = TOOL_VALUE_NO_NUMBER};
}
static inline struct tool_value_call tool_last_call(const ttape_last_thread *thread,
                                                    const ttape_last_call *call)
{
    return (struct tool_value_call){.stream = thread->stream,
                                    .site = call->site,
                                    .partition = TTAPE_NONE,
                                    .enter_ns = call->start_ns,
                                    .enter_number = TOOL_VALUE_NO_NUMBER,
                                    .end_number = TOOL_VALUE_NO_NUMBER,
                                    .end_ns = call->start_ns + (uint64_t)call->total_ns,
                                    .has_end_ns = call->has_returned};
}

/* Shows the stacks of a process that runs. Returns a tool_exit. */
int tool_last_live(pid_t pid, bool json);

/* ---- last_order.c ---- */

/* Threads that ended alike, and in which the same was open: by number, the first one first. */
struct tool_last_group {
    uint32_t *threads, count;
};
struct tool_last_order {
    struct tool_last_group *groups;
    uint32_t group_count, hidden_count; /* hidden: ended by themselves */
    uint32_t *threads;
};

/* The thread that ended it all is in the first group. all: none is hidden, each is a group. */
struct tool_last_order tool_last_order_of(const struct tool_last *last, bool all);
void tool_last_order_close(struct tool_last_order *order);

struct tool_last_member {
    uint64_t tid;
    ttape_string name;
};
bool tool_last_have_one_name(const struct tool_last_member *members, size_t count);
/* A line of which threads they are, with their names where these differ; what does not fit into
 * the columns (0: any) is counted. */
void tool_last_put_members(struct tool_output *out, const struct tool_last_member *members,
                           size_t count, unsigned columns);

/* all: also threads that ended by themselves, and none as one of many. */
void tool_last_text(struct tool_last *last, struct tool_output *out, bool all);
void tool_last_json(struct tool_last *last, struct tool_output *out);

#endif
