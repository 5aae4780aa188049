/* libcbor's streaming decoder hands over one head at a time and allocates nothing; the nesting is
 * kept here, on a stack of fixed depth. A declared count only says how many items may still come,
 * so a giant one costs nothing.
 *
 *   level 0: the file's single item   level 1: the map's keys and values   deeper: what is skipped
 * */
#include "reader/base/cbor_decoder.h"

#include <cbor.h>
#include <string.h>

#include "format/base/fail.h"
#include "format/base/limits.h"

enum item_kind { ITEM_NUMBER, ITEM_TEXT, ITEM_BYTES, ITEM_SCALAR, ITEM_LIST, ITEM_MAP, ITEM_BREAK };

/* What one head says. */
struct item {
    enum item_kind kind;
    bool endless; /* of indefinite length: pieces, or items until a break */
    uint64_t number;
    const uint8_t *data;
    size_t size_bytes;
};

struct level {
    enum item_kind kind;
    bool endless;
    bool value_next; /* of a map: the next item is a value */
    uint64_t left;   /* items, twice the pairs of a map */
};

struct decoder {
    uint8_t *data;
    size_t size_bytes, at;
    struct level levels[TTP_MAX_CBOR_DEPTH + 1];
    uint32_t depth; /* levels[depth] is the innermost */
    struct ttp_cbor_entry entry;
    ttp_cbor_callback callback;
    void *context;
};

static void on_number(void *context, uint64_t number)
{
    *(struct item *)context = (struct item){.kind = ITEM_NUMBER, .number = number};
}
static void on_u8(void *context, uint8_t n) { on_number(context, n); }
static void on_u16(void *context, uint16_t n) { on_number(context, n); }
static void on_u32(void *context, uint32_t n) { on_number(context, n); }

static void on_scalar(void *context)
{
    *(struct item *)context = (struct item){.kind = ITEM_SCALAR};
}
static void on_n8(void *context, uint8_t n) { (void)n, on_scalar(context); }
static void on_n16(void *context, uint16_t n) { (void)n, on_scalar(context); }
static void on_n32(void *context, uint32_t n) { (void)n, on_scalar(context); }
static void on_n64(void *context, uint64_t n) { (void)n, on_scalar(context); }
static void on_float(void *context, float n) { (void)n, on_scalar(context); }
static void on_double(void *context, double n) { (void)n, on_scalar(context); }
static void on_bool(void *context, bool n) { (void)n, on_scalar(context); }

static void on_sized(void *context, enum item_kind kind, const uint8_t *data, size_t size_bytes)
{
    *(struct item *)context = (struct item){.kind = kind, .data = data, .size_bytes = size_bytes};
}
static void on_text(void *context, cbor_data data, size_t size_bytes)
{
    on_sized(context, ITEM_TEXT, data, size_bytes);
}
static void on_bytes(void *context, cbor_data data, size_t size_bytes)
{
    on_sized(context, ITEM_BYTES, data, size_bytes);
}

static void on_endless(void *context, enum item_kind kind)
{
    *(struct item *)context = (struct item){.kind = kind, .endless = true};
}
static void on_text_start(void *context) { on_endless(context, ITEM_TEXT); }
static void on_bytes_start(void *context) { on_endless(context, ITEM_BYTES); }
static void on_list_start(void *context) { on_endless(context, ITEM_LIST); }
static void on_map_start(void *context) { on_endless(context, ITEM_MAP); }

static void on_count(void *context, enum item_kind kind, uint64_t count)
{
    *(struct item *)context = (struct item){.kind = kind, .number = count};
}
static void on_list(void *context, size_t count) { on_count(context, ITEM_LIST, count); }
static void on_map(void *context, size_t count) { on_count(context, ITEM_MAP, count); }
static void on_tag(void *context, uint64_t tag)
{
    (void)tag;
    on_count(context, ITEM_LIST, 1); /* a tag is a list of the one item that it tags */
}
static void on_break(void *context) { *(struct item *)context = (struct item){.kind = ITEM_BREAK}; }

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
    .tag = on_tag,
    .float2 = on_float,
    .float4 = on_float,
    .float8 = on_double,
    .undefined = on_scalar,
    .null = on_scalar,
    .boolean = on_bool,
    .indef_break = on_break,
};

static ttape_status bad(const struct decoder *d, const char *what, ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_CORRUPT, "F-MET-01", d->at, "metadata %s", what);
}

/* The next head. Simple values that libcbor has no callback for are refused by it. */
static ttape_status next_item(struct decoder *d, struct item *item, ttape_error *err)
{
    struct cbor_decoder_result result =
        cbor_stream_decode(d->data + d->at, d->size_bytes - d->at, &callbacks, item);
    if (result.status == CBOR_DECODER_NEDATA)
        return bad(d, "ends early", err);
    if (result.status != CBOR_DECODER_FINISHED || result.read == 0)
        return bad(d, "is not well-formed CBOR", err);
    d->at += result.read;
    return TTAPE_OK;
}

/* Joins the pieces of an endless string at its first piece's place: the whole is shorter than the
 * pieces with their heads, and what is behind has not been read yet. */
static ttape_status join_pieces(struct decoder *d, struct item *item, ttape_error *err)
{
    size_t start = d->at, end = d->at;
    for (;;) {
        struct item piece = {.kind = ITEM_SCALAR};
        TTP_TRY(next_item(d, &piece, err));
        if (piece.kind == ITEM_BREAK)
            break;
        if (piece.kind != item->kind || piece.endless)
            return bad(d, "has a string with a piece of another kind", err);
        if (piece.size_bytes != 0)
            memmove(d->data + end, piece.data, piece.size_bytes);
        end += piece.size_bytes;
    }
    on_sized(item, item->kind, d->data + start, end - start);
    return TTAPE_OK;
}

static ttape_status take_key(struct decoder *d, const struct item *item, ttape_error *err)
{
    if (item->kind != ITEM_TEXT)
        return bad(d, "has a key that is not text", err);
    d->entry = (struct ttp_cbor_entry){.key = {(const char *)item->data, item->size_bytes},
                                       .type = TTAPE_METADATA_OTHER};
    return TTAPE_OK;
}

static ttape_status take_value(struct decoder *d, const struct item *item, ttape_error *err)
{
    struct ttp_cbor_entry *entry = &d->entry;
    if (item->kind == ITEM_TEXT || item->kind == ITEM_BYTES) {
        entry->text = (ttape_string){(const char *)item->data, item->size_bytes};
        entry->type = item->kind == ITEM_TEXT ? TTAPE_METADATA_TEXT : TTAPE_METADATA_OTHER;
        entry->is_bytes = item->kind == ITEM_BYTES;
    } else if (item->kind == ITEM_NUMBER) {
        entry->number = item->number;
        entry->type = TTAPE_METADATA_NUMBER;
    }
    return d->callback(d->context, entry, err);
}

/* Leaves every level that is full. */
static void leave_full(struct decoder *d)
{
    while (d->depth > 0 && !d->levels[d->depth].endless && d->levels[d->depth].left == 0)
        d->depth--;
}

static ttape_status take_break(struct decoder *d, ttape_error *err)
{
    struct level *level = &d->levels[d->depth];
    if (!level->endless || (level->kind == ITEM_MAP && level->value_next))
        return bad(d, "has a break where nothing can end", err);
    d->depth--;
    leave_full(d);
    return TTAPE_OK;
}

static ttape_status enter(struct decoder *d, const struct item *item, ttape_error *err)
{
    uint64_t left = item->number;
    if (d->depth == TTP_MAX_CBOR_DEPTH)
        return ttp_fail(err, TTAPE_E_LIMIT, "F-MET-01", d->at,
                        "metadata is nested more than %u levels deep", TTP_MAX_CBOR_DEPTH);
    if (item->kind == ITEM_MAP && __builtin_mul_overflow(left, UINT64_C(2), &left))
        return bad(d, "announces more than can be there", err);
    /* An item takes a byte at least; so this also ends the wait for a giant map early. */
    if (!item->endless && left > d->size_bytes - d->at)
        return bad(d, "announces more than can be there", err);
    d->levels[++d->depth] = (struct level){item->kind, item->endless, false, left};
    leave_full(d);
    return TTAPE_OK;
}

static ttape_status take_item(struct decoder *d, struct item *item, ttape_error *err)
{
    struct level *level = &d->levels[d->depth];
    bool container = item->kind == ITEM_LIST || item->kind == ITEM_MAP;
    if (item->kind == ITEM_BREAK)
        return take_break(d, err);
    if (d->depth == 0 && item->kind != ITEM_MAP)
        return bad(d, "is not a map", err);
    if ((item->kind == ITEM_TEXT || item->kind == ITEM_BYTES) && item->endless)
        TTP_TRY(join_pieces(d, item, err));
    if (!level->endless)
        level->left--;
    bool is_value = level->value_next;
    level->value_next = level->kind == ITEM_MAP && !is_value;
    if (d->depth == 1 && !is_value)
        TTP_TRY(take_key(d, item, err));
    else if (d->depth == 1)
        TTP_TRY(take_value(d, item, err));
    if (container)
        return enter(d, item, err);
    leave_full(d);
    return TTAPE_OK;
}

ttape_status ttp_cbor_decode(uint8_t *data, size_t size_bytes, ttp_cbor_callback callback,
                             void *context, ttape_error *err)
{
    struct decoder d = {
        .data = data, .size_bytes = size_bytes, .callback = callback, .context = context};
    d.levels[0] = (struct level){ITEM_LIST, false, false, 1};
    do {
        struct item item = {.kind = ITEM_SCALAR};
        TTP_TRY(next_item(&d, &item, err));
        TTP_TRY(take_item(&d, &item, err));
    } while (d.depth > 0);
    if (d.at != d.size_bytes)
        return bad(&d, "goes on behind its map", err);
    return TTAPE_OK;
}
