/* A frame is followed from segment to segment as long as it stays; what it did in each is added
 * up. */
#include "answers/tree/tree_span.h"

#include "format/base/fail.h"

ttape_status ttp_tree_continues(struct ttape_tree *tree, uint32_t stream, uint32_t ordinal,
                                bool *out, ttape_error *err)
{
    const struct ttp_outline *o;
    const struct ttp_tree_segment *g;
    *out = false;
    if (ordinal == 0)
        return TTAPE_OK;
    const struct ttp_segment_entry *before = ttp_tree_entry(tree, stream, ordinal - 1);
    const struct ttp_segment_entry *seg = ttp_tree_entry(tree, stream, ordinal);
    if (before->first_event + before->event_count != seg->first_event)
        return TTAPE_OK;
    TTP_TRY(ttp_tree_bare_outline(tree, stream, ordinal - 1, &o, &g, err));
    *out = g != NULL;
    return TTAPE_OK;
}

enum ttp_span_fate ttp_tree_fate(const struct ttp_outline *o,
                                 const struct ttp_tree_segment *segment, uint32_t stack,
                                 uint32_t level)
{
    if (ttp_tree_start_at(o, segment, stack, level) == TTAPE_NONE)
        return TTP_SPAN_LOST;
    if (level >= ttp_tree_stay_height(o, segment, stack))
        return TTP_SPAN_ENDS;
    /* Edges that were made up may have it in one list only, or not where it is looked for. */
    bool is_there = ttp_tree_end_at(o, segment, stack, level) != TTAPE_NONE;
    return is_there ? TTP_SPAN_STAYS : TTP_SPAN_LOST;
}

bool ttp_tree_holds(const struct ttp_tree_segment *segment, enum ttp_tree_holder as, uint32_t stack,
                    uint32_t level)
{
    return segment->holder == as &&
           (as == TTP_HOLDER_STREAM || (stack == 0 && segment->holder_level == level));
}

/* The part of a segment counts for the frame that holds it, and for those below that one. */
static void count_part(struct ttp_span *s, const struct ttp_tree_segment *g,
                       enum ttp_tree_holder as)
{
    if (as != TTP_HOLDER_STAYS && (g->holder != as || s->stack != 0 || g->holder_level < s->level))
        return;
    s->node.pruned.part_count++;
    s->node.pruned.event_count += g->event_count;
    s->node.pruned.call_count += g->call_count;
    s->node.pruned.calls_exact = s->node.pruned.calls_exact && g->calls_exact;
}

/* ---- one segment's share ---- */

/* A frame that the segment tells no more of than that it stays: none is looked at for it. */
static bool is_quiet(const struct ttp_span *s, const struct ttp_tree_segment *g)
{
    return g->one_stack && s->stack == 0 && s->level < g->quiet;
}

static void add_stay(struct ttp_span *s, const struct ttp_outline *o,
                     const struct ttp_tree_segment *g, int64_t *known)
{
    int64_t self = 0, here = ttp_plus(g->start_known_ns, g->added_known_ns);
    if (!is_quiet(s, g)) {
        uint32_t start = ttp_tree_start_at(o, g, s->stack, s->level);
        uint32_t end = ttp_tree_end_at(o, g, s->stack, s->level);
        const struct ttp_tree_frame *a = ttp_tree_start_frame(o, g, start);
        const struct ttp_tree_frame *b = ttp_tree_end_frame(o, g, end);
        self = ttp_minus(end < g->kept ? b->end_self_ns : b->self_ns, a->self_ns);
        here = g->one_stack ? ttp_plus(a->known_ns, g->added_known_ns) : self;
    }
    ttp_add_ns(&s->node.self_ns, self);
    ttp_add_ns(known, here);
    ttp_add_ns(&s->between_ns, ttp_minus(ttp_between(g->base_ns, g->end_ns), here));
    s->node.end_ns = g->end_ns;
    s->stay_count++;
    if (g->one_stack && s->level + 1 == g->kept) {
        ttp_add_ns(&s->node.rest_ns, g->middle_ns);
        ttp_add_ns(&s->middle_ns, g->middle_ns);
    }
    count_part(s, g, TTP_HOLDER_STAYS);
}

/* Time behind the base that belongs to the child that was open there, as far as that is known. */
static int64_t child_tail(const struct ttp_outline *o, const struct ttp_tree_segment *g,
                          uint32_t stack, uint32_t level)
{
    uint32_t child = ttp_tree_start_at(o, g, stack, level);
    if (child == TTAPE_NONE)
        return 0;
    return ttp_between(g->base_ns, ttp_tree_start_frame(o, g, child)->end_ns);
}

static void add_end(struct ttp_span *s, const struct ttp_outline *o,
                    const struct ttp_tree_segment *g, int64_t *known)
{
    uint32_t start = ttp_tree_start_at(o, g, s->stack, s->level);
    const struct ttp_tree_frame *f = ttp_tree_start_frame(o, g, start);
    int64_t self = f->self_known ? ttp_minus(f->end_self_ns, f->self_ns) : 0;
    s->node.last_partition = o->partition;
    s->node.end = f->end_known ? TTAPE_NODE_ENDED : TTAPE_NODE_HIDDEN;
    s->node.end_ns = f->end_ns;
    s->node.end_most_ns = f->end_known ? f->end_ns : g->end_ns;
    s->node.self_exact = s->node.self_exact && f->self_known;
    s->self_before_ns = s->node.self_ns;
    ttp_add_ns(&s->node.self_ns, self);
    ttp_add_ns(known, f->known_ns);
    count_part(s, g, TTP_HOLDER_ENDS);
    if (!ttp_tree_holds(g, TTP_HOLDER_ENDS, s->stack, s->level))
        ttp_add_ns(&s->node.rest_ns, ttp_minus(ttp_minus(ttp_between(g->base_ns, f->end_ns), self),
                                               child_tail(o, g, s->stack, s->level + 1)));
}

/* From the enter to the end of the segment. */
static void add_start(struct ttp_span *s, const struct ttp_outline *o,
                      const struct ttp_tree_segment *g, uint32_t number, int64_t *known)
{
    const struct ttp_tree_frame *f = ttp_tree_end_frame(o, g, number);
    uint32_t child = ttp_tree_end_at(o, g, s->stack, s->level + 1);
    int64_t rest = ttp_minus(ttp_between(f->enter_ns, g->end_ns), f->self_ns);
    s->node.self_ns = f->self_ns;
    s->node.end_ns = g->end_ns;
    if (child != TTAPE_NONE)
        rest = ttp_minus(rest, ttp_between(ttp_tree_end_frame(o, g, child)->enter_ns, g->end_ns));
    s->node.rest_ns = ttp_tree_holds(g, TTP_HOLDER_COMES, s->stack, s->level) ? 0 : rest;
    count_part(s, g, TTP_HOLDER_COMES);
    *known = g->one_stack ? f->known_ns : f->self_ns;
}

/* ---- following ---- */

static ttape_status follow_span(struct ttape_tree *tree, struct ttp_span *s, uint32_t ordinal,
                                int64_t *known, ttape_error *err)
{
    const struct ttp_outline *o;
    const struct ttp_tree_segment *g;
    uint32_t count = ttp_tree_segment_count(tree, s->stream);
    s->node.end = TTAPE_NODE_OPEN;
    for (; ordinal < count; ordinal++) {
        bool goes_on = true;
        if (ordinal != s->first)
            TTP_TRY(ttp_tree_continues(tree, s->stream, ordinal, &goes_on, err));
        TTP_TRY(ttp_tree_bare_outline(tree, s->stream, ordinal, &o, &g, err));
        if (g != NULL && !is_quiet(s, g))
            TTP_TRY(ttp_tree_outline(tree, s->stream, ordinal, &o, &g, err));
        enum ttp_span_fate fate = TTP_SPAN_LOST;
        if (goes_on && g != NULL)
            fate = ttp_tree_fate(o, g, s->stack, s->level);
        if (fate == TTP_SPAN_LOST) {
            s->node.end = TTAPE_NODE_LOST;
            break;
        }
        s->last = ordinal;
        s->node.last_partition = o->partition;
        if (fate == TTP_SPAN_ENDS) {
            add_end(s, o, g, known);
            break;
        }
        add_stay(s, o, g, known);
    }
    if (s->node.end != TTAPE_NODE_HIDDEN)
        s->node.end_most_ns = s->node.end_ns;
    return TTAPE_OK;
}

static ttape_status no_frame(ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_NOT_FOUND, "", TTAPE_ERROR_NO_OFFSET, "no such frame");
}

static void describe(struct ttp_span *s, const ttape_node_id *id, const struct ttp_tree_frame *f,
                     const struct ttp_tree_segment *g)
{
    s->stack = f->stack;
    s->node = (ttape_node){.id = *id,
                           .frame_kind = f->kind,
                           .site = f->site,
                           .argument = f->argument,
                           .stack = f->stack,
                           .level = s->level,
                           .first_partition = id->partition,
                           .last_partition = id->partition,
                           .enter_ns = f->enter_ns,
                           .start_ns = s->from_start ? g->base_ns : f->enter_ns,
                           .self_exact = true,
                           .is_spanning = true,
                           .pruned.calls_exact = true};
    s->node.end_ns = s->node.end_most_ns = s->node.start_ns;
}

ttape_status ttp_tree_span(struct ttape_tree *tree, const ttape_node_id *id, struct ttp_span *out,
                           ttape_error *err)
{
    const struct ttp_outline *o;
    const struct ttp_tree_segment *g;
    struct ttp_span *s = out;
    int64_t known = 0;
    *s = (struct ttp_span){.stream = id->stream, .from_start = id->by == TTAPE_NODE_BY_START};
    s->first = s->last = ttp_tree_ordinal(tree, id->stream, id->partition);
    if (s->first == TTAPE_NONE)
        return no_frame(err);
    TTP_TRY(ttp_tree_outline(tree, id->stream, s->first, &o, &g, err));
    if (g == NULL)
        return ttp_tree_damage(tree, o->partition, err);
    if (id->place >= (s->from_start ? g->start_count : g->end_count))
        return no_frame(err);
    if (s->from_start) {
        bool goes_on;
        TTP_TRY(ttp_tree_continues(tree, id->stream, s->first, &goes_on, err));
        if (goes_on)
            return no_frame(err);
        TTP_TRY(ttp_tree_whole_outline(tree, id->stream, s->first, &o, &g, err));
        if (g == NULL)
            return ttp_tree_damage(tree, o->partition, err);
    }
    uint32_t number = (uint32_t)id->place;
    s->level = ttp_tree_level(o, g, number, s->from_start);
    describe(s, id,
             s->from_start ? ttp_tree_start_frame(o, g, number) : ttp_tree_end_frame(o, g, number),
             g);
    if (s->from_start) {
        TTP_TRY(follow_span(tree, s, s->first, &known, err));
    } else {
        if (s->level < ttp_tree_stay_height(o, g, s->stack))
            return no_frame(err);
        add_start(s, o, g, number, &known);
        TTP_TRY(follow_span(tree, s, s->first + 1, &known, err));
    }
    s->node.time_ns = ttp_between(s->node.start_ns, s->node.end_ns);
    s->node.pruned.time_ns = ttp_minus(s->node.time_ns, known);
    return TTAPE_OK;
}

/* ---- parts, streams, the trace ---- */

/* What the frames of a segment's edges were on top for in it. */
static int64_t known_of(const struct ttp_tree_segment *g)
{
    return ttp_plus(g->start_known_ns, g->added_known_ns);
}

ttape_status ttp_tree_part_node(struct ttape_tree *tree, uint32_t stream, uint32_t ordinal,
                                ttape_node *out, ttape_error *err)
{
    const struct ttp_outline *o;
    const struct ttp_tree_segment *g;
    TTP_TRY(ttp_tree_bare_outline(tree, stream, ordinal, &o, &g, err));
    if (g == NULL)
        return ttp_tree_damage(tree, o->partition, err);
    *out =
        (ttape_node){.id = {.kind = TTAPE_NODE_PART, .stream = stream, .partition = o->partition},
                     .site = TTAPE_NONE,
                     .level = g->one_stack ? g->kept : 0,
                     .first_partition = o->partition,
                     .last_partition = o->partition,
                     .enter_ns = g->base_ns,
                     .start_ns = g->base_ns,
                     .end_ns = g->end_ns,
                     .end_most_ns = g->end_ns,
                     .time_ns = g->held_ns,
                     .pruned = {.part_count = 1,
                                .event_count = g->event_count,
                                .call_count = g->call_count,
                                .calls_exact = g->calls_exact}};
    out->pruned.time_ns = ttp_minus(ttp_between(g->base_ns, g->end_ns), known_of(g));
    return TTAPE_OK;
}

static void add_segment(ttape_node *node, const struct ttp_outline *o,
                        const struct ttp_tree_segment *g, bool first)
{
    int64_t time = ttp_between(g->base_ns, g->end_ns);
    if (first) {
        node->enter_ns = node->start_ns = g->base_ns;
        node->first_partition = o->partition;
    }
    node->end_ns = node->end_most_ns = g->end_ns;
    node->last_partition = o->partition;
    ttp_add_ns(&node->time_ns, time);
    if (g->kept == 0)
        ttp_add_ns(&node->rest_ns, g->middle_ns);
    ttp_add_ns(&node->pruned.time_ns, ttp_minus(time, known_of(g)));
    node->pruned.part_count++;
    node->pruned.event_count += g->event_count;
    node->pruned.call_count += g->call_count;
    node->pruned.calls_exact = node->pruned.calls_exact && g->calls_exact;
}

ttape_status ttp_tree_stream_node(struct ttape_tree *tree, uint32_t stream, ttape_node *out,
                                  ttape_error *err)
{
    const struct ttp_outline *o;
    const struct ttp_tree_segment *g;
    bool first = true;
    *out = (ttape_node){.id = {.kind = TTAPE_NODE_STREAM, .stream = stream},
                        .site = TTAPE_NONE,
                        .is_spanning = true,
                        .pruned.calls_exact = true};
    for (uint32_t i = 0; i < ttp_tree_segment_count(tree, stream); i++) {
        TTP_TRY(ttp_tree_bare_outline(tree, stream, i, &o, &g, err));
        if (g == NULL)
            continue;
        add_segment(out, o, g, first);
        first = false;
    }
    return TTAPE_OK;
}

ttape_status ttp_tree_trace_node(struct ttape_tree *tree, ttape_node *out, ttape_error *err)
{
    ttape_node stream;
    bool first = true;
    *out = (ttape_node){.id = {.kind = TTAPE_NODE_TRACE},
                        .site = TTAPE_NONE,
                        .is_spanning = true,
                        .pruned.calls_exact = true};
    for (uint32_t i = 0; i < tree->reader->indexed_streams; i++) {
        if (ttp_tree_segment_count(tree, i) == 0)
            continue;
        TTP_TRY(ttp_tree_stream_node(tree, i, &stream, err));
        if (first || stream.start_ns < out->start_ns)
            out->enter_ns = out->start_ns = stream.start_ns;
        if (first || stream.end_ns > out->end_ns)
            out->end_ns = out->end_most_ns = stream.end_ns;
        if (first || stream.first_partition < out->first_partition)
            out->first_partition = stream.first_partition;
        if (stream.last_partition > out->last_partition)
            out->last_partition = stream.last_partition;
        first = false;
        ttp_add_ns(&out->time_ns, stream.time_ns);
        ttp_add_ns(&out->pruned.time_ns, stream.pruned.time_ns);
        out->pruned.part_count += stream.pruned.part_count;
        out->pruned.event_count += stream.pruned.event_count;
        out->pruned.call_count += stream.pruned.call_count;
        out->pruned.calls_exact = out->pruned.calls_exact && stream.pruned.calls_exact;
    }
    return TTAPE_OK;
}
