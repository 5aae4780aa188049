/* A list in order of use, and chains by number: a file of a million partitions costs a decoder
 * nothing until it decodes some. */
#include "reader/cache/cache.h"
#include "reader/base/choice.h"

#include "format/base/fail.h"
#include "reader/cache/prefetch.h"
#include "reader/decoder_pool.h"
#include "reader/partition/partition_decoder.h"

static void unlink_loaded(struct ttp_cache *cache, struct ttp_loaded *p)
{
    *(p->newer != NULL ? &p->newer->older : &cache->newest) = p->older;
    *(p->older != NULL ? &p->older->newer : &cache->oldest) = p->newer;
    p->newer = p->older = NULL;
}

static void link_newest(struct ttp_cache *cache, struct ttp_loaded *p)
{
    p->older = cache->newest;
    *(cache->newest != NULL ? &cache->newest->newer : &cache->oldest) = p;
    cache->newest = p;
}

/* ---- by number ---- */

#define FIRST_NUMBERS 64u

static struct ttp_loaded **chain_of(const struct ttp_cache *cache, uint32_t partition)
{
    return &cache->by_number[partition & (cache->number_capacity - 1)];
}

struct ttp_loaded *ttp_cache_find(const struct ttp_trace_decoder *d, uint32_t partition)
{
    const struct ttp_cache *cache = &d->cache;
    if (cache->newest != NULL && cache->newest->partition == partition)
        return cache->newest;
    struct ttp_loaded *p = cache->number_capacity != 0 ? *chain_of(cache, partition) : NULL;
    while (p != NULL && p->partition != partition)
        p = p->same_chain;
    return p;
}

static void add_number(struct ttp_cache *cache, struct ttp_loaded *p)
{
    struct ttp_loaded **chain = chain_of(cache, p->partition);
    p->same_chain = *chain;
    *chain = p;
    cache->count++;
}

static void remove_number(struct ttp_cache *cache, const struct ttp_loaded *p)
{
    struct ttp_loaded **at = chain_of(cache, p->partition);
    while (*at != p)
        at = &(*at)->same_chain;
    *at = p->same_chain;
    cache->count--;
}

static void free_numbers(struct ttp_trace_decoder *d, struct ttp_loaded **by_number,
                         uint32_t capacity)
{
    if (by_number != NULL)
        ttp_memory_give(&d->memory, by_number, capacity, sizeof(struct ttp_loaded *));
}

/* Room for one more. */
static ttape_status grow_numbers(struct ttp_trace_decoder *d, ttape_error *err)
{
    struct ttp_cache *cache = &d->cache;
    uint32_t before = cache->number_capacity, after = before != 0 ? 2 * before : FIRST_NUMBERS;
    struct ttp_loaded **old = cache->by_number;
    if (cache->count < before)
        return TTAPE_OK;
    struct ttp_loaded **grown =
        ttp_memory_take(&d->memory, after, sizeof(struct ttp_loaded *), err);
    if (grown == NULL)
        return d->memory.status;
    for (uint32_t i = 0; i < after; i++)
        grown[i] = NULL;
    cache->by_number = grown;
    cache->number_capacity = after;
    cache->count = 0;
    for (struct ttp_loaded *p = cache->newest; p != NULL; p = p->older)
        add_number(cache, p);
    free_numbers(d, old, before);
    return TTAPE_OK;
}

/* ---- giving up ---- */

/* More bytes, or modulo 2^64 fewer ones. */
static void count_bytes(struct ttp_trace_decoder *d, uint64_t more)
{
    d->cache.used_bytes += more;
    atomic_fetch_add_explicit(&d->pool->cached_bytes, more, memory_order_relaxed);
}

static void evict(struct ttp_trace_decoder *d, struct ttp_loaded *p)
{
    unlink_loaded(&d->cache, p);
    remove_number(&d->cache, p);
    count_bytes(d, 0 - p->used_bytes);
    ttp_loaded_drop(d, p, 0);
    ttp_memory_give(&d->memory, p, 1, sizeof *p);
}

void ttp_cache_shrink(struct ttp_trace_decoder *d, uint64_t most_bytes)
{
    while (d->cache.oldest != NULL && d->cache.used_bytes > most_bytes)
        evict(d, d->cache.oldest);
}

void ttp_cache_clear(struct ttp_trace_decoder *d)
{
    while (d->cache.oldest != NULL)
        evict(d, d->cache.oldest);
}

void ttp_cache_close(struct ttp_trace_decoder *d)
{
    free_numbers(d, d->cache.by_number, d->cache.number_capacity);
    d->cache = (struct ttp_cache){0};
}

/* ---- reading ---- */

/* The next stage; or, with a range, within stage ORDER what the range still needs. */
static ttape_status read_more(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                              const struct ttp_range *range, ttape_error *err)
{
    if (range != NULL) {
        if (range->values)
            TTP_TRY(ttp_loaded_read_values(d, p, err));
        return p->stage > TTP_STAGE_ORDER ? TTAPE_OK : ttp_loaded_extend(d, p, range, err);
    }
    switch (p->stage + 1) {
    case TTP_STAGE_LIGHT: return ttp_loaded_read_light(d, p, err);
    case TTP_STAGE_ORDER: return ttp_loaded_prepare(d, p, err);
    case TTP_STAGE_EVENTS: return ttp_loaded_complete(d, p, err);
    default: return ttp_loaded_read_values(d, p, err);
    }
}

/* Bytes that partitions take: models and the decompressor come and go while one is decoded. */
static uint64_t partition_bytes(const struct ttp_trace_decoder *d)
{
    return d->memory.used_bytes - d->kept_model_bytes - d->zstd.charged_bytes;
}

/* One try: on failure the partition is as it was. */
static ttape_status try_more(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                             const struct ttp_range *range, bool alone, ttape_error *err)
{
    if (alone)
        ttp_decoding_begin_alone(d->pool);
    else
        ttp_decoding_begin(d->pool);
    uint64_t before = partition_bytes(d);
    d->memory.status = TTAPE_OK;
    ttape_status status = read_more(d, p, range, err);
    if (status != TTAPE_OK)
        ttp_loaded_drop(d, p, p->stage);
    else if (range == NULL)
        p->stage++;
    uint64_t more = partition_bytes(d) - before; /* may be less: modulo 2^64 */
    p->used_bytes += more;
    count_bytes(d, more);
    ttp_decoding_end(d->pool);
    return status;
}

/* Goes one stage further, or as far as the range says. Where the memory of all decoders does not
 * suffice, other partitions of this one make room, one by one; then it tries alone. */
static ttape_status advance(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                            const struct ttp_range *range, ttape_error *err)
{
    for (bool alone = false;;) {
        ttape_status status = try_more(d, p, range, alone, err);
        if (status != TTAPE_E_LIMIT || d->memory.status != TTAPE_E_LIMIT)
            return status;
        if (d->cache.oldest != p) {
            evict(d, d->cache.oldest);
            continue;
        }
        if (alone || !ttp_pool_is_shared(d->pool))
            return status;
        alone = true;
    }
}

/* One that was decoded ahead, or one to be decoded. */
static ttape_status new_loaded(struct ttp_trace_decoder *d, uint32_t partition,
                               struct ttp_loaded **out, ttape_error *err)
{
    *out = ttp_prefetch_take(d, partition);
    if (*out != NULL) {
        count_bytes(d, (*out)->used_bytes);
        return TTAPE_OK;
    }
    *out = ttp_memory_take(&d->memory, 1, sizeof **out, err);
    if (*out == NULL)
        return d->memory.status;
    **out = (struct ttp_loaded){.partition = partition};
    return TTAPE_OK;
}

static ttape_status add_loaded(struct ttp_trace_decoder *d, uint32_t partition,
                               struct ttp_loaded **out, ttape_error *err)
{
    d->memory.waits = true;
    ttape_status status = grow_numbers(d, err);
    if (status == TTAPE_OK)
        status = new_loaded(d, partition, out, err);
    d->memory.waits = false;
    if (status == TTAPE_OK)
        add_number(&d->cache, *out);
    return status;
}

/* The newest stays in any case. */
static void trim(struct ttp_trace_decoder *d)
{
    ttp_pool_shrink(d);
    while (ttp_pool_is_over(d) && d->cache.oldest != d->cache.newest)
        evict(d, d->cache.oldest);
}

/* Before another one is decoded: what could not stay behind it goes now, so that its memory is used
 * again while it is warm. */
static void make_room(struct ttp_trace_decoder *d)
{
    while (d->cache.oldest != NULL && ttp_pool_is_over(d))
        evict(d, d->cache.oldest);
}

/* The cache has to do: it is not there, or not as far as wanted. */
static ttape_status load_partition(struct ttp_trace_decoder *d, uint32_t partition,
                                   enum ttp_stage stage, struct ttp_loaded **out, ttape_error *err)
{
    struct ttp_loaded *p = ttp_cache_find(d, partition);
    if (p == NULL) {
        TTP_TRY(ttp_ask_watch(d->watch, d->watched_count, d->reader->partition_count, err));
        d->watched_count++;
        make_room(d);
        TTP_TRY(add_loaded(d, partition, &p, err));
    } else {
        unlink_loaded(&d->cache, p);
    }
    link_newest(&d->cache, p);
    while (p->stage < (int)stage) {
        ttape_status status = advance(d, p, NULL, err);
        if (status != TTAPE_OK) {
            if (p->stage == 0)
                evict(d, p);
            return status;
        }
    }
    trim(d);
    *out = p;
    return TTAPE_OK;
}

ttape_status ttp_loaded_get(struct ttp_trace_decoder *d, uint32_t partition, enum ttp_stage stage,
                            struct ttp_loaded **out, ttape_error *err)
{
    struct ttp_loaded *p = d->cache.newest;
    if (p == NULL || p->partition != partition || p->stage < (int)stage)
        return load_partition(d, partition, stage, out, err);
    *out = p;
    return TTAPE_OK;
}

ttape_status ttp_loaded_reach(struct ttp_trace_decoder *d, uint32_t partition,
                              const struct ttp_range *range, struct ttp_loaded **out,
                              ttape_error *err)
{
    TTP_TRY(ttp_loaded_get(d, partition, TTP_STAGE_ORDER, out, err));
    struct ttp_loaded *p = *out;
    if ((p->stage > TTP_STAGE_ORDER || ttp_loaded_covers(p, range)) &&
        (p->has_values || !range->values))
        return TTAPE_OK;
    TTP_TRY(advance(d, p, range, err));
    trim(d);
    return TTAPE_OK;
}
