/* The spans of a segment are copied out of its partition, which may have to leave the cache before
 * the segment has been gone through. */
#include "answers/calls/call_off.h"

#include "format/base/fail.h"
#include "reader/partition/partition_decoder.h"

static bool copy_spans(struct ttp_call_stream *s, const struct ttp_loaded *p, uint32_t segment)
{
    const struct ttp_switches *from = &p->switches;
    if (from->segment_count == 0 || from->is_known[segment] == 0)
        return false;
    uint32_t first = from->span_start[segment], count = from->span_start[segment + 1] - first;
    if (ttp_memory_reserve(s->memory, &s->off.spans, &s->off.capacity, count + 1ull,
                           sizeof *s->off.spans, NULL) != TTAPE_OK)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        s->off.spans[i] = from->spans[first + i];
        s->off.spans[i].event -= p->segment_start[segment];
    }
    s->off.walk = (struct ttp_switch_walk){s->off.spans, s->off.spans + count, true};
    return true;
}

/* The segment that has the event that is next, or none. */
static void find_segment(ttape_call_cursor *c, struct ttp_call_stream *s)
{
    const ttape_reader *r = c->reader;
    struct ttp_loaded *p;
    s->off.walk = (struct ttp_switch_walk){.is_known = false};
    s->off.first_number = s->off.end_number = s->number;
    for (uint32_t i = r->stream_first[s->stream]; i < r->stream_first[s->stream + 1]; i++) {
        const struct ttp_segment_entry *seg = &r->segments[r->stream_segments[i]];
        if (s->number < seg->first_event || s->number - seg->first_event >= seg->event_count)
            continue;
        s->off.first_number = seg->first_event;
        s->off.end_number = seg->first_event + seg->event_count;
        struct ttp_lease *lease = &c->cursor->lease;
        if (ttp_lease_begin(lease, NULL) != TTAPE_OK)
            return;
        if (ttp_loaded_get(lease->decoder, seg->partition, TTP_STAGE_ORDER, &p, NULL) == TTAPE_OK)
            s->off.walk.is_known = copy_spans(s, p, ttp_segment_number(r, seg));
        ttp_lease_end(lease);
        return;
    }
}

void ttp_call_pass_off(ttape_call_cursor *c, uint64_t time_ns, uint64_t event_ns)
{
    struct ttp_call_stream *s = c->s;
    struct ttp_call_off *o = &s->off;
    if (s->number < o->first_number || s->number >= o->end_number)
        find_segment(c, s);
    uint64_t place = s->number - o->first_number;
    if (place < ttp_switch_walk_next(&o->walk) && time_ns == event_ns) { /* it ran all the time */
        o->start_ns = event_ns;
        return;
    }
    int64_t from = (int64_t)(s->now_ns - o->start_ns), to = (int64_t)(time_ns - o->start_ns);
    struct ttp_switch_walk walk = o->walk; /* a range may end inside of the interval */
    struct ttp_off_time off =
        ttp_switch_walk_take(&walk, (uint32_t)place, (int64_t)(event_ns - o->start_ns), from, to);
    o->walk = time_ns == event_ns ? walk : o->walk;
    o->start_ns = time_ns == event_ns ? event_ns : o->start_ns;
    o->preempted_ns += off.preempted_ns;
    o->blocked_ns += off.blocked_ns;
    o->unknown_ns += off.unknown_ns;
    s->current->off_clock += off.preempted_ns + off.blocked_ns;
    s->current->unknown_clock += off.unknown_ns;
}

void ttp_call_settle_off(ttape_call_cursor *c)
{
    const struct ttp_call_stack *stack = *ttp_call_stack_slot(c->s, c->step.stack);
    struct ttp_call_off *o = &c->s->off;
    c->step.preempted_ns = (int64_t)o->preempted_ns;
    c->step.blocked_ns = (int64_t)o->blocked_ns;
    c->step.unknown_ns = (int64_t)o->unknown_ns;
    o->preempted_ns = o->blocked_ns = o->unknown_ns = 0;
    for (uint32_t i = 0; i < c->step.began_count; i++) {
        c->step.began[i].off_ns = (int64_t)(0 - stack->off_clock);
        c->step.began[i].unknown_ns = (int64_t)(0 - stack->unknown_clock);
    }
    for (uint32_t i = 0; i < c->step.ended_count; i++) {
        ttape_call *call = &c->step.ended[i];
        call->off_ns = (int64_t)((uint64_t)call->off_ns + stack->off_clock);
        call->unknown_ns = (int64_t)((uint64_t)call->unknown_ns + stack->unknown_clock);
    }
}
