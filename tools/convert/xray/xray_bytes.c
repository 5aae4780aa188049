/* An XRay log as a file that can be read anywhere: what comes through a pipe goes to a temporary
 * file first, as buffers of one thread stand all over it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/convert/xray/convert_xray.h"
#include "tools/io/scratch_file.h"

/* The head was read already. */
static bool copy_pipe(struct tool_xray *xray)
{
    struct tool_conversion *conversion = xray->conversion;
    ssize_t got = (ssize_t)conversion->head_bytes;
    xray->fd = tool_open_unlinked();
    if (xray->fd < 0) {
        tool_fail("cannot make a temporary file: %s", strerror(errno));
        return false;
    }
    memcpy(xray->window->bytes, conversion->head, conversion->head_bytes);
    while (got > 0) {
        if (!tool_write_full(xray->fd, xray->window->bytes, (size_t)got)) {
            tool_fail("cannot write a temporary file: %s", strerror(errno));
            return false;
        }
        xray->size_bytes += (uint64_t)got;
        got = tool_read_full(conversion->fd, xray->window->bytes, TOOL_XRAY_WINDOW_BYTES, -1);
    }
    if (got < 0)
        tool_fail("cannot read '%s': %s", conversion->input, strerror(errno));
    return got == 0;
}

bool tool_xray_open_bytes(struct tool_xray *xray)
{
    struct stat status;
    xray->window = tool_allocate(1, sizeof *xray->window);
    xray->fd = xray->conversion->fd;
    if (fstat(xray->fd, &status) == 0 && S_ISREG(status.st_mode)) {
        xray->size_bytes = (uint64_t)status.st_size;
        return true;
    }
    return copy_pipe(xray);
}

void tool_xray_close_bytes(struct tool_xray *xray)
{
    if (xray->fd >= 0 && xray->fd != xray->conversion->fd)
        close(xray->fd);
    free(xray->window);
}

const uint8_t *tool_xray_bytes(struct tool_xray *xray, uint64_t offset, size_t size_bytes)
{
    struct tool_xray_window *window = xray->window;
    if (offset > xray->size_bytes || size_bytes > xray->size_bytes - offset)
        return NULL;
    if (offset < window->offset || offset - window->offset > window->size_bytes ||
        size_bytes > window->size_bytes - (size_t)(offset - window->offset)) {
        ssize_t got =
            tool_read_full(xray->fd, window->bytes, TOOL_XRAY_WINDOW_BYTES, (off_t)offset);
        if (got < 0)
            xray->failed_errno = errno;
        window->offset = offset;
        window->size_bytes = got > 0 ? (size_t)got : 0;
        if (size_bytes > window->size_bytes)
            return NULL; /* it became shorter */
    }
    return window->bytes + (offset - window->offset);
}
