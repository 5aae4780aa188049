/* A file that is read while a recorder writes it: at its end more is waited for.
 *
 * The file ends with its footer. A recorder holds a lock on the file; when the lock is gone and the
 * footer is not there, the recorder was killed. A pipe just ends. */
#ifndef TOOL_GROWING_FILE_H
#define TOOL_GROWING_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/reader.h>

struct tool_growing {
    const char *name; /* for messages */
    int fd;           /* -1: it did not come in time, or is no longer wanted */
    uint64_t offset;
    bool is_stream, was_locked;
    bool is_abandoned, is_unwanted; /* why no more of it is waited for */
    bool (*pause)(void *context);   /* rests a little; false: what comes is not wanted any more */
    void *context;
};

/* Waits until the file is there; "-" is standard input. Returns a tool_exit; what failed has been
 * reported. `pause` and its context are the caller's, before. */
int tool_growing_open(struct tool_growing *file, const char *path, uint64_t wait_ns);
/* For ttape_forward_open; `file` stays where it is. */
ttape_input tool_growing_input(struct tool_growing *file);
void tool_growing_close(struct tool_growing *file);

#endif
