/* The full form of order: chains and data, from nothing or from a model (flag 1: the sections are a
 * model's, and an order that starts from it comes behind). */
#include "format/chain/chain_decode.h"
#include "format/chain/chain_encode.h"
#include "fuzz_codec.h"

static void require_encodable(const struct fuzz_codec *c, const struct ttp_order_out *order)
{
    struct ttp_order in = fuzz_codec_encodable(order);
    size_t capacity = 64 + 40 * (size_t)in.event_count;
    size_t ws = ttp_chain_encode_workspace(in.event_count, in.symbol_count, in.segment_count,
                                           c->frame_count, NULL);
    struct ttp_buffer header = fuzz_buffer(capacity), data = fuzz_buffer(capacity);
    if (ttp_chain_encode(&in, NULL, fuzz_workspace(ws), &header, &data, NULL, NULL) != TTAPE_OK)
        return;
    struct ttp_order_out again = fuzz_codec_order(c);
    ws = ttp_chain_decode_workspace(in.event_count, again.symbol_capacity, c->frame_count, NULL);
    FUZZ_REQUIRE(ttp_chain_decode(&again, NULL, fuzz_written(&header), fuzz_written(&data),
                                  fuzz_workspace(ws), NULL) == TTAPE_OK);
    fuzz_codec_require_same_order(order, &again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_codec c;
    ttape_error err = {0};
    fuzz_codec_open(&c, (struct fuzz_input){data, size}, 4096);
    struct ttp_chain_primer *primer = c.flags & 1 ? fuzz_codec_prime(&c) : NULL;
    struct ttp_order_out order =
        primer != NULL ? fuzz_codec_primed(&c, primer) : fuzz_codec_order(&c);
    const struct fuzz_input *s = c.sections;
    size_t ws =
        ttp_chain_decode_workspace(order.event_count, order.symbol_capacity, c.frame_count, primer);
    ttape_status status = ttp_chain_decode(&order, primer, fuzz_bytes_of(s[0]), fuzz_bytes_of(s[1]),
                                           fuzz_workspace(ws), &err);
    if (status != TTAPE_OK)
        fuzz_require_error(status, &err, size);
    else if (fuzz_codec_is_sound(&c, &order) && primer == NULL && (c.flags & 2))
        require_encodable(&c, &order);
    fuzz_release_all();
    return 0;
}
