/* Conditions of a filter on what single calls are given and return, and on their times: the
 * recorder judges each call; here is what it asks for, and what has to be recorded for it. */
#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"
#include "tools/kernel/flags/kernel_flags.h"
#include "tools/record/rules/record_rules.h"
#include "tools/values/parameter_names.h"

static bool is_of_time(const ttape_filter_condition *condition)
{
    return condition->operand == TTAPE_FILTER_SPAN;
}

struct tool_record_wants tool_record_filter_wants(const struct tool_record_rules *rules,
                                                  uint32_t number)
{
    uint32_t first = rules->filter.rule_count;
    const ttape_filter_rule *rule =
        number < first ? &rules->filter.rules[number] : &rules->triggers.rules[number - first];
    struct tool_record_wants wants = {.function = rule->function.data,
                                      .times = rule->kind == TTAPE_FILTER_TIME_BELOW};
    for (uint32_t i = 0; i < rule->condition_count; i++) {
        const ttape_filter_condition *condition = &rule->conditions[i];
        wants.times |= is_of_time(condition);
        wants.arguments |= condition->name.size_bytes != 0;
        wants.results |= condition->name.size_bytes == 0 && !is_of_time(condition);
    }
    return wants;
}

bool tool_record_filter_has_times(const struct tool_record_rules *rules)
{
    bool has_times = false;
    uint32_t count;
    const ttape_trigger *triggers = ttape_filter_get_triggers(rules->triggers.triggers, &count);
    for (uint32_t i = 0; i < tool_record_rule_count(rules); i++)
        has_times |= tool_record_filter_wants(rules, i).times;
    for (uint32_t i = 0; i < count; i++)
        has_times |= triggers[i].event == TTAPE_TRIGGER_AFTER ||
                     (triggers[i].actions & TTAPE_TRIGGER_TIME) != 0;
    return has_times;
}

/* ---- what the recorder asks ---- */

static uint64_t match(void *context, const ttape_site *site, const ttape_module *module)
{
    return tool_record_filter_match(context, site, module);
}

/* What the C library calls the parameters of its functions, and of system calls. */
static uint32_t find_argument(void *context, const ttape_site *site, ttape_string name)
{
    const char *words = tool_parameter_names(site->symbol);
    (void)context;
    return words != NULL ? tool_parameter_number(words, name) : TTAPE_NONE;
}

static bool find_constant(void *context, const ttape_site *site, ttape_string name, int64_t *value)
{
    (void)context, (void)site;
    return tool_kernel_find_constant(name, value);
}

static bool compare_text(void *context, uint32_t rule, uint32_t condition, ttape_string text)
{
    struct tool_record_rules *rules = context;
    struct tool_filter_made *filter = tool_record_filter_of(rules);
    bool is_filter = rule < filter->rule_count;
    struct tool_filter_made *made = is_filter ? filter : tool_record_triggers_of(rules);
    rule -= is_filter ? 0 : filter->rule_count;
    return tool_filter_matches(made, &made->made[rule].texts[condition], text);
}

static bool judges_calls(const struct tool_filter_made *filter)
{
    for (uint32_t i = 0; i < filter->rule_count; i++)
        if (filter->rules[i].condition_count != 0 ||
            filter->rules[i].kind == TTAPE_FILTER_DEPTH_BELOW ||
            filter->rules[i].kind == TTAPE_FILTER_TIME_BELOW)
            return true;
    return false;
}

/* Whether one of them switches on; and whether one waits for what is recorded, which an exit status
 * is not. */
static bool switches_on(const ttape_filter *parsed, bool *sees_events)
{
    uint32_t count, actions = 0;
    const ttape_trigger *triggers = ttape_filter_get_triggers(parsed, &count);
    *sees_events = false;
    for (uint32_t i = 0; i < count; i++) {
        actions |= triggers[i].actions;
        *sees_events |= triggers[i].event != TTAPE_TRIGGER_EXIT;
    }
    return (actions & TTAPE_TRIGGER_ON) != 0;
}

void tool_record_filter_judge(struct tool_record_rules *rules, ttape_call_conditions *into,
                              bool *starts_off)
{
    const struct tool_filter_made *filter = tool_record_filter_of(rules);
    const ttape_filter *triggers = tool_record_triggers_of(rules)->triggers;
    bool sees_events, has_on = switches_on(triggers, &sees_events);
    *into = (ttape_call_conditions){.at_end = triggers};
    if (!judges_calls(filter) && !sees_events)
        return;
    *into = (ttape_call_conditions){.filter = filter->parsed,
                                    .triggers = triggers,
                                    .at_end = triggers,
                                    .match = match,
                                    .argument = find_argument,
                                    .constant = find_constant,
                                    .text = compare_text,
                                    .context = rules,
                                    .starts_off = *starts_off && has_on};
    *starts_off = *starts_off && !into->starts_off;
}

void tool_record_triggers_say(struct tool_record_rules *rules)
{
    const struct tool_filter_made *made = tool_record_triggers_of(rules);
    uint32_t count;
    const ttape_trigger *triggers = ttape_filter_get_triggers(made->triggers, &count);
    char *text = count == 0                ? NULL
                 : rules->has_new_triggers ? tool_copy_text(rules->new_on, strlen(rules->new_on))
                                           : tool_filter_text(&rules->on);
    for (uint32_t i = 0; i < count; i++)
        if (triggers[i].rule != TTAPE_NONE && !made->matched[triggers[i].rule])
            tool_message("'%.*s': no call of such a function was recorded",
                         (int)triggers[i].text_bytes, text + triggers[i].text_at);
    free(text);
}
