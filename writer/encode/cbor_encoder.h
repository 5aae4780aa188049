/* The writer's door to libcbor: metadata pairs. */
#ifndef TTP_WRITER_CBOR_ENCODER_H
#define TTP_WRITER_CBOR_ENCODER_H

#include <stddef.h>
#include <stdint.h>

#define TTP_CBOR_HEAD_BYTES 9u

/* Heads of items; each writes at most TTP_CBOR_HEAD_BYTES and returns how many. The bytes of a
 * string follow its head. */
size_t ttp_cbor_map(uint64_t pairs, uint8_t out[TTP_CBOR_HEAD_BYTES]);
size_t ttp_cbor_text(uint64_t size_bytes, uint8_t out[TTP_CBOR_HEAD_BYTES]);
size_t ttp_cbor_bytes(uint64_t size_bytes, uint8_t out[TTP_CBOR_HEAD_BYTES]);
size_t ttp_cbor_number(uint64_t value, uint8_t out[TTP_CBOR_HEAD_BYTES]);

#endif
