/* Heads come one at a time (cbor_item.h) and nothing is allocated; the nesting is kept here, on a
 * stack of fixed depth. A declared count only says how many items may still come, so a giant one
 * costs nothing.
 *
 *   level 0: the file's single item   level 1: the map's keys and values   deeper: what is skipped
 * */
#include "reader/base/cbor_decoder.h"

#include <string.h>

#include "format/base/fail.h"
#include "format/base/limits.h"
#include "reader/base/cbor_item.h"

#ifdef TTP_NO_LIBCBOR
#define READ_ITEM ttp_cbor_read_item_small
#else
#define READ_ITEM ttp_cbor_read_item
#endif

struct level {
    enum ttp_cbor_kind kind;
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

static ttape_status bad(const struct decoder *d, const char *what, ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_CORRUPT, "F-MET-01", d->at, "metadata %s", what);
}

/* The next head. Simple values that mean nothing here are refused. */
static ttape_status next_item(struct decoder *d, struct ttp_cbor_item *item, ttape_error *err)
{
    size_t read = READ_ITEM(item, d->data + d->at, d->size_bytes - d->at);
    if (read == TTP_CBOR_SHORT)
        return bad(d, "ends early", err);
    if (read == TTP_CBOR_WRONG)
        return bad(d, "is not well-formed CBOR", err);
    d->at += read;
    return TTAPE_OK;
}

/* Joins the pieces of an endless string at its first piece's place: the whole is shorter than the
 * pieces with their heads, and what is behind has not been read yet. */
static ttape_status join_pieces(struct decoder *d, struct ttp_cbor_item *item, ttape_error *err)
{
    size_t start = d->at, end = d->at;
    for (;;) {
        struct ttp_cbor_item piece = {.kind = TTP_CBOR_SCALAR};
        TTP_TRY(next_item(d, &piece, err));
        if (piece.kind == TTP_CBOR_BREAK)
            break;
        if (piece.kind != item->kind || piece.endless)
            return bad(d, "has a string with a piece of another kind", err);
        if (piece.size_bytes != 0)
            memmove(d->data + end, piece.data, piece.size_bytes);
        end += piece.size_bytes;
    }
    item->endless = false;
    item->data = d->data + start;
    item->size_bytes = end - start;
    return TTAPE_OK;
}

static ttape_status take_key(struct decoder *d, const struct ttp_cbor_item *item, ttape_error *err)
{
    if (item->kind != TTP_CBOR_TEXT)
        return bad(d, "has a key that is not text", err);
    d->entry = (struct ttp_cbor_entry){.key = {(const char *)item->data, item->size_bytes},
                                       .type = TTAPE_METADATA_OTHER};
    return TTAPE_OK;
}

static ttape_status take_value(struct decoder *d, const struct ttp_cbor_item *item,
                               ttape_error *err)
{
    struct ttp_cbor_entry *entry = &d->entry;
    if (item->kind == TTP_CBOR_TEXT || item->kind == TTP_CBOR_BYTES) {
        entry->text = (ttape_string){(const char *)item->data, item->size_bytes};
        entry->type = item->kind == TTP_CBOR_TEXT ? TTAPE_METADATA_TEXT : TTAPE_METADATA_OTHER;
        entry->is_bytes = item->kind == TTP_CBOR_BYTES;
    } else if (item->kind == TTP_CBOR_NUMBER) {
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
    if (!level->endless || (level->kind == TTP_CBOR_MAP && level->value_next))
        return bad(d, "has a break where nothing can end", err);
    d->depth--;
    leave_full(d);
    return TTAPE_OK;
}

static ttape_status enter_item(struct decoder *d, const struct ttp_cbor_item *item,
                               ttape_error *err)
{
    uint64_t left = item->number;
    if (d->depth == TTP_MAX_CBOR_DEPTH)
        return ttp_fail(err, TTAPE_E_LIMIT, "F-MET-01", d->at,
                        "metadata is nested more than %u levels deep", TTP_MAX_CBOR_DEPTH);
    if (item->kind == TTP_CBOR_MAP && __builtin_mul_overflow(left, UINT64_C(2), &left))
        return bad(d, "announces more than can be there", err);
    /* An item takes a byte at least; so this also ends the wait for a giant map early. */
    if (!item->endless && left > d->size_bytes - d->at)
        return bad(d, "announces more than can be there", err);
    d->levels[++d->depth] = (struct level){item->kind, item->endless, false, left};
    leave_full(d);
    return TTAPE_OK;
}

static ttape_status take_item(struct decoder *d, struct ttp_cbor_item *item, ttape_error *err)
{
    struct level *level = &d->levels[d->depth];
    bool container = item->kind == TTP_CBOR_LIST || item->kind == TTP_CBOR_MAP;
    if (item->kind == TTP_CBOR_BREAK)
        return take_break(d, err);
    if (d->depth == 0 && item->kind != TTP_CBOR_MAP)
        return bad(d, "is not a map", err);
    if ((item->kind == TTP_CBOR_TEXT || item->kind == TTP_CBOR_BYTES) && item->endless)
        TTP_TRY(join_pieces(d, item, err));
    if (!level->endless)
        level->left--;
    bool is_value = level->value_next;
    level->value_next = level->kind == TTP_CBOR_MAP && !is_value;
    if (d->depth == 1 && !is_value)
        TTP_TRY(take_key(d, item, err));
    else if (d->depth == 1)
        TTP_TRY(take_value(d, item, err));
    if (container)
        return enter_item(d, item, err);
    leave_full(d);
    return TTAPE_OK;
}

ttape_status ttp_cbor_decode(uint8_t *data, size_t size_bytes, ttp_cbor_callback callback,
                             void *context, ttape_error *err)
{
    struct decoder d = {
        .data = data, .size_bytes = size_bytes, .callback = callback, .context = context};
    d.levels[0] = (struct level){TTP_CBOR_LIST, false, false, 1};
    do {
        struct ttp_cbor_item item = {.kind = TTP_CBOR_SCALAR};
        TTP_TRY(next_item(&d, &item, err));
        TTP_TRY(take_item(&d, &item, err));
    } while (d.depth > 0);
    if (d.at != d.size_bytes)
        return bad(&d, "goes on behind its map", err);
    return TTAPE_OK;
}
