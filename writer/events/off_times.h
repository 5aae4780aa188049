/* How much of open frames was not on the CPU, while events are appended. The fast path does nothing
 * for it but stop before an event with spans, and before the end of a frame that has something.
 *
 * What is in a frame and in none that it called is one entry of its stack's list; when a frame
 * ends, its entry goes to its caller. */
#ifndef TTP_WRITER_OFF_TIMES_H
#define TTP_WRITER_OFF_TIMES_H

#include "writer/writer_internal.h"

/* The number of frames up to the topmost that has an entry; 0: none has. */
static inline uint32_t ttp_off_height(const struct ttp_stack *stack)
{
    const struct ttp_off_entry *entries = stack->offs.data;
    return stack->offs.count == 0 ? 0 : entries[stack->offs.count - 1].height;
}

/* How many of `count` events come before the next one with spans. */
static inline uint32_t ttp_off_until(const struct ttp_stream_state *s, uint32_t count)
{
    const ttape_off_span *spans = s->spans.data;
    if (!s->is_tracked || s->span_next == s->spans.count)
        return count;
    uint64_t until = spans[s->span_next].event - s->next_event;
    return until < count ? (uint32_t)until : count;
}

/* A segment starts: what is known from here on. */
ttape_status ttp_off_start(ttape_writer *w, struct ttp_scope *scope, struct ttp_stream_state *s,
                           ttape_error *err);
void ttp_off_forget(struct ttp_stream_state *s);
/* The interval before the stream's next event has spans. */
ttape_status ttp_off_take(ttape_writer *w, struct ttp_scope *scope, struct ttp_stream_state *s,
                          int64_t elapsed, ttape_error *err);
/* The stack `from` is left for the current one at `tick`. */
ttape_status ttp_off_switch(ttape_writer *w, struct ttp_scope *scope, struct ttp_stream_state *s,
                            uint32_t from, int64_t tick, ttape_error *err);
/* The top frame ended, which has an entry: as ttp_end_frame. The stack is one lower already. */
void ttp_off_end_frame(const ttape_writer *w, const struct ttp_scope *scope,
                       struct ttp_stack *stack, const struct ttp_open *f, int64_t tick);
/* The site's sums in the pending partition, all 0 before the first; the scope has room for it. */
struct ttp_site_off *ttp_site_off_at(const ttape_writer *w, const struct ttp_scope *scope,
                                     uint32_t site);
/* NULL where nothing was added in the pending partition. */
const struct ttp_site_off *ttp_site_off_find(const ttape_writer *w, const struct ttp_scope *scope,
                                             uint32_t site);

#endif
