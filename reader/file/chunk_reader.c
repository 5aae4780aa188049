/* Chunk headers and payloads out of the source: verified before anything is made of them. */
#include <string.h>

#include "format/base/checksum.h"
#include "format/base/fail.h"
#include "reader/definitions/placeholders.h"
#include "reader/reader_internal.h"

ttape_status ttp_reader_chunk(const ttape_reader *r, uint64_t offset, struct ttp_chunk *out,
                              ttape_error *err)
{
    uint8_t header[TTP_CHUNK_HEADER_BYTES];
    TTP_TRY(ttp_source_read(&r->source, offset, header, sizeof header, err));
    TTP_TRY(ttp_chunk_read(header, offset, out, err));
    if (out->stored_bytes > r->source.size_bytes - offset - TTP_CHUNK_HEADER_BYTES)
        return ttp_fail(err, TTAPE_E_TRUNCATED, "F-CHK-10", r->source.size_bytes,
                        "file ends inside a chunk");
    return TTAPE_OK;
}

static ttape_status decompress(struct ttp_trace_decoder *d, const struct ttp_chunk *chunk,
                               uint64_t offset, uint8_t *stored, uint8_t **content,
                               ttape_error *err)
{
    uint8_t *out = ttp_memory_take(&d->memory, chunk->content_bytes, 1, err);
    if (out == NULL)
        return d->memory.status;
    ttape_status status = ttp_zstd_decode(&d->zstd, &d->memory, stored, (size_t)chunk->stored_bytes,
                                          out, (size_t)chunk->content_bytes, "F-CHK-05", err);
    if (status != TTAPE_OK) {
        ttp_error_rebase(err, offset + TTP_CHUNK_HEADER_BYTES);
        ttp_memory_give(&d->memory, out, chunk->content_bytes, 1);
        return status;
    }
    *content = out;
    return TTAPE_OK;
}

ttape_status ttp_reader_content(struct ttp_trace_decoder *d, uint64_t offset,
                                const struct ttp_chunk *chunk, uint8_t **content,
                                size_t *size_bytes, ttape_error *err)
{
    uint64_t payload = offset + TTP_CHUNK_HEADER_BYTES;
    uint8_t *stored = ttp_memory_take(&d->memory, chunk->stored_bytes, 1, err);
    if (stored == NULL)
        return d->memory.status;
    ttape_status status =
        ttp_source_read(&d->reader->source, payload, stored, (size_t)chunk->stored_bytes, err);
    if (status == TTAPE_OK &&
        ttp_checksum(stored, (size_t)chunk->stored_bytes) != chunk->payload_hash)
        status =
            ttp_fail(err, TTAPE_E_CHECKSUM, "F-CHK-03", payload,
                     "checksum of a %s chunk does not match", ttp_chunk_kind_name(chunk->kind));
    if (status == TTAPE_OK && (chunk->flags & TTP_FLAG_ZSTD) == 0) {
        *content = stored;
        *size_bytes = (size_t)chunk->stored_bytes;
        return TTAPE_OK;
    }
    if (status == TTAPE_OK)
        status = decompress(d, chunk, offset, stored, content, err);
    ttp_memory_give(&d->memory, stored, chunk->stored_bytes, 1);
    *size_bytes = (size_t)chunk->content_bytes;
    return status;
}

ttape_status ttp_reader_add_definitions(ttape_reader *r, uint64_t offset,
                                        const struct ttp_chunk *chunk, ttape_error *err)
{
    uint8_t *content = NULL;
    size_t size_bytes = 0;
    struct ttp_trace_decoder *d = &r->pool.first;
    TTP_TRY(ttp_reader_content(d, offset, chunk, &content, &size_bytes, err));
    ttp_memory_hand_over(&d->memory, &r->memory, size_bytes, 1);
    ttape_status status =
        ttp_definitions_add(&r->definitions, offset, chunk, content, size_bytes, err);
    if (status != TTAPE_OK) {
        /* In a compressed chunk no single stored byte belongs to a byte of the content. */
        if (err != NULL && (chunk->flags & TTP_FLAG_ZSTD) && err->offset != TTAPE_ERROR_NO_OFFSET)
            err->offset = 0;
        ttp_error_rebase(err, offset + TTP_CHUNK_HEADER_BYTES);
        return status;
    }
    if (chunk->kind != TTP_CHUNK_METADATA)
        r->sites_bytes += chunk->stored_bytes;
    return TTAPE_OK;
}

ttape_status ttp_reader_add_model(ttape_reader *r, uint64_t offset, uint64_t sequence,
                                  uint32_t stored_bytes, uint32_t scope, ttape_error *err)
{
    if (scope >= r->definitions.scope_count)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-CHK-09", offset + TTP_CHUNK_SCOPE_AT,
                        "scope '%u' of a model is not introduced", scope);
    TTP_TRY(ttp_memory_reserve(&r->memory, &r->models, &r->model_capacity, r->model_count + 1ull,
                               sizeof *r->models, err));
    r->models[r->model_count++] =
        (struct ttp_model_chunk){offset, sequence, stored_bytes, scope, 0};
    r->models_bytes += stored_bytes;
    return TTAPE_OK;
}

ttape_status ttp_reader_add_partition(ttape_reader *r, const struct ttp_partition_entry *entry,
                                      ttape_error *err)
{
    if (r->partition_count == r->limits.partition_count)
        return ttp_fail(err, TTAPE_E_LIMIT, "", entry->offset, "file has more than %u partitions",
                        r->limits.partition_count);
    TTP_TRY(ttp_memory_reserve(&r->memory, &r->partitions, &r->partition_capacity,
                               r->partition_count + 1ull, sizeof *r->partitions, err));
    r->partitions[r->partition_count] = *entry;
    r->partitions[r->partition_count].first_segment = r->segment_count;
    r->partition_count++;
    r->damaged_count += entry->damaged;
    return TTAPE_OK;
}

ttape_status ttp_reader_add_segment(ttape_reader *r, uint32_t stream, uint32_t event_count,
                                    uint64_t first_event, ttape_error *err)
{
    const struct ttp_partition_entry *entry = &r->partitions[r->partition_count - 1];
    uint32_t number =
        ttp_placeholders_find(&r->definitions, entry->scope, TTP_DEFINES_STREAMS, stream);
    if (number == TTAPE_NONE)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-EVT-08", entry->offset,
                        "a partition names stream '%u', which is not defined", stream);
    if (first_event > UINT64_MAX - event_count)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-SEG-03", entry->offset,
                        "event numbers of a segment pass 2^64");
    TTP_TRY(ttp_memory_reserve(&r->memory, &r->segments, &r->segment_capacity,
                               r->segment_count + 1ull, sizeof *r->segments, err));
    r->segments[r->segment_count++] =
        (struct ttp_segment_entry){first_event, event_count, number, r->partition_count - 1};
    return TTAPE_OK;
}
