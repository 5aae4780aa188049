/* A filter while recording (spec/filters.md): names, modules, sources and sizes, once for each
 * site; what goes by the calls around one, or by a length, the recorder does. */
#include "tools/command/tool.h"
#include "tools/record/rules/record_rules.h"

/* Other rules go by where a call is, or how long it takes. */
static bool is_of_sites(ttape_filter_kind kind)
{
    return kind != TTAPE_FILTER_DEPTH && kind != TTAPE_FILTER_TIME;
}

const char *tool_record_unseen(const struct tool_record_rules *rules,
                               const struct tool_filter_made *made)
{
    uint32_t count;
    const ttape_trigger *triggers = ttape_filter_get_triggers(made->triggers, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (rules->is_sent && (triggers[i].actions & TTAPE_TRIGGER_KEEP) != 0)
            return "--on '... do keep' does not go with -o tcp://...: what was sent is there";
        if (rules->is_attached && triggers[i].event == TTAPE_TRIGGER_SIGNAL)
            return "--on 'signal ...' is not seen in a process that is attached to: name the "
                   "handler's function";
        if (rules->is_attached && triggers[i].event == TTAPE_TRIGGER_EXIT)
            return "--on 'exit ...' is of a command that record starts: how a process ends that "
                   "is attached to, is not known";
    }
    return NULL;
}

int tool_record_filter_open(struct tool_record_rules *rules, const char *verb, bool has_names)
{
    int status = TOOL_OK;
    if (rules->on.count != 0)
        status = tool_triggers_make(&rules->triggers, verb, &rules->on);
    if (status == TOOL_OK && rules->said.count != 0)
        status = tool_filter_make(&rules->filter, verb, &rules->said);
    if (status == TOOL_OK && tool_record_rule_count(rules) > TTAPE_FILTER_MAX_RULES)
        status = tool_usage(verb, "--filter and --on have more than %u functions together",
                            TTAPE_FILTER_MAX_RULES);
    if (status == TOOL_OK && !has_names && rules->triggers.rule_count > 0)
        status = tool_usage(verb, "--on needs names: it does not go with --no-symbols");
    const char *unseen = status == TOOL_OK ? tool_record_unseen(rules, &rules->triggers) : NULL;
    if (unseen != NULL)
        status = tool_usage(verb, "%s", unseen);
    for (uint32_t i = 0; status == TOOL_OK && i < rules->filter.rule_count; i++) {
        const ttape_filter_rule *rule = &rules->filter.rules[i];
        if (!has_names && is_of_sites(rule->kind))
            status = tool_usage(verb, "--filter needs names: it does not go with --no-symbols");
    }
    return status;
}

void tool_record_filter_apply(struct tool_record_rules *rules, ttape_site_rules *into)
{
    const struct tool_filter_made *filter = tool_record_filter_of(rules);
    for (uint32_t i = 0; i < filter->rule_count; i++) {
        const ttape_filter_rule *rule = &filter->rules[i];
        into->has_below |= rule->kind == TTAPE_FILTER_BELOW;
        into->has_to |= rule->kind == TTAPE_FILTER_TO;
        into->of_calls |= is_of_sites(rule->kind);
        if (rule->kind == TTAPE_FILTER_TIME && rule->number > into->min_ns)
            into->min_ns = rule->number;
        if (rule->kind == TTAPE_FILTER_DEPTH && rule->number <= UINT32_MAX &&
            (into->max_depth == 0 || rule->number < into->max_depth))
            into->max_depth = (uint32_t)rule->number;
    }
}

static bool is_called(struct tool_record_rules *words, const struct tool_filter_rule *made,
                      ttape_string name)
{
    const struct tool_patterns one = {.items = (regex_t *)(uintptr_t)&made->function, .count = 1};
    return made->has_function && tool_record_matches_name(words, &one, name);
}

static bool is_there(struct tool_filter_made *all, const struct tool_filter_rule *made,
                     const ttape_site *site, ttape_string path)
{
    return !made->has_path || tool_filter_matches(all, &made->path, path) ||
           (site->file.size_bytes != 0 && tool_filter_matches(all, &made->path, site->file));
}

/* What rules of these kinds come to: bits TTAPE_SELECT_*. */
static uint32_t join_choices(const bool *any, const bool *chosen)
{
    return ((any[TTAPE_FILTER_ONLY] && !chosen[TTAPE_FILTER_ONLY]) || chosen[TTAPE_FILTER_WITHOUT]
                ? TTAPE_SELECT_DROP
                : 0) |
           (chosen[TTAPE_FILTER_BELOW] ? TTAPE_SELECT_BELOW : 0) |
           (chosen[TTAPE_FILTER_NOT_BELOW] ? TTAPE_SELECT_NOT_BELOW : 0) |
           (chosen[TTAPE_FILTER_TO] ? TTAPE_SELECT_TO : 0);
}

uint64_t tool_record_filter_match(struct tool_record_rules *rules, const ttape_site *site,
                                  const ttape_module *module)
{
    ttape_string path = module == NULL ? (ttape_string){"", 0} : module->path;
    struct tool_filter_made *filter = tool_record_filter_of(rules);
    struct tool_filter_made *triggers = tool_record_triggers_of(rules);
    uint64_t matched = 0;
    for (uint32_t i = 0; i < filter->rule_count; i++) {
        const ttape_filter_rule *rule = &filter->rules[i];
        const struct tool_filter_rule *made = &filter->made[i];
        bool is_its =
            rule->kind == TTAPE_FILTER_SIZE
                ? tool_record_size(&rules->names, site, module) >= rule->number
                : is_called(rules, made, site->symbol) && is_there(filter, made, site, path);
        matched |= (uint64_t)is_its << i;
    }
    for (uint32_t i = 0; i < triggers->rule_count; i++) {
        const struct tool_filter_rule *made = &triggers->made[i];
        bool is_its = is_called(rules, made, site->symbol) && is_there(triggers, made, site, path);
        triggers->matched[i] |= is_its;
        matched |= (uint64_t)is_its << (filter->rule_count + i);
    }
    return matched;
}

/* Where one of its rules has conditions, the recorder judges each call. */
uint32_t tool_record_filter_select(struct tool_record_rules *rules, const ttape_site *site,
                                   const ttape_module *module)
{
    const struct tool_filter_made *filter = tool_record_filter_of(rules);
    uint64_t matched = tool_record_filter_match(rules, site, module);
    bool any[TTAPE_FILTER_KIND_COUNT] = {false}, chosen[TTAPE_FILTER_KIND_COUNT] = {false};
    bool is_small = false;
    for (uint32_t i = 0; i < filter->rule_count; i++) {
        const ttape_filter_rule *rule = &filter->rules[i];
        bool is_its = (matched >> i & 1) != 0;
        if (is_its && rule->condition_count != 0)
            return TTAPE_SELECT_KEEP;
        any[rule->kind] = true;
        chosen[rule->kind] |= is_its;
        is_small |= rule->kind == TTAPE_FILTER_SIZE && !is_its;
    }
    return join_choices(any, chosen) | (is_small ? TTAPE_SELECT_DROP : 0);
}

bool tool_record_filter_sees(const struct tool_record_rules *rules, struct tool_record_rules *words,
                             ttape_string name)
{
    bool is_its = false;
    for (uint32_t i = 0; i < rules->triggers.rule_count && !is_its; i++)
        is_its = is_called(words, &rules->triggers.made[i], name);
    return is_its;
}

bool tool_record_filter_leaves(const struct tool_record_rules *rules,
                               struct tool_record_rules *words, ttape_string name, const char *path)
{
    bool any[TTAPE_FILTER_KIND_COUNT] = {false}, chosen[TTAPE_FILTER_KIND_COUNT] = {false};
    for (uint32_t i = 0; i < rules->filter.rule_count; i++) {
        const struct tool_filter_rule *made = &rules->filter.made[i];
        ttape_filter_kind kind = rules->filter.rules[i].kind;
        bool is_here = !made->has_path || regexec(&made->path, path, 0, NULL, 0) == 0;
        /* Its source may be meant, which is not known yet. */
        is_here |= kind != TTAPE_FILTER_WITHOUT;
        /* Its calls differ then. */
        is_here &= kind != TTAPE_FILTER_WITHOUT || rules->filter.rules[i].condition_count == 0;
        any[kind] = true;
        chosen[kind] |= is_here && is_called(words, made, name);
    }
    return join_choices(any, chosen) == TTAPE_SELECT_DROP && !chosen[TTAPE_FILTER_DEPTH_BELOW] &&
           !chosen[TTAPE_FILTER_TIME_BELOW];
}
