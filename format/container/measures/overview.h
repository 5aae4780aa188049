/* The overview chunk: what the summaries of up to 64 partitions of a scope add up to, in which of
 * them each function was called, how long its calls took as a histogram, and how often each leaf
 * came. Nothing needs it: it says sooner what the partitions say.
 *
 *   | partitions | identity 8 | resolution | span | field: kind, size, bytes | field | ... | */
#ifndef TTP_FORMAT_OVERVIEW_H
#define TTP_FORMAT_OVERVIEW_H

#include "format/container/measures/cpu_times.h"
#include "format/container/measures/summary.h"

#define TTP_OVERVIEW_PARTITIONS 64u /* as a mask has bits */
#define TTP_OVERVIEW_BUCKETS    48u /* 0: no time; i: 2^(i-1) ticks and more; the last: and above */
#define TTP_OVERVIEW_HEAD_BOUND 64u

enum ttp_overview_field {
    TTP_OVERVIEW_SUMMARY = 1,
    TTP_OVERVIEW_CPU_TIMES = 2,
    TTP_OVERVIEW_CALLS = 3,
    TTP_OVERVIEW_LEAVES = 4,
    TTP_OVERVIEW_OUTLINES = 5,     /* outlines.h */
    TTP_OVERVIEW_LISTED = 6,       /* listed.h */
    TTP_OVERVIEW_INSTANTS = 7,     /* format/levels/merged.h */
    TTP_OVERVIEW_UNKNOWN_ENDS = 8, /* 8 bytes: ends_mask */
    TTP_OVERVIEW_FIELDS
};

/* Beside a row of the summary. */
struct ttp_overview_calls {
    uint64_t mask; /* bit i: calls or ended frames in the i-th partition */
    uint32_t counts[TTP_OVERVIEW_BUCKETS];
};

struct ttp_overview_leaf {
    uint32_t site;
    uint64_t count, mask;
};

/* A chunk's content, opened. */
struct ttp_overview {
    uint32_t partition_count;
    uint64_t identity; /* ttp_overview_identity of them */
    uint64_t resolution_ns;
    int64_t span_ticks; /* from bases to end ticks, of all segments */
    uint64_t ends_mask; /* bit i: the i-th partition has an ends section */
    struct {
        const uint8_t *data; /* NULL: not there */
        size_t size_bytes;
    } fields[TTP_OVERVIEW_FIELDS];
};

/* What tells a partition from others. */
struct ttp_overview_fact {
    uint64_t event_count, segment_count;
    int64_t first_tick, end_tick;
};
uint64_t ttp_overview_identity(const struct ttp_overview_fact *facts, uint32_t count);

static inline uint32_t ttp_overview_bucket(int64_t ticks)
{
    uint32_t bucket = ticks <= 0 ? 0 : 64u - (uint32_t)__builtin_clzll((uint64_t)ticks);
    return bucket < TTP_OVERVIEW_BUCKETS ? bucket : TTP_OVERVIEW_BUCKETS - 1;
}

/* Bytes of what stands before the fields; `out` has room for TTP_OVERVIEW_HEAD_BOUND. */
size_t ttp_overview_head_write(const struct ttp_overview *in, uint8_t *out);
/* Bytes of a field's kind and size. */
size_t ttp_overview_field_write(enum ttp_overview_field kind, size_t size_bytes, uint8_t *out);

size_t ttp_overview_calls_bound(uint32_t row_count);
/* 0 when `out` is too small, or where nothing is to be said. Counts add up to the ended frames. */
size_t ttp_overview_calls_write(const struct ttp_overview_calls *calls,
                                const struct ttp_measure *rows, uint32_t row_count,
                                uint32_t partition_count, bool timed, uint8_t *out,
                                size_t out_bytes);
size_t ttp_overview_leaves_bound(uint32_t count);
size_t ttp_overview_leaves_write(const struct ttp_overview_leaf *leaves, uint32_t count,
                                 uint32_t partition_count, uint8_t *out, size_t out_bytes);

/* Fields borrow from `data`. */
ttape_status ttp_overview_open(const uint8_t *data, size_t size_bytes, struct ttp_overview *out,
                               ttape_error *err);
ttape_status ttp_overview_calls_read(const struct ttp_overview *in, const struct ttp_measure *rows,
                                     uint32_t row_count, struct ttp_overview_calls *out,
                                     ttape_error *err);
ttape_status ttp_overview_leaf_count(const struct ttp_overview *in, uint32_t *count,
                                     ttape_error *err);
ttape_status ttp_overview_leaves_read(const struct ttp_overview *in, uint32_t count,
                                      struct ttp_overview_leaf *out, ttape_error *err);

#endif
