/* Between the parts of the converter for calls and returns as perf script --itrace=cr prints them:
 *
 *   perf_line.c      a line --> thread, time, kind, the places that it goes from and to
 *   convert_perf.c   lines --> open frames --> the writer */
#ifndef TOOL_CONVERT_PERF_H
#define TOOL_CONVERT_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/types.h>

enum tool_perf_kind {
    TOOL_PERF_OTHER, /* a line that is none of these */
    TOOL_PERF_CALL,
    TOOL_PERF_RETURN,
    TOOL_PERF_JUMP,
    TOOL_PERF_SYSTEM_CALL,
    TOOL_PERF_INTERRUPT,
    TOOL_PERF_BARE, /* nothing but a begin or an end of tracing */
    TOOL_PERF_LOST  /* "instruction trace error" */
};

/* Code: an address, the symbol that has it ("": not known), and its file ("": not known). */
struct tool_perf_place {
    uint64_t address, offset; /* in the symbol */
    bool has_address, has_offset;
    ttape_string symbol, module;
};

/* Texts are the line's. */
struct tool_perf_line {
    enum tool_perf_kind kind;
    bool begins, ends; /* tracing does, with it */
    ttape_string name; /* of the thread */
    uint64_t pid, tid, time_ns;
    bool is_overflow; /* of what is lost */
    struct tool_perf_place from, to;
};

/* Takes a line apart, which is changed. */
void tool_perf_parse(char *text, struct tool_perf_line *line);

#endif
