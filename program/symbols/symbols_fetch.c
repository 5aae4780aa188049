/* What a module lacks, from servers: its debug file first, then what that shares with others. */
#include "program/symbols/debuginfod.h"
#include "program/symbols/symbols_inside.h"

bool tool_symbols_end_fetching(struct tool_symbols *symbols)
{
    bool was_fetching = symbols->options.debuginfod;
    symbols->options.debuginfod = false;
    return was_fetching;
}

bool tool_symbols_fetch_more(struct tool_symbols *symbols, struct tool_symbols_module *module,
                             const struct tool_wire_opened *opened)
{
    const void *id = module->has_head ? (const void *)module->head.build_id : module->build_id;
    size_t id_bytes = module->has_head ? module->head.build_id_bytes : module->build_id_bytes;
    bool lacks_lines = !symbols->options.no_lines && opened->has_lines == 0;
    bool is_shared = opened->missing.build_id_bytes > 0, is_silent;
    bool lacks = opened->has_symbols == 0 || opened->is_stripped != 0 || lacks_lines;
    if (!lacks || module->state == TOOL_SYMBOLS_FAILED ||
        (is_shared ? module->was_shared_fetched : module->was_fetched))
        return false;
    if (is_shared) {
        id = opened->missing.build_id;
        id_bytes = opened->missing.build_id_bytes;
        module->was_shared_fetched = true;
        if (id_bytes > TOOL_BUILD_ID_BYTES_MAX)
            return false;
    }
    module->was_fetched = true;
    module->not_fetched =
        tool_debuginfod_fetch(id, id_bytes, module->path, &symbols->options.fetching, &is_silent);
    if (is_silent)
        (void)tool_symbols_end_fetching(symbols); /* the next one would wait as long */
    return module->not_fetched == NULL;
}
