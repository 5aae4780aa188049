/* Sums of 64, 128 and 192 bits: adding says where they do not fit, and bytes have one spelling. */
#include "format/rollup/rollup_sums.h"

#define VARINT_BYTES_MAX 28u /* 192 bits, seven to a byte */

#define COUNT    TTP_ROLLUP_COUNT
#define TIME     TTP_ROLLUP_TIME
#define SQUARE   TTP_ROLLUP_SQUARE
#define LEAST    TTP_ROLLUP_LEAST
#define GREATEST TTP_ROLLUP_GREATEST
#define LARGEST  TTP_ROLLUP_LARGEST
#define BITS     TTP_ROLLUP_BITS
#define END      TTP_ROLLUP_NO_KIND

const uint8_t ttp_rollup_row_kinds[TTP_ROLLUP_FIELDS + 1] = {
    COUNT, COUNT, TIME,  TIME, LEAST, GREATEST, SQUARE, TIME,  TIME,  TIME,  TIME, TIME, TIME,
    TIME,  TIME,  COUNT, TIME, COUNT, COUNT,    TIME,   COUNT, COUNT, COUNT, TIME, BITS, END};

const uint8_t ttp_rollup_trace_kinds[TTP_ROLLUP_T_FIELDS + 1] = {
    COUNT, COUNT, TIME, TIME, LARGEST, LARGEST, COUNT, BITS,  COUNT, LARGEST,
    COUNT, COUNT, TIME, TIME, TIME,    TIME,    TIME,  COUNT, END};

static bool is_zero(const struct ttp_rollup_number *n)
{
    return (n->words[0] | n->words[1] | n->words[2]) == 0;
}

/* ---- adding ---- */

/* A carry out of the last word, or a sign that neither had. */
static bool add_words(struct ttp_rollup_number *to, const struct ttp_rollup_number *from)
{
    uint64_t carry = 0;
    for (int i = 0; i < 3; i++) {
        uint64_t sum = to->words[i] + from->words[i], more = sum + carry;
        carry = (sum < from->words[i]) | (more < carry);
        to->words[i] = more;
    }
    return carry != 0;
}

static bool fits_128(const struct ttp_rollup_number *n)
{
    return n->words[2] == ((int64_t)n->words[1] < 0 ? UINT64_MAX : 0);
}

static bool add_field(struct ttp_rollup_number *to, const struct ttp_rollup_number *from,
                      enum ttp_rollup_kind kind)
{
    int64_t one = (int64_t)to->words[0], other = (int64_t)from->words[0];
    switch (kind) {
    case TTP_ROLLUP_COUNT: (void)add_words(to, from); return to->words[1] == 0;
    case TTP_ROLLUP_TIME: (void)add_words(to, from); return fits_128(to);
    case TTP_ROLLUP_SQUARE: return !add_words(to, from);
    case TTP_ROLLUP_LEAST: *to = other < one ? *from : *to; return true;
    case TTP_ROLLUP_GREATEST: *to = other > one ? *from : *to; return true;
    case TTP_ROLLUP_LARGEST: *to = from->words[0] > to->words[0] ? *from : *to; return true;
    default: to->words[0] |= from->words[0]; return true;
    }
}

bool ttp_rollup_add_numbers(struct ttp_rollup_sums *to, const uint8_t *kinds, uint64_t mask,
                            const struct ttp_rollup_number *numbers)
{
    bool fits = true;
    for (uint64_t left = mask; left != 0; left &= left - 1) {
        unsigned field = (unsigned)__builtin_ctzll(left);
        if (to->mask >> field & 1)
            fits = add_field(&to->fields[field], numbers, kinds[field]) && fits;
        else
            to->fields[field] = *numbers;
        numbers++;
    }
    to->mask |= mask;
    return fits;
}

bool ttp_rollup_add_sums(struct ttp_rollup_sums *to, const uint8_t *kinds,
                         const struct ttp_rollup_sums *from)
{
    struct ttp_rollup_number numbers[TTP_ROLLUP_FIELDS];
    unsigned count = 0;
    for (uint64_t left = from->mask; left != 0; left &= left - 1)
        numbers[count++] = from->fields[__builtin_ctzll(left)];
    return ttp_rollup_add_numbers(to, kinds, from->mask, numbers);
}

/* ---- bytes ---- */

static bool is_signed(unsigned kind)
{
    return kind == TTP_ROLLUP_TIME || kind == TTP_ROLLUP_LEAST || kind == TTP_ROLLUP_GREATEST;
}

/* The sign goes into the last bit. */
static struct ttp_rollup_number zigzag(const struct ttp_rollup_number *n)
{
    uint64_t sign = (int64_t)n->words[2] < 0 ? UINT64_MAX : 0;
    return (struct ttp_rollup_number){{(n->words[0] << 1) ^ sign,
                                       (n->words[1] << 1 | n->words[0] >> 63) ^ sign,
                                       (n->words[2] << 1 | n->words[1] >> 63) ^ sign}};
}

static struct ttp_rollup_number unzigzag(const struct ttp_rollup_number *n)
{
    uint64_t sign = 0 - (n->words[0] & 1);
    return (struct ttp_rollup_number){{(n->words[0] >> 1 | n->words[1] << 63) ^ sign,
                                       (n->words[1] >> 1 | n->words[2] << 63) ^ sign,
                                       n->words[2] >> 1 ^ sign}};
}

static void write_wide(struct ttp_writer_cursor *c, struct ttp_rollup_number n)
{
    while (n.words[0] >= 0x80 || n.words[1] != 0 || n.words[2] != 0) {
        ttp_write8(c, (uint8_t)(n.words[0] | 0x80));
        n.words[0] = n.words[0] >> 7 | n.words[1] << 57;
        n.words[1] = n.words[1] >> 7 | n.words[2] << 57;
        n.words[2] >>= 7;
    }
    ttp_write8(c, (uint8_t)n.words[0]);
}

/* Seven bits at a place, which may lie in two words. */
static void put_bits(struct ttp_rollup_number *n, unsigned at, uint8_t bits)
{
    unsigned word = at / 64, shift = at % 64;
    n->words[word] |= (uint64_t)bits << shift;
    if (shift > 57 && word < 2)
        n->words[word + 1] |= (uint64_t)bits >> (64 - shift);
}

static struct ttp_rollup_number read_wide(struct ttp_reader_cursor *c)
{
    struct ttp_rollup_number n = {{0, 0, 0}};
    for (unsigned i = 0; i < VARINT_BYTES_MAX && !c->bad; i++) {
        uint8_t byte = ttp_read8(c);
        bool is_last = byte < 0x80;
        if ((i == VARINT_BYTES_MAX - 1 && byte > 7) || (is_last && byte == 0 && i != 0))
            break;
        put_bits(&n, 7 * i, byte & 0x7f);
        if (is_last)
            return n;
    }
    c->bad = true;
    return (struct ttp_rollup_number){{0, 0, 0}};
}

static bool is_extreme(unsigned kind)
{
    return kind == TTP_ROLLUP_LEAST || kind == TTP_ROLLUP_GREATEST;
}

void ttp_rollup_write_sums(struct ttp_writer_cursor *c, const struct ttp_rollup_sums *sums,
                           const uint8_t *kinds)
{
    uint64_t mask = 0;
    for (uint64_t left = sums->mask; left != 0; left &= left - 1) {
        unsigned field = (unsigned)__builtin_ctzll(left);
        if (is_extreme(kinds[field]) || !is_zero(&sums->fields[field]))
            mask |= UINT64_C(1) << field;
    }
    ttp_write_varint(c, mask);
    for (; mask != 0; mask &= mask - 1) {
        unsigned field = (unsigned)__builtin_ctzll(mask);
        write_wide(c, is_signed(kinds[field]) ? zigzag(&sums->fields[field]) : sums->fields[field]);
    }
}

static bool fits_kind(const struct ttp_rollup_number *n, unsigned kind)
{
    switch (kind) {
    case TTP_ROLLUP_TIME: return fits_128(n);
    case TTP_ROLLUP_SQUARE: return true;
    case TTP_ROLLUP_LEAST:
    case TTP_ROLLUP_GREATEST:
        return fits_128(n) && n->words[1] == ((int64_t)n->words[0] < 0 ? UINT64_MAX : 0);
    default: return n->words[1] == 0 && n->words[2] == 0;
    }
}

/* Numbers below 2^63 are nearly all: they come by the short way. */
static struct ttp_rollup_number read_number(struct ttp_reader_cursor *c, unsigned kind)
{
    const uint8_t *at = c->at;
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 63 && at < c->end; shift += 7) {
        uint8_t byte = *at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte >= 0x80)
            continue;
        if (byte == 0 && shift != 0)
            break;
        c->at = at;
        return is_signed(kind) ? ttp_rollup_signed(ttp_unzigzag(value)) : ttp_rollup_count(value);
    }
    struct ttp_rollup_number wide = read_wide(c);
    if (is_signed(kind))
        wide = unzigzag(&wide);
    c->bad = c->bad || !fits_kind(&wide, kind);
    return wide;
}

uint64_t ttp_rollup_read_numbers(struct ttp_reader_cursor *c, struct ttp_rollup_number *numbers,
                                 const uint8_t *kinds)
{
    uint64_t mask = ttp_read_varint(c);
    unsigned count = kinds == ttp_rollup_row_kinds ? TTP_ROLLUP_FIELDS : TTP_ROLLUP_T_FIELDS;
    const uint64_t extremes = 1u << TTP_ROLLUP_MIN | 1u << TTP_ROLLUP_MAX;
    c->bad = c->bad || mask >> count != 0;
    if (kinds == ttp_rollup_row_kinds)
        c->bad = c->bad || (mask & extremes) != (mask >> TTP_ROLLUP_EXITS & 1 ? extremes : 0);
    for (uint64_t left = c->bad ? 0 : mask; left != 0; left &= left - 1) {
        unsigned kind = kinds[__builtin_ctzll(left)];
        *numbers = read_number(c, kind);
        c->bad = c->bad || (is_zero(numbers) && !is_extreme(kind));
        numbers++;
    }
    return mask;
}
