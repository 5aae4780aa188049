/* How a call of a trace was made, by the code of its program's files: a trace says which function
 * called which one, not by which instruction. Files are taken only where their build id is the
 * trace's. */
#ifndef TOOL_CALL_WAYS_H
#define TOOL_CALL_WAYS_H

#include <stdint.h>

#include <tracetape/reader.h>

enum tool_call_way {
    TOOL_WAY_UNKNOWN, /* the caller's file is not there, or its code has no such call */
    TOOL_WAY_NAMED,   /* an instruction names the callee, or the linker does */
    TOOL_WAY_INLINED, /* the callee's code is in the caller's */
    TOOL_WAY_TAIL,    /* by a jump at the end of a function between the two */
    TOOL_WAY_POINTER, /* the code names it nowhere, and calls through pointers */
    TOOL_WAY_EITHER,  /* the code does both */
    TOOL_WAY_COUNT
};

struct tool_call_ways;
/* NULL: memory is short. Files take a share of memory_bytes, 0: as usual; those that do not fit are
 * not read. What is made of them takes most_bytes. */
struct tool_call_ways *tool_call_ways_open(uint64_t memory_bytes, uint64_t most_bytes);
void tool_call_ways_close(struct tool_call_ways *ways);
/* Reads the module's file, once. False: none of that build is there, or it cannot be used. */
bool tool_call_ways_add(struct tool_call_ways *ways, const ttape_module *module);
/* When all are added. False: it needs more memory. */
bool tool_call_ways_join(struct tool_call_ways *ways);
/* Tells the way of a call between two functions, by their stable ids. `symbol` is the callee's, by
 * which the caller may call what is chosen when the program is loaded (an IFUNC's function, one of
 * the vdso). */
enum tool_call_way tool_call_way(struct tool_call_ways *ways, uint64_t from, uint64_t to,
                                 ttape_string symbol);

#endif
