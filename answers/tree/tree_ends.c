/* What a partition's measures tell of the frames that end in it: when, and how long they were on
 * top; and how many calls each of its segments has.
 *
 * Measures are per function, over all frames of the partition. Of the durations of the frames of a
 * function that ended, the least and the largest are known; each of these frames that was open at a
 * start edge has a least and a largest possible duration (it ended behind its base, and not behind
 * its segment's end), and so have frames that were entered in the partition. The largest duration
 * is that of the one frame that no other can exceed, if there is one; the least likewise. */
#include <string.h>

#include "answers/tree/tree_internal.h"
#include "base/sort.h"

/* A frame of a start edge that ends in the partition. */
struct ending {
    uint32_t frame;   /* in outline->frames */
    uint32_t segment; /* in outline->segments */
};

struct finding {
    struct ttp_outline *outline;
    const struct ttp_loaded *p;
    const struct ttp_definition_tables *d;
    const struct ttp_measure *rows; /* by ascending site */
    struct ending *endings;
    uint32_t *order; /* of endings, by site; then of all start frames */
    uint32_t ending_count, row_count;
    bool is_there;          /* the partition has a summary */
    uint64_t local_most_ns; /* no frame that was entered here is longer */
};

static uint64_t least_of(const struct finding *f, uint32_t ending)
{
    const struct ending *e = &f->endings[ending];
    return f->outline->segments[e->segment].base_ns - f->outline->frames[e->frame].enter_ns;
}

static uint64_t most_of(const struct finding *f, uint32_t ending)
{
    const struct ending *e = &f->endings[ending];
    return f->outline->segments[e->segment].end_ns - f->outline->frames[e->frame].enter_ns;
}

/* True where `a` lasts at least as long as `b`, whatever they are: it can only end later, or it is
 * below it on the same stack. */
static bool outlasts(const struct finding *f, uint32_t a, uint32_t b)
{
    const struct ending *x = &f->endings[a], *y = &f->endings[b];
    const struct ttp_tree_frame *frames = f->outline->frames;
    if (x->segment == y->segment && frames[x->frame].stack == frames[y->frame].stack)
        return x->frame < y->frame;
    return least_of(f, a) >= most_of(f, b);
}

static void set_end(struct finding *f, uint32_t ending, int64_t duration_ns)
{
    struct ttp_tree_frame *frame = &f->outline->frames[f->endings[ending].frame];
    if (duration_ns < 0 || (uint64_t)duration_ns < least_of(f, ending) ||
        (uint64_t)duration_ns > most_of(f, ending))
        return; /* the summary contradicts the edges: it is not used */
    frame->end_known = true;
    frame->end_ns = frame->enter_ns + (uint64_t)duration_ns;
}

/* order[first, end): the endings of one function. */
static void find_group(struct finding *f, uint32_t first, uint32_t end,
                       const struct ttp_measure *row)
{
    const uint32_t *order = f->order;
    uint64_t step = f->p->head.resolution_ns;
    uint32_t longest = first, shortest = first;
    bool all = row->exit_count == end - first;
    for (uint32_t i = first + 1; i < end; i++) {
        longest = outlasts(f, order[i], order[longest]) ? i : longest;
        shortest = outlasts(f, order[shortest], order[i]) ? i : shortest;
    }
    bool is_longest = all || least_of(f, order[longest]) >= f->local_most_ns;
    bool is_shortest = all;
    for (uint32_t i = first; i < end; i++) {
        is_longest = is_longest && (i == longest || outlasts(f, order[longest], order[i]));
        is_shortest = is_shortest && (i == shortest || outlasts(f, order[i], order[shortest]));
    }
    if (is_longest)
        set_end(f, order[longest], (int64_t)((uint64_t)row->max_ticks * step));
    if (is_shortest)
        set_end(f, order[shortest], (int64_t)((uint64_t)row->min_ticks * step));
}

static bool ending_less(const void *context, uint32_t a, uint32_t b)
{
    const struct finding *f = context;
    uint32_t x = f->outline->frames[f->endings[a].frame].site;
    uint32_t y = f->outline->frames[f->endings[b].frame].site;
    return x != y ? x < y : a < b;
}

static void list_endings(struct finding *f)
{
    const struct ttp_outline *o = f->outline;
    for (uint32_t s = 0; s < o->segment_count; s++) {
        const struct ttp_tree_segment *g = &o->segments[s];
        uint64_t length = g->end_ns - g->base_ns;
        f->local_most_ns = length > f->local_most_ns ? length : f->local_most_ns;
        for (uint32_t i = g->kept; i < g->start_count; i++)
            if (ttp_tree_start_frame(o, g, i)->site != TTAPE_NONE)
                f->endings[f->ending_count++] = (struct ending){ttp_tree_start_index(g, i), s};
    }
    for (uint32_t i = 0; i < f->ending_count; i++)
        f->order[i] = i;
    ttp_sort(f->order, f->ending_count, ending_less, f);
}

/* The row of a file-wide site; rows ascend by it. */
static const struct ttp_measure *find_row(const struct finding *f, uint32_t site)
{
    uint32_t low = 0, high = f->row_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        uint32_t found =
            ttp_definitions_find(f->d, f->p->scope, TTP_DEFINES_SITES, f->rows[middle].site);
        if (found == site)
            return &f->rows[middle];
        if (found < site)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static void find_ends(struct finding *f)
{
    for (uint32_t first = 0, end; first < f->ending_count; first = end) {
        uint32_t site = f->outline->frames[f->endings[f->order[first]].frame].site;
        for (end = first + 1; end < f->ending_count; end++)
            if (f->outline->frames[f->endings[f->order[end]].frame].site != site)
                break;
        const struct ttp_measure *row = find_row(f, site);
        if (row != NULL)
            find_group(f, first, end, row);
    }
}

/* ---- self times ---- */

static bool frame_less(const void *context, uint32_t a, uint32_t b)
{
    const struct ttp_tree_frame *frames = context;
    return frames[a].site != frames[b].site ? frames[a].site < frames[b].site : a < b;
}

/* True where a start frame that the outline left out is of the function. */
static bool is_left_out(const struct finding *f, uint32_t site)
{
    const struct ttp_outline *o = f->outline;
    for (uint32_t s = 0; s < o->segment_count; s++) {
        const struct ttp_frame *start =
            f->p->segments.start_frames + f->p->segments.segments[s].start.frame_start;
        for (uint32_t i = 0; i < o->segments[s].left_out; i++)
            if (start[i].event_class != TTP_CLASS_SIGNAL &&
                ttp_definitions_find(f->d, f->p->scope, TTP_DEFINES_SITES, start[i].argument) ==
                    site)
                return true;
    }
    return false;
}

/* A function of which one frame was open and none came: its self time is that frame's. */
static void find_selfs(struct finding *f, uint32_t start_count)
{
    struct ttp_tree_frame *frames = f->outline->frames;
    uint32_t asked = 0; /* of a million frames that stay none is */
    for (uint32_t i = 0; i < start_count; i++) {
        f->order[i] = i;
        asked += !frames[i].self_known && frames[i].end_known;
    }
    if (asked == 0)
        return;
    ttp_sort(f->order, start_count, frame_less, frames);
    for (uint32_t i = 0; i < start_count; i++) {
        struct ttp_tree_frame *frame = &frames[f->order[i]];
        bool alone = (i == 0 || frames[f->order[i - 1]].site != frame->site) &&
                     (i + 1 == start_count || frames[f->order[i + 1]].site != frame->site);
        if (frame->self_known || !frame->end_known || !alone)
            continue;
        const struct ttp_measure *row = find_row(f, frame->site);
        if (row == NULL || row->call_count != 0 || is_left_out(f, frame->site))
            continue;
        frame->self_known = true;
        frame->end_self_ns = (int64_t)((uint64_t)frame->self_ns +
                                       (uint64_t)row->self_ticks * f->p->head.resolution_ns);
    }
}

static bool starts_a_stream(const struct ttp_outline *o)
{
    for (uint32_t s = 0; s < o->segment_count; s++)
        if (o->segments[s].first_event == 0)
            return true; /* frames that were open then are no calls, but may come */
    return false;
}

/* From the top of the stack down: a frame lasts at least as long as those above it. */
static void bound_ends(struct ttp_outline *o, const struct ttp_tree_segment *g)
{
    uint64_t bound = g->base_ns;
    for (uint32_t i = g->start_count; i-- > g->kept;) {
        struct ttp_tree_frame *f = &o->frames[ttp_tree_start_index(g, i)];
        bound = f->end_known ? f->end_ns : bound;
        f->end_ns = bound;
    }
}

/* The same way. */
static void add_up_known(struct ttp_outline *o, struct ttp_tree_segment *g)
{
    struct ttp_tree_frame *start = o->frames + g->start_first;
    struct ttp_tree_frame *added = o->frames + g->added_first;
    int64_t known = 0;
    if (!g->one_stack)
        return;
    for (uint32_t i = g->start_count - g->left_out; i-- > 0; start[i].known_ns = known)
        if (start[i].self_known)
            ttp_add_ns(&known, ttp_minus(start[i].end_self_ns, start[i].self_ns));
    g->start_known_ns = known;
    known = 0;
    for (uint32_t i = g->end_count - g->kept; i-- > 0; added[i].known_ns = known)
        ttp_add_ns(&known, added[i].self_ns);
    g->added_known_ns = known;
}

/* ---- the holder ---- */

static void offer(struct ttp_tree_segment *g, int64_t *best, enum ttp_tree_holder holder,
                  uint32_t level, int64_t time_ns)
{
    if (time_ns <= *best)
        return;
    *best = time_ns;
    g->holder = (uint8_t)holder;
    g->holder_level = level;
}

/* Without times: the outermost frame of those that come, or else end, where none stays. */
static void find_untimed_holder(struct ttp_tree_segment *g)
{
    if (g->kept == 0 && g->end_count + g->start_count > 0)
        g->holder = g->end_count > 0 ? TTP_HOLDER_COMES : TTP_HOLDER_ENDS;
}

static void find_holder(const struct ttp_outline *o, struct ttp_tree_segment *g, bool timed)
{
    const struct ttp_tree_frame *start = o->frames + g->start_first; /* [i - out]: number i */
    const struct ttp_tree_frame *added = o->frames + g->added_first;
    uint32_t out = g->left_out;
    uint32_t added_count = g->end_count - g->kept;
    g->holder = g->kept > 0 ? TTP_HOLDER_STAYS : TTP_HOLDER_STREAM;
    g->holder_level = g->kept > 0 ? g->kept - 1 : 0;
    int64_t best = ttp_between(g->base_ns, g->end_ns);
    if (!g->one_stack) {
        g->holder = TTP_HOLDER_STREAM;
        g->held_ns = best;
        return;
    }
    if (!timed) {
        find_untimed_holder(g);
        return;
    }
    if (g->kept > 0)
        best = ttp_minus(best, ttp_minus(start[g->kept - 1 - out].end_self_ns,
                                         start[g->kept - 1 - out].self_ns));
    if (g->start_count > g->kept)
        best = ttp_minus(best, ttp_between(g->base_ns, start[g->kept - out].end_ns));
    if (added_count > 0)
        best = ttp_minus(best, ttp_between(added[0].enter_ns, g->end_ns));
    int64_t middle = best;
    for (uint32_t i = g->kept; i < g->start_count; i++) {
        const struct ttp_tree_frame *f = &start[i - out];
        uint64_t child_end = i + 1 < g->start_count ? (f + 1)->end_ns : g->base_ns;
        int64_t self = f->self_known ? ttp_minus(f->end_self_ns, f->self_ns) : 0;
        offer(g, &best, TTP_HOLDER_ENDS, i, ttp_minus(ttp_between(child_end, f->end_ns), self));
    }
    for (uint32_t i = 0; i < added_count; i++) {
        uint64_t child_enter = i + 1 < added_count ? added[i + 1].enter_ns : g->end_ns;
        offer(g, &best, TTP_HOLDER_COMES, g->kept + i,
              ttp_minus(ttp_between(added[i].enter_ns, child_enter), added[i].self_ns));
    }
    g->held_ns = best;
    g->middle_ns = g->holder == TTP_HOLDER_STAYS || g->holder == TTP_HOLDER_STREAM ? 0 : middle;
}

/* ---- calls ---- */

/* Events of a segment that would be enters if each of the others ended one frame; -1: they
 * cannot. */
static int64_t even_calls(const struct ttp_tree_segment *g)
{
    int64_t twice = (int64_t)g->event_count + (int64_t)g->end_count - (int64_t)g->start_count;
    return twice < 0 || twice % 2 != 0 ? -1 : twice / 2;
}

/* A partition's calls, shared out to its segments: where every event enters or ends a frame, as it
 * must be, otherwise by events. Together they are right. */
static void share_calls(struct ttp_outline *o, const struct ttp_tree_measures *measures)
{
    uint64_t calls, even = 0, events = 0, all = 0;
    bool is_even = true;
    for (uint32_t s = 0; s < o->segment_count; s++) {
        int64_t own = even_calls(&o->segments[s]);
        is_even = is_even && own >= 0;
        even += own >= 0 ? (uint64_t)own : 0;
        all += o->segments[s].event_count;
    }
    calls = measures->is_there ? measures->call_count : even;
    for (uint32_t s = 0; s < o->segment_count; s++) {
        struct ttp_tree_segment *g = &o->segments[s];
        uint64_t before = calls * events / all;
        events += g->event_count;
        g->call_count =
            is_even && even == calls ? (uint64_t)even_calls(g) : calls * events / all - before;
        g->calls_exact = o->segment_count == 1 && measures->is_there;
    }
}

/* ---- all ---- */

static bool can_find(const struct finding *f)
{
    for (uint32_t s = 0; s < f->outline->segment_count; s++)
        if (!f->outline->segments[s].one_stack)
            return false;
    /* A wide difference may be a clock that steps back: then nothing is least or most. */
    return f->p->head.resolution_ns != 0 && f->p->head.wide_count == 0 && f->is_there;
}

ttape_status ttp_tree_find_ends(struct ttp_outline *o, const struct ttp_loaded *p,
                                const struct ttp_definition_tables *d,
                                const struct ttp_tree_measures *measures, struct ttp_memory *memory,
                                ttape_error *err)
{
    uint32_t start_count = o->start_frame_count;
    struct finding f = {.outline = o,
                        .p = p,
                        .d = d,
                        .rows = measures->rows,
                        .row_count = measures->row_count,
                        .is_there = measures->is_there};
    f.endings = ttp_memory_take(memory, start_count, sizeof *f.endings, err);
    if (f.endings == NULL)
        return memory->status;
    f.order = ttp_memory_take(memory, start_count, sizeof *f.order, err);
    ttape_status status = f.order == NULL ? memory->status : TTAPE_OK;
    if (status == TTAPE_OK && can_find(&f)) {
        list_endings(&f);
        find_ends(&f);
        if (!starts_a_stream(o))
            find_selfs(&f, start_count);
    }
    for (uint32_t s = 0; status == TTAPE_OK && s < o->segment_count; s++) {
        bound_ends(o, &o->segments[s]);
        add_up_known(o, &o->segments[s]);
        find_holder(o, &o->segments[s], p->head.resolution_ns != 0);
    }
    if (status == TTAPE_OK)
        share_calls(o, measures);
    ttp_memory_give(memory, f.order, start_count, sizeof *f.order);
    ttp_memory_give(memory, f.endings, start_count, sizeof *f.endings);
    return status;
}
