/* Whether a value is what a condition of a filter says: for who reads a trace, and who records one.
 * Pure: what needs names is asked for. */
#ifndef TTP_FILTER_VALUE_H
#define TTP_FILTER_VALUE_H

#include <stdbool.h>
#include <string.h>

#include <tracetape/filter.h>

/* What a condition needs to know besides the value. */
struct ttp_value_asking {
    const ttape_filter_rule *rules;
    /* Whether a text is what that condition of the rule says. */
    bool (*text)(void *context, uint32_t rule, uint32_t condition, ttape_string text);
    /* What a constant is, of the value at that place of the site's call, or of its end; NULL, or
     * false: nobody knows. true, false and NULL are known. */
    bool (*constant)(void *context, uint32_t site, bool is_exit, uint32_t place, ttape_string name,
                     int64_t *value);
    /* What that number points to, as the trace names it ("f", "&variable+8"; a place "f+8"), and
     * in other words, by `form` from 0 on ("file.c:12"); NULL, or false: in no more words. */
    bool (*target)(void *context, uint32_t site, uint64_t number, uint32_t form,
                   ttape_string *name);
    void *context; /* of all */
};

/* Where a value is from. */
struct ttp_value_from {
    uint32_t site, place;
    bool is_exit;        /* what a call returned */
    bool is_system_call; /* which has returned -1 where it failed, for people */
};

bool ttp_value_fits(const struct ttp_value_asking *asking, uint32_t rule, uint32_t condition,
                    const struct ttp_value_from *from, const ttape_value *value);
/* A condition on how long a call took. */
bool ttp_span_fits(const ttape_filter_condition *condition, int64_t duration_ns);
/* The place of an argument that is called arg1, arg2 ...; TTAPE_NONE: it has another name. */
uint32_t ttp_argument_number(ttape_string name);

/* About how a call ended, or what it returned, and not about what it was given. */
static inline bool ttp_condition_is_late(const ttape_filter_condition *condition)
{
    return condition->name.size_bytes == 0;
}

#endif
