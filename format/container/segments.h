/* The three light sections about segments: which runs of which streams (segments), from which time
 * (bases), and what is open at both edges of each (edges). Columns of small numbers under the
 * adaptive coder of format/base/coder.h. */
#ifndef TTP_FORMAT_SEGMENTS_H
#define TTP_FORMAT_SEGMENTS_H

#include <stddef.h>
#include <stdint.h>

#include <tracetape/error.h>

#include "format/container/partition.h"
#include "format/order/order.h"

/* A frame that is open at an edge. */
struct ttp_frame {
    uint32_t argument; /* site, or signal number */
    uint32_t stack;
    uint8_t event_class; /* a push class */
    int64_t enter_tick;
    int64_t self_ticks;     /* time on top of its stack so far */
    int64_t end_self_ticks; /* start frames that the end edge keeps: the same at the end edge */
    int64_t off_ns;         /* start frames of writers: not on the CPU so far, cpu_times.h */
};

struct ttp_edge_state {
    uint32_t stack;
    uint32_t unknown_depth;
    int32_t depth_offset;
    uint32_t frame_start, frame_count; /* in the frame array */
};

struct ttp_segment {
    uint32_t stream, event_count;
    uint64_t first_event; /* number of its first event in the stream */
    int64_t
        base_tick; /* of the stream's event before it; of its own first event where there is none */
    int64_t end_tick;   /* of its last event */
    uint32_t min_depth; /* least depth of an event in it */
    uint32_t kept; /* frames of the start edge that the end edge repeats, from the outermost on */
    struct ttp_edge_state start, end;
};

/* Frames of all edges: start edges of all segments one after the other, and likewise the frames of
 * end edges that do not repeat (kept .. frame_count). In `end` an edge's frame_start counts from
 * its first new frame, and frame_count includes the kept ones. */
struct ttp_segments {
    struct ttp_segment *segments;
    struct ttp_frame *start_frames, *end_frames;
    uint32_t segment_count, start_frame_count, end_frame_count;
};

/* Each writes one section; returns its size in bytes, or 0 when `out` is too small (no section is
 * empty). */
size_t ttp_segments_write(const struct ttp_segments *in, uint8_t *out, size_t out_bytes);
size_t ttp_bases_write(const struct ttp_segments *in, int64_t first_tick, uint8_t *out,
                       size_t out_bytes);
size_t ttp_edges_write(const struct ttp_segments *in, bool timed, uint8_t *out, size_t out_bytes);

/* Bytes of `out` that always suffice for any one of the three. */
size_t ttp_segments_bound(const struct ttp_segments *in);

/* Each reads one section into arrays with room for the head's counts, and verifies it. Read
 * segments first. */
ttape_status ttp_segments_read(const struct ttp_partition_head *head, const uint8_t *data,
                               size_t size_bytes, struct ttp_segments *io, ttape_error *err);
ttape_status ttp_bases_read(const struct ttp_partition_head *head, const uint8_t *data,
                            size_t size_bytes, struct ttp_segments *io, ttape_error *err);
ttape_status ttp_edges_read(const struct ttp_partition_head *head, const uint8_t *data,
                            size_t size_bytes, struct ttp_segments *io, ttape_error *err);

#endif
