/* The instants section: what was on the stack of each segment at instants, multiples of a power of
 * two of ticks (F-TIL-02), so that tiles of a coarse level need no events.
 *
 * Of an instant it says how many frames of the stack before it are gone, and which ones came: most
 * of them have come under the same frame before. */
#ifndef TTP_FORMAT_INSTANTS_H
#define TTP_FORMAT_INSTANTS_H

#include "format/base/buffer.h"
#include "format/container/segments.h"
#include "format/order/order.h"
#include "format/times/times.h"

#define TTP_INSTANTS_MOST       4096u  /* of a partition */
#define TTP_INSTANT_FRAMES_MOST 65536u /* that come at all instants of a partition */
#define TTP_INSTANTS_UNKNOWN    64u    /* in place of an exponent */

struct ttp_instant {
    uint32_t kept;  /* frames of the stack before that are still there, the outermost ones ... */
    uint32_t first; /* ... and those above them: in ttp_instants.frames */
    uint32_t added;
    bool has_gap; /* events are missing since the instant before */
};

/* One segment. Behind its last instant: how many frames of that are still there at its end. */
struct ttp_instant_segment {
    uint32_t exponent; /* instants are multiples of 2^exponent, or TTP_INSTANTS_UNKNOWN */
    uint32_t start, count;
    int64_t first; /* the first instant, in these */
    uint32_t kept;
    bool has_gap;
};

struct ttp_instants {
    struct ttp_instant_segment *segments; /* one for each of the partition */
    struct ttp_instant *instants;         /* room for TTP_INSTANTS_MOST */
    struct ttp_symbol *frames;            /* room for TTP_INSTANT_FRAMES_MOST */
    uint32_t instant_count, frame_count;
};

/* The first instant at or behind a tick. */
static inline int64_t ttp_instant_from(int64_t tick, uint32_t exponent)
{
    int64_t floor = tick >> exponent; /* arithmetic, with gcc and clang */
    return floor + (int64_t)((uint64_t)floor << exponent != (uint64_t)tick);
}

/* What a writer tells: ticks of a segment are those of its base and its end. */
struct ttp_instants_in {
    const struct ttp_order *order;
    const struct ttp_segment *segments;
    const uint32_t *delta;
    const int64_t *wide;
    uint32_t wide_count;
    uint32_t wanted; /* instants of the partition, about */
};

size_t ttp_instants_workspace(const struct ttp_order *order);
/* 0: `out` is too small, or the partition is not of the kind that is told: its segments have one
 * stack each, and times that do not step back. */
size_t ttp_instants_write(const struct ttp_instants_in *in, struct ttp_workspace workspace,
                          uint8_t *out, size_t out_bytes);

/* `stack` has room for the start frames of any segment and TTP_INSTANT_FRAMES_MOST more. */
ttape_status ttp_instants_read(const uint8_t *data, size_t size_bytes,
                               const struct ttp_segments *segments, struct ttp_symbol *stack,
                               struct ttp_instants *out, ttape_error *err);

#endif
