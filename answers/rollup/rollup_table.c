/* Strings, functions and rows by what they are. Slots are found under a secret, entries of one hash
 * are a list: what is compared is what they say (R-FUN-04). */
#include "answers/rollup/rollup_internal.h"
#include "base/ordered.h"
#include "reader/definitions/site_words.h"

static uint64_t hash_of(struct ttp_key_map *map, const void *data, size_t size_bytes)
{
    struct ttp_hash hash = ttp_key_map_hash(map);
    ttp_hash_bytes(&hash, data, size_bytes);
    return hash.low ^ hash.high;
}

static uint32_t *slot_of(ttape_rollup *r, struct ttp_key_map *map, uint64_t key)
{
    if (ttp_key_map_is_full(map) && !ttp_region_grow_map(&r->region, map))
        return NULL;
    return ttp_key_map_at(map, key, TTAPE_NONE);
}

uint32_t ttp_rollup_take_string(ttape_rollup *r, ttape_string text)
{
    if (text.size_bytes == 0)
        return 0;
    uint32_t *first =
        slot_of(r, &r->string_map, hash_of(&r->string_map, text.data, text.size_bytes));
    if (first == NULL)
        return TTAPE_NONE;
    for (uint32_t at = *first; at != TTAPE_NONE; at = r->strings[at].next)
        if (r->strings[at].size == text.size_bytes &&
            memcmp(r->strings[at].data, text.data, text.size_bytes) == 0)
            return at;
    char *copy = ttp_region_copy(&r->region, text.data, text.size_bytes);
    struct ttp_rollup_string *string = ttp_region_add(&r->region, &r->strings, &r->string_count,
                                                      &r->string_capacity, sizeof *string);
    if (copy == NULL || string == NULL)
        return TTAPE_NONE;
    *string = (struct ttp_rollup_string){copy, (uint32_t)text.size_bytes, *first, 0};
    r->is_settled = false;
    return *first = (uint32_t)r->string_count - 1;
}

int ttp_rollup_compare_texts(const ttape_rollup *r, uint32_t a, uint32_t b)
{
    return a == b ? 0 : ttp_compare_strings(ttp_rollup_text(r, a), ttp_rollup_text(r, b));
}

static bool is_same(const struct ttp_rollup_function *a, const struct ttp_rollup_function *b)
{
    return a->symbol == b->symbol && a->build == b->build && a->file == b->file &&
           a->line == b->line && a->kind == b->kind && a->offset == b->offset &&
           (a->build != 0 || a->path == b->path);
}

uint32_t ttp_rollup_take_function(ttape_rollup *r, const struct ttp_rollup_function *like)
{
    const uint64_t words[] = {
        (uint64_t)like->symbol << 32 | like->build, (uint64_t)like->file << 32 | like->line,
        (uint64_t)like->kind << 32 | (like->build != 0 ? 0 : like->path), like->offset};
    struct ttp_hash hash = ttp_key_map_hash(&r->function_map);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        ttp_hash_word(&hash, words[i]);
    uint32_t *first = slot_of(r, &r->function_map, hash.low ^ hash.high);
    if (first == NULL)
        return TTAPE_NONE;
    for (uint32_t at = *first; at != TTAPE_NONE; at = r->functions[at].next) {
        struct ttp_rollup_function *function = &r->functions[at];
        if (!is_same(function, like))
            continue;
        if (ttp_rollup_compare_texts(r, like->path, function->path) < 0) {
            function->path = like->path;
            r->is_settled = false;
        }
        return at;
    }
    struct ttp_rollup_function *function = ttp_region_add(
        &r->region, &r->functions, &r->function_count, &r->function_capacity, sizeof *function);
    if (function == NULL)
        return TTAPE_NONE;
    *function = *like;
    function->next = *first;
    r->is_settled = false;
    return *first = (uint32_t)r->function_count - 1;
}

uint32_t ttp_rollup_take_row(ttape_rollup *r, uint32_t function, uint32_t caller)
{
    uint32_t *row = slot_of(r, &r->row_map, (uint64_t)function << 32 | caller);
    if (row == NULL || *row != TTAPE_NONE)
        return row != NULL ? *row : TTAPE_NONE;
    struct ttp_rollup_row *made =
        ttp_region_add(&r->region, &r->rows, &r->row_count, &r->row_capacity, sizeof *made);
    if (made == NULL)
        return TTAPE_NONE;
    made->function = function;
    made->caller = caller;
    r->is_settled = false;
    return *row = (uint32_t)r->row_count - 1;
}

uint32_t ttp_rollup_take_unit(ttape_rollup *r, uint64_t unit_ns)
{
    for (uint32_t i = 0; i < r->unit_count; i++)
        if (r->units[i] == unit_ns)
            return i;
    if (r->unit_count == TTP_ROLLUP_UNITS_MAX)
        return TTAPE_NONE;
    r->units[r->unit_count] = unit_ns;
    return r->unit_count++;
}
