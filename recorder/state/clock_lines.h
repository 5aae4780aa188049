/* Ticks of a counter as nanoseconds of CLOCK_MONOTONIC: straight lines, each going on where the one
 * before ends.
 *
 *   pairs (ticks, ns), read again and again --> struct ttp_clock_tracker --> lines, when the last
 *   one is no longer right --> struct ttp_clock --> the time of each record
 *
 * A line is never changed where records may have been converted by it: a new one begins behind the
 * last tick that was used. So a tick has one time, whenever somebody asks, and times of a thread
 * that ascend in ticks ascend in nanoseconds. */
#ifndef TTP_RECORDING_CLOCK_LINES_H
#define TTP_RECORDING_CLOCK_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/wide.h"
#include "writer/growing.h"

#define TTP_CLOCK_SCALE_BITS 32
#define TTP_CLOCK_OPEN       (1ull << 63) /* the span of a line that has no end */

/* ns = base_ns + ((ticks - base) * scale >> 32) */
struct ttp_tick_rate {
    uint64_t base, base_ns, scale;
};

/* Finds out where the lines are wrong. */
struct ttp_clock_tracker {
    struct ttp_tick_rate bridge, line; /* bridge: up to the line's base */
    uint64_t used;                     /* no record that was converted is later */
    uint64_t mark, mark_ns;            /* the pair with which the line was corrected */
    uint64_t first, first_ns;          /* the pair at the start */
    uint64_t first_scale;              /* as it was measured behind that */
    bool is_measured;                  /* over long enough */
    uint64_t error_ns;                 /* the most by which a pair was beside the line */
    uint32_t jump_count;               /* pairs that were further off: the machine slept, say */
};

/* Turns ticks into nanoseconds. */
struct ttp_clock {
    struct ttp_tick_rate line; /* the one that was used last, */
    uint64_t span;             /* and for how many ticks it holds */
    struct ttp_growing lines;  /* struct ttp_tick_rate, ascending; none: it is the only one */
};

static inline uint64_t ttp_clock_scaled(const struct ttp_tick_rate *rate, uint64_t ticks)
{
    ttape_wide ns = ttp_wide_multiply(ticks, rate->scale);
    return ns.high << (64 - TTP_CLOCK_SCALE_BITS) | ns.low >> TTP_CLOCK_SCALE_BITS;
}

void ttp_clock_track(struct ttp_clock_tracker *t, const struct ttp_tick_rate *first);
/* Takes a pair that was read: the clocks were so within width_ns. Returns how many lines begin, 0
 * or 2: they are in `bridge` and `line`. All records that were converted before are earlier. */
uint32_t ttp_clock_follow(struct ttp_clock_tracker *t, uint64_t ticks, uint64_t ns,
                          uint64_t width_ns);
/* Parts in 10^9 by which the rate differs now from that at the start. */
uint64_t ttp_clock_drift_ppb(const struct ttp_clock_tracker *t);

void ttp_clock_begin(struct ttp_clock *c, const struct ttp_tick_rate *first);
ttape_status ttp_clock_add(const ttape_allocator *a, struct ttp_clock *c,
                           const struct ttp_tick_rate *line, ttape_error *err);
uint64_t ttp_clock_seek(struct ttp_clock *c, uint64_t ticks);

static inline uint64_t ttp_clock_ns(struct ttp_clock *c, uint64_t ticks)
{
    if (__builtin_expect(ticks - c->line.base >= c->span, 0))
        return ttp_clock_seek(c, ticks);
    return c->line.base_ns + ttp_clock_scaled(&c->line, ticks - c->line.base);
}

#endif
