/* The switches section: when threads did not run, as spans of the intervals between their events.
 * Columns of varints; the caller compresses them. */
#ifndef TTP_FORMAT_SWITCHES_H
#define TTP_FORMAT_SWITCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/error.h>

/* Kinds on disk: those of ttape_off_kind. */
enum ttp_span_kind {
    TTP_SPAN_PREEMPTED = 0,
    TTP_SPAN_BLOCKED = 1,
    TTP_SPAN_PREEMPTED_NEAR = 2, /* in this interval or in one beside it */
    TTP_SPAN_BLOCKED_NEAR = 3,
    TTP_SPAN_UNKNOWN = 4 /* switches may be missing: nothing is known of the interval */
};

/* In the interval that ends with event `event` of the partition. */
struct ttp_off_span {
    uint32_t event;
    uint8_t kind;
    int64_t start_ns; /* since the interval's start */
    uint64_t length_ns;
};

/* Segment i has spans [span_start[i], span_start[i + 1]), where it is known at all. */
struct ttp_switches {
    uint8_t *is_known;    /* segment_count */
    uint32_t *span_start; /* segment_count + 1 */
    struct ttp_off_span *spans;
    uint32_t segment_count, span_count;
};

#define TTP_SPAN_MAX_NS (UINT64_C(1) << 62) /* above its starts and lengths: sums fit */

size_t ttp_switches_bound(const struct ttp_switches *in);
/* segment_start: first events of segments, segment_count + 1. 0 when `out` is too small. */
size_t ttp_switches_write(const struct ttp_switches *in, const uint32_t *segment_start,
                          uint8_t *out, size_t out_bytes);
/* The number of spans, checked against the section's size: what to allocate. */
ttape_status ttp_switches_count(const uint8_t *data, size_t size_bytes, uint32_t segment_count,
                                uint32_t *span_count, ttape_error *err);
/* Reads into arrays of those counts. */
ttape_status ttp_switches_read(const uint8_t *data, size_t size_bytes,
                               const uint32_t *segment_start, struct ttp_switches *io,
                               ttape_error *err);

/* How an interval was spent, F-SWI-06: what is left of it is time on the CPU. */
struct ttp_off_time {
    uint64_t preempted_ns, blocked_ns, unknown_ns;
};

/* Spans of one interval, taken one after the other; of what is in it counts what is in
 * [from_ns, to_ns) of it. */
struct ttp_interval {
    int64_t length_ns, from_ns, to_ns;
    int64_t done_ns; /* spans up to here were taken */
    bool is_unknown;
    struct ttp_off_time off;
};

void ttp_interval_add(struct ttp_interval *i, uint8_t kind, int64_t start_ns, uint64_t length_ns);
struct ttp_off_time ttp_interval_spent(const struct ttp_interval *i);

/* A walk over the intervals of a segment. */
struct ttp_switch_walk {
    const struct ttp_off_span *span, *end;
    bool is_known;
};

struct ttp_switch_walk ttp_switch_walk_init(const struct ttp_switches *in, uint32_t segment);
/* The interval that ends with `event` and takes length_ns; events ascend. Of what is in it counts
 * what is in [from_ns, to_ns) of it. */
struct ttp_off_time ttp_switch_walk_take(struct ttp_switch_walk *w, uint32_t event,
                                         int64_t length_ns, int64_t from_ns, int64_t to_ns);
/* The next event whose interval must be taken; the others were on the CPU. */
static inline uint32_t ttp_switch_walk_next(const struct ttp_switch_walk *w)
{
    return !w->is_known ? 0 : w->span != w->end ? w->span->event : UINT32_MAX;
}

#endif
