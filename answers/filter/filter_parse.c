/* Rules of a text, one after the other:
 *
 *   filter     [rule] {(";" | newline) [rule]}
 *   rule       ["!"] ["below"] calls {"," calls}  |  "to" calls {"," calls}
 *              ("depth" NUMBER  |  "time" TIME) ["below" calls {"," calls}]  |  "size" NUMBER
 *   calls      pattern ["@" pattern] ["(" [condition {"," condition}] ")"] [OPERATOR VALUE]
 *   condition  NAME OPERATOR VALUE
 *
 * A word such as `below` is a function's name where no pattern stands behind it. */
#include <tracetape/filter.h>

#include <string.h>

#include "answers/filter/filter_parse.h"
#include "format/base/fail.h"

#define MEMORY_BYTES (4u << 20) /* more than the largest text takes */

static ttape_status add_rule(struct ttp_filter_parse *p, ttape_filter_kind kind, const char *text,
                             ttape_filter_rule **out)
{
    const struct ttp_filter_scan *s = &p->scan;
    if (p->filter->rule_count == TTAPE_FILTER_MAX_RULES)
        return ttp_fail(s->err, TTAPE_E_LIMIT, "", (uint64_t)(text - s->begin),
                        "a filter has more than %u rules and functions", TTAPE_FILTER_MAX_RULES);
    *out = &p->filter->rules[p->filter->rule_count++];
    **out = (ttape_filter_rule){.kind = kind, .text_at = (uint32_t)(text - s->begin)};
    return TTAPE_OK;
}

/* ---- conditions ---- */

static ttape_status next_condition(struct ttp_filter_parse *p, uint32_t *count,
                                   ttape_filter_condition **out)
{
    if (*count == TTAPE_FILTER_MAX_CONDITIONS)
        return ttp_fail(p->scan.err, TTAPE_E_LIMIT, "", (uint64_t)(p->scan.at - p->scan.begin),
                        "a call has more than %u conditions", TTAPE_FILTER_MAX_CONDITIONS);
    *out = &p->conditions[(*count)++];
    **out = (ttape_filter_condition){.compare = TTAPE_FILTER_EQUAL};
    return TTAPE_OK;
}

static ttape_status check_operand(const struct ttp_filter_scan *s,
                                  const ttape_filter_condition *condition)
{
    bool is_equality = condition->compare <= TTAPE_FILTER_NOT_EQUAL;
    if (condition->operand == TTAPE_FILTER_TEXT && !is_equality)
        return ttp_filter_fail(s, "texts are compared with = and != only");
    if (condition->operand == TTAPE_FILTER_SPAN && condition->name.size_bytes != 0)
        return ttp_filter_fail(s, "a time is compared with the call's, behind the function: "
                                  "'f > 5ms'");
    if (condition->operand == TTAPE_FILTER_REAL && condition->compare == TTAPE_FILTER_BITS)
        return ttp_filter_fail(s, "bits are a whole number's");
    return TTAPE_OK;
}

static ttape_status take_argument(struct ttp_filter_parse *p, uint32_t *count)
{
    struct ttp_filter_scan *s = &p->scan;
    ttape_filter_condition *condition = NULL;
    TTP_TRY(next_condition(p, count, &condition));
    condition->name = ttp_filter_take_name(s, true);
    if (condition->name.size_bytes == 0)
        return ttp_filter_fail(s, "an argument's name is missing, or arg1, arg2 ...");
    ttp_filter_skip(s);
    if (!ttp_filter_take_operator(s, &condition->compare))
        return ttp_filter_fail(s, "a comparison is missing behind the argument: = != < <= > >= &");
    ttp_filter_skip(s);
    TTP_TRY(ttp_filter_take_operand(s, condition));
    ttp_filter_skip(s);
    return check_operand(s, condition);
}

static ttape_status take_arguments(struct ttp_filter_parse *p, uint32_t *count)
{
    struct ttp_filter_scan *s = &p->scan;
    s->at++;
    ttp_filter_skip(s);
    bool is_more = ttp_filter_char(s) != ')';
    while (is_more) {
        TTP_TRY(take_argument(p, count));
        is_more = ttp_filter_char(s) == ',';
        s->at += is_more;
        ttp_filter_skip(s);
    }
    if (ttp_filter_char(s) != ')')
        return ttp_filter_fail(s, "')' or ',' is missing behind a condition");
    s->at++;
    return TTAPE_OK;
}

static ttape_status take_result(struct ttp_filter_parse *p, uint32_t *count)
{
    struct ttp_filter_scan *s = &p->scan;
    ttape_filter_condition *condition = NULL;
    ttape_filter_operator compare;
    if (!ttp_filter_take_operator(s, &compare))
        return TTAPE_OK;
    TTP_TRY(next_condition(p, count, &condition));
    condition->compare = compare;
    ttp_filter_skip(s);
    TTP_TRY(ttp_filter_take_operand(s, condition));
    return check_operand(s, condition);
}

static ttape_status keep_conditions(struct ttp_filter_parse *p, ttape_filter_rule *rule,
                                    uint32_t count)
{
    if (count == 0)
        return TTAPE_OK;
    ttape_filter_condition *kept = ttp_region_take(p->scan.region, count, sizeof *kept);
    if (kept == NULL)
        return ttp_fail(p->scan.err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
    memcpy(kept, p->conditions, count * sizeof *kept);
    rule->conditions = kept;
    rule->condition_count = count;
    return TTAPE_OK;
}

/* ---- rules ---- */

ttape_status ttp_filter_take_calls(struct ttp_filter_parse *p, ttape_filter_kind kind)
{
    struct ttp_filter_scan *s = &p->scan;
    ttape_filter_rule *rule = NULL;
    uint32_t count = 0;
    TTP_TRY(add_rule(p, kind, s->at, &rule));
    TTP_TRY(ttp_filter_take_pattern(s, false, &rule->function));
    if (ttp_filter_char(s) == '@') {
        s->at++;
        TTP_TRY(ttp_filter_take_pattern(s, true, &rule->path));
    }
    if (ttp_filter_char(s) == '(')
        TTP_TRY(take_arguments(p, &count));
    ttp_filter_skip(s);
    TTP_TRY(take_result(p, &count));
    rule->text_bytes = (uint32_t)(s->at - s->begin) - rule->text_at;
    ttp_filter_skip(s);
    return keep_conditions(p, rule, count);
}

static ttape_status take_list(struct ttp_filter_parse *p, ttape_filter_kind kind)
{
    struct ttp_filter_scan *s = &p->scan;
    for (;;) {
        TTP_TRY(ttp_filter_take_calls(p, kind));
        if (ttp_filter_char(s) != ',')
            break;
        s->at++;
        ttp_filter_skip(s);
    }
    return ttp_filter_at_end(s)
               ? TTAPE_OK
               : ttp_filter_fail(s, "this belongs to no rule: ';' parts rules, ',' functions");
}

/* Numbers of all calls below some functions: what holds there is known as they begin. */
static ttape_status take_number_below(struct ttp_filter_parse *p, ttape_filter_kind kind,
                                      uint64_t number)
{
    struct ttp_filter_scan *s = &p->scan;
    uint32_t first = p->filter->rule_count;
    TTP_TRY(take_list(p, kind == TTAPE_FILTER_TIME ? TTAPE_FILTER_TIME_BELOW
                                                   : TTAPE_FILTER_DEPTH_BELOW));
    for (uint32_t i = first; i < p->filter->rule_count; i++) {
        ttape_filter_rule *rule = &p->filter->rules[i];
        rule->number = number;
        for (uint32_t k = 0; k < rule->condition_count; k++)
            if (rule->conditions[k].name.size_bytes == 0) {
                s->at = s->begin + rule->text_at;
                return ttp_filter_fail(s, "a depth or a time holds from where a call begins: its "
                                          "result and its own time are not known there");
            }
    }
    return TTAPE_OK;
}

static ttape_status take_number(struct ttp_filter_parse *p, ttape_filter_kind kind)
{
    struct ttp_filter_scan *s = &p->scan;
    ttape_filter_rule *rule = NULL;
    const char *begin = s->at, *end;
    uint64_t number;
    TTP_TRY(kind == TTAPE_FILTER_TIME ? ttp_filter_take_span(s, &number)
                                      : ttp_filter_take_number(s, &number));
    end = s->at;
    if (kind == TTAPE_FILTER_DEPTH && number == 0) {
        s->at = begin;
        return ttp_filter_fail(s, "a depth is 1 at least: '!below f' leaves a function out");
    }
    ttp_filter_skip(s);
    if (kind != TTAPE_FILTER_SIZE && ttp_filter_take_word(s, "below"))
        return take_number_below(p, kind, number);
    if (!ttp_filter_at_end(s))
        return ttp_filter_fail(s, "this belongs to no rule: ';' parts rules");
    TTP_TRY(add_rule(p, kind, begin, &rule));
    rule->number = number;
    rule->text_bytes = (uint32_t)(end - begin);
    return TTAPE_OK;
}

bool ttp_filter_take_word(struct ttp_filter_scan *s, const char *word)
{
    size_t size = strlen(word);
    struct ttp_filter_scan behind = *s;
    if ((size_t)(s->end - s->at) <= size || memcmp(s->at, word, size) != 0 ||
        !ttp_filter_is_blank(s->at[size]))
        return false;
    behind.at += size;
    ttp_filter_skip(&behind);
    if (ttp_filter_at_end(&behind) || strchr("=!<>&@(,", ttp_filter_char(&behind)) != NULL)
        return false;
    *s = behind;
    return true;
}

static ttape_status take_rule(struct ttp_filter_parse *p)
{
    static const struct {
        const char *word;
        ttape_filter_kind kind;
    } numbers[] = {
        {"depth", TTAPE_FILTER_DEPTH}, {"time", TTAPE_FILTER_TIME}, {"size", TTAPE_FILTER_SIZE}};
    struct ttp_filter_scan *s = &p->scan;
    bool is_not = ttp_filter_char(s) == '!';
    s->at += is_not;
    ttp_filter_skip(s);
    if (ttp_filter_take_word(s, "below"))
        return take_list(p, is_not ? TTAPE_FILTER_NOT_BELOW : TTAPE_FILTER_BELOW);
    if (is_not)
        return take_list(p, TTAPE_FILTER_WITHOUT);
    if (ttp_filter_take_word(s, "to"))
        return take_list(p, TTAPE_FILTER_TO);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (ttp_filter_take_word(s, numbers[i].word))
            return take_number(p, numbers[i].kind);
    return take_list(p, TTAPE_FILTER_ONLY);
}

static ttape_status check_text(ttape_string text, ttape_error *err)
{
    if (text.size_bytes > TTAPE_FILTER_MAX_BYTES)
        return ttp_fail(err, TTAPE_E_LIMIT, "", TTAPE_FILTER_MAX_BYTES,
                        "a filter has more than %u bytes", TTAPE_FILTER_MAX_BYTES);
    const char *zero = text.size_bytes != 0 ? memchr(text.data, '\0', text.size_bytes) : NULL;
    return zero == NULL ? TTAPE_OK
                        : ttp_fail(err, TTAPE_E_ARGUMENT, "", (uint64_t)(zero - text.data),
                                   "a filter has no zero in it");
}

static ttape_status take_all(struct ttp_filter_parse *p,
                             ttape_status (*take)(struct ttp_filter_parse *p))
{
    struct ttp_filter_scan *s = &p->scan;
    for (;;) {
        ttp_filter_skip(s);
        if (!ttp_filter_at_end(s))
            TTP_TRY(take(p));
        if (s->at == s->end)
            return TTAPE_OK;
        s->at++;
    }
}

ttape_status ttp_filter_take_text(ttape_filter **out, ttape_string text,
                                  const ttape_allocator *allocator,
                                  ttape_status (*take)(struct ttp_filter_parse *p),
                                  ttape_error *err)
{
    if (out == NULL)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET, "no place for a filter");
    *out = NULL;
    TTP_TRY(check_text(text, err));
    struct ttp_region region = ttp_region_of(MEMORY_BYTES);
    if (allocator != NULL)
        region.allocator = *allocator;
    const char *begin = text.size_bytes != 0 ? text.data : "";
    ttape_filter *filter = ttp_region_take(&region, 1, sizeof *filter);
    if (filter == NULL)
        return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
    filter->region = region;
    struct ttp_filter_parse p = {
        .scan = {begin, begin, begin + text.size_bytes, &filter->region, err}, .filter = filter};
    ttape_status status = take_all(&p, take);
    if (filter->region.is_short) /* what is missing then is no fault of the text */
        status = ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
    if (status != TTAPE_OK) {
        ttape_filter_close(filter);
        return status;
    }
    *out = filter;
    return TTAPE_OK;
}

ttape_status ttape_filter_parse(ttape_filter **out, ttape_string text,
                                const ttape_allocator *allocator, ttape_error *err)
{
    return ttp_filter_take_text(out, text, allocator, take_rule, err);
}

void ttape_filter_close(ttape_filter *filter)
{
    if (filter == NULL)
        return;
    struct ttp_region region = filter->region; /* the filter lies in it */
    ttp_region_close(&region);
}

const ttape_filter_rule *ttape_filter_get_rules(const ttape_filter *filter, uint32_t *rule_count)
{
    *rule_count = filter != NULL ? filter->rule_count : 0;
    return filter != NULL ? filter->rules : NULL;
}
