/* Times of Chrome trace JSON: decimal microseconds become nanoseconds and picoseconds without
 * passing through floating point, which has not enough digits for them. */
#include <string.h>

#include "tools/convert/chrome/convert_chrome.h"

#define PLACES 6 /* from microseconds to picoseconds */

/* Decimal digits of a number and where its point is; only what can matter is kept. */
struct decimal {
    char digits[48];
    int count;
    int64_t point; /* digits before the point */
    bool is_negative;
};

static bool parse_exponent(const char *at, const char *end, int64_t *exponent)
{
    bool is_negative = at < end && *at == '-';
    at += at < end && (*at == '-' || *at == '+');
    if (at == end)
        return false;
    for (*exponent = 0; at < end && *at >= '0' && *at <= '9'; at++)
        *exponent = *exponent < 100000 ? *exponent * 10 + (*at - '0') : *exponent;
    *exponent = is_negative ? -*exponent : *exponent;
    return at == end;
}

static bool parse_decimal(const char *at, const char *end, struct decimal *number)
{
    bool has_point = false, has_digit = false;
    *number = (struct decimal){.is_negative = at < end && *at == '-'};
    for (at += number->is_negative; at < end; at++) {
        if (*at == '.' && !has_point) {
            has_point = true;
            continue;
        }
        if (*at < '0' || *at > '9')
            break;
        has_digit = true;
        if (number->count == 0 && *at == '0') { /* leading zeros only move the point */
            number->point -= has_point;
            continue;
        }
        number->point += !has_point;
        if (number->count < (int)sizeof(number->digits))
            number->digits[number->count++] = *at;
    }
    int64_t exponent = 0;
    if (at < end && (*at == 'e' || *at == 'E') && !parse_exponent(at + 1, end, &exponent))
        return false;
    number->point += exponent;
    return has_digit && (at == end || *at == 'e' || *at == 'E');
}

/* Its first `places` digits, as many zeros behind them as are missing. False: too large. */
static bool take_digits(const struct decimal *number, int64_t first, int64_t places, uint64_t *sum)
{
    *sum = 0;
    for (int64_t i = first; i < first + places; i++) {
        uint64_t digit = i >= 0 && i < number->count ? (uint64_t)(number->digits[i] - '0') : 0;
        if (__builtin_mul_overflow(*sum, 10u, sum) || __builtin_add_overflow(*sum, digit, sum))
            return false;
    }
    return true;
}

bool tool_chrome_parse_time(const char *text, size_t size_bytes, struct tool_chrome_time *time)
{
    const char *at = text, *end = text + size_bytes;
    struct decimal number;
    uint64_t ns = 0, ps = 0;
    while (at < end && strchr(" \t\r\n\"", *at) != NULL)
        at++;
    while (end > at && strchr(" \t\r\n\"", end[-1]) != NULL)
        end--;
    if (!parse_decimal(at, end, &number))
        return false;
    int64_t before = number.point + PLACES / 2; /* digits of the nanoseconds */
    if (number.count > 0 && before > 20)
        return false;
    if (number.count > 0 && ((before > 0 && !take_digits(&number, 0, before, &ns)) ||
                             (before > -3 && !take_digits(&number, before, 3, &ps))))
        return false;
    if (!number.is_negative) {
        *time = (struct tool_chrome_time){ns + TOOL_CHROME_BIAS, (uint32_t)ps};
        return ns < TOOL_CHROME_OPEN - 1 - TOOL_CHROME_BIAS;
    }
    ns += ps > 0; /* down to the next one, and up from there */
    *time = (struct tool_chrome_time){TOOL_CHROME_BIAS - ns, (uint32_t)((1000 - ps) % 1000)};
    return ns <= TOOL_CHROME_BIAS - 1;
}
