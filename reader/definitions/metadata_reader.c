/* Entries are appended chunk by chunk. Within a chunk a key must not stand twice; over the chunks
 * of a scope the last value of a key stands, where the first stood: both are found by sorting,
 * so that many keys cost little. */
#include "reader/definitions/metadata_reader.h"

#include <string.h>

#include "base/sort.h"
#include "base/text.h"
#include "format/base/fail.h"
#include "format/base/limits.h"
#include "reader/base/cbor_decoder.h"

struct taker {
    struct ttp_definition_tables *tables;
    uint32_t scope;
    bool has_trace_id;
    uint8_t trace_id[TTP_TRACE_ID_BYTES];
};

static ttape_status take_entry(void *context, const struct ttp_cbor_entry *entry, ttape_error *err)
{
    struct taker *taker = context;
    struct ttp_definition_tables *d = taker->tables;
    if (d->metadata_count == TTP_MAX_METADATA)
        return ttp_fail(err, TTAPE_E_LIMIT, "F-MET-01", TTAPE_ERROR_NO_OFFSET,
                        "file has more than %u metadata entries", TTP_MAX_METADATA);
    if (entry->key.size_bytes > d->limits->string_bytes ||
        entry->text.size_bytes > d->limits->string_bytes)
        return ttp_fail(err, TTAPE_E_LIMIT, "F-MET-01", TTAPE_ERROR_NO_OFFSET,
                        "a metadata string is longer than %u bytes", d->limits->string_bytes);
    if (ttp_text_is(entry->key, "trace_id") && entry->is_bytes &&
        entry->text.size_bytes == TTP_TRACE_ID_BYTES) {
        taker->has_trace_id = true;
        memcpy(taker->trace_id, entry->text.data, TTP_TRACE_ID_BYTES);
    }
    TTP_TRY(ttp_memory_reserve(d->memory, &d->metadata, &d->metadata_capacity,
                               d->metadata_count + 1ull, sizeof *d->metadata, err));
    d->metadata[d->metadata_count++] = (struct ttp_read_metadata){
        entry->key, entry->text, entry->number, taker->scope, entry->type};
    return TTAPE_OK;
}

static int compare_keys(const struct ttp_read_metadata *a, const struct ttp_read_metadata *b)
{
    return a->scope != b->scope ? (a->scope > b->scope) - (a->scope < b->scope)
                                : ttp_compare_strings(a->key, b->key);
}

static bool entry_less(const void *context, uint32_t a, uint32_t b)
{
    const struct ttp_read_metadata *entries = context;
    int order = compare_keys(&entries[a], &entries[b]);
    return order != 0 ? order < 0 : a < b;
}

/* Numbers of the entries from `first` on, sorted by scope, key and number; NULL without memory. */
static uint32_t *sorted_entries(struct ttp_definition_tables *d, uint32_t first, ttape_error *err)
{
    uint32_t count = d->metadata_count - first;
    uint32_t *order = ttp_memory_take(d->memory, count, sizeof *order, err);
    if (order == NULL)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        order[i] = first + i;
    ttp_sort(order, count, entry_less, d->metadata);
    return order;
}

static ttape_status check_duplicates(struct ttp_definition_tables *d, uint32_t first,
                                     ttape_error *err)
{
    uint32_t count = d->metadata_count - first;
    bool twice = false;
    uint32_t *order = sorted_entries(d, first, err);
    if (order == NULL)
        return d->memory->status;
    for (uint32_t i = 1; i < count; i++)
        twice = twice || compare_keys(&d->metadata[order[i - 1]], &d->metadata[order[i]]) == 0;
    ttp_memory_give(d->memory, order, count, sizeof *order);
    if (twice)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-MET-01", 0, "metadata has a key twice");
    return TTAPE_OK;
}

static ttape_status add_scope(struct ttp_definition_tables *d, const struct taker *taker,
                              ttape_error *err)
{
    if (!taker->has_trace_id)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-MET-02", 0,
                        "first metadata of scope '%u' has no trace id", taker->scope);
    if (d->scope_count == TTP_MAX_SCOPES)
        return ttp_fail(err, TTAPE_E_LIMIT, "F-CHK-09", 0, "file has more than %u scopes",
                        TTP_MAX_SCOPES);
    TTP_TRY(ttp_memory_reserve(d->memory, &d->scopes, &d->scope_capacity, d->scope_count + 1ull,
                               sizeof *d->scopes, err));
    d->scopes[d->scope_count] = (struct ttp_read_scope){0};
    memcpy(d->scopes[d->scope_count].trace_id, taker->trace_id, TTP_TRACE_ID_BYTES);
    d->scope_count++;
    return TTAPE_OK;
}

ttape_status ttp_metadata_add(struct ttp_definition_tables *d, const struct ttp_chunk *chunk,
                              uint8_t *content, size_t size_bytes, ttape_error *err)
{
    struct taker taker = {.tables = d, .scope = chunk->scope};
    uint32_t first = d->metadata_count;
    if (chunk->flags & TTP_FLAG_ZSTD)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-MET-01", 0, "metadata is compressed");
    if (chunk->scope > d->scope_count)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-CHK-09", 0,
                        "metadata introduces scope '%u' where '%u' is next", chunk->scope,
                        d->scope_count);
    TTP_TRY(ttp_cbor_decode(content, size_bytes, take_entry, &taker, err));
    TTP_TRY(check_duplicates(d, first, err));
    return chunk->scope < d->scope_count ? TTAPE_OK : add_scope(d, &taker, err);
}

ttape_status ttp_definitions_settle(struct ttp_definition_tables *d, ttape_error *err)
{
    uint32_t count = d->metadata_count, kept = 0;
    uint32_t *order = sorted_entries(d, 0, err);
    if (order == NULL)
        return d->memory->status;
    for (uint32_t i = 0; i < count;) {
        uint32_t end = i + 1;
        while (end < count && compare_keys(&d->metadata[order[i]], &d->metadata[order[end]]) == 0)
            end++;
        uint32_t at = order[i];
        d->metadata[at] = d->metadata[order[end - 1]];
        while (++i < end)
            d->metadata[order[i]].type = UINT32_MAX; /* superseded */
    }
    for (uint32_t i = 0; i < count; i++)
        if (d->metadata[i].type != UINT32_MAX)
            d->metadata[kept++] = d->metadata[i];
    d->metadata_count = kept;
    ttp_memory_give(d->memory, order, count, sizeof *order);
    return TTAPE_OK;
}
