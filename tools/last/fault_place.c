/* Three files know the code that met a fault: a core file has the instruction's address, the trace
 * has where modules were, and the module's own file, of the same build, has names and lines. Code
 * that was moved for recording is no module's. */
#include <string.h>

#include "program/symbols/symbols.h"
#include "tools/io/debug_files.h"
#include "tools/last/last_view.h"

static bool find_module(const struct tool_last *last, uint32_t process, ttape_module *module)
{
    ttape_info info;
    uint64_t code = last->core.code;
    ttape_reader_get_info(last->reader, &info);
    for (uint32_t i = 0; i < info.module_count; i++)
        if (ttape_reader_get_module(last->reader, i, module) == TTAPE_OK &&
            (module->process == process || module->process == TTAPE_NONE) &&
            code >= module->start && code < module->end && module->build_id.size_bytes != 0)
            return true;
    return false;
}

static void copy_text(char *to, size_t room, ttape_string text)
{
    size_t size = text.size_bytes < room ? text.size_bytes : room - 1;
    if (size > 0)
        memcpy(to, text.data, size);
    to[size] = '\0';
}

bool tool_last_core_place(const struct tool_last *last, const ttape_last_thread *thread,
                          struct tool_last_place *place)
{
    const struct tool_symbols_options options = {0};
    struct tool_symbols_query query = {0};
    struct tool_symbol found = {0};
    ttape_stream_info info = {0};
    ttape_module module;
    *place = (struct tool_last_place){0};
    (void)ttape_reader_get_stream(last->reader, thread->stream, &info);
    if (!last->core.has_code || info.stream.tid != last->core.tid ||
        !find_module(last, info.stream.process, &module))
        return false;
    struct tool_symbols *symbols = tool_symbols_make(&options);
    struct tool_symbols_module *asked =
        tool_symbols_module_open(symbols, module.path, module.build_id);
    const struct tool_elf_head *head = tool_symbols_module_head(asked);
    bool is_found =
        head != NULL &&
        tool_elf_address_in_module(head, module.start, last->core.code, &query.elf_address) &&
        tool_symbols_find(symbols, asked, &query, &found);
    if (is_found) {
        copy_text(place->function, sizeof place->function, found.name);
        copy_text(place->file, sizeof place->file, found.file);
        place->line = found.line;
    }
    tool_symbols_close(symbols);
    return is_found;
}
