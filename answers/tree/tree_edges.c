/* Frames of the start edge lie at the bottom of the stack, and what is on it at the end is the end
 * edge: a frame is noted when it goes, or is still there. */
#include "answers/tree/tree_edges.h"

#include <string.h>

#include "format/times/times.h"
#include "reader/cache/cache.h"
#include "reader/partition/partition_decoder.h"

#define SEGMENTS_KEPT 64u
#define BYTES_KEPT    (UINT64_C(8) << 20)

struct edges {
    uint32_t segment; /* of the file */
    uint32_t start_count, stay_count, end_count;
    bool is_known;                        /* otherwise the segment is not asked again */
    struct ttp_scan_frame root, frames[]; /* of the start edge, then of the end edge */
};

struct ttp_edge_memo {
    struct edges *slots[SEGMENTS_KEPT];
    uint64_t used_bytes;
};

static uint64_t edges_bytes(const struct edges *e)
{
    return sizeof *e + ((uint64_t)e->start_count + e->end_count) * sizeof e->frames[0];
}

static void drop_edges(struct ttape_tree *tree, uint32_t slot)
{
    struct ttp_edge_memo *m = tree->edges;
    struct edges *e = m->slots[slot];
    if (e == NULL)
        return;
    m->used_bytes -= edges_bytes(e);
    ttp_memory_give(&tree->memory, e, edges_bytes(e), 1);
    m->slots[slot] = NULL;
}

static void drop_all(struct ttape_tree *tree)
{
    for (uint32_t i = 0; i < SEGMENTS_KEPT; i++)
        drop_edges(tree, i);
}

void ttp_tree_edges_forget(struct ttape_tree *tree)
{
    if (tree->edges == NULL)
        return;
    drop_all(tree);
    ttp_memory_give(&tree->memory, tree->edges, 1, sizeof *tree->edges);
    tree->edges = NULL;
}

/* ---- one pass ---- */

struct pass {
    struct edges *edges;
    const struct ttp_loaded *p;
    struct ttp_scan_frame *stack; /* counts: before the frame's first event */
    uint32_t height, capacity, event;
    uint64_t time_ns, since_ns, event_count, call_count;
};

static void settle_time(struct pass *a)
{
    struct ttp_scan_frame *top = a->height > 0 ? &a->stack[a->height - 1] : &a->edges->root;
    ttp_add_ns(&top->self_ns, ttp_between(a->since_ns, a->time_ns));
    a->since_ns = a->time_ns;
}

static struct ttp_scan_frame frame_until_now(const struct pass *a, const struct ttp_scan_frame *f)
{
    struct ttp_scan_frame out = *f;
    out.event_count = a->event_count - f->event_count;
    out.call_count = a->call_count - f->call_count;
    out.end_ns = a->time_ns;
    return out;
}

static void leave_frames(struct pass *a, const struct ttp_code_view *v)
{
    uint32_t frames = (uint32_t)-v->before;
    bool unwinds = a->p->end_count != 0 && ttp_code_unwinds(v, -2);
    bool is_across = v->event_class == TTP_CLASS_EXIT_ACROSS;
    uint32_t kind = unwinds ? ttp_loaded_unwind_kind(a->p, a->event) : TTAPE_UNWIND_LEFT;
    for (; frames > 0 && a->height > 0; frames--) {
        settle_time(a);
        if (--a->height >= a->edges->stay_count)
            continue; /* it was entered in the segment */
        a->edges->stay_count = a->height;
        struct ttp_scan_frame *out = &a->edges->frames[a->height];
        *out = frame_until_now(a, &a->stack[a->height]);
        out->event = a->event; /* of its end */
        out->ended = true;
        out->end_kind = is_across && frames == 1 ? TTAPE_UNWIND_LEFT : (uint8_t)kind;
    }
}

static void enter_frame(struct pass *a, bool is_call)
{
    settle_time(a);
    a->call_count += is_call;
    a->stack[a->height++] = (struct ttp_scan_frame){.event = a->event,
                                                    .enter_ns = a->time_ns,
                                                    .event_count = a->event_count,
                                                    .call_count = a->call_count};
}

/* False: there is no memory, or more than one stack. */
static bool pass_events(struct pass *a, struct ttp_memory *memory, uint32_t end)
{
    const struct ttp_loaded *p = a->p;
    uint32_t wide = p->delta != NULL ? ttp_loaded_wide_from(p, a->event) : 0;
    for (; a->event < end; a->event++) {
        const struct ttp_code_view *v = &p->views[p->codes[a->event]];
        if (p->delta != NULL) {
            uint64_t d = p->delta[a->event];
            d = d != TTP_DELTA_WIDE ? d : (uint64_t)p->wide[wide++];
            a->time_ns += d * p->head.resolution_ns;
        }
        a->event_count++;
        if (v->before != 0) {
            leave_frames(a, v);
        } else if (v->after != 0) {
            if (a->height == a->capacity &&
                ttp_memory_reserve(memory, &a->stack, &a->capacity, a->height + 1ull,
                                   sizeof *a->stack, NULL) != TTAPE_OK)
                return false;
            enter_frame(a, v->event_class == TTP_CLASS_ENTER);
        } else if (v->event_class == TTP_CLASS_SWITCH && v->argument != 0) {
            return false;
        }
    }
    return true;
}

/* What is on the stack at the end. */
static bool take_open(struct pass *a)
{
    struct edges *e = a->edges;
    settle_time(a);
    if (a->height != e->end_count)
        return false;
    for (uint32_t i = 0; i < a->height; i++)
        e->frames[i < e->stay_count ? i : e->start_count + i] = frame_until_now(a, &a->stack[i]);
    e->root = frame_until_now(a, &e->root);
    return true;
}

static bool fill_edges(struct ttape_tree *tree, const struct ttp_loaded *p, uint32_t segment,
                       struct edges *e)
{
    struct pass a = {.edges = e, .p = p, .event = p->segment_start[segment]};
    if (p->head.resolution_ns != 0)
        a.time_ns = ttp_time_of(p->segments.segments[segment].base_tick, p->head.origin_ns,
                                p->head.resolution_ns);
    a.since_ns = e->root.enter_ns = a.time_ns;
    bool is_done = ttp_memory_reserve(&tree->memory, &a.stack, &a.capacity, e->start_count + 64ull,
                                      sizeof *a.stack, NULL) == TTAPE_OK;
    for (; is_done && a.height < e->start_count; a.height++)
        a.stack[a.height] = (struct ttp_scan_frame){.enter_ns = a.time_ns, .is_tail = true};
    is_done =
        is_done && pass_events(&a, &tree->memory, p->segment_start[segment + 1]) && take_open(&a);
    ttp_memory_give(&tree->memory, a.stack, a.capacity, sizeof *a.stack);
    tree->work += a.event - p->segment_start[segment];
    return is_done;
}

/* ---- of which segments ---- */

static struct ttp_edge_memo *memo_of(struct ttape_tree *tree)
{
    if (tree->edges == NULL) {
        tree->edges = ttp_memory_take(&tree->memory, 1, sizeof *tree->edges, NULL);
        if (tree->edges != NULL)
            memset(tree->edges, 0, sizeof *tree->edges);
    }
    return tree->edges;
}

/* The whole segment with its times; NULL: there are more stacks, or it cannot be read. */
static const struct ttp_loaded *reach_segment(struct ttape_tree *tree, uint32_t partition,
                                              uint32_t segment)
{
    struct ttp_loaded *p;
    struct ttp_trace_decoder *d = tree->lease.decoder;
    if (ttp_loaded_get(d, partition, TTP_STAGE_LIGHT, &p, NULL) != TTAPE_OK ||
        p->stack_numbers.count != 1 || p->stack_numbers.numbers[0] != 0)
        return NULL;
    uint32_t first = p->segment_start[segment], end = p->segment_start[segment + 1];
    bool timed = p->head.resolution_ns != 0;
    const struct ttp_range range = {timed ? first : 0, timed ? end : 0, end, false};
    return ttp_loaded_reach(d, partition, &range, &p, NULL) == TTAPE_OK ? p : NULL;
}

static const struct edges *find_edges(struct ttape_tree *tree, uint32_t partition, uint32_t segment)
{
    uint32_t number = tree->reader->partitions[partition].first_segment + segment;
    uint32_t slot = number % SEGMENTS_KEPT;
    struct ttp_edge_memo *m = memo_of(tree);
    if (m == NULL)
        return NULL;
    if (m->slots[slot] != NULL && m->slots[slot]->segment == number)
        return m->slots[slot]->is_known ? m->slots[slot] : NULL;
    drop_edges(tree, slot);
    const struct ttp_loaded *p = reach_segment(tree, partition, segment);
    if (p == NULL)
        return NULL;
    const struct ttp_segment *g = &p->segments.segments[segment];
    struct edges head = {.segment = number,
                         .start_count = g->start.frame_count,
                         .stay_count = g->start.frame_count,
                         .end_count = g->end.frame_count};
    uint64_t bytes = edges_bytes(&head);
    if (m->used_bytes + bytes > BYTES_KEPT)
        drop_all(tree);
    struct edges *e = ttp_memory_take(&tree->memory, bytes, 1, NULL);
    if (e == NULL)
        return NULL;
    *e = head;
    m->slots[slot] = e;
    m->used_bytes += bytes;
    e->is_known = fill_edges(tree, p, segment, e);
    return e->is_known ? e : NULL;
}

bool ttp_tree_edges_find(struct ttape_tree *tree, uint32_t partition, uint32_t segment,
                         enum ttp_edge_of edge, uint32_t level, struct ttp_scan_frame *out)
{
    const struct edges *e = find_edges(tree, partition, segment);
    if (e == NULL)
        return false;
    if (edge == TTP_EDGE_ROOT) {
        *out = e->root;
        return true;
    }
    bool is_start = edge == TTP_EDGE_START;
    if (is_start ? level >= e->start_count : level < e->stay_count || level >= e->end_count)
        return false;
    *out = e->frames[is_start ? level : e->start_count + level];
    return true;
}

bool ttp_tree_edges_bare(struct ttape_tree *tree, struct ttp_scan *s)
{
    const struct edges *e = find_edges(tree, s->partition, s->segment);
    if (e == NULL || s->depth == 0 || s->depth > e->start_count)
        return false;
    const struct ttp_scan_frame *above = &e->frames[e->start_count - s->depth];
    if (!above->ended)
        return false;
    s->over =
        !s->root && s->depth < e->start_count && above[-1].ended && above[-1].event == above->event;
    s->event = above->event + 1;
    s->time_ns = above->end_ns;
    s->depth = 0;
    return true;
}
