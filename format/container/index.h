/* The content of an index chunk: one entry for every chunk before it, in file order. Chunks stand
 * without holes, so sizes give offsets. Entries of partitions also hold what a reader needs to find
 * a moment without reading them. */
#ifndef TTP_FORMAT_INDEX_H
#define TTP_FORMAT_INDEX_H

#include <tracetape/error.h>

#include "format/base/bytes.h"

struct ttp_index_segment {
    uint32_t stream, event_count;
    uint64_t first_event;
};

struct ttp_index_entry {
    uint16_t kind;
    uint32_t scope;
    uint64_t stored_bytes; /* payload */
    /* partitions only: */
    uint32_t event_count, segment_count;
    uint32_t model;       /* or TTP_NO_MODEL */
    uint32_t light_bytes; /* head, directory and the light sections: what one read gets */
    uint64_t resolution_ns, origin_ns;
    int64_t first_tick, end_tick;
    uint64_t order_bytes, times_bytes, values_bytes, summary_bytes; /* stored, by category */
    uint64_t gap_count, lost_count;
};

/* Columns relate to the entry before: pass the same struct along, zeroed first. */
struct ttp_index_state {
    struct ttp_index_entry before;
};

#define TTP_INDEX_ENTRY_BOUND   180u
#define TTP_INDEX_SEGMENT_BOUND 30u

void ttp_index_entry_write(struct ttp_writer_cursor *c, struct ttp_index_state *state,
                           const struct ttp_index_entry *entry);
/* Segments follow their partition's entry; `before` is the segment before (stream UINT32_MAX for
 * the first), expected the stream's next event number as far as the index knows. */
void ttp_index_segment_write(struct ttp_writer_cursor *c, const struct ttp_index_segment *before,
                             uint64_t expected, const struct ttp_index_segment *segment);

ttape_status ttp_index_entry_read(struct ttp_reader_cursor *c, struct ttp_index_state *state,
                                  struct ttp_index_entry *out, ttape_error *err);
/* Reads stream and count first (the caller then knows `expected`), then the rest. */
ttape_status ttp_index_segment_read(struct ttp_reader_cursor *c,
                                    const struct ttp_index_segment *before,
                                    struct ttp_index_segment *out, ttape_error *err);
ttape_status ttp_index_segment_read_number(struct ttp_reader_cursor *c, uint64_t expected,
                                           struct ttp_index_segment *io, ttape_error *err);

#endif
