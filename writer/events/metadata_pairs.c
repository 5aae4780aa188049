/* Bytes of pairs are appended to d->metadata and stay where they are; d->pairs says where each
 * key's last ones are. Keys are looked for one by one, by their hashes: they are few, and never
 * more than TTP_MAX_METADATA. */
#include "writer/events/metadata_pairs.h"

#include <string.h>

#include "format/base/checksum.h"
#include "format/base/fail.h"
#include "format/base/limits.h"
#include "writer/encode/cbor_encoder.h"

struct pair {
    uint64_t key_hash;
    size_t start, bytes; /* in d->metadata */
    size_t key_start, key_bytes;
};

static struct pair *find_pair(const struct ttp_definitions *d, uint64_t hash, ttape_string key)
{
    struct pair *pairs = d->pairs.data;
    for (size_t i = 0; i < d->pairs.count; i++)
        if (pairs[i].key_hash == hash && pairs[i].key_bytes == key.size_bytes &&
            memcmp((const uint8_t *)d->metadata.data + pairs[i].key_start, key.data,
                   key.size_bytes) == 0)
            return &pairs[i];
    return NULL;
}

static bool is_own(ttape_string key)
{
    static const char own[] = "trace_id"; /* written with the scope itself (F-MET-02) */
    return key.size_bytes == sizeof own - 1 && memcmp(key.data, own, sizeof own - 1) == 0;
}

ttape_status ttp_metadata_set(ttape_writer *w, struct ttp_scope *scope, ttape_string key,
                              const uint8_t *head, size_t head_bytes, ttape_string text,
                              ttape_error *err)
{
    struct ttp_definitions *d = &scope->fresh;
    const ttape_allocator *a = &w->allocator;
    uint8_t key_head[TTP_CBOR_HEAD_BYTES];
    key.data = key.size_bytes == 0 ? "" : key.data;
    if (key.size_bytes > TTP_MAX_STRING_BYTES || text.size_bytes > TTP_MAX_STRING_BYTES)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "F-MET-01", TTAPE_ERROR_NO_OFFSET,
                        "metadata is too long");
    if (is_own(key))
        return ttp_fail(err, TTAPE_E_ARGUMENT, "F-MET-02", TTAPE_ERROR_NO_OFFSET,
                        "metadata key 'trace_id' cannot be set");
    struct pair pair = {.key_hash = ttp_checksum(key.data, key.size_bytes),
                        .start = d->metadata.count,
                        .key_bytes = key.size_bytes};
    TTP_TRY(
        ttp_push_bytes(a, &d->metadata, key_head, ttp_cbor_text(key.size_bytes, key_head), err));
    pair.key_start = d->metadata.count;
    TTP_TRY(ttp_push_bytes(a, &d->metadata, key.data, key.size_bytes, err));
    TTP_TRY(ttp_push_bytes(a, &d->metadata, head, head_bytes, err));
    TTP_TRY(ttp_push_bytes(a, &d->metadata, text.data, text.size_bytes, err));
    pair.bytes = d->metadata.count - pair.start;
    struct pair *place = find_pair(d, pair.key_hash, key);
    if (place == NULL) {
        if (d->pairs.count == TTP_MAX_METADATA)
            return ttp_fail(err, TTAPE_E_LIMIT, "F-MET-01", TTAPE_ERROR_NO_OFFSET,
                            "more than %u metadata keys", TTP_MAX_METADATA);
        place = ttp_push(a, &d->pairs, sizeof *place, err);
        if (place == NULL)
            return TTAPE_E_MEMORY;
        d->metadata_count++;
    }
    *place = pair;
    return TTAPE_OK;
}

ttape_status ttp_metadata_collect(ttape_writer *w, struct ttp_definitions *d,
                                  struct ttp_growing *to, uint32_t *count, ttape_error *err)
{
    const struct pair *pairs = d->pairs.data;
    for (size_t i = 0; i < d->pairs.count; i++)
        TTP_TRY(ttp_push_bytes(&w->allocator, to,
                               (const uint8_t *)d->metadata.data + pairs[i].start, pairs[i].bytes,
                               err));
    *count = d->metadata_count;
    d->metadata.count = d->pairs.count = 0;
    d->metadata_count = 0;
    return TTAPE_OK;
}
