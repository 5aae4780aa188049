/* Lines of a text file or pipe, in bounded memory, each with its number and byte offset. */
#ifndef TOOL_LINES_H
#define TOOL_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOOL_LINE_MAX (1024u * 1024u) /* longer lines come out cut, marked too_long */

struct tool_lines {
    int fd, failed_errno;
    bool ended, skipping;
    char *buffer;
    size_t capacity, at, end;
    uint64_t buffer_offset; /* of buffer[0] in the input */
};

struct tool_line {
    char *text; /* NUL-terminated, without line end; changeable; lives until the next call */
    size_t size_bytes;
    uint64_t number; /* from 1 */
    uint64_t offset;
    bool too_long;
};

/* Reads fd from where it stands, after the `head_bytes` bytes that were read before. The descriptor
 * stays the caller's. */
void tool_lines_open(struct tool_lines *lines, int fd, const void *head, size_t head_bytes);
void tool_lines_close(struct tool_lines *lines);

/* The next line; *line is zeroed by the caller before the first. False at the end or on failure
 * (failed_errno). */
bool tool_lines_next(struct tool_lines *lines, struct tool_line *line);

/* The next blank-separated word of a line at *at: NUL-terminated in place, NULL at the end. */
char *tool_word(char **at);

/* The rest behind `key` when text starts with it, otherwise NULL. */
const char *tool_after(const char *text, const char *key);

#endif
