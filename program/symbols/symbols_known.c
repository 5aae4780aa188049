/* What the user's side knows of a module that was opened. */
#include <stddef.h>

#include "program/symbols/symbols_inside.h"

enum tool_symbols_state tool_symbols_module_state(const struct tool_symbols_module *module)
{
    return module->state;
}

struct tool_symbols_origin tool_symbols_module_origin(const struct tool_symbols_module *module)
{
    return (struct tool_symbols_origin){
        .names = module->names_from, .lines = module->lines_from, .debug_path = module->debug_path};
}

const char *tool_symbols_module_not_fetched(const struct tool_symbols_module *module)
{
    return module->not_fetched;
}

bool tool_symbols_module_is_stripped(const struct tool_symbols_module *module)
{
    return module->is_stripped;
}

const struct tool_elf_head *tool_symbols_module_head(const struct tool_symbols_module *module)
{
    return module->has_head ? &module->head : NULL;
}

const char *tool_symbols_module_trouble(struct tool_symbols_module *module, const char **path)
{
    *path = module->path;
    if (module->state == TOOL_SYMBOLS_READY || module->is_told)
        return NULL;
    module->is_told = true;
    return module->reason;
}
