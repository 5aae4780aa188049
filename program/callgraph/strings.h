/* Which functions have to do with which strings: whose code takes a string's address, or that of
 * data that leads to it. A string that is put together of numbers, or read from a file, is in no
 * list.
 *
 *     files --binaries/binary_strings.c--> strings, and who uses them */
#ifndef TOOL_STRINGS_H
#define TOOL_STRINGS_H

#include "program/callgraph/edges.h"

#define TOOL_STRING_MOST    4096u      /* bytes of a string that are kept */
#define TOOL_STRING_LETTERS 3u         /* a string with fewer is left out */
#define TOOL_STRING_ANY     UINT32_MAX /* through a pointer */

struct tool_string {
    char *text; /* as it stands in the file */
    size_t size_bytes;
};
/* By the numbers of the edges' functions. */
struct tool_string_use {
    uint32_t function, string;
    uint32_t around; /* where it is inlined in that one; 0: where it is not inlined */
    uint32_t to;     /* is called with the string, or TOOL_STRING_ANY; 0: nobody */
    bool is_inlined; /* `to` is inlined in it, and has the string there */
};

struct tool_string_place; /* binary_strings.h */
/* Empty but for its region it is a new one; closing that closes it. */
struct tool_strings {
    struct ttp_region region;
    struct tool_string_place *places; /* that code has to do with */
    size_t place_count, place_capacity;
    struct ttp_key_map place_by_what;
    /* when settled: */
    struct tool_string *strings; /* each once */
    size_t string_count, string_capacity;
    struct ttp_key_map string_by_text;
    struct tool_string_use *uses; /* by function */
    size_t use_count, use_capacity;
    uint64_t bytes_left, steps_left;
    bool is_cut; /* there was too much: some are left out */
};

#endif
