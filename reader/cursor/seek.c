/* Where a time is. The directory of blocks tells which block to decode, as long as times only
 * ascend; where a difference may be negative, everything is decoded and gone through. */
#include "format/base/fail.h"
#include "format/times/times.h"
#include "reader/cursor/cursor.h"
#include "reader/partition/times_reader.h"

bool ttp_partition_is_before(const struct ttp_partition_entry *entry, uint64_t time_ns)
{
    if (entry->resolution_ns == 0)
        return time_ns > 0;
    uint64_t last = ttp_time_of((int64_t)((uint64_t)entry->end_tick - 1), entry->origin_ns,
                                entry->resolution_ns);
    uint64_t first = ttp_time_of(entry->first_tick, entry->origin_ns, entry->resolution_ns);
    return last < time_ns && first <= last; /* times that wrap around 2^64 are looked at */
}

static uint64_t time_at(const struct ttp_loaded *p, int64_t tick)
{
    return ttp_time_of(tick, p->head.origin_ns, p->head.resolution_ns);
}

/* Of a partition without negative differences. */
static bool segment_is_before(const struct ttp_loaded *p, uint32_t segment, uint64_t time_ns)
{
    const struct ttp_segment *s = &p->segments.segments[segment];
    uint64_t last = time_at(p, s->end_tick);
    return last < time_ns && time_at(p, s->base_tick) <= last;
}

/* Those of the segment's events [from, end) that the time can be in. */
static struct ttp_range range_of_segment(const struct ttp_loaded *p, uint32_t segment,
                                         uint32_t from, uint64_t time_ns)
{
    uint32_t end = p->segment_start[segment + 1];
    uint32_t block = ttp_times_find_block(p, from, end, time_ns);
    uint32_t first = block * TTP_TIME_BLOCK_EVENTS, last = first + TTP_TIME_BLOCK_EVENTS;
    return (struct ttp_range){.first = first > from ? first : from, .end = last < end ? last : end};
}

/* Widens a range by what the partition's other segments will want: streams that segment at this
 * time. */
static void add_others(const struct ttp_loaded *p, uint64_t time_ns, struct ttp_range *range)
{
    for (uint32_t s = 0; s < p->segments.segment_count; s++) {
        if (segment_is_before(p, s, time_ns) ||
            time_at(p, p->segments.segments[s].base_tick) >= time_ns)
            continue;
        struct ttp_range other = range_of_segment(p, s, p->segment_start[s], time_ns);
        range->first = other.first < range->first ? other.first : range->first;
        range->end = other.end > range->end ? other.end : range->end;
    }
}

ttape_status ttp_search_time(struct ttp_trace_decoder *d, struct ttp_search *search,
                             ttape_error *err)
{
    struct ttp_loaded *p;
    uint64_t time_ns = search->time_ns;
    TTP_TRY(ttp_loaded_get(d, search->partition, TTP_STAGE_LIGHT, &p, err));
    uint32_t start = p->segment_start[search->segment], from = start + search->position;
    struct ttp_range range = {.first = from, .end = p->segment_start[search->segment + 1]};
    bool untimed = p->head.resolution_ns == 0, ascending = p->head.wide_count == 0;
    if (untimed ? time_ns != 0 : ascending && segment_is_before(p, search->segment, time_ns))
        search->position = range.end - start;
    if (untimed || search->position == range.end - start)
        return TTAPE_OK;
    if (!ascending) {
        TTP_TRY(ttp_loaded_get(d, search->partition, TTP_STAGE_EVENTS, &p, err));
    } else {
        TTP_TRY(ttp_loaded_get(d, search->partition, TTP_STAGE_ORDER, &p, err));
        range = range_of_segment(p, search->segment, from, time_ns);
        struct ttp_range wanted = range;
        if (search->others)
            add_others(p, time_ns, &wanted);
        TTP_TRY(ttp_loaded_reach(d, search->partition, &wanted, &p, err));
    }
    search->position = ttp_times_find(p, search->segment, range.first, range.end, time_ns) - start;
    return TTAPE_OK;
}
