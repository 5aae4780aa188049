/* A trace as a filter leaves it, for verbs that read one: it is written to an unlinked temporary
 * file once, and the verb reads that. So a filter means the same in all of them. */
#ifndef TOOL_FILTERED_INPUT_H
#define TOOL_FILTERED_INPUT_H

#include "tools/filter/filter_option.h"
#include "tools/io/input.h"

/* As tool_input_run; of what a filter leaves where one was given. */
int tool_filtered_run(const char *verb, const struct tool_filter *filter, const char *path,
                      uint32_t jobs, uint64_t memory_bytes,
                      int (*work)(void *context, const struct tool_input *input), void *context);

/* The same for a verb that opens its input itself, and calls tool_filtered_work for it. */
struct tool_filtered {
    struct tool_filter_made made;
    bool is_given; /* a filter is; else the work is done as it is */
    uint32_t jobs;
    uint64_t memory_bytes;
    int (*work)(void *context, const struct tool_input *input);
    void *context;
};
int tool_filtered_begin(struct tool_filtered *filtered, const char *verb,
                        const struct tool_filter *filter, uint32_t jobs, uint64_t memory_bytes,
                        int (*work)(void *context, const struct tool_input *input), void *context);
int tool_filtered_work(void *filtered, const struct tool_input *input);
void tool_filtered_end(struct tool_filtered *filtered);

/* The same of an input that is open, for verbs that read several: `to` is what the filter leaves,
 * and is closed by the caller, whatever is returned. A tool_exit. */
int tool_filtered_open(struct tool_input *to, struct tool_filter_made *made,
                       const struct tool_input *from, uint32_t jobs, uint64_t memory_bytes);

#endif
