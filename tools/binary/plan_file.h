/* Plans as files: made of an ELF file, kept in the user's cache by build id, put into a recording's
 * folder for the runtime to map.
 *
 *     cache:   $XDG_CACHE_HOME/tracetape/plan-v1/NAME  (else below ~/.cache,
 *              else below $TMPDIR/tracetape-UID)
 *     NAME:    as writer/arena/plan.h says
 *
 * A cache is used if its folder belongs to the effective user and nobody else may look into it:
 * under sudo that is root's, never the one of the user who called. Without a cache each plan is
 * made anew. A plan there is believed as far as its head and size fit; whoever patches compares the
 * bytes in memory with it. */
#ifndef TOOL_PLAN_FILE_H
#define TOOL_PLAN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "writer/arena/plan.h"

#define TOOL_PLAN_NAME_BYTES 128u
#define TOOL_PLAN_FILE_MAX   ((uint64_t)1 << 30) /* bytes of an ELF file that has a plan */

/* An ELF file read into memory, whole: what another process does to it meanwhile shows nowhere. */
struct tool_plan_input {
    uint8_t *bytes;
    size_t size_bytes;
    char name[TOOL_PLAN_NAME_BYTES]; /* of its plan; set before the file is read */
};

/* Returns NULL, or why not (static text). Close it in any case. */
const char *tool_plan_input_open(struct tool_plan_input *input, const char *path);
void tool_plan_input_close(struct tool_plan_input *input);

struct tool_plan_wish {
    const char *path;   /* of the module */
    const char *folder; /* where NAME.plan is wanted; NULL: in the cache only */
    bool no_cache;
};
struct tool_plan_given {
    char name[TOOL_PLAN_NAME_BYTES];
    bool was_cached;
    struct ttp_plan_head head;
};

/* Sees to it that the folder has the plan of a module. Returns NULL, or why there is none (static
 * text). Never ends the process: a recorder's thread calls it. */
const char *tool_plan_give(const struct tool_plan_wish *wish, struct tool_plan_given *given);

/* The cache's folder, made where it is missing; -1: there is none that may be used. */
int tool_plan_cache_open(void);
/* Its path; NULL: there is none. To be freed. */
char *tool_plan_cache_path(void);

#endif
