/* What both directions of the full-form order codec know while they code: sequence-frequency
 * records, mixed adaptive bits, contexts, lists of chains and of callees. spec/order-full.md is the
 * authority.
 *
 *   blob   struct ttp_chain_model | records | function records | slots | frames | edges | chains
 *          no pointers inside: one memcpy copies a model; `ttp_chain_view` says where the parts are
 *
 *   token            meaning                                     stands in
 *   0                the chain being defined ends                header
 *   1                the top frame of the spine ends             data
 *   2 + c            chain c happens                             header, data
 *   SYMBOL | s       a frame of s opens, or a special s happens  data
 *   NEW              a chain with this definition                header, data (never in a record)
 *
 * Spec: O-FUL-14 .. 24, context O-FUL-26: O-FUL-16 mixing, O-FUL-17 stretch and squash, O-FUL-18
 * hash, O-FUL-21 and O-FUL-22 records, O-FUL-23 scale, O-FUL-24 tokens. */
#ifndef TTP_FORMAT_CHAIN_MODEL_H
#define TTP_FORMAT_CHAIN_MODEL_H

#include "format/base/coder.h"
#include "format/order/order.h"

#define TTP_CHAIN_END    0u
#define TTP_CHAIN_CLOSE  1u
#define TTP_CHAIN_FIRST  2u
#define TTP_CHAIN_SYMBOL 0x80000000u
#define TTP_CHAIN_NEW    0xffffffffu
#define TTP_CHAIN_NONE   0xffffffffu /* no chain, no edge, no expansion */

#define TTP_CHAIN_HEIGHT_MAX   1000u  /* levels of a chain; bounds a decoder's stack */
#define TTP_CHAIN_SYMBOLS_MAX  65535u /* symbols of a partition in this form */
#define TTP_CHAIN_VALUE_BITS   16u    /* a function value is symbol + 1 */
#define TTP_CHAIN_WALK         64u    /* callees of a function that are looked at */
#define TTP_CHAIN_RANKS        256u   /* ranked chains of a function; both bound a token's time */
#define TTP_CHAIN_WINDOW       20u    /* tokens in the longest context */
#define TTP_CHAIN_PATH         16u    /* below so many siblings all are the longest context */
#define TTP_CHAIN_LEVELS       4u     /* contexts for the next token */
#define TTP_CHAIN_STEPS        3u /* contexts for the next function, and for a function's chain */
#define TTP_CHAIN_SURE         8u /* hits that make a record trusted without a second opinion */
#define TTP_CHAIN_SURE_START   60000u /* starting probability that a trusted record is right */
#define TTP_CHAIN_SLOT_START   26000u
#define TTP_CHAIN_WEIGHT_START 0x5000 /* 0.31: several agreeing voices outvote each one alone */
#define TTP_CHAIN_SURE_SCALE   5u     /* ttp_chain_scale(TTP_CHAIN_SURE) */
#define TTP_CHAIN_REPEAT       256u   /* trusted records followed before a repeat count */
#define TTP_CHAIN_EXCLUDED     (2u * (TTP_CHAIN_LEVELS + TTP_CHAIN_STEPS))

/* A sequence-frequency record: the two successors of a context that count, with their counts. */
struct ttp_chain_record {
    uint32_t check; /* the context's hash; 0 with count 0 is an empty record */
    uint32_t next[2];
    uint8_t count[2], other; /* hits of each, and of neither */
    uint8_t history;         /* was next[0] right? newest in the lowest bit */
};

struct ttp_chain_frame { /* per function value: what was seen below and of it */
    uint32_t chains;     /* newest first: head of the list of its chains */
    uint32_t edges;      /* newest first: head of the list of its children's functions */
};

struct ttp_chain_edge {
    uint32_t function, next;
};

struct ttp_chain_item {
    uint16_t symbol, height;
    uint32_t next; /* next older chain of the symbol */
};

#define TTP_CHAIN_INPUTS 6u
enum ttp_chain_site { /* who mixes: the first set of weights of each */
                      TTP_SITE_TOKEN = 0,
                      TTP_SITE_FUNCTION = 32,
                      TTP_SITE_CHAIN = 56,
                      TTP_SITE_KNOWN = 80,
                      TTP_SITE_SYMBOL = 81,
                      TTP_SITE_SPINE = 82,
                      TTP_SITE_VALUE = 83,
                      TTP_SITE_COUNT = 84
};

struct ttp_chain_numbers {
    struct ttp_number_model argument[3]; /* of new symbols: enter, leaf, all others */
    struct ttp_number_model edge, rank, escape, run;
};

struct ttp_chain_model {
    uint32_t record_bits, function_bits, slot_bits; /* log2 of table sizes: part of the format */
    uint32_t symbol_limit, chain_limit, edge_limit;
    uint32_t symbol_count, chain_count, edge_count;
    uint32_t last_argument[TTP_CLASS_COUNT];
    uint32_t novelty, symbol_novelty; /* newest bit lowest: were the last chains, symbols new? */
    int32_t weights[TTP_SITE_COUNT][TTP_CHAIN_INPUTS];
    struct ttp_prob sure[32];
    struct ttp_prob class_tree[16];
    struct ttp_prob below[8];
    struct ttp_chain_numbers numbers;
};

struct ttp_chain_view {
    struct ttp_chain_model *model;
    struct ttp_chain_record *records, *functions;
    struct ttp_prob *slots;
    struct ttp_chain_frame *frames; /* by function value: symbol + 1, 0 is the base of a stack */
    struct ttp_chain_edge *edges;
    struct ttp_chain_item *chains;
};

/* Sizes of a model, from which its layout follows. */
struct ttp_chain_sizes {
    uint32_t record_bits, function_bits, slot_bits;
    uint32_t symbol_limit, chain_limit, edge_limit;
};

struct ttp_chain_sizes ttp_chain_sizes_for(uint32_t event_count, uint32_t symbol_count);
uint32_t ttp_chain_limit(uint32_t event_count); /* chains that one partition may define */
size_t ttp_chain_model_bytes(const struct ttp_chain_sizes *sizes);
struct ttp_chain_view ttp_chain_view_of(void *blob); /* of an initialised model */
struct ttp_chain_view ttp_chain_model_init(void *blob, const struct ttp_chain_sizes *sizes);

/* One place in the tree: a frame of the spine, or a definition. */
struct ttp_chain_context {
    uint32_t frame, caller; /* function values of the frame and of the one around it */
    uint32_t count;         /* tokens so far */
    uint32_t followed;      /* tokens since a trusted record was last left */
    uint32_t path, window;  /* hashes of all tokens, and of the last TTP_CHAIN_WINDOW */
    uint32_t function[2];   /* function values of the last two tokens, newest first */
    uint32_t last[32];      /* the last tokens: token i at i % 32 */
    bool defining;          /* a definition, not the spine */
    bool left;              /* a known sequence was left, or none was known */
};

static inline uint32_t ttp_chain_hash(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t h = a * 0x9e3779b1u + b * 0x85ebca6bu + c * 0xc2b2ae35u;
    h ^= h >> 15;
    h *= 0x2c1b3c6du;
    h ^= h >> 13;
    return h * 0x297a2d39u;
}

static inline void ttp_chain_context_init(struct ttp_chain_context *x, uint32_t frame,
                                          uint32_t caller, bool defining)
{
    *x = (struct ttp_chain_context){.frame = frame, .caller = caller, .defining = defining};
    x->path = ttp_chain_hash(frame, 77, 1);
}

static inline uint32_t ttp_chain_last(const struct ttp_chain_context *x, uint32_t back)
{
    return x->last[(x->count - back) & 31];
}

/* The window's hash is the sum of its tokens times powers of a multiplier, so that the oldest token
 * can leave: its weight is the multiplier to the power TTP_CHAIN_WINDOW - 1. */
#define TTP_CHAIN_WINDOW_STEP   0x2545f491u
#define TTP_CHAIN_WINDOW_WEIGHT 0xf028d1b1u

static inline void ttp_chain_context_advance(struct ttp_chain_context *x, uint32_t token,
                                             uint32_t function)
{
    uint32_t oldest = ttp_chain_last(x, TTP_CHAIN_WINDOW);
    x->window = (x->window - oldest * TTP_CHAIN_WINDOW_WEIGHT) * TTP_CHAIN_WINDOW_STEP + token;
    x->last[x->count & 31] = token;
    x->count++;
    if (x->count <= TTP_CHAIN_PATH)
        x->path = ttp_chain_hash(x->path, token, 2);
    x->function[1] = x->function[0];
    x->function[0] = function;
}

/* The record of a context, or an empty one that must not be written. Two records share a bucket. */
extern const struct ttp_chain_record ttp_chain_no_record;

static inline const struct ttp_chain_record *ttp_chain_find(const struct ttp_chain_record *table,
                                                            uint32_t bits, uint32_t hash)
{
    const struct ttp_chain_record *r = &table[hash >> (32 - bits)];
    if (r->check == hash)
        return r;
    r = &table[(hash >> (32 - bits)) ^ 1];
    return r->check == hash ? r : &ttp_chain_no_record;
}

static inline uint32_t ttp_chain_fade(uint32_t count, uint32_t shift)
{
    return count > 2 ? count - (count >> shift) : count;
}

/* Counts a successor that is not the first one. */
static inline void ttp_chain_learn_other(struct ttp_chain_record *r, uint32_t next)
{
    if (r->count[0] == 0) {
        r->next[0] = next;
        r->count[0] = 1;
        return;
    }
    r->history = (uint8_t)(r->history << 1);
    r->other = (uint8_t)(r->other + (r->other < 255));
    r->count[0] = (uint8_t)ttp_chain_fade(r->count[0], 2);
    if (r->count[1] != 0 && r->next[1] == next) {
        r->count[1]++;
    } else {
        r->next[1] = next;
        r->count[1] = 1;
    }
    if (r->count[1] >= r->count[0]) {
        uint32_t first = r->next[0];
        uint8_t count = r->count[0];
        r->next[0] = r->next[1];
        r->count[0] = r->count[1];
        r->next[1] = first;
        r->count[1] = count;
    }
}

static inline void ttp_chain_learn(struct ttp_chain_record *r, uint32_t next)
{
    if (r->count[0] == 0 || r->next[0] != next) {
        ttp_chain_learn_other(r, next);
        return;
    }
    r->history = (uint8_t)(r->history << 1 | 1);
    r->count[0] = (uint8_t)(r->count[0] + (r->count[0] < 255));
    r->count[1] = (uint8_t)ttp_chain_fade(r->count[1], 2);
    r->other = (uint8_t)ttp_chain_fade(r->other, 3);
}

/* Finds or makes the record of a context (the weaker of its bucket gives way) and counts a
 * successor. */
static inline void ttp_chain_update(struct ttp_chain_record *table, uint32_t bits, uint32_t hash,
                                    uint32_t next)
{
    struct ttp_chain_record *r = &table[hash >> (32 - bits)];
    struct ttp_chain_record *s = &table[(hash >> (32 - bits)) ^ 1];
    if (r->check != hash) {
        if (s->check != hash) {
            r = s->count[0] < r->count[0] ? s : r;
            *r = (struct ttp_chain_record){.check = hash};
        } else {
            r = s;
        }
    }
    ttp_chain_learn(r, next);
}

/* Counts in classes: what the contexts see of a count. */
static inline uint32_t ttp_chain_scale(uint32_t count)
{
    return count < 4 ? count : count < 8 ? 4 : count < 16 ? 5 : count < 64 ? 6 : 7;
}

/* Mixing: several adaptive bits vote on one decision, in the logistic domain. */
#define TTP_CHAIN_STRETCH_COUNT 192u
#define TTP_CHAIN_SQUASH_COUNT  65u
extern const int16_t ttp_chain_stretch_table[TTP_CHAIN_STRETCH_COUNT];
extern const uint16_t ttp_chain_squash_table[TTP_CHAIN_SQUASH_COUNT];

/* ln(p / (1 - p)) in 256ths. */
static inline int32_t ttp_chain_stretch(uint32_t p)
{
    uint32_t q = p < 32768 ? p : 65535 - p;
    uint32_t i = q;
    if (q >= 16) {
        uint32_t exponent = 31u - (uint32_t)__builtin_clz(q);
        i = (exponent - 3) * 16 + ((q >> (exponent - 4)) & 15);
    }
    return p < 32768 ? -ttp_chain_stretch_table[i] : ttp_chain_stretch_table[i];
}

/* The inverse, in 65536ths; x within -2047..2047. */
static inline uint32_t ttp_chain_squash(int32_t x)
{
    uint32_t at = (uint32_t)(x + 2048), part = at & 63;
    const uint16_t *knot = &ttp_chain_squash_table[at >> 6];
    return (knot[0] * (64 - part) + knot[1] * part) >> 6;
}

struct ttp_chain_mix {
    struct ttp_prob *input[TTP_CHAIN_INPUTS];
    int32_t stretch[TTP_CHAIN_INPUTS];
    int32_t *weights;
    uint32_t p;
};

static inline uint32_t ttp_chain_mix_predict(struct ttp_chain_mix *m, uint32_t inputs)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < inputs; i++) {
        m->stretch[i] = ttp_chain_stretch(m->input[i]->p);
        sum += (int64_t)m->weights[i] * m->stretch[i];
    }
    sum >>= 16;
    m->p = ttp_chain_squash(sum > 2047 ? 2047 : sum < -2047 ? -2047 : (int32_t)sum);
    return m->p;
}

#define TTP_CHAIN_WEIGHT_MAX (1 << 19) /* eight: keeps a weight far from overflow */

static inline void ttp_chain_mix_update(struct ttp_chain_mix *m, uint32_t inputs, unsigned bit)
{
    int32_t error = (bit ? 65535 : 0) - (int32_t)m->p;
    for (uint32_t i = 0; i < inputs; i++) {
        int32_t w = m->weights[i] + ((m->stretch[i] * error + 8192) >> 14);
        m->weights[i] = w > TTP_CHAIN_WEIGHT_MAX    ? TTP_CHAIN_WEIGHT_MAX
                        : w < -TTP_CHAIN_WEIGHT_MAX ? -TTP_CHAIN_WEIGHT_MAX
                                                    : w;
        ttp_prob_adapt(m->input[i], bit);
    }
}

#endif
