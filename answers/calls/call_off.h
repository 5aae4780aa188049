/* Time off the CPU of calls: what is known of a stream's switches, a segment at a time, for the
 * intervals that a call cursor goes through. */
#ifndef TTP_READER_CALL_OFF_H
#define TTP_READER_CALL_OFF_H

#include "answers/calls/call_cursor.h"

/* Time goes on to time_ns, which is not beyond the event that is next: event_ns is its time. */
void ttp_call_pass_off(ttape_call_cursor *c, uint64_t time_ns, uint64_t event_ns);
/* Of calls that the step began and ended. */
void ttp_call_settle_off(ttape_call_cursor *c);
/* Reading begins or goes on behind an event of that time. */
static inline void ttp_call_off_start(struct ttp_call_stream *s, uint64_t event_ns)
{
    s->off.start_ns = event_ns;
}

#endif
