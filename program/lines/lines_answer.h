/* Lines of source code that ran, in one choice of calls or in two, by the basic blocks of a trace
 * and by the code of its modules, which is read from their files.
 *
 *   lines_answer.c -> lines_code.c (modules: blocks of code, and which site each block has)
 *           -> lines_passes.c (passes of blocks in the chosen calls, and which one came next:
 *              tracetape/passes.h)
 *           -> lines_count.c (blocks of the chosen functions -> lines, with counts)
 *              -> lines_leave.c (calls that did not return)
 *              -> lines_follow.c (passes of blocks that do not tell, by what told around them)
 *              -> lines_copies.c (inlined functions)
 *           -> lines_join.c (one row for each line)
 *
 * A line ran as often as its block that ran most; all functions that have code of it, and all
 * copies of an inlined one, are added up. Where a call within a block did not return (an exception,
 * a jump, the end), what is behind it in that block did not run that time.
 *
 * Nothing here prints or ends a process. Threads: an answer is made by one thread and does not
 * change afterwards: any thread may read it. Debug information is read in another process
 * (program/symbols/symbols.h). */
#ifndef TOOL_SOURCE_LINES_H
#define TOOL_SOURCE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/passes.h>
#include <tracetape/reader.h>

#include "program/symbols/symbols.h"

struct tool_source_lines;

/* A call, by the event that entered it. */
struct tool_lines_call {
    uint32_t stream;
    uint64_t event;
};

/* Zero means the default everywhere; but there must be symbols. What it points to is borrowed for
 * the call. */
struct tool_lines_options {
    struct tool_symbols *symbols; /* that are asked for names, files and lines */
    const uint32_t *streams;      /* only these; NULL: all */
    uint32_t stream_count;
    bool has_range; /* only [from_ns, to_ns) */
    uint64_t from_ns, to_ns;
    const bool *chosen; /* by site of the trace: only calls of these functions; NULL: of all */
    const struct tool_lines_call *call; /* this call alone, whatever is chosen; NULL */
    const struct tool_lines_call *with; /* another one beside it: the second choice; NULL */
    const char *file; /* calls in which `line` of a file ran whose path ends so; NULL: lines */
    uint32_t line;
    bool wants_edges;
    uint64_t memory_bytes;    /* of the answer; default 256 MiB. Code of modules comes on top */
    const ttape_watch *watch; /* NULL: nobody. Steps are events, then functions */
    /* A damaged place of a stream that is left out; NULL: the call fails. */
    void (*damage)(void *context, uint32_t stream, const ttape_error *error);
    /* A module whose code, or else whose symbols, cannot be read, and why; NULL: nobody is told. */
    void (*trouble)(void *context, const char *path, const char *reason, bool is_code);
    void *context;
};

enum tool_lines_state { TOOL_LINE_RAN, TOOL_LINE_ELSEWHERE, TOOL_LINE_NEVER, TOOL_LINE_UNSEEN };

/* A line that ran (or did not) in calls of the first choice, and of the second. */
struct tool_source_line {
    uint32_t file, line; /* file: tool_source_lines_file */
    const char *inlined; /* the function that was inlined there; NULL */
    enum tool_lines_state state[2];
    uint64_t count[2];
    bool is_sure[2]; /* of the count; else it may be more */
    bool is_known;   /* of all blocks of it whether they ran */
    bool is_joined;  /* some of its code is optimised: counts may be those of lines beside it */
};

struct tool_lines_at {
    uint32_t file, line; /* file: TTAPE_NONE where it is not known */
    bool begins;         /* a row of the line table starts there */
    bool is_joined;      /* an optimizer has had the code */
};

/* A block, then another one in the same call. */
struct tool_lines_edge {
    uint32_t from, to; /* sites */
    struct tool_lines_at from_at, to_at;
    uint64_t count;
};

struct tool_lines_info {
    uint64_t call_count[2]; /* that were chosen */
    bool is_partial[2]; /* events are missing, or began before: what was not seen may have run */
    bool has_second;
    bool lists_calls; /* in which a line ran; else there are lines */
    bool is_joined;   /* some of the code is optimised */
};

/* *out is NULL on failure: TTAPE_E_NOT_FOUND where the trace has no blocks, no such call or line,
 * or the code is not there. Limits: TTAPE_E_LIMIT past memory_bytes. */
ttape_status tool_source_lines_make(struct tool_source_lines **out, ttape_reader *reader,
                                    const struct tool_lines_options *options, ttape_error *err);
void tool_source_lines_close(struct tool_source_lines *lines);

void tool_source_lines_get_info(const struct tool_source_lines *lines,
                                struct tool_lines_info *info);
/* All arrays live as long as the answer. Rows are by file, then by line. */
const struct tool_source_line *tool_source_lines_get_rows(const struct tool_source_lines *lines,
                                                          size_t *count);
/* The path of a row's file. */
const char *tool_source_lines_file(const struct tool_source_lines *lines, uint32_t file);
const struct tool_lines_edge *tool_source_lines_get_edges(const struct tool_source_lines *lines,
                                                          size_t *count);
/* The calls in which the line ran, as they ended. */
const ttape_passes_call *tool_source_lines_get_calls(const struct tool_source_lines *lines,
                                                     size_t *count);

#endif
