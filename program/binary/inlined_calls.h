/* Functions that a compiler inlined, around an instruction or around a call: their frames are
 * nowhere, and debug information alone has them. As elf_symbols.h says, what reads files runs in
 * the helper process only. */
#ifndef TOOL_INLINED_CALLS_H
#define TOOL_INLINED_CALLS_H

#include <elfutils/libdw.h>

#include "program/binary/elf_symbols.h"

#define TOOL_INLINED_MOST 64u /* in one another */

/* The function of a unit that has code there; false: none has. */
bool tool_die_function_at(Dwarf_Die *unit, Dwarf_Addr pc, Dwarf_Die *function);
/* The inlined functions that the instruction at `pc` is in, outermost first, of those of a function
 * (DW_TAG_subprogram). Returns how many. */
uint32_t tool_die_inlined_at(Dwarf_Die *function, Dwarf_Addr pc,
                             Dwarf_Die inlined[TOOL_INLINED_MOST]);
/* The line and file of the call that an inlined function stands for; 0, NULL: not known. */
uint32_t tool_die_call_line(Dwarf_Die *unit, Dwarf_Die *inlined, const char **file);
/* Its name is the linked one; NULL: it has none. */
const char *tool_die_linked_name(Dwarf_Die *die);

/* A call of one function by another one, which stands in the file. */
struct tool_elf_between {
    uint64_t caller; /* an address of its code, as the line tables have it */
    uint64_t callee; /* where it begins; 0: in another file */
    /* Whether the callee is linked under a name; behind a point compilers say what they made. */
    bool (*is_named)(void *context, const char *linked);
    void *context; /* of both calls */
};

/* Inlined functions that every call that it can have been is in, outermost first. None are told
 * where debug information does not have all calls of the function. */
void tool_elf_inlined_between(struct tool_elf_lines *lines, const struct tool_elf_between *between,
                              tool_elf_take_inlined take);

#endif
