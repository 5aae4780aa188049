/* Looking up frames of an outline by (stack, level). Lists are sorted by stack, outermost first;
 * the common beginning of both edges is kept once. Behind it a frame of another stack can still
 * be the same on both sides: entered at the same time on the same level. */
#include "answers/tree/tree_internal.h"

const struct ttp_tree_frame *ttp_tree_start_frame(const struct ttp_outline *o,
                                                  const struct ttp_tree_segment *segment,
                                                  uint32_t number)
{
    return &o->frames[ttp_tree_start_index(segment, number)];
}

const struct ttp_tree_frame *ttp_tree_end_frame(const struct ttp_outline *o,
                                                const struct ttp_tree_segment *segment,
                                                uint32_t number)
{
    return number < segment->kept ? &o->frames[ttp_tree_start_index(segment, number)]
                                  : &o->frames[segment->added_first + number - segment->kept];
}

typedef const struct ttp_tree_frame *(*frame_at)(const struct ttp_outline *o,
                                                 const struct ttp_tree_segment *segment,
                                                 uint32_t number);

/* The first frame of a stack, or of one behind it. */
static uint32_t first_of(const struct ttp_outline *o, const struct ttp_tree_segment *segment,
                         frame_at at, uint32_t count, uint64_t stack)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (at(o, segment, middle)->stack < stack)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t find_frame(const struct ttp_outline *o, const struct ttp_tree_segment *segment,
                           frame_at at, uint32_t count, uint32_t stack, uint32_t level)
{
    if (segment->one_stack)
        return stack == 0 && level < count ? level : TTAPE_NONE;
    uint32_t first = first_of(o, segment, at, count, stack);
    if (level >= count - first || at(o, segment, first + level)->stack != stack)
        return TTAPE_NONE;
    return first + level;
}

uint32_t ttp_tree_start_at(const struct ttp_outline *o, const struct ttp_tree_segment *segment,
                           uint32_t stack, uint32_t level)
{
    return find_frame(o, segment, ttp_tree_start_frame, segment->start_count, stack, level);
}

uint32_t ttp_tree_end_at(const struct ttp_outline *o, const struct ttp_tree_segment *segment,
                         uint32_t stack, uint32_t level)
{
    return find_frame(o, segment, ttp_tree_end_frame, segment->end_count, stack, level);
}

uint32_t ttp_tree_level(const struct ttp_outline *o, const struct ttp_tree_segment *segment,
                        uint32_t number, bool at_start)
{
    if (segment->one_stack)
        return number;
    frame_at at = at_start ? ttp_tree_start_frame : ttp_tree_end_frame;
    uint32_t count = at_start ? segment->start_count : segment->end_count;
    return number - first_of(o, segment, at, count, at(o, segment, number)->stack);
}

uint32_t ttp_tree_start_height(const struct ttp_outline *o, const struct ttp_tree_segment *segment,
                               uint32_t stack)
{
    if (segment->one_stack)
        return stack == 0 ? segment->start_count : 0;
    return first_of(o, segment, ttp_tree_start_frame, segment->start_count, stack + 1ull) -
           first_of(o, segment, ttp_tree_start_frame, segment->start_count, stack);
}

uint32_t ttp_tree_stay_height(const struct ttp_outline *o, const struct ttp_tree_segment *segment,
                              uint32_t stack)
{
    if (segment->one_stack)
        return stack == 0 ? segment->kept : 0;
    uint32_t start = first_of(o, segment, ttp_tree_start_frame, segment->start_count, stack);
    uint32_t height = ttp_tree_start_height(o, segment, stack), level = 0;
    while (level < height && ttp_tree_start_frame(o, segment, start + level)->stays)
        level++;
    return level;
}

/* ---- which frames stay ---- */

static bool is_same(const struct ttp_tree_frame *a, const struct ttp_tree_frame *b)
{
    return a->enter_ns == b->enter_ns && a->kind == b->kind && a->site == b->site &&
           a->argument == b->argument;
}

/* A frame of the lists' common beginning stays; one behind it, if the one below it on its stack
 * does and the end edge has the same frame on its level. */
static void find_timed(struct ttp_outline *o, const struct ttp_tree_segment *g)
{
    for (uint32_t i = g->left_out; i < g->start_count; i++) {
        struct ttp_tree_frame *f = &o->frames[ttp_tree_start_index(g, i)];
        uint32_t level = ttp_tree_level(o, g, i, true);
        uint32_t end = ttp_tree_end_at(o, g, f->stack, level);
        f->stays = i < g->kept || (end != TTAPE_NONE && (level == 0 || (f - 1)->stays) &&
                                   is_same(f, ttp_tree_end_frame(o, g, end)));
    }
}

/* While events are gone through, the first frame of each stack keeps how high its stack is now, and
 * at least was, in fields that are 0 without times. */
static void set_heights(struct ttp_tree_frame *start, uint32_t count)
{
    for (uint32_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && start[end].stack == start[first].stack;)
            end++;
        start[first].self_ns = start[first].known_ns = end - first;
    }
}

static void take_heights(struct ttp_tree_frame *start, uint32_t count)
{
    for (uint32_t first = 0, end; first < count; first = end) {
        for (end = first; end < count && start[end].stack == start[first].stack; end++)
            start[end].stays = end - first < start[first].known_ns;
        start[first].self_ns = start[first].known_ns = 0;
    }
}

/* The frame that keeps a stack's height, or NULL. */
static struct ttp_tree_frame *keeper(struct ttp_outline *o, const struct ttp_tree_segment *g,
                                     uint32_t stack)
{
    uint32_t first = first_of(o, g, ttp_tree_start_frame, g->start_count, stack);
    struct ttp_tree_frame *f = o->frames + g->start_first + first;
    return first < g->start_count && f->stack == stack ? f : NULL;
}

static void find_untimed(struct ttp_outline *o, const struct ttp_loaded *p, uint32_t segment)
{
    const struct ttp_tree_segment *g = &o->segments[segment];
    struct ttp_tree_frame *start = o->frames + g->start_first;
    set_heights(start, g->start_count);
    struct ttp_tree_frame *on = keeper(o, g, p->segments.segments[segment].start.stack);
    for (uint32_t i = p->segment_start[segment]; i < p->segment_start[segment + 1]; i++) {
        const struct ttp_code_view *v = &p->views[p->codes[i]];
        if (v->event_class == TTP_CLASS_SWITCH)
            on = keeper(o, g, v->argument);
        else if (on != NULL)
            on->self_ns += v->before + v->after;
        if (on != NULL && on->self_ns < on->known_ns)
            on->known_ns = on->self_ns;
    }
    take_heights(start, g->start_count);
}

bool ttp_tree_needs_events(const struct ttp_loaded *p)
{
    const struct ttp_segments *s = &p->segments;
    bool several = false;
    for (uint32_t i = 0; i < s->start_frame_count; i++)
        several = several || s->start_frames[i].stack != 0;
    return several && p->head.resolution_ns == 0;
}

void ttp_tree_find_stays(struct ttp_outline *o, const struct ttp_loaded *p)
{
    bool events = ttp_tree_needs_events(p);
    for (uint32_t s = 0; s < o->segment_count; s++)
        if (!o->segments[s].one_stack && events)
            find_untimed(o, p, s);
        else
            find_timed(o, &o->segments[s]);
}
