/* One decoded partition against what it says of itself. */
#ifndef TTP_READER_VERIFY_PARTITION_H
#define TTP_READER_VERIFY_PARTITION_H

#include "answers/check/overview_sums.h"

/* Called for each finding; false: stop. */
typedef bool (*ttp_problem_callback)(void *context, const ttape_error *problem);

/* `p` at stage VALUES; what it has is added to `sums`, unless NULL. TTAPE_END when the callback
 * said stop; otherwise failures of memory only. */
ttape_status ttp_verify_partition(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                                  ttp_problem_callback callback, void *context,
                                  struct ttp_overview_sums *sums, ttape_error *err);

#endif
