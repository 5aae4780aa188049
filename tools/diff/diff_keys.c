/* What is the same function in two traces. Builds differ in addresses and folders: modules and
 * files go by the last parts of their paths, and files only where both traces have any. */
#include <stdlib.h>
#include <string.h>

#include "tools/callgraph/graph_functions.h"
#include "tools/callgraph/graph_map.h"
#include "tools/calls/site_name.h"
#include "tools/diff/diff_view.h"

struct identity {
    ttape_string symbol, module, file;
    uint64_t place; /* of functions without symbol */
};

static struct identity identify(const ttape_reader *reader, uint32_t number, bool with_files)
{
    ttape_site site = {0};
    ttape_module module = {0};
    (void)ttape_reader_get_site(reader, number, &site);
    bool has_module = ttape_reader_get_module(reader, site.module, &module) == TTAPE_OK;
    struct identity id = {.symbol = site.symbol, .module = tool_path_base(module.path)};
    if (site.symbol.size_bytes == 0)
        id.place = has_module ? site.address - module.start : site.address;
    else if (with_files)
        id.file = tool_path_base(site.file);
    return id;
}

static bool is_text(ttape_string a, ttape_string b)
{
    return a.size_bytes == b.size_bytes &&
           (a.size_bytes == 0 || memcmp(a.data, b.data, a.size_bytes) == 0);
}

static bool is_identity(const struct identity *a, const struct identity *b)
{
    return is_text(a->symbol, b->symbol) && is_text(a->module, b->module) &&
           is_text(a->file, b->file) && a->place == b->place;
}

static uint64_t hash_of(struct tool_map *map, const struct identity *id)
{
    struct tool_hash hash = tool_map_hash(map);
    tool_hash_bytes(&hash, id->symbol.data, id->symbol.size_bytes);
    tool_hash_bytes(&hash, id->module.data, id->module.size_bytes);
    tool_hash_bytes(&hash, id->file.data, id->file.size_bytes);
    tool_hash_word(&hash, id->place);
    return hash.low ^ hash.high;
}

static bool has_files(const struct tool_diff *diff, int side)
{
    ttape_site site;
    for (uint32_t i = 0; i < diff->infos[side].site_count; i++)
        if (ttape_reader_get_site(diff->inputs[side].reader, i, &site) == TTAPE_OK &&
            site.file.size_bytes > 0)
            return true;
    return false;
}

static struct identity identity_of(const struct tool_diff *diff, const struct tool_diff_key *key,
                                   bool with_files)
{
    int side = key->site[0] != TTAPE_NONE ? 0 : 1;
    return identify(diff->inputs[side].reader, key->site[side], with_files);
}

static uint32_t find(struct tool_diff *diff, struct tool_map *map, int side, uint32_t number,
                     bool with_files)
{
    struct identity id = identify(diff->inputs[side].reader, number, with_files);
    for (uint64_t hash = hash_of(map, &id);; hash++) {
        uint32_t *place = tool_map_at(map, hash, TTAPE_NONE);
        if (*place == TTAPE_NONE) {
            *place = diff->key_count++;
            diff->keys[*place] = (struct tool_diff_key){{TTAPE_NONE, TTAPE_NONE}};
        } else {
            struct identity other = identity_of(diff, &diff->keys[*place], with_files);
            if (!is_identity(&id, &other))
                continue;
        }
        if (diff->keys[*place].site[side] == TTAPE_NONE)
            diff->keys[*place].site[side] = number;
        return *place;
    }
}

void tool_diff_make_keys(struct tool_diff *diff)
{
    struct tool_map map = {0};
    size_t most = (size_t)diff->infos[0].site_count + diff->infos[1].site_count + 1;
    bool with_files = has_files(diff, 0) && has_files(diff, 1);
    diff->keys = tool_allocate(most, sizeof(*diff->keys));
    for (int side = 0; side < 2; side++) {
        uint32_t count = diff->infos[side].site_count;
        diff->key_of[side] = tool_allocate(count + 1u, sizeof(uint32_t));
        for (uint32_t i = 0; i < count; i++)
            diff->key_of[side][i] = find(diff, &map, side, i, with_files);
    }
    diff->keys[diff->key_count++] = (struct tool_diff_key){{TTAPE_NONE, TTAPE_NONE}};
    tool_map_close(&map);
}

void tool_diff_close_keys(struct tool_diff *diff)
{
    free(diff->keys);
    free(diff->key_of[0]);
    free(diff->key_of[1]);
}

void tool_diff_describe(const struct tool_diff *diff, uint32_t number, char *buffer,
                        ttape_string *symbol, ttape_string *module, ttape_string *file)
{
    const struct tool_diff_key *key = &diff->keys[number];
    int side = key->site[0] != TTAPE_NONE ? 0 : 1;
    const ttape_reader *reader = diff->inputs[side].reader;
    ttape_site site = {.module = TTAPE_NONE};
    (void)ttape_reader_get_site(reader, key->site[side], &site);
    *symbol = tool_site_word(&diff->names[side], key->site[side], buffer);
    *module = tool_module_path(reader, site.module);
    *file = site.file;
}

const char *tool_diff_why(const struct tool_diff *diff, const struct tool_diff_thread *thread)
{
    const ttape_event *a = &thread->events[0], *b = &thread->events[1];
    if (thread->end != TOOL_DIFF_EVENT)
        return NULL;
    if (a->kind != b->kind)
        return "other kind of event";
    if (tool_diff_key_of(diff, 0, a->site) == tool_diff_key_of(diff, 1, b->site))
        return a->argument != b->argument       ? "other argument"
               : a->lost_count != b->lost_count ? "other number of lost events"
                                                : "other calls are open where the traces begin";
    struct identity one = identify(diff->inputs[0].reader, a->site, true);
    struct identity two = identify(diff->inputs[1].reader, b->site, true);
    if (one.symbol.size_bytes == 0 || !is_text(one.symbol, two.symbol))
        return "other function";
    return is_text(one.module, two.module) ? "other file" : "other module";
}

const char *tool_diff_name(struct tool_diff *diff, uint32_t number)
{
    const struct tool_diff_key *key = &diff->keys[number];
    int side = key->site[0] != TTAPE_NONE ? 0 : 1;
    return tool_site_name(&diff->names[side], key->site[side]);
}
