/* The adaptive binary range coder that the order section, the time tables and the small columns
 * share: F-COD in spec/format.md.
 *
 *   state         lo..hi, 32 bits each, both ends included; a bit costs -log2(p) bits, about 2 ns
 *   probability   16 bits, of the bit being 1, with a hit count n: it adapts by 1/(n + 1.6)
 *
 * Decoding past the end of the input reads zeros and counts them: more than TTP_CODER_TAIL of them
 * means that the input was cut, and `ttp_decoder_cut` says so. Integers only: the same bits on
 * every machine. */
#ifndef TTP_FORMAT_CODER_H
#define TTP_FORMAT_CODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TTP_CODER_TAIL 4u     /* bytes that a decoder may read past the end (they count as zero) */
#define TTP_PROB_HALF  32768u /* probability one half */
#define TTP_PROB_LIMIT 48u    /* hit count at which adaptation stops slowing down */
#define TTP_PROB_FLOOR 6u     /* no bit is ever quite certain */

struct ttp_prob {
    uint16_t p; /* of a 1, in 65536ths */
    uint16_t n; /* hits so far, at most TTP_PROB_LIMIT */
};

struct ttp_encoder {
    uint32_t lo, hi;
    uint8_t *start, *at, *end;
    bool full; /* the output did not fit: what was written is not usable */
};

struct ttp_decoder {
    uint32_t lo, hi, code;
    const uint8_t *at, *end;
    uint32_t past_end; /* zero bytes made up after the end */
};

/* rate[n] = 65535 / (n + 1.6), never below 65535 / 50, rounded down; n = 0..TTP_PROB_LIMIT. */
extern const uint16_t ttp_prob_rate[TTP_PROB_LIMIT + 1];

/* Large tables are copies of their beginning: with a sanitizer each store of a loop is checked. */
static inline void ttp_prob_init(struct ttp_prob *probs, size_t count, uint16_t p)
{
    size_t done = count < 64 ? count : 64;
    for (size_t i = 0; i < done; i++)
        probs[i] = (struct ttp_prob){p, 0};
    for (size_t part; done < count; done += part) {
        part = done < count - done ? done : count - done;
        memcpy(probs + done, probs, part * sizeof *probs);
    }
}

static inline void ttp_prob_adapt(struct ttp_prob *prob, unsigned bit)
{
    uint32_t rate = ttp_prob_rate[prob->n];
    prob->n = (uint16_t)(prob->n + (prob->n < TTP_PROB_LIMIT));
    if (bit)
        prob->p = (uint16_t)(prob->p + (((65535u - prob->p) * rate) >> 16));
    else
        prob->p = (uint16_t)(prob->p - ((prob->p * rate) >> 16));
}

static inline uint32_t ttp_coder_split(uint32_t lo, uint32_t hi, uint32_t p)
{
    p = p < TTP_PROB_FLOOR            ? TTP_PROB_FLOOR
        : p > 65535u - TTP_PROB_FLOOR ? 65535u - TTP_PROB_FLOOR
                                      : p;
    return lo + (uint32_t)(((uint64_t)(hi - lo) * p) >> 16);
}

static inline struct ttp_encoder ttp_encoder_init(uint8_t *out, size_t size_bytes)
{
    return (struct ttp_encoder){0, UINT32_MAX, out, out, out + size_bytes, false};
}

static inline void ttp_encode_with(struct ttp_encoder *e, uint32_t p, unsigned bit)
{
    uint32_t mid = ttp_coder_split(e->lo, e->hi, p);
    if (bit)
        e->hi = mid;
    else
        e->lo = mid + 1;
    while (((e->lo ^ e->hi) >> 24) == 0) {
        if (e->at == e->end) {
            e->full = true;
            e->lo = 0;
            e->hi = UINT32_MAX;
            return;
        }
        *e->at++ = (uint8_t)(e->hi >> 24);
        e->lo <<= 8;
        e->hi = e->hi << 8 | 255;
    }
}

static inline void ttp_encode_bit(struct ttp_encoder *e, struct ttp_prob *prob, unsigned bit)
{
    ttp_encode_with(e, prob->p, bit);
    ttp_prob_adapt(prob, bit);
}

/* Ends the stream with the fewest bytes that still tell it apart (F-COD-06); a decoder supplies
 * zeros after them. Returns the stream's size in bytes. */
size_t ttp_encoder_finish(struct ttp_encoder *e);

static inline uint32_t ttp_decoder_byte(struct ttp_decoder *d)
{
    if (d->at != d->end)
        return *d->at++;
    d->past_end++;
    return 0;
}

static inline struct ttp_decoder ttp_decoder_init(const uint8_t *data, size_t size_bytes)
{
    struct ttp_decoder d = {0, UINT32_MAX, 0, data, data + size_bytes, 0};
    for (int i = 0; i < 4; i++)
        d.code = d.code << 8 | ttp_decoder_byte(&d);
    return d;
}

static inline unsigned ttp_decode_with(struct ttp_decoder *d, uint32_t p)
{
    uint32_t mid = ttp_coder_split(d->lo, d->hi, p);
    unsigned bit = d->code <= mid;
    if (bit)
        d->hi = mid;
    else
        d->lo = mid + 1;
    while (((d->lo ^ d->hi) >> 24) == 0) {
        d->lo <<= 8;
        d->hi = d->hi << 8 | 255;
        d->code = d->code << 8 | ttp_decoder_byte(d);
    }
    return bit;
}

static inline unsigned ttp_decode_bit(struct ttp_decoder *d, struct ttp_prob *prob)
{
    unsigned bit = ttp_decode_with(d, prob->p);
    ttp_prob_adapt(prob, bit);
    return bit;
}

/* True when more bytes were needed than there are: the stream was cut, or is not one. */
static inline bool ttp_decoder_cut(const struct ttp_decoder *d)
{
    return d->past_end > TTP_CODER_TAIL;
}

/* Unsigned numbers: Elias-gamma of value + 1 with adaptive bits. Unary length (64 contexts), then
 * the bits below the leading one: exact contexts while the number is short, then the length and the
 * first bit. */
#define TTP_NUMBER_PROBS (16u + 2 * 64)
struct ttp_number_model {
    struct ttp_prob length[64];
    struct ttp_prob bits[TTP_NUMBER_PROBS];
};

void ttp_number_init(struct ttp_number_model *m);
/* value <= UINT64_MAX - 1 */
void ttp_encode_number(struct ttp_encoder *e, struct ttp_number_model *m, uint64_t value);
uint64_t ttp_decode_number(struct ttp_decoder *d, struct ttp_number_model *m);

/* Any signed number: an adaptive flag for the one value that does not fit a zigzag number, then
 * that number. */
struct ttp_signed_model {
    struct ttp_prob least; /* INT64_MIN follows? */
    struct ttp_number_model zigzag;
};

void ttp_signed_init(struct ttp_signed_model *m);
void ttp_encode_signed(struct ttp_encoder *e, struct ttp_signed_model *m, int64_t value);
int64_t ttp_decode_signed(struct ttp_decoder *d, struct ttp_signed_model *m);

#endif
