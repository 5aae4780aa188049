/* Rows of the summary section, as ticks. */
#ifndef TTP_READER_SUMMARY_READER_H
#define TTP_READER_SUMMARY_READER_H

#include "reader/partition/section_reader.h"

/* *rows was taken from the memory with *row_count rows; NULL and 0 where the partition has no
 * summary. */
ttape_status ttp_summary_load(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                              struct ttp_measure **rows, uint32_t *row_count, ttape_error *err);
/* Fills in max_self_ticks of the rows that ttp_summary_load gave; *known is false where the
 * partition does not say. */
ttape_status ttp_own_times_load(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                                struct ttp_measure *rows, uint32_t row_count, bool *known,
                                ttape_error *err);

/* CPU times beside those rows; out->rows is NULL where the partition does not say them. */
ttape_status ttp_cpu_times_load(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                                const struct ttp_measure *rows, uint32_t row_count,
                                struct ttp_cpu_times *out, ttape_error *err);
void ttp_cpu_times_drop(struct ttp_trace_decoder *d, struct ttp_cpu_times *times);

#endif
