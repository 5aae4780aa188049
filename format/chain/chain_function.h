/* The token of the full-form order codec when all records of the levels were left: first its
 * function, then which chain of it. For both directions, as chain_token.h.
 *
 * Spec: O-FUL-33 steps, O-FUL-35 new or old symbol,
 * O-FUL-40 callees, O-FUL-41, O-FUL-42, O-FUL-43 chains.
 */
#ifndef TTP_FORMAT_CHAIN_FUNCTION_H
#define TTP_FORMAT_CHAIN_FUNCTION_H

#include "format/chain/chain_choice.h"

/* --- functions --- */

/* A value of a record that no symbol has yet. Steps and chain steps share their records: where the
 * hashes of two are the same, what looks like a value is a token. It is never the right one, and
 * its class is not asked for: a decoder does not know it. */
TTP_CHAIN_INLINE bool ttp_chain_value_unknown(const struct ttp_chain_coder *c, uint32_t value)
{
    return value > c->view.model->symbol_count;
}

/* A function value that cannot stand here. */
TTP_CHAIN_INLINE bool ttp_chain_value_misplaced(const struct ttp_chain_coder *c,
                                                const struct ttp_chain_context *x, uint32_t value)
{
    if (value == 0)
        return !x->defining && x->frame == 0;
    if (ttp_chain_value_unknown(c, value))
        return false;
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
            bool known = !ttp_chain_value_unknown(c, value);
            if (ttp_chain_mixed(ttp_chain_port_of(c, x), &m, 5, known && t->value == value,
                                decode)) {
                c->rule = known ? c->rule : "O-FUL-33";
                t->value = known ? value : 0;
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

/* That a chain step of a decoder may be followed: its record may be one of function values. */
TTP_CHAIN_INLINE bool ttp_chain_is_of(const struct ttp_chain_coder *c, uint32_t token,
                                      uint32_t value)
{
    return token >= TTP_CHAIN_FIRST && token - TTP_CHAIN_FIRST < c->view.model->chain_count &&
           c->view.chains[token - TTP_CHAIN_FIRST].symbol == value - 1;
}

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
                if (decode && !ttp_chain_is_of(c, token, t->value))
                    c->rule = "O-FUL-43";
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

#endif
