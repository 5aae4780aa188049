/* Emitting: payloads become chunks at the sink, and every chunk an entry of the index. */
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/checksum.h"
#include "format/base/fail.h"
#include "format/base/limits.h"
#include "format/container/chunk.h"
#include "format/container/index.h"
#include "writer/encode/cbor_encoder.h"
#include "writer/encode/overview_writer.h"
#include "writer/encode/zstd_encoder.h"
#include "writer/writer_internal.h"

#define TABLE_LEVEL 12 /* site tables are small and read for ever */
#define INDEX_LEVEL 6

static ttape_status append_bytes(ttape_writer *w, const void *data, size_t size_bytes,
                                 ttape_error *err)
{
    if (size_bytes == 0)
        return TTAPE_OK;
    TTP_TRY(w->sink.append(w->sink.context, data, size_bytes, err));
    w->offset += size_bytes;
    return TTAPE_OK;
}

/* The id is that of the first scope (F-FIL-07): of a copied one its own, otherwise the writer's.
 * Where none was given one is drawn from what is written first, so that the same execution gives
 * the same bytes. */
static ttape_status write_header(ttape_writer *w, const struct ttp_scope *scope, const void *seed,
                                 size_t seed_bytes, ttape_error *err)
{
    if (w->header_written)
        return TTAPE_OK;
    uint8_t block[TTP_FILE_HEADER_BYTES];
    struct ttp_file_header header = {.minor = w->options.call_numbers != 0 ? TTP_MINOR_VERSION : 0};
    bool copied = scope != NULL && scope->has_trace_id;
    if (!w->has_trace_id && copied)
        memcpy(w->trace_id, scope->trace_id, TTP_TRACE_ID_BYTES);
    else if (!w->has_trace_id) {
        ttp_store64(w->trace_id, ttp_checksum(seed, seed_bytes));
        ttp_store64(w->trace_id + 8, ttp_checksum(seed, seed_bytes / 2) ^ seed_bytes);
    }
    w->has_trace_id = true;
    memcpy(header.trace_id, copied ? scope->trace_id : w->trace_id, TTP_TRACE_ID_BYTES);
    ttp_file_header_write(&header, block);
    w->header_written = true;
    return append_bytes(w, block, sizeof block, err);
}

ttape_status ttp_emit_index_entry(ttape_writer *w, const void *entry, size_t entry_bytes,
                                  ttape_error *err)
{
    w->index_entries++;
    return ttp_push_bytes(&w->allocator, &w->index, entry, entry_bytes, err);
}

static ttape_status index_chunk(ttape_writer *w, const struct ttp_chunk *chunk, ttape_error *err)
{
    uint8_t bytes[TTP_INDEX_ENTRY_BOUND];
    struct ttp_writer_cursor c = ttp_writer_cursor_init(bytes, sizeof bytes);
    struct ttp_index_state state = {0};
    struct ttp_index_entry entry = {
        .kind = chunk->kind, .scope = chunk->scope, .stored_bytes = chunk->stored_bytes};
    ttp_index_entry_write(&c, &state, &entry);
    return ttp_emit_index_entry(w, bytes, ttp_written(&c), err);
}

/* Fills in size, hash and place, and appends header and payload. Partitions bring their own index
 * entry. */
ttape_status ttp_emit_chunk(ttape_writer *w, struct ttp_chunk *chunk, const void *payload,
                            ttape_error *err)
{
    uint8_t block[TTP_CHUNK_HEADER_BYTES];
    TTP_TRY(write_header(w, NULL, payload, (size_t)chunk->stored_bytes, err));
    chunk->sequence = w->chunk_count++;
    chunk->payload_hash = ttp_checksum(payload, (size_t)chunk->stored_bytes);
    chunk->last_index = w->last_index;
    ttp_chunk_write(chunk, block);
    TTP_TRY(append_bytes(w, block, sizeof block, err));
    TTP_TRY(append_bytes(w, payload, (size_t)chunk->stored_bytes, err));
    return chunk->kind == TTP_CHUNK_PARTITION ? TTAPE_OK : index_chunk(w, chunk, err);
}

/* A chunk of content that is compressed where that pays. */
static ttape_status emit_content(ttape_writer *w, uint16_t kind, uint32_t scope,
                                 const void *content, size_t content_bytes, int level,
                                 ttape_error *err)
{
    struct ttp_chunk chunk = {.kind = kind,
                              .scope = scope,
                              .content_bytes = content_bytes,
                              .stored_bytes = content_bytes};
    TTP_TRY(ttp_grow(&w->allocator, &w->scratch, 1, ttp_zstd_bound(content_bytes), err));
    size_t packed;
    TTP_TRY(ttp_zstd_encode(content, content_bytes, level, w->scratch.data,
                            w->scratch.capacity_bytes, &packed, err));
    if (packed != 0) {
        chunk.flags = TTP_FLAG_ZSTD;
        chunk.stored_bytes = packed;
        content = w->scratch.data;
    }
    return ttp_emit_chunk(w, &chunk, content, err);
}

/* Metadata pairs under a map head; a scope's first map also holds its trace id. */
static ttape_status emit_metadata(ttape_writer *w, struct ttp_scope *scope,
                                  const struct ttp_growing *pairs, uint32_t pair_count,
                                  ttape_error *err)
{
    static const char key[] = "trace_id";
    struct ttp_growing map = {0};
    uint8_t head[TTP_CBOR_HEAD_BYTES];
    bool first = scope->number == TTAPE_NONE;
    if (w->metadata_entries + pair_count + first > TTP_MAX_METADATA)
        return ttp_fail(err, TTAPE_E_LIMIT, "F-MET-01", TTAPE_ERROR_NO_OFFSET,
                        "more than %u metadata entries", TTP_MAX_METADATA);
    w->metadata_entries += pair_count + first;
    if (first) {
        scope->number = w->scopes_introduced++;
        if (!scope->has_trace_id)
            memcpy(scope->trace_id, w->trace_id, TTP_TRACE_ID_BYTES);
        scope->has_trace_id = true;
    }
    ttape_status status =
        ttp_push_bytes(&w->allocator, &map, head, ttp_cbor_map(pair_count + first, head), err);
    if (status == TTAPE_OK && first) {
        status =
            ttp_push_bytes(&w->allocator, &map, head, ttp_cbor_text(sizeof key - 1, head), err);
        if (status == TTAPE_OK)
            status = ttp_push_bytes(&w->allocator, &map, key, sizeof key - 1, err);
        if (status == TTAPE_OK)
            status = ttp_push_bytes(&w->allocator, &map, head,
                                    ttp_cbor_bytes(TTP_TRACE_ID_BYTES, head), err);
        if (status == TTAPE_OK)
            status = ttp_push_bytes(&w->allocator, &map, scope->trace_id, TTP_TRACE_ID_BYTES, err);
    }
    if (status == TTAPE_OK)
        status = ttp_push_bytes(&w->allocator, &map, pairs->data, pairs->count, err);
    struct ttp_chunk chunk = {.kind = TTP_CHUNK_METADATA,
                              .scope = scope->number,
                              .stored_bytes = map.count,
                              .content_bytes = map.count};
    if (status == TTAPE_OK)
        status = ttp_emit_chunk(w, &chunk, map.data, err);
    ttp_grown_free(&w->allocator, &map);
    return status;
}

static ttape_status emit_collected(ttape_writer *w, struct ttp_scope *scope,
                                   const struct ttp_pending *p, ttape_error *err)
{
    if (scope->number == TTAPE_NONE || p->metadata_pairs != 0)
        TTP_TRY(emit_metadata(w, scope, &p->metadata_chunk, p->metadata_pairs, err));
    if (p->streams_chunk.count != 0)
        TTP_TRY(emit_content(w, TTP_CHUNK_STREAMS, scope->number, p->streams_chunk.data,
                             p->streams_chunk.count, TABLE_LEVEL, err));
    if (p->sites_chunk.count != 0)
        TTP_TRY(emit_content(w, TTP_CHUNK_SITES, scope->number, p->sites_chunk.data,
                             p->sites_chunk.count, TABLE_LEVEL, err));
    if (p->paths_chunk.count != 0)
        TTP_TRY(emit_content(w, TTP_CHUNK_PATHS, scope->number, p->paths_chunk.data,
                             p->paths_chunk.count, TABLE_LEVEL, err));
    if (p->value_names_chunk.count != 0)
        TTP_TRY(emit_content(w, TTP_CHUNK_VALUE_NAMES, scope->number, p->value_names_chunk.data,
                             p->value_names_chunk.count, TABLE_LEVEL, err));
    return TTAPE_OK;
}

ttape_status ttp_emit_definitions(ttape_writer *w, struct ttp_scope *scope, ttape_error *err)
{
    struct ttp_pending p = {0};
    ttape_status status = ttp_scope_collect(w, scope, &p, err);
    const struct ttp_growing *seed = p.sites_chunk.count != 0 ? &p.sites_chunk : &p.metadata_chunk;
    if (status == TTAPE_OK)
        status = write_header(w, scope, seed->data, seed->count, err);
    if (status == TTAPE_OK)
        status = emit_collected(w, scope, &p, err);
    ttp_grown_free(&w->allocator, &p.streams_chunk);
    ttp_grown_free(&w->allocator, &p.sites_chunk);
    ttp_grown_free(&w->allocator, &p.paths_chunk);
    ttp_grown_free(&w->allocator, &p.value_names_chunk);
    ttp_grown_free(&w->allocator, &p.metadata_chunk);
    return status;
}

static ttape_status emit_index(ttape_writer *w, ttape_error *err)
{
    struct ttp_growing content = {0};
    uint8_t count[TTP_VARINT_MAX];
    struct ttp_writer_cursor c = ttp_writer_cursor_init(count, sizeof count);
    uint64_t offset = w->offset;
    ttp_write_varint(&c, w->index_entries);
    ttape_status status = ttp_push_bytes(&w->allocator, &content, count, ttp_written(&c), err);
    if (status == TTAPE_OK)
        status = ttp_push_bytes(&w->allocator, &content, w->index.data, w->index.count, err);
    if (status == TTAPE_OK)
        status = emit_content(w, TTP_CHUNK_INDEX, 0, content.data, content.count, INDEX_LEVEL, err);
    ttp_grown_free(&w->allocator, &content);
    w->last_index = offset;
    return status;
}

ttape_status ttp_emit_partition_entry(ttape_writer *w, struct ttp_scope *scope,
                                      struct ttp_index_entry *entry,
                                      const struct ttp_index_segment *segments, ttape_error *err)
{
    struct ttp_stream_state *streams = scope->stream_states.data;
    struct ttp_index_state state = {
        .before = {.origin_ns = w->index_before.origin_ns, .end_tick = w->index_before.end_tick}};
    struct ttp_index_segment before = {.stream = UINT32_MAX};
    size_t bound = TTP_INDEX_ENTRY_BOUND + (size_t)entry->segment_count * TTP_INDEX_SEGMENT_BOUND;
    TTP_TRY(ttp_grow(&w->allocator, &w->scratch, 1, bound, err));
    struct ttp_writer_cursor c = ttp_writer_cursor_init(w->scratch.data, bound);
    entry->kind = TTP_CHUNK_PARTITION;
    entry->scope = scope->number;
    ttp_index_entry_write(&c, &state, entry);
    w->index_before.origin_ns = entry->origin_ns;
    w->index_before.end_tick = entry->end_tick;
    for (uint32_t i = 0; i < entry->segment_count; i++) {
        struct ttp_stream_state *stream = &streams[segments[i].stream];
        ttp_index_segment_write(&c, &before, stream->indexed_next, &segments[i]);
        stream->indexed_next = segments[i].first_event + segments[i].event_count;
        before = segments[i];
    }
    return ttp_emit_index_entry(w, w->scratch.data, ttp_written(&c), err);
}

static ttape_status index_job(ttape_writer *w, struct ttp_job *job, ttape_error *err)
{
    const struct ttp_partition_head *head = &job->head;
    const struct ttp_segment *segments = job->segments.data;
    struct ttp_index_entry entry = {.stored_bytes = job->payload.count,
                                    .event_count = head->event_count,
                                    .segment_count = head->segment_count,
                                    .model = head->model,
                                    .light_bytes = job->light_bytes,
                                    .resolution_ns = head->resolution_ns,
                                    .origin_ns = head->origin_ns,
                                    .first_tick = head->first_tick,
                                    .end_tick = head->end_tick,
                                    .order_bytes = job->category_bytes[0],
                                    .times_bytes = job->category_bytes[1],
                                    .values_bytes = job->category_bytes[2],
                                    .summary_bytes = job->category_bytes[3],
                                    .gap_count = job->pending.gap_count,
                                    .lost_count = job->pending.lost_count};
    struct ttp_growing places = {0};
    TTP_TRY(ttp_grow(&w->allocator, &places, sizeof(struct ttp_index_segment), head->segment_count,
                     err));
    struct ttp_index_segment *place = places.data;
    for (uint32_t i = 0; i < head->segment_count; i++)
        place[i] = (struct ttp_index_segment){segments[i].stream, segments[i].event_count,
                                              segments[i].first_event};
    ttape_status status = ttp_emit_partition_entry(w, job->pending.scope, &entry, place, err);
    ttp_grown_free(&w->allocator, &places);
    return status;
}

ttape_status ttp_emit_early_index(ttape_writer *w, ttape_error *err)
{
    if (w->partition_count < w->next_index_at)
        return TTAPE_OK;
    w->next_index_at *= 2;
    return emit_index(w, err);
}

ttape_status ttp_emit_job(ttape_writer *w, struct ttp_job *job, ttape_error *err)
{
    struct ttp_chunk chunk = {.kind = TTP_CHUNK_PARTITION,
                              .flags = TTP_FLAG_CRITICAL,
                              .stored_bytes = job->payload.count,
                              .content_bytes = job->payload.count};
    TTP_TRY(write_header(w, job->pending.scope, job->payload.data, job->payload.count, err));
    TTP_TRY(emit_collected(w, job->pending.scope, &job->pending, err));
    if (job->head.model != TTP_NO_MODEL)
        TTP_TRY(ttp_model_emit(w, err));
    chunk.scope = job->pending.scope->number;
    TTP_TRY(ttp_emit_chunk(w, &chunk, job->payload.data, err));
    TTP_TRY(index_job(w, job, err));
    w->partition_count++;
    w->raw_count += job->is_raw;
    job->pending.scope->series.count = 0;
    TTP_TRY(ttp_group_emit(w, job, err));
    return ttp_emit_early_index(w, err);
}

ttape_status ttp_emit_end(ttape_writer *w, ttape_error *err)
{
    struct ttp_scope **scopes = w->scopes.data;
    for (size_t i = 0; i < w->scopes.count; i++)
        if (ttp_scope_is_fresh(scopes[i]) ||
            (w->scopes_introduced == 0 && i + 1 == w->scopes.count))
            TTP_TRY(ttp_emit_definitions(w, scopes[i], err));
    TTP_TRY(emit_index(w, err));
    uint8_t block[TTP_FOOTER_BYTES];
    struct ttp_footer footer = {w->last_index, w->offset + TTP_FOOTER_BYTES, w->chunk_count};
    ttp_footer_write(&footer, block);
    TTP_TRY(append_bytes(w, block, sizeof block, err));
    return w->sink.sync == NULL ? TTAPE_OK : w->sink.sync(w->sink.context, err);
}
