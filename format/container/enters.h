/* The enters section: by which event each frame began that is open at a segment's end, and how many
 * frames ended above it. With it a partition's calls have their numbers, and those of the calls
 * around them, without the events of the partitions before. */
#ifndef TTP_FORMAT_ENTERS_H
#define TTP_FORMAT_ENTERS_H

#include <stdbool.h>

#include "format/base/buffer.h"
#include "format/container/segments.h"

#define TTP_ENTERED_BEFORE UINT32_MAX

/* A frame of an end edge has the event of the segment that began it, or TTP_ENTERED_BEFORE. */
struct ttp_entered {
    uint64_t above; /* frames that ended above it in the segment before the next one began */
    uint32_t event;
};

/* A partition's events, checked; segment s has codes[segment_start[s] .. segment_start[s + 1]). */
struct ttp_enters_in {
    const struct ttp_segments *segments; /* with edges */
    const uint32_t *codes, *segment_start;
    const struct ttp_symbol *symbols;
    uint32_t symbol_count;
};

/* A stack that has frames where a segment ends, and those that it has where it starts. */
struct ttp_edge_stack {
    uint32_t stack;
    uint32_t first, count; /* frames of the end edge */
    uint32_t start_count;
};

/* Goes through these stacks: segment is set, the rest begins as 0. */
struct ttp_edge_stacks {
    const struct ttp_segments *in;
    const struct ttp_segment *segment;
    uint32_t next, start; /* frames of both edges */
};
bool ttp_edge_stacks_next(struct ttp_edge_stacks *stacks, struct ttp_edge_stack *out);

/* Frames of all end edges together: so many ttp_entered there are, segment after segment. */
uint64_t ttp_entered_count(const struct ttp_segments *in);
size_t ttp_enters_workspace(const struct ttp_enters_in *in);
/* What the events give. */
void ttp_enters_find(const struct ttp_enters_in *in, struct ttp_workspace workspace,
                     struct ttp_entered *out);

/* False when `out` is too small. */
bool ttp_enters_write(const struct ttp_segments *in, const struct ttp_entered *entered,
                      uint8_t *out, size_t out_bytes, size_t *size_bytes);
/* Fills `out`, which has room for ttp_entered_count. */
ttape_status ttp_enters_read(const uint8_t *data, size_t size_bytes, const struct ttp_segments *in,
                             struct ttp_entered *out, ttape_error *err);

#endif
