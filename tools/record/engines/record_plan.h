/* `record --plan`: what would be patched of a command, and what would not, and why. */
#ifndef TOOL_RECORD_PLAN_H
#define TOOL_RECORD_PLAN_H

#include "tools/io/json.h"
#include "tools/record/engines/record_patch.h"

/* Prints it for the command's own executable, or for those of the modules that it starts with which
 * patterns of modules choose; nothing is run. Returns the exit status. */
int tool_record_plan(struct tool_record_patch *patch, const char *command, bool as_json);

/* record_plan_lines.c: lines at which breakpoints of a debugger that comes later do not stop: by
 * file and line, of functions with a name in `names`. */
struct tool_record_line {
    char *file;
    uint32_t line, address;
};
struct tool_record_lines {
    struct tool_record_line *all;
    size_t count, capacity;
};
void tool_record_lines_find(struct tool_record_lines *lines, const struct tool_patch_given *given,
                            const char *path, char *const *names);
void tool_record_lines_print(const struct tool_record_lines *lines, struct tool_output *out);
void tool_record_lines_put(const struct tool_record_lines *lines, struct tool_json *json);
void tool_record_lines_close(struct tool_record_lines *lines);

#endif
