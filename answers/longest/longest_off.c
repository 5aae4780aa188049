/* How much of a call its thread did not run, out of the switches of the partitions that it is in:
 * of the time in which its stack was the current one. */
#include "answers/longest/longest_internal.h"
#include "format/base/fail.h"
#include "format/times/times.h"
#include "reader/partition/partition_decoder.h"
#include "reader/partition/summary_reader.h"

/* A call over more partitions is not followed: each would have to be decoded. */
#define OFF_PARTITIONS_MOST 32u

ttape_status ttp_longest_cpu_times(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                                   struct ttp_cpu_times *cpu, ttape_error *err)
{
    struct ttp_measure *rows;
    uint32_t count;
    ttape_status status = ttp_summary_load(d, p, &rows, &count, err);
    if (status == TTAPE_OK)
        status = ttp_cpu_times_load(d, p, rows, count, cpu, err);
    ttp_memory_give(&d->memory, rows, count, sizeof *rows);
    return status >= TTAPE_E_TRUNCATED ? TTAPE_OK : status; /* damaged is as good as not there */
}

struct off_walk {
    ttape_longest_call *call;
    uint32_t current; /* stack */
    uint64_t away_ns; /* another one was the current one */
};

static void add_off(ttape_longest_call *call, struct ttp_off_time off)
{
    call->preempted_ns = (int64_t)((uint64_t)call->preempted_ns + off.preempted_ns);
    call->blocked_ns = (int64_t)((uint64_t)call->blocked_ns + off.blocked_ns);
    call->unknown_ns = (int64_t)((uint64_t)call->unknown_ns + off.unknown_ns);
}

static uint64_t off_of(const ttape_longest_call *call)
{
    return (uint64_t)call->preempted_ns + (uint64_t)call->blocked_ns + (uint64_t)call->unknown_ns;
}

static void forget_calls(struct off_walk *w)
{
    w->call->preempted_ns = w->call->blocked_ns = w->call->unknown_ns = 0;
    w->away_ns = 0;
}

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
            int64_t length_ns = (int64_t)(ticks * p->head.resolution_ns);
            add_off(w->call, ttp_switch_walk_take(&walk, event, length_ns, 0, INT64_MAX));
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

static ttape_status add_segment(struct off_walk *w, struct ttp_trace_decoder *d,
                                const struct ttp_segment_entry *seg, bool *known, ttape_error *err)
{
    struct ttp_loaded *p;
    const ttape_longest_call *call = w->call;
    uint32_t segment = ttp_segment_number(d->reader, seg);
    TTP_TRY(ttp_loaded_get(d, seg->partition, TTP_STAGE_LIGHT, &p, err));
    *known = ttp_partition_section(&p->head, TTP_SECTION_SWITCHES) != NULL;
    if (*known) {
        TTP_TRY(ttp_loaded_get(d, seg->partition, TTP_STAGE_ORDER, &p, err));
        *known = is_known(p, segment);
    }
    if (!*known)
        return TTAPE_OK;
    TTP_TRY(ttp_loaded_get(d, seg->partition, TTP_STAGE_EVENTS, &p, err));
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

/* ---- the partitions between, without their events ---- */

/* All intervals of a segment whose times are not there: as its spans say, which lie in them. False:
 * it takes the times to know. */
static ttape_status add_spans(struct off_walk *w, struct ttp_trace_decoder *d,
                              const struct ttp_segment_entry *seg, bool *known, ttape_error *err)
{
    struct ttp_loaded *p;
    uint32_t segment = ttp_segment_number(d->reader, seg);
    TTP_TRY(ttp_loaded_get(d, seg->partition, TTP_STAGE_LIGHT, &p, err));
    bool was_read = p->switches.segment_count != 0;
    ttape_status status = ttp_loaded_read_switches(d, p, err);
    *known = status == TTAPE_OK && is_known(p, segment);
    if (*known) {
        struct ttp_switch_walk walk = ttp_switch_walk_init(&p->switches, segment);
        for (uint32_t event; *known && (event = ttp_switch_walk_next(&walk)) != UINT32_MAX;) {
            struct ttp_off_time off = ttp_switch_walk_take(&walk, event, INT64_MAX, 0, INT64_MAX);
            *known = off.unknown_ns < INT64_MAX; /* else all of the interval, which is not there */
            add_off(w->call, off);
        }
    }
    if (!was_read)
        ttp_loaded_drop_switches(&d->memory, p);
    return status;
}

/* What the call's frame was off before the last segment; false: the file does not say. */
static ttape_status read_so_far(struct ttp_trace_decoder *d, const struct ttp_segment_entry *last,
                                const ttape_longest_call *call, uint32_t height, bool *known,
                                uint64_t *off_ns, ttape_error *err)
{
    struct ttp_loaded *p;
    struct ttp_cpu_times cpu = {0};
    TTP_TRY(ttp_loaded_get(d, last->partition, TTP_STAGE_LIGHT, &p, err));
    TTP_TRY(ttp_longest_cpu_times(d, p, &cpu, err));
    const struct ttp_segment *g = &p->segments.segments[ttp_segment_number(d->reader, last)];
    *known = false;
    for (uint32_t i = 0; cpu.start_off_ns != NULL && i < g->start.frame_count && !*known; i++) {
        uint32_t at = g->start.frame_start + i;
        if (p->segments.start_frames[at].stack != call->stack || height-- != 0)
            continue;
        *off_ns = (uint64_t)cpu.start_off_ns[at];
        *known = true;
    }
    ttp_cpu_times_drop(d, &cpu);
    return TTAPE_OK;
}

/* All but the last segment, where that comes to what the last one says of them: so no other stack
 * was the current one in between, nor were spans cut off by their intervals. */
static ttape_status add_between(struct off_walk *w, struct ttp_trace_decoder *d, uint32_t height,
                                uint32_t first, uint32_t last, bool *known, ttape_error *err)
{
    ttape_longest_call *call = w->call;
    uint64_t so_far = 0;
    TTP_TRY(read_so_far(d, ttp_stream_segment(d->reader, call->stream, last), call, height, known,
                        &so_far, err));
    if (*known)
        TTP_TRY(add_segment(w, d, ttp_stream_segment(d->reader, call->stream, first), known, err));
    for (uint32_t i = first + 1; *known && i < last; i++)
        TTP_TRY(add_spans(w, d, ttp_stream_segment(d->reader, call->stream, i), known, err));
    *known = *known && off_of(call) + w->away_ns == so_far;
    if (!*known)
        forget_calls(w);
    return TTAPE_OK;
}

ttape_status ttp_longest_off(struct ttape_longest *l, const struct ttp_segment_entry *end,
                             uint32_t height, ttape_longest_call *call, ttape_error *err)
{
    struct ttp_trace_decoder *d = l->decoder;
    struct off_walk w = {.call = call};
    call->off_known = false;
    if (call->is_found)
        return TTAPE_OK;
    uint32_t first = ttp_segments_up_to(d->reader, call->stream, call->enter_number) - 1;
    uint32_t last = ttp_segments_up_to(d->reader, call->stream, end->first_event) - 1;
    bool known = last - first < OFF_PARTITIONS_MOST, is_short = false;
    if (known && last - first > 1)
        TTP_TRY(add_between(&w, d, height, first, last, &is_short, err));
    for (uint32_t i = is_short ? last : first; known && i <= last; i++)
        TTP_TRY(add_segment(&w, d, ttp_stream_segment(d->reader, call->stream, i), &known, err));
    call->off_known = known;
    if (!known)
        forget_calls(&w);
    else if (l->plan.by != TTAPE_LONGEST_BY_ON_CPU)
        call->on_cpu_ns = (int64_t)((uint64_t)call->duration_ns - off_of(call) - w.away_ns);
    return TTAPE_OK;
}
