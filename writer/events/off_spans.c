/* Switches: spans wait at their stream until the partition of their events is sealed. */
#include <string.h>

#include "format/base/fail.h"
#include "writer/events/off_times.h"
#include "writer/writer_internal.h"

void ttp_forget_switches(struct ttp_stream_state *s)
{
    s->spans.count = 0;
    s->is_known = false;
    ttp_off_forget(s);
}

ttape_status ttp_add_off(ttape_writer *w, struct ttp_scope *scope, uint32_t stream,
                         const ttape_off_span *spans, size_t count, ttape_error *err)
{
    if (stream >= scope->stream_count || !w->timed)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "F-SWI-05", TTAPE_ERROR_NO_OFFSET,
                        "unknown stream %u, or switches without times", stream);
    struct ttp_stream_state *s = (struct ttp_stream_state *)scope->stream_states.data + stream;
    if (!s->is_known)
        s->known_from = s->next_event;
    s->is_known = true;
    for (size_t i = 0; i < count; i++) {
        const ttape_off_span *waiting = s->spans.data;
        uint64_t number = s->next_event + spans[i].event;
        if ((uint32_t)spans[i].kind > TTAPE_OFF_UNKNOWN || spans[i].length_ns >= TTP_SPAN_MAX_NS ||
            spans[i].start_ns <= -(int64_t)TTP_SPAN_MAX_NS ||
            spans[i].start_ns >= (int64_t)TTP_SPAN_MAX_NS ||
            (s->spans.count != 0 && waiting[s->spans.count - 1].event > number))
            return ttp_fail(err, TTAPE_E_ARGUMENT, "F-SWI-04", TTAPE_ERROR_NO_OFFSET,
                            "a span is out of range or out of order");
        ttape_off_span *span = ttp_push(&w->allocator, &s->spans, sizeof *span, err);
        if (span == NULL)
            return TTAPE_E_MEMORY;
        *span = spans[i];
        span->event = number;
    }
    return TTAPE_OK;
}

/* Moves the spans of the segment's events out of its stream's list. */
static ttape_status take_spans(ttape_writer *w, struct ttp_pending *p, const struct ttp_segment *g,
                               struct ttp_stream_state *s, uint32_t *count, ttape_error *err)
{
    bool is_known = s->is_known && s->known_from <= g->first_event;
    ttape_off_span *waiting = s->spans.data;
    size_t taken = 0;
    *count = 0;
    for (; taken < s->spans.count && waiting[taken].event < s->next_event; taken++) {
        if (!is_known || waiting[taken].event < g->first_event)
            continue;
        struct ttp_off_span *span = ttp_push(&w->allocator, &p->spans, sizeof *span, err);
        if (span == NULL)
            return TTAPE_E_MEMORY;
        *span = (struct ttp_off_span){.event = (uint32_t)(waiting[taken].event - g->first_event),
                                      .kind = (uint8_t)waiting[taken].kind,
                                      .start_ns = waiting[taken].start_ns,
                                      .length_ns = waiting[taken].length_ns};
        ++*count;
    }
    if (taken != 0)
        memmove(waiting, waiting + taken, (s->spans.count - taken) * sizeof *waiting);
    s->spans.count -= taken;
    s->span_next = 0;
    return TTAPE_OK;
}

ttape_status ttp_collect_switches(ttape_writer *w, struct ttp_pending *p, ttape_error *err)
{
    struct ttp_stream_state *streams = p->scope->stream_states.data;
    const struct ttp_segment *segments = p->segments.data;
    bool is_any = false;
    for (size_t i = 0; i < p->segments.count; i++) {
        struct ttp_stream_state *s = &streams[segments[i].stream];
        uint8_t *known = ttp_push(&w->allocator, &p->known, sizeof *known, err);
        uint32_t *count = ttp_push(&w->allocator, &p->span_counts, sizeof *count, err);
        if (known == NULL || count == NULL)
            return TTAPE_E_MEMORY;
        *known = s->is_known && s->known_from <= segments[i].first_event;
        is_any = is_any || *known;
        TTP_TRY(take_spans(w, p, &segments[i], s, count, err));
    }
    if (!is_any)
        p->known.count = p->spans.count = p->span_counts.count = 0;
    return TTAPE_OK;
}
