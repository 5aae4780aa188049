/* libcbor's encoders write the shortest heads, which is what deterministic encoding asks for. */
#include "writer/encode/cbor_encoder.h"

#include <cbor.h>

size_t ttp_cbor_map(uint64_t pairs, uint8_t out[TTP_CBOR_HEAD_BYTES])
{
    return cbor_encode_map_start((size_t)pairs, out, TTP_CBOR_HEAD_BYTES);
}

size_t ttp_cbor_text(uint64_t size_bytes, uint8_t out[TTP_CBOR_HEAD_BYTES])
{
    return cbor_encode_string_start((size_t)size_bytes, out, TTP_CBOR_HEAD_BYTES);
}

size_t ttp_cbor_bytes(uint64_t size_bytes, uint8_t out[TTP_CBOR_HEAD_BYTES])
{
    return cbor_encode_bytestring_start((size_t)size_bytes, out, TTP_CBOR_HEAD_BYTES);
}

size_t ttp_cbor_number(uint64_t value, uint8_t out[TTP_CBOR_HEAD_BYTES])
{
    return cbor_encode_uint(value, out, TTP_CBOR_HEAD_BYTES);
}
