/* The reader's only door to libcbor, whose streaming decoder hands over one head at a time and
 * allocates nothing. */
#include <cbor.h>

#include "reader/base/cbor_item.h"

static void on_number(void *context, uint64_t number)
{
    *(struct ttp_cbor_item *)context =
        (struct ttp_cbor_item){.kind = TTP_CBOR_NUMBER, .number = number};
}
static void on_u8(void *context, uint8_t n) { on_number(context, n); }
static void on_u16(void *context, uint16_t n) { on_number(context, n); }
static void on_u32(void *context, uint32_t n) { on_number(context, n); }

static void on_scalar(void *context)
{
    *(struct ttp_cbor_item *)context = (struct ttp_cbor_item){.kind = TTP_CBOR_SCALAR};
}
static void on_n8(void *context, uint8_t n) { (void)n, on_scalar(context); }
static void on_n16(void *context, uint16_t n) { (void)n, on_scalar(context); }
static void on_n32(void *context, uint32_t n) { (void)n, on_scalar(context); }
static void on_n64(void *context, uint64_t n) { (void)n, on_scalar(context); }
static void on_float(void *context, float n) { (void)n, on_scalar(context); }
static void on_double(void *context, double n) { (void)n, on_scalar(context); }
static void on_bool(void *context, bool n) { (void)n, on_scalar(context); }

static void on_sized(void *context, enum ttp_cbor_kind kind, const uint8_t *data, size_t size_bytes)
{
    *(struct ttp_cbor_item *)context =
        (struct ttp_cbor_item){.kind = kind, .data = data, .size_bytes = size_bytes};
}
static void on_text(void *context, cbor_data data, size_t size_bytes)
{
    on_sized(context, TTP_CBOR_TEXT, data, size_bytes);
}
static void on_bytes(void *context, cbor_data data, size_t size_bytes)
{
    on_sized(context, TTP_CBOR_BYTES, data, size_bytes);
}

static void on_endless(void *context, enum ttp_cbor_kind kind)
{
    *(struct ttp_cbor_item *)context = (struct ttp_cbor_item){.kind = kind, .endless = true};
}
static void on_text_start(void *context) { on_endless(context, TTP_CBOR_TEXT); }
static void on_bytes_start(void *context) { on_endless(context, TTP_CBOR_BYTES); }
static void on_list_start(void *context) { on_endless(context, TTP_CBOR_LIST); }
static void on_map_start(void *context) { on_endless(context, TTP_CBOR_MAP); }

static void on_count(void *context, enum ttp_cbor_kind kind, uint64_t count)
{
    *(struct ttp_cbor_item *)context = (struct ttp_cbor_item){.kind = kind, .number = count};
}
static void on_list(void *context, size_t count) { on_count(context, TTP_CBOR_LIST, count); }
static void on_map(void *context, size_t count) { on_count(context, TTP_CBOR_MAP, count); }
static void on_break(void *context)
{
    *(struct ttp_cbor_item *)context = (struct ttp_cbor_item){.kind = TTP_CBOR_BREAK};
}

static const struct cbor_callbacks callbacks = {
    .uint8 = on_u8,
    .uint16 = on_u16,
    .uint32 = on_u32,
    .uint64 = on_number,
    .negint8 = on_n8,
    .negint16 = on_n16,
    .negint32 = on_n32,
    .negint64 = on_n64,
    .byte_string = on_bytes,
    .byte_string_start = on_bytes_start,
    .string = on_text,
    .string_start = on_text_start,
    .array_start = on_list,
    .indef_array_start = on_list_start,
    .map_start = on_map,
    .indef_map_start = on_map_start,
    .float2 = on_float,
    .float4 = on_float,
    .float8 = on_double,
    .undefined = on_scalar,
    .null = on_scalar,
    .boolean = on_bool,
    .indef_break = on_break,
};

size_t ttp_cbor_read_item(struct ttp_cbor_item *item, const uint8_t *data, size_t size_bytes)
{
    if (size_bytes > 0 && data[0] >> 5 == 6) /* of tags libcbor 0.8 refuses some that are right */
        return ttp_cbor_read_item_small(item, data, size_bytes);
    struct cbor_decoder_result result = cbor_stream_decode(data, size_bytes, &callbacks, item);
    if (result.status == CBOR_DECODER_NEDATA)
        return TTP_CBOR_SHORT;
    return result.status == CBOR_DECODER_FINISHED && result.read != 0 ? result.read
                                                                      : TTP_CBOR_WRONG;
}
