/* What is the same function in several traces. Builds differ in addresses and folders: modules and
 * files go by the last parts of their paths, and files only where all traces have any. */
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

static bool has_files(const struct tool_diff_run *run)
{
    ttape_site site;
    for (uint32_t i = 0; i < run->info.site_count; i++)
        if (ttape_reader_get_site(run->input.reader, i, &site) == TTAPE_OK &&
            site.file.size_bytes > 0)
            return true;
    return false;
}

static struct identity identity_of(const struct tool_diff *diff, const struct tool_diff_key *key,
                                   bool with_files)
{
    return identify(diff->runs[key->run].input.reader, key->site, with_files);
}

static uint32_t find(struct tool_diff *diff, struct tool_map *map, uint32_t run, uint32_t number,
                     bool with_files)
{
    struct identity id = identify(diff->runs[run].input.reader, number, with_files);
    for (uint64_t hash = hash_of(map, &id);; hash++) {
        uint32_t *place = tool_map_at(map, hash, TTAPE_NONE);
        if (*place == TTAPE_NONE) {
            *place = diff->key_count++;
            diff->keys[*place] = (struct tool_diff_key){run, number};
        } else {
            struct identity other = identity_of(diff, &diff->keys[*place], with_files);
            if (!is_identity(&id, &other))
                continue;
        }
        return *place;
    }
}

void tool_diff_make_keys(struct tool_diff *diff)
{
    struct tool_map map = {0};
    size_t most = 1;
    bool with_files = true;
    for (uint32_t run = 0; run < diff->run_count; run++) {
        most += diff->runs[run].info.site_count;
        with_files = with_files && has_files(&diff->runs[run]);
    }
    diff->keys = tool_allocate(most, sizeof(*diff->keys));
    for (uint32_t run = 0; run < diff->run_count; run++) {
        uint32_t count = diff->runs[run].info.site_count;
        diff->runs[run].key_of = tool_allocate(count + 1u, sizeof(uint32_t));
        for (uint32_t i = 0; i < count; i++)
            diff->runs[run].key_of[i] = find(diff, &map, run, i, with_files);
    }
    diff->keys[diff->key_count++] = (struct tool_diff_key){0, TTAPE_NONE};
    tool_map_close(&map);
}

void tool_diff_close_keys(struct tool_diff *diff)
{
    free(diff->keys);
    for (uint32_t run = 0; run < diff->run_count; run++)
        free(diff->runs[run].key_of);
}

void tool_diff_describe(const struct tool_diff *diff, uint32_t number, char *buffer,
                        ttape_string *symbol, ttape_string *module, ttape_string *file)
{
    const struct tool_diff_key *key = &diff->keys[number];
    const ttape_reader *reader = diff->runs[key->run].input.reader;
    ttape_site site = {.module = TTAPE_NONE};
    (void)ttape_reader_get_site(reader, key->site, &site);
    *symbol = tool_site_word(&diff->runs[key->run].names, key->site, buffer);
    *module = tool_module_path(reader, site.module);
    *file = site.file;
}

const char *tool_diff_why(const struct tool_diff *diff, const struct tool_diff_thread *thread)
{
    const ttape_event *a = &thread->events[0], *b = &thread->events[1];
    if (thread->end != TOOL_DIFF_EVENT)
        return NULL;
    if (thread->is_moved)
        return "other caller";
    if (a->kind != b->kind)
        return "other kind of event";
    if (tool_diff_key_of(diff, 0, a->site) == tool_diff_key_of(diff, 1, b->site))
        return a->argument != b->argument       ? "other argument"
               : a->lost_count != b->lost_count ? "other number of lost events"
                                                : "other calls are open where the traces begin";
    struct identity one = identify(diff->runs[0].input.reader, a->site, true);
    struct identity two = identify(diff->runs[1].input.reader, b->site, true);
    if (one.symbol.size_bytes == 0 || !is_text(one.symbol, two.symbol))
        return "other function";
    return is_text(one.module, two.module) ? "other file" : "other module";
}

const char *tool_diff_name(struct tool_diff *diff, uint32_t number)
{
    const struct tool_diff_key *key = &diff->keys[number];
    return tool_site_name(&diff->runs[key->run].names, key->site);
}
