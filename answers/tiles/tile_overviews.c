/* From an overview's series of a stream to instants of the tile: no partition is read. Whatever
 * does not hold is passed over, as partitions say the same. */
#include "answers/tiles/tiles_internal.h"
#include "format/base/fail.h"
#include "reader/levels/overview_reader.h"

void ttp_tile_drop_overview(struct ttape_tile *t)
{
    ttp_merged_drop(t->decoder, &t->overview.merged);
    t->overview.is_good = false;
}

static bool has_axis(const struct ttape_tile *t, const struct ttp_read_overview *o)
{
    for (uint32_t i = 0; i < o->head.partition_count; i++) {
        const struct ttp_partition_entry *entry = &t->decoder->reader->partitions[o->partitions[i]];
        if (entry->origin_ns != t->axis.origin_ns || entry->resolution_ns != t->axis.resolution_ns)
            return false;
    }
    return true;
}

static bool sites_are_defined(const ttape_reader *r, uint32_t scope, const struct ttp_instants *in)
{
    for (uint32_t i = 0; i < in->frame_count; i++)
        if (in->frames[i].event_class != TTP_CLASS_SIGNAL &&
            ttp_scope_site(r, scope, in->frames[i].argument) == TTAPE_NONE)
            return false;
    return true;
}

static ttape_status load_overview(struct ttape_tile *t, uint32_t number, ttape_error *err)
{
    struct ttp_tile_overview *to = &t->overview;
    struct ttp_trace_decoder *d = t->decoder;
    struct ttp_read_overview o;
    ttp_tile_drop_overview(t);
    to->number_plus_one = number + 1;
    to->scope = d->reader->overviews[number].scope;
    TTP_TRY(ttp_overview_load(d, number, TTP_OVERVIEW_BARE, TTP_OVERVIEW_SPREAD, &o, err));
    to->partition_count = o.head.partition_count;
    for (uint32_t i = 0; i < to->partition_count; i++)
        to->partitions[i] = o.partitions[i];
    ttape_status status =
        has_axis(t, &o) ? ttp_merged_load(d, &o, &to->merged, err) : TTAPE_E_NOT_FOUND;
    to->is_good = status == TTAPE_OK && sites_are_defined(d->reader, to->scope, &to->merged.all.in);
    ttp_overview_drop(d, &o);
    return status;
}

/* The first one of the scope behind a partition; another one may cover it, too, but has nothing
 * else to say. */
static bool find_overview(const ttape_reader *r, uint32_t partition, uint32_t *number)
{
    uint32_t low = ttp_overview_behind(r, partition);
    for (; low < r->overview_count && r->overviews[low].end - partition <= TTP_OVERVIEW_SPREAD;
         low++)
        if (r->overviews[low].scope == r->partitions[partition].scope) {
            *number = low;
            return true;
        }
    return false;
}

/* An overview has at most TTP_INSTANTS_MOST. */
static bool is_too_fine(const struct ttape_tile *t, const struct ttp_partition_entry *entry)
{
    uint64_t ticks = (uint64_t)entry->end_tick - (uint64_t)entry->first_tick;
    return ticks >> t->spacing > TTP_INSTANTS_MOST;
}

/* Its segments are those of the stream, one behind the other; `ref` is the one that is asked
 * for. */
static bool is_in_order(const struct ttape_tile *t, const struct ttp_merged_series *one,
                        uint32_t ref, uint32_t ordinal)
{
    const ttape_reader *r = t->decoder->reader;
    const struct ttp_merged_ref *refs = t->overview.merged.refs + one->first_ref;
    if (ref > ordinal)
        return false;
    for (uint32_t i = 0; i < one->segment_count; i++) {
        uint32_t partition = t->overview.partitions[refs[i].partition];
        const struct ttp_segment_entry *seg = &r->segments[r->partitions[partition].first_segment];
        uint32_t of_stream = r->stream_first[t->options.stream + 1];
        uint32_t at = r->stream_first[t->options.stream] + ordinal - ref + i;
        if (at >= of_stream || &r->segments[r->stream_segments[at]] != seg + refs[i].segment)
            return false;
        if (i != 0) {
            const struct ttp_segment_entry *before = &r->segments[r->stream_segments[at - 1]];
            if (before->first_event + before->event_count != seg[refs[i].segment].first_event)
                return false;
        }
    }
    return true;
}

/* The series that has the segment, and which of its segments that is. */
static const struct ttp_merged_series *find_series(const struct ttape_tile *t, uint32_t partition,
                                                   uint32_t *ref)
{
    const struct ttp_tile_overview *o = &t->overview;
    const struct ttp_merged_series *one = o->merged.all.series;
    const struct ttp_merged_series *end = one + o->merged.all.series_count;
    while (one < end && one->stream != t->options.stream)
        one++;
    if (one == end)
        return NULL;
    for (uint32_t i = 0; i < one->segment_count; i++)
        if (o->partitions[o->merged.refs[one->first_ref + i].partition] == partition) {
            *ref = i;
            return one;
        }
    return NULL;
}

ttape_status ttp_tile_from_overview(struct ttape_tile *t, uint32_t ordinal, uint32_t *count,
                                    ttape_error *err)
{
    struct ttp_trace_decoder *d = t->decoder;
    uint32_t partition = ttp_stream_segment(d->reader, t->options.stream, ordinal)->partition;
    uint32_t number, ref = 0;
    *count = 0;
    if ((t->options.sources & TTAPE_TILE_FROM_OVERVIEWS) == 0 ||
        is_too_fine(t, &d->reader->partitions[partition]) ||
        !find_overview(d->reader, partition, &number))
        return TTAPE_OK;
    if (t->overview.number_plus_one != number + 1) {
        ttape_error problem = {0};
        ttape_status status = load_overview(t, number, &problem);
        if (ttp_overview_fails(status) && err != NULL)
            *err = problem;
        if (ttp_overview_fails(status))
            return status;
    }
    const struct ttp_merged_series *one =
        t->overview.is_good ? find_series(t, partition, &ref) : NULL;
    if (one == NULL || one->in.exponent > t->spacing || !is_in_order(t, one, ref, ordinal))
        return TTAPE_OK;
    *count = one->segment_count - ref;
    t->carry.is_valid = t->carry.is_valid && ref == 0;
    return ttp_tile_from_series(t, &t->overview.merged.all, one, t->overview.scope, err);
}
