/* A chain of partitions, light sections only: what is open at a segment's start is what was open at
 * the end of its stream's segment before, less what events are missing for. Frames are nodes of a
 * tree that grows from what is outermost: a segment keeps one node for each of its stacks, and what
 * stays open for long is there once.
 *
 *   end of the segment before -> (missing events: some are lost, others found) -> start: kept here
 *                             -> enters section                                -> end            */
#include <tracetape/calls.h>

#include <string.h>

#include "format/base/fail.h"
#include "reader/base/choice.h"
#include "reader/decoder_pool.h"
#include "reader/partition/enters_reader.h"
#include "reader/partition/partition_decoder.h"

/* An open frame with some number of calls above it that ended. */
struct node {
    uint64_t number, below_count;
    uint32_t under; /* the node under it, plus 1; 0: none */
    uint32_t height;
};

struct top {
    uint32_t stack, node; /* node plus 1 */
};

struct tops {
    struct top *items; /* by ascending stack, none of them empty */
    uint32_t count, capacity;
};

/* A stream as it is behind the last of its segments that was read. */
struct stream {
    uint64_t end_event;
    struct tops tops;
    struct ttp_edge_frames frames;
    uint32_t frame_count;
    bool is_known; /* there was one */
};

struct ttape_call_origins {
    struct ttp_memory memory;
    const ttape_reader *reader;
    struct node *nodes;
    struct top *tops;    /* of all segments, one after the other */
    uint64_t *first_top; /* by segment of the reader, and one more */
    uint32_t node_count, node_capacity, top_capacity;
    uint32_t segments_done;
    uint64_t top_count;
    /* while they are made */
    struct stream *streams;
    struct tops next;
    struct ttp_edge_frames frames;
    struct ttp_entered *entered;
    uint32_t entered_capacity;
};

/* ---- nodes ---- */

static ttape_status add_node(ttape_call_origins *o, struct node node, uint32_t *out,
                             ttape_error *err)
{
    TTP_TRY(ttp_memory_reserve(&o->memory, &o->nodes, &o->node_capacity, o->node_count + 1ull,
                               sizeof *o->nodes, err));
    o->nodes[o->node_count++] = node;
    *out = o->node_count;
    return TTAPE_OK;
}

static uint32_t height_of(const ttape_call_origins *o, uint32_t node)
{
    return node == 0 ? 0 : o->nodes[node - 1].height;
}

/* A frame on `under`. */
static ttape_status put_frame(ttape_call_origins *o, uint32_t under, uint64_t number,
                              uint64_t below_count, uint32_t *out, ttape_error *err)
{
    return add_node(o, (struct node){number, below_count, under, height_of(o, under) + 1}, out,
                    err);
}

/* The same frame, of which more ended above it. */
static ttape_status count_more(ttape_call_origins *o, uint64_t more, uint32_t *node,
                               ttape_error *err)
{
    if (*node == 0 || more == 0)
        return TTAPE_OK;
    struct node next = o->nodes[*node - 1];
    next.below_count += more;
    return add_node(o, next, node, err);
}

static ttape_status add_top(ttape_call_origins *o, struct tops *tops, uint32_t stack, uint32_t node,
                            ttape_error *err)
{
    if (node == 0)
        return TTAPE_OK;
    TTP_TRY(ttp_memory_reserve(&o->memory, &tops->items, &tops->capacity, tops->count + 1ull,
                               sizeof *tops->items, err));
    tops->items[tops->count++] = (struct top){stack, node};
    return TTAPE_OK;
}

/* The node of a stack; those who ask do so by ascending stack, from *at on. */
static uint32_t find_top(const struct tops *tops, uint32_t stack, uint32_t *at)
{
    while (*at < tops->count && tops->items[*at].stack < stack)
        ++*at;
    return *at < tops->count && tops->items[*at].stack == stack ? tops->items[*at].node : 0;
}

/* ---- where a segment starts ---- */

static bool is_same(const ttape_open_frame *a, const ttape_open_frame *b)
{
    return a->stack == b->stack && a->kind == b->kind && a->site == b->site &&
           a->argument == b->argument && a->enter_time_ns == b->enter_time_ns;
}

/* How many frames of a stack of the start edge were open before events went missing, too; those who
 * ask do so by ascending stack, from *at on. */
static uint32_t count_common(const struct stream *s, const ttape_open_frame *frames, uint32_t count,
                             uint32_t *at)
{
    uint32_t common = 0;
    while (*at < s->frame_count && s->frames.items[*at].stack < frames[0].stack)
        ++*at;
    while (*at < s->frame_count && common < count &&
           is_same(&s->frames.items[*at], &frames[common]))
        ++*at, common++;
    return common;
}

/* The outermost `common` frames of a stack go on, the others were lost, and what is there beside
 * them is found: F-ENT-04. */
static ttape_status start_stack(ttape_call_origins *o, uint32_t node, uint32_t stack,
                                uint32_t common, uint32_t count, ttape_error *err)
{
    uint64_t lost = 0;
    for (; height_of(o, node) > common; node = o->nodes[node - 1].under)
        lost += o->nodes[node - 1].below_count + 1;
    TTP_TRY(count_more(o, lost, &node, err));
    while (height_of(o, node) < count)
        TTP_TRY(put_frame(o, node, TTAPE_CALL_NO_NUMBER, 0, &node, err));
    return add_top(o, &o->next, stack, node, err);
}

static ttape_status start_segment(ttape_call_origins *o, struct ttp_trace_decoder *d,
                                  const struct ttp_loaded *p, uint32_t segment, struct stream *s,
                                  ttape_error *err)
{
    const struct ttp_segment *g = &p->segments.segments[segment];
    const struct ttp_frame *frames = p->segments.start_frames + g->start.frame_start;
    bool goes_on = s->is_known && s->end_event == g->first_event;
    uint32_t at = 0, before = 0, first = 0;
    ttape_edge edge = {0};
    if (s->is_known && !goes_on)
        TTP_TRY(ttp_loaded_edge(d, p, segment, p->segment_start[segment], &o->frames, true, &edge,
                                err));
    o->next.count = 0;
    while (first < g->start.frame_count) {
        uint32_t stack = frames[first].stack, count = 0;
        while (first + count < g->start.frame_count && frames[first + count].stack == stack)
            count++;
        uint32_t node = find_top(&s->tops, stack, &at), height = height_of(o, node);
        uint32_t common = height < count ? height : count;
        if (!goes_on)
            common = s->is_known ? count_common(s, edge.frames + first, common, &before) : 0;
        TTP_TRY(start_stack(o, node, stack, common, count, err));
        first += count;
    }
    return TTAPE_OK;
}

/* What the segment starts with is what others ask for. */
static ttape_status keep_start(ttape_call_origins *o, ttape_error *err)
{
    TTP_TRY(ttp_memory_reserve(&o->memory, &o->tops, &o->top_capacity, o->top_count + o->next.count,
                               sizeof *o->tops, err));
    if (o->next.count > 0)
        memcpy(o->tops + o->top_count, o->next.items, o->next.count * sizeof *o->tops);
    o->top_count += o->next.count;
    return TTAPE_OK;
}

/* ---- where it ends ---- */

static ttape_status end_stack(ttape_call_origins *o, struct stream *s, uint32_t node,
                              const struct ttp_edge_stack *one, const struct ttp_entered *entered,
                              uint64_t first_event, ttape_error *err)
{
    uint32_t stayed = 0;
    uint64_t more = 0;
    while (stayed < one->count && entered[stayed].event == TTP_ENTERED_BEFORE)
        stayed++;
    /* What ended in segments before counts here; that these frames ended is in `above`. */
    for (; height_of(o, node) > stayed; node = o->nodes[node - 1].under)
        more += o->nodes[node - 1].below_count;
    if (stayed > 0)
        TTP_TRY(count_more(o, more + entered[stayed - 1].above, &node, err));
    for (uint32_t i = stayed; i < one->count; i++)
        TTP_TRY(put_frame(o, node, first_event + entered[i].event, entered[i].above, &node, err));
    return add_top(o, &s->tops, one->stack, node, err);
}

static ttape_status end_segment(ttape_call_origins *o, struct ttp_trace_decoder *d,
                                const struct ttp_loaded *p, uint32_t segment,
                                const struct ttp_entered *entered, struct stream *s,
                                ttape_error *err)
{
    const struct ttp_segment *g = &p->segments.segments[segment];
    struct ttp_edge_stacks stacks = {&p->segments, g, 0, 0};
    struct ttp_edge_stack one;
    ttape_edge edge;
    uint32_t at = 0;
    s->tops.count = 0;
    while (ttp_edge_stacks_next(&stacks, &one)) {
        uint32_t node = find_top(&o->next, one.stack, &at);
        TTP_TRY(end_stack(o, s, node, &one, entered + one.first, g->first_event, err));
    }
    s->frames.memory = &o->memory;
    TTP_TRY(ttp_loaded_edge(d, p, segment, p->segment_start[segment + 1], &s->frames, true, &edge,
                            err));
    s->frame_count = edge.frame_count;
    s->end_event = g->first_event + g->event_count;
    s->is_known = true;
    return TTAPE_OK;
}

/* ---- partitions ---- */

static ttape_status read_entered(ttape_call_origins *o, struct ttp_trace_decoder *d,
                                 const struct ttp_loaded *p, ttape_error *err)
{
    if (!ttp_has_enters(p))
        return TTAPE_END;
    TTP_TRY(ttp_memory_reserve(&o->memory, &o->entered, &o->entered_capacity,
                               ttp_entered_count(&p->segments) + 1, sizeof *o->entered, err));
    return ttp_enters_load(d, p, o->entered, err);
}

static ttape_status take_segments(ttape_call_origins *o, struct ttp_trace_decoder *d,
                                  const struct ttp_loaded *p, ttape_error *err)
{
    const struct ttp_entered *entered = o->entered;
    for (uint32_t s = 0; s < p->segments.segment_count; s++) {
        uint32_t stream = ttp_partition_segment(o->reader, p->partition, s)->stream;
        if (stream < o->reader->definitions.stream_count) {
            TTP_TRY(start_segment(o, d, p, s, &o->streams[stream], err));
            TTP_TRY(keep_start(o, err));
            TTP_TRY(end_segment(o, d, p, s, entered, &o->streams[stream], err));
        }
        entered += p->segments.segments[s].end.frame_count;
        o->first_top[++o->segments_done] = o->top_count;
    }
    return TTAPE_OK;
}

static ttape_status take_partition(ttape_call_origins *o, struct ttp_trace_decoder *d,
                                   uint32_t partition, ttape_error *err)
{
    const struct ttp_partition_entry *entry = &o->reader->partitions[partition];
    uint32_t end = entry->first_segment + entry->segment_count;
    struct ttp_loaded *p;
    ttape_status status =
        entry->damaged ? TTAPE_E_CORRUPT : ttp_loaded_get(d, partition, TTP_STAGE_LIGHT, &p, err);
    if (status == TTAPE_OK && p->head.event_count == entry->event_count) {
        TTP_TRY(read_entered(o, d, p, err));
        TTP_TRY(take_segments(o, d, p, err));
    } else if (status == TTAPE_E_MEMORY || status == TTAPE_E_LIMIT || status == TTAPE_E_IO) {
        return status;
    }
    while (o->segments_done < end)
        o->first_top[++o->segments_done] = o->top_count;
    return TTAPE_OK;
}

static ttape_status open_tables(ttape_call_origins *o, ttape_error *err)
{
    uint32_t streams = o->reader->definitions.stream_count;
    o->first_top =
        ttp_memory_take(&o->memory, o->reader->segment_count + 1ull, sizeof *o->first_top, err);
    if (o->first_top == NULL)
        return o->memory.status;
    o->first_top[0] = 0;
    o->streams = ttp_memory_take(&o->memory, streams + 1ull, sizeof *o->streams, err);
    if (o->streams == NULL)
        return o->memory.status;
    memset(o->streams, 0, (streams + 1ull) * sizeof *o->streams);
    o->frames.memory = &o->memory;
    return TTAPE_OK;
}

static void close_edge(struct ttp_memory *m, struct ttp_edge_frames *frames)
{
    ttp_memory_give(m, frames->items, frames->capacity, sizeof *frames->items);
    *frames = (struct ttp_edge_frames){0};
}

/* Gives back what only making takes. */
static void drop_making(ttape_call_origins *o)
{
    struct ttp_memory *m = &o->memory;
    uint32_t streams = o->reader->definitions.stream_count;
    for (uint32_t i = 0; o->streams != NULL && i < streams; i++) {
        ttp_memory_give(m, o->streams[i].tops.items, o->streams[i].tops.capacity,
                        sizeof *o->streams[i].tops.items);
        close_edge(m, &o->streams[i].frames);
    }
    if (o->streams != NULL)
        ttp_memory_give(m, o->streams, streams + 1ull, sizeof *o->streams);
    ttp_memory_give(m, o->next.items, o->next.capacity, sizeof *o->next.items);
    ttp_memory_give(m, o->entered, o->entered_capacity, sizeof *o->entered);
    close_edge(m, &o->frames);
    o->streams = NULL;
    o->entered = NULL;
    o->entered_capacity = 0;
    o->next = (struct tops){0};
}

static ttape_status make(ttape_call_origins *o, ttape_reader *r, ttape_error *err)
{
    struct ttp_trace_decoder *d = &r->pool.first;
    TTP_TRY(open_tables(o, err));
    TTP_TRY(ttp_decoder_take(&r->pool, &d, err));
    ttape_status status = TTAPE_OK;
    for (uint32_t i = 0; status == TTAPE_OK && i < r->partition_count; i++)
        status = take_partition(o, d, i, err);
    ttp_decoder_give(d);
    return status;
}

ttape_status ttape_call_origins_make(ttape_call_origins **out, ttape_reader *r, ttape_error *err)
{
    if (out == NULL)
        return ttp_refuse(err, "no place for origins of calls");
    *out = NULL;
    if (r == NULL)
        return ttp_refuse(err, "no reader");
    struct ttp_memory memory = ttp_memory_sharing(&r->memory);
    ttape_call_origins *o = ttp_memory_take(&memory, 1, sizeof *o, err);
    if (o == NULL)
        return memory.status;
    *o = (ttape_call_origins){.memory = memory, .reader = r};
    ttape_status status = make(o, r, err);
    drop_making(o);
    if (status != TTAPE_OK)
        ttape_call_origins_close(o);
    else
        *out = o;
    return status;
}

void ttape_call_origins_close(ttape_call_origins *o)
{
    if (o == NULL)
        return;
    struct ttp_memory m = o->memory;
    ttp_memory_give(&m, o->nodes, o->node_capacity, sizeof *o->nodes);
    ttp_memory_give(&m, o->tops, o->top_capacity, sizeof *o->tops);
    if (o->first_top != NULL)
        ttp_memory_give(&m, o->first_top, o->reader->segment_count + 1ull, sizeof *o->first_top);
    ttp_memory_give(&m, o, 1, sizeof *o);
}

uint32_t ttape_call_origins_get(const ttape_call_origins *o, uint32_t partition, uint32_t segment,
                                ttape_call_origin *out, uint32_t capacity)
{
    if (o == NULL || partition >= o->reader->partition_count ||
        segment >= o->reader->partitions[partition].segment_count)
        return 0;
    uint32_t at = o->reader->partitions[partition].first_segment + segment, count = 0;
    for (uint64_t t = o->first_top[at]; t < o->first_top[at + 1]; t++) {
        uint32_t node = o->tops[t].node, height = height_of(o, node);
        for (uint32_t i = height; i-- > 0; node = o->nodes[node - 1].under)
            if (count + i < capacity)
                out[count + i] =
                    (ttape_call_origin){o->nodes[node - 1].number, o->nodes[node - 1].below_count};
        count += height;
    }
    return count;
}
