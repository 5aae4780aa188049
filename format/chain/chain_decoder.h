/* The decoder of the full-form order, for what it also does: priming (chain_prime.c) and counting
 * calls (chain_calls.c). */
#ifndef TTP_FORMAT_CHAIN_DECODER_H
#define TTP_FORMAT_CHAIN_DECODER_H

#include "format/chain/chain_calls.h"
#include "format/chain/chain_decode.h"
#include "format/chain/chain_stacks.h"
#include "format/chain/chain_token.h"

struct ttp_chain_level {
    struct ttp_chain_context context;
    struct ttp_chain_lesson lesson; /* of the level's last token, while the level above is busy */
    uint32_t start;                 /* first event of the chain that is being defined */
    uint32_t height;                /* of its highest child */
    uint32_t first_child;           /* in the recorder's open children */
};

struct ttp_chain_node { /* a frame of the spine */
    uint32_t value, below;
};

struct ttp_chain_span { /* where a chain's events stand in the output */
    uint32_t start, length;
};

/* Keeps the bodies of chains, for a snapshot. */
struct ttp_chain_recorder {
    uint32_t *starts, *children; /* complete bodies; ttp_chain_decode_all says where they are */
    uint32_t *open;              /* children of the definitions in progress, outermost first */
    uint32_t open_count;
};

struct ttp_chain_expansion { /* a chain of the primer that is being written out */
    uint32_t chain, child, start;
};

/* Counts who calls whom; codes are not written. */
struct ttp_chain_counter {
    uint64_t *uses; /* of each chain: on the spine, and in the end everywhere */
    struct ttp_chain_call_sink to;
};

struct ttp_chain_decoder {
    struct ttp_order_out *out;
    struct ttp_chain_coder coder;
    struct ttp_chain_stacks stacks;
    struct ttp_chain_level *levels;
    struct ttp_chain_node *nodes; /* node 0 is the base of every stack */
    struct ttp_chain_span *spans;
    uint32_t node_count, top, stack;
    uint32_t at, end; /* events written; the end of the segment */
    const struct ttp_chain_primer *primer;
    struct ttp_chain_expansion *expansions;
    struct ttp_chain_recorder *recorder; /* NULL unless priming or counting */
    struct ttp_chain_counter *counter;   /* NULL unless counting */
    size_t ws_bytes, dense_bytes;        /* of a workspace; of that in use from the start */
};

/* Bytes of workspace, with what the decoder keeps for its recorder and its counter. */
size_t ttp_chain_decoder_bytes(struct ttp_chain_decoder *d, uint32_t event_count,
                               uint32_t symbol_capacity, uint32_t open_count);

/* Decodes with what d says: out, primer, recorder, counter. */
ttape_status ttp_chain_decode_all(struct ttp_chain_decoder *d, struct ttp_bytes header,
                                  struct ttp_bytes data, struct ttp_workspace ws, ttape_error *err);

/* Before the first segment, where the decoder counts. */
void ttp_chain_calls_start(struct ttp_chain_decoder *d);

/* A call that was decoded. */
static inline void ttp_chain_count_call(const struct ttp_chain_decoder *d, uint32_t caller,
                                        uint32_t symbol, uint64_t times)
{
    if (d->out->symbols[symbol].event_class == TTP_CLASS_ENTER)
        d->counter->to.call(d->counter->to.context, caller, symbol, times);
}

#endif
