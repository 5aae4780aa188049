/* `context --core`: what a dump says, in words and as JSON. */
#ifndef TOOL_CORE_VIEW_H
#define TOOL_CORE_VIEW_H

#include "program/symbols/symbols.h"
#include "tools/command/output.h"
#include "tools/context/core/core_locals.h"

struct tool_core_view {
    const struct tool_core_state *state;
    const struct tool_core_locals *locals;
    struct tool_symbols *symbols;
};

/* core_names.c: the function's name, escaped, for the caller to free. */
char *tool_core_function_name(const struct tool_core_view *view, uint64_t function);
/* core_print.c, core_json.c */
void tool_core_text_of(const struct tool_core_view *view, struct tool_output *out);
void tool_core_json_of(const struct tool_core_view *view, struct tool_output *out);
#define TOOL_CORE_VALUE_BYTES 40u
const char *tool_core_value(char *text, const struct tool_core_frame *frame);
/* As ttape_branch_text does. */
const char *tool_core_branch(char text[TTAPE_BRANCH_TEXT_BYTES],
                             const struct tool_core_runtime *runtime, const ttape_branch *branch);
const char *tool_core_kind_of_runtime(const struct tool_core_runtime *runtime);

/* core_verb.c: a tool_exit. */
struct tool_core_options {
    const char *path;
    char **binaries;
    size_t binary_count;
    bool json;
};
int tool_core_show(const struct tool_core_options *options);

#endif
