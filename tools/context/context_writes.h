/* Lines of a log and the writes that a recording has of them (record --log-fd): joined by content
 * and order.
 *
 *   recording --> writes: length, hash, stack; with --libcalls the stdio calls in front of each
 *   log       --> where the bytes of each write are
 *             --> of a line: who printed it, likely; or who wrote it, where it was buffered */
#ifndef TOOL_CONTEXT_WRITES_H
#define TOOL_CONTEXT_WRITES_H

#include "tools/context/context_view.h"

struct tool_context_write {
    uint64_t offset, length; /* of the log, once it is found there */
    uint64_t hash;
    uint32_t stack;       /* number of a text */
    uint32_t first_print; /* stacks of stdio calls since the write before, this one's among them */
    uint32_t print_count;
    uint32_t lines; /* that end in it */
    bool is_found, ends_line;
};

struct tool_context_writes {
    struct tool_context_write *all; /* by time; tool_context_join_writes: by where they are */
    size_t count, capacity, found;
    char **stacks; /* escaped, "main > parse" */
    size_t stack_count, stack_capacity;
    struct ttp_key_map stacks_by_text;
    const struct tool_context_write *put; /* of the line that was put last, */
    uint32_t put_line;                    /* the how manieth of the write's it was */
    uint32_t *prints;
    size_t print_count, print_capacity;
};

/* All three return a tool_exit; what failed has been reported. */
int tool_context_read_writes(struct tool_context_writes *writes,
                             const struct tool_context_recording *recording);
int tool_context_join_writes(struct tool_context_writes *writes, int fd);
/* Behind a line that begins there. Lines come in their order. */
void tool_context_put_writer(struct tool_context_writes *writes, uint64_t offset,
                             struct tool_output *out);
void tool_context_close_writes(struct tool_context_writes *writes);

#endif
