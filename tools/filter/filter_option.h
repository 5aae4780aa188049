/* --filter, --below, --no-below and --on: one filter, however it is said, and its triggers
 * (spec/filters.md).
 *
 *     --below REGEX   ->  below /REGEX/          --no-below REGEX  ->  !below /REGEX/ */
#ifndef TOOL_FILTER_OPTION_H
#define TOOL_FILTER_OPTION_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/filter.h>

#include "tools/command/options.h"

/* What options have said. */
struct tool_filter {
    char **texts; /* in the order of the command line */
    size_t count, capacity;
    char **triggers; /* of verbs that read */
    size_t trigger_count, trigger_capacity;
};

/* Parsers of options: they add to the tool_filter. */
bool tool_parse_filter(const char *text, void *into);
bool tool_parse_filter_below(const char *text, void *into);
bool tool_parse_filter_not_below(const char *text, void *into);
bool tool_parse_filter_trigger(const char *text, void *into);
/* Whether anything was said. */
static inline bool tool_filter_is_given(const struct tool_filter *filter)
{
    return filter->count > 0 || filter->trigger_count > 0;
}
void tool_filter_close(struct tool_filter *filter);
/* All of it as one text, to be freed. */
char *tool_filter_text(const struct tool_filter *filter);

#define TOOL_FILTER_OPTION                                                                         \
    {"filter",     0, "FILTER", "only these calls: see tracetape-filters(7)", tool_parse_filter,   \
     TOOL_AT(kept)},                                                                               \
    {                                                                                              \
        "on", 0, "TRIGGER", "'EVENT do ACTION': see tracetape-filters(7)",                         \
            tool_parse_filter_trigger, TOOL_AT(kept)                                               \
    }
#define TOOL_NO_BELOW_OPTION                                                                       \
    {                                                                                              \
        "no-below", 0, "REGEX", "without matching functions and what they call",                   \
            tool_parse_filter_not_below, TOOL_AT(kept)                                             \
    }
#define TOOL_FILTER_OPTIONS                                                                        \
    TOOL_FILTER_OPTION,                                                                            \
        {"below",                                                                                  \
         'B',                                                                                      \
         "REGEX",                                                                                  \
         "only calls of matching functions and what they call",                                    \
         tool_parse_filter_below,                                                                  \
         TOOL_AT(kept)},                                                                           \
        TOOL_NO_BELOW_OPTION

/* Expressions of one rule, ready to be compared with; what is not there matches all. */
struct tool_filter_rule {
    regex_t function, path;
    regex_t *texts; /* by condition; only those of texts are there */
    bool has_function, has_path;
};

/* A filter that can be asked. */
struct tool_filter_made {
    ttape_filter *parsed, *triggers; /* NULL: there are none */
    const ttape_filter_rule *rules;  /* the filter's, then the triggers' */
    ttape_filter_rule *joined;       /* their memory, where there are both */
    struct tool_filter_rule *made;   /* by rule */
    uint32_t rule_count;
    bool matched[TTAPE_FILTER_MAX_RULES]; /* by rule: a function of any trace */
    char *copy;                           /* of the last text that was compared */
    size_t copy_capacity;
};

/* The same of triggers. */
int tool_triggers_make(struct tool_filter_made *made, const char *verb,
                       const struct tool_filter *triggers);
/* Makes it. Returns a tool_exit: TOOL_USAGE where it is none, which has been said. */
int tool_filter_make(struct tool_filter_made *made, const char *verb,
                     const struct tool_filter *filter);
void tool_filter_unmake(struct tool_filter_made *made);
/* When all traces were asked: rules that choose what is kept, and of which none has anything to
 * choose. Returns a tool_exit. Triggers of which none has anything are said. */
int tool_filter_check(const struct tool_filter_made *made);
/* The same, said by nobody: the expression of the first such rule, or NULL. */
const char *tool_filter_unmatched(const struct tool_filter_made *made);
bool tool_filter_matches(struct tool_filter_made *made, const regex_t *regex, ttape_string text);

#endif
