/* Words of the filter language: what filter_words.c takes off the front of a text, and
 * filter_parse.c makes rules of. */
#ifndef TTP_FILTER_SCAN_H
#define TTP_FILTER_SCAN_H

#include <stdbool.h>

#include <tracetape/filter.h>

#include "base/region.h"

struct ttp_filter_scan {
    const char *begin, *at, *end;
    struct ttp_region *region;
    ttape_error *err;
};

/* The character at hand; zero at the end, which no text has inside. */
static inline char ttp_filter_char(const struct ttp_filter_scan *s)
{
    return s->at < s->end ? *s->at : '\0';
}
static inline bool ttp_filter_is_blank(char c) { return c == ' ' || c == '\t'; }
static inline void ttp_filter_skip(struct ttp_filter_scan *s)
{
    while (ttp_filter_is_blank(ttp_filter_char(s)))
        s->at++;
}
/* At the end of a rule? */
static inline bool ttp_filter_at_end(const struct ttp_filter_scan *s)
{
    char c = ttp_filter_char(s);
    return c == '\0' || c == ';' || c == '\n';
}
/* Fails at the place at hand. */
ttape_status ttp_filter_fail(const struct ttp_filter_scan *s, const char *message);

/* A glob, quoted or not, or an expression between slashes, as an extended regular expression. A
 * place matches from a slash of a path on, too. */
ttape_status ttp_filter_take_pattern(struct ttp_filter_scan *s, bool is_path, ttape_string *out);
/* A name of a value: letters, digits and _; "" where there is none. */
ttape_string ttp_filter_take_name(struct ttp_filter_scan *s, bool has_fields);
/* False: none is here. */
bool ttp_filter_take_operator(struct ttp_filter_scan *s, ttape_filter_operator *out);
/* What a value is compared with. */
ttape_status ttp_filter_take_operand(struct ttp_filter_scan *s, ttape_filter_condition *out);
/* A whole number; a length of time, with its unit. */
ttape_status ttp_filter_take_number(struct ttp_filter_scan *s, uint64_t *out);
ttape_status ttp_filter_take_span(struct ttp_filter_scan *s, uint64_t *out);

#endif
