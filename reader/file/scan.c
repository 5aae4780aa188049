/* Opening without an index: from chunk header to chunk header. Payloads of partitions are not
 * read, only their light sections. A file that ends inside a chunk is what a crash leaves:
 * everything before counts. Damage with more chunks behind it is something else, and fails:
 * leaving it out would be a repair, which is for recover to do. */
#include <string.h>

#include "format/base/fail.h"
#include "reader/decoder_pool.h"
#include "reader/partition/partition_reader.h"
#include "reader/reader_internal.h"

/* How far behind a broken header a scan looks for another chunk before it takes the rest for a torn
 * tail. */
#define TAIL_WINDOW_BYTES  (16u * 1024u * 1024u)
#define SEARCH_BLOCK_BYTES (64u * 1024u)

ttape_status ttp_reader_find_chunk(ttape_reader *r, uint64_t from, uint64_t window_bytes,
                                   uint64_t *offset, ttape_error *err)
{
    uint64_t end = r->source.size_bytes;
    uint8_t *block = ttp_memory_take(&r->memory, SEARCH_BLOCK_BYTES, 1, err);
    ttape_status status = block == NULL ? r->memory.status : TTAPE_OK;
    *offset = end;
    window_bytes = end - from < window_bytes ? end - from : window_bytes;
    uint64_t limit = from + window_bytes; /* a header starts before this */
    while (status == TTAPE_OK && from < limit && end - from >= TTP_CHUNK_HEADER_BYTES) {
        struct ttp_chunk chunk;
        size_t size = end - from < SEARCH_BLOCK_BYTES ? (size_t)(end - from) : SEARCH_BLOCK_BYTES;
        status = ttp_source_read(&r->source, from, block, size, err);
        if (status != TTAPE_OK)
            break;
        size_t at = 0;
        for (; at + TTP_CHUNK_HEADER_BYTES <= size && from + at < limit; at++) {
            const uint8_t *hit = memchr(block + at, (uint8_t)TTP_CHUNK_SYNC[0],
                                        size - at - TTP_CHUNK_HEADER_BYTES + 1);
            at = hit == NULL ? size - TTP_CHUNK_HEADER_BYTES : (size_t)(hit - block);
            if (hit != NULL && ttp_chunk_read(hit, from + at, &chunk, NULL) == TTAPE_OK) {
                *offset = from + at;
                ttp_memory_give(&r->memory, block, SEARCH_BLOCK_BYTES, 1);
                return TTAPE_OK;
            }
        }
        from += at;
    }
    ttp_memory_give(&r->memory, block, SEARCH_BLOCK_BYTES, 1);
    return status;
}

/* Fills the partition's entry from its light sections, which the decoder keeps meanwhile. */
static ttape_status fill_entry(ttape_reader *r, uint32_t partition, ttape_error *err)
{
    struct ttp_loaded *p;
    TTP_TRY(ttp_loaded_get(&r->pool.first, partition, TTP_STAGE_LIGHT, &p, err));
    for (uint32_t s = 0; s < p->segments.segment_count; s++) {
        const struct ttp_segment *g = &p->segments.segments[s];
        TTP_TRY(ttp_reader_add_segment(r, g->stream, g->event_count, g->first_event, err));
    }
    struct ttp_partition_entry *entry = &r->partitions[partition];
    entry->event_count = p->head.event_count;
    entry->segment_count = p->head.segment_count;
    entry->model = p->head.model;
    entry->resolution_ns = p->head.resolution_ns;
    entry->origin_ns = p->head.origin_ns;
    entry->first_tick = p->head.first_tick;
    entry->gap_count = p->head.gap_count;
    entry->lost_count = p->head.lost_count;
    entry->end_tick = p->head.end_tick;
    entry->light_bytes = p->light_bytes - TTP_CHUNK_HEADER_BYTES;
    for (uint32_t i = 0; i < p->head.section_count; i++) {
        const struct ttp_section *s = &p->head.sections[i];
        if (s->kind == TTP_SECTION_VALUES)
            entry->values_bytes += s->stored_bytes;
        else if (s->kind == TTP_SECTION_EDGES || s->kind == TTP_SECTION_SUMMARY)
            entry->summary_bytes += s->stored_bytes;
        else if (s->kind == TTP_SECTION_BASES ||
                 (s->kind >= TTP_SECTION_TIMES_STATIC && s->kind <= TTP_SECTION_TIMES_PHASE))
            entry->times_bytes += s->stored_bytes;
        else if (s->kind == TTP_SECTION_SEGMENTS || s->kind == TTP_SECTION_DEPTHS ||
                 (s->kind >= TTP_SECTION_CHAIN_HEADER && s->kind <= TTP_SECTION_ORDER_RAW))
            entry->order_bytes += s->stored_bytes;
    }
    return TTAPE_OK;
}

static ttape_status describe_partition(ttape_reader *r, uint32_t partition, ttape_error *err)
{
    bool is_held = ttp_decoder_hold(&r->pool);
    ttape_status status = fill_entry(r, partition, err);
    if (is_held)
        ttp_decoder_give(&r->pool.first);
    return status;
}

static bool machine_failed(ttape_status status)
{
    return status == TTAPE_E_MEMORY || status == TTAPE_E_IO || status == TTAPE_E_LIMIT;
}

/* A partition that does not verify stays in the list, so that reading it says what is wrong with
 * it. */
static ttape_status add_partition(ttape_reader *r, uint64_t offset, const struct ttp_chunk *chunk,
                                  ttape_error *err)
{
    ttape_error ignored;
    struct ttp_partition_entry entry = {.offset = offset,
                                        .sequence = chunk->sequence,
                                        .stored_bytes = (uint32_t)chunk->stored_bytes,
                                        .scope = chunk->scope,
                                        .model = TTP_NO_MODEL};
    if (chunk->scope >= r->definitions.scope_count)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-CHK-09", offset + TTP_CHUNK_SCOPE_AT,
                        "scope '%u' of a partition is not introduced", chunk->scope);
    TTP_TRY(ttp_reader_add_partition(r, &entry, err));
    uint32_t partition = r->partition_count - 1, segment_count = r->segment_count;
    ttape_status status = describe_partition(r, partition, err != NULL ? err : &ignored);
    if (status == TTAPE_OK)
        return TTAPE_OK;
    if (machine_failed(status))
        return status;
    uint32_t first_segment = r->partitions[partition].first_segment;
    r->segment_count = segment_count;
    r->partitions[partition] = entry;
    r->partitions[partition].first_segment = first_segment;
    r->partitions[partition].damaged = true;
    r->damaged_count++;
    return TTAPE_OK;
}

/* It is read when somebody asks what it says. */
ttape_status ttp_reader_add_overview(ttape_reader *r, uint64_t offset,
                                     const struct ttp_chunk *chunk, ttape_error *err)
{
    if (chunk->scope >= r->definitions.scope_count)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-CHK-09", offset + TTP_CHUNK_SCOPE_AT,
                        "scope '%u' of an overview is not introduced", chunk->scope);
    TTP_TRY(ttp_memory_reserve(&r->memory, &r->overviews, &r->overview_capacity,
                               r->overview_count + 1ull, sizeof *r->overviews, err));
    r->overviews[r->overview_count++] =
        (struct ttp_overview_chunk){offset, chunk->scope, r->partition_count};
    return TTAPE_OK;
}

ttape_status ttp_reader_add_chunk(ttape_reader *r, uint64_t offset, const struct ttp_chunk *chunk,
                                  ttape_error *err)
{
    if (chunk->sequence != r->chunk_count)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-CHK-07", offset + TTP_CHUNK_SEQUENCE_AT,
                        "chunk has number '%llu' where '%llu' is expected",
                        (unsigned long long)chunk->sequence, (unsigned long long)r->chunk_count);
    ttape_status status = TTAPE_OK;
    switch (chunk->kind) {
    case TTP_CHUNK_METADATA:
    case TTP_CHUNK_SITES:
    case TTP_CHUNK_PATHS:
    case TTP_CHUNK_VALUE_NAMES:
    case TTP_CHUNK_STREAMS: status = ttp_reader_add_definitions(r, offset, chunk, err); break;
    case TTP_CHUNK_PARTITION: status = add_partition(r, offset, chunk, err); break;
    case TTP_CHUNK_MODEL:
        status = ttp_reader_add_model(r, offset, chunk->sequence, (uint32_t)chunk->stored_bytes,
                                      chunk->scope, err);
        break;
    case TTP_CHUNK_INDEX: break;
    case TTP_CHUNK_OVERVIEW: status = ttp_reader_add_overview(r, offset, chunk, err); break;
    default:
        if (chunk->flags & TTP_FLAG_CRITICAL)
            return ttp_fail(err, TTAPE_E_UNSUPPORTED, "F-CHK-08", offset + TTP_CHUNK_KIND_AT,
                            "file needs chunk kind '%u', which this reader does not know",
                            chunk->kind);
        r->unknown_chunk_count++;
    }
    r->chunk_count += status == TTAPE_OK;
    return status;
}

/* The rest of the file is no whole chunk. `status` and `err` say what is wrong at `offset`. */
static ttape_status end_scan(ttape_reader *r, uint64_t offset, ttape_status status,
                             ttape_error *err)
{
    uint64_t next;
    if (status == TTAPE_E_IO || status == TTAPE_E_MEMORY)
        return status;
    if (status != TTAPE_E_TRUNCATED) {
        TTP_TRY(ttp_reader_find_chunk(r, offset + 1, TAIL_WINDOW_BYTES, &next, NULL));
        if (next != r->source.size_bytes)
            return status;
    }
    (void)err;
    r->truncated = true;
    r->truncated_at = offset;
    return TTAPE_OK;
}

/* The last chunk is the index that the footer names, and it verifies. */
static bool footer_completes(ttape_reader *r, uint64_t offset, uint64_t last_chunk)
{
    uint8_t data[TTP_FOOTER_BYTES];
    struct ttp_footer footer;
    struct ttp_chunk chunk;
    uint8_t *content;
    size_t size_bytes;
    if (ttp_source_read(&r->source, offset, data, sizeof data, NULL) != TTAPE_OK ||
        ttp_footer_read(data, offset, &footer, NULL) != TTAPE_OK ||
        footer.index_offset != last_chunk || footer.chunk_count != r->chunk_count ||
        ttp_reader_chunk(r, last_chunk, &chunk, NULL) != TTAPE_OK ||
        chunk.kind != TTP_CHUNK_INDEX ||
        ttp_reader_content(&r->pool.first, last_chunk, &chunk, &content, &size_bytes, NULL) !=
            TTAPE_OK)
        return false;
    ttp_memory_give(&r->pool.first.memory, content, size_bytes, 1);
    return true;
}

ttape_status ttp_reader_scan(ttape_reader *r, ttape_error *err)
{
    uint64_t offset = TTP_FILE_HEADER_BYTES, last_chunk = 0, end = r->source.size_bytes;
    ttape_error local;
    err = err != NULL ? err : &local;
    while (offset < end) {
        uint8_t magic[TTP_FOOTER_MAGIC_BYTES];
        struct ttp_chunk chunk;
        if (end - offset == TTP_FOOTER_BYTES) {
            TTP_TRY(ttp_source_read(&r->source, offset, magic, sizeof magic, err));
            if (memcmp(magic, TTP_FOOTER_MAGIC, sizeof magic) == 0) {
                r->complete = footer_completes(r, offset, last_chunk);
                break;
            }
        }
        ttape_status status = ttp_reader_chunk(r, offset, &chunk, err);
        if (status != TTAPE_OK) {
            TTP_TRY(end_scan(r, offset, status, err));
            break;
        }
        TTP_TRY(ttp_reader_add_chunk(r, offset, &chunk, err));
        last_chunk = offset;
        offset += TTP_CHUNK_HEADER_BYTES + chunk.stored_bytes;
    }
    return TTAPE_OK;
}
