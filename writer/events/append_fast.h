/* The fast path of appending: plain enters and exits, which are nearly all events. */
#ifndef TTP_WRITER_APPEND_FAST_H
#define TTP_WRITER_APPEND_FAST_H

#include "writer/writer_internal.h"

/* Appends events from the front as long as they are plain: enters and exits of known sites in step
 * with the frames and the recorded depths, with differences that fit. Returns how many; the next
 * one is for the slow path. The stream must be the loaded one and the pending partition have room
 * for all. */
uint32_t ttp_append_fast(ttape_writer *w, struct ttp_pending *p, struct ttp_scope *scope,
                         struct ttp_stream_state *s, struct ttp_segment *g,
                         const ttape_event *events, uint32_t count);

#endif
