/* Plans as files: made of an ELF file, kept in a folder (plan_cache.h) by what is in that file, for
 * the runtime to map. A plan that was kept is believed as far as its head and size fit; whoever
 * patches compares the bytes in memory with it. */
#ifndef TOOL_PLAN_FILE_H
#define TOOL_PLAN_FILE_H

#include "program/binary/plans/plan_module.h"

struct tool_plan_wish {
    const char *path;              /* of the module */
    struct tool_plan_cache *cache; /* NULL, or without a folder: it is made anew, and not kept */
};
struct tool_plan_given {
    char name[TOOL_PLAN_NAME_BYTES];
    bool was_cached, is_kept; /* it was there, it is there: in the folder */
    uint8_t *bytes;           /* NULL: there is none */
    size_t size_bytes;
    struct ttp_plan_head head;
};

/* Sees to it that the folder has the plan of a module, if it can be written. Returns NULL, or why
 * there is none (static text). Never ends the process: a recorder's thread calls it. Close it in
 * any case. */
const char *tool_plan_give(const struct tool_plan_wish *wish, struct tool_plan_given *given);
void tool_plan_given_close(struct tool_plan_given *given);

#endif
