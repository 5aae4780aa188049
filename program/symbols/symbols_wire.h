/* What the symbol helper and its user say to each other, over a socket between two copies of one
 * program: structs as they are. The user trusts nothing of what it gets: the helper may have
 * been taken over by the file that it reads. */
#ifndef TOOL_SYMBOLS_WIRE_H
#define TOOL_SYMBOLS_WIRE_H

#include <stdint.h>

#include "program/binary/elf_symbols.h"
#include "program/elf/elf_head.h"
#include "program/symbols/symbols.h"

#define TOOL_WIRE_BATCH    256u   /* queries in a request */
#define TOOL_WIRE_NAME_MAX 65536u /* bytes of a name */
#define TOOL_WIRE_FILE_MAX 4096u
#define TOOL_WIRE_PATH_MAX 4096u
#define TOOL_WIRE_REASON   128u
#define TOOL_WIRE_SHOWN    512u

enum {
    TOOL_WIRE_OPEN = 1,
    TOOL_WIRE_FIND = 2,
    TOOL_WIRE_RELEASE = 3,
    TOOL_WIRE_INLINED = 4,
    TOOL_WIRE_VALUES = 5,
    TOOL_WIRE_CALLS = 6,
    TOOL_WIRE_BETWEEN = 7,
    TOOL_WIRE_VARIABLE = 8
};

struct tool_wire_request {
    uint32_t what;
    uint32_t module;     /* the user's number for it */
    uint32_t count;      /* OPEN: bytes of build id; FIND: queries */
    uint32_t size_bytes; /* OPEN: of the path, which follows the build id; FIND: of the queries;
                          * BETWEEN: of the callee's name, behind struct tool_wire_between;
                          * VARIABLE: of its name */
};

struct tool_wire_between {
    uint64_t caller, callee;
};

struct tool_wire_query {
    uint64_t elf_address;
    uint32_t entry, section, data, reserved;
};

/* Answer to OPEN. */
struct tool_wire_opened {
    uint32_t has_symbols, has_head, is_stripped, has_lines;
    struct tool_elf_missing missing;  /* a debug file shares things with it */
    uint32_t names_from, lines_from;  /* enum tool_symbols_from */
    char debug_path[TOOL_WIRE_SHOWN]; /* of the separate file; "": none, or longer */
    char reason[TOOL_WIRE_REASON];    /* "" or why it has no symbols */
    struct tool_elf_head head;
};

/* Answer to each query of FIND; name and file follow. And to VARIABLE, without them. */
struct tool_wire_found {
    uint32_t name_bytes, file_bytes, line, last_line;
    uint64_t start, size_bytes;
    uint32_t begins, is_optimized, is_data, reserved;
};

/* Answers to INLINED, until one has no end; name and file follow each. Answers to CALLS are the
 * same: start and end of the call, the callee as entry, and as line whether it is a tail call.
 * Those to BETWEEN have a name only. */
struct tool_wire_inlined {
    uint64_t start, end, entry;
    uint32_t name_bytes, file_bytes, line, reserved;
};

/* Answers to VALUES, until one has no values; texts follow each: of each value its name, its type,
 * how many constants that has, and of each its number and its name, each with a zero behind it. */
struct tool_wire_values {
    uint64_t entry;
    uint32_t given, returned, text_bytes, reserved;
    struct ttp_value_place places[TOOL_SYMBOLS_VALUES];
};

/* The helper's side: serves requests that come from `fd` until the user is gone. */
void tool_symbols_serve(int fd, const void *options);

#endif
