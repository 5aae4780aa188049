/* Which modules are looked at: those that were wished for, and, where system calls are recorded,
 * all others that make any. */
#include <stdlib.h>
#include <string.h>

#include "recorder/attach/attach_inside.h"

static struct ttp_attach_wish *find_wish(const struct ttp_wishes *wishes, const char *path)
{
    for (size_t i = 0; i < wishes->count; i++)
        if (strcmp(wishes->list[i].module, path) == 0)
            return &wishes->list[i];
    return NULL;
}

bool ttp_wishes_make(struct ttp_wishes *wishes, const struct ttp_attach_options *options,
                     const struct ttp_traced_modules *modules, bool has_calls)
{
    size_t room = options->wish_count + modules->count + 1;
    *wishes = (struct ttp_wishes){.list = calloc(room, sizeof *wishes->list)};
    if (wishes->list == NULL)
        return false;
    memcpy(wishes->list, options->wishes, options->wish_count * sizeof *wishes->list);
    wishes->count = options->wish_count;
    for (size_t i = 0; has_calls && i < modules->count; i++) {
        const struct ttp_traced_module *module = &modules->modules[i];
        struct ttp_attach_wish *wish = find_wish(wishes, module->path);
        if (module->plan == NULL || module->plan->site_count == 0)
            continue;
        if (wish == NULL) {
            wish = &wishes->list[wishes->count++];
            *wish = (struct ttp_attach_wish){.module = module->path};
        }
        wish->calls = module->plan;
    }
    return true;
}

void ttp_wishes_free(struct ttp_wishes *wishes)
{
    free(wishes->list);
    *wishes = (struct ttp_wishes){0};
}

/* Libraries that have come since it was looked at. */
uint32_t ttp_wishes_loaded(const struct ttp_traced_modules *modules, uint32_t pid)
{
    struct ttp_maps maps;
    const char *last = "";
    uint32_t count = 0;
    bool is_read = modules->count != 0 && ttp_maps_read(&maps, pid);
    for (size_t i = 0; is_read && i < maps.count; i++) {
        const struct ttp_map *map = &maps.list[i];
        if (!map->can_execute || map->path[0] != '/' || strcmp(map->path, last) == 0)
            continue;
        last = map->path;
        count += !ttp_modules_have(modules, map->path);
    }
    if (is_read)
        ttp_maps_free(&maps);
    return count;
}
