/* Full-form order, reading direction: header stream + data stream -> a partition's codes and
 * symbols. Any bytes are safe: time and memory are bounded by the event count, which the caller
 * bounds. */
#ifndef TTP_FORMAT_CHAIN_DECODE_H
#define TTP_FORMAT_CHAIN_DECODE_H

#include <tracetape/error.h>

#include "format/chain/chain_prime.h"
#include "format/order/order.h"

/* Bytes of workspace that decoding such an order takes: for 1,000,000 events less than 12 MiB
 * without a primer. `open_count` is open_start[segment_count]; primer: a snapshot of
 * ttp_chain_prime, or NULL. */
size_t ttp_chain_decode_workspace(uint32_t event_count, uint32_t symbol_capacity,
                                  uint32_t open_count, const struct ttp_chain_primer *primer);
/* How much of it, and of what counting calls and priming take, is in use from the start: behind
 * that are arrays of which most is never touched. */
size_t ttp_chain_decode_dense(uint32_t event_count, uint32_t symbol_capacity, uint32_t open_count,
                              const struct ttp_chain_primer *primer);

/* Decodes. On failure the content of out->codes and of
 * out->symbols past given_count is unspecified; err->offset counts in the stream that err->message
 * names. */
ttape_status ttp_chain_decode(struct ttp_order_out *out, const struct ttp_chain_primer *primer,
                              struct ttp_bytes header, struct ttp_bytes data,
                              struct ttp_workspace ws, ttape_error *err);

#endif
