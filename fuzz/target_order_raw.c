/* The raw form of order: what decodes, encodes to the same bytes. */
#include <string.h>

#include "format/order/raw_order.h"
#include "fuzz_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_codec c;
    ttape_error err = {0};
    fuzz_codec_open(&c, (struct fuzz_input){data, size}, 65536);
    struct fuzz_input s = c.sections[0];
    struct ttp_order_out order = fuzz_codec_order(&c);
    ttape_status status = ttp_raw_order_decode(s.data, s.size, &order, &err);
    if (status == TTAPE_OK) {
        struct ttp_order in = fuzz_codec_encodable(&order);
        size_t capacity = ttp_raw_order_bound(in.event_count, in.symbol_count), bytes;
        uint8_t *out = fuzz_take(capacity);
        for (uint32_t i = 0; i < order.event_count; i++)
            FUZZ_REQUIRE(order.codes[i] >> 1 < order.symbol_count);
        (void)fuzz_codec_is_sound(&c, &order);
        FUZZ_REQUIRE(ttp_raw_order_encode(&in, out, capacity, &bytes, NULL) == TTAPE_OK);
        FUZZ_REQUIRE(bytes == s.size && memcmp(out, s.data, bytes) == 0);
    } else {
        fuzz_require_error(status, &err, size);
    }
    fuzz_release_all();
    return 0;
}
