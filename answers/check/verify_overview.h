/* Overview chunks against the partitions that they cover. */
#ifndef TTP_READER_VERIFY_OVERVIEW_H
#define TTP_READER_VERIFY_OVERVIEW_H

#include "answers/check/overview_sums.h"

/* By scope; grows as scopes are met. */
struct ttp_scope_sums {
    struct ttp_overview_sums *sums;
    uint32_t count;
    uint64_t again_count; /* partitions that were decoded for overviews */
};

/* The scope's sums; NULL (and *err) without memory. */
struct ttp_overview_sums *ttp_scope_sums_of(struct ttp_scope_sums *s, struct ttp_trace_decoder *d,
                                            uint32_t scope, ttape_error *err);
/* The reader's last overview. TTAPE_E_CORRUPT with the first difference. */
ttape_status ttp_verify_overview(struct ttp_scope_sums *s, struct ttp_trace_decoder *d,
                                 ttape_error *err);
void ttp_scope_sums_close(struct ttp_scope_sums *s, struct ttp_trace_decoder *d);

#endif
