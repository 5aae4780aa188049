/* Numbers are compared as people see them: with their sign, whatever type they were recorded as. */
#include "answers/filter/filter_value.h"

#include "base/text.h"

#define ERRORS_MOST     4095
#define ARGUMENT_PREFIX "arg"

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

static bool holds_number(ttape_filter_operator compare, struct number value, struct number with)
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

static bool find_word(const struct ttp_value_asking *asking, const struct ttp_value_from *from,
                      ttape_string word, struct number *out)
{
    int64_t value;
    *out = (struct number){.bits = ttp_text_is(word, "true")};
    if (out->bits != 0 || ttp_text_is(word, "false") || ttp_text_is(word, "NULL"))
        return true;
    if (asking->constant == NULL ||
        !asking->constant(asking->context, from->site, from->is_exit, from->place, word, &value))
        return false;
    *out = (struct number){.is_negative = value < 0, .bits = (uint64_t)value};
    return true;
}

/* As people see it: a system call that failed has returned -1, a number of 32 bits may be below
 * zero. */
static struct number number_of(const struct ttp_value_from *from, const ttape_value *value,
                               const ttape_filter_condition *condition)
{
    struct number n = {.is_negative = value->type == TTAPE_VALUE_SIGNED && value->number >> 63 != 0,
                       .is_real = value->type == TTAPE_VALUE_FLOAT,
                       .bits = value->number};
    bool asks_below_zero = condition->operand == TTAPE_FILTER_NEGATIVE;
    if (from->is_exit && from->is_system_call && asks_below_zero &&
        condition->number == UINT64_MAX) {
        int64_t result = (int64_t)value->number;
        if (result < 0 && result >= -ERRORS_MOST)
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

/* A pointer is compared by the name of what it points to, with or without the sign of a variable's
 * address. False: it has none. */
static bool fits_target(const struct ttp_value_asking *asking, uint32_t rule, uint32_t number,
                        const struct ttp_value_from *from, const ttape_value *value, bool *fits)
{
    const ttape_filter_condition *condition = &asking->rules[rule].conditions[number];
    ttape_string name;
    bool is_text = condition->operand == TTAPE_FILTER_TEXT, is_same = false;
    if (value->type != TTAPE_VALUE_POINTER || asking->target == NULL ||
        condition->compare > TTAPE_FILTER_NOT_EQUAL ||
        !asking->target(asking->context, from->site, value->number, 0, &name))
        return false;
    uint32_t form = 0;
    do {
        bool has_sign = name.size_bytes > 0 && name.data[0] == '&';
        for (size_t cut = 0; cut <= has_sign && !is_same; cut++) {
            ttape_string shown = {name.data + cut, name.size_bytes - cut};
            is_same = is_text ? asking->text(asking->context, rule, number, shown)
                              : ttp_is_same_text(shown, condition->text);
        }
    } while (!is_same && asking->target(asking->context, from->site, value->number, ++form, &name));
    *fits = is_same == (condition->compare == TTAPE_FILTER_EQUAL);
    return true;
}

bool ttp_value_fits(const struct ttp_value_asking *asking, uint32_t rule, uint32_t number,
                    const struct ttp_value_from *from, const ttape_value *value)
{
    const ttape_filter_condition *condition = &asking->rules[rule].conditions[number];
    bool is_equal = condition->compare == TTAPE_FILTER_EQUAL;
    bool is_text = value->type == TTAPE_VALUE_STRING || value->type == TTAPE_VALUE_BYTES;
    struct number with = {.is_negative = condition->operand == TTAPE_FILTER_NEGATIVE,
                          .is_real = condition->operand == TTAPE_FILTER_REAL,
                          .bits = condition->number};
    if (value->type == TTAPE_VALUE_BYTES && value->bytes.size_bytes == 0)
        return false; /* it was not there (F-VNM-11) */
    bool fits = false;
    if (condition->operand == TTAPE_FILTER_TEXT &&
        fits_target(asking, rule, number, from, value, &fits))
        return fits;
    if (condition->operand == TTAPE_FILTER_TEXT)
        return is_text ? asking->text(asking->context, rule, number, value->bytes) == is_equal
                       : !is_equal;
    if (is_text)
        return condition->compare == TTAPE_FILTER_NOT_EQUAL;
    if (condition->operand == TTAPE_FILTER_WORD && !find_word(asking, from, condition->text, &with))
        return fits_target(asking, rule, number, from, value, &fits)
                   ? fits
                   : value->type == TTAPE_VALUE_POINTER && !is_equal;
    struct number is = {0}; /* a pointer that is NULL */
    if (value->type != TTAPE_VALUE_NULL)
        is = number_of(from, value, condition);
    return holds_number(condition->compare, is, with);
}

bool ttp_span_fits(const ttape_filter_condition *condition, int64_t duration_ns)
{
    return holds_number(
        condition->compare,
        (struct number){.is_negative = duration_ns < 0, .bits = (uint64_t)duration_ns},
        (struct number){.bits = condition->number});
}

uint32_t ttp_argument_number(ttape_string name)
{
    size_t prefix = sizeof ARGUMENT_PREFIX - 1;
    uint32_t number = 0;
    bool is_number = name.size_bytes > prefix && name.size_bytes <= prefix + 3 &&
                     memcmp(name.data, ARGUMENT_PREFIX, prefix) == 0;
    for (size_t i = prefix; is_number && i < name.size_bytes; i++) {
        is_number = name.data[i] >= '0' && name.data[i] <= '9';
        number = 10 * number + (uint32_t)(name.data[i] - '0');
    }
    return is_number && number > 0 ? number - 1 : TTAPE_NONE;
}
