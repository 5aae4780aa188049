/* Fractions by integers alone, as the page of a trace writes the same bytes and has no printf for
 * them: a number's digits are all written down, 9 in each piece, and then rounded.
 *
 *   | ... 0 | 123 | 456789012 |.| 500000000 | 0 ... |      */
#include <stdbool.h>
#include <string.h>

#include "tools/command/output.h"

#define PIECE         UINT32_C(1000000000)
#define PIECE_DIGITS  9u
#define WHOLE_PIECES  36u  /* 2^1024 */
#define PARTS_PIECES  122u /* 2^-1076 */
#define PIECES        (WHOLE_PIECES + PARTS_PIECES)
#define FRACTION_BITS 52u
#define SHORT_DIGITS  6u
#define LONG_DIGITS   17u

/* Those before `first` and from `end` on are 0. */
struct pieces {
    uint32_t at[PIECES];
    size_t first, end;
};

struct digits {
    char text[PIECES * PIECE_DIGITS]; /* neither the first nor the last is 0 */
    size_t count;
    int exponent; /* of ten, of the first */
};

static void double_pieces(struct pieces *p, int times)
{
    for (; times > 0; times -= 29) {
        uint64_t carry = 0;
        for (size_t i = WHOLE_PIECES; i > p->first || carry != 0;) {
            carry += (uint64_t)p->at[--i] << (times < 29 ? times : 29);
            p->at[i] = (uint32_t)(carry % PIECE);
            carry /= PIECE;
            p->first = i < p->first ? i : p->first;
        }
    }
}

static void halve_pieces(struct pieces *p, int times)
{
    for (; times > 0; times -= 9) {
        int bits = times < 9 ? times : 9;
        uint32_t carry = 0;
        for (size_t i = p->first; i < p->end || carry != 0; i++) {
            uint32_t left = p->at[i] & ((1u << bits) - 1u);
            p->at[i] = (p->at[i] >> bits) + carry;
            carry = (PIECE >> bits) * left;
            p->end = i < p->end ? p->end : i + 1;
        }
        p->first += p->at[p->first] == 0;
    }
}

/* All digits of number * 2^exponent, which is not 0. */
static void write_digits(struct digits *to, uint64_t number, int exponent)
{
    struct pieces pieces = {.first = WHOLE_PIECES, .end = WHOLE_PIECES};
    for (; number != 0; number /= PIECE)
        pieces.at[--pieces.first] = (uint32_t)(number % PIECE);
    double_pieces(&pieces, exponent);
    halve_pieces(&pieces, -exponent);
    to->count = 0;
    to->exponent = ((int)WHOLE_PIECES - (int)pieces.first) * (int)PIECE_DIGITS - 1;
    for (size_t i = pieces.first; i < pieces.end; i++)
        for (uint32_t place = PIECE / 10; place > 0; place /= 10) {
            uint32_t digit = pieces.at[i] / place % 10;
            if (to->count > 0 || digit != 0)
                to->text[to->count++] = (char)('0' + digit);
            else
                to->exponent--;
        }
    while (to->count > 1 && to->text[to->count - 1] == '0')
        to->count--;
}

/* To the nearest, of two as near to the even one. */
static void round_digits(struct digits *digits, size_t count)
{
    if (digits->count <= count)
        return;
    char next = digits->text[count], last = digits->text[count - 1];
    bool is_up = next > '5' || (next == '5' && (digits->count > count + 1 || last % 2 != 0));
    digits->count = count;
    while (is_up && digits->count > 0 && digits->text[digits->count - 1] == '9')
        digits->count--;
    if (is_up && digits->count > 0)
        digits->text[digits->count - 1]++;
    if (digits->count == 0) {
        digits->text[digits->count++] = '1';
        digits->exponent++;
    }
    while (digits->count > 1 && digits->text[digits->count - 1] == '0')
        digits->count--;
}

static int compare_digits(const struct digits *a, const struct digits *b)
{
    size_t common = a->count < b->count ? a->count : b->count;
    int order = (a->exponent > b->exponent) - (a->exponent < b->exponent);
    if (order == 0)
        order = memcmp(a->text, b->text, common);
    return order != 0 ? order : (a->count > b->count) - (a->count < b->count);
}

/* Whether digits are read back as this number: nothing else is nearer to them. */
static bool reads_back(const struct digits *digits, uint64_t number, int exponent, bool is_first)
{
    struct digits bound;
    int tie = number % 2 == 0 ? 0 : 1; /* of two as near the even one is taken */
    write_digits(&bound, 2 * number + 1, exponent - 1);
    if (compare_digits(&bound, digits) < tie)
        return false;
    /* those below a power of two are twice as near */
    write_digits(&bound, is_first ? 4 * number - 1 : 2 * number - 1, exponent - (is_first ? 2 : 1));
    return -compare_digits(&bound, digits) >= tie;
}

static char *put_exponent(char *at, int exponent)
{
    uint32_t size = (uint32_t)(exponent < 0 ? -exponent : exponent);
    *at++ = 'e';
    *at++ = exponent < 0 ? '-' : '+';
    if (size < 10)
        *at++ = '0';
    return tool_put_decimal(at, size);
}

/* As %g does for so many digits. */
static char *put_digits(char *at, const struct digits *digits, int most)
{
    int exponent = digits->exponent, point = exponent;
    if (exponent < -4 || exponent >= most)
        point = 0;
    if (point < 0) {
        at = tool_put_bytes(at, "0.", 2);
        for (int i = -1; i > point; i--)
            *at++ = '0';
    }
    for (int i = 0; i < (int)digits->count || i <= point; i++) {
        *at++ = i < (int)digits->count ? digits->text[i] : '0';
        if (i == point && i + 1 < (int)digits->count)
            *at++ = '.';
    }
    return point == exponent ? at : put_exponent(at, exponent);
}

char *tool_put_float(char *at, uint64_t bits)
{
    struct digits all, some;
    uint64_t fraction = bits & ((UINT64_C(1) << FRACTION_BITS) - 1);
    int exponent = (int)(bits >> FRACTION_BITS & 0x7ff);
    if (exponent == 0x7ff && fraction != 0)
        return tool_put_bytes(at, "nan", 3);
    if (bits >> 63 != 0)
        *at++ = '-';
    if (exponent == 0x7ff)
        return tool_put_bytes(at, "inf", 3);
    if (exponent == 0 && fraction == 0)
        return tool_put_bytes(at, "0", 1);
    bool is_first = fraction == 0 && exponent > 1;
    uint64_t number = fraction | (uint64_t)(exponent > 0) << FRACTION_BITS;
    exponent = (exponent > 0 ? exponent : 1) - 1075;
    write_digits(&all, number, exponent);
    some = all;
    round_digits(&some, SHORT_DIGITS);
    if (all.count <= SHORT_DIGITS || reads_back(&some, number, exponent, is_first))
        return put_digits(at, &some, SHORT_DIGITS);
    round_digits(&all, LONG_DIGITS);
    return put_digits(at, &all, LONG_DIGITS);
}
