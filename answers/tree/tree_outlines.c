/* Outlines of partitions: made from light sections and summaries, several at once where one is
 * missed, kept as long as there is room. */
#include <string.h>

#include "answers/tree/tree_overviews.h"
#include "base/task.h"
#include "format/base/fail.h"
#include "format/times/times.h"
#include "reader/cache/partition_jobs.h"
#include "reader/partition/summary_reader.h"

#define BATCH_FIRST 4u
#define BATCH_MOST  1024u

/* ---- the cache ---- */

ttape_status ttp_outlines_open(struct ttape_tree *tree, ttape_error *err)
{
    tree->outline_capacity = tree->reader->partition_count;
    tree->batch = BATCH_FIRST;
    tree->outlines =
        ttp_memory_take(&tree->memory, tree->outline_capacity, sizeof *tree->outlines, err);
    if (tree->outlines == NULL)
        return tree->memory.status;
    memset(tree->outlines, 0, tree->outline_capacity * sizeof *tree->outlines);
    tree->whole = ttp_memory_take(&tree->memory, tree->outline_capacity, sizeof *tree->whole, err);
    if (tree->whole == NULL)
        return tree->memory.status;
    memset(tree->whole, 0, tree->outline_capacity * sizeof *tree->whole);
    return ttp_tree_overviews_open(tree, err);
}

static uint64_t frame_bytes(const struct ttp_outline *o)
{
    return o->has_frames ? o->frame_count * sizeof(struct ttp_tree_frame) : 0;
}

static void unlink_outline(struct ttape_tree *tree, struct ttp_outline *o)
{
    struct ttp_outline_list *list = &tree->lists[o->has_frames];
    *(o->newer != NULL ? &o->newer->older : &list->newest) = o->older;
    *(o->older != NULL ? &o->older->newer : &list->oldest) = o->newer;
    o->newer = o->older = NULL;
    tree->bare_bytes -= o->has_frames ? 0 : o->size_bytes;
}

static void link_newest(struct ttape_tree *tree, struct ttp_outline *o)
{
    struct ttp_outline_list *list = &tree->lists[o->has_frames];
    o->older = list->newest;
    *(list->newest != NULL ? &list->newest->newer : &list->oldest) = o;
    list->newest = o;
    tree->bare_bytes += o->has_frames ? 0 : o->size_bytes;
}

static void put_outline(struct ttape_tree *tree, struct ttp_outline *o)
{
    tree->outlines[o->partition] = o;
    tree->used_bytes += o->size_bytes + frame_bytes(o);
    link_newest(tree, o);
}

static void give_outline(struct ttape_tree *tree, struct ttp_outline *o)
{
    if (o->has_frames)
        ttp_memory_give(&tree->memory, o->frames, o->frame_count, sizeof *o->frames);
    ttp_memory_give(&tree->memory, o, o->size_bytes, 1);
}

static void drop(struct ttape_tree *tree, struct ttp_outline *o)
{
    unlink_outline(tree, o);
    tree->outlines[o->partition] = NULL;
    tree->used_bytes -= o->size_bytes + frame_bytes(o);
    give_outline(tree, o);
}

static void drop_frames(struct ttape_tree *tree, struct ttp_outline *o)
{
    unlink_outline(tree, o);
    tree->used_bytes -= frame_bytes(o);
    ttp_memory_give(&tree->memory, o->frames, o->frame_count, sizeof *o->frames);
    o->frames = NULL;
    o->has_frames = false;
    link_newest(tree, o);
}

void ttp_outlines_close(struct ttape_tree *tree)
{
    for (uint32_t i = 0; i < 2; i++)
        while (tree->lists[i].oldest != NULL)
            drop(tree, tree->lists[i].oldest);
    ttp_memory_give(&tree->memory, tree->outlines, tree->outline_capacity, sizeof *tree->outlines);
    if (tree->whole != NULL)
        ttp_memory_give(&tree->memory, tree->whole, tree->outline_capacity, sizeof *tree->whole);
    ttp_tree_overviews_close(tree);
}

/* The oldest but what is still wanted, or NULL. */
static struct ttp_outline *oldest_of(const struct ttp_outline_list *list, uint32_t wanted)
{
    struct ttp_outline *o = list->oldest;
    return o != NULL && o->partition == wanted ? o->newer : o;
}

/* Makes room for so much more, out of all but what is still wanted: of outlines without frames no
 * more than half is kept. */
static void trim(struct ttape_tree *tree, uint64_t more_bytes, uint32_t wanted)
{
    while (tree->used_bytes + more_bytes > tree->cache_bytes) {
        struct ttp_outline *bare = oldest_of(&tree->lists[0], wanted);
        struct ttp_outline *framed = oldest_of(&tree->lists[1], wanted);
        if (bare != NULL && tree->bare_bytes > tree->cache_bytes / 2)
            drop(tree, bare);
        else if (framed != NULL)
            drop_frames(tree, framed);
        else
            return;
    }
}

/* ---- making an outline ---- */

static uint64_t size_of(uint32_t segments, uint64_t frames, uint32_t shares)
{
    return sizeof(struct ttp_outline) + segments * sizeof(struct ttp_tree_segment) +
           shares * sizeof(ttape_tree_share) + frames * sizeof(struct ttp_tree_frame);
}

static struct ttp_outline *take_outline(struct ttape_tree *tree, uint32_t partition,
                                        uint32_t segments, uint32_t frames, uint32_t shares,
                                        ttape_error *err)
{
    uint64_t size_bytes = size_of(segments, 0, shares);
    struct ttp_outline *o = ttp_memory_take(&tree->memory, size_bytes, 1, err);
    if (o == NULL)
        return NULL;
    *o = (struct ttp_outline){.size_bytes = size_bytes,
                              .partition = partition,
                              .segment_count = segments,
                              .frame_count = frames,
                              .share_count = shares};
    o->segments = (struct ttp_tree_segment *)(o + 1);
    o->shares = (ttape_tree_share *)(o->segments + segments);
    if (segments == 0)
        return o;
    o->frames = ttp_memory_take(&tree->memory, frames, sizeof *o->frames, err);
    o->has_frames = o->frames != NULL;
    if (o->has_frames)
        return o;
    give_outline(tree, o);
    return NULL;
}

static int64_t to_ns(const struct ttp_loaded *p, int64_t ticks)
{
    return (int64_t)((uint64_t)ticks * p->head.resolution_ns);
}

static uint64_t time_of(const struct ttp_loaded *p, int64_t tick)
{
    return p->head.resolution_ns == 0 ? 0
                                      : ttp_time_of(tick, p->head.origin_ns, p->head.resolution_ns);
}

static void fill_frame(struct ttp_tree_frame *to, const struct ttp_loaded *p, const ttape_reader *r,
                       const struct ttp_frame *from, bool is_kept)
{
    bool is_signal = from->event_class == TTP_CLASS_SIGNAL;
    *to = (struct ttp_tree_frame){.enter_ns = time_of(p, from->enter_tick),
                                  .self_ns = to_ns(p, from->self_ticks),
                                  .site = TTAPE_NONE,
                                  .stack = from->stack,
                                  .kind = TTAPE_EVENT_SIGNAL_BEGIN};
    to->end_self_ns = is_kept ? to_ns(p, from->end_self_ticks) : to->self_ns;
    to->self_known = is_kept;
    if (is_signal) {
        to->argument = from->argument;
        return;
    }
    to->kind = from->event_class == TTP_CLASS_ENTER ? TTAPE_EVENT_ENTER : TTAPE_EVENT_OPEN;
    to->site = ttp_definitions_find(&r->definitions, p->scope, TTP_DEFINES_SITES, from->argument);
}

static bool on_one_stack(const struct ttp_loaded *p, const struct ttp_segment *g)
{
    const struct ttp_frame *start = p->segments.start_frames + g->start.frame_start;
    const struct ttp_frame *added = p->segments.end_frames + g->end.frame_start;
    uint32_t starts = g->start.frame_count, ends = g->end.frame_count, last = 0;
    if (ends != 0)
        last = ends > g->kept ? added[ends - g->kept - 1].stack : start[ends - 1].stack;
    return (starts == 0 || start[starts - 1].stack == 0) && last == 0 && g->start.stack == 0 &&
           g->end.stack == 0;
}

static uint32_t count_quiet(const struct ttp_loaded *p, const struct ttp_segment *g)
{
    const struct ttp_frame *start = p->segments.start_frames + g->start.frame_start;
    uint32_t quiet = 0;
    if (!on_one_stack(p, g))
        return 0;
    while (quiet < g->kept && start[quiet].stack == 0 &&
           start[quiet].end_self_ticks == start[quiet].self_ticks)
        quiet++;
    return quiet;
}

/* Where the segment goes on with the one before it, that one tells what its frames are. */
static uint32_t count_left_out(const struct ttape_tree *tree, const struct ttp_loaded *p,
                               uint32_t segment)
{
    const ttape_reader *r = tree->reader;
    const struct ttp_segment_entry *seg =
        &r->segments[r->partitions[p->partition].first_segment + segment];
    uint32_t quiet = count_quiet(p, &p->segments.segments[segment]);
    if (quiet < 2 || tree->whole[p->partition])
        return 0;
    uint32_t ordinal = ttp_tree_ordinal(tree, seg->stream, p->partition);
    if (ordinal == TTAPE_NONE || ordinal == 0)
        return 0;
    const struct ttp_segment_entry *before = ttp_tree_entry(tree, seg->stream, ordinal - 1);
    return before->first_event + before->event_count == seg->first_event ? quiet - 1 : 0;
}

/* Frames stand in the outline as in the partition: all start frames, then all added ones.
 * `start_first`: where the segment's stand. */
static void fill_segment(struct ttp_outline *o, const struct ttp_loaded *p, const ttape_reader *r,
                         uint32_t segment, uint32_t start_first)
{
    const struct ttp_segment *g = &p->segments.segments[segment];
    const struct ttp_frame *start = p->segments.start_frames + g->start.frame_start;
    const struct ttp_partition_entry *entry = &r->partitions[p->partition];
    struct ttp_tree_segment *s = &o->segments[segment];
    uint32_t left_out = s->left_out;
    *s = (struct ttp_tree_segment){
        .first_event = g->first_event,
        .base_ns = time_of(p, g->base_tick),
        .end_ns = time_of(p, g->end_tick),
        .stream = r->segments[entry->first_segment + segment].stream,
        .event_count = g->event_count,
        .start_first = start_first,
        .start_count = g->start.frame_count,
        .added_first = o->start_frame_count + g->end.frame_start,
        .end_count = g->end.frame_count,
        .kept = g->kept,
        .quiet = count_quiet(p, g),
        .left_out = left_out,
        .one_stack = on_one_stack(p, g),
    };
    for (uint32_t i = left_out; i < s->start_count; i++)
        fill_frame(&o->frames[ttp_tree_start_index(s, i)], p, r, &start[i], i < s->kept);
    for (uint32_t i = 0; i < s->end_count - s->kept; i++)
        fill_frame(&o->frames[s->added_first + i], p, r,
                   &p->segments.end_frames[g->end.frame_start + i], false);
}

struct making {
    struct ttape_tree *tree;
    uint32_t wanted; /* the partition that was missed; others are read ahead */
    uint64_t made_bytes;
    ttp_mutex mutex; /* of the tree */
};

static ttape_status make_outline(struct making *m, struct ttp_trace_decoder *d,
                                 const struct ttp_loaded *p,
                                 const struct ttp_tree_measures *measures, ttape_error *err)
{
    struct ttape_tree *tree = m->tree;
    const struct ttp_segments *g = &p->segments;
    uint32_t starts = g->start_frame_count, first = 0;
    for (uint32_t s = 0; s < g->segment_count; s++)
        starts -= count_left_out(tree, p, s);
    uint32_t frames = starts + g->end_frame_count;
    ttape_tree_share shares[TTP_TREE_SHARES];
    uint32_t share_count = ttp_tree_find_shares(p, &d->reader->definitions, measures, shares);
    ttp_mutex_lock(&m->mutex);
    trim(tree, size_of(g->segment_count, frames, share_count), m->wanted); /* first: costs less */
    struct ttp_outline *o =
        take_outline(tree, p->partition, g->segment_count, frames, share_count, err);
    ttape_status status = o == NULL ? tree->memory.status : TTAPE_OK;
    ttp_mutex_unlock(&m->mutex);
    if (o == NULL)
        return status;
    memcpy(o->shares, shares, share_count * sizeof *shares);
    o->all = measures->own_sum;
    o->start_frame_count = starts;
    for (uint32_t s = 0; s < g->segment_count; s++) {
        o->segments[s].left_out = count_left_out(tree, p, s);
        fill_segment(o, p, d->reader, s, first);
        first += o->segments[s].start_count - o->segments[s].left_out;
    }
    ttp_tree_find_stays(o, p);
    status = ttp_tree_find_ends(o, p, &d->reader->definitions, measures, &d->memory, err);
    ttp_mutex_lock(&m->mutex);
    if (status == TTAPE_OK) {
        if (tree->outlines[p->partition] != NULL)
            drop(tree, tree->outlines[p->partition]);
        put_outline(tree, o);
        tree->made_count++;
        m->made_bytes += o->size_bytes + frame_bytes(o);
        trim(tree, 0, m->wanted);
    } else {
        give_outline(tree, o);
    }
    ttp_mutex_unlock(&m->mutex);
    return status;
}

/* ---- reading ---- */

static enum ttp_partition_wish wish(void *context, uint32_t worker, struct ttp_trace_decoder *d,
                                    const struct ttp_loaded *p)
{
    (void)context;
    (void)worker;
    (void)d;
    return ttp_tree_needs_events(p) ? TTP_WISH_EVENTS : TTP_WISH_SUMMARY;
}

static ttape_status take_summary(void *context, uint32_t worker, struct ttp_trace_decoder *d,
                                 const struct ttp_loaded *p, const struct ttp_measure *rows,
                                 uint32_t row_count, const struct ttp_cpu_times *cpu,
                                 ttape_error *err)
{
    (void)worker;
    (void)cpu;
    const struct ttp_tree_measures measures = ttp_tree_measures_of(p, rows, row_count);
    return make_outline(context, d, p, &measures, err);
}

static ttape_status take_events(void *context, uint32_t worker, struct ttp_trace_decoder *d,
                                const struct ttp_loaded *p, ttape_error *err)
{
    struct ttp_measure *rows;
    uint32_t row_count;
    (void)worker;
    TTP_TRY(ttp_summary_load(d, p, &rows, &row_count, err));
    const struct ttp_tree_measures measures = ttp_tree_measures_of(p, rows, row_count);
    ttape_status status = make_outline(context, d, p, &measures, err);
    ttp_memory_give(&d->memory, rows, row_count, sizeof *rows);
    return status;
}

static ttape_status take_overview(void *context, const struct ttp_loaded *p,
                                  const struct ttp_tree_measures *measures, ttape_error *err)
{
    const struct making *m = context;
    return make_outline(context, m->tree->lease.decoder, p, measures, err);
}

static ttape_status take_damage(void *context, uint32_t partition, const ttape_error *problem)
{
    struct making *m = context;
    struct ttape_tree *tree = m->tree;
    (void)problem;
    struct ttp_outline *o = take_outline(tree, partition, 0, 0, 0, NULL);
    if (o == NULL)
        return tree->memory.status;
    o->damaged = true;
    if (tree->outlines[partition] != NULL)
        drop(tree, tree->outlines[partition]);
    put_outline(tree, o);
    return TTAPE_OK;
}

static bool is_missing(const struct ttape_tree *tree, uint32_t partition, bool frames)
{
    const struct ttp_outline *o = tree->outlines[partition];
    return o == NULL || (frames && !o->has_frames && !o->damaged);
}

/* The missing partitions of the stream's segments from `ordinal` on, as many as are read at once;
 * those of an overview count as one. They ascend, unless the file is wrong. */
static uint32_t list_missing(const struct ttape_tree *tree, uint32_t stream, uint32_t ordinal,
                             bool frames, uint32_t *list)
{
    uint32_t count = 0, reads = 0, last = TTAPE_NONE,
             segments = ttp_tree_segment_count(tree, stream);
    for (; ordinal < segments && count < BATCH_MOST; ordinal++) {
        uint32_t partition = ttp_tree_entry(tree, stream, ordinal)->partition;
        if (!is_missing(tree, partition, frames))
            continue;
        if (count != 0 && partition < list[count - 1])
            break;
        uint32_t overview = tree->overview_of != NULL ? tree->overview_of[partition] : TTAPE_NONE;
        reads += overview == TTAPE_NONE || overview != last;
        last = overview;
        if (reads > tree->batch)
            break;
        list[count++] = partition;
    }
    return count;
}

/* A tree that misses again and again is being gone through: more are read at once. */
static ttape_status read_missing(struct ttape_tree *tree, uint32_t stream, uint32_t ordinal,
                                 bool frames, ttape_error *err)
{
    uint32_t list[BATCH_MOST];
    struct making m = {.tree = tree};
    const struct ttp_partition_work work = {.context = &m,
                                            .wish = wish,
                                            .summary = take_summary,
                                            .events = take_events,
                                            .damaged = take_damage};
    const struct ttp_tree_taking taking = {tree, take_overview, &m};
    uint32_t count = list_missing(tree, stream, ordinal, frames, list), first = list[0];
    uint32_t all = count;
    m.wanted = first;
    ttp_mutex_init(&m.mutex);
    ttape_status status = ttp_tree_take_overviews(&taking, list, &count, err);
    if (status == TTAPE_OK && count != 0)
        status = ttp_partition_work(tree->lease.decoder, list, count, tree->jobs, &work, err);
    ttp_mutex_destroy(&m.mutex);
    tree->batch = tree->batch * 4 < BATCH_MOST ? tree->batch * 4 : BATCH_MOST;
    if (status != TTAPE_OK)
        return status;
    unlink_outline(tree, tree->outlines[first]);
    link_newest(tree, tree->outlines[first]);
    if (m.made_bytes > tree->cache_bytes) /* then reading so many ahead is in vain */
        tree->batch = all > BATCH_FIRST ? BATCH_FIRST : 1;
    return TTAPE_OK;
}

ttape_status ttp_tree_damage(struct ttape_tree *tree, uint32_t partition, ttape_error *err)
{
    struct ttp_loaded *p;
    struct ttp_measure *rows;
    uint32_t row_count;
    TTP_TRY(ttp_loaded_get(tree->lease.decoder, partition, TTP_STAGE_LIGHT, &p, err));
    if (ttp_tree_needs_events(p))
        TTP_TRY(ttp_loaded_get(tree->lease.decoder, partition, TTP_STAGE_EVENTS, &p, err));
    TTP_TRY(ttp_summary_load(tree->lease.decoder, p, &rows, &row_count, err));
    ttp_memory_give(&tree->lease.decoder->memory, rows, row_count, sizeof *rows);
    return ttp_fail(err, TTAPE_E_LIMIT, "", p->payload_offset,
                    "partition could not be read while there was too little memory");
}

/* ---- segments ---- */

uint32_t ttp_tree_segment_count(const struct ttape_tree *tree, uint32_t stream)
{
    const ttape_reader *r = tree->reader;
    return stream < r->indexed_streams ? r->stream_first[stream + 1] - r->stream_first[stream] : 0;
}

const struct ttp_segment_entry *ttp_tree_entry(const struct ttape_tree *tree, uint32_t stream,
                                               uint32_t ordinal)
{
    return ttp_stream_segment(tree->reader, stream, ordinal);
}

uint32_t ttp_tree_ordinal(const struct ttape_tree *tree, uint32_t stream, uint32_t partition)
{
    uint32_t count = ttp_tree_segment_count(tree, stream), low = 0, high = count;
    while (low <
           high) { /* segments stand in the file in the order of their events (F-SEG-01) ... */
        uint32_t middle = low + (high - low) / 2;
        if (ttp_tree_entry(tree, stream, middle)->partition < partition)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < count && ttp_tree_entry(tree, stream, low)->partition == partition)
        return low;
    for (uint32_t i = 0; i < count; i++) /* ... but the file may be wrong */
        if (ttp_tree_entry(tree, stream, i)->partition == partition)
            return i;
    return TTAPE_NONE;
}

static ttape_status get_outline(struct ttape_tree *tree, uint32_t stream, uint32_t ordinal,
                                bool frames, const struct ttp_outline **o,
                                const struct ttp_tree_segment **segment, ttape_error *err)
{
    const ttape_reader *r = tree->reader;
    const struct ttp_segment_entry *seg = ttp_tree_entry(tree, stream, ordinal);
    if (is_missing(tree, seg->partition, frames))
        TTP_TRY(read_missing(tree, stream, ordinal, frames, err));
    struct ttp_outline *found = tree->outlines[seg->partition];
    if (found != tree->lists[found->has_frames].newest) {
        unlink_outline(tree, found);
        link_newest(tree, found);
    }
    uint32_t number = ttp_segment_number(r, seg);
    *o = found;
    *segment = found->damaged || number >= found->segment_count ? NULL : &found->segments[number];
    return TTAPE_OK;
}

ttape_status ttp_tree_outline(struct ttape_tree *tree, uint32_t stream, uint32_t ordinal,
                              const struct ttp_outline **o, const struct ttp_tree_segment **segment,
                              ttape_error *err)
{
    return get_outline(tree, stream, ordinal, true, o, segment, err);
}

ttape_status ttp_tree_bare_outline(struct ttape_tree *tree, uint32_t stream, uint32_t ordinal,
                                   const struct ttp_outline **o,
                                   const struct ttp_tree_segment **segment, ttape_error *err)
{
    TTP_TRY(get_outline(tree, stream, ordinal, false, o, segment, err));
    if (*segment == NULL || (*segment)->one_stack)
        return TTAPE_OK;
    return get_outline(tree, stream, ordinal, true, o, segment, err);
}

ttape_status ttp_tree_whole_outline(struct ttape_tree *tree, uint32_t stream, uint32_t ordinal,
                                    const struct ttp_outline **o,
                                    const struct ttp_tree_segment **segment, ttape_error *err)
{
    TTP_TRY(get_outline(tree, stream, ordinal, true, o, segment, err));
    if (*segment == NULL || (*segment)->left_out == 0)
        return TTAPE_OK;
    uint32_t partition = (*o)->partition;
    tree->whole[partition] = true;
    drop(tree, tree->outlines[partition]);
    return get_outline(tree, stream, ordinal, true, o, segment, err);
}

ttape_status ttp_tree_partition_outline(struct ttape_tree *tree, uint32_t partition,
                                        const struct ttp_outline **o, ttape_error *err)
{
    const struct ttp_partition_entry *entry = &tree->reader->partitions[partition];
    const struct ttp_tree_segment *g;
    *o = tree->outlines[partition];
    if (*o != NULL || entry->segment_count == 0)
        return TTAPE_OK;
    uint32_t stream = tree->reader->segments[entry->first_segment].stream;
    uint32_t ordinal = ttp_tree_ordinal(tree, stream, partition);
    if (ordinal == TTAPE_NONE)
        return TTAPE_OK;
    return get_outline(tree, stream, ordinal, false, o, &g, err);
}
