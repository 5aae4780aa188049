/* Heads of CBOR by hand (RFC 8949, section 3):
 *
 *   | major type 3 bits | argument 5 bits | argument 0, 1, 2, 4 or 8 bytes | string ... |
 *
 * An argument of 24 to 27 stands in the bytes behind, one of 31 says that the end is a break. */
#include "reader/base/cbor_item.h"

#define ENDLESS 31u

static const struct ttp_cbor_item scalar = {.kind = TTP_CBOR_SCALAR};

/* What the head's argument takes behind its first byte, or TTP_CBOR_WRONG. */
static size_t argument_size(uint8_t info)
{
    if (info < 24 || info == ENDLESS)
        return 0;
    return info <= 27 ? (size_t)1 << (info - 24) : TTP_CBOR_WRONG;
}

static uint64_t read_number(const uint8_t *data, size_t size_bytes)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size_bytes; i++)
        number = number << 8 | data[i];
    return number;
}

/* Simple values that mean nothing, and the one of a byte of its own, are refused. */
static size_t read_simple(struct ttp_cbor_item *item, uint8_t info, size_t head_bytes)
{
    *item = scalar;
    if (info == ENDLESS)
        item->kind = TTP_CBOR_BREAK;
    return (info >= 20 && info <= 23) || info > 24 ? head_bytes : TTP_CBOR_WRONG;
}

static size_t read_string(struct ttp_cbor_item *item, const uint8_t *data, size_t size_bytes,
                          size_t head_bytes)
{
    uint64_t length = item->number;
    item->number = 0;
    if (item->endless)
        return head_bytes;
    if (length > size_bytes - head_bytes)
        return TTP_CBOR_SHORT;
    item->data = data + head_bytes;
    item->size_bytes = (size_t)length;
    return head_bytes + item->size_bytes;
}

size_t ttp_cbor_read_item_small(struct ttp_cbor_item *item, const uint8_t *data, size_t size_bytes)
{
    static const enum ttp_cbor_kind kinds[] = {TTP_CBOR_NUMBER, TTP_CBOR_SCALAR, TTP_CBOR_BYTES,
                                               TTP_CBOR_TEXT,   TTP_CBOR_LIST,   TTP_CBOR_MAP,
                                               TTP_CBOR_LIST,   TTP_CBOR_SCALAR};
    if (size_bytes == 0)
        return TTP_CBOR_SHORT;
    uint8_t major = data[0] >> 5, info = data[0] & 31;
    size_t extra = argument_size(info);
    bool is_number = major < 2, is_tag = major == 6;
    if (extra == TTP_CBOR_WRONG || (info == ENDLESS && (is_number || is_tag)))
        return TTP_CBOR_WRONG;
    if (major == 7 && info == 24)
        return TTP_CBOR_WRONG;
    if (extra > size_bytes - 1)
        return TTP_CBOR_SHORT;
    if (major == 7)
        return read_simple(item, info, 1 + extra);
    *item = (struct ttp_cbor_item){.kind = kinds[major], .endless = info == ENDLESS};
    item->number = info < 24 ? info : read_number(data + 1, extra);
    if (major == 1)
        *item = scalar;
    if (is_tag)
        item->number = 1;
    return major == 2 || major == 3 ? read_string(item, data, size_bytes, 1 + extra) : 1 + extra;
}
