/* The code of a module that a plan is made of. */
#ifndef TOOL_PLAN_CODE_H
#define TOOL_PLAN_CODE_H

#include "program/binary/code/code.h"
#include "program/binary/plans/plan_module.h"

struct tool_plan_code {
    struct tool_plan_input input;
    struct tool_image *image;
    uint64_t *lines; /* the image's */
    struct tool_code code;
};

/* Reads an open file; `open` is tool_code_open, or its whole form. Returns NULL, or why not (static
 * text). Close it in any case. */
const char *tool_plan_code_open(struct tool_plan_code *module, int fd,
                                const char *(*open)(struct tool_code *, const struct tool_image *));
/* The same of what was read, which is the code's from then on; with where its lines begin. */
const char *tool_plan_code_take(struct tool_plan_code *module, struct tool_plan_input *input,
                                const char *(*open)(struct tool_code *, const struct tool_image *));
void tool_plan_code_close(struct tool_plan_code *module);

#endif
