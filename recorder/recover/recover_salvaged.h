/* A trace file whose sound parts go into another trace, with gaps for what is missing. */
#ifndef TTP_LIBTRACE_RECOVER_SALVAGED_H
#define TTP_LIBTRACE_RECOVER_SALVAGED_H

#include <tracetape/copy.h>

#include "recorder/recover/recover_gaps.h"
#include "recorder/recover/recover_tell.h"

struct ttp_salvaged {
    struct ttp_salvage salvage; /* ttp_salvage_open's */
    struct ttp_gaps gaps;
    ttape_copier *copier;
    uint64_t begin_ns; /* of streams at the earliest (ttape_copier_begin_at) */
};

/* Appends it to the writer's trace, and to the report. */
ttape_status ttp_salvaged_copy(struct ttp_salvaged *v, ttape_writer *writer,
                               const struct ttp_gap_facts *facts, ttape_recover_report *report,
                               ttape_error *err);
/* In any case, also of zeros. */
void ttp_salvaged_close(struct ttp_salvaged *v);

#endif
