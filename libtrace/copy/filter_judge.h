/* What rules of a filter say of one call, by its name, its values and its time; where the call is,
 * filtered.c knows. */
#ifndef TTP_FILTER_JUDGE_H
#define TTP_FILTER_JUDGE_H

#include <stdbool.h>

#include <tracetape/copy.h>

#include "base/region.h"

/* What is said of a call: bits, which fit into half a byte. */
#define TTP_CALL_FITS      1u /* as far as it goes by itself */
#define TTP_CALL_BELOW     2u /* it, and what it calls, is wanted */
#define TTP_CALL_NOT_BELOW 4u /* it, and what it calls, is not */
#define TTP_CALL_LEADS     8u /* it is one that `to` names, or leads there */

#define TTP_CALL_SITE_BYTES 1024u /* "file.c:12": a name that is longer is cut */

/* What holds in a call, and what it calls. */
struct ttp_limits {
    uint64_t min_ns;    /* 0: any time */
    uint64_t depth_end; /* so many calls around one that are kept are too many */
};
#define TTP_AS_ALL UINT64_MAX /* of both, in a call: what holds of all, which triggers change */

struct ttp_judge {
    ttape_reader *reader;
    ttape_filtering asked;
    ttape_filter_rule rules[TTAPE_FILTER_MAX_RULES]; /* the filter's, then the triggers' */
    uint32_t rule_count, filter_rule_count;
    uint64_t of_kind[TTAPE_FILTER_KIND_COUNT]; /* rules, as bits */
    uint64_t conditional, late; /* rules with conditions; with some of results or times */
    uint64_t *site_rules;       /* by site: those whose names are the site's */
    bool *site_waits;           /* by site: calls of the recorder's own, that tell of waits */
    uint32_t site_count;
    struct ttp_limits limits; /* of all calls */
    uint64_t limiting;        /* rules with a limit of their own, from a call on */
    bool looks_ahead;         /* something goes by what comes later */
    ttape_filtered counts;
    char call_site[TTP_CALL_SITE_BYTES]; /* where a call was made, in words */
};

ttape_status ttp_judge_open(struct ttp_judge *judge, ttape_reader *reader,
                            const ttape_filtering *asked, struct ttp_region *region,
                            ttape_error *err);
/* Rules that choose a call when it begins; those of results and times are among them still. */
uint64_t ttp_judge_begin(struct ttp_judge *judge, uint32_t site, const ttape_value *values,
                         uint32_t count);
/* What remains of them when it ends. */
uint64_t ttp_judge_end(struct ttp_judge *judge, uint64_t rules, uint32_t site, int64_t duration_ns,
                       const ttape_value *values, uint32_t count);
/* TTP_CALL_*; is_long: it took long enough, as far as is known. */
unsigned ttp_judge_call(const struct ttp_judge *judge, uint64_t rules, uint32_t site, bool is_long);
/* What holds in a call with these rules (ttp_judge_begin), with so many kept ones around it, in
 * which `around` holds. */
struct ttp_limits ttp_judge_limits(const struct ttp_judge *judge, uint64_t rules, uint64_t depth,
                                   struct ttp_limits around);
static inline bool ttp_judge_waits(const struct ttp_judge *judge, uint32_t site)
{
    return site < judge->site_count && judge->site_waits[site];
}

#endif
