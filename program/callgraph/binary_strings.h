/* Strings of a program's files, by function.
 *
 *     code --code_flow.c--> places of data, each with the function
 *          --tool_strings_settle--> strings there; those of functions without hooks are their
 *                                   callers' */
#ifndef TOOL_BINARY_STRINGS_H
#define TOOL_BINARY_STRINGS_H

#include "program/callgraph/binary_graph.h"
#include "program/callgraph/strings.h"

/* Data that code has to do with. */
struct tool_string_place {
    uint32_t who; /* is_hooked: number of a hooked function, else of a machine's */
    uint32_t module, address;
    uint32_t around; /* hooked function that it is inlined in there, plus 1; 0: it is not */
    uint32_t inner;  /* that one, inlined in it, does, plus 1; 0: itself does */
    uint32_t to;     /* a call is given the address: as of a relation */
    uint8_t to_kind; /* TOOL_RELATION_ENTERS: of none */
    bool is_hooked;
    bool reads; /* what is there: of a pointer, the one; else it takes the address: of a table */
};

void tool_strings_put(struct tool_strings *strings, const struct tool_string_place *place);
/* Of a graph that was joined. False: memory is short, for the strings or for the edges. */
bool tool_strings_settle(struct tool_strings *strings, struct tool_binary_graph *graph);

#endif
