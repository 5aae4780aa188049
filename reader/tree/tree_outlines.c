/* Outlines of partitions: made from light sections and summaries, several at once where one is
 * missed, kept as long as there is room. */
#include <pthread.h>
#include <string.h>

#include "format/base/fail.h"
#include "format/times/times.h"
#include "reader/cache/partition_jobs.h"
#include "reader/partition/summary_reader.h"
#include "reader/tree/tree_internal.h"

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
    return TTAPE_OK;
}

static void unlink_outline(struct ttape_tree *tree, struct ttp_outline *o)
{
    *(o->newer != NULL ? &o->newer->older : &tree->newest) = o->older;
    *(o->older != NULL ? &o->older->newer : &tree->oldest) = o->newer;
    o->newer = o->older = NULL;
}

static void link_newest(struct ttape_tree *tree, struct ttp_outline *o)
{
    o->older = tree->newest;
    *(tree->newest != NULL ? &tree->newest->newer : &tree->oldest) = o;
    tree->newest = o;
}

static void drop(struct ttape_tree *tree, struct ttp_outline *o)
{
    unlink_outline(tree, o);
    tree->outlines[o->partition] = NULL;
    tree->used_bytes -= o->size_bytes;
    ttp_memory_give(&tree->memory, o, o->size_bytes, 1);
}

void ttp_outlines_close(struct ttape_tree *tree)
{
    while (tree->oldest != NULL)
        drop(tree, tree->oldest);
    ttp_memory_give(&tree->memory, tree->outlines, tree->outline_capacity, sizeof *tree->outlines);
}

/* Makes room for so much more, out of all but what is still wanted. */
static void trim(struct ttape_tree *tree, uint64_t more_bytes, uint32_t wanted)
{
    for (struct ttp_outline *o = tree->oldest, *newer;
         o != NULL && tree->used_bytes + more_bytes > tree->cache_bytes; o = newer) {
        newer = o->newer;
        if (o->partition != wanted)
            drop(tree, o);
    }
}

/* ---- making an outline ---- */

static uint64_t size_of(uint32_t segments, uint64_t frames)
{
    return sizeof(struct ttp_outline) + segments * sizeof(struct ttp_tree_segment) +
           frames * sizeof(struct ttp_tree_frame);
}

static struct ttp_outline *take_outline(struct ttape_tree *tree, uint32_t partition,
                                        uint32_t segments, uint32_t frames, ttape_error *err)
{
    uint64_t size_bytes = size_of(segments, frames);
    struct ttp_outline *o = ttp_memory_take(&tree->memory, size_bytes, 1, err);
    if (o == NULL)
        return NULL;
    *o = (struct ttp_outline){.size_bytes = size_bytes,
                              .partition = partition,
                              .segment_count = segments,
                              .frame_count = frames};
    o->segments = (struct ttp_tree_segment *)(o + 1);
    o->frames = (struct ttp_tree_frame *)(o->segments + segments);
    return o;
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

static bool on_one_stack(const struct ttp_outline *o, const struct ttp_segment *g,
                         const struct ttp_tree_segment *s)
{
    uint32_t last_start =
        s->start_count != 0 ? ttp_tree_start_frame(o, s, s->start_count - 1)->stack : 0;
    uint32_t last_end = s->end_count != 0 ? ttp_tree_end_frame(o, s, s->end_count - 1)->stack : 0;
    return last_start == 0 && last_end == 0 && g->start.stack == 0 && g->end.stack == 0;
}

/* Frames stand in the outline as in the partition: all start frames, then all added ones. */
static void fill_segment(struct ttp_outline *o, const struct ttp_loaded *p, const ttape_reader *r,
                         uint32_t segment)
{
    const struct ttp_segment *g = &p->segments.segments[segment];
    const struct ttp_partition_entry *entry = &r->partitions[p->partition];
    struct ttp_tree_segment *s = &o->segments[segment];
    *s = (struct ttp_tree_segment){
        .first_event = g->first_event,
        .base_ns = time_of(p, g->base_tick),
        .end_ns = time_of(p, g->end_tick),
        .stream = r->segments[entry->first_segment + segment].stream,
        .event_count = g->event_count,
        .start_first = g->start.frame_start,
        .start_count = g->start.frame_count,
        .added_first = p->segments.start_frame_count + g->end.frame_start,
        .end_count = g->end.frame_count,
        .kept = g->kept,
    };
    for (uint32_t i = 0; i < s->start_count; i++)
        fill_frame(&o->frames[s->start_first + i], p, r,
                   &p->segments.start_frames[s->start_first + i], i < s->kept);
    for (uint32_t i = 0; i < s->end_count - s->kept; i++)
        fill_frame(&o->frames[s->added_first + i], p, r,
                   &p->segments.end_frames[g->end.frame_start + i], false);
    s->one_stack = on_one_stack(o, g, s);
}

struct making {
    struct ttape_tree *tree;
    uint32_t wanted; /* the partition that was missed; others are read ahead */
    uint64_t made_bytes;
    pthread_mutex_t mutex; /* of the tree */
};

static ttape_status make_outline(struct making *m, ttape_reader *r, const struct ttp_loaded *p,
                                 const struct ttp_measure *rows, uint32_t row_count,
                                 ttape_error *err)
{
    struct ttape_tree *tree = m->tree;
    const struct ttp_segments *g = &p->segments;
    uint32_t frames = g->start_frame_count + g->end_frame_count;
    pthread_mutex_lock(&m->mutex);
    trim(tree, size_of(g->segment_count, frames), m->wanted); /* before it costs more */
    struct ttp_outline *o = take_outline(tree, p->partition, g->segment_count, frames, err);
    ttape_status status = o == NULL ? tree->memory.status : TTAPE_OK;
    pthread_mutex_unlock(&m->mutex);
    if (o == NULL)
        return status;
    for (uint32_t s = 0; s < g->segment_count; s++)
        fill_segment(o, p, r, s);
    ttp_tree_find_stays(o, p);
    status = ttp_tree_find_ends(o, p, &r->definitions, rows, row_count, &r->memory, err);
    pthread_mutex_lock(&m->mutex);
    if (status == TTAPE_OK) {
        tree->outlines[p->partition] = o;
        tree->used_bytes += o->size_bytes;
        link_newest(tree, o);
        m->made_bytes += o->size_bytes;
        trim(tree, 0, m->wanted);
    } else {
        ttp_memory_give(&tree->memory, o, o->size_bytes, 1);
    }
    pthread_mutex_unlock(&m->mutex);
    return status;
}

/* ---- reading ---- */

static enum ttp_partition_wish wish(void *context, uint32_t worker, ttape_reader *r,
                                    const struct ttp_loaded *p)
{
    (void)context;
    (void)worker;
    (void)r;
    return ttp_tree_needs_events(p) ? TTP_WISH_EVENTS : TTP_WISH_SUMMARY;
}

static ttape_status take_summary(void *context, uint32_t worker, ttape_reader *r,
                                 const struct ttp_loaded *p, const struct ttp_measure *rows,
                                 uint32_t row_count, ttape_error *err)
{
    (void)worker;
    return make_outline(context, r, p, rows, row_count, err);
}

static ttape_status take_events(void *context, uint32_t worker, ttape_reader *r,
                                const struct ttp_loaded *p, ttape_error *err)
{
    struct ttp_measure *rows;
    uint32_t row_count;
    (void)worker;
    TTP_TRY(ttp_summary_load(r, p, &rows, &row_count, err));
    ttape_status status = make_outline(context, r, p, rows, row_count, err);
    ttp_memory_give(&r->memory, rows, row_count, sizeof *rows);
    return status;
}

static ttape_status take_damage(void *context, uint32_t partition, const ttape_error *problem)
{
    struct making *m = context;
    struct ttape_tree *tree = m->tree;
    (void)problem;
    struct ttp_outline *o = take_outline(tree, partition, 0, 0, NULL);
    if (o == NULL)
        return tree->memory.status;
    o->damaged = true;
    tree->outlines[partition] = o;
    tree->used_bytes += o->size_bytes;
    link_newest(tree, o);
    return TTAPE_OK;
}

/* The missing partitions of the stream's segments from `ordinal` on, as many as are read at
 * once. */
static uint32_t list_missing(const struct ttape_tree *tree, uint32_t stream, uint32_t ordinal,
                             uint32_t *list)
{
    uint32_t count = 0, segments = ttp_tree_segment_count(tree, stream);
    for (; ordinal < segments && count < tree->batch; ordinal++) {
        uint32_t partition = ttp_tree_entry(tree, stream, ordinal)->partition;
        if (tree->outlines[partition] == NULL)
            list[count++] = partition;
    }
    return count;
}

/* A tree that misses again and again is being gone through: more are read at once. */
static ttape_status read_missing(struct ttape_tree *tree, uint32_t stream, uint32_t ordinal,
                                 ttape_error *err)
{
    uint32_t list[BATCH_MOST];
    struct making m = {.tree = tree};
    const struct ttp_partition_work work = {.context = &m,
                                            .wish = wish,
                                            .summary = take_summary,
                                            .events = take_events,
                                            .damaged = take_damage};
    uint32_t count = list_missing(tree, stream, ordinal, list), first = list[0];
    m.wanted = first;
    pthread_mutex_init(&m.mutex, NULL);
    ttape_status status = ttp_partition_work(tree->reader, list, count, tree->jobs, &work, err);
    pthread_mutex_destroy(&m.mutex);
    tree->batch = tree->batch * 4 < BATCH_MOST ? tree->batch * 4 : BATCH_MOST;
    if (status != TTAPE_OK)
        return status;
    unlink_outline(tree, tree->outlines[first]);
    link_newest(tree, tree->outlines[first]);
    if (m.made_bytes > tree->cache_bytes) /* then reading so many ahead is in vain */
        tree->batch = count > BATCH_FIRST ? BATCH_FIRST : 1;
    return TTAPE_OK;
}

ttape_status ttp_tree_damage(struct ttape_tree *tree, uint32_t partition, ttape_error *err)
{
    struct ttp_loaded *p;
    struct ttp_measure *rows;
    uint32_t row_count;
    TTP_TRY(ttp_loaded_get(tree->reader, partition, TTP_STAGE_LIGHT, &p, err));
    if (ttp_tree_needs_events(p))
        TTP_TRY(ttp_loaded_get(tree->reader, partition, TTP_STAGE_EVENTS, &p, err));
    TTP_TRY(ttp_summary_load(tree->reader, p, &rows, &row_count, err));
    ttp_memory_give(&tree->reader->memory, rows, row_count, sizeof *rows);
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

ttape_status ttp_tree_outline(struct ttape_tree *tree, uint32_t stream, uint32_t ordinal,
                              const struct ttp_outline **o, const struct ttp_tree_segment **segment,
                              ttape_error *err)
{
    const ttape_reader *r = tree->reader;
    const struct ttp_segment_entry *seg = ttp_tree_entry(tree, stream, ordinal);
    if (tree->outlines[seg->partition] == NULL)
        TTP_TRY(read_missing(tree, stream, ordinal, err));
    struct ttp_outline *found = tree->outlines[seg->partition];
    if (found != tree->newest) {
        unlink_outline(tree, found);
        link_newest(tree, found);
    }
    uint32_t number = ttp_segment_number(r, seg);
    *o = found;
    *segment = found->damaged || number >= found->segment_count ? NULL : &found->segments[number];
    return TTAPE_OK;
}
