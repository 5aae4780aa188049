/* What conditions of a filter say of calls while they are recorded. Names are looked for once for
 * each site: a call is compared with numbers and texts only. */
#include "answers/filter/filter_value.h"
#include "base/text.h"
#include "format/base/fail.h"
#include "recorder/decode/layouts.h"

/* ---- sites ---- */

static uint32_t add_rules(struct ttp_judging *judging, const ttape_filter *filter, uint32_t at)
{
    uint32_t count;
    const ttape_filter_rule *rules = ttape_filter_get_rules(filter, &count);
    for (uint32_t i = 0; i < count && at < TTAPE_FILTER_MAX_RULES; i++, at++) {
        uint64_t bit = UINT64_C(1) << at;
        judging->rules[at] = rules[i];
        judging->of_kind[rules[i].kind] |= bit;
        for (uint32_t k = 0; k < rules[i].condition_count; k++) {
            judging->conditional |= bit;
            if (ttp_condition_is_late(&rules[i].conditions[k]))
                judging->late |= bit;
            judging->asks_words |= rules[i].conditions[k].operand == TTAPE_FILTER_TEXT ||
                                   rules[i].conditions[k].operand == TTAPE_FILTER_WORD;
        }
        if (rules[i].kind == TTAPE_FILTER_DEPTH_BELOW || rules[i].kind == TTAPE_FILTER_TIME_BELOW)
            judging->limiting |= bit;
    }
    return at;
}

void ttp_judging_begin_all(struct ttp_encode *e)
{
    struct ttp_judging *judging = &e->judging;
    const ttape_call_conditions *asked = &e->options.conditions;
    uint32_t first = add_rules(judging, asked->filter, 0);
    judging->is_ready = true;
    (void)add_rules(judging, asked->triggers, first);
    ttp_triggers_begin(&judging->triggers, asked->triggers, first, asked->starts_off);
    judging->is_timed = judging->of_kind[TTAPE_FILTER_TIME_BELOW] != 0 ||
                        (judging->triggers.actions & TTAPE_TRIGGER_TIME) != 0;
    judging->triggers.min_ns = judging->is_timed ? e->options.rules.min_ns : 0;
    judging->triggers.depth = e->options.rules.max_depth;
}

static uint32_t find_place(const struct ttp_encode *e, const ttape_site *site,
                           const ttape_site_values *names, ttape_string name)
{
    uint32_t place = ttp_argument_number(name);
    for (uint32_t i = 0; place == TTAPE_NONE && names != NULL && i < names->enter_count; i++)
        if (ttp_is_same_text(names->enter[i].name, name))
            place = i;
    return place != TTAPE_NONE
               ? place
               : e->options.conditions.argument(e->options.conditions.context, site, name);
}

/* Constants of the value's enumeration first. */
static void find_constant(const struct ttp_encode *e, const ttape_site *site,
                          const ttape_site_values *names, const ttape_filter_condition *condition,
                          struct ttp_condition_seen *row)
{
    bool is_exit = ttp_condition_is_late(condition);
    uint32_t count = names == NULL ? 0 : is_exit ? names->exit_count : names->enter_count;
    const ttape_value_name *value = row->place >= count ? NULL
                                    : is_exit           ? &names->exit[row->place]
                                                        : &names->enter[row->place];
    for (uint32_t i = 0; value != NULL && i < value->constant_count; i++)
        if (ttp_is_same_text(value->constants[i].name, condition->text)) {
            row->constant = value->constants[i].value;
            row->has_constant = true;
            return;
        }
    row->has_constant = e->options.conditions.constant(e->options.conditions.context, site,
                                                       condition->text, &row->constant);
}

ttape_status ttp_judging_take(struct ttp_encode *e, struct ttp_site_seen *seen,
                              const ttape_site *site, const ttape_module *module,
                              const ttape_site_values *names, ttape_error *err)
{
    struct ttp_judging *judging = &e->judging;
    const ttape_call_conditions *asked = &e->options.conditions;
    if (ttp_site_is_passive(seen) || ttp_site_is_wait(seen))
        return TTAPE_OK;
    if (!judging->is_ready)
        ttp_judging_begin_all(e);
    seen->rules = asked->match(asked->context, site, module);
    seen->first_condition = (uint32_t)judging->conditions.count;
    for (uint64_t left = seen->rules & judging->conditional; left != 0; left &= left - 1) {
        uint32_t number = (uint32_t)__builtin_ctzll(left);
        const ttape_filter_rule *rule = &judging->rules[number];
        for (uint32_t i = 0; i < rule->condition_count; i++) {
            const ttape_filter_condition *condition = &rule->conditions[i];
            struct ttp_condition_seen *row =
                ttp_push(&e->allocator, &judging->conditions, sizeof *row, err);
            if (row == NULL)
                return TTAPE_E_MEMORY;
            *row = (struct ttp_condition_seen){.rule = number, .condition = i};
            if (!ttp_condition_is_late(condition))
                row->place = find_place(e, site, names, condition->name);
            if (condition->operand == TTAPE_FILTER_WORD)
                find_constant(e, site, names, condition, row);
            seen->condition_count++;
        }
    }
    return TTAPE_OK;
}

/* ---- calls ---- */

struct asked_row {
    const struct ttp_encode *e;
    const struct ttp_thread *thread;
    const ttape_call_conditions *asked;
    const struct ttp_condition_seen *row;
};

static bool compare_text(void *context, uint32_t rule, uint32_t condition, ttape_string text)
{
    const ttape_call_conditions *asked = ((const struct asked_row *)context)->asked;
    return asked->text(asked->context, rule, condition, text);
}

static bool take_constant(void *context, uint32_t site, bool is_exit, uint32_t place,
                          ttape_string name, int64_t *value)
{
    const struct ttp_condition_seen *row = ((const struct asked_row *)context)->row;
    (void)site, (void)is_exit, (void)place, (void)name;
    *value = row->constant;
    return row->has_constant;
}

static bool take_target(void *context, uint32_t site, uint64_t number, uint32_t form,
                        ttape_string *name)
{
    const struct asked_row *one = context;
    const char *symbol = form == 0 ? ttp_target_symbol(one->e, one->thread, number) : NULL;
    (void)site;
    *name = (ttape_string){symbol, symbol != NULL ? strlen(symbol) : 0};
    return symbol != NULL;
}

static bool fits_site(const struct ttp_encode *e, const struct ttp_thread *thread,
                      const struct ttp_site_seen *site, const struct ttp_condition_seen *row,
                      const ttape_value *value, bool is_exit)
{
    struct asked_row one = {.e = e, .thread = thread, .asked = &e->options.conditions, .row = row};
    const struct ttp_value_asking asking = {e->judging.rules, compare_text, take_constant,
                                            take_target, &one};
    const struct ttp_value_from from = {
        .place = row->place, .is_exit = is_exit, .is_system_call = ttp_site_is_call(site)};
    return ttp_value_fits(&asking, row->rule, row->condition, &from, value);
}

static const struct ttp_condition_seen *rows_of(const struct ttp_encode *e,
                                                const struct ttp_site_seen *site)
{
    return (const struct ttp_condition_seen *)e->judging.conditions.data + site->first_condition;
}

static const ttape_filter_condition *condition_of(const struct ttp_encode *e,
                                                  const struct ttp_condition_seen *row)
{
    return &e->judging.rules[row->rule].conditions[row->condition];
}

uint64_t ttp_judging_begin(const struct ttp_encode *e, const struct ttp_thread *thread,
                           const struct ttp_site_seen *site, const ttape_value *values,
                           uint32_t count)
{
    uint64_t rules = site->rules;
    const struct ttp_condition_seen *row = rows_of(e, site);
    for (uint32_t i = 0; i < site->condition_count; i++, row++)
        if ((rules >> row->rule & 1) != 0 && !ttp_condition_is_late(condition_of(e, row)) &&
            (row->place >= count || !fits_site(e, thread, site, row, &values[row->place], false)))
            rules &= ~(UINT64_C(1) << row->rule);
    return rules;
}

uint64_t ttp_judging_end(const struct ttp_encode *e, const struct ttp_thread *thread,
                         const struct ttp_site_seen *site, uint64_t rules, int64_t duration_ns,
                         const ttape_value *result)
{
    const struct ttp_condition_seen *row = rows_of(e, site);
    for (uint32_t i = 0; i < site->condition_count; i++, row++) {
        const ttape_filter_condition *condition = condition_of(e, row);
        if ((rules >> row->rule & 1) == 0 || !ttp_condition_is_late(condition))
            continue;
        bool holds = condition->operand == TTAPE_FILTER_SPAN
                         ? ttp_span_fits(condition, duration_ns)
                         : result != NULL && fits_site(e, thread, site, row, result, true);
        if (!holds)
            rules &= ~(UINT64_C(1) << row->rule);
    }
    return rules;
}

/* A time that grows: 1: the condition will hold, 0: it will not, -1: nobody knows. */
static int foresee(const ttape_filter_condition *condition, int64_t elapsed_ns)
{
    bool holds_now =
        condition->operand == TTAPE_FILTER_SPAN && ttp_span_fits(condition, elapsed_ns);
    if (condition->operand != TTAPE_FILTER_SPAN)
        return -1;
    switch (condition->compare) {
    case TTAPE_FILTER_GREATER:
    case TTAPE_FILTER_GREATER_EQUAL: return holds_now ? 1 : -1;
    case TTAPE_FILTER_LESS:
    case TTAPE_FILTER_LESS_EQUAL: return holds_now ? -1 : 0;
    default: return -1;
    }
}

bool ttp_judging_knows(const struct ttp_encode *e, const struct ttp_site_seen *site,
                       uint64_t *rules, int64_t elapsed_ns)
{
    const struct ttp_condition_seen *row = rows_of(e, site);
    uint64_t open = 0, failed = 0;
    for (uint32_t i = 0; i < site->condition_count; i++, row++) {
        const ttape_filter_condition *condition = condition_of(e, row);
        if ((*rules >> row->rule & 1) == 0 || !ttp_condition_is_late(condition))
            continue;
        int said = foresee(condition, elapsed_ns);
        open |= (uint64_t)(said < 0) << row->rule;
        failed |= (uint64_t)(said == 0) << row->rule;
    }
    *rules &= ~failed;
    return (open & ~failed) == 0;
}

uint64_t ttp_judging_unknown(const struct ttp_encode *e, uint64_t rules)
{
    const uint64_t *of = e->judging.of_kind;
    return rules & ~(e->judging.late & (of[TTAPE_FILTER_WITHOUT] | of[TTAPE_FILTER_NOT_BELOW]));
}

bool ttp_judging_least(const struct ttp_encode *e, uint64_t rules, uint64_t *min_ns)
{
    uint64_t left = rules & e->judging.of_kind[TTAPE_FILTER_TIME_BELOW];
    bool is_said = left != 0;
    for (*min_ns = 0; left != 0; left &= left - 1) {
        uint64_t number = e->judging.rules[__builtin_ctzll(left)].number;
        *min_ns = number > *min_ns ? number : *min_ns;
    }
    return is_said;
}

uint32_t ttp_judging_depth(const struct ttp_encode *e, uint64_t rules)
{
    uint32_t depth = TTAPE_NONE;
    uint64_t left = rules & e->judging.of_kind[TTAPE_FILTER_DEPTH_BELOW];
    for (; left != 0; left &= left - 1) {
        uint64_t number = e->judging.rules[__builtin_ctzll(left)].number;
        depth = number < depth ? (uint32_t)number : depth;
    }
    return depth;
}

uint32_t ttp_judging_select(const struct ttp_encode *e, uint64_t rules)
{
    const uint64_t *of = e->judging.of_kind;
    bool is_dropped = (of[TTAPE_FILTER_ONLY] != 0 && (rules & of[TTAPE_FILTER_ONLY]) == 0) ||
                      (rules & of[TTAPE_FILTER_WITHOUT]) != 0 ||
                      (rules & of[TTAPE_FILTER_SIZE]) != of[TTAPE_FILTER_SIZE];
    return (is_dropped ? TTAPE_SELECT_DROP : 0) |
           ((rules & of[TTAPE_FILTER_BELOW]) != 0 ? TTAPE_SELECT_BELOW : 0) |
           ((rules & of[TTAPE_FILTER_NOT_BELOW]) != 0 ? TTAPE_SELECT_NOT_BELOW : 0) |
           ((rules & of[TTAPE_FILTER_TO]) != 0 ? TTAPE_SELECT_TO : 0);
}

bool ttp_judging_wants_result(const struct ttp_encode *e, const struct ttp_site_seen *site,
                              uint64_t rules)
{
    const struct ttp_condition_seen *row = rows_of(e, site);
    for (uint32_t i = 0; i < site->condition_count; i++, row++)
        if ((rules >> row->rule & 1) != 0 && ttp_condition_is_late(condition_of(e, row)) &&
            condition_of(e, row)->operand != TTAPE_FILTER_SPAN)
            return true;
    return false;
}
