/* A scan gives the share of a node: from its enter to the segment's end, a whole segment, from a
 * segment's start to its end. Their sum is the node. */
#include "answers/tree/tree_local.h"
#include "answers/tree/tree_edges.h"
#include "format/base/fail.h"
#include "reader/cache/cache.h"
#include "reader/cache/prefetch.h"

uint32_t ttp_tree_segment_number(const struct ttape_tree *tree, uint32_t stream, uint32_t ordinal)
{
    return ttp_segment_number(tree->reader, ttp_tree_entry(tree, stream, ordinal));
}

/* ---- scans ---- */

ttape_status ttp_tree_scan_segment(struct ttape_tree *tree, uint32_t stream, uint32_t ordinal,
                                   uint32_t stack, uint32_t level, struct ttp_scan *out,
                                   bool *there, ttape_error *err)
{
    const struct ttp_outline *o;
    const struct ttp_tree_segment *g;
    struct ttp_loaded *p;
    *there = false;
    TTP_TRY(ttp_tree_bare_outline(tree, stream, ordinal, &o, &g, err));
    if (g == NULL)
        return ttp_tree_damage(tree, o->partition, err);
    bool root = level == TTAPE_NONE;
    uint32_t height = ttp_tree_start_height(o, g, stack), segment = (uint32_t)(g - o->segments);
    uint32_t partition = o->partition;
    if (!root && level >= height)
        return TTAPE_OK;
    TTP_TRY(ttp_loaded_get(tree->lease.decoder, partition, TTP_STAGE_LIGHT, &p, err));
    *out = (struct ttp_scan){.partition = partition,
                             .segment = segment,
                             .event = p->segment_start[segment],
                             .stack = stack,
                             .depth = root ? height : height - level - 1,
                             .root = root};
    TTP_TRY(ttp_scan_open(out, tree, err));
    *there = true;
    return TTAPE_OK;
}

ttape_status ttp_tree_scan_head(struct ttape_tree *tree, const struct ttp_span *span,
                                struct ttp_scan *out, ttape_error *err)
{
    uint32_t event, segment = ttp_tree_segment_number(tree, span->stream, span->first);
    uint32_t partition = ttp_tree_entry(tree, span->stream, span->first)->partition;
    TTP_TRY(ttp_scan_enter_of(tree, partition, segment, span->stack, span->level, &event, err));
    *out = (struct ttp_scan){
        .partition = partition, .segment = segment, .event = event + 1, .stack = span->stack};
    return ttp_scan_open(out, tree, err);
}

/* ---- local frames ---- */

ttape_status ttp_tree_local_node(struct ttape_tree *tree, uint32_t stream, uint32_t ordinal,
                                 const struct ttp_scan_frame *frame, uint32_t stack, uint32_t level,
                                 ttape_node *out, ttape_error *err)
{
    struct ttp_loaded *p;
    const struct ttp_segment_entry *seg = ttp_tree_entry(tree, stream, ordinal);
    uint32_t segment = ttp_tree_segment_number(tree, stream, ordinal);
    TTP_TRY(ttp_loaded_get(tree->lease.decoder, seg->partition, TTP_STAGE_ORDER, &p, err));
    const struct ttp_code_view *v = &p->views[2ull * frame->symbol];
    *out =
        (ttape_node){.id = {.kind = TTAPE_NODE_FRAME,
                            .by = TTAPE_NODE_BY_EVENT,
                            .stream = stream,
                            .partition = seg->partition,
                            .place = seg->first_event + (frame->event - p->segment_start[segment])},
                     .frame_kind = v->kind,
                     .site = v->site,
                     .argument = v->argument,
                     .stack = stack,
                     .level = level,
                     .end = frame->ended ? ttp_scan_end_of(frame) : TTAPE_NODE_ENDED,
                     .first_partition = seg->partition,
                     .last_partition = seg->partition,
                     .enter_ns = frame->enter_ns,
                     .start_ns = frame->enter_ns,
                     .end_ns = frame->end_ns,
                     .end_most_ns = frame->end_ns,
                     .time_ns = ttp_between(frame->enter_ns, frame->end_ns),
                     .self_ns = frame->self_ns,
                     .self_exact = true,
                     .rest_ns = frame->away_ns,
                     .counts_exact = true,
                     .event_count = frame->event_count,
                     .call_count = frame->call_count};
    if (frame->ended && !frame->is_tail)
        tree->local = *out;
    return TTAPE_OK;
}

static ttape_status no_frame(ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_NOT_FOUND, "", TTAPE_ERROR_NO_OFFSET, "no such frame");
}

static uint32_t ordinal_of_event(const struct ttape_tree *tree, uint32_t stream, uint64_t event)
{
    uint32_t count = ttp_segments_up_to(tree->reader, stream, event);
    if (count == 0)
        return TTAPE_NONE;
    const struct ttp_segment_entry *seg = ttp_tree_entry(tree, stream, count - 1);
    return event - seg->first_event < seg->event_count ? count - 1 : TTAPE_NONE;
}

/* The id of a frame that is open at a segment's end. */
static ttape_status id_at_end(struct ttape_tree *tree, uint32_t stream, uint32_t ordinal,
                              uint32_t stack, uint32_t level, ttape_node_id *id, ttape_error *err)
{
    const struct ttp_outline *o;
    const struct ttp_tree_segment *g;
    TTP_TRY(ttp_tree_bare_outline(tree, stream, ordinal, &o, &g, err));
    uint32_t number = g == NULL ? TTAPE_NONE : ttp_tree_end_at(o, g, stack, level);
    if (number == TTAPE_NONE)
        return no_frame(err);
    *id = (ttape_node_id){.kind = TTAPE_NODE_FRAME,
                          .by = TTAPE_NODE_BY_END,
                          .stream = stream,
                          .partition = o->partition,
                          .place = number};
    return TTAPE_OK;
}

/* Frames on the current stack before an event. */
static ttape_status level_of(struct ttape_tree *tree, uint32_t partition, uint32_t segment,
                             uint32_t event, uint32_t *level, ttape_error *err)
{
    struct ttp_loaded *p;
    struct ttp_walker *w = &tree->level_at.walker;
    const struct ttp_range range = {0, 0, event + 1, false};
    TTP_TRY(ttp_loaded_reach(tree->lease.decoder, partition, &range, &p, err));
    if (tree->level_at.partition == partition + 1 && tree->level_at.segment == segment &&
        w->event <= event && event - w->event < TTP_CHECKPOINT_EVENTS)
        ttp_walker_go(p, w, event);
    else
        *w = ttp_walker_untimed(p, segment, event);
    tree->level_at.partition = partition + 1;
    tree->level_at.segment = segment;
    *level = w->frames;
    return TTAPE_OK;
}

ttape_status ttp_tree_event_node(struct ttape_tree *tree, uint32_t stream, uint64_t event,
                                 ttape_node *out, bool *is_span, struct ttp_span *span,
                                 ttape_error *err)
{
    struct ttp_loaded *p;
    struct ttp_scan_frame frame;
    ttape_node_id id;
    uint32_t stack, level, ordinal = ordinal_of_event(tree, stream, event);
    *is_span = false;
    if (ordinal == TTAPE_NONE)
        return no_frame(err);
    if (tree->local.id.kind == TTAPE_NODE_FRAME && tree->local.id.stream == stream &&
        tree->local.id.place == event) { /* a child whose own children are asked for */
        *out = tree->local;
        return TTAPE_OK;
    }
    const struct ttp_segment_entry *seg = ttp_tree_entry(tree, stream, ordinal);
    uint32_t segment = ttp_tree_segment_number(tree, stream, ordinal), partition = seg->partition;
    TTP_TRY(ttp_loaded_get(tree->lease.decoder, partition, TTP_STAGE_ORDER, &p, err));
    uint32_t at = p->segment_start[segment] + (uint32_t)(event - seg->first_event);
    if (p->views[p->codes[at]].after == 0)
        return no_frame(err);
    TTP_TRY(level_of(tree, partition, segment, at, &level, err));
    TTP_TRY(ttp_scan_one(tree, partition, segment, at, &frame, &stack, err));
    if (frame.ended)
        return ttp_tree_local_node(tree, stream, ordinal, &frame, stack, level, out, err);
    TTP_TRY(id_at_end(tree, stream, ordinal, stack, level, &id, err));
    TTP_TRY(ttp_tree_span(tree, &id, span, err));
    *is_span = true;
    *out = span->node;
    return TTAPE_OK;
}

/* ---- filling ---- */

/* What scans add up to. */
struct filling {
    int64_t self_ns, away_ns;
    uint64_t event_count, call_count;
};

static void add_scan(struct filling *f, const struct ttp_scan_frame *scanned)
{
    ttp_add_ns(&f->self_ns, scanned->self_ns);
    ttp_add_ns(&f->away_ns, scanned->away_ns);
    f->event_count += scanned->event_count;
    f->call_count += scanned->call_count;
}

/* Where all is asked for, all frames of a segment's edges are scanned at once. */
static bool find_edge(struct ttape_tree *tree, const struct ttp_span *s, uint32_t ordinal,
                      enum ttp_edge_of edge, bool is_full, struct ttp_scan_frame *out)
{
    uint32_t partition = ttp_tree_entry(tree, s->stream, ordinal)->partition;
    uint32_t segment = ttp_tree_segment_number(tree, s->stream, ordinal);
    return is_full && s->stack == 0 &&
           ttp_tree_edges_find(tree, partition, segment, edge, s->level, out);
}

static ttape_status fill_head(struct ttape_tree *tree, const struct ttp_span *s, bool is_full,
                              struct filling *f, ttape_error *err)
{
    struct ttp_scan scan;
    if (s->from_start)
        return TTAPE_OK;
    if (!find_edge(tree, s, s->first, TTP_EDGE_END, is_full, &scan.node)) {
        TTP_TRY(ttp_tree_scan_head(tree, s, &scan, err));
        TTP_TRY(ttp_scan_rest(&scan, tree, err));
    }
    f->event_count++; /* its enter */
    add_scan(f, &scan.node);
    return TTAPE_OK;
}

/* *there is false where the frame is not open at the segment's start. */
static ttape_status scan_whole(struct ttape_tree *tree, const struct ttp_span *s, uint32_t ordinal,
                               bool is_full, struct ttp_scan_frame *out, bool *there,
                               ttape_error *err)
{
    struct ttp_scan scan;
    *there = find_edge(tree, s, ordinal, TTP_EDGE_START, is_full, out);
    if (*there)
        return TTAPE_OK;
    TTP_TRY(ttp_tree_scan_segment(tree, s->stream, ordinal, s->stack, s->level, &scan, there, err));
    if (!*there)
        return TTAPE_OK;
    TTP_TRY(ttp_scan_rest(&scan, tree, err));
    *out = scan.node;
    return TTAPE_OK;
}

static ttape_status fill_segment_of(struct ttape_tree *tree, const struct ttp_span *s,
                                    uint32_t ordinal, bool is_full, struct filling *f,
                                    ttape_error *err)
{
    struct ttp_scan_frame whole;
    bool there;
    TTP_TRY(scan_whole(tree, s, ordinal, is_full, &whole, &there, err));
    if (there)
        add_scan(f, &whole);
    return TTAPE_OK;
}

static bool ends_in_last(const struct ttp_span *s)
{
    return s->node.end == TTAPE_NODE_ENDED || s->node.end == TTAPE_NODE_HIDDEN;
}

/* The segment in which the frame ends: afterwards nothing about that is hidden. */
static ttape_status fill_tail(struct ttape_tree *tree, struct ttp_span *s, bool is_full,
                              struct filling *f, ttape_error *err)
{
    struct ttp_scan_frame whole;
    bool there;
    if (!ends_in_last(s))
        return TTAPE_OK;
    TTP_TRY(scan_whole(tree, s, s->last, is_full, &whole, &there, err));
    if (!there)
        return TTAPE_OK;
    add_scan(f, &whole);
    s->node.end = ttp_scan_end_of(&whole);
    s->node.end_ns = s->node.end_most_ns = whole.end_ns;
    s->node.time_ns = ttp_between(s->node.start_ns, s->node.end_ns);
    s->node.self_ns = s->self_before_ns;
    ttp_add_ns(&s->node.self_ns, whole.self_ns);
    s->node.self_exact = true;
    return TTAPE_OK;
}

/* The segment where the frame ends is decoded while the one where it begins is: with the tree's
 * jobs, whether the reader has any or not. */
static void prefetch(const struct ttape_tree *tree, const struct ttp_span *s)
{
    struct ttp_trace_decoder *d = tree->lease.decoder;
    uint32_t first = ttp_tree_entry(tree, s->stream, s->first)->partition;
    uint32_t last = ttp_tree_entry(tree, s->stream, s->last)->partition;
    if (s->from_start || !ends_in_last(s) || first == last || ttp_cache_find(d, first) != NULL)
        return;
    ttp_prefetch_want(d, first, &last, 1, TTP_STAGE_ORDER);
}

ttape_status ttp_tree_fill_span(struct ttape_tree *tree, struct ttp_span *s, ttape_tree_mode mode,
                                ttape_error *err)
{
    struct filling f = {0};
    if (mode == TTAPE_TREE_PRUNED)
        return TTAPE_OK;
    prefetch(tree, s);
    bool is_full = mode == TTAPE_TREE_FULL;
    TTP_TRY(fill_head(tree, s, is_full, &f, err));
    TTP_TRY(fill_tail(tree, s, is_full, &f, err));
    s->node.pruned.time_ns = s->between_ns;
    s->node.rest_ns = f.away_ns;
    ttp_add_ns(&s->node.rest_ns, s->middle_ns);
    bool whole = s->stay_count == 0; /* it begins and ends in neighbouring partitions */
    if (!is_full && !whole)
        return TTAPE_OK;
    uint32_t first = s->from_start ? s->first : s->first + 1;
    uint32_t end = ends_in_last(s) ? s->last : s->last + 1;
    for (uint32_t i = first; i < end; i++)
        TTP_TRY(fill_segment_of(tree, s, i, is_full, &f, err));
    s->node.rest_ns = f.away_ns;
    s->node.pruned = (ttape_pruned){.calls_exact = true};
    s->node.counts_exact = true;
    s->node.event_count = f.event_count;
    s->node.call_count = f.call_count;
    return TTAPE_OK;
}

static ttape_status fill_stream_segment(struct ttape_tree *tree, uint32_t stream, uint32_t ordinal,
                                        struct filling *f, ttape_error *err)
{
    struct ttp_scan scan;
    bool there;
    uint32_t partition = ttp_tree_entry(tree, stream, ordinal)->partition;
    uint32_t segment = ttp_tree_segment_number(tree, stream, ordinal);
    bool is_done;
    scan = (struct ttp_scan){0};
    TTP_TRY(ttp_scan_stacks(tree, partition, segment, &is_done, &scan.node, err));
    if (is_done || ttp_tree_edges_find(tree, partition, segment, TTP_EDGE_ROOT, 0, &scan.node)) {
        add_scan(f, &scan.node);
        return TTAPE_OK;
    }
    for (uint32_t stack, from = 0;; from = stack + 1) {
        TTP_TRY(ttp_scan_next_stack(tree, partition, segment, from, &stack, err));
        if (stack == TTAPE_NONE)
            return TTAPE_OK;
        TTP_TRY(
            ttp_tree_scan_segment(tree, stream, ordinal, stack, TTAPE_NONE, &scan, &there, err));
        if (!there)
            continue;
        TTP_TRY(ttp_scan_rest(&scan, tree, err));
        scan.node.away_ns = 0; /* of several stacks, each is away while others are not */
        add_scan(f, &scan.node);
    }
}

ttape_status ttp_tree_fill_stream(struct ttape_tree *tree, ttape_node *node, ttape_error *err)
{
    const struct ttp_outline *o;
    const struct ttp_tree_segment *g;
    struct filling f = {0};
    uint32_t stream = node->id.stream;
    for (uint32_t i = 0; i < ttp_tree_segment_count(tree, stream); i++) {
        TTP_TRY(ttp_tree_bare_outline(tree, stream, i, &o, &g, err));
        if (g != NULL)
            TTP_TRY(fill_stream_segment(tree, stream, i, &f, err));
    }
    node->self_ns = f.self_ns;
    node->self_exact = node->counts_exact = true;
    node->event_count = f.event_count;
    node->call_count = f.call_count;
    node->rest_ns = 0;
    node->pruned = (ttape_pruned){.calls_exact = true};
    return TTAPE_OK;
}
