/* Looking at a stream while it is written: what is open now. For the recorder, whose records may
 * say more than the stream can bear, and which goes on in another file after a rotation. */
#ifndef TTP_WRITER_STREAM_EDGE_H
#define TTP_WRITER_STREAM_EDGE_H

#include "writer/writer_internal.h"

/* Frames open on the stream's current stack. */
uint32_t ttp_stream_open_count(const ttape_writer *w, uint32_t stream);

/* Whether that one of them, from the outermost, is a signal's. */
bool ttp_stream_is_signal(const ttape_writer *w, uint32_t stream, uint32_t frame);

/* Whether ttape_writer_attach will take values: its last event has none, and is not sealed. */
bool ttp_stream_takes_values(const ttape_writer *w, uint32_t stream);

/* The number of the innermost signal whose handler is open there; false: none within reach. */
bool ttp_stream_open_signal(const ttape_writer *w, uint32_t stream, uint32_t *number);

/* How many events it has. */
uint64_t ttp_stream_next_event(const ttape_writer *w, uint32_t stream);

/* The state at its end. frames: struct ttape_open_frame, of which edge->frames borrows. */
ttape_status ttp_stream_get_edge(const ttape_writer *w, uint32_t stream, ttape_edge *edge,
                                 struct ttp_growing *frames, ttape_error *err);

/* Gives back the memory that only a partition needs while it is filled and encoded. All is sealed
 * and in the file: behind a flush. */
void ttp_writer_rest(ttape_writer *w);

/* Of many writers that are filled at a time: room for events grows in small steps. */
void ttp_writer_share_memory(ttape_writer *w);

#endif
