/* Where a debugger that comes later may put breakpoints: where lines begin, as the module's own
 * bytes say. Without lines it is where functions begin, as it finds a jump there. */
#ifndef TOOL_PATCH_LINES_H
#define TOOL_PATCH_LINES_H

#include "program/binary/frames/image.h"
#include "program/binary/plans/plan_module.h"

/* A bit for each byte of the code, of malloc; NULL: memory or time is short. */
uint64_t *tool_patch_lines_read(const struct tool_image *image,
                                const struct tool_plan_input *input);

/* Calls `take` with each place at which a statement of a line begins, as far as the module says;
 * several may begin at one. `file` is borrowed. */
typedef void (*tool_take_line)(void *context, uint64_t address, const char *file, uint32_t line);
void tool_patch_lines_each(const char *path, tool_take_line take, void *context);

#endif
