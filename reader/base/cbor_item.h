/* One head of CBOR: a number, a string, or what a container begins or ends with. Two take it from
 * bytes and say the same: libcbor, and a small one of our own for builds that cannot have libcbor
 * (TTP_NO_LIBCBOR: WebAssembly). */
#ifndef TTP_READER_CBOR_ITEM_H
#define TTP_READER_CBOR_ITEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ttp_cbor_kind {
    TTP_CBOR_SCALAR, /* a negative or fractional number, a truth value, nothing */
    TTP_CBOR_NUMBER,
    TTP_CBOR_TEXT,
    TTP_CBOR_BYTES,
    TTP_CBOR_LIST, /* also a tag: a list of the one item that it tags */
    TTP_CBOR_MAP,
    TTP_CBOR_BREAK
};

/* What one head says. */
struct ttp_cbor_item {
    enum ttp_cbor_kind kind;
    bool endless; /* of indefinite length: pieces, or items until a break */
    uint64_t number;
    const uint8_t *data; /* of a string, within the bytes that it was read from */
    size_t size_bytes;
};

/* What these return in place of how many bytes an item takes. */
#define TTP_CBOR_SHORT SIZE_MAX
#define TTP_CBOR_WRONG (SIZE_MAX - 1)

size_t ttp_cbor_read_item(struct ttp_cbor_item *item, const uint8_t *data, size_t size_bytes);
size_t ttp_cbor_read_item_small(struct ttp_cbor_item *item, const uint8_t *data, size_t size_bytes);

#endif
