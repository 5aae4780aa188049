/* The literal form of order: chains made from sequence-frequency records, and pointers to them with
 * a bit sequence. spec/order-literal.md is enough to write either side in an afternoon.
 *
 *   codes --count--> records --threshold--> chains --> header: symbols | chain lengths | base,
 * delta, delta ...
 *     '----------------- pointer + bits -----------------------> data: (position, bits [, repeat
 * count]) ...
 *
 * Neither section is entropy-coded: they are made for a general compressor behind them. Pure and
 * thread-safe: memory is the caller's, and nothing outlives a call. */
#ifndef TTP_FORMAT_LITERAL_H
#define TTP_FORMAT_LITERAL_H

#include "format/order/order.h"

/* Positions of all stored chains together. It bounds the decoder's memory, and real programs need
 * 10,000. */
#define TTP_LITERAL_POSITIONS_MAX 65536u

/* The bits after a pointer: the byte that is the escape, and the successors that it stands for by
 * itself. */
#define TTP_LITERAL_ESCAPE       0xffu
#define TTP_LITERAL_ESCAPE_COUNT 8u

/* When a successor belongs in an event's record: how often it followed, and in how many thousandths
 * of the event's occurrences. 0 means default: one in 1,024 of the partition's events, at least 8;
 * and 900. Counts below 2 are taken as 2, shares below 501 as 501 (so that an event has one such
 * successor at most), shares above 1000 as 1000. */
struct ttp_literal_options {
    uint32_t min_count;
    uint32_t min_share_permille;
};

/* Bytes; at most 17 MiB for 1,000,000 events. Any alignment of the workspace will do. */
size_t ttp_literal_encode_workspace(uint32_t event_count, uint32_t symbol_count);

/* Capacities that suffice for every input. */
size_t ttp_literal_header_bound(uint32_t event_count, uint32_t symbol_count);
size_t ttp_literal_data_bound(uint32_t event_count);

/* Encodes `in` into two sections; `opt` may be NULL. Deterministic: same input and options, same
 * bytes.
 *
 * "Does not pay" is TTAPE_E_LIMIT: a section would not fit its capacity, or there are more symbols
 * than both 65,536 and a quarter of the events. The caller then stores the raw form; what is in the
 * buffers means nothing. Random events pass the raw form's size, and so do those of a program with
 * short chains and few functions, which zstd makes smaller than the raw form even so.
 *
 * TTAPE_E_ARGUMENT when the workspace is less than ttp_literal_encode_workspace says. */
ttape_status ttp_literal_encode(const struct ttp_order *in, const struct ttp_literal_options *opt,
                                struct ttp_workspace ws, struct ttp_buffer *header,
                                struct ttp_buffer *data, ttape_error *err);

/* Bytes; at most 769 KiB, however many events. */
size_t ttp_literal_decode_workspace(uint32_t event_count);

/* Fills out->codes, out->symbols and out->symbol_count. Every code names a defined symbol
 * afterwards; what the codes do to the stacks, ttp_order_check verifies. Offsets in errors count
 * from the start of the section that the message names. TTAPE_E_TRUNCATED, TTAPE_E_CORRUPT,
 * TTAPE_E_LIMIT (too many symbols); TTAPE_E_ARGUMENT (workspace). */
ttape_status ttp_literal_decode(struct ttp_order_out *out, struct ttp_bytes header,
                                struct ttp_bytes data, struct ttp_workspace ws, ttape_error *err);

/* The chains instead of the codes: `out` needs none. The same failures. */
size_t ttp_literal_list_workspace(uint32_t event_count);
ttape_status ttp_literal_list(struct ttp_order_out *out, struct ttp_bytes header,
                              struct ttp_bytes data, struct ttp_workspace ws,
                              struct ttp_order_chain_sink to, ttape_error *err);

#endif
