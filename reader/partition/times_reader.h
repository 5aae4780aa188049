/* The times of a loaded partition: a range of its blocks is decoded, and every block's first
 * tick is known beforehand. */
#ifndef TTP_READER_TIMES_READER_H
#define TTP_READER_TIMES_READER_H

#include "reader/partition/section_reader.h"

/* Room for the times, their section and directory; no times yet. */
ttape_status ttp_times_open(struct ttp_trace_decoder *d, struct ttp_loaded *p, ttape_error *err);
/* No block is there, for now. */
void ttp_times_forget(struct ttp_loaded *p);
void ttp_times_drop(struct ttp_trace_decoder *d, struct ttp_loaded *p);

/* True where events [first, end) have their times; always, where the partition has none. */
bool ttp_times_cover(const struct ttp_loaded *p, uint32_t first, uint32_t end);
/* Decodes until they do. On failure no block is there. */
ttape_status ttp_times_extend(struct ttp_trace_decoder *d, struct ttp_loaded *p, uint32_t first,
                              uint32_t end, ttape_error *err);

/* The tick of an event whose time is there. */
int64_t ttp_times_tick_at(const struct ttp_loaded *p, uint32_t segment, uint32_t event);
/* The same from that of an event before it in the segment, or of itself; times from there on are
 * there. */
int64_t ttp_times_tick_after(const struct ttp_loaded *p, uint32_t before, int64_t tick,
                             uint32_t event);

/* First event of [from, end) in a segment with time >= time_ns, or `end`; their times are there. */
uint32_t ttp_times_find(const struct ttp_loaded *p, uint32_t segment, uint32_t from, uint32_t end,
                        uint64_t time_ns);
/* The block that this event is in, where from < end and times do not step back: of those that have
 * events of [from, end) the last one before whose first event it is earlier than time_ns. */
uint32_t ttp_times_find_block(const struct ttp_loaded *p, uint32_t from, uint32_t end,
                              uint64_t time_ns);

#endif
