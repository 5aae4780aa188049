/* Buffered output of data to standard output: no printf per line, and the first failure stays until
 * the end. */
#ifndef TOOL_OUTPUT_H
#define TOOL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <tracetape/types.h>

#include "base/escape.h"
#include "tools/command/tool.h"

#define TOOL_OUTPUT_BYTES (256u * 1024u)

/* After a failed write everything is discarded; look at failed_errno now and then. */
struct tool_output {
    int fd;
    int failed_errno;
    size_t size_bytes, capacity;
    uint64_t flush_count; /* data[] is what it was as long as this is */
    char *data;
};

/* fd -1: into memory, which grows: data and size_bytes, and data is to be freed. */
void tool_output_open(struct tool_output *out, int fd);

/* Writes out what is left and frees; returns TOOL_OK, or reports why not and returns TOOL_CANNOT. A
 * pipe that its reader closed ends the command quietly, as SIGPIPE would. */
int tool_output_close(struct tool_output *out);

void tool_output_flush(struct tool_output *out);

/* Room for size_bytes (at most TOOL_OUTPUT_BYTES) at the returned place; use it, then commit how
 * much. */
static inline char *tool_output_reserve(struct tool_output *out, size_t size_bytes)
{
    if (__builtin_expect(out->capacity - out->size_bytes < size_bytes, 0))
        tool_output_flush(out);
    return out->data + out->size_bytes;
}

static inline void tool_output_commit(struct tool_output *out, const char *end)
{
    out->size_bytes = (size_t)(end - out->data);
}

void tool_output_bytes(struct tool_output *out, const void *data, size_t size_bytes);
void tool_output_text(struct tool_output *out, const char *text);
void tool_output_printf(struct tool_output *out, const char *format, ...) TOOL_PRINTF(2, 3);
void tool_output_escaped(struct tool_output *out, enum ttp_escape_style style, ttape_string text);
/* A cell of CSV (RFC 4180): whether it needs quotes; what stands between them, or is it; both. */
bool tool_csv_needs_quotes(ttape_string text);
void tool_output_csv_text(struct tool_output *out, ttape_string text);
void tool_output_csv(struct tool_output *out, ttape_string text);

/* Writes the decimal (lower-case hexadecimal) digits at `at` and returns their end; 20 (16) bytes
 * at most. */
char *tool_put_decimal(char *at, uint64_t value);
char *tool_put_hex(char *at, uint64_t value);
/* The bits of a double as "%.6g" writes it where that reads back as the same number, otherwise as
 * "%.17g"; "nan" without a sign. At most 30 bytes. */
char *tool_put_float(char *at, uint64_t bits);

static inline char *tool_put_bytes(char *at, const void *data, size_t size_bytes)
{
    memcpy(at, data, size_bytes);
    return at + size_bytes;
}

#endif
