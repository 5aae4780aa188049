/* Conditions of a filter on what single calls are given and return, and on their times: the
 * recorder judges each call; here is what it asks for, and what has to be recorded for it. */
#include "tools/command/tool.h"
#include "tools/kernel/kernel_flags.h"
#include "tools/record/rules/record_rules.h"
#include "tools/values/parameter_names.h"

static bool is_of_time(const ttape_filter_condition *condition)
{
    return condition->operand == TTAPE_FILTER_SPAN;
}

struct tool_record_wants tool_record_filter_wants(const struct tool_record_rules *rules,
                                                  uint32_t number)
{
    const ttape_filter_rule *rule = &rules->filter.rules[number];
    struct tool_record_wants wants = {.function = rule->function.data};
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
    for (uint32_t i = 0; i < rules->filter.rule_count; i++)
        has_times |= tool_record_filter_wants(rules, i).times;
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
    return tool_kernel_error_number(name, value);
}

static bool compare_text(void *context, uint32_t rule, uint32_t condition, ttape_string text)
{
    struct tool_record_rules *rules = context;
    return tool_filter_matches(&rules->filter, &rules->filter.made[rule].texts[condition], text);
}

void tool_record_filter_judge(struct tool_record_rules *rules, ttape_call_conditions *into)
{
    for (uint32_t i = 0; i < rules->filter.rule_count; i++)
        if (rules->filter.rules[i].condition_count != 0)
            *into = (ttape_call_conditions){.filter = rules->filter.parsed,
                                            .match = match,
                                            .argument = find_argument,
                                            .constant = find_constant,
                                            .text = compare_text,
                                            .context = rules};
}
