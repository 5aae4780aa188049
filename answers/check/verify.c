/* Verify: a scan that goes on. Every chunk is read whole and hashed, every partition decoded and
 * compared with what it says of itself, every index with what was found. A finding never ends the
 * work; only memory, I/O and the caller do.
 *
 * One TTAPE_END inside means that the caller has seen enough. */
#include <string.h>

#include "answers/check/verify_index.h"
#include "answers/check/verify_overview.h"
#include "answers/check/verify_partition.h"
#include "format/base/checksum.h"
#include "format/base/fail.h"
#include "reader/cache/cache.h"
#include "reader/decoder_pool.h"
#include "reader/partition/model_reader.h"

struct verify {
    ttape_reader *r;
    struct ttp_chunk_list chunks;
    struct ttp_scope_sums sums;
    ttape_finding_callback callback;
    ttape_progress_callback progress;
    void *context;
    uint64_t finding_count;
    uint32_t chunk_kind, partition; /* what findings are about now */
    uint64_t last_chunk, last_index;
    bool is_blind;        /* definitions found no memory: what stands behind them is hashed only */
    uint64_t *next_event; /* per stream: the number behind its last segment */
    uint32_t stream_capacity;
    ttape_error problem;
};

static bool machine_failed(ttape_status status)
{
    return status == TTAPE_E_MEMORY || status == TTAPE_E_IO;
}

static ttape_status report(struct verify *v, const ttape_error *problem)
{
    ttape_finding finding = {
        .error = *problem, .chunk_kind = v->chunk_kind, .partition = v->partition};
    v->finding_count++;
    return v->callback == NULL || v->callback(v->context, &finding) ? TTAPE_OK : TTAPE_END;
}

static bool report_problem(void *context, const ttape_error *problem)
{
    return report(context, problem) == TTAPE_OK;
}

/* Turns a failure that was written to v->problem into a finding. */
static ttape_status note(struct verify *v, ttape_status status)
{
    if (status == TTAPE_OK || status == TTAPE_END || machine_failed(status))
        return status;
    return report(v, &v->problem);
}

static ttape_status find_problem(struct verify *v, ttape_status status, const char *rule,
                                 uint64_t offset, const char *what)
{
    return note(v, ttp_fail(&v->problem, status, rule, offset, "%s", what));
}

/* The hash covers the stored bytes, whatever they are. */
static ttape_status check_payload(struct verify *v, uint64_t offset, const struct ttp_chunk *chunk,
                                  bool *good)
{
    ttape_reader *r = v->r;
    uint8_t *payload = ttp_memory_take(&r->memory, chunk->stored_bytes, 1, &v->problem);
    *good = false;
    if (payload == NULL)
        return note(v, r->memory.status);
    ttape_status status = ttp_source_read(&r->source, offset + TTP_CHUNK_HEADER_BYTES, payload,
                                          (size_t)chunk->stored_bytes, &v->problem);
    if (status == TTAPE_OK) {
        *good = ttp_checksum(payload, (size_t)chunk->stored_bytes) == chunk->payload_hash;
        if (!*good)
            status =
                ttp_fail(&v->problem, TTAPE_E_CHECKSUM, "F-CHK-03", offset + TTP_CHUNK_HEADER_BYTES,
                         "checksum of a %s chunk does not match", ttp_chunk_kind_name(chunk->kind));
    }
    ttp_memory_give(&r->memory, payload, chunk->stored_bytes, 1);
    return note(v, status);
}

/* Numbers of a stream's events ascend through the file. */
static ttape_status check_numbers(struct verify *v, const struct ttp_partition_entry *entry)
{
    TTP_TRY(note(v, ttp_stream_numbers(v->r, &v->next_event, &v->stream_capacity, &v->problem)));
    for (uint32_t i = 0; v->next_event != NULL && i < entry->segment_count; i++) {
        const struct ttp_segment_entry *seg = &v->r->segments[entry->first_segment + i];
        uint64_t *next = &v->next_event[seg->stream];
        if (seg->first_event < *next)
            TTP_TRY(find_problem(v, TTAPE_E_CORRUPT, "F-SEG-01", entry->offset,
                                 "event numbers of a stream overlap or step back"));
        *next = seg->first_event + seg->event_count;
    }
    return TTAPE_OK;
}

static ttape_status verify_decoded(struct verify *v, uint32_t partition)
{
    struct ttp_loaded *p;
    ttape_reader *r = v->r;
    ttape_status status =
        ttp_loaded_get(&r->pool.first, partition, TTP_STAGE_VALUES, &p, &v->problem);
    if (status != TTAPE_OK)
        return note(v, status);
    if (p->gap_count != p->head.gap_count || p->lost_count != p->head.lost_count)
        TTP_TRY(find_problem(v, TTAPE_E_CORRUPT, "F-PAR-15", p->payload_offset,
                             "recorded gaps differ from what the head says"));
    struct ttp_overview_sums *sums =
        ttp_scope_sums_of(&v->sums, &r->pool.first, p->scope, &v->problem);
    if (sums == NULL)
        return note(v, r->memory.status);
    return note(v, ttp_verify_partition(&r->pool.first, p, report_problem, v, sums, &v->problem));
}

static ttape_status verify_partition(struct verify *v)
{
    ttape_reader *r = v->r;
    struct ttp_loaded *p;
    uint32_t partition = r->partition_count - 1;
    v->partition = partition;
    ttape_status status;
    if (r->partitions[partition].damaged) {
        status = ttp_loaded_get(&r->pool.first, partition, TTP_STAGE_LIGHT, &p, &v->problem);
        /* Sound in itself, so it is what its segments name that does not exist. */
        if (status == TTAPE_OK)
            status = find_problem(v, TTAPE_E_CORRUPT, "F-EVT-08", r->partitions[partition].offset,
                                  "a segment's stream is not defined");
        else
            status = note(v, status);
    } else {
        status = check_numbers(v, &r->partitions[partition]);
        if (status == TTAPE_OK)
            status = verify_decoded(v, partition);
    }
    ttp_cache_clear(&r->pool.first); /* each partition is looked at once */
    return status;
}

static ttape_status check_links(struct verify *v, uint64_t offset, const struct ttp_chunk *chunk)
{
    if (chunk->sequence != v->r->chunk_count)
        TTP_TRY(find_problem(v, TTAPE_E_CORRUPT, "F-CHK-07", offset + TTP_CHUNK_SEQUENCE_AT,
                             "chunks are missing or out of order before this one"));
    v->r->chunk_count = chunk->sequence;
    if (chunk->last_index != v->last_index)
        TTP_TRY(find_problem(v, TTAPE_E_CORRUPT, "F-IDX-07", offset + TTP_CHUNK_LAST_INDEX_AT,
                             "chunk does not name the last index before it"));
    return TTAPE_OK;
}

/* F-MOD-02 */
static ttape_status verify_model(struct verify *v, uint32_t index)
{
    ttape_reader *r = v->r;
    uint32_t number, other;
    TTP_TRY(ttp_model_load(&r->pool.first, index, &v->problem));
    for (uint32_t i = 0; i < index; i++)
        if (r->models[i].scope == r->models[index].scope &&
            ttp_model_number(&r->models[i], &other) &&
            ttp_model_number(&r->models[index], &number) && other == number)
            return ttp_fail(&v->problem, TTAPE_E_CORRUPT, "F-MOD-02", r->models[index].offset,
                            "model number '%u' stands twice", number);
    return TTAPE_OK;
}

/* What refers to definitions that only this reader has no room for would look wrong, and is not. */
static ttape_status add_chunk(struct verify *v, uint64_t offset, const struct ttp_chunk *chunk)
{
    ttape_status status = ttp_reader_add_chunk(v->r, offset, chunk, &v->problem);
    bool defines = chunk->kind != TTP_CHUNK_PARTITION && chunk->kind != TTP_CHUNK_MODEL &&
                   chunk->kind != TTP_CHUNK_INDEX && chunk->kind != TTP_CHUNK_OVERVIEW;
    v->is_blind = status == TTAPE_E_LIMIT && defines;
    return note(v, status);
}

static ttape_status verify_chunk(struct verify *v, uint64_t offset, const struct ttp_chunk *chunk)
{
    ttape_reader *r = v->r;
    bool good;
    v->chunk_kind = chunk->kind;
    TTP_TRY(check_links(v, offset, chunk));
    TTP_TRY(check_payload(v, offset, chunk, &good));
    good = good && !v->is_blind;
    uint32_t partitions = r->partition_count, models = r->model_count;
    uint32_t overviews = r->overview_count;
    if (good && chunk->kind == TTP_CHUNK_INDEX)
        TTP_TRY(note(v, ttp_verify_index(r, &v->chunks, offset, chunk, &v->problem)));
    if (good)
        TTP_TRY(add_chunk(v, offset, chunk));
    if (good && chunk->kind == TTP_CHUNK_MODEL && r->model_count > models)
        TTP_TRY(note(v, verify_model(v, models)));
    if (r->overview_count > overviews)
        TTP_TRY(note(v, ttp_verify_overview(&v->sums, &r->pool.first, &v->problem)));
    r->chunk_count = chunk->sequence + 1;
    if (r->partition_count > partitions)
        TTP_TRY(verify_partition(v));
    v->partition = TTAPE_NONE;
    TTP_TRY(note(
        v, ttp_chunk_list_add(&v->chunks, r, chunk, r->partition_count > partitions, &v->problem)));
    v->last_chunk = offset;
    if (chunk->kind == TTP_CHUNK_INDEX)
        v->last_index = offset;
    return TTAPE_OK;
}

/* Sets *done where the file ends with a footer, sound or not. */
static ttape_status verify_footer(struct verify *v, uint64_t offset, bool *done)
{
    uint8_t data[TTP_FOOTER_BYTES];
    struct ttp_footer footer;
    uint64_t left = v->r->source.size_bytes - offset;
    if (left < sizeof data)
        return TTAPE_OK;
    TTP_TRY(ttp_source_read(&v->r->source, offset, data, sizeof data, &v->problem));
    if (memcmp(data, TTP_FOOTER_MAGIC, TTP_FOOTER_MAGIC_BYTES) != 0)
        return TTAPE_OK;
    *done = true;
    v->chunk_kind = 0;
    ttape_status status = ttp_footer_read(data, offset, &footer, &v->problem);
    if (status != TTAPE_OK)
        return note(v, status);
    if (left != sizeof data)
        return find_problem(v, TTAPE_E_CORRUPT, "F-FOO-04", offset + sizeof data,
                            "file goes on behind its footer");
    v->r->complete = true;
    if (footer.index_offset != v->last_chunk || footer.index_offset != v->last_index ||
        footer.chunk_count != v->r->chunk_count)
        return find_problem(v, TTAPE_E_CORRUPT, "F-FOO-05", offset + TTP_FOOTER_INDEX_AT,
                            "footer does not name the last chunk, or not the number of chunks");
    return TTAPE_OK;
}

static ttape_status verify_chunks(struct verify *v)
{
    ttape_reader *r = v->r;
    uint64_t offset = TTP_FILE_HEADER_BYTES, end = r->source.size_bytes;
    bool done = false;
    while (offset < end && !done) {
        struct ttp_chunk chunk;
        if (v->progress != NULL)
            v->progress(v->context, offset, end);
        v->chunk_kind = 0;
        TTP_TRY(verify_footer(v, offset, &done));
        if (done)
            break;
        ttape_status status = ttp_reader_chunk(r, offset, &chunk, &v->problem);
        if (status == TTAPE_OK) {
            TTP_TRY(verify_chunk(v, offset, &chunk));
            offset += TTP_CHUNK_HEADER_BYTES + chunk.stored_bytes;
            continue;
        }
        TTP_TRY(note(v, status));
        TTP_TRY(ttp_reader_find_chunk(r, offset + 1, TTP_MAX_PAYLOAD_BYTES + 1024ull, &offset,
                                      &v->problem));
        done = offset == end;
        if (done && status == TTAPE_E_TRUNCATED)
            return TTAPE_OK; /* that it has no footer either is the same finding */
    }
    v->chunk_kind = 0;
    if (!done)
        return find_problem(v, TTAPE_E_TRUNCATED, "F-FOO-06", end,
                            "file has no index and footer at its end");
    return TTAPE_OK;
}

static ttape_status verify_file(struct verify *v)
{
    uint8_t header[TTP_FILE_HEADER_BYTES];
    ttape_reader *r = v->r;
    size_t have =
        r->source.size_bytes < sizeof header ? (size_t)r->source.size_bytes : sizeof header;
    TTP_TRY(ttp_source_read(&r->source, 0, header, have, &v->problem));
    ttape_status status = ttp_file_header_read(header, have, &r->header, &v->problem);
    if (status != TTAPE_OK)
        return note(v, status);
    TTP_TRY(verify_chunks(v));
    if (r->definitions.scope_count != 0 &&
        memcmp(r->header.trace_id, r->definitions.scopes[0].trace_id, TTP_TRACE_ID_BYTES) != 0)
        TTP_TRY(find_problem(v, TTAPE_E_CORRUPT, "F-FIL-07", TTP_FILE_TRACE_ID_AT,
                             "trace id of the file is not that of its first scope"));
    if (r->complete && !v->is_blind)
        TTP_TRY(note(v, ttp_definitions_check(&r->definitions, &v->problem)));
    if (v->progress != NULL)
        v->progress(v->context, r->source.size_bytes, r->source.size_bytes);
    return TTAPE_OK;
}

ttape_status ttape_verify(const ttape_source *source, const ttape_reader_options *options,
                          ttape_finding_callback callback, ttape_progress_callback progress,
                          void *context, uint64_t *finding_count, ttape_error *err)
{
    struct verify v = {
        .callback = callback, .progress = progress, .context = context, .partition = TTAPE_NONE};
    if (finding_count != NULL)
        *finding_count = 0;
    if (source == NULL || source->read_at == NULL)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET, "no source to read from");
    TTP_TRY(ttp_reader_create(&v.r, source, options, err));
    bool is_held = ttp_decoder_hold(&v.r->pool);
    ttape_status status = verify_file(&v);
    if (is_held)
        ttp_decoder_give(&v.r->pool.first);
    if (finding_count != NULL)
        *finding_count = v.finding_count;
    if (machine_failed(status) && err != NULL)
        *err = v.problem;
    ttp_chunk_list_close(&v.chunks, v.r);
    ttp_scope_sums_close(&v.sums, &v.r->pool.first);
    ttp_memory_give(&v.r->memory, v.next_event, v.stream_capacity, sizeof *v.next_event);
    ttape_reader_close(v.r);
    return machine_failed(status) ? status : TTAPE_OK;
}
