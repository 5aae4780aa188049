/* Calls as debug information knows them: DW_TAG_call_site (and GNU's older one), with the function
 * that is called. As elf_symbols.h says, this runs in the helper process only. */
#ifndef TOOL_CALL_SITES_H
#define TOOL_CALL_SITES_H

#include "program/binary/elf_symbols.h"

struct tool_elf_call {
    uint64_t start, end; /* of the instruction; 0: the other one is known */
    uint64_t callee;     /* where it begins; 0: not in this file */
    const char *name;    /* of the callee, as it is linked; lives in the file */
    bool is_tail;
};

/* Calls whose callee is known. `take` returns false to end it. */
typedef bool (*tool_elf_take_call)(void *context, const struct tool_elf_call *call);
void tool_elf_calls_list(struct tool_elf_lines *lines, tool_elf_take_call take, void *context);

#endif
