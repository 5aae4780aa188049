/* Tables grow by blocks of what a chunk defines; names stay where they are, in the chunk's content,
 * which is kept. */
#include "reader/definitions/definitions_reader.h"

#include <string.h>

#include "format/base/fail.h"
#include "format/base/limits.h"
#include "format/container/definitions.h"
#include "reader/definitions/metadata_reader.h"
#include "reader/definitions/paths_reader.h"
#include "reader/definitions/placeholders.h"
#include "reader/definitions/targets_reader.h"
#include "reader/definitions/value_names_reader.h"

struct ttp_kept {
    struct ttp_kept *next;
    uint8_t *content;
    size_t size_bytes;
};

void ttp_definitions_init(struct ttp_definition_tables *d, struct ttp_memory *memory,
                          const ttape_limits *limits)
{
    *d = (struct ttp_definition_tables){.memory = memory, .limits = limits};
}

void ttp_definitions_reset(struct ttp_definition_tables *d)
{
    struct ttp_memory *m = d->memory;
    for (uint32_t s = 0; s < d->scope_count; s++)
        for (int k = 0; k < TTP_DEFINES_COUNT; k++) {
            struct ttp_id_map *map = &d->scopes[s].maps[k];
            ttp_memory_give(m, map->blocks, map->block_capacity, sizeof *map->blocks);
        }
    ttp_memory_give(m, d->scopes, d->scope_capacity, sizeof *d->scopes);
    ttp_memory_give(m, d->sites, d->site_capacity, sizeof *d->sites);
    ttp_memory_give(m, d->modules, d->module_capacity, sizeof *d->modules);
    ttp_memory_give(m, d->files, d->file_capacity, sizeof *d->files);
    ttp_memory_give(m, d->processes, d->process_capacity, sizeof *d->processes);
    ttp_memory_give(m, d->streams, d->stream_capacity, sizeof *d->streams);
    ttp_memory_give(m, d->paths, d->path_capacity, sizeof *d->paths);
    ttp_memory_give(m, d->metadata, d->metadata_capacity, sizeof *d->metadata);
    ttp_memory_give(m, d->targets, d->target_capacity, sizeof *d->targets);
    ttp_value_names_reset(d);
    while (d->kept != NULL) {
        struct ttp_kept *kept = d->kept;
        d->kept = kept->next;
        ttp_memory_give(m, kept->content, kept->size_bytes, 1);
        ttp_memory_give(m, kept, 1, sizeof *kept);
    }
    *d = (struct ttp_definition_tables){.memory = m, .limits = d->limits};
}

uint32_t ttp_definitions_find(const struct ttp_definition_tables *d, uint32_t scope,
                              enum ttp_definition_kind kind, uint32_t id)
{
    if (scope >= d->scope_count)
        return TTAPE_NONE;
    const struct ttp_id_map *map = &d->scopes[scope].maps[kind];
    if (id >= map->id_count)
        return TTAPE_NONE;
    const struct ttp_id_block *block = ttp_id_block_of(map, &map->blocks->local_first, id);
    return block->file_first + (id - block->local_first);
}

ttape_status ttp_definitions_map(struct ttp_definition_tables *d, uint32_t scope,
                                 enum ttp_definition_kind kind, uint32_t file_first, uint32_t count,
                                 ttape_error *err)
{
    struct ttp_id_map *map = &d->scopes[scope].maps[kind];
    struct ttp_id_block *last = map->block_count == 0 ? NULL : &map->blocks[map->block_count - 1];
    if (count == 0)
        return TTAPE_OK;
    if (last != NULL && last->file_first + last->count == file_first) {
        last->count += count;
    } else {
        TTP_TRY(ttp_memory_reserve(d->memory, &map->blocks, &map->block_capacity,
                                   map->block_count + 1ull, sizeof *map->blocks, err));
        map->blocks[map->block_count++] = (struct ttp_id_block){map->id_count, count, file_first};
    }
    map->id_count += count;
    return TTAPE_OK;
}

/* Ids of a kind ascend without holes over a scope's chunks. */
static ttape_status check_range(struct ttp_definition_tables *d, uint32_t scope,
                                enum ttp_definition_kind kind, uint32_t first, ttape_error *err)
{
    uint32_t expected = d->scopes[scope].maps[kind].id_count;
    if (first > expected && d->placeholders != NULL)
        return ttp_placeholders_fill(d, scope, kind, first, err);
    if (first != expected)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-SIT-02", 0,
                        "a table starts with id '%u' where '%u' is next", first, expected);
    return TTAPE_OK;
}

static ttape_status check_limit(uint64_t have, uint64_t more, uint32_t limit, const char *what,
                                ttape_error *err)
{
    if (have + more > limit)
        return ttp_fail(err, TTAPE_E_LIMIT, "F-SIT-02", 0, "file has more than %u %s", limit, what);
    return TTAPE_OK;
}

static ttape_status add_modules(struct ttp_definition_tables *d, uint32_t scope,
                                struct ttp_reader_cursor *c, uint32_t count, ttape_error *err)
{
    uint32_t first = d->module_count;
    TTP_TRY(check_limit(d->module_count, count, d->limits->site_count, "modules", err));
    TTP_TRY(ttp_memory_reserve(d->memory, &d->modules, &d->module_capacity,
                               (uint64_t)d->module_count + count, sizeof *d->modules, err));
    for (uint32_t i = 0; i < count; i++) {
        struct ttp_read_module *module = &d->modules[first + i];
        module->scope = scope;
        module->chunk_offset = d->chunk_offset;
        TTP_TRY(ttp_module_read(c, d->limits->string_bytes, &module->module, err));
    }
    d->module_count += count;
    return ttp_definitions_map(d, scope, TTP_DEFINES_MODULES, first, count, err);
}

static ttape_status add_files(struct ttp_definition_tables *d, uint32_t scope,
                              struct ttp_reader_cursor *c, uint32_t count, ttape_error *err)
{
    uint32_t first = d->file_count;
    TTP_TRY(check_limit(d->file_count, count, d->limits->site_count, "file names", err));
    TTP_TRY(ttp_memory_reserve(d->memory, &d->files, &d->file_capacity,
                               (uint64_t)d->file_count + count, sizeof *d->files, err));
    for (uint32_t i = 0; i < count; i++)
        TTP_TRY(ttp_string_read(c, d->limits->string_bytes, &d->files[first + i], err));
    d->file_count += count;
    return ttp_definitions_map(d, scope, TTP_DEFINES_FILES, first, count, err);
}

/* Turns an id plus one of the scope into a file-wide number plus one. */
static ttape_status resolve(struct ttp_definition_tables *d, uint32_t scope,
                            enum ttp_definition_kind kind, uint32_t *plus_one, ttape_error *err)
{
    if (*plus_one == 0)
        return TTAPE_OK;
    uint32_t number = ttp_placeholders_find(d, scope, kind, *plus_one - 1);
    if (number == TTAPE_NONE)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-SIT-09", 0,
                        "a site names a module or file that is not defined");
    *plus_one = number + 1;
    return TTAPE_OK;
}

static ttape_status add_site_columns(struct ttp_definition_tables *d, uint32_t scope,
                                     struct ttp_reader_cursor *c, uint32_t count, ttape_error *err)
{
    for (unsigned column = 0; column < TTP_SITE_COLUMNS; column++) {
        struct ttp_site before = {0};
        for (uint32_t i = 0; i < count; i++) {
            struct ttp_read_site *to = &d->sites[d->site_count + i];
            struct ttp_site site = {to->address, to->module_plus_one, to->file_plus_one, to->line,
                                    to->kind,    to->symbol};
            TTP_TRY(ttp_site_read_column(c, column, d->limits->string_bytes, &before, &site, err));
            before = site;
            *to = (struct ttp_read_site){site.address,
                                         site.module_plus_one,
                                         site.file_plus_one,
                                         site.line,
                                         site.kind,
                                         site.symbol,
                                         scope,
                                         0};
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        struct ttp_read_site *site = &d->sites[d->site_count + i];
        TTP_TRY(resolve(d, scope, TTP_DEFINES_MODULES, &site->module_plus_one, err));
        TTP_TRY(resolve(d, scope, TTP_DEFINES_FILES, &site->file_plus_one, err));
    }
    return TTAPE_OK;
}

static ttape_status add_site_table(struct ttp_definition_tables *d, uint32_t scope,
                                   struct ttp_reader_cursor *c, ttape_error *err)
{
    struct ttp_sites_counts counts;
    TTP_TRY(ttp_sites_read_counts(c, &counts, err));
    TTP_TRY(check_range(d, scope, TTP_DEFINES_MODULES, counts.first_module, err));
    TTP_TRY(check_range(d, scope, TTP_DEFINES_FILES, counts.first_file, err));
    TTP_TRY(check_range(d, scope, TTP_DEFINES_SITES, counts.first_site, err));
    TTP_TRY(check_limit(d->site_count, counts.site_count, d->limits->site_count, "sites", err));
    TTP_TRY(add_modules(d, scope, c, counts.module_count, err));
    TTP_TRY(add_files(d, scope, c, counts.file_count, err));
    if (counts.site_count > ttp_reader_left(c) / TTP_SITE_COLUMNS)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-SIT-02", ttp_reader_offset(c),
                        "site table is too short for its sites");
    TTP_TRY(ttp_memory_reserve(d->memory, &d->sites, &d->site_capacity,
                               (uint64_t)d->site_count + counts.site_count, sizeof *d->sites, err));
    memset(d->sites + d->site_count, 0, (size_t)counts.site_count * sizeof *d->sites);
    TTP_TRY(add_site_columns(d, scope, c, counts.site_count, err));
    if (ttp_reader_left(c) != 0)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-SIT-08", ttp_reader_offset(c),
                        "site table goes on behind its last symbol");
    TTP_TRY(
        ttp_definitions_map(d, scope, TTP_DEFINES_SITES, d->site_count, counts.site_count, err));
    d->site_count += counts.site_count;
    return ttp_targets_add(d, d->site_count - counts.site_count, err);
}

static ttape_status add_processes(struct ttp_definition_tables *d, uint32_t scope,
                                  struct ttp_reader_cursor *c, ttape_error *err)
{
    uint32_t first, count;
    TTP_TRY(ttp_range_read(c, &first, &count, err));
    TTP_TRY(check_range(d, scope, TTP_DEFINES_PROCESSES, first, err));
    TTP_TRY(check_limit(d->process_count, count, d->limits->stream_count, "processes", err));
    TTP_TRY(ttp_memory_reserve(d->memory, &d->processes, &d->process_capacity,
                               (uint64_t)d->process_count + count, sizeof *d->processes, err));
    for (uint32_t i = 0; i < count; i++) {
        struct ttp_read_process *process = &d->processes[d->process_count + i];
        process->scope = scope;
        process->chunk_offset = d->chunk_offset;
        TTP_TRY(ttp_process_read(c, d->limits->string_bytes, &process->process, err));
    }
    TTP_TRY(ttp_definitions_map(d, scope, TTP_DEFINES_PROCESSES, d->process_count, count, err));
    d->process_count += count;
    return TTAPE_OK;
}

static ttape_status add_streams(struct ttp_definition_tables *d, uint32_t scope,
                                struct ttp_reader_cursor *c, ttape_error *err)
{
    uint32_t first, count;
    TTP_TRY(ttp_range_read(c, &first, &count, err));
    TTP_TRY(check_range(d, scope, TTP_DEFINES_STREAMS, first, err));
    TTP_TRY(check_limit(d->stream_count, count, d->limits->stream_count, "streams", err));
    TTP_TRY(ttp_memory_reserve(d->memory, &d->streams, &d->stream_capacity,
                               (uint64_t)d->stream_count + count, sizeof *d->streams, err));
    for (uint32_t i = 0; i < count; i++) {
        struct ttp_read_stream *stream = &d->streams[d->stream_count + i];
        stream->scope = scope;
        TTP_TRY(ttp_stream_read(c, d->limits->string_bytes, &stream->stream, err));
        uint32_t process =
            ttp_placeholders_find(d, scope, TTP_DEFINES_PROCESSES, stream->stream.process);
        if (process == TTAPE_NONE)
            return ttp_fail(err, TTAPE_E_CORRUPT, "F-STR-02", ttp_reader_offset(c),
                            "a stream names a process that is not defined");
        stream->stream.process = process;
    }
    if (ttp_reader_left(c) != 0)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-STR-01", ttp_reader_offset(c),
                        "stream table goes on behind its last stream");
    TTP_TRY(ttp_definitions_map(d, scope, TTP_DEFINES_STREAMS, d->stream_count, count, err));
    d->stream_count += count;
    return TTAPE_OK;
}

static ttape_status keep_content(struct ttp_definition_tables *d, uint8_t *content,
                                 size_t size_bytes, ttape_error *err)
{
    struct ttp_kept *kept = ttp_memory_take(d->memory, 1, sizeof *kept, err);
    if (kept == NULL) {
        ttp_memory_give(d->memory, content, size_bytes, 1);
        return d->memory->status;
    }
    *kept = (struct ttp_kept){d->kept, content, size_bytes};
    d->kept = kept;
    return TTAPE_OK;
}

ttape_status ttp_definitions_add(struct ttp_definition_tables *d, uint64_t offset,
                                 const struct ttp_chunk *chunk, uint8_t *content, size_t size_bytes,
                                 ttape_error *err)
{
    struct ttp_reader_cursor c = ttp_reader_cursor_init(content, size_bytes);
    d->chunk_offset = offset;
    TTP_TRY(keep_content(d, content, size_bytes, err));
    if (chunk->kind == TTP_CHUNK_METADATA)
        return ttp_metadata_add(d, chunk, content, size_bytes, err);
    if (chunk->scope >= d->scope_count)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-CHK-09", 0,
                        "scope '%u' of a chunk is not introduced", chunk->scope);
    if (chunk->kind == TTP_CHUNK_SITES)
        return add_site_table(d, chunk->scope, &c, err);
    if (chunk->kind == TTP_CHUNK_PATHS)
        return ttp_paths_add(d, chunk->scope, &c, err);
    if (chunk->kind == TTP_CHUNK_VALUE_NAMES)
        return ttp_value_names_add(d, chunk->scope, &c, err);
    TTP_TRY(add_processes(d, chunk->scope, &c, err));
    return add_streams(d, chunk->scope, &c, err);
}

/* Does a scope define this process? */
static bool has_process(const struct ttp_definition_tables *d, uint32_t scope, uint32_t process)
{
    return process == TTAPE_NONE ||
           ttp_definitions_find(d, scope, TTP_DEFINES_PROCESSES, process) != TTAPE_NONE;
}

ttape_status ttp_definitions_check(const struct ttp_definition_tables *d, ttape_error *err)
{
    for (uint32_t i = 0; i < d->module_count; i++)
        if (!has_process(d, d->modules[i].scope, d->modules[i].module.process))
            return ttp_fail(err, TTAPE_E_CORRUPT, "F-SIT-09", d->modules[i].chunk_offset,
                            "a module names process '%u', which is not defined",
                            d->modules[i].module.process);
    for (uint32_t i = 0; i < d->process_count; i++)
        if (!has_process(d, d->processes[i].scope, d->processes[i].process.parent))
            return ttp_fail(err, TTAPE_E_CORRUPT, "F-SIT-09", d->processes[i].chunk_offset,
                            "a process names parent '%u', which is not defined",
                            d->processes[i].process.parent);
    return TTAPE_OK;
}
