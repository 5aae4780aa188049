/* From sorted pieces to a reader: definitions, with the holes between them filled, then models and
 * partitions in the order in which they were written. A partition stays when every one of its
 * events was decoded and everything that it says of itself was found to be so. */
#include "answers/check/salvage.h"

#include <string.h>

#include "answers/check/verify_overview.h"
#include "answers/check/verify_partition.h"
#include "base/sort.h"
#include "format/base/checksum.h"
#include "format/base/fail.h"
#include "reader/cache/cache.h"
#include "reader/decoder_pool.h"
#include "reader/partition/model_reader.h"

struct taking {
    struct ttp_salvage *s;
    uint64_t *next_event; /* by stream: the number behind its last kept event */
    uint32_t stream_capacity;
    uint32_t losses;              /* holes and lost chunks so far */
    uint32_t hole;                /* the next one */
    uint64_t partitions, missing; /* so far: partitions, kept or not; numbers without a chunk */
    bool is_behind;               /* the end that is wanted */
    struct ttp_scope_sums sums;   /* what overviews must say */
    ttape_error problem;
};

/* A failure in t->problem becomes the fate of a piece, or that of the recovery. */
static ttape_status lose(struct taking *t, struct ttp_salvage_piece *piece, ttape_status status,
                         ttape_error *err)
{
    if (ttp_salvage_must_stop(t->s, status)) {
        if (err != NULL)
            *err = t->problem;
        return status;
    }
    if (t->problem.offset == TTAPE_ERROR_NO_OFFSET)
        t->problem.offset = piece->offset;
    return ttp_salvage_settle(t->s, piece, TTAPE_RECOVER_LOST, &t->problem, err);
}

/* ---- definitions and models ---- */

/* The scope of a chunk exists, if need be without its metadata; that of a metadata chunk as far as
 * those before it. */
static ttape_status need_scope(struct taking *t, const struct ttp_salvage_piece *piece)
{
    uint32_t end = piece->head.scope + (piece->head.kind != TTP_CHUNK_METADATA);
    return ttp_placeholders_scopes(&t->s->r->definitions, end, t->s->trace_id, &t->problem);
}

static ttape_status add_definitions(struct taking *t, const struct ttp_salvage_piece *piece)
{
    ttape_reader *r = t->s->r;
    uint32_t entries = r->definitions.metadata_count;
    TTP_TRY(need_scope(t, piece));
    ttape_status status = ttp_reader_add_definitions(r, piece->offset, &piece->head, &t->problem);
    if (status == TTAPE_OK || piece->head.kind != TTP_CHUNK_METADATA)
        return status;
    r->definitions.metadata_count = entries;
    if (piece->head.scope != r->definitions.scope_count || t->s->hole_count == 0)
        return status;
    /* Its scope's first metadata may be what is missing. */
    TTP_TRY(ttp_placeholders_scopes(&r->definitions, piece->head.scope + 1, t->s->trace_id,
                                    &t->problem));
    status = ttp_reader_add_definitions(r, piece->offset, &piece->head, &t->problem);
    if (status != TTAPE_OK)
        r->definitions.metadata_count = entries;
    return status;
}

static ttape_status add_model(struct taking *t, const struct ttp_salvage_piece *piece)
{
    ttape_reader *r = t->s->r;
    uint32_t index = r->model_count, number, other;
    TTP_TRY(need_scope(t, piece));
    TTP_TRY(ttp_reader_add_model(r, piece->offset, piece->head.sequence,
                                 (uint32_t)piece->head.stored_bytes, piece->head.scope,
                                 &t->problem));
    ttape_status status = ttp_model_load(&r->pool.first, index, &t->problem);
    for (uint32_t i = 0; i < index && status == TTAPE_OK; i++)
        if (r->models[i].scope == piece->head.scope && ttp_model_number(&r->models[i], &other) &&
            ttp_model_number(&r->models[index], &number) && other == number)
            status = ttp_fail(&t->problem, TTAPE_E_CORRUPT, "F-MOD-02", piece->offset,
                              "model number '%u' stands twice", number);
    if (status != TTAPE_OK) {
        ttp_models_drop(&r->pool.first);
        r->model_count = index;
        r->models_bytes -= piece->head.stored_bytes;
    }
    return status;
}

/* ---- partitions ---- */

static bool keep_problem(void *context, const ttape_error *problem)
{
    *(ttape_error *)context = *problem;
    return false; /* one is enough */
}

static ttape_status check_decoded(struct taking *t, uint32_t partition)
{
    struct ttp_loaded *p;
    ttape_reader *r = t->s->r;
    TTP_TRY(ttp_loaded_get(&r->pool.first, partition, TTP_STAGE_VALUES, &p, &t->problem));
    if (p->gap_count != p->head.gap_count || p->lost_count != p->head.lost_count)
        return ttp_fail(&t->problem, TTAPE_E_CORRUPT, "F-PAR-15", p->payload_offset,
                        "recorded gaps differ from what the head says");
    struct ttp_overview_sums *sums =
        ttp_scope_sums_of(&t->sums, &r->pool.first, p->scope, &t->problem);
    if (sums == NULL)
        return r->memory.status;
    ttape_status status =
        ttp_verify_partition(&r->pool.first, p, keep_problem, &t->problem, sums, &t->problem);
    return status == TTAPE_END ? t->problem.status : status;
}

/* Numbers of a stream's events ascend over the partitions that are kept. */
static ttape_status check_numbers(struct taking *t, const struct ttp_partition_entry *entry)
{
    const struct ttp_segment_entry *segments = &t->s->r->segments[entry->first_segment];
    TTP_TRY(ttp_stream_numbers(t->s->r, &t->next_event, &t->stream_capacity, &t->problem));
    for (uint32_t i = 0; i < entry->segment_count; i++)
        if (segments[i].first_event < t->next_event[segments[i].stream])
            return ttp_fail(&t->problem, TTAPE_E_CORRUPT, "F-SEG-01", entry->offset,
                            "event numbers of a stream overlap or step back");
    return TTAPE_OK;
}

static ttape_status keep_partition(struct taking *t, struct ttp_salvage_piece *piece,
                                   ttape_error *err)
{
    struct ttp_salvage *s = t->s;
    uint32_t partition = s->r->partition_count - 1;
    const struct ttp_partition_entry *entry = &s->r->partitions[partition];
    TTP_TRY(ttp_memory_reserve(&s->r->memory, &s->partition_losses, &s->partition_losses_capacity,
                               partition + 1ull, sizeof *s->partition_losses, err));
    s->partition_losses[partition] = t->losses;
    for (uint32_t i = 0; i < entry->segment_count; i++) {
        const struct ttp_segment_entry *seg = &s->r->segments[entry->first_segment + i];
        t->next_event[seg->stream] = seg->first_event + seg->event_count;
    }
    piece->partition = partition;
    piece->event_count = entry->event_count;
    piece->events_known = true;
    return TTAPE_OK;
}

/* Its light sections hold: that tells what is lost. */
static ttape_status note_lost(struct taking *t, struct ttp_salvage_piece *piece,
                              const struct ttp_partition_entry *entry, ttape_error *err)
{
    struct ttp_salvage *s = t->s;
    piece->event_count = entry->event_count;
    piece->events_known = true;
    for (uint32_t i = 0; i < entry->segment_count; i++) {
        const struct ttp_segment_entry *seg = &s->r->segments[entry->first_segment + i];
        TTP_TRY(ttp_memory_reserve(&s->r->memory, &s->lost, &s->lost_capacity, s->lost_count + 1ull,
                                   sizeof *s->lost, err));
        s->lost[s->lost_count++] = (struct ttp_lost_segment){seg->first_event, piece->head.sequence,
                                                             seg->stream, seg->event_count};
    }
    return TTAPE_OK;
}

static void drop_partition(ttape_reader *r, uint32_t partition)
{
    ttp_cache_clear(&r->pool.first);
    r->damaged_count -= r->partitions[partition].damaged;
    r->segment_count = r->partitions[partition].first_segment;
    r->partition_count = partition;
}

static bool is_behind(const struct taking *t, const struct ttp_partition_entry *entry)
{
    const struct ttp_salvage_end *end = t->s->end;
    return end != NULL && end->is_behind(end->context, t->s->r, entry, t->partitions, t->missing);
}

/* Not wanted, whatever it is. */
static ttape_status skip(const struct taking *t, struct ttp_salvage_piece *piece)
{
    (void)t;
    piece->fate = TTAPE_RECOVER_SKIPPED;
    piece->why = TTP_NO_PIECE;
    return TTAPE_OK;
}

/* Also one whose payload's hash is wrong is looked into: it may still tell what was in it. */
static ttape_status add_partition(struct taking *t, struct ttp_salvage_piece *piece,
                                  ttape_error *err)
{
    ttape_reader *r = t->s->r;
    struct ttp_loaded *p;
    uint32_t partition = r->partition_count;
    bool has_reason = piece->why != TTP_NO_PIECE;
    ttape_status status = need_scope(t, piece);
    r->chunk_count = piece->head.sequence;
    if (status == TTAPE_OK)
        status = ttp_reader_add_chunk(r, piece->offset, &piece->head, &t->problem);
    if (status != TTAPE_OK || r->partition_count == partition) {
        if (r->partition_count > partition)
            drop_partition(r, partition);
        return lose(t, piece, status, err);
    }
    bool light = !r->partitions[partition].damaged;
    status = ttp_loaded_get(&r->pool.first, partition, TTP_STAGE_LIGHT, &p, &t->problem);
    if (status == TTAPE_OK && light && is_behind(t, &r->partitions[partition])) {
        t->is_behind = true;
        drop_partition(r, partition);
        return skip(t, piece);
    }
    if (status == TTAPE_OK && !light)
        status = ttp_fail(&t->problem, TTAPE_E_CORRUPT, "F-EVT-08", piece->offset,
                          "a segment's stream is not defined");
    if (status == TTAPE_OK && piece->is_sound)
        status = check_numbers(t, &r->partitions[partition]);
    if (status == TTAPE_OK && piece->is_sound)
        status = check_decoded(t, partition);
    if (status == TTAPE_OK && piece->is_sound)
        return keep_partition(t, piece, err);
    ttape_status lost = TTAPE_OK;
    if (status != TTAPE_OK && (!has_reason || ttp_salvage_must_stop(t->s, status)))
        lost = lose(t, piece, status, err);
    if (lost == TTAPE_OK && light)
        lost = note_lost(t, piece, &r->partitions[partition], err);
    drop_partition(r, partition);
    return lost;
}

/* ---- all of them ---- */

static bool is_definition(const struct ttp_salvage_piece *piece)
{
    return piece->head.kind == TTP_CHUNK_METADATA || piece->head.kind == TTP_CHUNK_SITES ||
           piece->head.kind == TTP_CHUNK_STREAMS || piece->head.kind == TTP_CHUNK_PATHS ||
           piece->head.kind == TTP_CHUNK_VALUE_NAMES;
}

static ttape_status take_definitions(struct taking *t, ttape_error *err)
{
    struct ttp_salvage *s = t->s;
    for (uint32_t i = 0; i < s->order_count; i++) {
        struct ttp_salvage_piece *piece = &s->pieces[s->order[i]];
        if (!is_definition(piece) || !piece->is_sound) {
            s->placeholders.on_demand |= is_definition(piece);
            continue;
        }
        ttape_status status = add_definitions(t, piece);
        if (status != TTAPE_OK) {
            s->placeholders.on_demand = true;
            TTP_TRY(lose(t, piece, status, err));
        }
    }
    return TTAPE_OK;
}

static ttape_status unknown_chunk(struct taking *t, struct ttp_salvage_piece *piece,
                                  ttape_error *err)
{
    (void)ttp_fail(&t->problem, TTAPE_E_UNSUPPORTED, "F-CHK-08", piece->offset,
                   "chunk kind '%u' is not known to this version", piece->head.kind);
    return ttp_salvage_settle(t->s, piece, TTAPE_RECOVER_LOST, &t->problem, err);
}

/* It says nothing that partitions do not: it stays where all of it is right. */
static ttape_status keep_overview(struct taking *t, struct ttp_salvage_piece *piece,
                                  ttape_error *err)
{
    ttape_reader *r = t->s->r;
    if (piece->is_sound && piece->head.scope < r->definitions.scope_count) {
        ttape_status status = ttp_reader_add_overview(r, piece->offset, &piece->head, &t->problem);
        if (status == TTAPE_OK) {
            status = ttp_verify_overview(&t->sums, &r->pool.first, &t->problem);
            r->overview_count -= status != TTAPE_OK;
        }
        if (ttp_salvage_must_stop(t->s, status))
            return lose(t, piece, status, err);
    }
    return ttp_salvage_settle(t->s, piece, TTAPE_RECOVER_SKIPPED, NULL, err);
}

static ttape_status take_piece(struct taking *t, struct ttp_salvage_piece *piece, ttape_error *err)
{
    switch (piece->head.kind) {
    case TTP_CHUNK_METADATA:
    case TTP_CHUNK_SITES:
    case TTP_CHUNK_STREAMS:
    case TTP_CHUNK_PATHS:
    case TTP_CHUNK_VALUE_NAMES: return TTAPE_OK;
    case TTP_CHUNK_OVERVIEW: return keep_overview(t, piece, err);
    case TTP_CHUNK_INDEX: return ttp_salvage_settle(t->s, piece, TTAPE_RECOVER_SKIPPED, NULL, err);
    case TTP_CHUNK_PARTITION: return add_partition(t, piece, err);
    case TTP_CHUNK_MODEL: {
        ttape_status status = piece->is_sound ? add_model(t, piece) : TTAPE_OK;
        return status == TTAPE_OK ? TTAPE_OK : lose(t, piece, status, err);
    }
    default: return unknown_chunk(t, piece, err);
    }
}

static bool is_lost_partition(const struct ttp_salvage_piece *piece)
{
    return piece->fate == TTAPE_RECOVER_LOST && piece->head.kind == TTP_CHUNK_PARTITION;
}

static ttape_status take_events(struct taking *t, ttape_error *err)
{
    struct ttp_salvage *s = t->s;
    for (uint32_t i = 0; i < s->order_count; i++) {
        struct ttp_salvage_piece *piece = &s->pieces[s->order[i]];
        for (; t->hole < s->hole_count && s->holes[t->hole].first < piece->head.sequence;
             t->hole++) {
            t->losses += !s->holes[t->hole].is_index;
            t->missing += s->holes[t->hole].is_index ? 0 : s->holes[t->hole].count;
        }
        if (t->is_behind && !is_definition(piece))
            TTP_TRY(skip(t, piece));
        else
            TTP_TRY(take_piece(t, piece, err));
        t->partitions += piece->head.kind == TTP_CHUNK_PARTITION;
        t->losses += is_lost_partition(piece);
    }
    for (; t->hole < s->hole_count; t->hole++)
        t->losses += !s->holes[t->hole].is_index;
    s->losses = t->losses;
    return TTAPE_OK;
}

void ttp_salvage_each_loss(const struct ttp_salvage *s,
                           void (*take)(void *context, uint32_t loss, bool is_known), void *context)
{
    uint32_t loss = 0, hole = 0;
    for (uint32_t i = 0; i <= s->order_count; i++) {
        const struct ttp_salvage_piece *piece = i < s->order_count ? &s->pieces[s->order[i]] : NULL;
        uint64_t number = piece != NULL ? piece->head.sequence : UINT64_MAX;
        for (; hole < s->hole_count && s->holes[hole].first < number; hole++)
            if (!s->holes[hole].is_index)
                take(context, loss++, s->holes[hole].first < s->index_end);
        if (piece != NULL && is_lost_partition(piece))
            take(context, loss++, piece->events_known);
    }
}

/* The bytes at the end, behind an index: what is left of a footer? */
static bool is_torn_footer(const struct ttp_salvage *s, const struct ttp_salvage_piece *tail)
{
    uint8_t data[TTP_FOOTER_MAGIC_BYTES];
    size_t size = tail->size_bytes < sizeof data ? (size_t)tail->size_bytes : sizeof data;
    if (tail == s->pieces || tail[-1].head.kind != TTP_CHUNK_INDEX || !tail[-1].is_chunk)
        return false;
    if (tail->size_bytes == TTP_FOOTER_BYTES)
        return true; /* a chunk has a payload */
    return tail->size_bytes < TTP_FOOTER_BYTES &&
           ttp_source_read(&s->r->source, tail->offset, data, size, NULL) == TTAPE_OK &&
           memcmp(data, TTP_FOOTER_MAGIC, size) == 0;
}

/* Bytes that are no chunk are a loss where chunks are missing, or may be. */
static void judge_bytes(struct ttp_salvage *s)
{
    bool missing = false;
    for (uint32_t i = 0; i < s->hole_count; i++)
        missing = missing || !s->holes[i].is_index;
    for (uint32_t i = 0; i < s->piece_count; i++) {
        struct ttp_salvage_piece *piece = &s->pieces[i];
        bool is_tail = i + 1 == s->piece_count && !s->has_footer && !is_torn_footer(s, piece);
        if (!piece->is_chunk && piece->fate == TTAPE_RECOVER_LOST && !missing && !is_tail)
            piece->fate = TTAPE_RECOVER_SKIPPED;
    }
}

/* Without a trace id that anything tells, one is made of the first chunk. */
static void need_trace_id(struct ttp_salvage *s)
{
    static const uint8_t none[TTP_TRACE_ID_BYTES];
    if (memcmp(s->trace_id, none, sizeof none) != 0 || s->has_header)
        return;
    uint64_t hash = s->pieces[s->order[0]].head.payload_hash;
    memcpy(s->trace_id, &hash, sizeof hash);
    hash = ttp_checksum(&hash, sizeof hash);
    memcpy(s->trace_id + sizeof hash, &hash, sizeof hash);
}

static ttape_status take_all(struct ttp_salvage *s, struct taking *t, ttape_error *err)
{
    ttape_reader *r = s->r;
    if (s->order_count == 0)
        return ttp_fail(err, TTAPE_E_NOT_TRACE, "F-FIL-01", 0,
                        "nothing of a trace is in it: no chunk is whole");
    need_trace_id(s);
    r->definitions.placeholders = &s->placeholders;
    r->pool.first.mended = &r->definitions;
    for (uint32_t i = 0; i < s->hole_count; i++)
        s->placeholders.on_demand |= !s->holes[i].is_index;
    TTP_TRY(take_definitions(t, err));
    TTP_TRY(take_events(t, err));
    TTP_TRY(ttp_salvage_lost_by_index(s, err));
    judge_bytes(s);
    r->pool.first.mended = NULL;
    r->definitions.placeholders = NULL; /* from here on it is a reader like any other */
    TTP_TRY(ttp_definitions_settle(&r->definitions, err));
    return ttp_reader_link_segments(r, err);
}

/* What stands behind an offset and a number: pieces by either, numbers that are missing. */
static void forgive_behind(struct ttp_salvage *s, uint64_t number, uint64_t offset)
{
    for (uint32_t i = 0; i < s->piece_count; i++) {
        struct ttp_salvage_piece *piece = &s->pieces[i];
        bool is_behind = piece->is_chunk ? piece->head.sequence >= number : piece->offset >= offset;
        if (piece->fate == TTAPE_RECOVER_LOST && is_behind)
            piece->fate = TTAPE_RECOVER_SKIPPED;
    }
    while (s->hole_count != 0 && s->holes[s->hole_count - 1].first >= number)
        s->hole_count--;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->lost_count; i++)
        if (s->lost[i].sequence < number)
            s->lost[kept++] = s->lost[i];
    s->lost_count = kept;
}

void ttp_salvage_forgive_tail(struct ttp_salvage *s)
{
    uint64_t number = 0, offset = 0;
    for (uint32_t i = 0; i < s->order_count; i++) {
        const struct ttp_salvage_piece *piece = &s->pieces[s->order[i]];
        if (piece->partition == TTAPE_NONE)
            continue;
        number = piece->head.sequence + 1;
        offset =
            piece->offset + piece->size_bytes > offset ? piece->offset + piece->size_bytes : offset;
    }
    forgive_behind(s, number, offset);
    s->losses = s->r->partition_count != 0 ? s->partition_losses[s->r->partition_count - 1] : 0;
}

ttape_status ttp_salvage_open(struct ttp_salvage *s, const ttape_source *source,
                              const ttape_reader_options *options,
                              const struct ttp_salvage_end *end, ttape_error *err)
{
    *s = (struct ttp_salvage){.end = end};
    struct taking t = {.s = s};
    TTP_TRY(ttp_reader_create(&s->r, source, options, err));
    TTP_TRY(ttp_salvage_scan(s, err));
    TTP_TRY(ttp_salvage_sort(s, err));
    bool is_held = ttp_decoder_hold(&s->r->pool);
    ttape_status status = take_all(s, &t, err);
    if (is_held)
        ttp_decoder_give(&s->r->pool.first);
    ttp_scope_sums_close(&t.sums, &s->r->pool.first);
    ttp_memory_give(&s->r->memory, t.next_event, t.stream_capacity, sizeof *t.next_event);
    return status;
}

void ttp_salvage_close(struct ttp_salvage *s)
{
    if (s->r == NULL)
        return;
    struct ttp_memory *m = &s->r->memory;
    ttp_memory_give(m, s->pieces, s->piece_capacity, sizeof *s->pieces);
    ttp_memory_give(m, s->series, s->series_capacity, sizeof *s->series);
    ttp_memory_give(m, s->whys, s->why_capacity, sizeof *s->whys);
    ttp_memory_give(m, s->holes, s->hole_capacity, sizeof *s->holes);
    ttp_memory_give(m, s->lost, s->lost_capacity, sizeof *s->lost);
    ttp_memory_give(m, s->order, s->order_capacity, sizeof *s->order);
    ttp_memory_give(m, s->partition_losses, s->partition_losses_capacity,
                    sizeof *s->partition_losses);
    ttape_reader_close(s->r);
    *s = (struct ttp_salvage){0};
}
