/* Clocks of several machines: how far the times of some traces are apart, and within what error.
 *
 * Each scope's times are those of one clock. The answer says what has to be added to them so that
 * all stand on one axis. It is made of what recorders wrote of the clocks, and of pairs of events:
 * nothing is received before it was sent (spec/clocks.md).
 *
 * Threads: an answer does not change: any thread may read it. The readers must not be used while it
 * is made, and must outlive it. */
#ifndef TRACETAPE_CLOCKS_H
#define TRACETAPE_CLOCKS_H

#include <stdbool.h>

#include <tracetape/error.h>
#include <tracetape/reader.h>
#include <tracetape/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ttape_clocks ttape_clocks;

/* Zero means the default everywhere. */
typedef struct ttape_clocks_options {
    size_t size;              /* sizeof(ttape_clocks_options) */
    uint64_t memory_bytes;    /* of the answer; default 256 MiB */
    const ttape_watch *watch; /* NULL: nobody */
} ttape_clocks_options;

typedef struct ttape_clock_shift {
    uint32_t clock; /* scopes of one clock have one number, from 0 on: that of the first scope */
    uint32_t pair_count; /* of events, by which it was placed */
    uint64_t shift_ns;   /* to be added to times, modulo 2^64; 0 for all where there is one clock */
    bool is_placed;      /* false: nothing says where it belongs, and it stays as it is */
    bool has_error;      /* against clock 0; false: nobody knows */
    uint64_t error_ns;   /* the most by which its times are then beside those of clock 0 */
    int64_t drift_ppb;   /* by which it goes faster than clock 0, where pairs of both show it */
    uint64_t reserved[2];
} ttape_clock_shift;

/* An event's place; the reader by its own among those that were passed. */
typedef struct ttape_clock_event {
    uint32_t reader, stream;
    uint64_t number, time_ns;
} ttape_clock_event;

typedef struct ttape_clock_pair {
    ttape_clock_event sent, received;
} ttape_clock_pair;

typedef struct ttape_clocks_info {
    uint32_t clock_count;
    uint32_t contradiction_count;
    uint64_t pair_count;     /* of events on two clocks */
    uint64_t repeated_count; /* ids that were sent, or received, more than once: not used */
    uint64_t reserved[2];
} ttape_clocks_info;

/* *out is NULL on failure. Limits: TTAPE_E_LIMIT past memory_bytes. */
TTAPE_API ttape_status ttape_clocks_find(ttape_clocks **out, ttape_reader *const *readers,
                                         uint32_t reader_count, const ttape_clocks_options *options,
                                         ttape_error *err);
TTAPE_API void ttape_clocks_close(ttape_clocks *clocks);

TTAPE_API void ttape_clocks_get_info(const ttape_clocks *clocks, ttape_clocks_info *info);
/* TTAPE_E_NOT_FOUND: there is no such scope. */
TTAPE_API ttape_status ttape_clocks_get_shift(const ttape_clocks *clocks, uint32_t reader,
                                              uint32_t scope, ttape_clock_shift *place);
/* Pairs that cannot be true together with others, and were left out. They live as long as the
 * answer. */
TTAPE_API const ttape_clock_pair *ttape_clocks_get_contradictions(const ttape_clocks *clocks,
                                                                  uint32_t *count);

#ifdef __cplusplus
}
#endif
#endif
