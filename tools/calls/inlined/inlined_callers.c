/* One question for each pair of functions, whose answer is kept. */
#include "tools/calls/inlined/inlined_callers.h"

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/names/simple_name.h"
#include "program/elf/elf_head.h"
#include "program/symbols/symbols.h"
#include "tools/command/tool.h"
#include "tools/command/tool_map.h"
#include "tools/io/debug_files.h"

#define SECONDS_MOST 10u /* of one question: people wait for it */
#define NAME_MOST    512u

struct pair {
    char **names;
    size_t count, capacity;
};

struct tool_inlined {
    const ttape_reader *reader;
    struct tool_symbols_options options;
    struct tool_symbols *symbols; /* NULL: nothing was asked yet */
    bool is_simple;
    struct ttp_key_map by_pair;
    struct pair *pairs;
    size_t count, capacity;
};

struct tool_inlined *tool_inlined_open(const ttape_reader *reader, enum tool_name_style style)
{
    struct tool_inlined *inlined = tool_allocate(1, sizeof *inlined);
    inlined->reader = reader;
    inlined->is_simple = style == TOOL_NAMES_SIMPLE;
    inlined->options = (struct tool_symbols_options){.no_demangle = style == TOOL_NAMES_MANGLED,
                                                     .timeout_seconds = SECONDS_MOST};
    return inlined;
}

void tool_inlined_close(struct tool_inlined *inlined)
{
    for (size_t i = 0; i < inlined->count; i++) {
        for (size_t k = 0; k < inlined->pairs[i].count; k++)
            free(inlined->pairs[i].names[k]);
        free(inlined->pairs[i].names);
    }
    free(inlined->pairs);
    tool_map_close(&inlined->by_pair);
    tool_symbols_close(inlined->symbols);
    free(inlined);
}

static char *escape(const struct tool_inlined *inlined, ttape_string name)
{
    char simple[TTP_SIMPLE_NAME_BYTES(NAME_MOST)];
    size_t size = name.size_bytes;
    if (inlined->is_simple && size <= NAME_MOST) {
        size = ttp_simple_name(simple, name.data, size, TTP_NAME_SHORT);
        name.data = simple;
    }
    size = size < NAME_MOST ? size : NAME_MOST;
    char *text = tool_allocate(size * TTP_ESCAPE_MAX + 1, 1);
    text[ttp_escape(text, TTP_ESCAPE_TERMINAL, name.data, size)] = '\0';
    return text;
}

static void take_name(void *context, const struct tool_symbols_inlined *found)
{
    struct tool_inlined *inlined = context;
    struct pair *pair = &inlined->pairs[inlined->count - 1];
    tool_grow((void **)&pair->names, &pair->capacity, pair->count + 1, sizeof *pair->names);
    pair->names[pair->count++] = escape(inlined, found->name);
}

/* The question to the caller's file is made here; false: there is nothing to ask. */
static bool make_question(const struct tool_elf_head *head, const ttape_module *module,
                          const ttape_site *caller, const ttape_site *callee,
                          struct tool_symbols_between *between)
{
    *between = (struct tool_symbols_between){.name = {"", 0}};
    if (head == NULL ||
        !tool_elf_address_in_module(head, module->start, caller->address, &between->caller))
        return false;
    if (caller->module == callee->module)
        return tool_elf_address_in_module(head, module->start, callee->address, &between->callee);
    between->name = callee->symbol;
    return between->name.size_bytes > 0;
}

static void ask(struct tool_inlined *inlined, const ttape_site *caller, const ttape_site *callee)
{
    ttape_module module;
    struct tool_symbols_between between;
    if (ttape_reader_get_module(inlined->reader, caller->module, &module) != TTAPE_OK ||
        module.build_id.size_bytes == 0)
        return;
    if (inlined->symbols == NULL)
        inlined->symbols = tool_symbols_make(&inlined->options);
    struct tool_symbols_module *asked =
        tool_symbols_module_open(inlined->symbols, module.path, module.build_id);
    if (make_question(tool_symbols_module_head(asked), &module, caller, callee, &between))
        (void)tool_symbols_inlined_between(inlined->symbols, asked, &between, take_name, inlined);
}

char *const *tool_inlined_between(struct tool_inlined *inlined, uint32_t caller, uint32_t callee,
                                  uint32_t *count)
{
    ttape_site sites[2];
    uint64_t key = (uint64_t)caller << 32 | callee;
    uint32_t *number = tool_map_at(&inlined->by_pair, key, TTAPE_NONE);
    *count = 0;
    if (*number == TTAPE_NONE) {
        *number = (uint32_t)inlined->count;
        tool_grow((void **)&inlined->pairs, &inlined->capacity, inlined->count + 1,
                  sizeof *inlined->pairs);
        inlined->pairs[inlined->count++] = (struct pair){0};
        if (ttape_reader_get_site(inlined->reader, caller, &sites[0]) == TTAPE_OK &&
            ttape_reader_get_site(inlined->reader, callee, &sites[1]) == TTAPE_OK &&
            sites[0].kind == TTAPE_SITE_FUNCTION && sites[1].kind == TTAPE_SITE_FUNCTION)
            ask(inlined, &sites[0], &sites[1]);
    }
    *count = (uint32_t)inlined->pairs[*number].count;
    return inlined->pairs[*number].names;
}
