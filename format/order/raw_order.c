/* Symbol definitions stand in columns (all classes, then all arguments), because the sections are
 * compressed afterwards: the classes of most partitions are one byte over and over, and the
 * arguments, site numbers by first appearance, are mostly one more than the last. */
#include "format/order/raw_order.h"

#include "format/base/fail.h"

void ttp_symbols_write(struct ttp_writer_cursor *to, const struct ttp_order *in)
{
    uint32_t last[TTP_CLASS_COUNT] = {0};

    ttp_write_varint(to, in->symbol_count);
    for (uint32_t s = in->given_count; s < in->symbol_count; s++)
        ttp_write8(to, in->symbols[s].event_class);
    for (uint32_t s = in->given_count; s < in->symbol_count; s++) {
        struct ttp_symbol symbol = in->symbols[s];
        ttp_write_svarint(to, (int64_t)symbol.argument - (int64_t)last[symbol.event_class]);
        last[symbol.event_class] = symbol.argument;
    }
}

static ttape_status symbol_count_read(struct ttp_reader_cursor *from, struct ttp_order_out *out,
                                      ttape_error *err)
{
    uint64_t count = ttp_read_varint(from);

    if (from->bad)
        return ttp_fail(err, TTAPE_E_CORRUPT, "O-RAW-01", ttp_reader_offset(from),
                        "bad symbol count");
    if (count < out->given_count)
        return ttp_fail(err, TTAPE_E_CORRUPT, "O-RAW-02", ttp_reader_offset(from),
                        "fewer symbols than the segment table gives");
    if (count > out->symbol_capacity || count > TTP_SYMBOL_COUNT_MAX)
        return ttp_fail(err, TTAPE_E_LIMIT, "O-RAW-02", ttp_reader_offset(from),
                        "too many symbols: %llu", (unsigned long long)count);
    out->symbol_count = (uint32_t)count;
    return TTAPE_OK;
}

ttape_status ttp_symbols_read(struct ttp_reader_cursor *from, struct ttp_order_out *out,
                              ttape_error *err)
{
    int64_t last[TTP_CLASS_COUNT] = {0};

    TTP_TRY(symbol_count_read(from, out, err));
    uint32_t stored = out->symbol_count - out->given_count;
    size_t classes_at = ttp_reader_offset(from);
    const uint8_t *classes = ttp_read_bytes(from, stored);
    if (classes == NULL)
        return ttp_fail(err, TTAPE_E_TRUNCATED, "O-RAW-03", classes_at,
                        "section ends within the symbol classes");
    for (uint32_t i = 0; i < stored; i++) {
        uint8_t event_class = classes[i];
        if (event_class >= TTP_CLASS_COUNT)
            return ttp_fail(err, TTAPE_E_CORRUPT, "O-RAW-03", classes_at + i,
                            "unknown event class %u", event_class);
        /* Unsigned, because the difference may be anything; out of range shows after the addition.
         */
        int64_t argument =
            (int64_t)((uint64_t)last[event_class] + (uint64_t)ttp_read_svarint(from));
        if (from->bad)
            return ttp_fail(err, TTAPE_E_CORRUPT, "O-RAW-04", ttp_reader_offset(from),
                            "bad or missing symbol argument");
        if (argument < 0 || argument > UINT32_MAX)
            return ttp_fail(err, TTAPE_E_CORRUPT, "O-RAW-04", ttp_reader_offset(from),
                            "symbol argument out of range");
        last[event_class] = argument;
        out->symbols[out->given_count + i] =
            (struct ttp_symbol){.argument = (uint32_t)argument, .event_class = event_class};
    }
    return TTAPE_OK;
}

static unsigned code_width(uint32_t symbol_count)
{
    uint64_t codes = (uint64_t)symbol_count * 2;

    return codes <= 1u << 8 ? 1 : codes <= 1u << 16 ? 2 : codes <= 1u << 24 ? 3 : 4;
}

size_t ttp_raw_order_bound(uint32_t event_count, uint32_t symbol_count)
{
    return ttp_symbols_bound(symbol_count) + (size_t)event_count * code_width(symbol_count);
}

ttape_status ttp_raw_order_encode(const struct ttp_order *in, uint8_t *data, size_t capacity,
                                  size_t *size_bytes, ttape_error *err)
{
    struct ttp_writer_cursor to = ttp_writer_cursor_init(data, capacity);
    unsigned width = code_width(in->symbol_count);

    ttp_symbols_write(&to, in);
    uint8_t *at = ttp_claim(&to, (size_t)in->event_count * width);
    if (at == NULL)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "no room for the raw form of order");
    if (width == 1) /* most partitions: the compiler makes vectors of these two */
        for (uint32_t i = 0; i < in->event_count; i++)
            at[i] = (uint8_t)in->codes[i];
    else if (width == 2)
        for (uint32_t i = 0; i < in->event_count; i++)
            ttp_store16(at + (size_t)i * 2, (uint16_t)in->codes[i]);
    else
        for (uint32_t i = 0; i < in->event_count; i++)
            for (unsigned b = 0; b < width; b++)
                *at++ = (uint8_t)(in->codes[i] >> (8 * b));
    *size_bytes = ttp_written(&to);
    return TTAPE_OK;
}

/* Codes of one or two bytes, which most partitions have: the compiler makes vectors of it, so that
 * all are written before any is checked. False where one is of no symbol. */
static bool take_narrow(const uint8_t *at, unsigned width, struct ttp_order_out *out)
{
    uint32_t *codes = out->codes, count = out->event_count, any = 0;

    if (width == 1)
        for (uint32_t i = 0; i < count; i++) {
            codes[i] = at[i];
            any |= codes[i] < 2 * out->symbol_count ? 0 : 1u;
        }
    else
        for (uint32_t i = 0; i < count; i++) {
            codes[i] = ttp_load16(at + (size_t)i * 2);
            any |= codes[i] < 2 * out->symbol_count ? 0 : 1u;
        }
    return any == 0;
}

ttape_status ttp_raw_order_decode(const uint8_t *data, size_t size_bytes, struct ttp_order_out *out,
                                  ttape_error *err)
{
    struct ttp_reader_cursor from = ttp_reader_cursor_init(data, size_bytes);

    TTP_TRY(ttp_symbols_read(&from, out, err));
    unsigned width = code_width(out->symbol_count);
    size_t wanted = (size_t)out->event_count * width, left = ttp_reader_left(&from);
    if (left != wanted)
        return ttp_fail(err, left < wanted ? TTAPE_E_TRUNCATED : TTAPE_E_CORRUPT, "O-RAW-05",
                        left < wanted ? size_bytes : size_bytes - left + wanted,
                        "raw order has %zu bytes of codes, wants %zu", left, wanted);
    if (width <= 2 && take_narrow(from.at, width, out))
        return TTAPE_OK;
    for (uint32_t i = 0; i < out->event_count; i++, from.at += width) {
        uint32_t code = 0;
        for (unsigned b = 0; b < width; b++)
            code |= (uint32_t)from.at[b] << (8 * b);
        if (code >> 1 >= out->symbol_count)
            return ttp_fail(err, TTAPE_E_CORRUPT, "O-RAW-06", ttp_reader_offset(&from),
                            "code '%u' of an undefined symbol", code);
        out->codes[i] = code;
    }
    return TTAPE_OK;
}
