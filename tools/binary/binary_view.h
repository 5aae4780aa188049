/* What `tracetape binary` shows: of a file that was read, and of what was found in it. */
#ifndef TOOL_BINARY_VIEW_H
#define TOOL_BINARY_VIEW_H

#include "program/binary/code/code_calls.h"
#include "program/binary/marks/marks.h"
#include "program/symbols/symbols.h"
#include "tools/command/output.h"

struct tool_binary_wish {
    bool sites, functions, rows, calls, inlined,
        marks; /* lists that are shown beside the summary */
};

/* A copy of an inlined function's code. */
struct tool_binary_inlined {
    uint64_t start, end;
    char *name, *file; /* file "": not known */
    uint32_t line;
};

struct tool_binary {
    const char *path;
    size_t plan_bytes;
    struct tool_binary_wish wish;
    struct tool_image image;
    struct tool_code code;
    struct tool_binary_inlined *inlined; /* sorted by start, the outer ones first */
    size_t inlined_count, inlined_capacity;
    struct tool_marks marks;
    char **names; /* of functions that the file's own symbols do not name; NULL: of none */
    struct tool_symbols_origin origin;
    char *debug_path;
};

/* Why a site cannot be patched; "can be patched". */
const char *tool_binary_kind_words(unsigned kind);
/* A row in words: "rsp+16", and where the caller's rbp is: "cfa-16"; each of 32 bytes at most. */
void tool_binary_row_words(const struct ttp_plan_row *row, char cfa[32], char rbp[32]);
const char *tool_binary_function_name(const struct tool_binary *binary, uint32_t number);

/* Where names or lines come from, in words. */
const char *tool_binary_origin_words(enum tool_symbols_from from);

/* False: memory is short. */
bool tool_binary_text(struct tool_binary *binary, struct tool_output *out);
bool tool_binary_json(struct tool_binary *binary, struct tool_output *out);

#endif
