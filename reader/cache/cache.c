/* A list in order of use, and a pointer in each partition's entry: finding costs nothing. */
#include "reader/cache/cache.h"

#include "format/base/fail.h"
#include "reader/cache/prefetch.h"
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

static void evict(ttape_reader *r, struct ttp_loaded *p)
{
    unlink_loaded(&r->cache, p);
    r->cache.used_bytes -= p->used_bytes;
    r->cache.evictions++;
    r->partitions[p->partition].loaded = NULL;
    ttp_loaded_drop(r, p, 0);
    ttp_memory_give(&r->memory, p, 1, sizeof *p);
}

void ttp_cache_clear(ttape_reader *r)
{
    while (r->cache.oldest != NULL)
        evict(r, r->cache.oldest);
}

/* The next stage; or, with a range, within stage ORDER what the range still needs. */
static ttape_status read_more(ttape_reader *r, struct ttp_loaded *p, const struct ttp_range *range,
                              ttape_error *err)
{
    if (range != NULL) {
        if (range->values)
            TTP_TRY(ttp_loaded_read_values(r, p, err));
        return p->stage > TTP_STAGE_ORDER ? TTAPE_OK : ttp_loaded_extend(r, p, range, err);
    }
    switch (p->stage + 1) {
    case TTP_STAGE_LIGHT: return ttp_loaded_read_light(r, p, err);
    case TTP_STAGE_ORDER: return ttp_loaded_prepare(r, p, err);
    case TTP_STAGE_EVENTS: return ttp_loaded_complete(r, p, err);
    default: return ttp_loaded_read_values(r, p, err);
    }
}

/* Bytes that partitions take: models and the decompressor come and go while one is decoded. */
static uint64_t partition_bytes(const ttape_reader *r)
{
    return r->memory.used_bytes - r->kept_model_bytes - r->zstd.charged_bytes;
}

/* Goes one stage further, or as far as the range says. Where the reader's memory does not suffice,
 * other partitions make room, one by one. */
static ttape_status advance(ttape_reader *r, struct ttp_loaded *p, const struct ttp_range *range,
                            ttape_error *err)
{
    for (;;) {
        uint64_t before = partition_bytes(r);
        r->memory.status = TTAPE_OK;
        ttape_status status = read_more(r, p, range, err);
        if (status != TTAPE_OK)
            ttp_loaded_drop(r, p, p->stage);
        else if (range == NULL)
            p->stage++;
        p->used_bytes += partition_bytes(r) - before; /* may be less: modulo 2^64 */
        r->cache.used_bytes += partition_bytes(r) - before;
        if (status == TTAPE_OK)
            return TTAPE_OK;
        if (status != TTAPE_E_LIMIT || r->memory.status != TTAPE_E_LIMIT || r->cache.oldest == p)
            return status;
        evict(r, r->cache.oldest);
    }
}

/* One that was decoded ahead, or one to be decoded. */
static ttape_status new_loaded(ttape_reader *r, uint32_t partition, struct ttp_loaded **out,
                               ttape_error *err)
{
    *out = ttp_prefetch_take(r, partition);
    if (*out != NULL) {
        r->cache.used_bytes += (*out)->used_bytes;
        return TTAPE_OK;
    }
    *out = ttp_memory_take(&r->memory, 1, sizeof **out, err);
    if (*out == NULL)
        return r->memory.status;
    **out = (struct ttp_loaded){.partition = partition};
    return TTAPE_OK;
}

/* The newest stays in any case. */
static void trim(ttape_reader *r)
{
    while (r->cache.used_bytes > r->cache.limit_bytes && r->cache.oldest != r->cache.newest)
        evict(r, r->cache.oldest);
}

/* Before another one is decoded: what could not stay behind it goes now, so that its memory is used
 * again while it is warm. */
static void make_room(ttape_reader *r)
{
    while (r->cache.oldest != NULL && r->cache.used_bytes > r->cache.limit_bytes)
        evict(r, r->cache.oldest);
}

ttape_status ttp_loaded_get(ttape_reader *r, uint32_t partition, enum ttp_stage stage,
                            struct ttp_loaded **out, ttape_error *err)
{
    struct ttp_loaded *p = r->partitions[partition].loaded;
    if (p != NULL && p->stage >= (int)stage && r->cache.newest == p) {
        *out = p;
        return TTAPE_OK;
    }
    if (p == NULL) {
        make_room(r);
        TTP_TRY(new_loaded(r, partition, &p, err));
        r->partitions[partition].loaded = p;
    } else {
        unlink_loaded(&r->cache, p);
    }
    link_newest(&r->cache, p);
    while (p->stage < (int)stage) {
        ttape_status status = advance(r, p, NULL, err);
        if (status != TTAPE_OK) {
            if (p->stage == 0)
                evict(r, p);
            return status;
        }
    }
    trim(r);
    *out = p;
    return TTAPE_OK;
}

ttape_status ttp_loaded_reach(ttape_reader *r, uint32_t partition, const struct ttp_range *range,
                              struct ttp_loaded **out, ttape_error *err)
{
    TTP_TRY(ttp_loaded_get(r, partition, TTP_STAGE_ORDER, out, err));
    struct ttp_loaded *p = *out;
    if ((p->stage > TTP_STAGE_ORDER || ttp_loaded_covers(p, range)) &&
        (p->has_values || !range->values))
        return TTAPE_OK;
    TTP_TRY(advance(r, p, range, err));
    trim(r);
    return TTAPE_OK;
}

ttape_reader ttp_reader_for_worker(const ttape_reader *r)
{
    ttape_reader own = *r;
    own.memory.used_bytes = 0;
    own.memory.relieve = NULL;
    own.zstd = (struct ttp_zstd){0};
    own.kept_model_count = 0;
    own.kept_model_bytes = 0;
    own.frames = (struct ttp_edge_frames){0};
    own.rows = NULL;
    own.row_capacity = 0;
    own.prefetch = NULL;
    own.jobs = 0;
    return own;
}
