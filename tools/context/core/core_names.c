/* Values and names as people read them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/context/core/core_view.h"
#include "tools/io/debug_files.h"

#define PLACE_BYTES 640u

static char *escaped(const char *text, size_t size)
{
    char *copy = tool_allocate(size * TTP_ESCAPE_MAX + 1, 1);
    copy[ttp_escape(copy, TTP_ESCAPE_TERMINAL, text, size)] = '\0';
    return copy;
}

static char *place_name(const struct tool_core_module *module, uint64_t function)
{
    char text[PLACE_BYTES];
    const char *slash = module == NULL ? NULL : strrchr(module->path, '/');
    int size = module == NULL
                   ? snprintf(text, sizeof text, "0x%" PRIx64, function)
                   : snprintf(text, sizeof text, "%.200s+0x%" PRIx64,
                              slash == NULL ? module->path : slash + 1, function - module->start);
    return escaped(text, (size_t)size);
}

char *tool_core_function_name(const struct tool_core_view *view, uint64_t function)
{
    struct tool_core *core = view->state->core;
    struct tool_core_module *module = tool_core_module_at(core, function);
    struct tool_symbols_query query = {.entry = true};
    struct tool_symbol found;
    if (module == NULL || !tool_core_find_file(core, module))
        return place_name(module, function);
    if (module->symbols == NULL) {
        ttape_string id = {(const char *)module->build_id, module->build_id_bytes};
        module->symbols = tool_symbols_module_open(
            view->symbols, (ttape_string){module->file, strlen(module->file)}, id);
        (void)tool_symbols_warn(module->symbols);
    }
    if (!tool_elf_address_in_module(&module->head, module->start, function, &query.elf_address) ||
        !tool_symbols_find(view->symbols, module->symbols, &query, &found) ||
        found.name.size_bytes == 0)
        return place_name(module, function);
    return escaped(found.name.data, found.name.size_bytes);
}

const char *tool_core_value(char *text, const struct tool_core_frame *frame)
{
    (void)snprintf(text, TOOL_CORE_VALUE_BYTES, "%016" PRIx64 "/%" PRIu32, frame->value,
                   frame->depth);
    return text;
}

const char *tool_core_branch(char text[TTAPE_BRANCH_TEXT_BYTES],
                             const struct tool_core_runtime *runtime, const ttape_branch *branch)
{
    int at = 0;
    if (runtime->branch_operation != TTAPE_BRANCH_COUNTS)
        at = snprintf(text, TTAPE_BRANCH_TEXT_BYTES, "%016" PRIx64, branch->value);
    else
        for (uint32_t i = 0; i < TTAPE_BRANCH_COUNTERS; i++)
            at += snprintf(text + at, TTAPE_BRANCH_TEXT_BYTES - (size_t)at, "%02x",
                           branch->counts[i]);
    (void)snprintf(text + at, TTAPE_BRANCH_TEXT_BYTES - (size_t)at, "/%" PRIu32 "%s",
                   branch->blocks, (branch->flags & TTAPE_BRANCH_OVERFLOW) != 0 ? "+" : "");
    return text;
}

const char *tool_core_kind_of_runtime(const struct tool_core_runtime *runtime)
{
    return runtime->layout.kind == TTP_LAYOUT_ALONE ? "libtracetape-context" : "libtracetape-rt";
}
