/* Ids of scopes and file-wide numbers, and stored payloads: for libtrace/copy/copy.c. */
#include "format/base/checksum.h"
#include "format/base/fail.h"
#include "reader/cache/cache.h"
#include "reader/partition/model_reader.h"
#include "reader/partition/partition_reader.h"
#include "reader/reader_internal.h"

uint32_t ttp_scope_count(const ttape_reader *r) { return r->definitions.scope_count; }

const uint8_t *ttp_scope_trace_id(const ttape_reader *r, uint32_t scope)
{
    return scope < r->definitions.scope_count ? r->definitions.scopes[scope].trace_id : NULL;
}

uint32_t ttp_partition_scope(const ttape_reader *r, uint32_t partition)
{
    return partition < r->partition_count ? r->partitions[partition].scope : TTAPE_NONE;
}

struct ttp_scope_counts ttp_scope_count_ids(const ttape_reader *r, uint32_t scope)
{
    struct ttp_scope_counts counts = {0};
    if (scope >= r->definitions.scope_count)
        return counts;
    const struct ttp_id_map *maps = r->definitions.scopes[scope].maps;
    return (struct ttp_scope_counts){
        maps[TTP_DEFINES_SITES].id_count,   maps[TTP_DEFINES_MODULES].id_count,
        maps[TTP_DEFINES_FILES].id_count,   maps[TTP_DEFINES_PROCESSES].id_count,
        maps[TTP_DEFINES_STREAMS].id_count, maps[TTP_DEFINES_PATHS].id_count};
}

uint32_t ttp_scope_site(const ttape_reader *r, uint32_t scope, uint32_t id)
{
    return ttp_definitions_find(&r->definitions, scope, TTP_DEFINES_SITES, id);
}
uint32_t ttp_scope_module(const ttape_reader *r, uint32_t scope, uint32_t id)
{
    return ttp_definitions_find(&r->definitions, scope, TTP_DEFINES_MODULES, id);
}
uint32_t ttp_scope_process(const ttape_reader *r, uint32_t scope, uint32_t id)
{
    return ttp_definitions_find(&r->definitions, scope, TTP_DEFINES_PROCESSES, id);
}
uint32_t ttp_scope_stream(const ttape_reader *r, uint32_t scope, uint32_t id)
{
    return ttp_definitions_find(&r->definitions, scope, TTP_DEFINES_STREAMS, id);
}
uint32_t ttp_scope_path(const ttape_reader *r, uint32_t scope, uint32_t id)
{
    return 1 + ttp_definitions_find(&r->definitions, scope, TTP_DEFINES_PATHS, id - 1);
}

static uint32_t local_of(const ttape_reader *r, uint32_t scope, enum ttp_definition_kind kind,
                         uint32_t number, uint32_t *scope_out)
{
    const struct ttp_id_map *map = &r->definitions.scopes[scope].maps[kind];
    const struct ttp_id_block *block = ttp_id_block_of(map, &map->blocks->file_first, number);
    *scope_out = scope;
    return block->local_first + (number - block->file_first);
}

uint32_t ttp_local_site(const ttape_reader *r, uint32_t site, uint32_t *scope)
{
    return local_of(r, r->definitions.sites[site].scope, TTP_DEFINES_SITES, site, scope);
}
uint32_t ttp_local_module(const ttape_reader *r, uint32_t module, uint32_t *scope)
{
    return local_of(r, r->definitions.modules[module].scope, TTP_DEFINES_MODULES, module, scope);
}
uint32_t ttp_local_process(const ttape_reader *r, uint32_t process, uint32_t *scope)
{
    return local_of(r, r->definitions.processes[process].scope, TTP_DEFINES_PROCESSES, process,
                    scope);
}
uint32_t ttp_local_stream(const ttape_reader *r, uint32_t stream, uint32_t *scope)
{
    return local_of(r, r->definitions.streams[stream].scope, TTP_DEFINES_STREAMS, stream, scope);
}
uint32_t ttp_local_path(const ttape_reader *r, uint32_t path)
{
    uint32_t scope = r->definitions.paths[path - 1].scope;
    return 1 + local_of(r, scope, TTP_DEFINES_PATHS, path - 1, &scope);
}

const struct ttp_segment_entry *ttp_partition_segment(const ttape_reader *r, uint32_t partition,
                                                      uint32_t segment)
{
    return &r->segments[r->partitions[partition].first_segment + segment];
}

static ttape_status read_payload(struct ttp_trace_decoder *d, uint64_t offset, uint64_t sequence,
                                 uint16_t kind, struct ttp_chunk *chunk, uint8_t **payload,
                                 ttape_error *err)
{
    TTP_TRY(ttp_reader_chunk(d->reader, offset, chunk, err));
    if (chunk->kind != kind || chunk->sequence != sequence)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-IDX-08", offset,
                        "index names a %s that is not there", ttp_chunk_kind_name(kind));
    uint8_t *stored = ttp_memory_take(&d->memory, chunk->stored_bytes, 1, err);
    if (stored == NULL)
        return d->memory.status;
    ttape_status status = ttp_source_read(&d->reader->source, offset + TTP_CHUNK_HEADER_BYTES,
                                          stored, (size_t)chunk->stored_bytes, err);
    if (status == TTAPE_OK &&
        ttp_checksum(stored, (size_t)chunk->stored_bytes) != chunk->payload_hash)
        status = ttp_fail(err, TTAPE_E_CHECKSUM, "F-CHK-03", offset + TTP_CHUNK_HEADER_BYTES,
                          "checksum of a %s chunk does not match", ttp_chunk_kind_name(kind));
    if (status != TTAPE_OK) {
        ttp_memory_give(&d->memory, stored, chunk->stored_bytes, 1);
        return status;
    }
    *payload = stored;
    return TTAPE_OK;
}

ttape_status ttp_payload_read(struct ttp_trace_decoder *d, uint32_t partition,
                              struct ttp_chunk *chunk, uint8_t **payload, ttape_error *err)
{
    if (partition >= d->reader->partition_count)
        return ttp_fail(err, TTAPE_E_NOT_FOUND, "", TTAPE_ERROR_NO_OFFSET, "no partition '%u'",
                        partition);
    const struct ttp_partition_entry *entry = &d->reader->partitions[partition];
    return read_payload(d, entry->offset, entry->sequence, TTP_CHUNK_PARTITION, chunk, payload,
                        err);
}

void ttp_payload_free(struct ttp_trace_decoder *d, uint8_t *payload, const struct ttp_chunk *chunk)
{
    ttp_memory_give(&d->memory, payload, chunk->stored_bytes, 1);
}

ttape_status ttp_payload_find_model(struct ttp_trace_decoder *d, uint32_t partition,
                                    uint32_t *index, ttape_error *err)
{
    if (partition >= d->reader->partition_count ||
        d->reader->partitions[partition].model == TTP_NO_MODEL)
        return ttp_fail(err, TTAPE_E_NOT_FOUND, "", TTAPE_ERROR_NO_OFFSET,
                        "partition '%u' names no model", partition);
    const struct ttp_loaded *p = ttp_cache_find(d, partition);
    return ttp_model_find(d->reader, partition,
                          p != NULL ? p->head.model : d->reader->partitions[partition].model, index,
                          err);
}

ttape_status ttp_payload_read_model(struct ttp_trace_decoder *d, uint32_t index,
                                    struct ttp_chunk *chunk, uint8_t **payload, ttape_error *err)
{
    const struct ttp_model_chunk *model = &d->reader->models[index];
    return read_payload(d, model->offset, model->sequence, TTP_CHUNK_MODEL, chunk, payload, err);
}
