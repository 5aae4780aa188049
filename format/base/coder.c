/* The parts of the binary range coder that are not hot enough to be inlined. */
#include "format/base/coder.h"

/* 65535 / (n + 1.6), at least 65535 / 50 = 1310. */
const uint16_t ttp_prob_rate[TTP_PROB_LIMIT + 1] = {
    40959, 25205, 18204, 14246, 11702, 9929, 8623, 7620, 6826, 6182, 5649, 5201, 4818,
    4488,  4200,  3947,  3723,  3523,  3343, 3181, 3034, 2899, 2776, 2664, 2559, 2463,
    2374,  2291,  2214,  2141,  2073,  2010, 1950, 1894, 1840, 1790, 1742, 1697, 1654,
    1614,  1575,  1538,  1503,  1469,  1437, 1406, 1376, 1348, 1321,
};

size_t ttp_encoder_finish(struct ttp_encoder *e)
{
    if (e->full)
        return 0;
    /* Any value in lo..hi will do: take the one with the most trailing zero bytes. lo == 0 needs
     * none. */
    for (unsigned keep = 0; keep <= 4; keep++) {
        uint32_t mask = keep == 0 ? 0 : keep == 4 ? UINT32_MAX : ~(UINT32_MAX >> (8 * keep));
        uint32_t value = e->hi & mask;
        if (value < e->lo)
            continue;
        if ((size_t)(e->end - e->at) < keep) {
            e->full = true;
            return 0;
        }
        for (unsigned i = 0; i < keep; i++)
            *e->at++ = (uint8_t)(value >> (24 - 8 * i));
        break;
    }
    return (size_t)(e->at - e->start);
}

/* A copy, not a loop: sections have dozens of models and few numbers, and a sanitizer checks each
 * store of a loop, which were two fifths of the time of some fuzz targets. */
#define HALF                                                                                       \
    {                                                                                              \
        TTP_PROB_HALF, 0                                                                           \
    }
#define HALVES4  HALF, HALF, HALF, HALF
#define HALVES16 HALVES4, HALVES4, HALVES4, HALVES4
#define HALVES64 HALVES16, HALVES16, HALVES16, HALVES16

static const struct ttp_number_model fresh_number = {{HALVES64}, {HALVES64, HALVES64, HALVES16}};
_Static_assert(TTP_NUMBER_PROBS == 64 + 64 + 16, "all of bits has a value");

void ttp_number_init(struct ttp_number_model *m) { *m = fresh_number; }

static struct ttp_prob *number_context(struct ttp_number_model *m, unsigned length, unsigned index,
                                       uint64_t prefix)
{
    if (length < 4)
        return &m->bits[(1u << length) + (unsigned)(prefix & 7)];
    return &m->bits[16 + 2 * length + (index == length - 1)];
}

void ttp_encode_number(struct ttp_encoder *e, struct ttp_number_model *m, uint64_t value)
{
    value++;
    unsigned length = 63u - (unsigned)__builtin_clzll(value);
    for (unsigned i = 0; i < length; i++)
        ttp_encode_bit(e, &m->length[i], 1);
    if (length < 63)
        ttp_encode_bit(e, &m->length[length], 0);
    uint64_t prefix = 1;
    for (unsigned i = length; i-- > 0;) {
        unsigned bit = (unsigned)(value >> i) & 1;
        ttp_encode_bit(e, number_context(m, length, i, prefix), bit);
        prefix = prefix << 1 | bit;
    }
}

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* A decoder in registers: how far its range reaches, and where in it the code lies. */
struct inner {
    uint32_t lo, range, code;
    uint32_t past_end;
    const uint8_t *at, *end;
};

ALWAYS_INLINE struct inner take(const struct ttp_decoder *d)
{
    return (struct inner){d->lo, d->hi - d->lo, d->code - d->lo, d->past_end, d->at, d->end};
}

ALWAYS_INLINE void put_back(struct ttp_decoder *d, const struct inner *in)
{
    *d = (struct ttp_decoder){in->lo,  in->lo + in->range, in->lo + in->code, in->at,
                              in->end, in->past_end};
}

ALWAYS_INLINE bool needs_bytes(const struct inner *d)
{
    return __builtin_expect((d->lo ^ (d->lo + d->range)) < 1u << 24, 0);
}

ALWAYS_INLINE void fill(struct inner *d)
{
    while (needs_bytes(d)) {
        uint32_t byte = d->at != d->end ? *d->at : 0;
        d->past_end += d->at == d->end;
        d->at += d->at != d->end;
        d->lo <<= 8;
        d->range = d->range << 8 | 255;
        d->code = d->code << 8 | byte;
    }
}

/* How much of the range a 1 has, less one. */
ALWAYS_INLINE uint32_t part_of(const struct inner *d, uint32_t p)
{
    if (__builtin_expect(p - TTP_PROB_FLOOR > 65535u - 2 * TTP_PROB_FLOOR, 0))
        return ttp_coder_split(0, d->range, p);
    return (uint32_t)(((uint64_t)d->range * p) >> 16);
}

/* For bits that can be guessed. */
ALWAYS_INLINE unsigned decode_bit(struct inner *d, struct ttp_prob *prob)
{
    uint32_t p = prob->p, rate = ttp_prob_rate[prob->n], part = part_of(d, p);
    prob->n = (uint16_t)(prob->n + (prob->n < TTP_PROB_LIMIT));
    if (d->code <= part) {
        prob->p = (uint16_t)(p + (((65535u - p) * rate) >> 16));
        d->range = part;
        fill(d);
        return 1;
    }
    prob->p = (uint16_t)(p - ((p * rate) >> 16));
    d->lo += part + 1;
    d->code -= part + 1;
    d->range -= part + 1;
    fill(d);
    return 0;
}

/* decode_bit without a branch on the bit: below the leading one, bits of numbers are as good as
 * random, and half of the branches on them would be guessed wrong. *p: its probability. */
ALWAYS_INLINE uint32_t decode_random_bit(struct inner *d, uint32_t *p, uint32_t rate)
{
    uint32_t part = part_of(d, *p);
    uint32_t up = *p + (((65535u - *p) * rate) >> 16), down = *p - ((*p * rate) >> 16);
    uint32_t zero = 0u - (uint32_t)(d->code > part); /* all ones for a 0 */
    uint32_t less = (part + 1) & zero;
    d->range = ((d->range - 2 * part - 1) & zero) + part;
    d->lo += less;
    d->code -= less;
    fill(d);
    *p = up ^ ((up ^ down) & zero);
    return 1 + zero;
}

/* So many bits of one context, below those of `prefix`. */
ALWAYS_INLINE uint64_t decode_random_bits(struct inner *d, struct ttp_prob *prob, unsigned count,
                                          uint64_t prefix)
{
    uint32_t p = prob->p, n = prob->n;
    for (; count > 0 && n < TTP_PROB_LIMIT; count--, n++)
        prefix = prefix << 1 | decode_random_bit(d, &p, ttp_prob_rate[n]);
    for (; count > 0; count--)
        prefix = prefix << 1 | decode_random_bit(d, &p, ttp_prob_rate[TTP_PROB_LIMIT]);
    *prob = (struct ttp_prob){(uint16_t)p, (uint16_t)n};
    return prefix;
}

ALWAYS_INLINE uint64_t decode_number(struct inner *d, struct ttp_number_model *m)
{
    unsigned length = 0;
    while (length < 63 && decode_bit(d, &m->length[length]))
        length++;
    uint64_t prefix = 1;
    if (length < 4) {
        for (unsigned i = length; i-- > 0;)
            prefix = decode_random_bits(d, number_context(m, length, i, prefix), 1, prefix);
        return prefix - 1;
    }
    prefix = decode_random_bits(d, number_context(m, length, length - 1, 1), 1, prefix);
    return decode_random_bits(d, number_context(m, length, 0, 1), length - 1, prefix) - 1;
}

uint64_t ttp_decode_number(struct ttp_decoder *decoder, struct ttp_number_model *m)
{
    struct inner d = take(decoder);
    uint64_t value = decode_number(&d, m);
    put_back(decoder, &d);
    return value;
}

void ttp_signed_init(struct ttp_signed_model *m)
{
    ttp_prob_init(&m->least, 1, TTP_PROB_FLOOR);
    ttp_number_init(&m->zigzag);
}

void ttp_encode_signed(struct ttp_encoder *e, struct ttp_signed_model *m, int64_t value)
{
    ttp_encode_bit(e, &m->least, value == INT64_MIN);
    if (value != INT64_MIN)
        ttp_encode_number(e, &m->zigzag, (uint64_t)value << 1 ^ (0 - (uint64_t)(value < 0)));
}

int64_t ttp_decode_signed(struct ttp_decoder *decoder, struct ttp_signed_model *m)
{
    struct inner d = take(decoder);
    bool least = decode_bit(&d, &m->least);
    uint64_t v = least ? 0 : decode_number(&d, &m->zigzag);
    put_back(decoder, &d);
    return least ? INT64_MIN : (int64_t)(v >> 1 ^ (0 - (v & 1)));
}
