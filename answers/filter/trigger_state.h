/* How far triggers have come, for who records and who reads: pure, event by event. */
#ifndef TTP_TRIGGER_STATE_H
#define TTP_TRIGGER_STATE_H

#include <stdbool.h>

#include <tracetape/filter.h>

struct ttp_triggers {
    const ttape_trigger *all;
    uint32_t count;
    const ttape_trigger *of_rule[TTAPE_FILTER_MAX_RULES]; /* NULL: the rule is a filter's */
    uint64_t came[TTAPE_FILTER_MAX_RULES];                /* by rule: how many calls */
    uint64_t rules;                                       /* those of triggers, as bits */
    bool has_begun;                                       /* an event has come, the first at: */
    uint64_t first_ns;
    uint64_t passed_ns, next_ns; /* up to where times were seen; when the next one is due */
    bool is_off;                 /* calls that begin are left out */
    uint32_t actions;            /* of all of them together */
    /* What holds of calls that begin, where nothing around them says otherwise: so many at most in
     * one another, and the least time; 0: any. The caller says what it is at first. */
    uint32_t depth;
    uint64_t min_ns;
};

/* Triggers are those of `parsed` (NULL: none), with numbers of rules from `first_rule` on. */
void ttp_triggers_begin(struct ttp_triggers *t, const ttape_filter *parsed, uint32_t first_rule,
                        bool is_off);
/* A call begins or ends that these rules choose. What is due switches on and off here, and is
 * returned: TTAPE_TRIGGER_*. */
uint32_t ttp_triggers_of_call(struct ttp_triggers *t, uint64_t rules, ttape_trigger_event event);
/* Triggers of times and of signals act before the event is looked at. */
uint32_t ttp_triggers_of_event(struct ttp_triggers *t, const ttape_event *event);

#endif
