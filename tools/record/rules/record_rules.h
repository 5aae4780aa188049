/* Which sites are recorded, and what they are called: the rules that `record` hands to the library.
 */
#ifndef RECORD_RULES_H
#define RECORD_RULES_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include <tracetape/recording.h>

#include "tools/filter/filter_option.h"
#include "tools/record/rules/record_names.h"

/* Regular expressions of one option, given any number of times. */
struct tool_patterns {
    regex_t *items;
    size_t count, capacity;
    char *text; /* as they were given, one behind another, a line each; NULL: none */
};

struct tool_record_rules {
    struct tool_patterns function, no_function, module, no_module, source, no_source, below;
    struct tool_patterns checkpoint, own;
    struct tool_filter said; /* --filter, --no-below */
    struct tool_filter_made filter;
    struct tool_filter on; /* --on */
    struct tool_filter_made triggers;
    /* What control has given since, in place of these where calls are judged; plans are made for
     * what was said at first, in other threads. */
    struct tool_filter_made new_filter, new_triggers;
    char *new_on;
    bool has_new_filter, has_new_triggers, lacks_times;
    bool is_sent;     /* the trace is elsewhere when it is complete */
    bool is_attached; /* its process tells of no signals; what is patched is what was chosen, and
                       * what triggers wait for: of that alone these decide, NULL: as at first; and
                       * others, that are to come, from another thread */
    struct tool_patterns *functions, *next_functions;
    ttape_site_rules first;                 /* without filters */
    const struct tool_patterns *called;     /* functions of libraries; NULL, or none: all */
    const struct tool_patterns *call_sites; /* hooks' functions that say where they are called, */
    bool *has_called;                       /* and whether there was one */
    char *text;                             /* of the last name, as a C string */
    size_t text_capacity;
    char *mangled;         /* the last mangled name that was asked about, and */
    ttape_string readable; /* what people call it; no data: so, too */
    /* Whether functions of that module are patched, whoever calls them; NULL: of none. */
    bool (*patches)(const void *patch, const char *path);
    const void *patch;
    /* Library calls are wanted of all modules, whatever `module` says; the module that was looked
     * at last, and whether its functions are recorded where nobody of ours calls them, too. */
    bool has_calls_of_all, has_own;
    char *looked_at;
    char *resolved_of, *resolved; /* a module's path that was asked about, and what it leads to */
    struct tool_record_names names;
};

/* Option parser: adds an extended regular expression to the tool_patterns at `into`. */
bool tool_parse_pattern(const char *text, void *into);

void tool_patterns_close(struct tool_patterns *patterns);

/* Whether one of them matches; where there are none, none does. Of use in any thread. */
bool tool_patterns_match(const struct tool_patterns *patterns, const char *text);

/* The same of a function's name, in full or as people see it. */
bool tool_patterns_match_name(const struct tool_patterns *patterns, ttape_string name);

/* Whether a function of that name is recorded, as far as names decide. Functions of libraries have
 * the names that linkers know: those are matched as people see them, too. */
bool tool_record_passes_name(struct tool_record_rules *rules, ttape_string name);

/* Whether one of them matches, as above. */
bool tool_record_matches_name(struct tool_record_rules *rules, const struct tool_patterns *patterns,
                              ttape_string name);

/* Whether a pattern is of names as linkers know them: then those are to be matched, and kept; who
 * shows a trace reads them. */
bool tool_record_is_mangled(const struct tool_record_rules *rules);

/* record_filter.c: takes the filter that was said. Returns a tool_exit: what a recording cannot go
 * by is refused. */
int tool_record_filter_open(struct tool_record_rules *rules, const char *verb, bool has_names);
/* What is said where one of these triggers waits for what is not seen, or keeps what is elsewhere;
 * NULL: none does. */
const char *tool_record_unseen(const struct tool_record_rules *rules,
                               const struct tool_filter_made *made);
/* Puts what is no function's into the rules of a recording. */
void tool_record_filter_apply(struct tool_record_rules *rules, ttape_site_rules *into);
/* Which of its rules are about a site, as bits. */
uint64_t tool_record_filter_match(struct tool_record_rules *rules, const ttape_site *site,
                                  const ttape_module *module);
/* The filter and the triggers that calls are judged by. */
static inline struct tool_filter_made *tool_record_filter_of(struct tool_record_rules *rules)
{
    return rules->has_new_filter ? &rules->new_filter : &rules->filter;
}
static inline struct tool_filter_made *tool_record_triggers_of(struct tool_record_rules *rules)
{
    return rules->has_new_triggers ? &rules->new_triggers : &rules->triggers;
}
/* record_change.c: patterns, one a line. False: *wrong is none; it is to be freed. */
bool tool_record_parse_lines(struct tool_patterns *patterns, const char *text, char **wrong);
/* Other functions were chosen, as above. Of use in any thread; the next change takes them. */
void tool_record_change_functions(struct tool_record_rules *rules, const char *functions);
void tool_record_functions_close(struct tool_patterns *functions);
/* For ttape_recording_options.change; of struct tool_record_rules. */
ttape_status tool_record_change(void *context, const char *filter, const char *triggers,
                                ttape_site_rules *into, ttape_call_conditions *conditions,
                                ttape_error *err);
/* record_conditions.c: what the rule of that number has to know of calls of its functions. */
struct tool_record_wants {
    const char *function; /* an expression of their names */
    bool arguments, results, times;
};
struct tool_record_wants tool_record_filter_wants(const struct tool_record_rules *rules,
                                                  uint32_t number);
/* Of both: those of triggers have numbers behind the filter's. */
static inline uint32_t tool_record_rule_count(const struct tool_record_rules *rules)
{
    return rules->filter.rule_count + rules->triggers.rule_count;
}
bool tool_record_filter_has_times(const struct tool_record_rules *rules);
/* Fills in what judges single calls, where there are conditions or triggers. *starts_off: recording
 * begins switched off; false: a trigger is waited for, which has to see calls. */
void tool_record_filter_judge(struct tool_record_rules *rules, ttape_call_conditions *into,
                              bool *starts_off);
/* At the end: triggers whose calls there were none of; a line each. */
void tool_record_triggers_say(struct tool_record_rules *rules);
/* What it says of a site: bits TTAPE_SELECT_*. */
uint32_t tool_record_filter_select(struct tool_record_rules *rules, const ttape_site *site,
                                   const ttape_module *module);
/* Whether a trigger is about a function: it has to be seen, whatever leaves it out. */
bool tool_record_filter_sees(const struct tool_record_rules *rules, struct tool_record_rules *words,
                             ttape_string name);
/* Whether all calls of a function are left out, whatever is around them, as far as its name and its
 * module tell: it need not be patched. `words`: whose memory of names is used, as this is asked in
 * another thread. */
bool tool_record_filter_leaves(const struct tool_record_rules *rules,
                               struct tool_record_rules *words, ttape_string name,
                               const char *path);

/* For ttape_recording_options.is_checkpoint. */
bool tool_record_is_checkpoint(void *context, const ttape_site *site, const ttape_module *module);

/* For has_call_site. */
bool tool_record_has_call_site(void *context, const ttape_site *site, const ttape_module *module);

/* For is_application: modules that match `own`; without patterns the executable, and what is no
 * library of the system's. */
bool tool_record_is_application(void *context, const ttape_module *module, ttape_string executable);

/* Fills in the callbacks that use the rules. */
void tool_record_rules_apply(struct tool_record_rules *rules, ttape_site_rules *into);
void tool_record_rules_close(struct tool_record_rules *rules);

#endif
