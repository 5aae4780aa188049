/* Messages of Arrow's IPC stream: the metadata in front of each body, in Google's FlatBuffers. */
#ifndef ARROW_MESSAGE_H
#define ARROW_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/command/output.h"

#define ARROW_ALIGN         64u /* of buffers in a body */
#define ARROW_COLUMNS_MAX   32u
#define ARROW_BUFFERS_MAX   (2u * ARROW_COLUMNS_MAX)
#define ARROW_NO_DICTIONARY UINT32_MAX

struct tool_arrow_column {
    const char *name;
    uint8_t bytes; /* of a value; of texts that of their number in a dictionary */
    bool is_signed, is_nullable;
    uint32_t dictionary; /* whose texts its values are, or ARROW_NO_DICTIONARY */
};

/* A batch's body: for each column how many values are null, and how many bytes its buffers have. */
struct tool_arrow_body {
    uint64_t row_count;
    uint32_t column_count, buffer_count;
    uint64_t null_counts[ARROW_COLUMNS_MAX];
    uint64_t buffer_bytes[ARROW_BUFFERS_MAX];
};

static inline uint64_t tool_arrow_padded(uint64_t bytes)
{
    return (bytes + ARROW_ALIGN - 1) / ARROW_ALIGN * ARROW_ALIGN;
}

/* The whole message; it has no body. */
void tool_arrow_put_schema(struct tool_output *out, const struct tool_arrow_column *columns,
                           uint32_t count);
/* The head of a batch; its buffers follow, each filled up to ARROW_ALIGN. */
void tool_arrow_put_batch(struct tool_output *out, const struct tool_arrow_body *body);
/* The same of the texts of a dictionary: offsets (32 bits), then bytes. */
void tool_arrow_put_dictionary(struct tool_output *out, uint32_t dictionary,
                               const struct tool_arrow_body *body);
void tool_arrow_put_end(struct tool_output *out);

#endif
