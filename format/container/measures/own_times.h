/* The own-times section: for each row of a summary, how long the frame that had the most for itself
 * was on top of its stack. A section of its own, as summaries of older files are without it. */
#ifndef TTP_FORMAT_OWN_TIMES_H
#define TTP_FORMAT_OWN_TIMES_H

#include "format/container/measures/summary.h"

size_t ttp_own_times_bound(uint32_t row_count);
/* Writes max_self_ticks of the rows; 0 when `out` is too small. */
size_t ttp_own_times_write(const struct ttp_measure *rows, uint32_t row_count, uint8_t *out,
                           size_t out_bytes);
/* Fills in max_self_ticks of rows that the summary gave. */
ttape_status ttp_own_times_read(const uint8_t *data, size_t size_bytes, struct ttp_measure *rows,
                                uint32_t row_count, ttape_error *err);

#endif
