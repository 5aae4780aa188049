/* How `control` hands new filters and triggers to a recorder: a file in the recording's folder, and
 * a request for a flush; and the answer, where they are refused.
 *
 *     file      [F filter 0] [T triggers 0]        answer      a sentence */
#ifndef TTP_RULE_CHANGE_H
#define TTP_RULE_CHANGE_H

#include <tracetape/filter.h>

struct ttp_encode;

#define TTP_CHANGE_NAME  "change"
#define TTP_REFUSED_NAME "change.refused"
#define TTP_CHANGE_BYTES (2 * (TTAPE_FILTER_MAX_BYTES + 2u))

/* The encoding thread changes rules at a flush. */
ttape_status ttp_rules_change(struct ttp_encode *e, ttape_error *err);

#endif
