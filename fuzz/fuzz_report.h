/* Reports as hashes. */
#ifndef FUZZ_REPORT_H
#define FUZZ_REPORT_H

#include <tracetape/report.h>

#include "fuzz_trace.h"

#define FUZZ_REPORT_BYTES (24u << 20) /* of a report besides its reader's */

/* What the report says, as a hash; 0: it cannot be made, or something is damaged. */
uint64_t fuzz_report_hash(ttape_reader *reader, ttape_report_options how, uint32_t jobs);

#endif
