/* Filters and triggers that control gives a recording: as if they had been said at its start, but
 * that plans, and values, are what was asked for then. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"
#include "tools/record/rules/record_rules.h"

static ttape_status fail(ttape_error *err, const char *why)
{
    err->status = TTAPE_E_ARGUMENT;
    (void)snprintf(err->message, sizeof err->message, "%s", why);
    return err->status;
}

static bool asks_times(const struct tool_filter_made *made)
{
    uint32_t count;
    const ttape_filter_rule *rules = made->rules;
    const ttape_trigger *triggers = ttape_filter_get_triggers(made->triggers, &count);
    for (uint32_t i = 0; i < count; i++)
        if (triggers[i].event == TTAPE_TRIGGER_AFTER ||
            (triggers[i].actions & TTAPE_TRIGGER_TIME) != 0)
            return true;
    for (uint32_t i = 0; i < made->rule_count; i++) {
        if (rules[i].kind == TTAPE_FILTER_TIME || rules[i].kind == TTAPE_FILTER_TIME_BELOW)
            return true;
        for (uint32_t k = 0; k < rules[i].condition_count; k++)
            if (rules[i].conditions[k].operand == TTAPE_FILTER_SPAN)
                return true;
    }
    return false;
}

/* Control has parsed them before it sent them. */
static bool make(struct tool_filter_made *made, const char *text, bool is_filter)
{
    char *texts[] = {(char *)(uintptr_t)text};
    const struct tool_filter said = {.texts = texts, .count = 1};
    return (is_filter ? tool_filter_make(made, "control", &said)
                      : tool_triggers_make(made, "control", &said)) == TOOL_OK;
}

static ttape_status check(struct tool_record_rules *rules, const struct tool_filter_made *filter,
                          const struct tool_filter_made *triggers, ttape_error *err)
{
    if (filter->rule_count + triggers->rule_count > TTAPE_FILTER_MAX_RULES)
        return fail(err, "filter and triggers have more than 64 functions together");
    if (rules->names.symbols == NULL)
        return fail(err, "filters need names: it was begun with --no-symbols");
    if (rules->lacks_times && (asks_times(filter) || asks_times(triggers)))
        return fail(err, "the filter asks for times: it was begun with --clock none");
    const char *unseen = tool_record_unseen(rules, triggers);
    return unseen == NULL ? TTAPE_OK : fail(err, unseen);
}

bool tool_record_parse_lines(struct tool_patterns *patterns, const char *text, char **wrong)
{
    bool is_right = true;
    for (const char *line = text; *line != '\0' && is_right;) {
        size_t size = strcspn(line, "\n");
        char *one = tool_copy_text(line, size);
        is_right = tool_parse_pattern(one, patterns);
        if (is_right)
            free(one);
        else
            *wrong = one;
        line += size + (line[size] == '\n');
    }
    return is_right;
}

void tool_record_functions_close(struct tool_patterns *functions)
{
    if (functions != NULL)
        tool_patterns_close(functions);
    free(functions);
}

void tool_record_change_functions(struct tool_record_rules *rules, const char *functions)
{
    struct tool_patterns *next = tool_allocate(1, sizeof *next);
    char *wrong = NULL;
    (void)tool_record_parse_lines(next, functions, &wrong);
    free(wrong);
    tool_record_functions_close(
        __atomic_exchange_n(&rules->next_functions, next, __ATOMIC_ACQ_REL));
}

static void take_functions(struct tool_record_rules *rules)
{
    struct tool_patterns *next =
        __atomic_exchange_n(&rules->next_functions, NULL, __ATOMIC_ACQ_REL);
    if (next == NULL)
        return;
    tool_record_functions_close(rules->functions);
    rules->functions = next;
}

ttape_status tool_record_change(void *context, const char *filter, const char *triggers,
                                ttape_site_rules *into, ttape_call_conditions *conditions,
                                ttape_error *err)
{
    struct tool_record_rules *rules = context;
    struct tool_filter_made new_filter = {0}, new_triggers = {0};
    bool starts_off = false;
    ttape_status status = TTAPE_OK;
    if ((filter != NULL && !make(&new_filter, filter, true)) ||
        (triggers != NULL && !make(&new_triggers, triggers, false)))
        status = fail(err, "the recorder cannot make that out: it may be another version");
    if (status == TTAPE_OK)
        status = check(rules, filter != NULL ? &new_filter : tool_record_filter_of(rules),
                       triggers != NULL ? &new_triggers : tool_record_triggers_of(rules), err);
    if (status != TTAPE_OK) {
        tool_filter_unmake(&new_filter);
        tool_filter_unmake(&new_triggers);
        return status;
    }
    if (filter != NULL) {
        tool_filter_unmake(&rules->new_filter);
        rules->new_filter = new_filter;
        rules->has_new_filter = true;
    }
    if (triggers != NULL) {
        tool_filter_unmake(&rules->new_triggers);
        free(rules->new_on);
        rules->new_triggers = new_triggers;
        rules->new_on = tool_copy_text(triggers, strlen(triggers));
        rules->has_new_triggers = true;
    }
    take_functions(rules);
    bool (*is_application)(void *context, const ttape_module *module, ttape_string executable) =
        into->is_application;
    *into = rules->first;
    into->is_application = is_application;
    tool_record_filter_apply(rules, into);
    *conditions = (ttape_call_conditions){.filter = NULL};
    tool_record_filter_judge(rules, conditions, &starts_off);
    return TTAPE_OK;
}
