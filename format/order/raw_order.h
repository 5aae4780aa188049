/* The raw form of order: symbol definitions, then every code as a little-endian integer of the
 * fewest bytes. The fallback of every other form, and the first thing that a new reader can write.
 * spec/raw.md.
 *
 *   symbol_count | class x n | argument x n | code x event_count       (n = symbol_count -
 * given_count)
 *
 * A code takes 1 to 4 bytes, the fewest that hold 2 * symbol_count - 1.
 *
 * Nothing here checks what codes mean; format/order/order_check.h does. Thread-safe: no state. */
#ifndef TTP_FORMAT_RAW_ORDER_H
#define TTP_FORMAT_RAW_ORDER_H

#include "format/base/bytes.h"
#include "format/order/order.h"

/* Symbol numbers stop here, so that a code, symbol << 1 | close, fits 32 bits. */
#define TTP_SYMBOL_COUNT_MAX (UINT32_C(1) << 31)

/* Bytes that ttp_symbols_write needs at most: a count, and a class and an argument each. */
static inline size_t ttp_symbols_bound(uint32_t symbol_count)
{
    return 5 + (size_t)symbol_count * 6;
}

/* Appends the definitions that the segment table does not give; shared with the literal form. */
void ttp_symbols_write(struct ttp_writer_cursor *to, const struct ttp_order *in);

/* Reads them back into out->symbols[given_count ...] and sets out->symbol_count. On failure `out`
 * holds some of them. TTAPE_E_TRUNCATED, TTAPE_E_CORRUPT, or TTAPE_E_LIMIT when there are more than
 * symbol_capacity. */
ttape_status ttp_symbols_read(struct ttp_reader_cursor *from, struct ttp_order_out *out,
                              ttape_error *err);

/* Bytes that the whole section takes at most. */
size_t ttp_raw_order_bound(uint32_t event_count, uint32_t symbol_count);

/* TTAPE_E_ARGUMENT where `capacity` is smaller than what is written; ttp_raw_order_bound always
 * suffices. */
ttape_status ttp_raw_order_encode(const struct ttp_order *in, uint8_t *data, size_t capacity,
                                  size_t *size_bytes, ttape_error *err);

/* Offsets in errors count from the start of `data`. TTAPE_E_TRUNCATED, TTAPE_E_CORRUPT,
 * TTAPE_E_LIMIT. */
ttape_status ttp_raw_order_decode(const uint8_t *data, size_t size_bytes, struct ttp_order_out *out,
                                  ttape_error *err);

#endif
