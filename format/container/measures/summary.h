/* The summary section: per-function measures of one partition, as rows by ascending site.
 *
 * All totals are measures of time sets, so that partitions add up: the interval between two
 * neighbouring events of a stream belongs to the partition of the later one. */
#ifndef TTP_FORMAT_SUMMARY_H
#define TTP_FORMAT_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/error.h>
#include <tracetape/types.h>

struct ttp_measure {
    uint32_t site;
    uint64_t call_count;          /* enters */
    uint64_t exit_count;          /* exits and unwound frames: what the next four are over */
    int64_t self_ticks;           /* the site's frame is on top */
    int64_t total_ticks;          /* the site has a frame anywhere on the current stack */
    int64_t min_ticks, max_ticks; /* whole durations */
    ttape_wide squares;           /* sum of squared durations, 128 bits */
    int64_t max_self_ticks;       /* of one frame, whole too: own_times.h */
};

/* Writes the section; 0 when `out` is too small. */
size_t ttp_summary_write(const struct ttp_measure *rows, uint32_t row_count, bool timed,
                         uint8_t *out, size_t out_bytes);
size_t ttp_summary_bound(uint32_t row_count);

/* Number of rows, before the rest is read. */
ttape_status ttp_summary_count(const uint8_t *data, size_t size_bytes, uint32_t *row_count,
                               ttape_error *err);
/* Fills `rows`, which has room for the section's row count. */
ttape_status ttp_summary_read(const uint8_t *data, size_t size_bytes, bool timed,
                              struct ttp_measure *rows, uint32_t row_count, ttape_error *err);

#endif
