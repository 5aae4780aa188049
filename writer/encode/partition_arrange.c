/* Arranging: a pending partition is in order of arrival, its chunk in order of streams.
 *
 *   segments   by stream; rank[] says where the pending ones went
 *   events     gathered segment by segment, where they did not arrive so
 *   symbols    scope-wide ones become the partition's own, by first appearance (F-EVT-04)
 *   facts      about single events: from a place in a pending segment to an event number */
#include "writer/encode/partition_arrange.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/fail.h"
#include "writer/encode/overview_writer.h"

struct segment_order {
    uint32_t stream, index;
};

static int compare_streams(const void *a, const void *b)
{
    const struct segment_order *x = a, *y = b;
    return x->stream < y->stream ? -1 : x->stream > y->stream;
}

/* Sorts segments by stream and gives each its place; copies their edge frames in the new order. */
ttape_status ttp_arrange_segments(struct ttp_encoding *e)
{
    struct ttp_job *job = e->job;
    struct ttp_pending *p = &job->pending;
    const struct ttp_segment *from = p->segments.data;
    const struct ttp_frame *starts = p->start_frames.data, *ends = p->end_frames.data;
    size_t count = p->segments.count;
    TTP_TRY(ttp_encoding_room(e, &job->rank, count * sizeof(uint32_t)));
    TTP_TRY(ttp_encoding_room(e, &job->segments, count * sizeof *from));
    TTP_TRY(ttp_encoding_room(e, &job->start_frames, p->start_frames.count * sizeof *starts));
    TTP_TRY(ttp_encoding_room(e, &job->end_frames, p->end_frames.count * sizeof *ends));
    TTP_TRY(ttp_encoding_room(e, &job->segment_start, (count + 1) * sizeof(uint32_t)));
    TTP_TRY(ttp_encoding_room(e, &job->workspace, count * sizeof(struct segment_order)));
    struct segment_order *order = job->workspace.data;
    struct ttp_segment *to = job->segments.data;
    struct ttp_frame *to_start = job->start_frames.data, *to_end = job->end_frames.data;
    uint32_t *rank = job->rank.data, *segment_start = job->segment_start.data;
    uint32_t start_count = 0, end_count = 0, events = 0;
    for (size_t i = 0; i < count; i++)
        order[i] = (struct segment_order){from[i].stream, (uint32_t)i};
    qsort(order, count, sizeof *order, compare_streams);
    for (size_t i = 0; i < count; i++) {
        to[i] = from[order[i].index];
        rank[order[i].index] = (uint32_t)i;
        uint32_t added = to[i].end.frame_count - to[i].kept;
        if (to[i].start.frame_count != 0)
            memcpy(to_start + start_count, starts + to[i].start.frame_start,
                   to[i].start.frame_count * sizeof *starts);
        if (added != 0)
            memcpy(to_end + end_count, ends + to[i].end.frame_start, added * sizeof *ends);
        to[i].start.frame_start = start_count;
        to[i].end.frame_start = end_count;
        segment_start[i] = events;
        start_count += to[i].start.frame_count;
        end_count += added;
        events += to[i].event_count;
    }
    segment_start[count] = events;
    return TTAPE_OK;
}

/* Arrival order is segment order when every segment arrived in one stretch and in the order of
 * streams. / */
static bool arrived_in_order(const struct ttp_job *job)
{
    const struct ttp_stretch *stretches = job->pending.stretches.data;
    const uint32_t *rank = job->rank.data;
    if (job->pending.stretches.count != job->pending.segments.count)
        return false;
    for (size_t i = 0; i < job->pending.stretches.count; i++)
        if (rank[stretches[i].segment] != i)
            return false;
    return true;
}

static void gather(const struct ttp_job *job, const uint32_t *from, uint32_t *to, uint32_t *at)
{
    const struct ttp_stretch *stretches = job->pending.stretches.data;
    const uint32_t *rank = job->rank.data;
    memcpy(at, job->segment_start.data, job->pending.segments.count * sizeof *at);
    for (size_t i = 0; i < job->pending.stretches.count; i++) {
        memcpy(to + at[rank[stretches[i].segment]], from + stretches[i].start,
               stretches[i].count * sizeof *to);
        at[rank[stretches[i].segment]] += stretches[i].count;
    }
}

ttape_status ttp_arrange_events(struct ttp_encoding *e)
{
    struct ttp_job *job = e->job;
    struct ttp_pending *p = &job->pending;
    job->codes = p->codes;
    job->delta = p->delta;
    if (arrived_in_order(job))
        return TTAPE_OK;
    TTP_TRY(ttp_encoding_room(e, &job->gathered, p->event_count * sizeof(uint32_t)));
    TTP_TRY(ttp_encoding_room(e, &job->workspace, p->segments.count * sizeof(uint32_t)));
    gather(job, p->codes, job->gathered.data, job->workspace.data);
    gather(job, p->delta, p->codes,
           job->workspace.data); /* the codes have left: no third array is needed */
    job->codes = job->gathered.data;
    job->delta = p->codes;
    return TTAPE_OK;
}

static uint32_t local_symbol(struct ttp_job *job, uint32_t symbol)
{
    uint32_t *map = job->symbol_map.data;
    if (map[symbol] == 0) {
        ((uint32_t *)job->scope_symbols.data)[job->symbols.count] = symbol;
        struct ttp_symbol *symbols = job->symbols.data;
        symbols[job->symbols.count++] = *ttp_scope_symbol_at(job->pending.scope, symbol);
        map[symbol] = (uint32_t)job->symbols.count;
    }
    return map[symbol] - 1;
}

static void renumber(struct ttp_job *job, uint32_t *codes, uint32_t count)
{
    const uint32_t *map = job->symbol_map.data;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t code = codes[i], local = map[code >> 1]; /* + 1 */
        if (__builtin_expect(local == 0, 0))
            local = local_symbol(job, code >> 1) + 1;
        codes[i] = 2 * local + (code & 1) - 2;
    }
}

/* Renumbers symbols by first appearance: the model's, then open frames of all segments, then codes.
 */
ttape_status ttp_arrange_symbols(struct ttp_encoding *e, struct ttp_order *order)
{
    struct ttp_job *job = e->job;
    struct ttp_pending *p = &job->pending;
    size_t segments = p->segments.count, frames = p->start_frames.count;
    TTP_TRY(ttp_encoding_room(e, &job->symbol_map, p->symbol_total * sizeof(uint32_t)));
    TTP_TRY(ttp_encoding_room(e, &job->symbols, p->symbol_total * sizeof(struct ttp_symbol)));
    TTP_TRY(ttp_encoding_room(e, &job->scope_symbols, p->symbol_total * sizeof(uint32_t)));
    TTP_TRY(ttp_encoding_room(e, &job->open, frames * sizeof(uint32_t)));
    TTP_TRY(ttp_encoding_room(e, &job->open_stack, frames * sizeof(uint32_t)));
    TTP_TRY(ttp_encoding_room(e, &job->open_start, (segments + 1) * sizeof(uint32_t)));
    TTP_TRY(ttp_encoding_room(e, &job->start_stack, segments * sizeof(uint32_t)));
    memset(job->symbol_map.data, 0, p->symbol_total * sizeof(uint32_t));
    job->symbols.count = 0;
    const struct ttp_segment *g = job->segments.data, *arrived = p->segments.data;
    const uint32_t *rank = job->rank.data, *from_symbols = p->start_symbols.data;
    uint32_t *open = job->open.data, *open_stack = job->open_stack.data,
             *open_start = job->open_start.data;
    uint32_t *start_stack = job->start_stack.data;
    const struct ttp_frame *start_frames = job->start_frames.data;
    for (size_t i = 0; i < segments; i++) /* scope-wide symbols, in the new order */
        for (uint32_t k = 0; k < arrived[i].start.frame_count; k++)
            open[g[rank[i]].start.frame_start + k] = from_symbols[arrived[i].start.frame_start + k];
    for (size_t i = 0; i < segments; i++) {
        open_start[i] = g[i].start.frame_start;
        start_stack[i] = g[i].start.stack;
    }
    open_start[segments] = (uint32_t)frames;
    for (size_t i = 0; job->model != NULL && i < job->model->symbols.count / sizeof(uint32_t); i++)
        (void)local_symbol(job, ((const uint32_t *)job->model->symbols.data)[i]);
    for (size_t i = 0; i < frames; i++) {
        open[i] = local_symbol(job, open[i]);
        open_stack[i] = start_frames[i].stack;
    }
    uint32_t given = (uint32_t)job->symbols.count;
    renumber(job, job->codes, p->event_count);
    *order = (struct ttp_order){job->codes,
                                job->symbols.data,
                                job->segment_start.data,
                                open_start,
                                open,
                                open_stack,
                                start_stack,
                                p->event_count,
                                (uint32_t)job->symbols.count,
                                given,
                                (uint32_t)segments,
                                e->w->hash_key};
    return TTAPE_OK;
}

static int compare_facts(const void *a, const void *b)
{
    const struct ttp_fact *x = a, *y = b;
    if (x->segment != y->segment)
        return x->segment < y->segment ? -1 : 1;
    return x->event < y->event ? -1 : x->event > y->event;
}

/* As those of one thread are. */
static bool is_sorted(const struct ttp_fact *facts, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (compare_facts(&facts[i - 1], &facts[i]) > 0)
            return false;
    return true;
}

void ttp_arrange_facts(const struct ttp_job *job, struct ttp_growing *facts)
{
    struct ttp_fact *fact = facts->data;
    const uint32_t *rank = job->rank.data, *start = job->segment_start.data;
    for (size_t i = 0; i < facts->count; i++)
        fact[i].segment = rank[fact[i].segment];
    if (!is_sorted(fact, facts->count))
        qsort(fact, facts->count, sizeof *fact, compare_facts);
    for (size_t i = 0; i < facts->count; i++)
        fact[i].event += start[fact[i].segment];
}

void ttp_job_free(ttape_writer *w, struct ttp_job *job)
{
    struct ttp_pending *p = &job->pending;
    struct ttp_growing *all[] = {&job->workspace,
                                 &job->gathered,
                                 &job->payload,
                                 &job->symbol_map,
                                 &job->symbols,
                                 &job->scope_symbols,
                                 &job->segments,
                                 &job->start_frames,
                                 &job->end_frames,
                                 &job->segment_start,
                                 &job->open,
                                 &job->open_start,
                                 &job->open_stack,
                                 &job->start_stack,
                                 &job->rank,
                                 &job->wide,
                                 &p->stretches,
                                 &p->segments,
                                 &p->start_frames,
                                 &p->start_symbols,
                                 &p->end_frames,
                                 &p->wide,
                                 &p->depths,
                                 &p->ends,
                                 &p->valued,
                                 &p->values,
                                 &p->value_bytes,
                                 &p->measures,
                                 &p->sites_chunk,
                                 &p->paths_chunk,
                                 &p->value_names_chunk,
                                 &p->streams_chunk,
                                 &p->metadata_chunk,
                                 &p->known,
                                 &p->spans,
                                 &p->span_counts,
                                 &p->cpu};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        ttp_grown_free(&w->allocator, all[i]);
    ttp_overview_free(w, &p->overview);
    size_t bytes = p->event_room * sizeof(uint32_t);
    if (p->codes != NULL)
        w->allocator.release(w->allocator.context, p->codes, bytes);
    if (p->delta != NULL)
        w->allocator.release(w->allocator.context, p->delta, bytes);
    p->codes = p->delta = NULL;
    p->event_room = 0;
}

static bool is_unwinding(const struct ttp_order *order, uint32_t code)
{
    uint8_t event_class = order->symbols[code >> 1].event_class;
    return event_class == TTP_CLASS_UNWIND || event_class == TTP_CLASS_EXIT_ACROSS;
}

ttape_status ttp_arrange_ends(struct ttp_encoding *e, const struct ttp_order *order,
                              struct ttp_growing *out, uint32_t *count)
{
    struct ttp_growing *facts = &e->job->pending.ends;
    ttp_arrange_facts(e->job, facts);
    TTP_TRY(ttp_encoding_room(e, out, order->event_count));
    const struct ttp_fact *fact = facts->data, *end = fact + facts->count;
    uint8_t *kinds = out->data;
    *count = 0;
    for (uint32_t i = 0; i < order->event_count; i++) {
        if (!is_unwinding(order, order->codes[i]))
            continue;
        bool is_told = fact != end && fact->event == i;
        kinds[(*count)++] = is_told ? (uint8_t)fact++->number : TTAPE_UNWIND_LEFT;
    }
    return TTAPE_OK;
}

void ttp_arrange_spans(const struct ttp_job *job, struct ttp_switches *to, uint32_t *first_of)
{
    const struct ttp_pending *p = &job->pending;
    const struct ttp_off_span *from = p->spans.data;
    const uint32_t *rank = job->rank.data, *start = job->segment_start.data;
    const uint32_t *counts = p->span_counts.data;
    const uint8_t *known = p->known.data;
    for (uint32_t s = 0; s < to->segment_count; s++) {
        to->is_known[rank[s]] = known[s];
        to->span_start[rank[s] + 1] = counts[s];
    }
    to->span_start[0] = 0;
    for (uint32_t s = 0; s < to->segment_count; s++) {
        to->span_start[s + 1] += to->span_start[s];
        first_of[s] = to->span_start[s];
    }
    for (uint32_t s = 0, at = 0; s < to->segment_count; s++)
        for (uint32_t i = 0; i < counts[s]; i++, at++) {
            struct ttp_off_span *span = &to->spans[first_of[rank[s]]++];
            *span = from[at];
            span->event += start[rank[s]];
        }
}
