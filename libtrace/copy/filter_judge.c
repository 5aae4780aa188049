/* Names are compared once for each site, conditions at each call that names have chosen. */
#include "libtrace/copy/filter_judge.h"

#include <string.h>

#include "answers/filter/filter_value.h"
#include "base/text.h"
#include "format/base/fail.h"
#include "reader/reader_internal.h"

/* ---- what rules are about ---- */

static void take_rule(struct ttp_judge *judge, uint32_t number)
{
    const ttape_filter_rule *rule = &judge->rules[number];
    uint64_t bit = UINT64_C(1) << number;
    judge->of_kind[rule->kind] |= bit;
    for (uint32_t i = 0; i < rule->condition_count; i++) {
        judge->conditional |= bit;
        if (ttp_condition_is_late(&rule->conditions[i]))
            judge->late |= bit;
    }
    if (rule->kind == TTAPE_FILTER_TIME && rule->number > judge->limits.min_ns)
        judge->limits.min_ns = rule->number;
    if (rule->kind == TTAPE_FILTER_DEPTH && rule->number < judge->limits.depth_end)
        judge->limits.depth_end = rule->number;
    if (rule->kind == TTAPE_FILTER_TIME_BELOW || rule->kind == TTAPE_FILTER_DEPTH_BELOW)
        judge->limiting |= bit;
}

static ttape_status take_rules(struct ttp_judge *judge, const ttape_filter *filter,
                               ttape_error *err)
{
    uint32_t count;
    const ttape_filter_rule *rules = ttape_filter_get_rules(filter, &count);
    if (count > TTAPE_FILTER_MAX_RULES - judge->rule_count)
        return ttp_fail(err, TTAPE_E_LIMIT, "", TTAPE_ERROR_NO_OFFSET,
                        "filter and triggers have more than %u functions together",
                        TTAPE_FILTER_MAX_RULES);
    for (uint32_t i = 0; i < count; i++) {
        judge->rules[judge->rule_count] = rules[i];
        take_rule(judge, judge->rule_count++);
    }
    return TTAPE_OK;
}

static void compare_names(struct ttp_judge *judge)
{
    for (uint32_t number = 0; number < judge->site_count; number++) {
        judge->site_waits[number] =
            ttp_read_site_is_recorder(&judge->reader->definitions.sites[number]);
        for (uint32_t rule = 0; rule < judge->rule_count; rule++)
            if (judge->rules[rule].kind != TTAPE_FILTER_DEPTH &&
                judge->rules[rule].kind != TTAPE_FILTER_TIME && !judge->site_waits[number] &&
                judge->asked.names(judge->asked.context, rule, number))
                judge->site_rules[number] |= UINT64_C(1) << rule;
    }
}

static bool changes_times(const ttape_filter *triggers)
{
    uint32_t count, actions = 0;
    const ttape_trigger *all = ttape_filter_get_triggers(triggers, &count);
    for (uint32_t i = 0; i < count; i++)
        actions |= all[i].actions;
    return (actions & TTAPE_TRIGGER_TIME) != 0;
}

ttape_status ttp_judge_open(struct ttp_judge *judge, ttape_reader *reader,
                            const ttape_filtering *asked, struct ttp_region *region,
                            ttape_error *err)
{
    ttape_info info;
    ttape_reader_get_info(reader, &info);
    *judge = (struct ttp_judge){.reader = reader, .asked = *asked, .site_count = info.site_count};
    judge->limits.depth_end = UINT64_MAX;
    judge->site_rules = ttp_region_take(region, info.site_count, sizeof *judge->site_rules);
    judge->site_waits = ttp_region_take(region, info.site_count, sizeof *judge->site_waits);
    if (region->is_short)
        return ttp_fail(err, TTAPE_E_LIMIT, "", TTAPE_ERROR_NO_OFFSET,
                        "functions of a filtered trace take more memory than the limit");
    TTP_TRY(take_rules(judge, asked->filter, err));
    judge->filter_rule_count = judge->rule_count;
    TTP_TRY(take_rules(judge, asked->triggers, err));
    bool has_times = info.resolution_ns != TTAPE_TIME_NONE;
    bool asks_times = judge->limits.min_ns != 0 || judge->of_kind[TTAPE_FILTER_TIME_BELOW] != 0 ||
                      changes_times(asked->triggers);
    if (asks_times && !has_times)
        return ttp_fail(err, TTAPE_E_UNSUPPORTED, "", TTAPE_ERROR_NO_OFFSET,
                        "the trace has no times: none can be asked for");
    judge->looks_ahead = (judge->late & ~judge->of_kind[TTAPE_FILTER_CALLS]) != 0 || asks_times ||
                         judge->of_kind[TTAPE_FILTER_TO] != 0;
    compare_names(judge);
    return TTAPE_OK;
}

/* ---- values ---- */

/* Constants of the value's enumeration, and what the caller knows besides. */
static bool find_constant(void *context, uint32_t site, bool is_exit, uint32_t place,
                          ttape_string word, int64_t *value)
{
    const struct ttp_judge *judge = context;
    ttape_site_values names;
    bool has_names = ttape_reader_get_site_values(judge->reader, site, &names) == TTAPE_OK &&
                     place < (is_exit ? names.exit_count : names.enter_count);
    const ttape_value_name *name = !has_names ? NULL
                                   : is_exit  ? &names.exit[place]
                                              : &names.enter[place];
    for (uint32_t i = 0; name != NULL && i < name->constant_count; i++)
        if (ttp_is_same_text(name->constants[i].name, word)) {
            *value = name->constants[i].value;
            return true;
        }
    return judge->asked.constant != NULL &&
           judge->asked.constant(judge->asked.context, site, word, value);
}

/* The place of a call is told by its line, and by the function that has it, or the module. */
static bool name_call_site(struct ttp_judge *judge, uint32_t number, const ttape_site *place,
                           uint32_t form, ttape_string *name)
{
    size_t size;
    if (form > 1 || (form == 1 && (place->file.size_bytes == 0 || place->line == 0)))
        return false;
    size = form == 1
               ? ttape_call_site_name(judge->reader, number, judge->call_site, TTP_CALL_SITE_BYTES)
               : ttape_site_name(judge->reader, number, judge->call_site, TTP_CALL_SITE_BYTES);
    *name = (ttape_string){judge->call_site,
                           size < TTP_CALL_SITE_BYTES ? size : TTP_CALL_SITE_BYTES - 1};
    return true;
}

static bool find_target(void *context, uint32_t site, uint64_t number, uint32_t form,
                        ttape_string *name)
{
    struct ttp_judge *judge = context;
    uint32_t found = ttape_reader_find_target(judge->reader, site, number);
    ttape_site target;
    if (ttape_reader_get_site(judge->reader, found, &target) != TTAPE_OK)
        return false;
    if (target.kind == TTAPE_SITE_CALL)
        return name_call_site(judge, found, &target, form, name);
    *name = target.symbol;
    return form == 0;
}

static bool compare_text(void *context, uint32_t rule, uint32_t condition, ttape_string text)
{
    const struct ttp_judge *judge = context;
    return judge->asked.text(judge->asked.context, rule, condition, text);
}

static bool value_fits(struct ttp_judge *judge, uint32_t rule, uint32_t number, uint32_t site,
                       const ttape_value *value, uint32_t place)
{
    const struct ttp_value_asking asking = {judge->rules, compare_text, find_constant, find_target,
                                            judge};
    struct ttp_value_from from = {.site = site, .place = place};
    ttape_site found = {0};
    from.is_exit = ttp_condition_is_late(&judge->rules[rule].conditions[number]);
    if (from.is_exit)
        (void)ttape_reader_get_site(judge->reader, site, &found);
    from.is_system_call = found.kind == TTAPE_SITE_SYSCALL;
    return ttp_value_fits(&asking, rule, number, &from, value);
}

static bool argument_fits(struct ttp_judge *judge, uint32_t rule, uint32_t number, uint32_t site,
                          const ttape_value *values, uint32_t count)
{
    ttape_string name = judge->rules[rule].conditions[number].name;
    uint32_t place = ttp_argument_number(name);
    if (place == TTAPE_NONE)
        place = judge->asked.argument(judge->asked.context, site, name, count);
    if (place >= count && ttp_text_is(name, "from"))
        place = ttape_call_site_index(judge->reader, site, values, count);
    judge->counts.asked_count++;
    if (place < count)
        return value_fits(judge, rule, number, site, &values[place], place);
    judge->counts.unknown_count++;
    return false;
}

static bool end_fits(struct ttp_judge *judge, uint32_t rule, uint32_t number, uint32_t site,
                     int64_t duration_ns, const ttape_value *values, uint32_t count)
{
    const ttape_filter_condition *condition = &judge->rules[rule].conditions[number];
    if (condition->operand == TTAPE_FILTER_SPAN)
        return ttp_span_fits(condition, duration_ns);
    judge->counts.asked_count++;
    if (count > 0)
        return value_fits(judge, rule, number, site, &values[0], 0);
    judge->counts.unknown_count++;
    return false;
}

/* ---- calls ---- */

uint64_t ttp_judge_begin(struct ttp_judge *judge, uint32_t site, const ttape_value *values,
                         uint32_t count)
{
    uint64_t rules = site < judge->site_count ? judge->site_rules[site] : 0;
    for (uint64_t left = rules & judge->conditional; left != 0; left &= left - 1) {
        uint32_t rule = (uint32_t)__builtin_ctzll(left);
        for (uint32_t i = 0; i < judge->rules[rule].condition_count; i++)
            if (!ttp_condition_is_late(&judge->rules[rule].conditions[i]) &&
                !argument_fits(judge, rule, i, site, values, count)) {
                rules &= ~(UINT64_C(1) << rule);
                break;
            }
    }
    return rules;
}

uint64_t ttp_judge_end(struct ttp_judge *judge, uint64_t rules, uint32_t site, int64_t duration_ns,
                       const ttape_value *values, uint32_t count)
{
    for (uint64_t left = rules & judge->late; left != 0; left &= left - 1) {
        uint32_t rule = (uint32_t)__builtin_ctzll(left);
        for (uint32_t i = 0; i < judge->rules[rule].condition_count; i++)
            if (ttp_condition_is_late(&judge->rules[rule].conditions[i]) &&
                !end_fits(judge, rule, i, site, duration_ns, values, count)) {
                rules &= ~(UINT64_C(1) << rule);
                break;
            }
    }
    return rules;
}

unsigned ttp_judge_call(const struct ttp_judge *judge, uint64_t rules, uint32_t site, bool is_long)
{
    const uint64_t *of = judge->of_kind;
    bool is_named = site != TTAPE_NONE; /* a signal's handler is chosen by where it is alone */
    bool fits = !is_named || ttp_judge_waits(judge, site) ||
                ((of[TTAPE_FILTER_ONLY] == 0 || (rules & of[TTAPE_FILTER_ONLY]) != 0) &&
                 (rules & of[TTAPE_FILTER_WITHOUT]) == 0 &&
                 (rules & of[TTAPE_FILTER_SIZE]) == of[TTAPE_FILTER_SIZE]);
    return (fits && is_long ? TTP_CALL_FITS : 0) |
           ((rules & of[TTAPE_FILTER_BELOW]) != 0 ? TTP_CALL_BELOW : 0) |
           ((rules & of[TTAPE_FILTER_NOT_BELOW]) != 0 ? TTP_CALL_NOT_BELOW : 0) |
           ((rules & of[TTAPE_FILTER_TO]) != 0 ? TTP_CALL_LEADS : 0);
}

struct ttp_limits ttp_judge_limits(const struct ttp_judge *judge, uint64_t rules, uint64_t depth,
                                   struct ttp_limits around)
{
    struct ttp_limits own = {0, TTP_AS_ALL - 1};
    for (uint64_t left = rules & judge->limiting; left != 0; left &= left - 1) {
        const ttape_filter_rule *rule = &judge->rules[__builtin_ctzll(left)];
        if (rule->kind == TTAPE_FILTER_TIME_BELOW && rule->number > own.min_ns)
            own.min_ns = rule->number;
        if (rule->kind == TTAPE_FILTER_DEPTH_BELOW && rule->number < own.depth_end - depth)
            own.depth_end = depth + rule->number;
    }
    if ((rules & judge->of_kind[TTAPE_FILTER_TIME_BELOW]) == 0)
        own.min_ns = around.min_ns;
    if ((rules & judge->of_kind[TTAPE_FILTER_DEPTH_BELOW]) == 0)
        own.depth_end = around.depth_end;
    return own;
}
