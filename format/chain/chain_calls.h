/* Who called whom, out of the full-form order: how often each function was called by each, without
 * going through the calls. A chain is a closed subtree, so its calls are counted once, and then as
 * often as it was used. */
#ifndef TTP_FORMAT_CHAIN_CALLS_H
#define TTP_FORMAT_CHAIN_CALLS_H

#include <tracetape/error.h>

#include "format/chain/chain_prime.h"
#include "format/order/order.h"

/* Takes calls as they are found, one caller and callee perhaps many times. caller: the symbol below
 * on the stack, and 1 more, or 0 where there is none. symbol: of class enter. */
struct ttp_chain_call_sink {
    void (*call)(void *context, uint32_t caller, uint32_t symbol, uint64_t times);
    void *context;
};

size_t ttp_chain_calls_workspace(uint32_t event_count, uint32_t symbol_capacity,
                                 uint32_t open_count, const struct ttp_chain_primer *primer);

/* As ttp_chain_decode, with the same failures; `out` needs no codes. Unwinding of frames that are
 * not there fails too (O-CHK-04, O-CHK-05). After a failure what was counted is meaningless. */
ttape_status ttp_chain_calls(struct ttp_order_out *out, const struct ttp_chain_primer *primer,
                             struct ttp_bytes header, struct ttp_bytes data,
                             struct ttp_workspace ws, struct ttp_chain_call_sink to,
                             ttape_error *err);

/* The chains, with the same workspace and failures. */
ttape_status ttp_chain_list(struct ttp_order_out *out, const struct ttp_chain_primer *primer,
                            struct ttp_bytes header, struct ttp_bytes data, struct ttp_workspace ws,
                            struct ttp_order_chain_sink to, ttape_error *err);

#endif
