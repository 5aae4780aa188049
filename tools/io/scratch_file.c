/* Unlinked temporary files: nothing is left behind, however the command ends. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/command/tool.h"
#include "tools/io/scratch_file.h"

#define BUFFER_BYTES (256u * 1024u)

int tool_open_unlinked(void)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];
    int length = snprintf(path, sizeof(path), "%s/tracetape.XXXXXX",
                          folder != NULL && folder[0] == '/' ? folder : "/tmp");
    if (length < 0 || (size_t)length >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = mkstemp(path);
    if (fd >= 0)
        unlink(path);
    return fd;
}

ssize_t tool_read_full(int fd, void *buffer, size_t size_bytes, off_t offset)
{
    size_t done = 0;
    while (done < size_bytes) {
        char *to = (char *)buffer + done;
        ssize_t got = offset < 0 ? read(fd, to, size_bytes - done)
                                 : pread(fd, to, size_bytes - done, offset + (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

bool tool_write_full(int fd, const void *data, size_t size_bytes)
{
    const char *at = data;
    while (size_bytes > 0) {
        ssize_t written = write(fd, at, size_bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        at += written;
        size_bytes -= (size_t)written;
    }
    return true;
}

static bool print_failure(struct tool_scratch *scratch, const char *what)
{
    if (!scratch->failed)
        tool_fail("cannot %s a temporary file: %s", what, strerror(errno));
    scratch->failed = true;
    return false;
}

bool tool_scratch_open(struct tool_scratch *scratch)
{
    *scratch = (struct tool_scratch){.fd = tool_open_unlinked()};
    if (scratch->fd < 0)
        return print_failure(scratch, "make");
    scratch->buffer = tool_allocate(BUFFER_BYTES, 1);
    return true;
}

static bool write_all(struct tool_scratch *scratch, const void *data, size_t size_bytes)
{
    return tool_write_full(scratch->fd, data, size_bytes) || print_failure(scratch, "write");
}

static bool flush_buffer(struct tool_scratch *scratch)
{
    size_t used = scratch->used_bytes;
    scratch->used_bytes = 0;
    return write_all(scratch, scratch->buffer, used);
}

bool tool_scratch_write(struct tool_scratch *scratch, const void *data, size_t size_bytes)
{
    if (scratch->failed ||
        (BUFFER_BYTES - scratch->used_bytes < size_bytes && !flush_buffer(scratch)))
        return false;
    scratch->size_bytes += size_bytes;
    if (size_bytes > BUFFER_BYTES)
        return write_all(scratch, data, size_bytes);
    memcpy(scratch->buffer + scratch->used_bytes, data, size_bytes);
    scratch->used_bytes += size_bytes;
    return true;
}

bool tool_scratch_read(struct tool_scratch *scratch, uint64_t offset, void *into, size_t size_bytes)
{
    if (scratch->failed || (scratch->used_bytes > 0 && !flush_buffer(scratch)))
        return false;
    ssize_t got = tool_read_full(scratch->fd, into, size_bytes, (off_t)offset);
    if (got >= 0)
        errno = EIO; /* the file is shorter than it was */
    return got == (ssize_t)size_bytes || print_failure(scratch, "read back");
}

void tool_scratch_close(struct tool_scratch *scratch)
{
    if (scratch->fd >= 0)
        close(scratch->fd);
    free(scratch->buffer);
    *scratch = (struct tool_scratch){.fd = -1};
}
