/* What a choice of the full-form order codec is made with: streams, mixed bits, slots, opinions of
 * records. */
#ifndef TTP_FORMAT_CHAIN_CHOICE_H
#define TTP_FORMAT_CHAIN_CHOICE_H

#include "format/chain/chain_model.h"

#define TTP_CHAIN_INLINE static inline __attribute__((always_inline))

struct ttp_chain_port {
    struct ttp_encoder enc;
    struct ttp_decoder dec;
};

enum { TTP_PORT_DATA = 0, TTP_PORT_HEADER = 1 };

/* What the records have to learn from a token, once it is known (a new chain's number only after
 * its body). */
struct ttp_chain_lesson {
    uint32_t level[TTP_CHAIN_LEVELS], function[TTP_CHAIN_STEPS], chain[TTP_CHAIN_STEPS];
    uint32_t levels, functions, chains; /* how many of each were asked */
};

struct ttp_chain_choice {
    uint32_t token; /* TTP_CHAIN_NEW for a chain without a number */
    uint32_t value; /* function value: 0 closes, else symbol + 1 */
    struct ttp_chain_lesson lesson;
    uint32_t excluded[TTP_CHAIN_EXCLUDED], excluded_count;
    bool close_excluded; /* the data said that nothing closes here */
    bool was_left;       /* the context had left known sequences before this token */
};

struct ttp_chain_coder {
    struct ttp_chain_view view;
    struct ttp_symbol
        *symbols; /* definitions, symbol_count of them valid (the encoder's never change) */
    uint32_t symbol_capacity;
    struct ttp_chain_port port[2];
    bool repeating;   /* a repeat count stands for the tokens that follow the records */
    uint64_t repeats; /* so far (encoder), left (decoder) */
    const char *rule; /* decoder: the broken rule, NULL while all is well */
};

TTP_CHAIN_INLINE struct ttp_chain_port *ttp_chain_port_of(struct ttp_chain_coder *c,
                                                          const struct ttp_chain_context *x)
{
    return &c->port[x->defining ? TTP_PORT_HEADER : TTP_PORT_DATA];
}

TTP_CHAIN_INLINE unsigned ttp_chain_bit(struct ttp_chain_port *o, struct ttp_prob *p, unsigned bit,
                                        bool decode)
{
    if (decode)
        return ttp_decode_bit(&o->dec, p);
    ttp_encode_bit(&o->enc, p, bit);
    return bit;
}

TTP_CHAIN_INLINE unsigned ttp_chain_mixed(struct ttp_chain_port *o, struct ttp_chain_mix *m,
                                          uint32_t inputs, unsigned bit, bool decode)
{
    uint32_t p = ttp_chain_mix_predict(m, inputs);
    if (decode)
        bit = ttp_decode_with(&o->dec, p);
    else
        ttp_encode_with(&o->enc, p, bit);
    ttp_chain_mix_update(m, inputs, bit);
    return bit;
}

TTP_CHAIN_INLINE uint64_t ttp_chain_number(struct ttp_chain_port *o, struct ttp_number_model *m,
                                           uint64_t value, bool decode)
{
    if (decode)
        return ttp_decode_number(&o->dec, m);
    ttp_encode_number(&o->enc, m, value);
    return value;
}

TTP_CHAIN_INLINE struct ttp_prob *ttp_chain_slot(const struct ttp_chain_coder *c, uint32_t use,
                                                 uint32_t a, uint32_t b)
{
    return &c->view.slots[ttp_chain_hash(a, b, use) >> (32 - c->view.model->slot_bits)];
}

TTP_CHAIN_INLINE bool ttp_chain_is_excluded(const struct ttp_chain_choice *t, uint32_t token)
{
    for (uint32_t i = 0; i < t->excluded_count; i++)
        if (t->excluded[i] == token)
            return true;
    return false;
}

TTP_CHAIN_INLINE uint32_t ttp_chain_least(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* What the other records of a group say of a candidate: 2 bits each. */
TTP_CHAIN_INLINE uint32_t ttp_chain_opinions(const struct ttp_chain_record *const *r,
                                             uint32_t records, uint32_t self, uint32_t token)
{
    uint32_t opinions = 0;
    for (uint32_t i = 0; i < records; i++) {
        if (i == self)
            continue;
        uint32_t opinion = r[i]->count[0] == 0      ? 0
                           : r[i]->next[0] != token ? 1
                           : r[i]->other            ? 2
                                                    : 3;
        opinions = opinions * 4 + opinion;
    }
    return opinions;
}

/* A record's trust in its successor j, as a number below 128. */
TTP_CHAIN_INLINE uint32_t ttp_chain_trust(const struct ttp_chain_record *r, uint32_t j)
{
    return (j * 8 + ttp_chain_scale(r->count[j])) * 8 + ttp_chain_scale(j ? r->count[0] : r->other);
}

#endif
