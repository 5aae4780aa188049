/* What the instants section's encoder and decoder know alike: which frames came above which. */
#ifndef TTP_FORMAT_INSTANTS_MODEL_H
#define TTP_FORMAT_INSTANTS_MODEL_H

#include "format/base/coder.h"
#include "format/order/order.h"

#define TTP_INSTANT_SLOTS 256u
#define TTP_INSTANT_RANKS 8u

/* The frames that came last above frames of one slot, the last one first. */
struct ttp_instant_slot {
    struct ttp_symbol frames[TTP_INSTANT_RANKS];
    uint32_t count;
};

struct ttp_instant_model {
    struct ttp_number_model exponent, left, added;
    struct ttp_number_model rank;
    struct ttp_prob has_gap, is_signal;
    struct ttp_signed_model argument;
    uint32_t last_argument; /* of those that were written as they are */
    struct ttp_instant_slot slots[TTP_INSTANT_SLOTS];
};

static inline void ttp_instant_model_init(struct ttp_instant_model *m)
{
    ttp_number_init(&m->exponent);
    ttp_number_init(&m->left);
    ttp_number_init(&m->added);
    ttp_number_init(&m->rank);
    ttp_prob_init(&m->has_gap, 1, TTP_PROB_HALF);
    ttp_prob_init(&m->is_signal, 1, TTP_PROB_HALF);
    ttp_signed_init(&m->argument);
    m->last_argument = 0;
    for (uint32_t i = 0; i < TTP_INSTANT_SLOTS; i++)
        m->slots[i].count = 0;
}

/* below: NULL where the frame is the outermost one. */
static inline struct ttp_instant_slot *ttp_instant_slot_of(struct ttp_instant_model *m,
                                                           const struct ttp_symbol *below)
{
    uint32_t argument = below != NULL ? below->argument : UINT32_MAX;
    return &m->slots[argument * UINT32_C(2654435761) >> 24];
}

static inline bool ttp_instant_same(const struct ttp_symbol *a, const struct ttp_symbol *b)
{
    return a->argument == b->argument &&
           (a->event_class == TTP_CLASS_SIGNAL) == (b->event_class == TTP_CLASS_SIGNAL);
}

/* Puts what has this rank, or what is new (rank: their count), in front. */
static inline void ttp_instant_front(struct ttp_instant_slot *slot, uint32_t rank,
                                     struct ttp_symbol frame)
{
    slot->count += rank == slot->count && rank < TTP_INSTANT_RANKS;
    for (uint32_t i = rank < TTP_INSTANT_RANKS ? rank : TTP_INSTANT_RANKS - 1; i > 0; i--)
        slot->frames[i] = slot->frames[i - 1];
    slot->frames[0] = frame;
}

static inline void ttp_instant_write_frame(struct ttp_encoder *e, struct ttp_instant_model *m,
                                           const struct ttp_symbol *below, struct ttp_symbol frame)
{
    struct ttp_instant_slot *slot = ttp_instant_slot_of(m, below);
    uint32_t rank = 0;
    while (rank < slot->count && !ttp_instant_same(&slot->frames[rank], &frame))
        rank++;
    ttp_encode_number(e, &m->rank, rank);
    if (rank == slot->count) {
        ttp_encode_bit(e, &m->is_signal, frame.event_class == TTP_CLASS_SIGNAL);
        ttp_encode_signed(e, &m->argument, (int64_t)frame.argument - m->last_argument);
        m->last_argument = frame.argument;
    }
    ttp_instant_front(slot, rank, frame);
}

#endif
