/* An unlinked temporary file: what does not fit into memory is written front to back and read
 * anywhere. */
#ifndef TOOL_SCRATCH_FILE_H
#define TOOL_SCRATCH_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Makes one in TMPDIR: a descriptor, or -1 with errno. */
int tool_open_unlinked(void);

/* Reads from an offset (-1: from where the descriptor stands) until the buffer is full or the file
 * ends, however often it is interrupted or given less. Negative: it failed, errno says how. */
ssize_t tool_read_full(int fd, void *buffer, size_t size_bytes, off_t offset);

/* The same for writing. False: it failed, errno says how. */
bool tool_write_full(int fd, const void *data, size_t size_bytes);

struct tool_scratch {
    int fd; /* -1: not there */
    bool failed;
    uint64_t size_bytes; /* written, the buffer included */
    char *buffer;
    size_t used_bytes;
};

/* Makes it in TMPDIR. False: reported, and so are later failures, once; then everything fails. */
bool tool_scratch_open(struct tool_scratch *scratch);
bool tool_scratch_write(struct tool_scratch *scratch, const void *data, size_t size_bytes);
/* Reads what was written: exactly size_bytes from offset. */
bool tool_scratch_read(struct tool_scratch *scratch, uint64_t offset, void *into,
                       size_t size_bytes);
/* Fine on a zeroed one whose fd is -1. */
void tool_scratch_close(struct tool_scratch *scratch);

#endif
