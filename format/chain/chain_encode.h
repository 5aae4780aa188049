/* Full-form order, writing direction: a partition's codes -> header stream (definitions) + data
 * stream. */
#ifndef TTP_FORMAT_CHAIN_ENCODE_H
#define TTP_FORMAT_CHAIN_ENCODE_H

#include <tracetape/error.h>

#include "format/chain/chain_prime.h"
#include "format/order/order.h"

struct ttp_chain_options {
    const struct ttp_chain_primer *primer; /* snapshot of ttp_chain_prime to start from, or NULL */
};

struct ttp_chain_stats {
    uint32_t chains; /* defined here */
    uint32_t header_tokens, data_tokens;
    uint32_t chain_uses; /* tokens that are a chain */
    uint32_t calls;      /* frames that were pushed */
};

/* Bytes of workspace that encoding such an order takes: for 1,000,000 events less than 11 MiB
 * without a primer. `open_count` is open_start[segment_count]. */
size_t ttp_chain_encode_workspace(uint32_t event_count, uint32_t symbol_count,
                                  uint32_t segment_count, uint32_t open_count,
                                  const struct ttp_chain_options *options);

/* Encodes `in` into two byte strings; opt and stats may be NULL.
 *
 * TTAPE_E_LIMIT: it does not pay (an output passes its capacity, or there are more symbols or
 * stacks than this form takes): the caller stores the order in another form. No error detail is
 * filled in then. TTAPE_E_ARGUMENT: the workspace is too small, or symbols are not numbered by
 * first appearance. With a primer, the first symbols of `in` (within given_count) are those of the
 * primer, in its order. */
ttape_status ttp_chain_encode(const struct ttp_order *in, const struct ttp_chain_options *opt,
                              struct ttp_workspace ws, struct ttp_buffer *header,
                              struct ttp_buffer *data, struct ttp_chain_stats *stats,
                              ttape_error *err);

#endif
