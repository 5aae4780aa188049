/* Names are compared once for each site, conditions at each call that names have chosen. */
#include "libtrace/copy/filter_judge.h"

#include <string.h>

#include "base/text.h"
#include "format/base/fail.h"
#include "reader/reader_internal.h"

#define ERRORS_MOST     4095
#define ARGUMENT_PREFIX "arg"

/* ---- what rules are about ---- */

static bool is_late(const ttape_filter_condition *condition)
{
    return condition->name.size_bytes == 0;
}

static void take_rule(struct ttp_judge *judge, uint32_t number)
{
    const ttape_filter_rule *rule = &judge->rules[number];
    uint64_t bit = UINT64_C(1) << number;
    judge->of_kind[rule->kind] |= bit;
    for (uint32_t i = 0; i < rule->condition_count; i++) {
        judge->conditional |= bit;
        if (is_late(&rule->conditions[i]))
            judge->late |= bit;
    }
    if (rule->kind == TTAPE_FILTER_TIME && rule->number > judge->min_ns)
        judge->min_ns = rule->number;
    if (rule->kind == TTAPE_FILTER_DEPTH &&
        (judge->max_depth == 0 || rule->number < judge->max_depth))
        judge->max_depth = rule->number;
}

static void compare_names(struct ttp_judge *judge, uint32_t rule_count)
{
    for (uint32_t number = 0; number < judge->site_count; number++) {
        judge->site_waits[number] =
            ttp_read_site_is_recorder(&judge->reader->definitions.sites[number]);
        for (uint32_t rule = 0; rule < rule_count; rule++)
            if (judge->rules[rule].kind != TTAPE_FILTER_DEPTH &&
                judge->rules[rule].kind != TTAPE_FILTER_TIME && !judge->site_waits[number] &&
                judge->asked.names(judge->asked.context, rule, number))
                judge->site_rules[number] |= UINT64_C(1) << rule;
    }
}

ttape_status ttp_judge_open(struct ttp_judge *judge, ttape_reader *reader,
                            const ttape_filtering *asked, struct ttp_region *region,
                            ttape_error *err)
{
    uint32_t rule_count;
    ttape_info info;
    ttape_reader_get_info(reader, &info);
    *judge = (struct ttp_judge){.reader = reader, .asked = *asked, .site_count = info.site_count};
    judge->rules = ttape_filter_get_rules(asked->filter, &rule_count);
    judge->site_rules = ttp_region_take(region, info.site_count, sizeof *judge->site_rules);
    judge->site_waits = ttp_region_take(region, info.site_count, sizeof *judge->site_waits);
    if (region->is_short)
        return ttp_fail(err, TTAPE_E_LIMIT, "", TTAPE_ERROR_NO_OFFSET,
                        "functions of a filtered trace take more memory than the limit");
    for (uint32_t i = 0; i < rule_count; i++)
        take_rule(judge, i);
    bool has_times = info.resolution_ns != TTAPE_TIME_NONE;
    if (judge->min_ns != 0 && !has_times)
        return ttp_fail(err, TTAPE_E_UNSUPPORTED, "", TTAPE_ERROR_NO_OFFSET,
                        "the trace has no times: none can be asked for");
    judge->looks_ahead =
        judge->late != 0 || judge->min_ns != 0 || judge->of_kind[TTAPE_FILTER_TO] != 0;
    compare_names(judge, rule_count);
    return TTAPE_OK;
}

/* ---- values ---- */

/* A number with its sign, of any value that is one. */
struct number {
    bool is_negative, is_real;
    uint64_t bits; /* two's complement, or a double's */
};

static double to_real(struct number n)
{
    double real;
    if (!n.is_real)
        return n.is_negative ? (double)(int64_t)n.bits : (double)n.bits;
    memcpy(&real, &n.bits, sizeof real);
    return real;
}

/* -1, 0, 1; 2: they cannot be compared. */
static int compare_numbers(struct number a, struct number b)
{
    if (a.is_real || b.is_real) {
        double one = to_real(a), two = to_real(b);
        return one < two ? -1 : one > two ? 1 : one == two ? 0 : 2;
    }
    if (a.is_negative != b.is_negative)
        return a.is_negative ? -1 : 1;
    return (a.bits > b.bits) - (a.bits < b.bits); /* two's complement keeps the order */
}

static bool holds(ttape_filter_operator compare, struct number value, struct number with)
{
    if (compare == TTAPE_FILTER_BITS)
        return !value.is_real && !with.is_real && (value.bits & with.bits) == with.bits;
    int order = compare_numbers(value, with);
    switch (compare) {
    case TTAPE_FILTER_EQUAL: return order == 0;
    case TTAPE_FILTER_NOT_EQUAL: return order != 0;
    case TTAPE_FILTER_LESS: return order == -1;
    case TTAPE_FILTER_LESS_EQUAL: return order == -1 || order == 0;
    case TTAPE_FILTER_GREATER: return order == 1;
    default: return order == 1 || order == 0;
    }
}

/* Constants of the value's enumeration. */
static bool find_constant(const struct ttp_judge *judge, uint32_t site, bool is_exit,
                          uint32_t place, ttape_string word, struct number *out)
{
    ttape_site_values names;
    if (ttape_reader_get_site_values(judge->reader, site, &names) != TTAPE_OK ||
        place >= (is_exit ? names.exit_count : names.enter_count))
        return false;
    const ttape_value_name *name = is_exit ? &names.exit[place] : &names.enter[place];
    for (uint32_t i = 0; i < name->constant_count; i++) {
        const ttape_value_constant *constant = &name->constants[i];
        if (ttp_is_same_text(constant->name, word)) {
            *out = (struct number){.is_negative = constant->value < 0,
                                   .bits = (uint64_t)constant->value};
            return true;
        }
    }
    return false;
}

static bool find_word(const struct ttp_judge *judge, uint32_t site, bool is_exit, uint32_t place,
                      ttape_string word, struct number *out)
{
    int64_t value;
    *out = (struct number){.bits = ttp_text_is(word, "true")};
    if (out->bits != 0 || ttp_text_is(word, "false") || ttp_text_is(word, "NULL"))
        return true;
    if (find_constant(judge, site, is_exit, place, word, out))
        return true;
    if (judge->asked.constant == NULL ||
        !judge->asked.constant(judge->asked.context, site, word, &value))
        return false;
    *out = (struct number){.is_negative = value < 0, .bits = (uint64_t)value};
    return true;
}

/* As people see it: a system call that failed has returned -1, a number of 32 bits may be below
 * zero. */
static struct number number_of(const struct ttp_judge *judge, uint32_t site, bool is_exit,
                               const ttape_value *value, const ttape_filter_condition *condition)
{
    struct number n = {.is_negative = value->type == TTAPE_VALUE_SIGNED && value->number >> 63 != 0,
                       .is_real = value->type == TTAPE_VALUE_FLOAT,
                       .bits = value->number};
    ttape_site found = {0};
    bool asks_below_zero = condition->operand == TTAPE_FILTER_NEGATIVE;
    if (is_exit && asks_below_zero && condition->number == UINT64_MAX) {
        (void)ttape_reader_get_site(judge->reader, site, &found);
        int64_t result = (int64_t)value->number;
        if (found.kind == TTAPE_SITE_SYSCALL && result < 0 && result >= -ERRORS_MOST)
            return (struct number){.is_negative = true, .bits = UINT64_MAX};
    }
    if (asks_below_zero && !n.is_real && !n.is_negative)
        n = value->number >> 63 != 0 ? (struct number){.is_negative = true, .bits = value->number}
            : value->number <= UINT32_MAX && value->number >> 31 != 0 &&
                    (uint32_t)condition->number == (uint32_t)value->number
                ? (struct number){.is_negative = true, .bits = condition->number}
                : n;
    return n;
}

/* One value and one condition on it. */
static bool value_fits(const struct ttp_judge *judge, uint32_t rule, uint32_t number, uint32_t site,
                       const ttape_value *value, uint32_t place)
{
    const ttape_filter_condition *condition = &judge->rules[rule].conditions[number];
    bool is_exit = is_late(condition), is_equal = condition->compare == TTAPE_FILTER_EQUAL;
    bool is_text = value->type == TTAPE_VALUE_STRING || value->type == TTAPE_VALUE_BYTES;
    struct number with = {.is_negative = condition->operand == TTAPE_FILTER_NEGATIVE,
                          .is_real = condition->operand == TTAPE_FILTER_REAL,
                          .bits = condition->number};
    if (condition->operand == TTAPE_FILTER_TEXT)
        return is_text
                   ? judge->asked.text(judge->asked.context, rule, number, value->bytes) == is_equal
                   : !is_equal;
    if (is_text)
        return condition->compare == TTAPE_FILTER_NOT_EQUAL;
    if (condition->operand == TTAPE_FILTER_WORD &&
        !find_word(judge, site, is_exit, place, condition->text, &with))
        return false;
    struct number is = {0}; /* a pointer that is NULL */
    if (value->type != TTAPE_VALUE_NULL)
        is = number_of(judge, site, is_exit, value, condition);
    return holds(condition->compare, is, with);
}

/* arg1 is the first; else as the caller knows it. */
static uint32_t argument_of(const struct ttp_judge *judge, uint32_t site, ttape_string name,
                            uint32_t count)
{
    size_t prefix = sizeof ARGUMENT_PREFIX - 1;
    uint32_t number = 0;
    bool is_number = name.size_bytes > prefix && name.size_bytes <= prefix + 3 &&
                     memcmp(name.data, ARGUMENT_PREFIX, prefix) == 0;
    for (size_t i = prefix; is_number && i < name.size_bytes; i++) {
        is_number = name.data[i] >= '0' && name.data[i] <= '9';
        number = 10 * number + (uint32_t)(name.data[i] - '0');
    }
    if (is_number && number > 0)
        return number <= count ? number - 1 : TTAPE_NONE;
    return judge->asked.argument(judge->asked.context, site, name, count);
}

static bool argument_fits(struct ttp_judge *judge, uint32_t rule, uint32_t number, uint32_t site,
                          const ttape_value *values, uint32_t count)
{
    const ttape_filter_condition *condition = &judge->rules[rule].conditions[number];
    uint32_t place = argument_of(judge, site, condition->name, count);
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
        return holds(condition->compare,
                     (struct number){.is_negative = duration_ns < 0, .bits = (uint64_t)duration_ns},
                     (struct number){.bits = condition->number});
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
            if (!is_late(&judge->rules[rule].conditions[i]) &&
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
            if (is_late(&judge->rules[rule].conditions[i]) &&
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
