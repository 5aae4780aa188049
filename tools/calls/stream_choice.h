/* Which threads and which time: --thread, --process, --stream and --time A..B of many verbs. */
#ifndef TOOL_STREAM_CHOICE_H
#define TOOL_STREAM_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/selection.h>
#include <tracetape/tree.h>

#include "tools/command/options.h"
#include "tools/io/input.h"

struct tool_numbers {
    uint64_t *numbers;
    size_t count, capacity;
};

/* An absolute time: what the option gave, or that from the trace's first event on, which a time
 * like 1s that is before this event means as well. */
uint64_t tool_absolute_ns(const struct tool_time *time, const ttape_info *info);

struct tool_span {
    bool given;
    struct tool_time from, to; /* not given: open */
};

void tool_add_number(struct tool_numbers *numbers, uint64_t number);
bool tool_parse_numbers(const char *text, void *into); /* tool_numbers: "1,2,3"; adds to them */
bool tool_parse_span(const char *text, void *into);    /* tool_span: "1s..2s", "+20ms..", "..5" */

/* The name of a call, that every verb takes and prints: "s0e4711" is the call that event 4711 of
 * stream 0 entered. It stays what it is as long as the file. */
#define TOOL_CALL_ID_BYTES 40u

struct tool_call_id {
    bool given;
    uint32_t stream;
    uint64_t event;
};

bool tool_parse_call(const char *text, void *into); /* tool_call_id */

/* The name of a node, as `tree` prints it: s0 a stream, s0p3 what partition 3 has of it, s0e17 a
 * call, s0p3f1 and s0p3b1 calls by their place in a partition. False: no such name. */
bool tool_parse_node(const char *text, ttape_node_id *id);
/* Into `buffer`, of TOOL_CALL_ID_BYTES; returns it. */
const char *tool_put_call(char *buffer, uint32_t stream, uint64_t event);

/* What was selected in a trace. */
struct tool_selection {
    ttape_selection *made;
    const uint32_t *streams; /* ascending; NULL: all */
    uint32_t stream_count;
    bool has_range;
    bool is_outside;         /* nothing of the trace is in the range, which was told */
    uint64_t from_ns, to_ns; /* half-open, absolute */
};

/* What options choose, and these options. */
struct tool_choice {
    struct tool_numbers tids, pids, streams;
    struct tool_span time;
};

#define TOOL_TIME_OPTION                                                                           \
    {                                                                                              \
        "time", 't', "A..B", "only this time: 1.5s..2s, +20ms.. (+: from the trace's start)",      \
            tool_parse_span, TOOL_AT(choice.time)                                                  \
    }
#define TOOL_THREAD_OPTION                                                                         \
    {                                                                                              \
        "thread", 'T', "TID,...", "only threads with these numbers", tool_parse_numbers,           \
            TOOL_AT(choice.tids)                                                                   \
    }
#define TOOL_PROCESS_OPTION                                                                        \
    {                                                                                              \
        "process", 'P', "PID,...", "only processes with these numbers", tool_parse_numbers,        \
            TOOL_AT(choice.pids)                                                                   \
    }
#define TOOL_STREAM_OPTION                                                                         \
    {                                                                                              \
        "stream", 0, "N,...", "only these streams (tracetape info lists them)",                    \
            tool_parse_numbers, TOOL_AT(choice.streams)                                            \
    }

/* Whether a thread, process or stream is named at all. */
bool tool_choice_names(const struct tool_choice *choice);

/* Returns a tool_exit; what is wrong has been reported: no such thread, a trace without times, a
 * range that ends before it starts, or of which the trace has nothing. */
int tool_select(struct tool_selection *selection, const struct tool_input *input,
                const struct tool_choice *choice);
/* The same of one of several traces, where another one may have something in the range. */
int tool_select_of_many(struct tool_selection *selection, const struct tool_input *input,
                        const struct tool_choice *choice);
/* The range alone; the streams alone, of a trace that grows: where may_be_none, nothing is selected
 * as long as what is named is not there. */
int tool_select_time(struct tool_selection *selection, const ttape_reader *reader,
                     const char *trace, const struct tool_choice *choice, bool may_be_none);
int tool_select_streams(struct tool_selection *selection, const ttape_reader *reader,
                        const char *trace, const struct tool_choice *choice, bool may_be_none);
/* Is the stream selected? */
bool tool_selects(const struct tool_selection *selection, uint32_t stream);
void tool_choice_close(struct tool_choice *choice);
void tool_selection_close(struct tool_selection *selection);

#endif
