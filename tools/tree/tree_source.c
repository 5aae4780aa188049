/* Where functions are written: file, first and last line. Only those are asked for that are shown,
 * module by module. */
#include <stdlib.h>
#include <string.h>

#include "program/elf/elf_head.h"
#include "program/symbols/symbols.h"
#include "tools/io/debug_files.h"
#include "tools/tree/tree_view.h"

/* A function that is shown. */
struct shown {
    uint32_t site, module;
    uint64_t address;
};

struct asking {
    struct tool_tree *view;
    struct shown *list; /* by module and address */
    bool *is_listed;    /* by site */
    size_t count, capacity;
    const struct shown *asked; /* of the module in hand */
};

static bool has_function(const struct tool_item *item)
{
    return item->kind == TOOL_ITEM_NODE && item->node.id.kind == TTAPE_NODE_FRAME &&
           item->node.frame_kind == TTAPE_EVENT_ENTER;
}

static void list(struct asking *asking, const struct tool_item *items, size_t count)
{
    ttape_site site;
    for (size_t i = 0; i < count; i++) {
        uint32_t number = items[i].node.site;
        if (has_function(&items[i]) &&
            ttape_reader_get_site(asking->view->reader, number, &site) == TTAPE_OK &&
            !asking->is_listed[number]) {
            asking->is_listed[number] = true;
            tool_grow((void **)&asking->list, &asking->capacity, asking->count + 1,
                      sizeof *asking->list);
            asking->list[asking->count++] = (struct shown){number, site.module, site.address};
        }
        list(asking, items[i].children, items[i].child_count);
    }
}

static int compare_shown(const void *a, const void *b)
{
    const struct shown *one = a, *two = b;
    if (one->module != two->module)
        return one->module < two->module ? -1 : 1;
    return one->address < two->address ? -1 : one->address > two->address;
}

static void take_line(void *context, size_t number, const struct tool_symbol *found)
{
    struct asking *asking = context;
    struct tool_tree_source *source = &asking->view->sources[asking->asked[number].site];
    if (found->file.size_bytes > 0)
        *source = (struct tool_tree_source){
            .file = tool_copy_text(found->file.data, found->file.size_bytes),
            .first = found->line,
            .last = found->last_line};
}

static void ask_module(struct asking *asking, struct tool_symbols *symbols,
                       const ttape_module *module, size_t count)
{
    struct tool_symbols_query *queries = tool_allocate(count, sizeof *queries);
    struct tool_symbols_module *asked =
        tool_symbols_module_open(symbols, module->path, module->build_id);
    const struct tool_elf_head *head = tool_symbols_module_head(asked);
    size_t known = 0;
    for (; known < count && head != NULL; known++) {
        queries[known] = (struct tool_symbols_query){.section = true};
        if (!tool_elf_address_in_module(head, module->start, asking->asked[known].address,
                                        &queries[known].elf_address))
            queries[known].elf_address = 0; /* no function's */
    }
    (void)tool_symbols_find_all(symbols, asked, queries, known, take_line, asking);
    (void)tool_symbols_warn(asked);
    tool_symbols_module_release(symbols, asked);
    free(queries);
}

/* What the trace itself says. */
static void take_sites(const struct asking *asking)
{
    ttape_site site;
    for (size_t i = 0; i < asking->count; i++) {
        struct tool_tree_source *source = &asking->view->sources[asking->list[i].site];
        if (source->file == NULL &&
            ttape_reader_get_site(asking->view->reader, asking->list[i].site, &site) == TTAPE_OK &&
            site.file.size_bytes > 0)
            *source = (struct tool_tree_source){
                .file = tool_copy_text(site.file.data, site.file.size_bytes), .first = site.line};
    }
}

void tool_tree_find_sources(struct tool_tree *view)
{
    const struct tool_symbols_options options = {0};
    struct asking asking = {.view = view};
    ttape_info info;
    ttape_module module;
    ttape_reader_get_info(view->reader, &info);
    view->sources = tool_allocate((size_t)info.site_count + 1, sizeof *view->sources);
    asking.is_listed = tool_allocate((size_t)info.site_count + 1, sizeof *asking.is_listed);
    list(&asking, view->items, view->item_count);
    if (asking.count > 0)
        qsort(asking.list, asking.count, sizeof *asking.list, compare_shown);
    struct tool_symbols *symbols = tool_symbols_make(&options);
    for (size_t i = 0, end; i < asking.count; i = end) {
        for (end = i; end < asking.count && asking.list[end].module == asking.list[i].module;)
            end++;
        asking.asked = &asking.list[i];
        if (ttape_reader_get_module(view->reader, asking.list[i].module, &module) == TTAPE_OK)
            ask_module(&asking, symbols, &module, end - i);
    }
    tool_symbols_close(symbols);
    take_sites(&asking);
    free(asking.list);
    free(asking.is_listed);
}

const struct tool_tree_source *tool_tree_source(const struct tool_tree *view,
                                                const struct tool_item *item)
{
    ttape_site site;
    if (view->sources == NULL || !has_function(item) ||
        ttape_reader_get_site(view->reader, item->node.site, &site) != TTAPE_OK ||
        view->sources[item->node.site].file == NULL)
        return NULL;
    return &view->sources[item->node.site];
}

void tool_tree_sources_close(struct tool_tree *view)
{
    ttape_info info;
    ttape_reader_get_info(view->reader, &info);
    for (uint32_t i = 0; view->sources != NULL && i < info.site_count; i++)
        free(view->sources[i].file);
    free(view->sources);
    view->sources = NULL;
}
