#include "tools/export/export_paths.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/callgraph/graph_functions.h"

#define BASE_BYTES 64u /* of a module's name */

uint32_t tool_export_path_of(const struct tool_export *export, uint32_t site)
{
    ttape_site found;
    return ttape_reader_get_site(export->reader, site, &found) == TTAPE_OK ? found.path : 0;
}

void tool_export_path_read(const struct tool_export *export, uint32_t path,
                           struct tool_export_path *into)
{
    ttape_path step = {.parent = path};
    into->count = 0;
    while (ttape_reader_get_path(export->reader, step.parent, &step) == TTAPE_OK) {
        tool_grow((void **)&into->sites, &into->capacity, (size_t)into->count + 1,
                  sizeof(*into->sites));
        into->sites[into->count++] = step.site;
    }
    for (uint32_t i = 0; i < into->count / 2; i++) {
        uint32_t inner = into->sites[i];
        into->sites[i] = into->sites[into->count - 1 - i];
        into->sites[into->count - 1 - i] = inner;
    }
}

void tool_export_path_close(struct tool_export_path *path)
{
    free(path->sites);
    *path = (struct tool_export_path){0};
}

ttape_string tool_export_place(const struct tool_export *export, const ttape_site *site,
                               char room[TOOL_EXPORT_PLACE_BYTES])
{
    ttape_module module;
    if (site->symbol.size_bytes > 0 || site->module == TTAPE_NONE ||
        ttape_reader_get_module(export->reader, site->module, &module) != TTAPE_OK ||
        site->address < module.start)
        return tool_export_label(site, room);
    ttape_string base = ttp_path_base(module.path);
    int size = snprintf(room, TOOL_EXPORT_PLACE_BYTES, "%.*s+0x%" PRIx64,
                        (int)(base.size_bytes < BASE_BYTES ? base.size_bytes : BASE_BYTES),
                        base.data, site->address - module.start);
    return (ttape_string){room, (size_t)size};
}

void tool_export_put_path(const struct tool_export *export, const struct tool_export_path *path,
                          struct tool_buffer *text)
{
    for (uint32_t i = 0; i < path->count; i++) {
        ttape_site site = {.module = TTAPE_NONE};
        char room[TOOL_EXPORT_PLACE_BYTES];
        tool_buffer_text(text, i > 0 ? " > " : "");
        if (path->sites[i] == TTAPE_NONE) {
            tool_buffer_text(text, "...");
            continue;
        }
        tool_export_get_site(export, path->sites[i], &site);
        tool_buffer_name(text, TTP_ESCAPE_TERMINAL, tool_export_place(export, &site, room));
    }
}

uint32_t tool_export_same_name(const struct tool_export *export, struct tool_names *names,
                               uint32_t site)
{
    ttape_site found;
    char room[TOOL_EXPORT_PLACE_BYTES];
    bool is_new;
    if (ttape_reader_get_site(export->reader, site, &found) != TTAPE_OK)
        return TTAPE_NONE;
    ttape_string name = tool_export_place(export, &found, room);
    uint32_t *place = tool_names_find(names, name.data, name.size_bytes, &is_new);
    *place = is_new ? site : *place;
    return *place;
}
