/* Namesakes in one module (static functions of several files) stay apart: by file where it is
 * known, otherwise by their place in the module. Frames of paths do not: each is at another place
 * of its function, and what is inlined there has other files. */
#include "tools/callgraph/graph_functions.h"

#include <stdlib.h>
#include <string.h>

#include <tracetape/report.h>

#include "tools/callgraph/graph_map.h"

ttape_string tool_module_path(const ttape_reader *reader, uint32_t module)
{
    ttape_module found = {0};
    (void)ttape_reader_get_module(reader, module, &found);
    return found.path;
}

ttape_string tool_path_base(ttape_string path)
{
    for (size_t i = path.size_bytes; i > 0; i--)
        if (path.data[i - 1] == '/')
            return (ttape_string){path.data + i, path.size_bytes - i};
    return path;
}

static bool same_text(ttape_string a, ttape_string b)
{
    return a.size_bytes == b.size_bytes &&
           (a.size_bytes == 0 || memcmp(a.data, b.data, a.size_bytes) == 0);
}

static ttape_string file_of(const ttape_site *site)
{
    return site->kind == TTAPE_SITE_FRAME ? (ttape_string){"", 0} : site->file;
}

/* Where a site is in its module, for those that nothing else tells apart. */
static uint64_t place_of(const ttape_reader *reader, const ttape_site *site)
{
    ttape_module module = {0};
    if (site->symbol.size_bytes > 0 &&
        (site->file.size_bytes > 0 || site->kind == TTAPE_SITE_FRAME))
        return 0;
    if (ttape_reader_get_module(reader, site->module, &module) != TTAPE_OK)
        return site->symbol.size_bytes > 0 ? 0 : site->address;
    return site->address - module.start;
}

static uint64_t hash_of(struct tool_map *map, const ttape_reader *reader, const ttape_site *site)
{
    struct tool_hash hash = tool_map_hash(map);
    ttape_string path = tool_module_path(reader, site->module), file = file_of(site);
    tool_hash_bytes(&hash, site->symbol.data, site->symbol.size_bytes);
    tool_hash_bytes(&hash, file.data, file.size_bytes);
    tool_hash_bytes(&hash, path.data, path.size_bytes);
    tool_hash_word(&hash, place_of(reader, site));
    return hash.low ^ hash.high;
}

static bool is_same(const ttape_reader *reader, const ttape_site *a, const ttape_site *b)
{
    return same_text(a->symbol, b->symbol) && same_text(file_of(a), file_of(b)) &&
           same_text(tool_module_path(reader, a->module), tool_module_path(reader, b->module)) &&
           place_of(reader, a) == place_of(reader, b);
}

static uint32_t add(struct tool_functions *functions, uint32_t number, const ttape_site *site)
{
    functions->functions[functions->count] = (struct tool_function){
        .site = number, .module = site->module, .is_idle = ttape_is_idle_name(site->symbol)};
    return functions->count++;
}

/* Sites of one hash that differ are told apart by trying the next one. */
static uint32_t find(struct tool_functions *functions, struct tool_map *map, uint32_t number)
{
    const ttape_reader *reader = functions->reader;
    ttape_site site = {0}, other = {0};
    (void)ttape_reader_get_site(reader, number, &site);
    for (uint64_t hash = hash_of(map, reader, &site);; hash++) {
        uint32_t *place = tool_map_at(map, hash, TTAPE_NONE);
        if (*place == TTAPE_NONE)
            return *place = add(functions, number, &site);
        (void)ttape_reader_get_site(reader, functions->functions[*place].site, &other);
        if (is_same(reader, &site, &other))
            return *place;
    }
}

void tool_functions_open(struct tool_functions *functions, const ttape_reader *reader)
{
    ttape_info info;
    struct tool_map map = {0};
    ttape_reader_get_info(reader, &info);
    *functions = (struct tool_functions){.reader = reader, .site_count = info.site_count};
    functions->functions = tool_allocate(info.site_count + 1u, sizeof(struct tool_function));
    functions->of_site = tool_allocate(info.site_count + 1u, sizeof(uint32_t));
    for (uint32_t i = 0; i < info.site_count; i++)
        functions->of_site[i] = find(functions, &map, i);
    functions->functions[functions->count++] =
        (struct tool_function){.site = TTAPE_NONE, .module = TTAPE_NONE};
    tool_map_close(&map);
}

void tool_functions_close(struct tool_functions *functions)
{
    free(functions->functions);
    free(functions->of_site);
    *functions = (struct tool_functions){0};
}
