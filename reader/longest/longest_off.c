/* How much of a call its thread did not run, out of the switches of the partitions that it is in:
 * of the time in which its stack was the current one. */
#include "format/base/fail.h"
#include "format/times/times.h"
#include "reader/longest/longest_internal.h"
#include "reader/partition/partition_decoder.h"

/* A call over more partitions is not followed: each would have to be decoded. */
#define OFF_PARTITIONS_MOST 32u

struct off_walk {
    ttape_longest_call *call;
    uint32_t current; /* stack */
    uint64_t away_ns; /* another one was the current one */
};

static bool is_switch(const struct ttp_code_view *v, uint32_t code)
{
    return v->event_class == TTP_CLASS_SWITCH && (code & 1) == 0;
}

/* The intervals that end with events [first, end) of a segment. */
static void add_intervals(struct off_walk *w, const struct ttp_loaded *p, uint32_t segment,
                          uint32_t first, uint32_t end)
{
    struct ttp_switch_walk walk = ttp_switch_walk_init(&p->switches, segment);
    uint32_t wide = ttp_loaded_wide_from(p, first);
    for (uint32_t event = first; event < end; event++) {
        uint32_t code = p->codes[event];
        const struct ttp_code_view *v = &p->views[code];
        uint64_t ticks = p->delta[event];
        if (ticks == TTP_DELTA_WIDE)
            ticks = (uint64_t)p->wide[wide++];
        if (w->current == w->call->stack && event >= ttp_switch_walk_next(&walk)) {
            struct ttp_off_time off = ttp_switch_walk_take(
                &walk, event, (int64_t)(ticks * p->head.resolution_ns), 0, INT64_MAX);
            w->call->preempted_ns += (int64_t)off.preempted_ns;
            w->call->blocked_ns += (int64_t)off.blocked_ns;
            w->call->unknown_ns += (int64_t)off.unknown_ns;
        }
        if (w->current != w->call->stack)
            w->away_ns += ticks * p->head.resolution_ns;
        if (is_switch(v, code))
            w->current = v->argument;
    }
}

static bool is_known(const struct ttp_loaded *p, uint32_t segment)
{
    return p->switches.segment_count != 0 && p->switches.is_known[segment] != 0;
}

static ttape_status add_segment(struct off_walk *w, ttape_reader *r,
                                const struct ttp_segment_entry *seg, bool *known, ttape_error *err)
{
    struct ttp_loaded *p;
    const ttape_longest_call *call = w->call;
    uint32_t segment = ttp_segment_number(r, seg);
    TTP_TRY(ttp_loaded_get(r, seg->partition, TTP_STAGE_LIGHT, &p, err));
    *known = ttp_partition_section(&p->head, TTP_SECTION_SWITCHES) != NULL;
    if (*known) {
        TTP_TRY(ttp_loaded_get(r, seg->partition, TTP_STAGE_ORDER, &p, err));
        *known = is_known(p, segment);
    }
    if (!*known)
        return TTAPE_OK;
    TTP_TRY(ttp_loaded_get(r, seg->partition, TTP_STAGE_EVENTS, &p, err));
    uint32_t start = p->segment_start[segment], first = start, end = start + seg->event_count;
    if (call->enter_number >= seg->first_event) {
        first = start + (uint32_t)(call->enter_number - seg->first_event) + 1;
        w->current = call->stack;
    } else {
        w->current = p->segments.segments[segment].start.stack;
    }
    if (call->end_number < seg->first_event + seg->event_count)
        end = start + (uint32_t)(call->end_number - seg->first_event) + 1;
    add_intervals(w, p, segment, first, end);
    return TTAPE_OK;
}

ttape_status ttp_longest_off(struct ttape_longest *l, const struct ttp_segment_entry *end,
                             ttape_longest_call *call, ttape_error *err)
{
    ttape_reader *r = l->reader;
    struct off_walk w = {.call = call};
    call->off_known = false;
    if (call->is_found)
        return TTAPE_OK;
    uint32_t first = ttp_segments_up_to(r, call->stream, call->enter_number) - 1;
    uint32_t last = ttp_segments_up_to(r, call->stream, end->first_event) - 1;
    bool known = last - first < OFF_PARTITIONS_MOST;
    for (uint32_t i = first; known && i <= last; i++)
        TTP_TRY(add_segment(&w, r, ttp_stream_segment(r, call->stream, i), &known, err));
    call->off_known = known;
    if (!known)
        call->preempted_ns = call->blocked_ns = call->unknown_ns = 0;
    else if (l->plan.by != TTAPE_LONGEST_BY_ON_CPU)
        call->on_cpu_ns =
            (int64_t)((uint64_t)call->duration_ns - (uint64_t)call->preempted_ns -
                      (uint64_t)call->blocked_ns - (uint64_t)call->unknown_ns - w.away_ns);
    return TTAPE_OK;
}
