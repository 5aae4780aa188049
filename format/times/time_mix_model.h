/* The model that both directions of the mixing time form step through (spec/times-mix.md).
 *
 *   event --> keys (contexts)            per event
 *   node --> 10 counters --> stretch --> two mixers --> squash --> refine --> probability
 *   bit --> counters, weights, refinement are adapted     per binary decision
 *
 * The coding functions are one piece of code for both directions: the encoder passes no decoder,
 * the decoder no encoder, and the compiler drops the other half. */
#ifndef TTP_FORMAT_TIME_MIX_MODEL_H
#define TTP_FORMAT_TIME_MIX_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/coder.h"
#include "format/times/tick_symbol.h"
#include "format/times/time_mix.h"
#include "format/times/times.h"

/* ---- numbers on disk ---- */

#define TTP_MIX_SYMBOLS          246u
#define TTP_MIX_LENGTH_MAX       32u /* bits of the longest symbol count */
#define TTP_MIX_CONTEXTS         9u
#define TTP_MIX_INPUTS           10u /* the contexts, and the node's own counter */
#define TTP_MIX_INPUTS_MOST      11u /* and the phase, in the form with phases */
#define TTP_MIX_GROUP            8u  /* counters that stand together: three levels of the tree */
#define TTP_MIX_SLOT_BITS_MIN    10u
#define TTP_MIX_SLOT_BITS_BIG    19u /* per context, for up to 2^20 events */
#define TTP_MIX_SLOT_BITS_MAX    22u
#define TTP_MIX_SLOT_BITS_PHASED 21u /* T-MIX-22: at least, where there are events enough */
#define TTP_MIX_CELL_BITS_MAX    16u
#define TTP_MIX_REFINE_BITS      6u /* kinds of edge that the refinement tells apart, as bits */
#define TTP_MIX_KNOTS            33u
#define TTP_MIX_COUNT_MAX        30u /* hit count at which a counter stops slowing down */
#define TTP_MIX_STRETCH_MAX      2047
/* Weights are 32768ths; the largest is such that ten inputs of 2047 still sum up within 31 bits. */
#define TTP_MIX_WEIGHT_START      5000
#define TTP_MIX_WEIGHT_MAX        104857
#define TTP_MIX_WEIGHT_MAX_PHASED 95371 /* of eleven */
#define TTP_MIX_LOG_MAX           8191u
#define TTP_MIX_CLIP              512 /* residuals are clipped at two octaves */
/* T-MIX-23 to T-MIX-26 */
#define TTP_MIX_PHASE_START 65536u
#define TTP_MIX_PHASE_SHIFT 9u   /* how fast phases are forgotten */
#define TTP_MIX_PHASE_WIDE  256u /* differences of a node, above which it says nothing */
#define TTP_MIX_PHASE_RAW   224u /* the first symbol whose raw bits are as likely 0 as 1 */

/* ---- symbols ---- */

/* T-MIX-20. 256 steps an octave, straight lines between the powers of two. */
static inline uint32_t ttp_mix_log(uint32_t delta)
{
    uint64_t x = (uint64_t)delta + 1;
    uint32_t top = 63u - (uint32_t)__builtin_clzll(x);
    uint32_t log = 256 * top + (uint32_t)(x << 8 >> top) - 256;
    return log < TTP_MIX_LOG_MAX ? log : TTP_MIX_LOG_MAX;
}

/* ---- state ---- */

/* A node of the symbol tree. Children below `node_count` are nodes; node_count + r is leaf r. */
struct ttp_mix_node {
    uint32_t mask; /* tells the groups of a context apart */
    uint16_t child[2];
    uint16_t split; /* first leaf of the right side */
    uint8_t index;  /* in its group: 1 the top, 2 3 its children, 4..7 theirs */
    uint8_t group;
    uint8_t depth; /* 0 the root; 7 is the most that is told apart */
};

/* What is known of the differences under one history of codes. Zeros: nothing. */
struct ttp_mix_cell {
    uint16_t mean;        /* of logs, in eighths */
    uint16_t deviation;   /* mean distance from the mean, in eighths */
    uint8_t last, before; /* the last two symbols */
    uint8_t count;
    uint8_t unused;
};

/* A counter is a probability in 2048ths << 5 | hits (T-MIX-16); 0 is one that was never hit. */
struct ttp_mix {
    uint16_t *slots[TTP_MIX_CONTEXTS];
    struct ttp_mix_cell *edges, *threes, *sixes;
    uint16_t *refine; /* [node][edge kind][knot] */
    unsigned slot_shift, cell_shift, refine_bits;
    /* of the event at hand */
    uint32_t key[TTP_MIX_CONTEXTS];
    uint32_t kind; /* of its edge, for the refinement */
    struct ttp_mix_cell *edge, *three, *six;
    uint32_t edge_mean, three_mean, six_mean; /* logs in eighths, guessed where nothing is known */
    /* of the events before it */
    uint32_t code[6]; /* plus one; 0 outside of the segment */
    uint32_t path;    /* a hash of about ten codes, the older the fewer bits */
    uint32_t state, overall, symbol;
    uint32_t segment;
    uint64_t ticks; /* since the base time of the segment; wraps alike on both sides */
    /* phases: period 0 is the form without */
    uint32_t period, phase;
    uint32_t density[TTP_TIME_PHASE_PERIOD_MAX];
    uint32_t mass[TTP_TIME_PHASE_PERIOD_MAX + 1]; /* of so many ticks after the event before */
    /* the tree */
    uint32_t leaf_count, node_count;
    uint8_t leaf_symbol[TTP_MIX_SYMBOLS];
    uint8_t leaf_of[TTP_MIX_SYMBOLS];
    struct ttp_mix_node node[TTP_MIX_SYMBOLS];
    uint16_t own[TTP_MIX_SYMBOLS];                        /* counter of a node in all contexts */
    int32_t weight[TTP_MIX_SYMBOLS][TTP_MIX_INPUTS_MOST]; /* by node */
    int32_t kind_weight[8u << TTP_MIX_REFINE_BITS][TTP_MIX_INPUTS_MOST]; /* by depth, edge kind */
    uint32_t low[TTP_MIX_SYMBOLS]; /* by node: its least difference, that of its right side, ... */
    uint32_t middle[TTP_MIX_SYMBOLS], high[TTP_MIX_SYMBOLS]; /* ... and the first above it */
    /* functions as tables */
    int16_t stretch[2048];
    uint16_t squash[4096];
    uint16_t rate[TTP_MIX_COUNT_MAX + 1];
};

/* Bytes that a model for so many events needs, and one made in `workspace`; NULL where
 * workspace_bytes are too few. */
size_t ttp_mix_bytes(uint32_t event_count, bool phased);
struct ttp_mix *ttp_mix_init(void *workspace, size_t workspace_bytes, uint32_t event_count,
                             uint32_t period);

/* The lengths of the symbol counts, in bits; 0: the symbol does not occur. */
void ttp_mix_encode_lengths(struct ttp_encoder *e, const uint8_t *length);
bool ttp_mix_decode_lengths(struct ttp_decoder *d, uint8_t *length);

/* Builds the tree from the lengths (T-MIX-07); at least one is not 0. */
void ttp_mix_plant(struct ttp_mix *m, const uint8_t *length);

/* Moves on to event `i`: its contexts, and what is known of them (T-MIX-13 to T-MIX-15). */
void ttp_mix_enter(struct ttp_mix *m, const struct ttp_times *times, uint32_t i);

/* Learns the difference of the event at hand (T-MIX-20). */
void ttp_mix_leave(struct ttp_mix *m, uint32_t delta, uint32_t symbol, uint64_t ticks);

/* ---- one binary decision (T-MIX-16 to T-MIX-19) ---- */

/* `goal` is 2048 for a 1, 0 for a 0; `guess` is where a counter that was never hit starts. Rounding
 * keeps the probability within 1..2047. */
static inline uint16_t ttp_mix_adapt(const struct ttp_mix *m, uint32_t counter, int32_t goal,
                                     uint32_t guess)
{
    counter = counter != 0 ? counter : guess;
    uint32_t hits = counter & 31;
    int32_t p = (int32_t)(counter >> 5);
    p += ((goal - p) * m->rate[hits] + 32768) >> 16;
    return (uint16_t)((uint32_t)p << 5 | (hits + (hits < TTP_MIX_COUNT_MAX)));
}

static inline int32_t ttp_mix_clip(int32_t value, int32_t most)
{
    return value > most ? most : value < -most ? -most : value;
}

static inline __attribute__((always_inline)) unsigned
ttp_mix_code(struct ttp_encoder *e, struct ttp_decoder *d, uint32_t p, unsigned bit)
{
    if (d != NULL)
        return ttp_decode_with(d, p);
    ttp_encode_with(e, p, bit);
    return bit;
}

/* T-MIX-24. How many ticks of the next `ticks` ones are expected, in the density's units. */
static inline uint64_t ttp_mix_mass(const struct ttp_mix *m, uint32_t ticks)
{
    return (uint64_t)(ticks / m->period) * m->mass[m->period] + m->mass[ticks % m->period];
}

static inline int32_t ttp_mix_log_of(uint64_t mass)
{
    uint32_t top = 63u - (uint32_t)__builtin_clzll(mass + 1);
    return (int32_t)(256 * top + (uint32_t)((mass + 1) * 256 >> top)) - 256;
}

/* T-MIX-24. What the phase says of a node: which side is the denser one. */
static inline int32_t ttp_mix_phase_input(const struct ttp_mix *m, uint32_t node)
{
    uint32_t low = m->low[node], middle = m->middle[node], high = m->high[node];
    if (high - low > TTP_MIX_PHASE_WIDE)
        return 0;
    uint64_t at_middle = ttp_mix_mass(m, middle);
    uint64_t right = ttp_mix_mass(m, high) - at_middle, left = at_middle - ttp_mix_mass(m, low);
    return ttp_mix_clip(ttp_mix_log_of(right * (middle - low)) -
                            ttp_mix_log_of(left * (high - middle)),
                        TTP_MIX_STRETCH_MAX);
}

/* T-MIX-25. Codes the raw bits of a symbol, each of which chooses a half of the differences that
 * are left; returns the difference. The decoder passes any `delta`. */
static inline __attribute__((always_inline)) uint32_t
ttp_mix_raw(const struct ttp_mix *m, struct ttp_encoder *e, struct ttp_decoder *d, bool phased,
            uint32_t symbol, uint32_t delta)
{
    uint32_t from = ttp_tick_base(symbol), p = TTP_PROB_HALF;
    bool even = !phased || symbol >= TTP_MIX_PHASE_RAW;

    for (unsigned bits = ttp_tick_raw_bits(symbol); bits-- > 0;) {
        uint32_t half = 1u << bits;
        if (!even) {
            uint64_t low = ttp_mix_mass(m, from), middle = ttp_mix_mass(m, from + half);
            uint64_t high = ttp_mix_mass(m, from + 2 * half);
            p = (uint32_t)(((high - middle) << 16) / (high - low + 1));
        }
        from += ttp_mix_code(e, d, p, delta >> bits & 1) << bits;
    }
    return from;
}

/* Both mixers' mean in the stretched domain (T-MIX-17) is refined by edge kind (T-MIX-18); each
 * mixer learns from its own error (T-MIX-19), so that neither leans on the other. */
static inline __attribute__((always_inline)) unsigned
ttp_mix_bit(struct ttp_mix *m, struct ttp_encoder *e, struct ttp_decoder *d, uint32_t node,
            uint16_t *const *group, bool phased, unsigned bit)
{
    const unsigned inputs = phased ? TTP_MIX_INPUTS_MOST : TTP_MIX_INPUTS;
    const int32_t most = phased ? TTP_MIX_WEIGHT_MAX_PHASED : TTP_MIX_WEIGHT_MAX;
    uint16_t *counter[TTP_MIX_INPUTS];
    int32_t input[TTP_MIX_INPUTS_MOST], sum = 0, kind_sum = 0, *weight = m->weight[node];
    int32_t *kind_weight = m->kind_weight[m->node[node].depth << TTP_MIX_REFINE_BITS | m->kind];

    for (unsigned k = 0; k < TTP_MIX_CONTEXTS; k++)
        counter[k] = group[k] + m->node[node].index;
    counter[TTP_MIX_CONTEXTS] = &m->own[node];
    if (phased)
        input[TTP_MIX_INPUTS] = ttp_mix_phase_input(m, node);
    for (unsigned k = 0; k < TTP_MIX_INPUTS; k++)
        input[k] = m->stretch[*counter[k] >> 5];
    for (unsigned k = 0; k < inputs; k++) {
        sum += input[k] * weight[k];
        kind_sum += input[k] * kind_weight[k];
    }
    sum = ttp_mix_clip(sum >> 15, TTP_MIX_STRETCH_MAX);
    kind_sum = ttp_mix_clip(kind_sum >> 15, TTP_MIX_STRETCH_MAX);
    uint32_t at = (uint32_t)((sum + kind_sum + 4096) >> 1), mixed = m->squash[at];

    uint16_t *knot = m->refine + ((node << m->refine_bits) + m->kind) * TTP_MIX_KNOTS + (at >> 7);
    uint32_t right = at & 127;
    uint32_t refined = (knot[0] * (128 - right) + knot[1] * right) >> 7;
    bit = ttp_mix_code(e, d, (mixed + refined) >> 1, bit);

    uint32_t goal = bit ? 65535 : 0;
    knot += right >> 6;
    *knot = (uint16_t)(*knot + ((int32_t)(goal - *knot) >> 6));
    int32_t error = (int32_t)(bit << 16) - (int32_t)m->squash[sum + 2048];
    int32_t kind_error = (int32_t)(bit << 16) - (int32_t)m->squash[kind_sum + 2048];
    for (unsigned k = 0; k < inputs; k++) {
        weight[k] = ttp_mix_clip(weight[k] + ((input[k] * error + 32768) >> 16), most);
        kind_weight[k] =
            ttp_mix_clip(kind_weight[k] + ((input[k] * kind_error + 32768) >> 16), most);
    }
    uint32_t guess = (mixed < 32 ? 1 : mixed >> 5) << 5 | 1;
    for (unsigned k = 0; k < TTP_MIX_INPUTS; k++)
        *counter[k] = ttp_mix_adapt(m, *counter[k], bit ? 2048 : 0, guess);
    return bit;
}

/* Codes one leaf of the tree; the decoder passes any `leaf`. A context's counters for three levels
 * of the tree stand in 16 bytes, so that a path touches each context's table about three times. */
static inline __attribute__((always_inline)) uint32_t ttp_mix_leaf(struct ttp_mix *m,
                                                                   struct ttp_encoder *e,
                                                                   struct ttp_decoder *d,
                                                                   bool phased, uint32_t leaf)
{
    uint16_t *group[TTP_MIX_CONTEXTS] = {NULL};
    uint32_t node = 0;

    while (node < m->node_count) {
        const struct ttp_mix_node *n = &m->node[node];
        if (n->index == 1)
            for (unsigned k = 0; k < TTP_MIX_CONTEXTS; k++)
                group[k] = m->slots[k] + ((size_t)((m->key[k] ^ n->mask) >> m->slot_shift) << 3);
        node = n->child[ttp_mix_bit(m, e, d, node, group, phased, leaf >= n->split)];
    }
    return node - m->node_count;
}

#endif
