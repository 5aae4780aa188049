/* What parsers of filters and of triggers share: a text becomes rules in a region of its own. */
#ifndef TTP_FILTER_PARSE_H
#define TTP_FILTER_PARSE_H

#include "answers/filter/filter_scan.h"

struct ttape_filter {
    struct ttp_region region;
    ttape_filter_rule rules[TTAPE_FILTER_MAX_RULES];
    ttape_trigger triggers[TTAPE_FILTER_MAX_RULES];
    uint32_t rule_count, trigger_count;
};

struct ttp_filter_parse {
    struct ttp_filter_scan scan;
    ttape_filter *filter;
    ttape_filter_condition conditions[TTAPE_FILTER_MAX_CONDITIONS];
};

/* Calls, with their conditions: a rule of that kind. */
ttape_status ttp_filter_take_calls(struct ttp_filter_parse *p, ttape_filter_kind kind);
/* Takes a word of the language, where it is one: a blank and something else than a condition stand
 * behind it. */
bool ttp_filter_take_word(struct ttp_filter_scan *s, const char *word);
/* Takes a text apart: `take` is called at the begin of each of its parts, which ';' parts. */
ttape_status ttp_filter_take_text(ttape_filter **out, ttape_string text,
                                  const ttape_allocator *allocator,
                                  ttape_status (*take)(struct ttp_filter_parse *p),
                                  ttape_error *err);

#endif
