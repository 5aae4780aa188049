/* Many traces as one input, for verbs whose answers are of one trace: files are merged into an
 * unlinked temporary file (TMPDIR). One file is read where it is. */
#ifndef TOOL_JOINED_H
#define TOOL_JOINED_H

#include "tools/io/input.h"
#include "tools/io/operands/operands.h"

struct tool_joined {
    struct tool_input input; /* its source is open; of one file and of many */
    char name[40];           /* of many: what stands for them in messages */
    int status;              /* TOOL_LOSS: files were left out, or end too early */
};

/* Returns a tool_exit; what is wrong has been reported. Files that cannot be read are left out, as
 * long as there are others. verb: for messages. Closed in any case. */
int tool_joined_open(struct tool_joined *joined, const struct tool_operands *paths,
                     const char *verb, uint64_t memory_bytes);
void tool_joined_close(struct tool_joined *joined);

/* Opens them and a reader, calls `work`, and closes all: tool_input_run of many. */
int tool_joined_run(const struct tool_operands *paths, const char *verb, uint32_t jobs,
                    uint64_t memory_bytes,
                    int (*work)(void *context, const struct tool_input *input), void *context);

#endif
