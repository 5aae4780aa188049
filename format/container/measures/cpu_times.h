/* The CPU-times section: of how much of a function's times its threads did not run, where switches
 * of all segments are known, and the largest time on the CPU of one call. */
#ifndef TTP_FORMAT_CPU_TIMES_H
#define TTP_FORMAT_CPU_TIMES_H

#include "format/container/measures/summary.h"
#include "format/container/segments.h"

enum ttp_off_sum { TTP_OFF_PREEMPTED, TTP_OFF_BLOCKED, TTP_OFF_UNKNOWN, TTP_OFF_KINDS };

/* Beside a row of the summary; sums modulo 2^64, as ticks add up. */
struct ttp_cpu_measure {
    uint64_t self_ns[TTP_OFF_KINDS];  /* parts of its self */
    uint64_t total_ns[TTP_OFF_KINDS]; /* parts of its total */
    int64_t max_on_ns; /* the largest time on the CPU of the frames that ended; 0: none ended */
};

struct ttp_cpu_times {
    uint64_t all_ns[TTP_OFF_KINDS]; /* of all intervals, whatever is on the stack */
    struct ttp_cpu_measure *rows;   /* one for each of the summary */
    int64_t *start_off_ns;          /* of each start frame, up to the base */
    uint32_t row_count, start_count;
};

size_t ttp_cpu_times_bound(uint32_t row_count, uint32_t start_count);
/* `summary`: rows that stand beside; 0 when `out` is too small. */
size_t ttp_cpu_times_write(const struct ttp_cpu_times *in, const struct ttp_measure *summary,
                           uint64_t resolution_ns, uint8_t *out, size_t out_bytes);
/* Fills rows and start_off_ns of io, which say how many there are. */
ttape_status ttp_cpu_times_read(const uint8_t *data, size_t size_bytes,
                                const struct ttp_measure *summary, uint64_t resolution_ns,
                                struct ttp_cpu_times *io, ttape_error *err);

#endif
