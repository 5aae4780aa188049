/* One token of the full-form order codec, written once for both directions: `decode` is a constant
 * at every call, so that the encoder and the decoder are the same text and cannot drift apart.
 *
 *   levels (4 contexts, 2 successors each) -> token
 *     `- all left: function (3 contexts, then known callees, then any symbol, new or known)
 *          `- data section: spine or chain? -> new or known chain -> 3 contexts -> recency rank
 *
 * Spec: O-FUL-29 misplaced, O-FUL-30 hashes, O-FUL-31 sure, O-FUL-32 levels, O-FUL-48 learning. */
#ifndef TTP_FORMAT_CHAIN_TOKEN_H
#define TTP_FORMAT_CHAIN_TOKEN_H

#include "format/chain/chain_function.h"

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

/* Only uses of chains repeat. */
TTP_CHAIN_INLINE bool ttp_chain_repeatable(const struct ttp_chain_record *r)
{
    return r->count[0] != 0 && r->next[0] >= TTP_CHAIN_FIRST && r->next[0] < TTP_CHAIN_SYMBOL;
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
    bool predicts = ttp_chain_repeatable(r);
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
