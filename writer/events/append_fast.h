/* The fast path of appending: plain enters and exits, which are nearly all events. */
#ifndef TTP_WRITER_APPEND_FAST_H
#define TTP_WRITER_APPEND_FAST_H

#include "writer/writer_internal.h"

#define TTP_FRAMES_ROOM 64u /* a stack that has less grows first: the loop takes no more than fit */

/* A call in 16 bytes as an event like any other. */
static inline ttape_event ttp_event_of(const ttape_enter_exit *c)
{
    uint32_t depth = c->depth_exit >> 1;
    return (ttape_event){.time_ns = c->time_ns,
                         .kind = (c->depth_exit & 1) != 0 ? TTAPE_EVENT_EXIT : TTAPE_EVENT_ENTER,
                         .site = c->site,
                         .depth = depth == TTAPE_DEPTH_AUTO >> 1 ? TTAPE_DEPTH_AUTO : depth};
}

/* Appends events from `first` on as long as they are plain: enters and exits of known sites in step
 * with the frames and the recorded depths, with differences that fit. Returns how many; the next
 * one is for the slow path. The stream must be the loaded one and the pending partition have room
 * for all. */
uint32_t ttp_append_fast(ttape_writer *w, struct ttp_pending *p, struct ttp_scope *scope,
                         struct ttp_stream_state *s, struct ttp_segment *g,
                         const struct ttp_events *from, uint32_t first, uint32_t count);

#endif
