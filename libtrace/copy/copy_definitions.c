/* Ids of a scope are the same in both files, so rows need no numbers but the scope's own. */
#include "libtrace/copy/copy_definitions.h"

#include <string.h>

#include "format/base/fail.h"
#include "reader/partition/partition_reader.h"

static uint32_t local_or_none(uint32_t (*local)(const ttape_reader *, uint32_t, uint32_t *),
                              const ttape_reader *reader, uint32_t number)
{
    uint32_t scope;
    return number == TTAPE_NONE ? TTAPE_NONE : local(reader, number, &scope);
}

static void get_module(const ttape_reader *r, uint32_t scope, uint32_t id,
                       struct ttp_copied_row *row)
{
    (void)ttape_reader_get_module(r, ttp_scope_module(r, scope, id), &row->module);
    row->module.process = local_or_none(ttp_local_process, r, row->module.process);
    row->hash = ttp_copied_hash_number(ttp_copied_hash_number(row->module.start, row->module.end),
                                       row->module.process);
    row->hash = ttp_copied_hash_string(ttp_copied_hash_string(row->hash, row->module.path),
                                       row->module.build_id);
}

static void get_process(const ttape_reader *r, uint32_t scope, uint32_t id,
                        struct ttp_copied_row *row)
{
    (void)ttape_reader_get_process(r, ttp_scope_process(r, scope, id), &row->process);
    row->process.parent = local_or_none(ttp_local_process, r, row->process.parent);
    row->hash = ttp_copied_hash_number(
        ttp_copied_hash_number(row->process.pid, row->process.parent), row->process.start_time_ns);
    row->hash = ttp_copied_hash_string(row->hash, row->process.name);
}

static void get_stream(const ttape_reader *r, uint32_t scope, uint32_t id,
                       struct ttp_copied_row *row)
{
    ttape_stream_info info = {0};
    (void)ttape_reader_get_stream(r, ttp_scope_stream(r, scope, id), &info);
    row->stream = info.stream;
    row->stream.process = local_or_none(ttp_local_process, r, info.stream.process);
    row->hash = ttp_copied_hash_number(ttp_copied_hash_number(row->stream.process, row->stream.tid),
                                       row->stream.start_time_ns);
    row->hash = ttp_copied_hash_string(row->hash, row->stream.name);
}

void ttp_copied_hash_site(struct ttp_copied_row *row)
{
    row->hash = ttp_copied_hash_number(ttp_copied_hash_number(row->site.address, row->site.module),
                                       row->site.line);
    row->hash = ttp_copied_hash_string(
        ttp_copied_hash_string(ttp_copied_hash_number(row->hash, row->site.kind), row->site.symbol),
        row->site.file);
    row->hash = ttp_copied_hash_number(row->hash, row->site.path);
}

static void get_site(const ttape_reader *r, uint32_t scope, uint32_t id, struct ttp_copied_row *row)
{
    (void)ttape_reader_get_site(r, ttp_scope_site(r, scope, id), &row->site);
    row->site.module = local_or_none(ttp_local_module, r, row->site.module);
    if (row->site.path != 0)
        row->site.path = ttp_local_path(r, row->site.path);
    ttp_copied_hash_site(row);
}

static void get_path(const ttape_reader *r, uint32_t scope, uint32_t id, struct ttp_copied_row *row)
{
    (void)ttape_reader_get_path(r, ttp_scope_path(r, scope, id + 1), &row->path);
    if (row->path.parent != 0)
        row->path.parent = ttp_local_path(r, row->path.parent);
    row->path.site = local_or_none(ttp_local_site, r, row->path.site);
    row->hash = ttp_copied_hash_number(ttp_copied_hash_number(1, row->path.parent), row->path.site);
}

void ttp_copied_definition(const ttape_reader *r, uint32_t scope, int kind, uint32_t id,
                           struct ttp_copied_row *row)
{
    memset(row, 0, sizeof *row);
    if (kind == TTP_COPIED_MODULES)
        get_module(r, scope, id, row);
    else if (kind == TTP_COPIED_PROCESSES)
        get_process(r, scope, id, row);
    else if (kind == TTP_COPIED_STREAMS)
        get_stream(r, scope, id, row);
    else if (kind == TTP_COPIED_SITES)
        get_site(r, scope, id, row);
    else
        get_path(r, scope, id, row);
}

uint32_t ttp_copied_count(const ttape_reader *r, uint32_t scope, int kind)
{
    struct ttp_scope_counts counts = ttp_scope_count_ids(r, scope);
    const uint32_t by_kind[] = {counts.module_count, counts.process_count, counts.stream_count,
                                counts.site_count, counts.path_count};
    return by_kind[kind];
}

void ttp_copied_move(struct ttp_copied_row *row, uint64_t shift_ns)
{
    if (row->process.start_time_ns != 0)
        row->process.start_time_ns += shift_ns;
    if (row->stream.start_time_ns != 0)
        row->stream.start_time_ns += shift_ns;
}

ttape_status ttp_copied_add(ttape_writer *w, struct ttp_scope *to, int kind,
                            const struct ttp_copied_row *row, ttape_error *err)
{
    uint32_t id;
    uint64_t *hash = ttp_push(&w->allocator, &to->definition_hashes[kind], sizeof *hash, err);
    if (hash == NULL)
        return TTAPE_E_MEMORY;
    *hash = row->hash;
    switch (kind) {
    case TTP_COPIED_MODULES: return ttp_scope_add_module(w, to, &row->module, &id, err);
    case TTP_COPIED_PROCESSES: return ttp_scope_add_process(w, to, &row->process, &id, err);
    case TTP_COPIED_STREAMS: return ttp_scope_add_stream(w, to, &row->stream, &id, err);
    case TTP_COPIED_PATHS: return ttp_scope_new_path(w, to, &row->path, &id, err);
    default: break;
    }
    ttape_site site = row->site;
    site.path = 0; /* which is not there yet */
    return ttp_scope_add_site(w, to, &site, &id, err);
}

ttape_status ttp_copied_link_sites(ttape_writer *w, const ttape_reader *r, struct ttp_scope *to,
                                   uint32_t scope, uint32_t first_site, ttape_error *err)
{
    uint32_t count = ttp_copied_count(r, scope, TTP_COPIED_SITES);
    for (uint32_t id = first_site; id < count; id++) {
        struct ttp_copied_row row;
        ttp_copied_definition(r, scope, TTP_COPIED_SITES, id, &row);
        if (row.site.path != 0)
            TTP_TRY(ttp_scope_link_site(w, to, id, row.site.path, err));
    }
    return TTAPE_OK;
}

ttape_status ttp_copied_name_values(ttape_writer *w, const ttape_reader *r, struct ttp_scope *to,
                                    uint32_t scope, ttape_error *err)
{
    uint32_t count = ttp_copied_count(r, scope, TTP_COPIED_SITES);
    for (uint32_t id = 0; id < count; id++) {
        ttape_site_values values;
        if (ttape_reader_get_site_values(r, ttp_scope_site(r, scope, id), &values) == TTAPE_OK &&
            !ttp_scope_has_value_names(to, id))
            TTP_TRY(ttp_scope_name_values(w, to, id, &values, err));
    }
    return TTAPE_OK;
}
