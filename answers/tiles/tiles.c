/* From options to a tile: the stream's segments that its instants lie in, or that lie between two
 * of them, in their order. Which these are depends on what the index and the light sections say,
 * never on what a segment is read from, so that the answer does not. */
#include <string.h>

#include "answers/tiles/tiles_internal.h"
#include "format/base/fail.h"
#include "format/base/sized.h"
#include "reader/base/choice.h"
#include "reader/decoder_pool.h"
#include "reader/levels/instants_reader.h"

#define MEMORY_BYTES_DEFAULT (256ull << 20)
#define DEPTHS_DEFAULT       4096u
#define DEPTHS_MOST          (1u << 20)
#define ALL_SOURCES                                                                                \
    ((uint32_t)(TTAPE_TILE_FROM_EVENTS | TTAPE_TILE_FROM_INSTANTS | TTAPE_TILE_FROM_OVERVIEWS))

/* ---- axis ---- */

static const struct ttp_partition_entry *partition_of(const ttape_reader *r, uint32_t stream,
                                                      uint32_t ordinal)
{
    return &r->partitions[ttp_stream_segment(r, stream, ordinal)->partition];
}

static uint32_t segment_count(const ttape_reader *r, uint32_t stream)
{
    return stream < r->indexed_streams ? r->stream_first[stream + 1] - r->stream_first[stream] : 0;
}

int64_t ttp_tile_tick(const struct ttape_tile *t, uint64_t origin_ns, uint64_t resolution_ns,
                      int64_t tick)
{
    uint64_t time_ns = ttp_time_of(tick, origin_ns, resolution_ns);
    int64_t since = (int64_t)(time_ns - t->axis.origin_ns);
    int64_t step = (int64_t)t->axis.resolution_ns; /* at most 2^63 - 1 */
    return since / step - (since % step < 0);
}

static int64_t entry_tick(const struct ttape_tile *t, const struct ttp_partition_entry *entry,
                          int64_t tick)
{
    return entry->origin_ns == t->axis.origin_ns && entry->resolution_ns == t->axis.resolution_ns
               ? tick
               : ttp_tile_tick(t, entry->origin_ns, entry->resolution_ns, tick);
}

/* That of the stream's first partition with times (F-TIL-01). */
static void find_axis(struct ttape_tile *t, uint32_t stream)
{
    const ttape_reader *r = t->decoder->reader;
    ttape_tile_axis *axis = &t->axis;
    for (uint32_t i = 0; i < segment_count(r, stream); i++) {
        const struct ttp_partition_entry *entry = partition_of(r, stream, i);
        if (entry->resolution_ns == 0)
            continue;
        if (!axis->has_times)
            *axis = (ttape_tile_axis){.has_times = true,
                                      .origin_ns = entry->origin_ns,
                                      .resolution_ns = entry->resolution_ns,
                                      .first_tick = INT64_MAX,
                                      .last_tick = INT64_MIN};
        int64_t first = entry_tick(t, entry, entry->first_tick);
        int64_t last = entry_tick(t, entry, (int64_t)((uint64_t)entry->end_tick - 1));
        axis->first_tick = first < axis->first_tick ? first : axis->first_tick;
        axis->last_tick = last > axis->last_tick ? last : axis->last_tick;
    }
}

ttape_status ttape_tile_get_axis(const ttape_reader *reader, uint32_t stream, ttape_tile_axis *axis,
                                 ttape_error *err)
{
    struct ttp_trace_decoder d = {.reader = reader};
    struct ttape_tile t = {.decoder = &d};
    if (reader == NULL)
        return ttp_refuse(err, "no reader");
    *axis = t.axis;
    if (stream >= reader->definitions.stream_count)
        return ttp_no_stream(err, stream);
    find_axis(&t, stream);
    *axis = t.axis;
    return TTAPE_OK;
}

/* ---- options ---- */

static uint32_t log2_of(uint32_t n) { return 31u - (uint32_t)__builtin_clz(n); }

static ttape_status take_options(ttape_tile_options *out, const ttape_tile_options *options,
                                 ttape_error *err)
{
    *out = (ttape_tile_options){.size = sizeof *out};
    if (options != NULL)
        TTP_TRY(ttp_take_sized(out, sizeof *out, options, "a tile", err));
    out->instants = out->instants != 0 ? out->instants : TTAPE_TILE_INSTANTS;
    out->depths = out->depths != 0 ? out->depths : DEPTHS_DEFAULT;
    out->sources = out->sources != 0 ? out->sources : ALL_SOURCES;
    out->memory_bytes = out->memory_bytes != 0 ? out->memory_bytes : MEMORY_BYTES_DEFAULT;
    if (out->level >= TTAPE_TILE_LEVELS)
        return ttp_refuse(err, "no such level of tiles");
    int64_t tiles = INT64_C(1) << (TTAPE_TILE_LEVELS - 1 - out->level);
    if (out->index < -tiles || out->index >= tiles)
        return ttp_refuse(err, "no such tile at this level");
    if (out->instants > TTAPE_TILE_INSTANTS || (out->instants & (out->instants - 1)) != 0)
        return ttp_refuse(err, "a bucket has 1, 2, 4, 8 or 16 instants");
    if (out->depths > DEPTHS_MOST)
        return ttp_refuse(err, "more depths of a tile than 2^20");
    if ((out->sources & ~ALL_SOURCES) != 0)
        return ttp_refuse(err, "no such source of tiles");
    return TTAPE_OK;
}

/* F-TIL-04 */
static void plan(struct ttape_tile *t)
{
    const ttape_tile_options *o = &t->options;
    uint32_t most = o->level < 4 ? 1u << o->level : TTAPE_TILE_INSTANTS;
    uint32_t instants = o->instants < most ? o->instants : most;
    t->spacing = o->level - log2_of(instants);
    t->first = (int64_t)((uint64_t)o->index * TTAPE_TILE_BUCKETS * instants);
    t->lead = t->first != INT64_MIN;
    t->next = INT64_MIN;
    t->instant_count = TTAPE_TILE_BUCKETS * instants + t->lead;
    t->info = (ttape_tile_info){
        .stream = o->stream, .level = o->level, .index = o->index, .instants = instants};
}

static ttape_status open_arrays(struct ttape_tile *t, ttape_error *err)
{
    t->instants = ttp_memory_take(&t->memory, t->instant_count, sizeof *t->instants, err);
    if (t->instants == NULL)
        return t->memory.status;
    for (uint32_t i = 0; i < t->instant_count; i++)
        t->instants[i] = (struct ttp_tile_instant){.node = TTP_NODE_UNKNOWN};
    t->buckets = ttp_memory_take(&t->memory, TTAPE_TILE_BUCKETS, sizeof *t->buckets, err);
    if (t->buckets == NULL)
        return t->memory.status;
    memset(t->buckets, 0, TTAPE_TILE_BUCKETS * sizeof *t->buckets);
    return TTAPE_OK;
}

static void give_arrays(struct ttape_tile *t)
{
    ttp_memory_give(&t->memory, t->instants, t->instant_count, sizeof *t->instants);
    ttp_memory_give(&t->memory, t->buckets, TTAPE_TILE_BUCKETS, sizeof *t->buckets);
    t->instants = NULL;
    t->buckets = NULL;
}

/* ---- instants ---- */

void ttp_tile_give(struct ttape_tile *t, int64_t from, int64_t end, uint32_t node)
{
    int64_t low = t->first - (int64_t)t->lead;
    from = from > t->next ? from : t->next;
    if (from >= end)
        return;
    int64_t gap_at = from;
    bool has_gap = t->has_gap; /* F-TIL-03 */
    t->has_gap = false;
    t->next = end;
    if (end > low && (uint64_t)end - (uint64_t)low > t->instant_count)
        end = (int64_t)((uint64_t)low + t->instant_count);
    for (int64_t n = from > low ? from : low; n < end; n++)
        t->instants[n - low] = (struct ttp_tile_instant){node, has_gap && n == gap_at};
}

ttape_status ttp_tile_name_frame(struct ttape_tile *t, bool is_signal, uint32_t name,
                                 uint32_t *node, ttape_error *err)
{
    uint32_t depth = *node == TTP_NODE_NONE ? 0 : t->nodes[*node].depth + 1;
    if (depth == t->options.depths) {
        t->info.is_cut = true;
        return TTAPE_OK;
    }
    TTP_TRY(ttp_memory_reserve(&t->memory, &t->nodes, &t->node_capacity, t->node_count + 1ull,
                               sizeof *t->nodes, err));
    t->nodes[t->node_count] = (struct ttp_tile_node){
        .below = *node, .depth = depth, .name = name, .is_signal = is_signal};
    *node = t->node_count++;
    return TTAPE_OK;
}

/* ---- segments ---- */

/* The last instant of the tile, or one before the first, lies behind or before a tick. */
static bool is_behind_all(const struct ttape_tile *t, int64_t tick)
{
    int64_t low = t->first - (int64_t)t->lead, at = ttp_tile_instant_from(t, tick);
    return at > low && (uint64_t)at - (uint64_t)low >= t->instant_count;
}

static bool is_before_all(const struct ttape_tile *t, int64_t tick)
{
    return ttp_tile_instant_from(t, tick) < t->first - (int64_t)t->lead;
}

/* What the index says: a segment begins at the tick of the event before it, which lies in the
 * partition before, if that is there. */
static bool may_touch(const struct ttape_tile *t, uint32_t ordinal)
{
    const ttape_reader *r = t->decoder->reader;
    const struct ttp_segment_entry *seg = ttp_stream_segment(r, t->options.stream, ordinal);
    const struct ttp_partition_entry *entry = &r->partitions[seg->partition];
    if (entry->damaged)
        return true;
    if (entry->resolution_ns == 0 || is_before_all(t, entry_tick(t, entry, entry->end_tick)))
        return false;
    if (ordinal == 0)
        return true;
    const struct ttp_segment_entry *before = ttp_stream_segment(r, t->options.stream, ordinal - 1);
    entry = &r->partitions[before->partition];
    return entry->resolution_ns == 0 || entry->damaged ||
           before->first_event + before->event_count != seg->first_event ||
           !is_behind_all(t, entry_tick(t, entry, entry->first_tick));
}

static bool has_same_axis(const struct ttape_tile *t, const struct ttp_loaded *p)
{
    return p->head.origin_ns == t->axis.origin_ns && p->head.resolution_ns == t->axis.resolution_ns;
}

/* No instant lies in the segment, and nothing is missing in it: its edges tell what stays open. */
static bool is_between(const struct ttape_tile *t, const struct ttp_loaded *p,
                       const struct ttp_segment *g)
{
    bool same_axis =
        p->head.origin_ns == t->axis.origin_ns && p->head.resolution_ns == t->axis.resolution_ns;
    return same_axis && p->head.wide_count == 0 && p->head.gap_count == 0 &&
           ttp_tile_instant_from(t, g->base_tick) >= ttp_tile_instant_from(t, g->end_tick);
}

static ttape_status pass_edges(struct ttape_tile *t, const struct ttp_segment *g, ttape_error *err)
{
    struct ttp_tile_carry *carry = &t->carry;
    uint32_t kept = carry->is_valid && carry->count == g->start.frame_count ? g->kept : 0;
    TTP_TRY(ttp_memory_reserve(&t->memory, &carry->nodes, &carry->capacity, g->end.frame_count,
                               sizeof *carry->nodes, err));
    for (uint32_t i = kept; i < g->end.frame_count; i++)
        carry->nodes[i] = 0;
    carry->count = g->end.frame_count;
    return TTAPE_OK;
}

static ttape_status give_instants(struct ttape_tile *t, const struct ttp_loaded *p, uint32_t number,
                                  const struct ttp_read_instants *from, bool *done,
                                  ttape_error *err)
{
    uint32_t exponent = from->in.segments != NULL ? from->in.segments[number].exponent : 0;
    if (exponent > t->trial.spacing && exponent <= t->options.level)
        t->trial.spacing = exponent;
    if (from->in.segments == NULL || exponent > t->spacing)
        return TTAPE_OK;
    *done = true;
    t->info.section_count++;
    return ttp_tile_from_instants(t, p, number, &from->in, err);
}

/* From what the partition says of its instants, where that is fine enough. If it cannot be read,
 * events tell the same. */
static ttape_status try_instants(struct ttape_tile *t, const struct ttp_loaded *p, uint32_t number,
                                 bool *done, ttape_error *err)
{
    struct ttp_read_instants from;
    *done = false;
    if ((t->options.sources & TTAPE_TILE_FROM_INSTANTS) == 0 || !has_same_axis(t, p))
        return TTAPE_OK;
    ttape_status status = ttp_instants_load(t->decoder, p, &from, err);
    if (status == TTAPE_E_MEMORY || status == TTAPE_E_IO)
        return status;
    if (status != TTAPE_OK)
        return TTAPE_OK;
    status = give_instants(t, p, number, &from, done, err);
    ttp_instants_drop(t->decoder, &from);
    return status;
}

static ttape_status decode_segment(struct ttape_tile *t, const struct ttp_segment_entry *seg,
                                   ttape_error *err)
{
    struct ttp_loaded *p;
    TTP_TRY(ttp_loaded_get(t->decoder, seg->partition, TTP_STAGE_EVENTS, &p, err));
    t->info.event_count++;
    return ttp_tile_from_events(t, p, ttp_segment_number(t->decoder->reader, seg), err);
}

static ttape_status add_segment(struct ttape_tile *t, const struct ttp_segment_entry *seg,
                                ttape_error *err)
{
    struct ttp_loaded *p;
    bool done = true;
    uint32_t number = ttp_segment_number(t->decoder->reader, seg);
    TTP_TRY(ttp_loaded_get(t->decoder, seg->partition, TTP_STAGE_LIGHT, &p, err));
    const struct ttp_segment *g = &p->segments.segments[number];
    t->info.segment_count++;
    if (is_between(t, p, g))
        TTP_TRY(pass_edges(t, g, err));
    else
        TTP_TRY(try_instants(t, p, number, &done, err));
    if (!done && (t->options.sources & TTAPE_TILE_FROM_EVENTS) != 0 && !t->trial.goes_on) {
        TTP_TRY(decode_segment(t, seg, err));
        done = true;
    }
    if (!done && t->trial.goes_on && has_same_axis(t, p)) /* what is behind all is not looked at */
        ttp_tile_give(t, ttp_tile_instant_from(t, g->base_tick),
                      ttp_tile_instant_from(t, g->end_tick), TTP_NODE_UNKNOWN);
    t->info.left_out_count += !done;
    t->carry.is_valid = done;
    return TTAPE_OK;
}

static ttape_status add_or_tell(struct ttape_tile *t, const struct ttp_segment_entry *seg,
                                ttape_error *err)
{
    ttape_error problem = {0};
    ttape_status status = add_segment(t, seg, &problem);
    if (status == TTAPE_OK)
        return TTAPE_OK;
    if (t->trial.goes_on && status != TTAPE_E_MEMORY && status != TTAPE_E_LIMIT) {
        t->trial.has_failed = true; /* the second time tells of it */
        t->carry.is_valid = false;
        return TTAPE_OK;
    }
    if (t->options.damage == NULL || status == TTAPE_E_MEMORY || status == TTAPE_E_LIMIT ||
        status == TTAPE_E_IO) {
        if (err != NULL)
            *err = problem;
        return status;
    }
    t->options.damage(t->options.context, seg->partition, &problem);
    t->info.damaged_count++;
    t->carry.is_valid = false;
    t->has_gap = true;
    return TTAPE_OK;
}

/* What its overview does not tell. *count: segments that are done. */
static ttape_status add_next(struct ttape_tile *t, uint32_t ordinal, uint32_t *count,
                             ttape_error *err)
{
    TTP_TRY(ttp_tile_from_overview(t, ordinal, count, err));
    t->info.overview_count += *count;
    t->info.segment_count += *count;
    if (*count != 0) {
        t->carry.is_valid = true;
        return TTAPE_OK;
    }
    *count = 1;
    return add_or_tell(t, ttp_stream_segment(t->decoder->reader, t->options.stream, ordinal), err);
}

static ttape_status add_segments(struct ttape_tile *t, ttape_error *err)
{
    const ttape_reader *r = t->decoder->reader;
    uint32_t stream = t->options.stream, count = segment_count(r, stream), done = 1;
    uint64_t next_event = 0;
    for (uint32_t i = 0; i < count && !ttp_tile_is_complete(t); i += done) {
        const struct ttp_segment_entry *seg = ttp_stream_segment(r, stream, i);
        if (seg->first_event != next_event) {
            t->has_gap = true;
            t->carry.is_valid = false;
        }
        done = 1;
        if (may_touch(t, i))
            TTP_TRY(add_next(t, i, &done, err));
        else
            t->carry.is_valid = false;
        seg = ttp_stream_segment(r, stream, i + done - 1);
        next_event = seg->first_event + seg->event_count;
    }
    return TTAPE_OK;
}

/* First without any events: that tells which segments would need them, and at what distance of
 * instants they do not. *done: none does. Otherwise the tile begins anew, with as many instants as
 * need events of those segments only that one instant a bucket needs them of, too. */
static ttape_status adapt(struct ttape_tile *t, bool *done, ttape_error *err)
{
    t->trial.spacing = t->spacing;
    t->trial.goes_on = true;
    TTP_TRY(add_segments(t, err));
    t->trial.goes_on = false;
    *done = t->info.left_out_count == 0 && !t->trial.has_failed;
    if (*done)
        return TTAPE_OK;
    t->options.instants = 1u << (t->options.level - t->trial.spacing);
    give_arrays(t);
    plan(t);
    t->carry.is_valid = t->has_gap = false;
    t->node_count = 0;
    return open_arrays(t, err);
}

/* ---- public ---- */

static ttape_status make_tile(struct ttape_tile *t, ttape_error *err)
{
    bool done = false;
    plan(t);
    find_axis(t, t->options.stream);
    TTP_TRY(open_arrays(t, err));
    if (t->axis.has_times && t->options.adapts && t->spacing < t->options.level)
        TTP_TRY(adapt(t, &done, err));
    if (t->axis.has_times && !done)
        TTP_TRY(add_segments(t, err));
    return ttp_tile_make_bars(t, err);
}

ttape_status ttape_tile_make(ttape_tile **out, ttape_reader *r, const ttape_tile_options *options,
                             ttape_error *err)
{
    ttape_tile_options taken;
    struct ttp_memory memory;
    if (out == NULL)
        return ttp_refuse(err, "no place for a tile");
    *out = NULL;
    if (r == NULL)
        return ttp_refuse(err, "no reader");
    TTP_TRY(take_options(&taken, options, err));
    if (taken.stream >= r->definitions.stream_count)
        return ttp_no_stream(err, taken.stream);
    ttp_memory_init(&memory, &r->memory.allocator, taken.memory_bytes);
    memory.hash_key = r->memory.hash_key;
    ttape_tile *t = ttp_memory_take(&memory, 1, sizeof *t, err);
    if (t == NULL)
        return memory.status;
    *t = (ttape_tile){.memory = memory, .decoder = &r->pool.first, .options = taken};
    ttape_status status = ttp_decoder_take_watched(&r->pool, &t->decoder, taken.watch, err);
    if (status == TTAPE_OK) {
        status = make_tile(t, err);
        ttp_tile_drop_overview(t);
        ttp_decoder_give(t->decoder);
    }
    if (status != TTAPE_OK) {
        ttape_tile_close(t);
        return status;
    }
    *out = t;
    return TTAPE_OK;
}

void ttape_tile_close(ttape_tile *t)
{
    if (t == NULL)
        return;
    struct ttp_memory *m = &t->memory;
    give_arrays(t);
    ttp_memory_give(m, t->nodes, t->node_capacity, sizeof *t->nodes);
    ttp_memory_give(m, t->carry.nodes, t->carry.capacity, sizeof *t->carry.nodes);
    ttp_memory_give(m, t->scratch, t->scratch_capacity, sizeof *t->scratch);
    ttp_memory_give(m, t->bars, t->bar_capacity, sizeof *t->bars);
    struct ttp_memory memory = t->memory;
    ttp_memory_give(&memory, t, 1, sizeof *t);
}

void ttape_tile_get_info(const ttape_tile *t, ttape_tile_info *info) { *info = t->info; }

const ttape_tile_bar *ttape_tile_get_bars(const ttape_tile *t, uint32_t *bar_count)
{
    *bar_count = t != NULL ? t->info.bar_count : 0;
    return t != NULL ? t->bars : NULL;
}

const ttape_tile_bucket *ttape_tile_get_buckets(const ttape_tile *t)
{
    return t != NULL ? t->buckets : NULL;
}
