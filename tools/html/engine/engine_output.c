/* Text in the module: what would be too much for an answer is forgotten. */
#include "tools/command/output.h"

#define KEPT_BYTES 8192u /* more than a view asks for */

void tool_output_open(struct tool_output *out, int fd)
{
    static char room[KEPT_BYTES + TOOL_OUTPUT_BYTES];
    *out = (struct tool_output){.fd = fd, .data = room, .capacity = sizeof room};
}

void tool_output_flush(struct tool_output *out)
{
    out->size_bytes = out->size_bytes < KEPT_BYTES ? out->size_bytes : KEPT_BYTES;
}
