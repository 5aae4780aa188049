/* A glob becomes an expression of at most twice its length; stars beside each other are one, so
 * that no engine goes back more often than there are stars. */
#include "answers/filter/filter_scan.h"

#include <string.h>

#include "base/text.h"
#include "format/base/fail.h"

#define FRACTION_DIGITS 9u /* behind the point */
#define BILLION         UINT64_C(1000000000)

ttape_status ttp_filter_fail(const struct ttp_filter_scan *s, const char *message)
{
    return ttp_fail(s->err, TTAPE_E_ARGUMENT, "", (uint64_t)(s->at - s->begin), "%s", message);
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* ---- patterns ---- */

/* An expression that is being made, in a block that has room for all of it. */
struct made {
    char *text;
    size_t size_bytes;
};

static void put(struct made *made, char c) { made->text[made->size_bytes++] = c; }

static void put_text(struct made *made, const char *text)
{
    while (*text != '\0')
        put(made, *text++);
}

static void put_plain(struct made *made, char c)
{
    if (strchr("\\.^$|()+{}*?[]", c) != NULL)
        put(made, '\\');
    put(made, c);
}

/* [abc], [!a-z]: up to the bracket that closes it, which may be the first in it. */
static ttape_status put_set(struct ttp_filter_scan *s, const char *end, struct made *made)
{
    const char *at = s->at + 1;
    put(made, '[');
    if (at < end && (*at == '!' || *at == '^')) {
        put(made, '^');
        at++;
    }
    for (const char *first = at; at < end && (*at != ']' || at == first); at++)
        put(made, *at);
    if (at == end)
        return ttp_filter_fail(s, "'[' has no ']': write '\\[' for the character");
    put(made, ']');
    s->at = at + 1;
    return TTAPE_OK;
}

/* Takes [s->at, end) as a glob. */
static ttape_status put_glob(struct ttp_filter_scan *s, const char *end, struct made *made)
{
    bool was_star = false;
    while (s->at < end) {
        char c = *s->at;
        if (c == '[') {
            TTP_TRY(put_set(s, end, made));
            was_star = false;
            continue;
        }
        if (c == '\\' && s->at + 1 < end)
            put_plain(made, *++s->at);
        else if (c == '*' && !was_star)
            put_text(made, ".*");
        else if (c == '?')
            put(made, '.');
        else if (c != '*')
            put_plain(made, c);
        was_star = c == '*';
        s->at++;
    }
    return TTAPE_OK;
}

/* The end of what begins with a quote or a slash, where the same stands again; NULL: nowhere. */
static const char *find_close(const struct ttp_filter_scan *s)
{
    const char *at = s->at + 1;
    while (at < s->end && *at != '\n' && *at != *s->at)
        at += 1 + (*at == '\\' && at + 1 < s->end);
    return at < s->end && *at == *s->at ? at : NULL;
}

static ttape_status find_templates_end(struct ttp_filter_scan *s, const char **at)
{
    unsigned depth = 0;
    const char *c = *at;
    do {
        depth += *c == '<';
        depth -= *c == '>';
        c++;
    } while (depth > 0 && c < s->end && *c != '\n');
    if (depth > 0) {
        s->at = *at;
        return ttp_filter_fail(s, "'<' behind a name begins arguments of a template, which have no "
                                  "'>': to compare write a blank before it");
    }
    *at = c;
    return TTAPE_OK;
}

static ttape_status find_word_end(struct ttp_filter_scan *s, const char **out)
{
    const char *at = s->at;
    while (at < s->end && !ttp_filter_is_blank(*at) && strchr(";\n(),=@\"'>&", *at) == NULL &&
           !(*at == '!' && at + 1 < s->end && at[1] == '=')) {
        if (*at == '<' && at > s->at) {
            TTP_TRY(find_templates_end(s, &at));
        } else if (*at == '<') {
            break;
        } else if (*at == '[') {
            const char *close = memchr(at, ']', (size_t)(s->end - at));
            at = close != NULL ? close + 1 : at + 1;
        } else {
            at += 1 + (*at == '\\' && at + 1 < s->end);
        }
    }
    *out = at;
    return TTAPE_OK;
}

/* An expression between slashes ends where a word ends; /usr/lib/x.so is none. */
static const char *find_expression_end(const struct ttp_filter_scan *s)
{
    const char *close = ttp_filter_char(s) == '/' ? find_close(s) : NULL;
    bool is_end = close != NULL && (close + 1 == s->end || ttp_filter_is_blank(close[1]) ||
                                    strchr(";\n(),=@!<>&", close[1]) != NULL);
    return is_end ? close : NULL;
}

static ttape_status take_expression(struct ttp_filter_scan *s, const char *close, struct made *made)
{
    if (close == s->at + 1)
        return ttp_filter_fail(s, "nothing stands between the slashes: write an expression");
    for (s->at++; s->at < close; s->at++) {
        if (*s->at == '\\' && s->at[1] == '/')
            s->at++;
        else if (*s->at == '\\')
            put(made, *s->at++);
        put(made, *s->at);
    }
    s->at++;
    return TTAPE_OK;
}

static ttape_status take_glob(struct ttp_filter_scan *s, const char *end, bool is_quoted,
                              bool is_path, struct made *made)
{
    s->at += is_quoted;
    put_text(made, is_path ? "(^|/)" : "^");
    TTP_TRY(put_glob(s, end, made));
    put(made, '$');
    s->at = end + is_quoted;
    return TTAPE_OK;
}

ttape_status ttp_filter_take_pattern(struct ttp_filter_scan *s, bool is_path, ttape_string *out)
{
    const char *begin = s->at, *close = find_expression_end(s), *end = close;
    bool is_quoted = ttp_filter_char(s) == '"' || ttp_filter_char(s) == '\'';
    if (is_quoted)
        end = find_close(s);
    else if (close == NULL)
        TTP_TRY(find_word_end(s, &end));
    if (end == NULL)
        return ttp_filter_fail(s, "the quote is not closed");
    if (end == begin)
        return ttp_filter_fail(s, is_path ? "a module or a source file is missing behind '@'"
                                          : "a function is missing: a name, a pattern such as "
                                            "parse_*, or /EXPRESSION/");
    size_t size = (size_t)(end - begin);
    if (size > TTAPE_FILTER_MAX_PATTERN)
        return ttp_fail(s->err, TTAPE_E_LIMIT, "", (uint64_t)(begin - s->begin),
                        "a pattern has more than %u bytes", TTAPE_FILTER_MAX_PATTERN);
    struct made made = {.text = ttp_region_take(s->region, 2 * size + 16, 1)};
    if (made.text == NULL)
        return ttp_fail(s->err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
    TTP_TRY(close != NULL ? take_expression(s, close, &made)
                          : take_glob(s, end, is_quoted, is_path, &made));
    *out = (ttape_string){made.text, made.size_bytes};
    return TTAPE_OK;
}

/* ---- names, operators ---- */

/* A dot in it stands in front of a field's name. */
static bool is_dot(const struct ttp_filter_scan *s)
{
    return ttp_filter_char(s) == '.' && s->at + 1 < s->end && is_letter(s->at[1]);
}

ttape_string ttp_filter_take_name(struct ttp_filter_scan *s, bool has_fields)
{
    const char *begin = s->at;
    while (is_letter(ttp_filter_char(s)) ||
           (s->at > begin && (is_digit(ttp_filter_char(s)) || (has_fields && is_dot(s)))))
        s->at++;
    size_t size = (size_t)(s->at - begin);
    char *copy = ttp_region_copy(s->region, begin, size);
    return (ttape_string){copy, copy != NULL ? size : 0};
}

bool ttp_filter_take_operator(struct ttp_filter_scan *s, ttape_filter_operator *out)
{
    static const struct {
        const char *text;
        ttape_filter_operator is;
    } operators[] = {{"==", TTAPE_FILTER_EQUAL},      {"!=", TTAPE_FILTER_NOT_EQUAL},
                     {"<=", TTAPE_FILTER_LESS_EQUAL}, {">=", TTAPE_FILTER_GREATER_EQUAL},
                     {"=", TTAPE_FILTER_EQUAL},       {"<", TTAPE_FILTER_LESS},
                     {">", TTAPE_FILTER_GREATER},     {"&", TTAPE_FILTER_BITS}};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        size_t size = strlen(operators[i].text);
        if ((size_t)(s->end - s->at) >= size && memcmp(s->at, operators[i].text, size) == 0) {
            s->at += size;
            *out = operators[i].is;
            return true;
        }
    }
    return false;
}

/* ---- numbers ---- */

static ttape_status take_hex(struct ttp_filter_scan *s, uint64_t *out)
{
    const char *begin = s->at += 2;
    for (*out = 0; is_hex(ttp_filter_char(s)); s->at++) {
        char c = *s->at;
        if (*out >> 60 != 0)
            return ttp_filter_fail(s, "the number has more than 64 bits");
        *out = *out << 4 | (uint64_t)(is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return s->at > begin ? TTAPE_OK : ttp_filter_fail(s, "digits are missing behind '0x'");
}

ttape_status ttp_filter_take_number(struct ttp_filter_scan *s, uint64_t *out)
{
    if (ttp_filter_char(s) == '0' && s->at + 1 < s->end && (s->at[1] | 0x20) == 'x')
        return take_hex(s, out);
    if (!is_digit(ttp_filter_char(s)))
        return ttp_filter_fail(s, "a number is missing");
    for (*out = 0; is_digit(ttp_filter_char(s)); s->at++)
        if (__builtin_mul_overflow(*out, 10u, out) ||
            __builtin_add_overflow(*out, (uint64_t)(*s->at - '0'), out))
            return ttp_filter_fail(s, "the number has more than 64 bits");
    return TTAPE_OK;
}

/* Up to nine digits behind the point count: billionths. */
static uint64_t take_fraction(struct ttp_filter_scan *s)
{
    uint64_t billionths = 0;
    unsigned digits = 0;
    if (ttp_filter_char(s) != '.')
        return 0;
    for (s->at++; is_digit(ttp_filter_char(s)); s->at++)
        if (digits < FRACTION_DIGITS) {
            billionths = 10 * billionths + (uint64_t)(*s->at - '0');
            digits++;
        }
    for (; digits < FRACTION_DIGITS; digits++)
        billionths *= 10;
    return billionths;
}

/* Nanoseconds of the unit at hand, which is taken; 0: there is none. */
static uint64_t take_unit(struct ttp_filter_scan *s)
{
    size_t size = 0;
    uint64_t unit_ns = ttp_time_unit(s->at, (size_t)(s->end - s->at), &size);
    char behind = unit_ns != 0 && s->at + size < s->end ? s->at[size] : '\0';
    if (unit_ns == 0 || is_letter(behind) || is_digit(behind))
        return 0;
    s->at += size;
    return unit_ns;
}

static ttape_status to_span(const struct ttp_filter_scan *s, uint64_t whole, uint64_t billionths,
                            uint64_t unit_ns, uint64_t *out)
{
    uint64_t rest =
        unit_ns < BILLION ? billionths * unit_ns / BILLION : billionths * (unit_ns / BILLION);
    if (__builtin_mul_overflow(whole, unit_ns, out) || __builtin_add_overflow(*out, rest, out) ||
        *out > INT64_MAX)
        return ttp_filter_fail(s, "the time has more than 63 bits of nanoseconds");
    return TTAPE_OK;
}

ttape_status ttp_filter_take_span(struct ttp_filter_scan *s, uint64_t *out)
{
    uint64_t whole;
    if (!is_digit(ttp_filter_char(s)))
        return ttp_filter_fail(s, "a time is missing, such as 10us, 1.5ms or 2s");
    TTP_TRY(ttp_filter_take_number(s, &whole));
    uint64_t billionths = take_fraction(s), unit_ns = take_unit(s);
    if (unit_ns == 0)
        return ttp_filter_fail(s, "the time has no unit: write ns, us, ms, s, m or h behind it");
    return to_span(s, whole, billionths, unit_ns, out);
}

static ttape_status take_any_number(struct ttp_filter_scan *s, ttape_filter_condition *out)
{
    bool is_negative = ttp_filter_char(s) == '-';
    uint64_t whole;
    s->at += is_negative;
    TTP_TRY(ttp_filter_take_number(s, &whole));
    bool is_real = ttp_filter_char(s) == '.';
    uint64_t billionths = take_fraction(s), unit_ns = take_unit(s);
    if (unit_ns != 0 && is_negative)
        return ttp_filter_fail(s, "a time is not below zero");
    if (unit_ns != 0) {
        out->operand = TTAPE_FILTER_SPAN;
        return to_span(s, whole, billionths, unit_ns, &out->number);
    }
    if (is_real) {
        double real = (double)whole + (double)billionths / 1e9;
        real = is_negative ? -real : real;
        out->operand = TTAPE_FILTER_REAL;
        memcpy(&out->number, &real, sizeof real);
        return TTAPE_OK;
    }
    if (is_negative && whole > UINT64_C(1) << 63)
        return ttp_filter_fail(s, "the number has more than 64 bits");
    out->operand = is_negative && whole > 0 ? TTAPE_FILTER_NEGATIVE : TTAPE_FILTER_NUMBER;
    out->number = is_negative ? 0 - whole : whole;
    return TTAPE_OK;
}

ttape_status ttp_filter_take_operand(struct ttp_filter_scan *s, ttape_filter_condition *out)
{
    char c = ttp_filter_char(s);
    if (is_digit(c) || c == '-')
        return take_any_number(s, out);
    if (is_letter(c)) {
        out->operand = TTAPE_FILTER_WORD;
        out->text = ttp_filter_take_name(s, false);
        return TTAPE_OK;
    }
    if (c != '"' && c != '\'' && c != '/')
        return ttp_filter_fail(s, "a value is missing: a number, a time, a constant, \"text\" or "
                                  "/EXPRESSION/");
    out->operand = TTAPE_FILTER_TEXT;
    return ttp_filter_take_pattern(s, false, &out->text);
}
