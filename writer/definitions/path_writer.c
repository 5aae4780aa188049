/* Paths of a scope: of the same parent and frame there is one, found in a table by their hash, so a
 * stack that comes again is found frame by frame and nothing of it is written again. */
#include <string.h>

#include "format/base/fail.h"
#include "format/base/limits.h"
#include "format/base/secret_hash.h"
#include "format/container/paths.h"
#include "writer/writer_internal.h"

static size_t path_hash(const ttape_writer *w, const struct ttp_path_row *row)
{
    return (size_t)ttp_secret_hash((uint64_t)row->parent << 32 | row->site_plus_one, w->hash_key);
}

/* Where a path stands in the slots, or would. */
static size_t place_of(const ttape_writer *w, const struct ttp_scope *scope,
                       const struct ttp_path_row *row)
{
    const struct ttp_scope_path *paths = scope->paths.data;
    const uint32_t *slots = scope->path_slots.data;
    size_t mask = scope->path_slots.count - 1, at = path_hash(w, row) & mask;
    while (slots[at] != 0 && (paths[slots[at] - 1].row.parent != row->parent ||
                              paths[slots[at] - 1].row.site_plus_one != row->site_plus_one))
        at = (at + 1) & mask;
    return at;
}

static ttape_status grow_slots(ttape_writer *w, struct ttp_scope *scope, ttape_error *err)
{
    const struct ttp_scope_path *paths = scope->paths.data;
    size_t slots = scope->path_slots.count == 0 ? 64 : scope->path_slots.count * 2;
    struct ttp_growing bigger = {0};
    TTP_TRY(ttp_grow(&w->allocator, &bigger, sizeof(uint32_t), slots, err));
    memset(bigger.data, 0, slots * sizeof(uint32_t));
    bigger.count = slots;
    ttp_grown_free(&w->allocator, &scope->path_slots);
    scope->path_slots = bigger;
    for (uint32_t i = 0; i < scope->paths.count; i++)
        if (((uint32_t *)bigger.data)[place_of(w, scope, &paths[i].row)] == 0)
            ((uint32_t *)bigger.data)[place_of(w, scope, &paths[i].row)] = i + 1;
    return TTAPE_OK;
}

static ttape_status check_path(const struct ttp_scope *scope, const ttape_path *path,
                               uint32_t *depth, ttape_error *err)
{
    const struct ttp_scope_path *paths = scope->paths.data;
    if (path->reserved != 0)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "a path has fields that this version does not know");
    if (path->parent > scope->paths.count)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "F-PTH-02", TTAPE_ERROR_NO_OFFSET,
                        "unknown parent %u of a path", path->parent);
    if (path->site == TTAPE_NONE ? path->parent != 0 : path->site >= scope->site_count)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "F-PTH-03", TTAPE_ERROR_NO_OFFSET,
                        "unknown site of a path");
    *depth = path->parent == 0 ? 1 : paths[path->parent - 1].depth + 1;
    if (*depth > TTP_MAX_PATH_DEPTH)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "F-PTH-04", TTAPE_ERROR_NO_OFFSET,
                        "a path has more than %u frames", TTP_MAX_PATH_DEPTH);
    return TTAPE_OK;
}

/* Room for one more path, which may stand in any slot. */
static ttape_status make_room(ttape_writer *w, struct ttp_scope *scope, ttape_error *err)
{
    if (scope->paths.count >= TTP_MAX_SITES - 2)
        return ttp_fail(err, TTAPE_E_LIMIT, "F-PTH-01", TTAPE_ERROR_NO_OFFSET,
                        "too many paths in one trace");
    if ((scope->paths.count + 1) * 2 > scope->path_slots.count)
        return grow_slots(w, scope, err);
    return TTAPE_OK;
}

ttape_status ttp_scope_new_path(ttape_writer *w, struct ttp_scope *scope, const ttape_path *path,
                                uint32_t *id, ttape_error *err)
{
    struct ttp_scope_path added = {.row = {path->parent, path->site + 1}};
    TTP_TRY(check_path(scope, path, &added.depth, err));
    TTP_TRY(make_room(w, scope, err));
    struct ttp_scope_path *to = ttp_push(&w->allocator, &scope->paths, sizeof *to, err);
    if (to == NULL)
        return TTAPE_E_MEMORY;
    *to = added;
    scope->fresh.path_count++;
    *id = (uint32_t)scope->paths.count;
    uint32_t *slot = (uint32_t *)scope->path_slots.data + place_of(w, scope, &added.row);
    if (*slot == 0)
        *slot = *id;
    return TTAPE_OK;
}

ttape_status ttp_scope_add_path(ttape_writer *w, struct ttp_scope *scope, const ttape_path *path,
                                uint32_t *id, ttape_error *err)
{
    const struct ttp_path_row row = {path->parent, path->site + 1};
    const uint32_t *slots = scope->path_slots.data;
    uint32_t known = slots != NULL ? slots[place_of(w, scope, &row)] : 0;
    if (known == 0 || path->reserved != 0)
        return ttp_scope_new_path(w, scope, path, id, err);
    *id = known; /* which may be path->parent */
    return TTAPE_OK;
}

ttape_status ttp_scope_link_site(ttape_writer *w, struct ttp_scope *scope, uint32_t site,
                                 uint32_t path, ttape_error *err)
{
    struct ttp_path_link *link = ttp_push(&w->allocator, &scope->fresh.links, sizeof *link, err);
    if (link == NULL)
        return TTAPE_E_MEMORY;
    *link = (struct ttp_path_link){site, path};
    return TTAPE_OK;
}

ttape_status ttp_scope_collect_paths(ttape_writer *w, struct ttp_scope *scope,
                                     struct ttp_growing *out, ttape_error *err)
{
    struct ttp_definitions *d = &scope->fresh;
    uint32_t written = (uint32_t)scope->paths.count - d->path_count;
    const struct ttp_scope_path *fresh = scope->paths.data;
    size_t bound = ttp_paths_bound(d->path_count, d->links.count);
    struct ttp_growing rows = {0};
    TTP_TRY(ttp_grow(&w->allocator, out, 1, bound, err));
    TTP_TRY(ttp_grow(&w->allocator, &rows, sizeof(struct ttp_path_row), d->path_count, err));
    struct ttp_path_row *row = rows.data;
    for (uint32_t i = 0; i < d->path_count; i++)
        row[i] = fresh[written + i].row;
    struct ttp_writer_cursor c = ttp_writer_cursor_init(out->data, bound);
    ttp_paths_write(&c, written + 1, row, d->path_count, d->links.data, (uint32_t)d->links.count);
    out->count = ttp_written(&c);
    ttp_grown_free(&w->allocator, &rows);
    ttp_grown_free(&w->allocator, &d->links);
    d->path_count = 0;
    return TTAPE_OK;
}
