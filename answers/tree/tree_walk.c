/* A walk goes from segment to segment; in each come, in this order:
 *
 *   head    local children between the frame's enter and the segment's end        opened, full
 *   start   frames that are open behind a hole in the stream
 *   local   the segment's part, or what it holds                                  full: scanned
 *   tail    local children before the frame's end                             opened, full
 *   added   the spanning child that comes in the segment and stays */
#include <string.h>

#include "answers/tree/tree_below.h"
#include "answers/tree/tree_edges.h"
#include "answers/tree/tree_local.h"
#include "format/base/fail.h"
#include "reader/base/choice.h"

enum phase { HEAD, START, LOCAL, ADDED, NEXT };

struct ttape_tree_walk {
    struct ttape_tree *tree;
    struct ttape_tree_walk *next; /* the tree's list */
    ttape_node_kind kind;
    ttape_tree_mode mode;
    uint32_t stream;      /* TRACE: the next one */
    struct ttp_span span; /* FRAME by edge; of a stream: first and last only */
    enum phase phase;
    uint32_t ordinal, number; /* number: in an edge's list */
    bool by_edge;             /* streams and spanning frames: goes from segment to segment */
    /* children that events tell */
    struct ttp_scan scan;
    bool scanning;
    uint32_t next_stack; /* of the segment: none below it is left */
    uint32_t child_level;
    struct ttp_tree_room *room; /* during a call that asks for all levels */
    struct ttp_below below;
};

static bool is_stream(const ttape_tree_walk *w) { return w->kind == TTAPE_NODE_STREAM; }

/* ---- scanned children ---- */

/* Where the children that are local end: another one is open from there on to the segment's end. */
static ttape_status find_last_local(ttape_tree_walk *w, uint32_t *end, ttape_error *err)
{
    const struct ttp_outline *o;
    const struct ttp_tree_segment *g;
    const struct ttp_scan *s = &w->scan;
    *end = s->end;
    TTP_TRY(ttp_tree_bare_outline(w->tree, w->stream, w->ordinal, &o, &g, err));
    if (g == NULL || ttp_tree_end_at(o, g, s->stack, w->child_level) == TTAPE_NONE)
        return TTAPE_OK;
    if (w->child_level < ttp_tree_stay_height(o, g, s->stack)) {
        *end = s->event;
        return TTAPE_OK;
    }
    return ttp_scan_enter_of(w->tree, s->partition, s->segment, s->stack, w->child_level, end, err);
}

/* The next ones at all levels, to the room. */
static ttape_status next_below(ttape_tree_walk *w, ttape_error *err)
{
    if (!w->below.is_on) {
        uint32_t end;
        if (w->mode == TTAPE_TREE_FULL)
            (void)ttp_tree_edges_bare(w->tree, &w->scan);
        TTP_TRY(find_last_local(w, &end, err));
        TTP_TRY(ttp_below_begin(&w->below, w->tree, &w->scan, end, w->stream, w->child_level, err));
    }
    return ttp_below_next(&w->below, w->tree, w->room, err);
}

/* The next child that began and ended in the segment. */
static ttape_status next_scanned(ttape_tree_walk *w, ttape_node *out, ttape_error *err)
{
    if (w->room != NULL && w->room->depth_most > 1) {
        ttape_status status = next_below(w, err);
        w->scanning = w->below.is_on = status == TTAPE_OK;
        return status;
    }
    for (;;) {
        ttape_status status = ttp_scan_next(&w->scan, w->tree, err);
        if (status != TTAPE_OK) {
            w->scanning = false;
            return status;
        }
        if (!w->scan.child.is_tail && w->scan.child.ended)
            return ttp_tree_local_node(w->tree, w->stream, w->ordinal, &w->scan.child,
                                       w->scan.stack, w->child_level, out, err);
    }
}

/* Starts a scan of the frame at (stack, level), or of the stack, in the segment at hand. */
static ttape_status start_scan(ttape_tree_walk *w, uint32_t stack, uint32_t level, ttape_error *err)
{
    w->child_level = level == TTAPE_NONE ? 0 : level + 1;
    return ttp_tree_scan_segment(w->tree, w->stream, w->ordinal, stack, level, &w->scan,
                                 &w->scanning, err);
}

/* The segment's next stack, and how many frames stay on it throughout; TTAPE_NONE: none is
 * left. */
static ttape_status next_stack(ttape_tree_walk *w, uint32_t *stack, uint32_t *stay,
                               ttape_error *err)
{
    const struct ttp_outline *o;
    const struct ttp_tree_segment *g;
    uint32_t partition = ttp_tree_entry(w->tree, w->stream, w->ordinal)->partition;
    uint32_t segment = ttp_tree_segment_number(w->tree, w->stream, w->ordinal);
    uint32_t from = w->next_stack;
    w->next_stack = TTAPE_NONE; /* also where it fails */
    TTP_TRY((is_stream(w) ? ttp_scan_next_parent : ttp_scan_next_stack)(w->tree, partition, segment,
                                                                        from, stack, err));
    if (*stack == TTAPE_NONE)
        return TTAPE_OK;
    w->next_stack = *stack + 1;
    TTP_TRY(ttp_tree_bare_outline(w->tree, w->stream, w->ordinal, &o, &g, err));
    *stay = g == NULL ? 0 : ttp_tree_stay_height(o, g, *stack);
    return TTAPE_OK;
}

/* ---- segments of a stream or a spanning frame ---- */

static ttape_status edge_child(ttape_tree_walk *w, ttape_node_by by, uint32_t partition,
                               uint32_t number, ttape_node *out, ttape_error *err)
{
    struct ttp_span child;
    const ttape_node_id id = {.kind = TTAPE_NODE_FRAME,
                              .by = by,
                              .stream = w->stream,
                              .partition = partition,
                              .place = number};
    TTP_TRY(ttp_tree_span(w->tree, &id, &child, err));
    if (w->mode == TTAPE_TREE_FULL)
        TTP_TRY(ttp_tree_fill_span(w->tree, &child, w->mode, err));
    *out = child.node;
    return TTAPE_OK;
}

/* The next frame of an edge's list that can be a child: of a stream the outermost of each stack; of
 * a frame the one above it, of which there is one at most. TTAPE_NONE: none is left. */
static uint32_t next_number(ttape_tree_walk *w, const struct ttp_outline *o,
                            const struct ttp_tree_segment *g, bool at_start)
{
    uint32_t count = at_start ? g->start_count : g->end_count;
    if (is_stream(w)) {
        count = g->one_stack && count > 1 ? 1 : count;
        while (w->number < count) {
            uint32_t number = w->number++;
            if (ttp_tree_level(o, g, number, at_start) == 0)
                return number;
        }
        return TTAPE_NONE;
    }
    if (w->number != 0)
        return TTAPE_NONE;
    w->number = 1;
    return (at_start ? ttp_tree_start_at : ttp_tree_end_at)(o, g, w->span.stack, w->span.level + 1);
}

/* Frames of the start edge that are children and belong to nothing before. */
static ttape_status do_start(ttape_tree_walk *w, ttape_node *out, ttape_error *err)
{
    const struct ttp_outline *o;
    const struct ttp_tree_segment *g;
    bool goes_on = false;
    if (is_stream(w))
        TTP_TRY(ttp_tree_continues(w->tree, w->stream, w->ordinal, &goes_on, err));
    else
        goes_on = !w->span.from_start || w->ordinal != w->span.first;
    TTP_TRY(ttp_tree_bare_outline(w->tree, w->stream, w->ordinal, &o, &g, err));
    uint32_t number = goes_on || g == NULL ? TTAPE_NONE : next_number(w, o, g, true);
    if (number != TTAPE_NONE)
        return edge_child(w, TTAPE_NODE_BY_START, o->partition, number, out, err);
    w->phase = LOCAL;
    w->next_stack = 0;
    return TTAPE_END;
}

static ttape_status do_added(ttape_tree_walk *w, ttape_node *out, ttape_error *err)
{
    const struct ttp_outline *o;
    const struct ttp_tree_segment *g;
    TTP_TRY(ttp_tree_bare_outline(w->tree, w->stream, w->ordinal, &o, &g, err));
    uint32_t number, wanted = is_stream(w) ? 0 : w->span.level + 1;
    while (g != NULL && (number = next_number(w, o, g, false)) != TTAPE_NONE) {
        uint32_t stack = g->one_stack ? 0 : ttp_tree_end_frame(o, g, number)->stack;
        if (ttp_tree_stay_height(o, g, stack) <= wanted)
            return edge_child(w, TTAPE_NODE_BY_END, o->partition, number, out, err);
    }
    w->phase = NEXT;
    return TTAPE_END;
}

static bool ends_here(const ttape_tree_walk *w)
{
    return !is_stream(w) && w->ordinal == w->span.last &&
           (w->span.node.end == TTAPE_NODE_ENDED || w->span.node.end == TTAPE_NODE_HIDDEN);
}

static void after_local(ttape_tree_walk *w)
{
    w->phase = ends_here(w) ? NEXT : ADDED;
    w->number = 0;
}

/* Full: what the segment holds of the stream, stack by stack. */
static ttape_status start_stream_scan(ttape_tree_walk *w, ttape_error *err)
{
    uint32_t stay = 0, stack = TTAPE_NONE;
    ttape_status status = next_stack(w, &stack, &stay, err);
    if (stack == TTAPE_NONE)
        after_local(w);
    if (status == TTAPE_OK && stack != TTAPE_NONE && stay == 0)
        status = start_scan(w, stack, TTAPE_NONE, err);
    return status == TTAPE_OK ? TTAPE_END : status;
}

static ttape_status do_local(ttape_tree_walk *w, ttape_node *out, ttape_error *err)
{
    const struct ttp_outline *o;
    const struct ttp_tree_segment *g;
    uint32_t level = is_stream(w) ? TTAPE_NONE : w->span.level, stack = w->span.stack;
    TTP_TRY(ttp_tree_bare_outline(w->tree, w->stream, w->ordinal, &o, &g, err));
    if (g == NULL) {
        w->phase = NEXT;
        return ttp_tree_damage(w->tree, o->partition, err);
    }
    if (is_stream(w) && w->mode == TTAPE_TREE_FULL)
        return start_stream_scan(w, err);
    enum ttp_tree_holder as = is_stream(w)   ? TTP_HOLDER_STREAM
                              : ends_here(w) ? TTP_HOLDER_ENDS
                                             : TTP_HOLDER_STAYS;
    bool holds = ttp_tree_holds(g, as, stack, level);
    bool child_stays = !is_stream(w) && ttp_tree_stay_height(o, g, stack) > level + 1;
    after_local(w);
    if (ends_here(w) ? w->mode != TTAPE_TREE_PRUNED : w->mode == TTAPE_TREE_FULL && !child_stays)
        TTP_TRY(start_scan(w, stack, level, err));
    else if (holds)
        return ttp_tree_part_node(w->tree, w->stream, w->ordinal, out, err);
    return TTAPE_END;
}

static ttape_status do_head(ttape_tree_walk *w, ttape_node *out, ttape_error *err)
{
    const struct ttp_outline *o;
    const struct ttp_tree_segment *g;
    w->phase = ADDED;
    w->number = 0;
    TTP_TRY(ttp_tree_bare_outline(w->tree, w->stream, w->ordinal, &o, &g, err));
    if (w->mode == TTAPE_TREE_PRUNED) {
        bool holds = g != NULL && ttp_tree_holds(g, TTP_HOLDER_COMES, w->span.stack, w->span.level);
        return holds ? ttp_tree_part_node(w->tree, w->stream, w->ordinal, out, err) : TTAPE_END;
    }
    w->child_level = w->span.level + 1;
    TTP_TRY(ttp_tree_scan_head(w->tree, &w->span, &w->scan, err));
    w->scanning = true;
    return TTAPE_END;
}

/* TTAPE_END: this phase has no further child, another one follows. */
static ttape_status do_phase(ttape_tree_walk *w, ttape_node *out, ttape_error *err)
{
    switch (w->phase) {
    case HEAD: return do_head(w, out, err);
    case START: return do_start(w, out, err);
    case LOCAL: return do_local(w, out, err);
    case ADDED: return do_added(w, out, err);
    default:
        w->ordinal++;
        w->number = 0;
        w->phase = START;
        return TTAPE_END;
    }
}

static ttape_status next_of_segments(ttape_tree_walk *w, ttape_node *out, ttape_error *err)
{
    while (w->scanning || w->ordinal <= w->span.last) {
        ttape_status status = w->scanning ? next_scanned(w, out, err) : do_phase(w, out, err);
        if (status != TTAPE_END)
            return status;
    }
    return TTAPE_END;
}

/* What came in the segment and holds its part. */
static ttape_status start_head_scan(ttape_tree_walk *w, uint32_t level, ttape_error *err)
{
    const struct ttp_span holder = {
        .stream = w->stream, .level = level, .first = w->ordinal, .last = w->ordinal};
    w->child_level = level + 1;
    TTP_TRY(ttp_tree_scan_head(w->tree, &holder, &w->scan, err));
    w->scanning = true;
    return TTAPE_OK;
}

/* A part's: what is local to its holder; of several stacks, what is above the frames that stay. */
static ttape_status start_part_scan(ttape_tree_walk *w, ttape_error *err)
{
    const struct ttp_outline *o;
    const struct ttp_tree_segment *g;
    uint32_t stay = 0, stack = TTAPE_NONE;
    TTP_TRY(ttp_tree_bare_outline(w->tree, w->stream, w->ordinal, &o, &g, err));
    if (g == NULL || w->next_stack == TTAPE_NONE) {
        w->next_stack = TTAPE_NONE;
        return g == NULL ? ttp_tree_damage(w->tree, o->partition, err) : TTAPE_END;
    }
    if (g->holder != TTP_HOLDER_STREAM) {
        uint32_t level = g->holder_level;
        w->next_stack = TTAPE_NONE;
        return g->holder == TTP_HOLDER_COMES ? start_head_scan(w, level, err)
                                             : start_scan(w, 0, level, err);
    }
    TTP_TRY(next_stack(w, &stack, &stay, err));
    if (stack == TTAPE_NONE)
        return TTAPE_END;
    return start_scan(w, stack, stay == 0 ? TTAPE_NONE : stay - 1, err);
}

static ttape_status next_of_part(ttape_tree_walk *w, ttape_node *out, ttape_error *err)
{
    for (;;) {
        if (w->scanning) {
            ttape_status status = next_scanned(w, out, err);
            if (status != TTAPE_END)
                return status;
        }
        TTP_TRY(start_part_scan(w, err)); /* TTAPE_END among others */
    }
}

static ttape_status next_stream(ttape_tree_walk *w, ttape_node *out, ttape_error *err)
{
    while (w->stream < w->tree->reader->indexed_streams) {
        uint32_t stream = w->stream++;
        if (ttp_tree_segment_count(w->tree, stream) == 0)
            continue;
        TTP_TRY(ttp_tree_stream_node(w->tree, stream, out, err));
        return w->mode == TTAPE_TREE_FULL ? ttp_tree_fill_stream(w->tree, out, err) : TTAPE_OK;
    }
    return TTAPE_END;
}

static ttape_status walk_next_leased(ttape_tree_walk *w, ttape_node *out, ttape_error *err)
{
    switch (w->kind) {
    case TTAPE_NODE_TRACE: return next_stream(w, out, err);
    case TTAPE_NODE_PART: return next_of_part(w, out, err);
    default: break;
    }
    if (w->by_edge)
        return next_of_segments(w, out, err);
    return w->scanning ? next_scanned(w, out, err) : TTAPE_END;
}

ttape_status ttape_tree_walk_next(ttape_tree_walk *w, ttape_node *out, ttape_error *err)
{
    TTP_TRY(ttp_lease_begin(&w->tree->lease, err));
    ttape_status status = walk_next_leased(w, out, err);
    ttp_lease_end(&w->tree->lease);
    return status;
}

ttape_status ttape_tree_walk_next_nodes(ttape_tree_walk *w, uint32_t depth_most, ttape_node *nodes,
                                        uint32_t *depths, size_t capacity, size_t *count,
                                        ttape_error *err)
{
    struct ttp_tree_room room = {nodes, depths, capacity, 0, depth_most};
    *count = 0;
    if (capacity == 0 || depth_most == 0)
        return ttp_refuse(err, "no room for nodes");
    TTP_TRY(ttp_lease_begin(&w->tree->lease, err));
    w->room = &room;
    ttape_status status = walk_next_leased(w, nodes, err);
    w->room = NULL;
    ttp_lease_end(&w->tree->lease);
    if (status != TTAPE_OK)
        return status;
    if (room.count == 0)
        depths[room.count++] = 1;
    *count = room.count;
    return TTAPE_OK;
}

/* ---- opening ---- */

static ttape_status open_frame(ttape_tree_walk *w, const ttape_node_id *id, ttape_error *err)
{
    ttape_node node;
    struct ttp_loaded *p;
    w->by_edge = true;
    if (id->by == TTAPE_NODE_BY_EVENT)
        TTP_TRY(
            ttp_tree_event_node(w->tree, id->stream, id->place, &node, &w->by_edge, &w->span, err));
    else
        TTP_TRY(ttp_tree_span(w->tree, id, &w->span, err));
    if (w->by_edge) {
        w->ordinal = w->span.first;
        w->phase = w->span.from_start ? START : HEAD;
        return TTAPE_OK;
    }
    w->ordinal = ttp_tree_ordinal(w->tree, id->stream, node.id.partition);
    const struct ttp_segment_entry *seg = ttp_tree_entry(w->tree, id->stream, w->ordinal);
    uint32_t segment = ttp_tree_segment_number(w->tree, id->stream, w->ordinal);
    TTP_TRY(ttp_loaded_get(w->tree->lease.decoder, seg->partition, TTP_STAGE_LIGHT, &p, err));
    uint32_t event = p->segment_start[segment] + (uint32_t)(node.id.place - seg->first_event);
    w->child_level = node.level + 1;
    w->scan = (struct ttp_scan){
        .partition = seg->partition, .segment = segment, .event = event + 1, .stack = node.stack};
    TTP_TRY(ttp_scan_open(&w->scan, w->tree, err));
    w->scanning = true;
    return TTAPE_OK;
}

static ttape_status open_walk(ttape_tree_walk *w, const ttape_node_id *id, ttape_error *err)
{
    w->stream = id->kind == TTAPE_NODE_TRACE ? 0 : id->stream;
    uint32_t segments = ttp_tree_segment_count(w->tree, w->stream);
    if (id->kind == TTAPE_NODE_TRACE)
        return TTAPE_OK;
    if (id->kind == TTAPE_NODE_FRAME)
        return open_frame(w, id, err);
    if (id->kind == TTAPE_NODE_STREAM) {
        w->by_edge = true;
        w->phase = START;
        w->span.last = segments - 1;
        return TTAPE_OK;
    }
    w->ordinal = ttp_tree_ordinal(w->tree, id->stream, id->partition);
    if (w->ordinal == TTAPE_NONE)
        return ttp_fail(err, TTAPE_E_NOT_FOUND, "", TTAPE_ERROR_NO_OFFSET,
                        "stream '%u' is not in partition '%u'", id->stream, id->partition);
    return TTAPE_OK;
}

static ttape_status walk_open_leased(ttape_tree_walk **out, ttape_tree *tree,
                                     const ttape_node_id *id, ttape_tree_mode mode,
                                     ttape_error *err)
{
    if (out == NULL)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET, "no place for a walk");
    *out = NULL;
    if (tree == NULL || id == NULL || id->kind >= TTAPE_NODE_KIND_COUNT ||
        mode >= TTAPE_TREE_MODE_COUNT)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET, "no such node or mode");
    TTP_TRY(ttp_tree_check_id(tree, id, err));
    ttape_tree_walk *w = ttp_memory_take(&tree->memory, 1, sizeof *w, err);
    if (w == NULL)
        return tree->memory.status;
    *w = (ttape_tree_walk){.tree = tree, .next = tree->walks, .kind = id->kind, .mode = mode};
    tree->walks = w;
    ttape_status status = open_walk(w, id, err);
    if (status != TTAPE_OK)
        ttape_tree_walk_close(w);
    else
        *out = w;
    return status;
}

ttape_status ttape_tree_walk_open(ttape_tree_walk **out, ttape_tree *tree, const ttape_node_id *id,
                                  ttape_tree_mode mode, ttape_error *err)
{
    if (tree == NULL)
        return walk_open_leased(out, tree, id, mode, err);
    TTP_TRY(ttp_lease_begin(&tree->lease, err));
    ttape_status status = walk_open_leased(out, tree, id, mode, err);
    ttp_lease_end(&tree->lease);
    return status;
}

void ttape_tree_walk_close(ttape_tree_walk *walk)
{
    if (walk == NULL)
        return;
    ttape_tree_walk **link = &walk->tree->walks;
    while (*link != walk)
        link = &(*link)->next;
    *link = walk->next;
    ttp_below_close(&walk->below, walk->tree);
    ttp_memory_give(&walk->tree->memory, walk, 1, sizeof *walk);
}
