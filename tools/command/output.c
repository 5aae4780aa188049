/* Buffered output: one write per 256 KiB. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/command/output.h"
#include "tools/command/progress.h"

#define MEMORY_BYTES 1024u /* most texts are short */

void tool_output_open(struct tool_output *out, int fd)
{
    size_t capacity = fd < 0 ? MEMORY_BYTES : TOOL_OUTPUT_BYTES;
    *out = (struct tool_output){.fd = fd, .data = tool_allocate(capacity, 1), .capacity = capacity};
}

void tool_output_flush(struct tool_output *out)
{
    const char *data = out->data;
    size_t left = out->size_bytes;
    if (out->fd < 0) { /* room for whatever may be asked for at once */
        tool_grow((void **)&out->data, &out->capacity, left + TOOL_OUTPUT_BYTES, 1);
        return;
    }
    out->size_bytes = 0;
    out->flush_count++;
    if (left > 0)
        tool_progress_clear();
    while (left > 0 && out->failed_errno == 0) {
        ssize_t written = write(out->fd, data, left);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            out->failed_errno = errno;
            return;
        }
        data += written;
        left -= (size_t)written;
    }
}

int tool_output_close(struct tool_output *out)
{
    tool_output_flush(out);
    free(out->data);
    out->data = NULL;
    if (out->failed_errno == EPIPE) {
        /* Only where SIGPIPE was ignored; otherwise the signal has ended us already. */
        return TOOL_OK;
    }
    if (out->failed_errno != 0)
        return tool_fail("cannot write standard output: %s", strerror(out->failed_errno));
    return TOOL_OK;
}
