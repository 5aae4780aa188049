/* Where a verb writes its trace: a file that appears when complete, standard output, or a device or
 * FIFO. */
#ifndef TOOL_TARGET_H
#define TOOL_TARGET_H

#include <stdbool.h>
#include <sys/stat.h>

#include <tracetape/writer.h>

struct tool_target {
    const char *path;
    ttape_file_sink *file; /* NULL: written directly to fd */
    int fd;
    ttape_sink sink;
};

/* Opens it; `path` "-" is standard output (refused when that is a terminal). Returns a tool_exit;
 * what failed has been reported. */
int tool_target_open(struct tool_target *target, const char *path, bool force);

/* Whether an output ("-": standard output) is an input too, or a file in an input that is a
 * directory: by any name, and through links. */
bool tool_target_is_input(const char *path, const char *input_path);
bool tool_same_file(const struct stat *a, const struct stat *b);

/* A writer into it for a copy of traces, with their id and resolution. Returns a tool_exit. */
int tool_target_write(struct tool_target *target, ttape_writer **writer, uint64_t resolution_ns,
                      const uint8_t trace_id[16]);

/* Gives a file its final name. Returns a tool_exit. */
int tool_target_commit(struct tool_target *target);

/* Removes what was not committed. Fine on a zeroed target. */
void tool_target_close(struct tool_target *target);

#endif
