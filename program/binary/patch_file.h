/* Patch plans as files, beside the plans of system calls (plan_file.h): one serves all recordings,
 * whatever functions are chosen. */
#ifndef TOOL_PATCH_FILE_H
#define TOOL_PATCH_FILE_H

#include "program/binary/patch/patch_copy.h"
#include "program/binary/plan_file.h"
#include "recorder/arena/patch_plan.h"

/* A patch plan in memory: it has been looked at, and each table is within it. */
struct tool_patch_given {
    char name[TOOL_PLAN_NAME_BYTES];
    bool was_cached, is_kept; /* it was there, it is there: in the folder */
    uint8_t *bytes;           /* NULL: there is none */
    size_t size_bytes;
    struct ttp_patch_head head;
};

/* The patch plan of a module, from the folder, or made and put there if that can be written.
 * Returns NULL, or why there is none (static text). Never ends the process. Close it in any
 * case. */
const char *tool_patch_give(const struct tool_plan_wish *wish, struct tool_patch_given *given);
void tool_patch_given_close(struct tool_patch_given *given);

/* A plan of copies of inlined functions, beside the chosen ones (a bit for each function of
 * `plan`); made anew each time. A file that is not the plan's has none. Otherwise as above. */
const char *tool_patch_inlined_give(const struct tool_plan_wish *wish,
                                    const struct ttp_patch_head *plan, const uint64_t *chosen,
                                    struct tool_patch_copy *copies, size_t count,
                                    struct tool_patch_given *given);

struct ttp_patch_function tool_patch_function_at(const struct tool_patch_given *given,
                                                 uint32_t number);
/* Of a function that is one of the plan's, below its probe_count. */
struct ttp_patch_probe tool_patch_probe_at(const struct tool_patch_given *given,
                                           const struct ttp_patch_function *function,
                                           uint32_t number);

/* What a reason says to people: "can be patched", "branches lead into it", ... */
const char *tool_patch_reason_text(enum ttp_patch_reason reason);
/* One word of it, for programs: "can", "branched", ... */
const char *tool_patch_reason_word(enum ttp_patch_reason reason);

#endif
