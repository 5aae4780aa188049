/* What `last` shows: of each thread what is open at its end, its last calls, and how it ended.
 *
 *   last_read.c reads them from the ends of the streams; last_text.c and last_json.c print them. */
#ifndef TOOL_LAST_VIEW_H
#define TOOL_LAST_VIEW_H

#include "tools/calls/site_name.h"
#include "tools/command/output.h"
#include "tools/io/input.h"

/* A call, or `count` of the same function one after the other, which call nothing. */
struct tool_last_call {
    uint32_t site, depth;
    uint64_t start_ns; /* of the first of them */
    uint64_t count;
    int64_t total_ns; /* of those that returned; is_open, or left otherwise: 0 */
    bool has_returned, is_open;
};

struct tool_last_end {
    bool is_known, is_process; /* is_process: of the two facts it is that of the process */
    uint64_t how, number;
};

struct tool_last_thread {
    uint32_t stream;
    ttape_stream_info info;
    struct tool_last_end end;
    uint64_t start_ns, end_ns;
    ttape_open_frame *frames; /* outermost first */
    uint32_t frame_count;
    struct tool_last_call *calls;
    size_t call_count;
    bool has_more_calls; /* before them */
};

struct tool_last_process {
    struct tool_last_end end;
};

struct tool_last {
    const struct tool_input *input;
    const ttape_reader *reader;
    struct tool_site_names names; /* opened by the verb, in the style that was asked for */
    uint32_t limit;               /* calls of a thread */
    bool has_times;
    struct tool_last_process *processes;
    uint32_t process_count;
    struct tool_last_thread *threads;
    size_t thread_count;
};

/* streams: which; NULL: all. Returns a tool_exit; what failed has been reported. */
int tool_last_read(struct tool_last *last, const struct tool_input *input, const uint32_t *streams,
                   uint32_t stream_count, uint32_t limit);
void tool_last_close(struct tool_last *last);

/* all: also threads that ended by themselves. */
void tool_last_text(struct tool_last *last, struct tool_output *out, bool all);
void tool_last_json(struct tool_last *last, struct tool_output *out);

#endif
