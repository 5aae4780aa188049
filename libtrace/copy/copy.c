/* Copying stored partitions: what cut and merge are made of.
 *
 *   scope          one of the writer's where trace and definitions agree and no event is in both;
 *                  otherwise a new one
 *   partition      payload bytes untouched, new chunk header      ttape_copier_partition
 *                  (but for the number of its model: copy_models.c)
 *   part of one    decoded, resumed at its edge, appended         ttape_copier_part
 *   names          as they are, or as the caller says             ttape_copier_open_renamed */
#include <tracetape/copy.h>

#include <string.h>

#include "format/base/fail.h"
#include "format/base/sized.h"
#include "libtrace/copy/copy_definitions.h"
#include "libtrace/copy/copy_metadata.h"
#include "libtrace/copy/copy_models.h"
#include "libtrace/copy/copy_overviews.h"
#include "reader/decoder_pool.h"
#include "reader/partition/partition_reader.h"
#include "reader/reader_internal.h"
#include "writer/events/copy_writer.h"

#define BATCH_EVENTS 1024u

struct ttape_copier {
    ttape_writer *writer;
    const ttape_reader *reader;
    struct ttp_lease lease;          /* during a call it has a decoder */
    bool is_apart;                   /* each of the reader's scopes is a new one */
    ttape_reduction reduction;       /* what is left out, or said anew */
    const ttape_clock_shift *shifts; /* by the reader's scope; NULL: times stay as they are */
    struct ttp_growing scopes;       /* struct ttp_scope *, by the reader's scope number */
    struct ttp_growing segments;     /* struct ttp_index_segment */
    struct ttp_growing values;       /* ttape_value */
    struct ttp_growing spans;        /* ttape_off_span */
    struct ttp_growing models;       /* struct ttp_copied_model */
    struct ttp_edge_frames frames;
    uint32_t number;   /* among the writer's */
    uint64_t begin_ns; /* of streams; 0: when they do */
    uint64_t late_ns;  /* by how much the part at hand begins later than what it is a part of */
    ttape_event events[BATCH_EVENTS];
};

/* What is added to the times of a scope. */
static uint64_t shift_of(const ttape_copier *c, uint32_t scope)
{
    return c->shifts != NULL ? c->shifts[scope].shift_ns : 0;
}

/* Same definitions as far as both go? */
static bool definitions_agree(const ttape_copier *c, const struct ttp_scope *to, uint32_t scope)
{
    for (int kind = TTP_COPIED_MODULES; kind <= TTP_COPIED_PATHS; kind++) {
        const uint64_t *known = to->definition_hashes[kind].data;
        uint32_t count = ttp_copied_count(c->reader, scope, kind);
        for (uint32_t id = 0; id < count && id < to->definition_hashes[kind].count; id++) {
            struct ttp_copied_row row;
            ttp_copied_definition(c->reader, scope, kind, id, &row);
            if (row.hash != known[id])
                return false;
        }
    }
    return true;
}

static void stream_range(const ttape_copier *c, uint32_t scope, uint32_t id,
                         struct ttp_claim *claim)
{
    ttape_stream_info info = {0};
    (void)ttape_reader_get_stream(c->reader, ttp_scope_stream(c->reader, scope, id), &info);
    *claim = (struct ttp_claim){id, info.first_event,
                                info.first_event + info.event_count + info.missing_count};
}

/* Would a stream step back behind what is written of it already? That may be more than files hold:
 * gaps for what is lost of one. */
static bool is_before_written(const ttape_copier *c, const struct ttp_scope *to, uint32_t scope,
                              uint32_t streams)
{
    const struct ttp_stream_state *states = to->stream_states.data;
    for (uint32_t i = 0; i < streams && i < to->stream_states.count; i++) {
        struct ttp_claim mine;
        stream_range(c, scope, i, &mine);
        if (mine.start < mine.end && mine.start < states[i].next_event)
            return true;
    }
    return false;
}

/* Do both hold some of the same events? Then they are two recordings (or copies), not two pieces of
 * one. */
static bool events_overlap(const ttape_copier *c, const struct ttp_scope *to, uint32_t scope)
{
    uint32_t streams = ttp_copied_count(c->reader, scope, TTP_COPIED_STREAMS);
    const struct ttp_claim *claims = to->claimed.data;
    for (size_t i = 0; i < to->claimed.count; i++) {
        struct ttp_claim mine;
        if (claims[i].stream >= streams)
            continue;
        stream_range(c, scope, claims[i].stream, &mine);
        if (mine.start < claims[i].end && claims[i].start < mine.end)
            return true;
    }
    return is_before_written(c, to, scope, streams);
}

/* Takes the caller's names of a site, and nothing else of what it says. */
static ttape_status rename_site(const ttape_copier *c, uint32_t scope, uint32_t id,
                                struct ttp_copied_row *row, ttape_error *err)
{
    if (c->reduction.rename == NULL)
        return TTAPE_OK;
    ttape_site site = {0};
    uint32_t number = ttp_scope_site(c->reader, scope, id);
    (void)ttape_reader_get_site(c->reader, number, &site);
    TTP_TRY(c->reduction.rename(c->reduction.context, number, &site, err));
    row->site.symbol = site.symbol;
    row->site.file = site.file;
    row->site.line = site.line;
    ttp_copied_hash_site(row);
    return TTAPE_OK;
}

static void rename_module(const ttape_copier *c, struct ttp_copied_row *row)
{
    ttape_module module = row->module;
    c->reduction.rename_module(c->reduction.context, &module);
    row->module.path = module.path;
}

static ttape_status add_definitions(ttape_copier *c, struct ttp_scope *to, uint32_t scope,
                                    ttape_error *err)
{
    uint32_t first_site = (uint32_t)to->definition_hashes[TTP_COPIED_SITES].count;
    for (int kind = TTP_COPIED_MODULES; kind <= TTP_COPIED_PATHS; kind++) {
        uint32_t count = ttp_copied_count(c->reader, scope, kind);
        for (uint32_t id = (uint32_t)to->definition_hashes[kind].count; id < count; id++) {
            struct ttp_copied_row row;
            ttp_copied_definition(c->reader, scope, kind, id, &row);
            if (kind == TTP_COPIED_SITES)
                TTP_TRY(rename_site(c, scope, id, &row, err));
            else if (kind == TTP_COPIED_MODULES && c->reduction.rename_module != NULL)
                rename_module(c, &row);
            ttp_copied_move(&row, shift_of(c, scope));
            TTP_TRY(ttp_copied_add(c->writer, to, kind, &row, err));
        }
    }
    TTP_TRY(ttp_copied_link_sites(c->writer, c->reader, to, scope, first_site, err));
    if (!c->reduction.without_values)
        TTP_TRY(ttp_copied_name_values(c->writer, c->reader, to, scope, err));
    uint32_t streams = ttp_copied_count(c->reader, scope, TTP_COPIED_STREAMS);
    for (uint32_t id = 0; id < streams; id++) {
        struct ttp_claim claim;
        stream_range(c, scope, id, &claim);
        if (claim.start == claim.end)
            continue;
        struct ttp_claim *slot = ttp_push(&c->writer->allocator, &to->claimed, sizeof *slot, err);
        if (slot == NULL)
            return TTAPE_E_MEMORY;
        *slot = claim;
    }
    return TTAPE_OK;
}

/* Scopes of one file are never joined with each other, whatever their trace ids: where the file has
 * the later one's events first, a stream of both would step back. */
static ttape_status map_scope(ttape_copier *c, uint32_t scope, ttape_error *err)
{
    ttape_writer *w = c->writer;
    const uint8_t *trace_id = ttp_scope_trace_id(c->reader, scope);
    struct ttp_scope **known = w->scopes.data, *to = NULL;
    size_t shareable = c->is_apart ? 0 : w->scopes.count;
    for (size_t i = 1; i < shareable && to == NULL; i++) /* 0 is the writer's own */
        if (known[i]->copier != w->copier_count &&
            memcmp(known[i]->trace_id, trace_id, TTP_TRACE_ID_BYTES) == 0 &&
            definitions_agree(c, known[i], scope) && !events_overlap(c, known[i], scope))
            to = known[i];
    if (to == NULL)
        TTP_TRY(ttp_writer_new_scope(w, trace_id, &to, err));
    to->copier = w->copier_count;
    TTP_TRY(ttp_copied_metadata(w, c->reader, to, scope, &c->reduction,
                                c->shifts != NULL ? &c->shifts[scope] : NULL, err));
    TTP_TRY(add_definitions(c, to, scope, err));
    if (c->is_apart) /* scopes are numbered as they are introduced: in the reader's order */
        TTP_TRY(ttp_writer_introduce(w, to, err));
    struct ttp_scope **slot = ttp_push(&w->allocator, &c->scopes, sizeof(struct ttp_scope *), err);
    if (slot == NULL)
        return TTAPE_E_MEMORY;
    *slot = to;
    return TTAPE_OK;
}

static ttape_status open_copier(ttape_copier **out, ttape_writer *writer, ttape_reader *reader,
                                bool is_apart, const ttape_reduction *reduction,
                                const ttape_clock_shift *shifts, ttape_error *err)
{
    *out = NULL;
    TTP_TRY(ttp_writer_check(writer, err));
    ttape_copier *c = writer->allocator.allocate(writer->allocator.context, sizeof *c);
    if (c == NULL)
        return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
    memset(c, 0, sizeof *c);
    c->writer = writer;
    c->reader = reader;
    c->lease = ttp_lease_of(reader);
    c->frames.memory = &c->lease.memory;
    c->is_apart = is_apart;
    c->reduction = *reduction;
    c->shifts = shifts;
    c->number = ++writer->copier_count;
    uint32_t count = ttp_scope_count(reader);
    ttape_status status = TTAPE_OK;
    if (reader->header.minor > 0) /* parts that are coded anew have what others have */
        status = ttp_writer_number_calls(writer, err);
    for (uint32_t scope = 0; scope < count && status == TTAPE_OK; scope++)
        status = map_scope(c, scope, err);
    if (status != TTAPE_OK) {
        ttape_copier_close(c);
        return status;
    }
    *out = c;
    return TTAPE_OK;
}

ttape_status ttape_copier_open(ttape_copier **out, ttape_writer *writer, ttape_reader *reader,
                               ttape_error *err)
{
    return open_copier(out, writer, reader, false, &(ttape_reduction){0}, NULL, err);
}

ttape_status ttape_copier_open_shifted(ttape_copier **out, ttape_writer *writer,
                                       ttape_reader *reader, const ttape_clock_shift *shifts,
                                       ttape_error *err)
{
    return open_copier(out, writer, reader, false, &(ttape_reduction){0}, shifts, err);
}

ttape_status ttape_copier_open_renamed(ttape_copier **out, ttape_writer *writer,
                                       ttape_reader *reader, ttape_site_callback rename,
                                       void *context, ttape_error *err)
{
    const ttape_reduction reduction = {.rename = rename, .context = context};
    return open_copier(out, writer, reader, rename != NULL, &reduction, NULL, err);
}

ttape_status ttape_copier_open_reduced(ttape_copier **out, ttape_writer *writer,
                                       ttape_reader *reader, const ttape_reduction *reduction,
                                       ttape_error *err)
{
    ttape_reduction taken = {.size = sizeof taken};
    *out = NULL;
    if (reduction != NULL)
        TTP_TRY(ttp_take_sized(&taken, sizeof taken, reduction, "a reduction", err));
    if (taken.reserved != 0 || taken.without_values > 1)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "a reduction has a word that is not known");
    return open_copier(out, writer, reader, true, &taken, NULL, err);
}

void ttape_copier_close(ttape_copier *c)
{
    if (c == NULL)
        return;
    const ttape_allocator *a = &c->writer->allocator;
    ttp_grown_free(a, &c->scopes);
    ttp_grown_free(a, &c->segments);
    ttp_grown_free(a, &c->values);
    ttp_grown_free(a, &c->spans);
    ttp_grown_free(a, &c->models);
    ttp_memory_give(&c->lease.memory, c->frames.items, c->frames.capacity, sizeof *c->frames.items);
    a->release(a->context, c, sizeof *c);
}

struct ttp_scope *ttp_copier_scope(const ttape_copier *c, uint32_t scope)
{
    return scope < c->scopes.count ? ((struct ttp_scope **)c->scopes.data)[scope] : NULL;
}

static struct ttp_scope *scope_of(const ttape_copier *c, uint32_t partition)
{
    return ((struct ttp_scope **)c->scopes.data)[ttp_partition_scope(c->reader, partition)];
}

static ttape_status local_segments(ttape_copier *c, uint32_t partition, uint32_t count,
                                   ttape_error *err)
{
    TTP_TRY(ttp_grow(&c->writer->allocator, &c->segments, sizeof(struct ttp_index_segment), count,
                     err));
    struct ttp_index_segment *to = c->segments.data;
    for (uint32_t i = 0; i < count; i++) {
        const struct ttp_segment_entry *seg = ttp_partition_segment(c->reader, partition, i);
        uint32_t scope;
        to[i] = (struct ttp_index_segment){ttp_local_stream(c->reader, seg->stream, &scope),
                                           seg->event_count, seg->first_event};
    }
    return TTAPE_OK;
}

/* The index entry of a stored partition, from its head and directory. */
static struct ttp_index_entry describe(const struct ttp_partition_head *head,
                                       const ttape_partition_info *info, uint64_t payload_bytes)
{
    struct ttp_index_entry entry = {.stored_bytes = payload_bytes,
                                    .event_count = head->event_count,
                                    .segment_count = head->segment_count,
                                    .model = head->model,
                                    .resolution_ns = head->resolution_ns,
                                    .origin_ns = head->origin_ns,
                                    .first_tick = head->first_tick,
                                    .end_tick = head->end_tick,
                                    .order_bytes = info->bytes.order,
                                    .times_bytes = info->bytes.times,
                                    .values_bytes = info->bytes.values,
                                    .summary_bytes = info->bytes.summaries,
                                    .gap_count = head->gap_count,
                                    .lost_count = head->lost_count};
    size_t light = ttp_partition_head_bytes(head->section_count);
    for (uint32_t i = 0; i < head->section_count && head->sections[i].kind <= TTP_SECTION_SUMMARY;
         i++)
        light += head->sections[i].stored_bytes;
    entry.light_bytes = (uint32_t)light;
    return entry;
}

static bool has_values(const struct ttp_partition_head *head)
{
    for (uint32_t i = 0; i < head->section_count; i++)
        if (head->sections[i].kind == TTP_SECTION_VALUES)
            return true;
    return false;
}

static ttape_status copy_partition_whole(ttape_copier *c, uint32_t partition, ttape_error *err)
{
    ttape_partition_info info;
    struct ttp_loaded *loaded;
    struct ttp_chunk chunk;
    uint8_t *payload;
    TTP_TRY(ttp_writer_check(c->writer, err));
    if (ttape_reader_get_partition(c->reader, partition, &info) != TTAPE_OK)
        return ttp_fail(err, TTAPE_E_NOT_FOUND, "", TTAPE_ERROR_NO_OFFSET,
                        "there is no partition %u", partition);
    /* Of a partition whose light sections are damaged, or are not what the index says, segments
     * and counts are not known: it is not copied. */
    TTP_TRY(ttp_loaded_get(c->lease.decoder, partition, TTP_STAGE_LIGHT, &loaded, err));
    struct ttp_partition_head head = loaded->head;
    if (c->reduction.without_values && has_values(&head)) /* the index may say something else */
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", info.offset,
                        "partition %u has values that are left out", partition);
    uint32_t model = head.model;
    struct ttp_scope *to = scope_of(c, partition);
    if (head.segment_count > info.segment_count)
        return ttp_fail(err, TTAPE_E_NOT_FOUND, "", info.offset,
                        "partition %u has more segments than are known", partition);
    TTP_TRY(local_segments(c, partition, head.segment_count, err));
    if (head.model != TTAPE_NONE)
        TTP_TRY(ttp_copied_model(c->writer, c->lease.decoder, to, partition, &c->models,
                                 &head.model, err));
    TTP_TRY(ttp_payload_read(c->lease.decoder, partition, &chunk, &payload, err));
    uint64_t shift_ns = head.resolution_ns != 0 ? shift_of(c, info.scope) : 0;
    head.origin_ns += shift_ns;
    if (head.model != model || shift_ns != 0)
        ttp_partition_head_write(&head, payload);
    struct ttp_index_entry entry = describe(&head, &info, chunk.stored_bytes);
    ttape_status status =
        ttp_writer_stored_partition(c->writer, to, &chunk, payload, &entry, c->segments.data, err);
    if (status == TTAPE_OK)
        status = ttp_copied_overview(c->writer, c->lease.decoder, to, c->number, partition, err);
    ttp_payload_free(c->lease.decoder, payload, &chunk);
    return status;
}

/* Attaches the values of one event, if it has any that are shown. */
static ttape_status copy_values(ttape_copier *c, struct ttp_scope *to, uint32_t stream,
                                const struct ttp_loaded *loaded, uint32_t event, ttape_error *err)
{
    uint32_t first, count;
    ttp_loaded_values(loaded, event, &first, &count);
    if (count == 0)
        return TTAPE_OK;
    c->values.count = 0;
    for (uint32_t i = 0; i < count; i++) {
        ttape_value *value = ttp_push(&c->writer->allocator, &c->values, sizeof *value, err);
        if (value == NULL)
            return TTAPE_E_MEMORY;
        if (!ttp_loaded_value(loaded, first + i, value))
            c->values.count--;
    }
    if (c->values.count == 0)
        return TTAPE_OK;
    return ttp_attach(c->writer, to, stream, c->values.data, c->values.count, err);
}

/* Appends a batch, event by event where there are values to attach. */
static ttape_status append_batch(ttape_copier *c, struct ttp_scope *to, uint32_t stream,
                                 const struct ttp_loaded *loaded, uint32_t start, uint32_t count,
                                 ttape_error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t scope;
        if (c->events[i].site != TTAPE_NONE)
            c->events[i].site = ttp_local_site(c->reader, c->events[i].site, &scope);
    }
    if (!loaded->has_values || c->reduction.without_values)
        return ttp_append(c->writer, to, stream, c->events, count, err);
    for (uint32_t i = 0; i < count; i++) {
        TTP_TRY(ttp_append(c->writer, to, stream, &c->events[i], 1, err));
        TTP_TRY(copy_values(c, to, stream, loaded, start + i, err));
    }
    return TTAPE_OK;
}

void ttape_copier_begin_at(ttape_copier *c, uint64_t time_ns) { c->begin_ns = time_ns; }

/* A part begins so many ticks later than its stream's event before it. */
static uint64_t late_by(const ttape_copier *c, const struct ttp_loaded *loaded, uint32_t segment)
{
    const struct ttp_partition_head *head = &loaded->head;
    int64_t base = loaded->segments.segments[segment].base_tick;
    if (c->begin_ns == 0 || head->resolution_ns == 0 ||
        ttp_time_of(base, head->origin_ns, head->resolution_ns) >= c->begin_ns)
        return 0;
    int64_t begin = ttp_tick_of(c->begin_ns, head->origin_ns, head->resolution_ns);
    return (uint64_t)begin - (uint64_t)base;
}

static ttape_status resume_at(ttape_copier *c, struct ttp_scope *to, uint32_t stream,
                              const struct ttp_loaded *loaded, uint32_t segment, uint32_t event,
                              uint64_t late, ttape_error *err)
{
    ttape_edge edge;
    TTP_TRY(
        ttp_loaded_edge(c->lease.decoder, loaded, segment, event, &c->frames, false, &edge, err));
    for (uint32_t i = 0; i < edge.frame_count; i++) {
        uint32_t scope;
        if (c->frames.items[i].site != TTAPE_NONE)
            c->frames.items[i].site = ttp_local_site(c->reader, c->frames.items[i].site, &scope);
    }
    edge.frames = c->frames.items;
    edge.time_ns += late;
    return ttp_resume(c->writer, to, stream, &edge, err);
}

/* The interval begins so much later: what of the span lies before that is left out. */
static void shorten(ttape_off_span *span, uint64_t late_ns)
{
    int64_t start = span->start_ns - (int64_t)late_ns;
    uint64_t before = start < 0 ? (uint64_t)-start : 0;
    span->start_ns = start < 0 ? 0 : start;
    span->length_ns = span->length_ns > before ? span->length_ns - before : 0;
}

/* Tells what is known of the switches in the intervals of events [first, stop) of a segment. */
static ttape_status copy_switches(ttape_copier *c, struct ttp_scope *to, uint32_t stream,
                                  const struct ttp_loaded *loaded, uint32_t segment, uint32_t first,
                                  uint32_t stop, ttape_error *err)
{
    const struct ttp_switches *s = &loaded->switches;
    if (s->segment_count == 0 || s->is_known[segment] == 0)
        return TTAPE_OK;
    c->spans.count = 0;
    for (uint32_t i = s->span_start[segment]; i < s->span_start[segment + 1]; i++) {
        if (s->spans[i].event < first || s->spans[i].event >= stop)
            continue;
        ttape_off_span *span = ttp_push(&c->writer->allocator, &c->spans, sizeof *span, err);
        if (span == NULL)
            return TTAPE_E_MEMORY;
        *span = (ttape_off_span){.event = s->spans[i].event - first,
                                 .start_ns = s->spans[i].start_ns,
                                 .length_ns = s->spans[i].length_ns,
                                 .kind = (ttape_off_kind)s->spans[i].kind};
        if (c->late_ns != 0 && span->event == 0)
            shorten(span, c->late_ns);
    }
    return ttp_add_off(c->writer, to, stream, c->spans.data, c->spans.count, err);
}

static ttape_status copy_segment_part(ttape_copier *c, struct ttp_scope *to, uint32_t partition,
                                      uint32_t segment, uint64_t from, uint64_t to_number,
                                      ttape_error *err)
{
    const struct ttp_segment_entry *seg = ttp_partition_segment(c->reader, partition, segment);
    struct ttp_loaded *loaded;
    uint32_t scope;
    uint64_t end = seg->first_event + seg->event_count;
    from = from > seg->first_event ? from : seg->first_event;
    end = to_number < end ? to_number : end;
    if (from >= end)
        return TTAPE_OK;
    TTP_TRY(ttp_loaded_get(c->lease.decoder, partition, TTP_STAGE_VALUES, &loaded, err));
    struct ttp_loaded ticks = *loaded; /* whole, so that nothing of it changes any more */
    ticks.head.resolution_ns = loaded->head.resolution_ns != 0;
    ticks.head.origin_ns = 0;
    uint32_t stream = ttp_local_stream(c->reader, seg->stream, &scope);
    uint32_t at = loaded->segment_start[segment] + (uint32_t)(from - seg->first_event);
    uint32_t stop = loaded->segment_start[segment] + (uint32_t)(end - seg->first_event);
    uint64_t late = from == seg->first_event ? late_by(c, loaded, segment) : 0;
    TTP_TRY(resume_at(c, to, stream, &ticks, segment, at, late, err));
    c->late_ns = late * loaded->head.resolution_ns;
    TTP_TRY(copy_switches(c, to, stream, loaded, segment, at, stop, err));
    struct ttp_walker walker = ttp_walker_at(&ticks, segment, at);
    while (at < stop) {
        uint32_t count = stop - at < BATCH_EVENTS ? stop - at : BATCH_EVENTS;
        ttp_walker_events(&ticks, &walker, at + count, c->events);
        TTP_TRY(append_batch(c, to, stream, &ticks, at, count, err));
        at += count;
    }
    return TTAPE_OK;
}

/* NULL: from the first event on, up to the last. */
static ttape_status copy_piece(ttape_copier *c, uint32_t partition, const uint64_t *from_number,
                               const uint64_t *to_number, ttape_error *err)
{
    ttape_partition_info info;
    struct ttp_loaded *loaded;
    TTP_TRY(ttp_writer_check(c->writer, err));
    if (ttape_reader_get_partition(c->reader, partition, &info) != TTAPE_OK)
        return ttp_fail(err, TTAPE_E_NOT_FOUND, "", TTAPE_ERROR_NO_OFFSET,
                        "there is no partition %u", partition);
    struct ttp_scope *to = scope_of(c, partition);
    TTP_TRY(ttp_loaded_get(c->lease.decoder, partition, TTP_STAGE_LIGHT, &loaded, err));
    TTP_TRY(ttp_writer_set_clock(c->writer, loaded->head.resolution_ns,
                                 loaded->head.origin_ns + shift_of(c, info.scope), err));
    ttape_status status = TTAPE_OK;
    ttp_writer_take_ticks(c->writer, true);
    for (uint32_t i = 0; i < info.segment_count && status == TTAPE_OK; i++) {
        uint32_t stream = ttp_partition_segment(c->reader, partition, i)->stream;
        status =
            copy_segment_part(c, to, partition, i, from_number != NULL ? from_number[stream] : 0,
                              to_number != NULL ? to_number[stream] : UINT64_MAX, err);
    }
    ttp_writer_take_ticks(c->writer, false);
    return status == TTAPE_OK ? ttp_seal(c->writer, err) : status;
}

/* Whether a stream has waited in it since before what is copied begins. */
static ttape_status begins_before(ttape_copier *c, uint32_t partition, bool *is_early,
                                  ttape_error *err)
{
    struct ttp_loaded *loaded;
    ttape_partition_info info;
    *is_early = false;
    if (c->begin_ns == 0 || ttape_reader_get_partition(c->reader, partition, &info) != TTAPE_OK)
        return TTAPE_OK;
    TTP_TRY(ttp_loaded_get(c->lease.decoder, partition, TTP_STAGE_LIGHT, &loaded, err));
    for (uint32_t i = 0; i < info.segment_count && i < loaded->head.segment_count; i++)
        *is_early |= late_by(c, loaded, i) != 0;
    return TTAPE_OK;
}

ttape_status ttape_copier_partition(ttape_copier *c, uint32_t partition, ttape_error *err)
{
    bool is_early;
    TTP_TRY(ttp_lease_begin(&c->lease, err));
    ttape_status status = begins_before(c, partition, &is_early, err);
    if (status == TTAPE_OK)
        status = is_early ? copy_piece(c, partition, NULL, NULL, err)
                          : copy_partition_whole(c, partition, err);
    ttp_lease_end(&c->lease);
    return status;
}

ttape_status ttape_copier_part(ttape_copier *c, uint32_t partition, const uint64_t *from_number,
                               const uint64_t *to_number, ttape_error *err)
{
    TTP_TRY(ttp_lease_begin(&c->lease, err));
    ttape_status status = copy_piece(c, partition, from_number, to_number, err);
    ttp_lease_end(&c->lease);
    return status;
}
