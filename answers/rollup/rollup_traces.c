/* What is covered: of each trace the partitions, as ranges that neither meet nor touch. */
#include "answers/rollup/rollup_internal.h"
#include "base/ordered.h"
#include "format/base/fail.h"

static uint32_t *slot_of(ttape_rollup *r, const uint8_t *id)
{
    struct ttp_hash hash = ttp_key_map_hash(&r->trace_map);
    ttp_hash_bytes(&hash, id, TTP_ROLLUP_ID_BYTES);
    if (ttp_key_map_is_full(&r->trace_map) && !ttp_region_grow_map(&r->region, &r->trace_map))
        return NULL;
    return ttp_key_map_at(&r->trace_map, hash.low ^ hash.high, TTAPE_NONE);
}

static uint32_t find_trace(const ttape_rollup *r, const uint8_t *id)
{
    struct ttp_hash hash = {.low = r->trace_map.secret, .high = ~r->trace_map.secret};
    ttp_hash_bytes(&hash, id, TTP_ROLLUP_ID_BYTES);
    uint32_t at = ttp_key_map_find(&r->trace_map, hash.low ^ hash.high, TTAPE_NONE);
    while (at != TTAPE_NONE && memcmp(r->traces[at].id, id, TTP_ROLLUP_ID_BYTES) != 0)
        at = r->traces[at].next;
    return at;
}

/* ---- what is there already ---- */

/* The first range of `own` that ends behind `first`. */
static size_t find_range(const struct ttp_rollup_trace *own, uint64_t first)
{
    struct ttp_bisect s = {.end = own->range_count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, (uint64_t)own->ranges[s.middle].first + own->ranges[s.middle].count <=
                                first);
    return s.first;
}

static ttape_status refuse_trace(const struct ttp_rollup_trace *trace, uint64_t first, uint64_t end,
                                 ttape_error *err)
{
    char id[2 * TTP_ROLLUP_ID_BYTES + 1];
    for (size_t i = 0; i < TTP_ROLLUP_ID_BYTES; i++) {
        id[2 * i] = "0123456789abcdef"[trace->id[i] >> 4];
        id[2 * i + 1] = "0123456789abcdef"[trace->id[i] & 15];
    }
    id[2 * TTP_ROLLUP_ID_BYTES] = '\0';
    if (end == 0)
        return ttp_fail(err, TTAPE_E_EXISTS, "R-TRC-04", TTAPE_ERROR_NO_OFFSET,
                        "trace '%s' was added before", id);
    return ttp_fail(err, TTAPE_E_EXISTS, "R-TRC-04", TTAPE_ERROR_NO_OFFSET,
                    "partitions %llu to %llu of trace '%s' were added before",
                    (unsigned long long)first, (unsigned long long)(end - 1), id);
}

ttape_status ttp_rollup_check_trace(const ttape_rollup *r, const struct ttp_rollup_trace *trace,
                                    ttape_error *err)
{
    uint32_t at = find_trace(r, trace->id);
    if (at == TTAPE_NONE)
        return TTAPE_OK;
    const struct ttp_rollup_trace *own = &r->traces[at];
    if (trace->range_count == 0 || own->range_count == 0)
        return refuse_trace(trace, 0, 0, err);
    for (size_t i = 0; i < trace->range_count; i++) {
        uint64_t first = trace->ranges[i].first, end = first + trace->ranges[i].count;
        size_t met = find_range(own, first);
        if (met == own->range_count || own->ranges[met].first >= end)
            continue;
        uint64_t own_first = own->ranges[met].first, own_end = own_first + own->ranges[met].count;
        return refuse_trace(trace, own_first > first ? own_first : first,
                            own_end < end ? own_end : end, err);
    }
    return TTAPE_OK;
}

/* ---- adding ---- */

static bool add_range(ttape_rollup *r, struct ttp_rollup_trace *own, ttape_rollup_range range)
{
    size_t at = find_range(own, range.first);
    bool joins_next = at < own->range_count && own->ranges[at].first == range.first + range.count;
    bool joins_last =
        at > 0 && own->ranges[at - 1].first + own->ranges[at - 1].count == range.first;
    if (joins_last) {
        own->ranges[at - 1].count += range.count + (joins_next ? own->ranges[at].count : 0);
        if (joins_next) {
            own->range_count--;
            memmove(&own->ranges[at], &own->ranges[at + 1],
                    (own->range_count - at) * sizeof *own->ranges);
        }
        return true;
    }
    if (joins_next) {
        own->ranges[at].first = range.first;
        own->ranges[at].count += range.count;
        return true;
    }
    if (!ttp_region_grow(&r->region, &own->ranges, &own->range_capacity, own->range_count + 1,
                         sizeof *own->ranges))
        return false;
    memmove(&own->ranges[at + 1], &own->ranges[at], (own->range_count - at) * sizeof *own->ranges);
    own->ranges[at] = range;
    own->range_count++;
    return true;
}

/* The text that comes first by its bytes stands; "" is none. */
static bool take_text(ttape_rollup *r, ttape_string *text, ttape_string other)
{
    uint32_t a = ttp_rollup_take_string(r, *text), b = ttp_rollup_take_string(r, other);
    if (a == TTAPE_NONE || b == TTAPE_NONE)
        return false;
    bool takes = b != 0 && (a == 0 || ttp_rollup_compare_texts(r, b, a) < 0);
    *text = ttp_rollup_text(r, takes ? b : a);
    return true;
}

ttape_status ttp_rollup_add_trace(ttape_rollup *r, const struct ttp_rollup_trace *trace,
                                  uint32_t *number, ttape_error *err)
{
    uint32_t at = find_trace(r, trace->id);
    if (at == TTAPE_NONE) {
        uint32_t *slot = slot_of(r, trace->id);
        struct ttp_rollup_trace *made = ttp_region_add(&r->region, &r->traces, &r->trace_count,
                                                       &r->trace_capacity, sizeof *made);
        if (slot == NULL || made == NULL)
            return ttp_rollup_fail_short(r, err);
        memcpy(made->id, trace->id, TTP_ROLLUP_ID_BYTES);
        made->next = *slot;
        made->name = made->host = (ttape_string){"", 0};
        at = *slot = (uint32_t)r->trace_count - 1;
    }
    struct ttp_rollup_trace *own = &r->traces[at];
    r->is_settled = false;
    *number = at;
    if (!ttp_rollup_add_sums(&own->sums, ttp_rollup_trace_kinds, &trace->sums))
        return ttp_rollup_fail_sum(r, err);
    if (!take_text(r, &own->name, trace->name) || !take_text(r, &own->host, trace->host))
        return ttp_rollup_fail_short(r, err);
    for (size_t i = 0; i < trace->range_count; i++)
        if (!add_range(r, own, trace->ranges[i]))
            return ttp_rollup_fail_short(r, err);
    return TTAPE_OK;
}
