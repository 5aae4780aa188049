/* A path's id in its scope begins at 1, its place in the tables at 0: a parent of 0 is none. */
#include "reader/definitions/paths_reader.h"

#include "format/base/fail.h"
#include "format/base/limits.h"
#include "format/container/paths.h"
#include "reader/definitions/placeholders.h"

static ttape_status not_defined(const struct ttp_reader_cursor *c, const char *rule,
                                const char *what, uint32_t id, ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_CORRUPT, rule, ttp_reader_offset(c),
                    "a path table names %s '%u', which is not defined", what, id);
}

/* Turns a parent of the scope into a file-wide number, and counts the frames. The chunk's own
 * paths, from `first` on, are at the end of the table, and not mapped before all is read. */
static ttape_status resolve_parent(struct ttp_definition_tables *d, uint32_t scope,
                                   const struct ttp_reader_cursor *c, uint32_t first,
                                   uint32_t parent, struct ttp_read_path *path, ttape_error *err)
{
    *path = (struct ttp_read_path){.depth = 1, .scope = scope};
    if (parent == 0)
        return TTAPE_OK;
    path->parent =
        1 + (parent >= first ? d->path_count + (parent - first)
                             : ttp_definitions_find(d, scope, TTP_DEFINES_PATHS, parent - 1));
    path->depth = d->paths[path->parent - 1].depth + 1;
    if (path->depth > TTP_MAX_PATH_DEPTH)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-PTH-04", ttp_reader_offset(c),
                        "a path has more than %u frames", TTP_MAX_PATH_DEPTH);
    return TTAPE_OK;
}

/* Paths first .. first + count - 1 of the scope, for which there is room. */
static ttape_status add_rows(struct ttp_definition_tables *d, uint32_t scope,
                             struct ttp_reader_cursor *c, uint32_t first, uint32_t count,
                             ttape_error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        struct ttp_path_row row;
        TTP_TRY(ttp_path_read_parent(c, first + i, &row, err));
        TTP_TRY(resolve_parent(d, scope, c, first, row.parent, &d->paths[d->path_count + i], err));
    }
    for (uint32_t i = 0; i < count; i++) {
        struct ttp_read_path *path = &d->paths[d->path_count + i];
        struct ttp_path_row row = {.parent = path->parent};
        TTP_TRY(ttp_path_read_frame(c, &row, err));
        path->site_plus_one = row.site_plus_one;
        if (row.site_plus_one == 0)
            continue;
        uint32_t site = ttp_placeholders_find(d, scope, TTP_DEFINES_SITES, row.site_plus_one - 1);
        if (site == TTAPE_NONE)
            return not_defined(c, "F-PTH-07", "site", row.site_plus_one - 1, err);
        path->site_plus_one = site + 1;
    }
    return TTAPE_OK;
}

static ttape_status add_paths(struct ttp_definition_tables *d, uint32_t scope,
                              struct ttp_reader_cursor *c, ttape_error *err)
{
    uint32_t first, count, have = d->scopes[scope].maps[TTP_DEFINES_PATHS].id_count;
    TTP_TRY(ttp_paths_read_range(c, &first, &count, err));
    if (first - 1 > have && d->placeholders != NULL)
        TTP_TRY(ttp_placeholders_fill(d, scope, TTP_DEFINES_PATHS, first - 1, err));
    else if (first - 1 != have)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-PTH-01", 0,
                        "a path table starts with id '%u' where '%u' is next", first, have + 1);
    if (d->path_count + (uint64_t)count > d->limits->site_count)
        return ttp_fail(err, TTAPE_E_LIMIT, "F-PTH-01", 0, "file has more than %u paths",
                        d->limits->site_count);
    TTP_TRY(ttp_memory_reserve(d->memory, &d->paths, &d->path_capacity,
                               (uint64_t)d->path_count + count, sizeof *d->paths, err));
    TTP_TRY(add_rows(d, scope, c, first, count, err));
    TTP_TRY(ttp_definitions_map(d, scope, TTP_DEFINES_PATHS, d->path_count, count, err));
    d->path_count += count;
    return TTAPE_OK;
}

/* Links stand in two columns: the sites are kept in the first pass by where their column began. */
static ttape_status add_links(struct ttp_definition_tables *d, uint32_t scope,
                              struct ttp_reader_cursor *c, ttape_error *err)
{
    uint32_t count, next = 0, path = 0;
    TTP_TRY(ttp_links_read_count(c, &count, err));
    struct ttp_reader_cursor sites = *c;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t site;
        TTP_TRY(ttp_link_read_site(c, next, &site, err));
        if (i == 0 && site < d->scopes[scope].unlinked_site)
            return ttp_fail(err, TTAPE_E_CORRUPT, "F-PTH-05", ttp_reader_offset(c),
                            "links of a scope do not ascend");
        if (ttp_placeholders_find(d, scope, TTP_DEFINES_SITES, site) == TTAPE_NONE)
            return not_defined(c, "F-PTH-07", "site", site, err);
        next = site + 1;
    }
    if (count != 0)
        d->scopes[scope].unlinked_site = next;
    next = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t site;
        TTP_TRY(ttp_link_read_site(&sites, next, &site, err));
        TTP_TRY(ttp_link_read_path(c, path, &path, err));
        uint32_t number = ttp_placeholders_find(d, scope, TTP_DEFINES_PATHS, path - 1);
        if (number == TTAPE_NONE)
            return not_defined(c, "F-PTH-06", "path", path, err);
        d->sites[ttp_definitions_find(d, scope, TTP_DEFINES_SITES, site)].path = number + 1;
        next = site + 1;
    }
    return TTAPE_OK;
}

ttape_status ttp_paths_add(struct ttp_definition_tables *d, uint32_t scope,
                           struct ttp_reader_cursor *c, ttape_error *err)
{
    TTP_TRY(add_paths(d, scope, c, err));
    TTP_TRY(add_links(d, scope, c, err));
    if (ttp_reader_left(c) != 0)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-PTH-08", ttp_reader_offset(c),
                        "path table goes on behind its last link");
    return TTAPE_OK;
}
