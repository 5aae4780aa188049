/* The literal form of order. */
#include "format/order/literal.h"
#include "fuzz_codec.h"

static void require_encodable(const struct fuzz_codec *c, const struct ttp_order_out *order)
{
    struct ttp_order in = fuzz_codec_encodable(order);
    struct ttp_order_out again = fuzz_codec_order(c);
    size_t capacity = 1024 + 16 * (size_t)in.event_count + 8 * in.symbol_count;
    size_t ws = ttp_literal_encode_workspace(in.event_count, in.symbol_count);
    struct ttp_buffer header = fuzz_buffer(capacity), data = fuzz_buffer(capacity);
    if (ttp_literal_encode(&in, NULL, fuzz_workspace(ws), &header, &data, NULL) != TTAPE_OK)
        return;
    ws = ttp_literal_decode_workspace(in.event_count);
    FUZZ_REQUIRE(ttp_literal_decode(&again, fuzz_written(&header), fuzz_written(&data),
                                    fuzz_workspace(ws), NULL) == TTAPE_OK);
    fuzz_codec_require_same_order(order, &again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_codec c;
    ttape_error err = {0};
    fuzz_codec_open(&c, (struct fuzz_input){data, size}, 8192);
    const struct fuzz_input *s = c.sections;
    struct ttp_order_out order = fuzz_codec_order(&c);
    size_t ws = ttp_literal_decode_workspace(order.event_count);
    ttape_status status = ttp_literal_decode(&order, fuzz_bytes_of(s[0]), fuzz_bytes_of(s[1]),
                                             fuzz_workspace(ws), &err);
    if (status == TTAPE_OK) {
        for (uint32_t i = 0; i < order.event_count; i++)
            FUZZ_REQUIRE(order.codes[i] >> 1 < order.symbol_count);
        (void)fuzz_codec_is_sound(&c, &order);
        if (c.flags & 1)
            require_encodable(&c, &order);
    } else {
        fuzz_require_error(status, &err, size);
    }
    fuzz_release_all();
    return 0;
}
