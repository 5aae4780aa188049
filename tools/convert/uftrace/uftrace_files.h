/* Reading many record files in bounded memory: a few buffers and descriptors, lent to the tasks
 * that are read now. */
#ifndef TOOL_UFTRACE_FILES_H
#define TOOL_UFTRACE_FILES_H

#include "tools/convert/uftrace/uftrace.h"

#define TOOL_UFT_BUFFER_BYTES (256u * 1024u)
#define TOOL_UFT_BUFFER_COUNT 64u

/* data[at..end) are the task's next bytes. */
struct tool_uft_buffer {
    uint8_t *data;
    size_t at, end;
    int fd;
    uint32_t task;       /* index, or TTAPE_NONE */
    uint64_t end_offset; /* of data[end] in the file */
    uint64_t used;       /* when it was last asked for */
};

struct tool_uft_files {
    struct tool_uft_recording *recording;
    uint64_t clock;
    size_t count; /* of buffers, as far as descriptors allow */
    struct tool_uft_buffer buffers[TOOL_UFT_BUFFER_COUNT];
};

void tool_uft_files_open(struct tool_uft_files *files, struct tool_uft_recording *recording);
void tool_uft_files_close(struct tool_uft_files *files);

/* The task's buffer, with what was left in it; NULL with errno. */
struct tool_uft_buffer *tool_uft_files_get(struct tool_uft_files *files,
                                           struct tool_uft_task *task);
/* Reads more behind what is there. False with errno on failure; at the end of the file nothing is
 * added. */
bool tool_uft_files_fill(struct tool_uft_files *files, struct tool_uft_buffer *buffer);
/* The task needs no buffer any more. */
void tool_uft_files_release(struct tool_uft_files *files, struct tool_uft_task *task);

/* Size and first bytes of a task's file; false with errno. */
bool tool_uft_files_peek(const struct tool_uft_recording *recording, struct tool_uft_task *task,
                         uint8_t *first, size_t size_bytes, size_t *got_bytes);

#endif
