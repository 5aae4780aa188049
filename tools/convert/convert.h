/* The interface between `tracetape convert` and its input formats. */
#ifndef TOOL_CONVERT_H
#define TOOL_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/writer.h>

#include "base/hash.h"
#include "tools/command/tool.h"
#include "tools/io/target.h"

#define TOOL_HEAD_BYTES        (64u * 1024u)
#define TOOL_TIME_WITHOUT_TICK (UINT64_MAX / 2) /* F-PAR-12, F-TIM-02 */

/* One conversion. A converter reads the fields above the line, and calls the functions below. */
struct tool_conversion {
    const char *input;   /* as given, for messages */
    const char *program; /* that wrote it; NULL: nobody said */
    int fd;              /* a directory, a regular file, or a pipe */
    bool is_directory;
    bool verbose, strict;
    const uint8_t *head; /* of a file or pipe: its first bytes, read from fd already */
    size_t head_bytes;
    ttape_writer *writer; /* NULL until tool_conversion_begin */

    const char *output;
    bool force;
    bool has_id;
    ttape_writer_options options;
    struct tool_target target;
    uint64_t warning_count;
};

/* A format. `probe` says whether the input looks like it. `run` feeds the writer and returns
 * TOOL_OK, TOOL_LOSS (warnings were given) or TOOL_CANNOT (reported; there will be no output). */
struct tool_converter {
    const char *name;
    const char *summary;
    bool (*probe)(const struct tool_conversion *conversion);
    int (*run)(struct tool_conversion *conversion);
};

extern const struct tool_converter tool_converter_uftrace;
extern const struct tool_converter tool_converter_text;
extern const struct tool_converter tool_converter_trace;
extern const struct tool_converter tool_converter_xray;
extern const struct tool_converter tool_converter_perf;
extern const struct tool_converter tool_converter_ftrace;
extern const struct tool_converter tool_converter_chrome; /* with jansson */
extern const struct tool_converter tool_converter_ctf;    /* with babeltrace2 */

/* convert_foreign.c: refuses what another program reads, with what to do. TOOL_OK: it is nothing
 * that is known. */
int tool_conversion_refuse(const struct tool_conversion *conversion);
/* Refuses an object of JSON by its members, as `"meta", "threads"`. */
int tool_conversion_refuse_members(const struct tool_conversion *conversion, const char *members);

/* Probes ask whether the first bytes can be text, which has no zero byte, and for their next line,
 * from offset *at on, which moves behind it: as much of it as `room` takes, with a zero. False:
 * there is none. */
bool tool_conversion_is_text(const struct tool_conversion *conversion);
bool tool_conversion_next_line(const struct tool_conversion *conversion, size_t *at, char *line,
                               size_t room);

/* Opens output and writer, once the input is known to be usable. `content` gives the trace id
 * unless one was asked for. Returns a tool_exit. */
int tool_conversion_begin(struct tool_conversion *conversion, const struct ttp_hash *content);

/* Reports a failed call on the writer. */
int tool_conversion_fail(struct tool_conversion *conversion, const ttape_error *err);

/* A time as it can be stored: of all of 64 bits one has no tick at a resolution of 1 ns. It is
 * taken 1 ns earlier, with a warning. */
uint64_t tool_conversion_time(struct tool_conversion *conversion, uint64_t time_ns);

/* Counts a loss and reports it; after the first twenty only counts. */
void tool_conversion_warn(struct tool_conversion *conversion, const char *format, ...)
    TOOL_PRINTF(2, 3);

#endif
