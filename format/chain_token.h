/* One token of the full-form order codec, written once for both directions: `decode` is a constant
 * at every call, so that the encoder and the decoder are the same text and cannot drift apart.
 *
 *   levels (4 contexts, 2 successors each) -> token
 *     `- all left: function (3 contexts, then known callees, then any symbol, new or known)
 *          `- data section: spine or chain? -> new or known chain -> 3 contexts -> recency rank */
#ifndef TTP_FORMAT_CHAIN_TOKEN_H
#define TTP_FORMAT_CHAIN_TOKEN_H

#include "format/chain_model.h"

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

/* --- levels --- */

TTP_CHAIN_INLINE void ttp_chain_level_hashes(const struct ttp_chain_context *x, uint32_t *hash)
{
    uint32_t p1 = ttp_chain_last(x, 1), p2 = ttp_chain_last(x, 2);
    uint32_t five = p2 * 0x27d4eb2fu + ttp_chain_last(x, 3) * 0x165667b1u +
                    ttp_chain_last(x, 4) * 0xd3a2646du + ttp_chain_last(x, 5) * 0xfd7046c5u;
    hash[1] = ttp_chain_hash(x->frame + (1u << 24), p1, five);
    hash[2] = ttp_chain_hash(x->frame + (2u << 24), p1, p2);
    hash[3] = ttp_chain_hash(x->frame + (3u << 24), p1, 0);
}

TTP_CHAIN_INLINE uint32_t ttp_chain_first_hash(const struct ttp_chain_context *x)
{
    return x->count >= TTP_CHAIN_PATH ? ttp_chain_hash(x->frame, x->window, 3) : x->path;
}

/* A token that cannot stand here whatever a record says: each section has its own. */
TTP_CHAIN_INLINE bool ttp_chain_misplaced(const struct ttp_chain_context *x, uint32_t token)
{
    return x->defining ? token == TTP_CHAIN_CLOSE || token >= TTP_CHAIN_SYMBOL
                       : token == TTP_CHAIN_END || (token == TTP_CHAIN_CLOSE && x->frame == 0);
}

TTP_CHAIN_INLINE unsigned ttp_chain_follows(struct ttp_chain_coder *c,
                                            const struct ttp_chain_context *x,
                                            struct ttp_chain_choice *t,
                                            const struct ttp_chain_record *const *r, uint32_t level,
                                            uint32_t j, bool decode)
{
    uint32_t token = r[level]->next[j], place = level * 2 + j;
    uint32_t before = ttp_chain_least(t->excluded_count, 3);
    uint32_t closes = token < TTP_CHAIN_FIRST;
    uint32_t novelty = x->defining ? 1u + x->left : 0;
    struct ttp_chain_mix m;
    m.input[0] = ttp_chain_slot(c, 1, level * 128 + ttp_chain_trust(r[level], j),
                                ttp_chain_opinions(r, TTP_CHAIN_LEVELS, level, token));
    m.input[1] = ttp_chain_slot(c, 2, x->frame, (place * 2 + closes) * 3 + novelty);
    m.input[2] = ttp_chain_slot(c, 3, place, token);
    m.input[3] = ttp_chain_slot(c, 4, x->caller, token);
    m.weights = c->view.model->weights[TTP_SITE_TOKEN + place * 4 + before];
    return ttp_chain_mixed(ttp_chain_port_of(c, x), &m, 4, t->token == token, decode);
}

TTP_CHAIN_INLINE bool ttp_chain_trusted(const struct ttp_chain_record *r)
{
    return r->count[0] >= TTP_CHAIN_SURE && (r->history & 7) == 7;
}

/* The first successor of a record that is trusted: one bit without a second opinion. After many of
 * them in one frame, a count says how many more follow. */
TTP_CHAIN_INLINE bool ttp_chain_code_sure(struct ttp_chain_coder *c, struct ttp_chain_context *x,
                                          struct ttp_chain_choice *t,
                                          const struct ttp_chain_record *r, bool decode)
{
    struct ttp_chain_port *o = ttp_chain_port_of(c, x);
    struct ttp_prob *p =
        &c->view.model->sure[(ttp_chain_scale(r->count[0]) - TTP_CHAIN_SURE_SCALE) * 4 +
                             ttp_chain_least(r->other, 3)];
    uint32_t token = r->next[0];
    if (!ttp_chain_bit(o, p, t->token == token, decode)) {
        t->excluded[t->excluded_count++] = token;
        t->close_excluded |= token < TTP_CHAIN_FIRST;
        return false;
    }
    /* What follows is settled, and so can be learnt at once. */
    ttp_chain_learn((struct ttp_chain_record *)(uintptr_t)r, token);
    t->lesson.levels = 0;
    t->token = token;
    if (++x->followed == TTP_CHAIN_REPEAT) {
        c->repeating = true;
        c->repeats = decode ? ttp_decode_number(&o->dec, &c->view.model->numbers.run) : 0;
    }
    return true;
}

/* Ends a repeat in the encoder: only now its count is known. Nothing was coded since it began. */
static inline void ttp_chain_end_repeat(struct ttp_chain_coder *c,
                                        const struct ttp_chain_context *x)
{
    ttp_encode_number(&ttp_chain_port_of(c, x)->enc, &c->view.model->numbers.run, c->repeats);
    c->repeating = false;
}

/* A token within a repeat: true if it follows the record. If not, the repeat is over. */
TTP_CHAIN_INLINE bool ttp_chain_repeat(struct ttp_chain_coder *c, struct ttp_chain_context *x,
                                       struct ttp_chain_choice *t, const struct ttp_chain_record *r,
                                       bool decode)
{
    uint32_t token = r->next[0];
    bool predicts = r->count[0] != 0 && token >= TTP_CHAIN_FIRST && token < TTP_CHAIN_SYMBOL;
    bool follows = predicts && (decode ? c->repeats != 0 : t->token == token);
    if (follows) {
        c->repeats = decode ? c->repeats - 1 : c->repeats + 1;
        t->lesson.levels = 0;
        t->token = token;
        return true;
    }
    if (!decode)
        ttp_chain_end_repeat(c, x);
    else if (c->repeats != 0)
        c->rule = "O-FUL-25";
    c->repeating = false;
    if (predicts)
        t->excluded[t->excluded_count++] = token;
    return false;
}

/* Predicts the token from the records, longest context first. True when one of them was followed.
 */
TTP_CHAIN_INLINE bool ttp_chain_code_levels(struct ttp_chain_coder *c, struct ttp_chain_context *x,
                                            struct ttp_chain_choice *t, bool decode)
{
    const struct ttp_chain_record *table = c->view.records, *r[TTP_CHAIN_LEVELS];
    uint32_t bits = c->view.model->record_bits, j = 0;
    t->lesson.level[0] = ttp_chain_first_hash(x);
    t->lesson.levels = 1;
    r[0] = ttp_chain_find(table, bits, t->lesson.level[0]);
    if (c->repeating) {
        if (ttp_chain_repeat(c, x, t, r[0], decode))
            return true;
        j = t->excluded_count;
    } else if (ttp_chain_trusted(r[0]) && !ttp_chain_misplaced(x, r[0]->next[0]) &&
               r[0]->next[0] != TTP_CHAIN_END) {
        if (ttp_chain_code_sure(c, x, t, r[0], decode))
            return true;
        j = 1;
    }
    x->followed = 0;
    ttp_chain_level_hashes(x, t->lesson.level);
    for (uint32_t level = 1; level < TTP_CHAIN_LEVELS; level++)
        r[level] = ttp_chain_find(table, bits, t->lesson.level[level]);
    x->left |= r[0]->count[0] == 0;
    for (uint32_t level = 0; level < TTP_CHAIN_LEVELS; level++, j = 0) {
        t->lesson.levels = level + 1;
        for (; j < 2 && r[level]->count[j] != 0; j++) {
            uint32_t token = r[level]->next[j];
            if (ttp_chain_misplaced(x, token) || ttp_chain_is_excluded(t, token))
                continue;
            /* All siblings are those of a known chain: ending here would make it that chain, not a
             * new one. */
            bool repeats = level == 0 && token == TTP_CHAIN_END && x->count < TTP_CHAIN_PATH;
            if (!repeats && ttp_chain_follows(c, x, t, r, level, j, decode)) {
                t->token = token;
                return true;
            }
            t->excluded[t->excluded_count++] = token;
            t->close_excluded |= !repeats && token < TTP_CHAIN_FIRST;
        }
    }
    return false;
}

/* --- functions --- */

/* A function value that cannot stand here. */
TTP_CHAIN_INLINE bool ttp_chain_value_misplaced(const struct ttp_chain_coder *c,
                                                const struct ttp_chain_context *x, uint32_t value)
{
    if (value == 0)
        return !x->defining && x->frame == 0;
    return x->defining && !ttp_class_chains(c->symbols[value - 1].event_class);
}

struct ttp_chain_values { /* function values that were ruled out */
    uint32_t value[2 * TTP_CHAIN_STEPS + 1], count;
};

TTP_CHAIN_INLINE bool ttp_chain_ruled_out(const struct ttp_chain_coder *c,
                                          const struct ttp_chain_context *x,
                                          const struct ttp_chain_values *out, uint32_t value)
{
    for (uint32_t i = 0; i < out->count; i++)
        if (out->value[i] == value)
            return true;
    return ttp_chain_value_misplaced(c, x, value);
}

TTP_CHAIN_INLINE bool ttp_chain_code_function_steps(struct ttp_chain_coder *c,
                                                    struct ttp_chain_context *x,
                                                    struct ttp_chain_choice *t,
                                                    struct ttp_chain_values *out, bool decode)
{
    struct ttp_chain_lesson *l = &t->lesson;
    const struct ttp_chain_record *r[TTP_CHAIN_STEPS];
    l->function[0] = ttp_chain_hash(x->frame + (4u << 24), x->function[0], x->function[1]);
    l->function[1] = ttp_chain_hash(x->frame + (5u << 24), x->function[0], 0);
    l->function[2] = ttp_chain_hash(x->frame + (6u << 24), 0, 0);
    for (uint32_t i = 0; i < TTP_CHAIN_STEPS; i++)
        r[i] = ttp_chain_find(c->view.functions, c->view.model->function_bits, l->function[i]);
    uint32_t tried = ttp_chain_least(t->excluded_count, 7);
    for (uint32_t step = 0; step < TTP_CHAIN_STEPS; step++) {
        l->functions = step + 1;
        for (uint32_t j = 0; j < 2 && r[step]->count[j] != 0; j++) {
            uint32_t value = r[step]->next[j], place = step * 2 + j;
            if (ttp_chain_ruled_out(c, x, out, value))
                continue;
            uint32_t before = ttp_chain_least(out->count, 3);
            struct ttp_chain_mix m;
            m.input[0] = ttp_chain_slot(c, 6, step * 128 + ttp_chain_trust(r[step], j),
                                        ttp_chain_opinions(r, TTP_CHAIN_STEPS, step, value) * 2 +
                                            (value == 0));
            m.input[1] = ttp_chain_slot(c, 7, x->frame, value);
            m.input[2] = ttp_chain_slot(c, 8, place, r[step]->history & 31);
            m.input[3] =
                ttp_chain_slot(c, 9, tried * 4 + before, x->defining ? 1u + t->was_left : 0);
            m.input[4] = ttp_chain_slot(c, 28, x->function[0], value);
            m.weights = c->view.model->weights[TTP_SITE_FUNCTION + place * 4 + before];
            if (ttp_chain_mixed(ttp_chain_port_of(c, x), &m, 5, t->value == value, decode)) {
                t->value = value;
                return true;
            }
            out->value[out->count++] = value;
        }
    }
    return false;
}

/* The list of functions that were seen below a frame, as far as TTP_CHAIN_WALK: what is not ruled
 * out. */
TTP_CHAIN_INLINE bool ttp_chain_code_edge(struct ttp_chain_coder *c, struct ttp_chain_context *x,
                                          struct ttp_chain_choice *t,
                                          const struct ttp_chain_values *out, bool decode)
{
    uint32_t usable = 0, rank = TTP_CHAIN_NONE, walked = 0;
    uint32_t values[TTP_CHAIN_WALK];
    for (uint32_t e = c->view.frames[x->frame].edges;
         e != TTP_CHAIN_NONE && walked < TTP_CHAIN_WALK; e = c->view.edges[e].next, walked++) {
        uint32_t value = c->view.edges[e].function;
        if (ttp_chain_ruled_out(c, x, out, value))
            continue;
        if (value == t->value)
            rank = usable;
        values[usable++] = value;
    }
    if (usable == 0)
        return false;
    struct ttp_chain_port *o = ttp_chain_port_of(c, x);
    struct ttp_chain_model *m = c->view.model;
    if (!ttp_chain_bit(o, &m->below[ttp_chain_least(usable, 8) - 1], rank != TTP_CHAIN_NONE,
                       decode))
        return false;
    uint64_t coded = ttp_chain_number(o, &m->numbers.edge, rank, decode);
    if (coded >= usable) {
        c->rule = "O-FUL-34";
        coded = 0;
    }
    t->value = values[coded];
    return true;
}

TTP_CHAIN_INLINE void ttp_chain_touch_edge(struct ttp_chain_coder *c, uint32_t frame,
                                           uint32_t value)
{
    struct ttp_chain_edge *edges = c->view.edges;
    uint32_t *head = &c->view.frames[frame].edges, *link = head;
    for (uint32_t walked = 0; *link != TTP_CHAIN_NONE && walked < TTP_CHAIN_WALK; walked++) {
        uint32_t e = *link;
        if (edges[e].function == value) {
            *link = edges[e].next;
            edges[e].next = *head;
            *head = e;
            return;
        }
        link = &edges[e].next;
    }
    struct ttp_chain_model *m = c->view.model;
    if (m->edge_count == m->edge_limit)
        return;
    edges[m->edge_count] = (struct ttp_chain_edge){value, *head};
    *head = m->edge_count++;
}

/* The definition of a new symbol: always in the header stream. */
TTP_CHAIN_INLINE void ttp_chain_code_symbol(struct ttp_chain_coder *c, uint32_t symbol, bool decode)
{
    struct ttp_chain_model *m = c->view.model;
    struct ttp_chain_port *o = &c->port[TTP_PORT_HEADER];
    struct ttp_symbol s = {0, 0};
    if (!decode)
        s = c->symbols[symbol];
    uint32_t node = 1;
    for (uint32_t i = 4; i-- > 0;)
        node = node * 2 + ttp_chain_bit(o, &m->class_tree[node], s.event_class >> i & 1, decode);
    uint32_t event_class = node & 15;
    if (event_class >= TTP_CLASS_COUNT) {
        c->rule = "O-FUL-36";
        event_class = 0;
    }
    struct ttp_number_model *numbers = &m->numbers.argument[ttp_chain_least(event_class, 2)];
    uint32_t expected = m->last_argument[event_class] + 1, step = s.argument - expected;
    uint64_t coded = step << 1 ^ (0 - (step >> 31)); /* zigzag, modulo 2^32 */
    coded = ttp_chain_number(o, numbers, coded & UINT32_MAX, decode);
    if (coded > UINT32_MAX)
        c->rule = "O-FUL-37";
    step = (uint32_t)coded >> 1 ^ (0 - ((uint32_t)coded & 1));
    m->last_argument[event_class] = expected + step;
    if (decode)
        c->symbols[symbol] = (struct ttp_symbol){expected + step, (uint8_t)event_class};
}

/* Any function value, by its number: the bits from the top, those that are certain left out. */
TTP_CHAIN_INLINE void ttp_chain_code_value(struct ttp_chain_coder *c,
                                           const struct ttp_chain_context *x,
                                           struct ttp_chain_choice *t, bool decode)
{
    uint32_t values = c->view.model->symbol_count + 1, bits = TTP_CHAIN_VALUE_BITS, node = 1;
    for (uint32_t i = bits; i-- > 0;) {
        uint32_t bit = 0, least = ((node * 2 + 1) << i) - (1u << bits);
        if (least < values) {
            struct ttp_chain_mix m;
            m.input[0] = ttp_chain_slot(c, 10, node, 0);
            m.input[1] = ttp_chain_slot(c, 5, node, x->function[0]);
            m.input[2] = ttp_chain_slot(c, 27, node, x->frame / 8);
            m.weights = c->view.model->weights[TTP_SITE_VALUE];
            bit = ttp_chain_mixed(ttp_chain_port_of(c, x), &m, 3, t->value >> i & 1, decode);
        }
        node = node * 2 + bit;
    }
    t->value = node - (1u << bits);
}

TTP_CHAIN_INLINE void ttp_chain_code_function(struct ttp_chain_coder *c,
                                              struct ttp_chain_context *x,
                                              struct ttp_chain_choice *t, bool decode)
{
    struct ttp_chain_values out = {{0}, t->close_excluded};
    bool found = ttp_chain_code_function_steps(c, x, t, &out, decode) ||
                 ttp_chain_code_edge(c, x, t, &out, decode);
    if (!found) {
        struct ttp_chain_model *m = c->view.model;
        uint32_t first = x->defining && c->view.frames[x->frame].chains == TTP_CHAIN_NONE;
        struct ttp_chain_mix mix;
        mix.input[0] = ttp_chain_slot(c, 11, x->frame, 0);
        mix.input[1] = ttp_chain_slot(c, 12, m->symbol_novelty & 255, 0);
        mix.input[2] = ttp_chain_slot(c, 13, ttp_chain_least(x->count, 3), x->defining + 2 * first);
        mix.input[3] = ttp_chain_slot(c, 14, x->function[0] == 0, 0);
        mix.weights = m->weights[TTP_SITE_SYMBOL];
        unsigned is_new =
            ttp_chain_mixed(ttp_chain_port_of(c, x), &mix, 4, t->value > m->symbol_count, decode);
        m->symbol_novelty = m->symbol_novelty << 1 | is_new;
        if (!is_new) {
            ttp_chain_code_value(c, x, t, decode);
        } else if (m->symbol_count == ttp_chain_least(m->symbol_limit, c->symbol_capacity)) {
            c->rule = "O-FUL-38";
            t->value = 0;
        } else {
            ttp_chain_code_symbol(c, m->symbol_count, decode);
            t->value = ++m->symbol_count;
        }
    }
    if (ttp_chain_value_misplaced(c, x, t->value)) {
        c->rule = "O-FUL-39";
        t->value = 0;
    }
    ttp_chain_touch_edge(c, x->frame, t->value);
}

/* --- chains of a function --- */

TTP_CHAIN_INLINE bool ttp_chain_code_chain_steps(struct ttp_chain_coder *c,
                                                 struct ttp_chain_context *x,
                                                 struct ttp_chain_choice *t, bool decode)
{
    struct ttp_chain_lesson *l = &t->lesson;
    const struct ttp_chain_record *r[TTP_CHAIN_STEPS];
    for (uint32_t i = 0; i < TTP_CHAIN_STEPS; i++)
        r[i] = ttp_chain_find(c->view.functions, c->view.model->function_bits, l->chain[i]);
    for (uint32_t step = 0; step < TTP_CHAIN_STEPS; step++) {
        l->chains = step + 1;
        for (uint32_t j = 0; j < 2 && r[step]->count[j] != 0; j++) {
            uint32_t token = r[step]->next[j], place = step * 2 + j;
            if (ttp_chain_is_excluded(t, token))
                continue;
            uint32_t before = ttp_chain_least(t->excluded_count, 3);
            struct ttp_chain_mix m;
            m.input[0] = ttp_chain_slot(c, 15, step * 128 + ttp_chain_trust(r[step], j),
                                        ttp_chain_opinions(r, TTP_CHAIN_STEPS, step, token));
            m.input[1] = ttp_chain_slot(c, 16, x->frame, t->value);
            m.input[2] = ttp_chain_slot(c, 17, token, 0);
            m.input[3] = ttp_chain_slot(c, 18, place, r[step]->history & 31);
            m.weights = c->view.model->weights[TTP_SITE_CHAIN + place * 4 + before];
            if (ttp_chain_mixed(ttp_chain_port_of(c, x), &m, 4, t->token == token, decode)) {
                t->token = token;
                return true;
            }
            t->excluded[t->excluded_count++] = token;
        }
    }
    return false;
}

/* The recency rank among the chains of the symbol, or TTP_CHAIN_RANKS and the chain's number. */
TTP_CHAIN_INLINE void ttp_chain_code_rank(struct ttp_chain_coder *c, struct ttp_chain_context *x,
                                          struct ttp_chain_choice *t, bool decode)
{
    struct ttp_chain_item *chains = c->view.chains;
    struct ttp_chain_numbers *numbers = &c->view.model->numbers;
    struct ttp_chain_port *o = ttp_chain_port_of(c, x);
    uint32_t usable = 0, rank = TTP_CHAIN_RANKS, walked = 0;
    uint32_t *head = &c->view.frames[t->value].chains;
    uint32_t *links[TTP_CHAIN_RANKS];
    for (uint32_t *link = head; *link != TTP_CHAIN_NONE && walked < TTP_CHAIN_RANKS;
         link = &chains[*link].next, walked++) {
        uint32_t token = *link + TTP_CHAIN_FIRST;
        if (ttp_chain_is_excluded(t, token))
            continue;
        if (!decode && token == t->token) {
            rank = usable;
            links[usable++] = link;
            break;
        }
        links[usable++] = link;
    }
    uint64_t coded = ttp_chain_number(o, &numbers->rank, rank, decode);
    if (coded < usable) {
        uint32_t *link = links[coded], id = *link;
        t->token = id + TTP_CHAIN_FIRST;
        *link = chains[id].next;
        chains[id].next = *head;
        *head = id;
        return;
    }
    if (coded != TTP_CHAIN_RANKS)
        c->rule = "O-FUL-44";
    coded = ttp_chain_number(o, &numbers->escape, t->token - TTP_CHAIN_FIRST, decode);
    if (coded >= c->view.model->chain_count || chains[coded].symbol != t->value - 1) {
        c->rule = "O-FUL-45";
        coded = *head;
    }
    t->token = (uint32_t)coded + TTP_CHAIN_FIRST;
}

/* The function is known (t->value, not 0): spine or chain, new or known, which one. */
TTP_CHAIN_INLINE void ttp_chain_code_chain(struct ttp_chain_coder *c, struct ttp_chain_context *x,
                                           struct ttp_chain_choice *t, bool decode)
{
    struct ttp_chain_model *m = c->view.model;
    struct ttp_chain_port *o = ttp_chain_port_of(c, x);
    uint32_t symbol = t->value - 1, event_class = c->symbols[symbol].event_class;
    struct ttp_chain_mix mix;
    unsigned spine = !ttp_class_chains((uint8_t)event_class);
    if (!spine && !x->defining) {
        mix.input[0] = ttp_chain_slot(c, 19, t->value, 0);
        mix.input[1] = ttp_chain_slot(c, 20, x->frame, x->count == 0);
        mix.input[2] = ttp_chain_slot(c, 21, event_class, 0);
        mix.weights = m->weights[TTP_SITE_SPINE];
        spine = ttp_chain_mixed(o, &mix, 3, t->token == (TTP_CHAIN_SYMBOL | symbol), decode);
    }
    if (spine) {
        t->token = TTP_CHAIN_SYMBOL | symbol;
        return;
    }
    uint32_t head = c->view.frames[t->value].chains;
    if (head == TTP_CHAIN_NONE) {
        t->token = TTP_CHAIN_NEW;
        return;
    }
    if (!ttp_class_pushes((uint8_t)event_class)) { /* a leaf has one chain */
        t->token = head + TTP_CHAIN_FIRST;
        return;
    }
    mix.input[0] = ttp_chain_slot(c, 22, t->value, x->defining);
    mix.input[1] = ttp_chain_slot(c, 23, t->value, x->frame);
    mix.input[2] = ttp_chain_slot(c, 24, m->novelty & 255, 0);
    mix.input[3] = ttp_chain_slot(c, 25, x->frame, 0);
    mix.input[4] = ttp_chain_slot(c, 26, ttp_chain_least(t->excluded_count, 7), x->defining);
    mix.weights = m->weights[TTP_SITE_KNOWN];
    unsigned is_new = !ttp_chain_mixed(o, &mix, 5, t->token != TTP_CHAIN_NEW, decode);
    m->novelty = m->novelty << 1 | is_new;
    t->lesson.chain[0] = ttp_chain_hash(x->frame + (7u << 24), t->value, ttp_chain_last(x, 1));
    t->lesson.chain[1] = ttp_chain_hash(x->frame + (8u << 24), t->value, 0);
    t->lesson.chain[2] = ttp_chain_hash(x->caller + (9u << 24), t->value, 0);
    t->lesson.chains = TTP_CHAIN_STEPS;
    if (is_new)
        t->token = TTP_CHAIN_NEW;
    else if (!ttp_chain_code_chain_steps(c, x, t, decode))
        ttp_chain_code_rank(c, x, t, decode);
}

/* --- the token --- */

/* Codes t->token (and t->value, its function value) in place x. */
TTP_CHAIN_INLINE void ttp_chain_code_token(struct ttp_chain_coder *c, struct ttp_chain_context *x,
                                           struct ttp_chain_choice *t, bool decode)
{
    t->excluded_count = 0;
    t->close_excluded = false;
    t->lesson.functions = t->lesson.chains = 0;
    t->was_left = x->left;
    if (ttp_chain_code_levels(c, x, t, decode)) {
        if (decode)
            t->value = t->token >= TTP_CHAIN_SYMBOL ? (t->token & ~TTP_CHAIN_SYMBOL) + 1
                       : t->token < TTP_CHAIN_FIRST
                           ? 0
                           : c->view.chains[t->token - TTP_CHAIN_FIRST].symbol + 1u;
        return;
    }
    t->was_left = x->left;
    x->left = true;
    ttp_chain_code_function(c, x, t, decode);
    if (t->value == 0)
        t->token = x->defining ? TTP_CHAIN_END : TTP_CHAIN_CLOSE;
    else if (c->rule == NULL)
        ttp_chain_code_chain(c, x, t, decode);
}

/* Teaches the records a token whose number is known now. */
static inline void ttp_chain_learn_token(struct ttp_chain_coder *c,
                                         const struct ttp_chain_lesson *l, uint32_t token,
                                         uint32_t value)
{
    const struct ttp_chain_model *m = c->view.model;
    for (uint32_t i = 0; i < l->levels; i++)
        ttp_chain_update(c->view.records, m->record_bits, l->level[i], token);
    for (uint32_t i = 0; i < l->functions; i++)
        ttp_chain_update(c->view.functions, m->function_bits, l->function[i], value);
    for (uint32_t i = 0; i < l->chains; i++)
        ttp_chain_update(c->view.functions, m->function_bits, l->chain[i], token);
}

/* Gives a chain that was just defined its number, and its place as the newest of its symbol. */
static inline uint32_t ttp_chain_add(struct ttp_chain_coder *c, uint32_t symbol, uint32_t height)
{
    uint32_t id = c->view.model->chain_count++;
    uint32_t *head = &c->view.frames[symbol + 1].chains;
    c->view.chains[id] = (struct ttp_chain_item){(uint16_t)symbol, (uint16_t)height, *head};
    *head = id;
    return id;
}

#endif
