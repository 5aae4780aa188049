/* Decoders are pushed in front of a list, and stay there: so it is walked without a lock. */
#include "reader/decoder_pool.h"

#include "format/base/fail.h"
#include "reader/cache/cache.h"
#include "reader/cache/prefetch.h"
#include "reader/partition/model_reader.h"

/* ---- decoders ---- */

static bool try_busy(struct ttp_trace_decoder *d)
{
    bool was_busy = false;
    return !atomic_load_explicit(&d->busy, memory_order_relaxed) &&
           atomic_compare_exchange_strong_explicit(&d->busy, &was_busy, true, memory_order_acquire,
                                                   memory_order_relaxed);
}

static void end_busy(struct ttp_trace_decoder *d)
{
    atomic_store_explicit(&d->busy, false, memory_order_release);
}

static struct ttp_trace_decoder *next_of(struct ttp_pool *pool, const struct ttp_trace_decoder *d)
{
    return d == &pool->first ? atomic_load_explicit(&pool->more, memory_order_acquire) : d->next;
}

static void init_decoder(struct ttp_trace_decoder *d, struct ttp_pool *pool, bool busy)
{
    const ttape_reader *r = pool->reader;
    *d = (struct ttp_trace_decoder){
        .reader = r, .pool = pool, .memory = ttp_memory_sharing(&r->memory), .jobs = r->jobs};
    atomic_init(&d->user, (ttp_thread)0);
    atomic_init(&d->busy, busy);
}

static void empty(struct ttp_trace_decoder *d)
{
    ttp_cache_clear(d);
    if (!d->reader->is_forward)
        ttp_models_drop(d);
    ttp_zstd_reset(&d->zstd, &d->memory);
}

static void close_decoder(struct ttp_trace_decoder *d)
{
    ttp_prefetch_close(d);
    empty(d);
    ttp_models_drop(d);
    ttp_cache_close(d);
}

static ttape_status add_decoder(struct ttp_pool *pool, struct ttp_trace_decoder **out,
                                ttape_error *err)
{
    struct ttp_memory memory = ttp_memory_sharing(&pool->reader->memory);
    struct ttp_trace_decoder *d = ttp_memory_take(&memory, 1, sizeof *d, err);
    if (d == NULL)
        return memory.status;
    init_decoder(d, pool, true);
    d->next = atomic_load_explicit(&pool->more, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&pool->more, &d->next, d, memory_order_release,
                                                  memory_order_relaxed))
        ;
    atomic_fetch_add_explicit(&pool->decoder_count, 1, memory_order_relaxed);
    *out = d;
    return TTAPE_OK;
}

/* One that is not busy; `own`: that this thread had last. */
static struct ttp_trace_decoder *find_idle(struct ttp_pool *pool, bool own)
{
    for (struct ttp_trace_decoder *d = &pool->first; d != NULL; d = next_of(pool, d)) {
        ttp_thread user = atomic_load_explicit(&d->user, memory_order_relaxed);
        if ((!own || ttp_thread_is(user, ttp_thread_self())) && try_busy(d))
            return d;
    }
    return NULL;
}

ttape_status ttp_decoder_take(struct ttp_pool *pool, struct ttp_trace_decoder **d, ttape_error *err)
{
    struct ttp_trace_decoder *found = *d;
    if (found == NULL || !try_busy(found))
        found = find_idle(pool, true);
    if (found == NULL)
        found = find_idle(pool, false);
    if (found == NULL)
        TTP_TRY(add_decoder(pool, &found, err));
    atomic_store_explicit(&found->user, ttp_thread_self(), memory_order_relaxed);
    found->uses++;
    *d = found;
    return TTAPE_OK;
}

bool ttp_decoder_hold(struct ttp_pool *pool) { return try_busy(&pool->first); }

void ttp_decoder_give(struct ttp_trace_decoder *d)
{
    d->watch = NULL;
    end_busy(d);
}

ttape_status ttp_decoder_take_watched(struct ttp_pool *pool, struct ttp_trace_decoder **d,
                                      const ttape_watch *watch, ttape_error *err)
{
    TTP_TRY(ttp_decoder_take(pool, d, err));
    (*d)->watch = watch;
    (*d)->watched_count = 0;
    return TTAPE_OK;
}

struct ttp_trace_decoder ttp_decoder_for_worker(const struct ttp_trace_decoder *d)
{
    return (struct ttp_trace_decoder){.reader = d->reader,
                                      .memory = ttp_memory_sharing(&d->memory)};
}

/* ---- leases ---- */

struct ttp_lease ttp_lease_of(ttape_reader *r)
{
    struct ttp_lease lease = {
        .reader = r, .pool = &r->pool, .memory = ttp_memory_sharing(&r->memory)};
    lease.memory.waits = true;
    return lease;
}

struct ttp_lease ttp_lease_lent(struct ttp_trace_decoder *d)
{
    struct ttp_lease lease = {
        .reader = d->reader, .decoder = d, .memory = ttp_memory_sharing(&d->memory)};
    lease.memory.relieve = d->memory.relieve;
    lease.memory.relieve_context = d->memory.relieve_context;
    return lease;
}

ttape_status ttp_lease_begin(struct ttp_lease *lease, ttape_error *err)
{
    if (lease->pool == NULL)
        return TTAPE_OK;
    TTP_TRY(ttp_decoder_take(lease->pool, &lease->decoder, err));
    struct ttp_trace_decoder *d = lease->decoder;
    d->jobs = lease->jobs > lease->reader->jobs ? lease->jobs : lease->reader->jobs;
    lease->memory.relieve = d->memory.relieve;
    lease->memory.relieve_context = d->memory.relieve_context;
    return TTAPE_OK;
}

void ttp_lease_end(struct ttp_lease *lease)
{
    if (lease->pool == NULL)
        return;
    lease->memory.relieve = NULL;
    ttp_decoder_give(lease->decoder);
}

/* ---- results ---- */

/* The name of a thread that ended may come again: then what was kept for it serves the new one. */
ttape_status ttp_thread_results(ttape_reader *r, struct ttp_thread_results **out, ttape_error *err)
{
    struct ttp_pool *pool = &r->pool;
    struct ttp_thread_results *first = atomic_load_explicit(&pool->results, memory_order_acquire);
    for (*out = first; *out != NULL; *out = (*out)->next)
        if (ttp_thread_is((*out)->thread, ttp_thread_self()))
            return TTAPE_OK;
    struct ttp_memory memory = ttp_memory_sharing(&r->memory);
    struct ttp_thread_results *mine = ttp_memory_take(&memory, 1, sizeof *mine, err);
    if (mine == NULL)
        return memory.status;
    *mine = (struct ttp_thread_results){
        .thread = ttp_thread_self(), .memory = ttp_memory_sharing(&r->memory), .next = first};
    mine->memory.waits = true;
    mine->frames.memory = &mine->memory;
    while (!atomic_compare_exchange_weak_explicit(&pool->results, &mine->next, mine,
                                                  memory_order_release, memory_order_relaxed))
        ;
    *out = mine;
    return TTAPE_OK;
}

static void close_results(struct ttp_thread_results *results)
{
    struct ttp_memory *m = &results->memory;
    ttp_memory_give(m, results->frames.items, results->frames.capacity,
                    sizeof *results->frames.items);
    ttp_memory_give(m, results->rows, results->row_capacity, sizeof *results->rows);
    ttp_memory_give(m, results->spans, results->span_capacity, sizeof *results->spans);
}

/* ---- memory ---- */

/* Decoders that are not busy give up what they have; those of this very thread are busy. */
static bool relieve(void *context)
{
    struct ttp_pool *pool = context;
    bool gave = false;
    for (struct ttp_trace_decoder *d = &pool->first; d != NULL; d = next_of(pool, d)) {
        if (!try_busy(d))
            continue;
        uint64_t before = d->memory.used_bytes;
        if (d->memory.relieve != NULL)
            (void)d->memory.relieve(d->memory.relieve_context);
        empty(d);
        gave = gave || d->memory.used_bytes < before;
        end_busy(d);
    }
    return gave;
}

bool ttp_pool_is_shared(const struct ttp_pool *pool)
{
    return atomic_load_explicit(&pool->decoder_count, memory_order_relaxed) > 1;
}

static void go_alone(void *context, bool begins)
{
    if (begins)
        ttp_decoding_begin_alone(context);
    else
        ttp_decoding_end(context);
}

uint64_t ttp_pool_share(const struct ttp_pool *pool)
{
    return pool->cache_limit_bytes /
           atomic_load_explicit(&pool->decoder_count, memory_order_relaxed);
}

static bool is_full(const struct ttp_pool *pool)
{
    return atomic_load_explicit(&pool->cached_bytes, memory_order_relaxed) >
           pool->cache_limit_bytes;
}

bool ttp_pool_is_over(const struct ttp_trace_decoder *d)
{
    return is_full(d->pool) && d->cache.used_bytes > ttp_pool_share(d->pool);
}

void ttp_pool_shrink(const struct ttp_trace_decoder *d)
{
    struct ttp_pool *pool = d->pool;
    if (!is_full(pool) || !ttp_pool_is_shared(pool))
        return;
    for (struct ttp_trace_decoder *o = &pool->first; o != NULL; o = next_of(pool, o)) {
        if (!try_busy(o))
            continue;
        ttp_cache_shrink(o, o->uses == o->seen_uses ? 0 : ttp_pool_share(pool));
        o->seen_uses = o->uses;
        end_busy(o);
    }
}

/* ---- who decodes ---- */

void ttp_decoding_begin(struct ttp_pool *pool)
{
    ttp_mutex_lock(&pool->mutex);
    while (pool->alone || pool->alone_wanted != 0)
        ttp_cond_wait(&pool->changed, &pool->mutex);
    pool->decoding++;
    ttp_mutex_unlock(&pool->mutex);
}

void ttp_decoding_begin_alone(struct ttp_pool *pool)
{
    ttp_mutex_lock(&pool->mutex);
    pool->alone_wanted++;
    while (pool->alone || pool->decoding != 0)
        ttp_cond_wait(&pool->changed, &pool->mutex);
    pool->alone_wanted--;
    pool->alone = true;
    pool->decoding++;
    ttp_mutex_unlock(&pool->mutex);
}

void ttp_decoding_end(struct ttp_pool *pool)
{
    ttp_mutex_lock(&pool->mutex);
    pool->decoding--;
    pool->alone = false; /* nobody else decodes with one that is alone */
    if (pool->decoding == 0)
        ttp_cond_broadcast(&pool->changed);
    ttp_mutex_unlock(&pool->mutex);
}

/* ---- opening and closing ---- */

ttape_status ttp_pool_open(ttape_reader *r, uint64_t cache_bytes, ttape_error *err)
{
    struct ttp_pool *pool = &r->pool;
    *pool = (struct ttp_pool){.reader = r, .cache_limit_bytes = cache_bytes};
    if (ttp_mutex_init(&pool->mutex) != 0)
        return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
    ttp_cond_init(&pool->changed);
    atomic_init(&pool->decoder_count, 1);
    init_decoder(&pool->first, pool, false);
    r->account.relieve = relieve;
    r->account.alone = go_alone;
    r->account.context = pool;
    return TTAPE_OK;
}

void ttp_pool_clear(ttape_reader *r, bool models_too)
{
    struct ttp_pool *pool = &r->pool;
    for (struct ttp_trace_decoder *d = &pool->first; d != NULL; d = next_of(pool, d)) {
        ttp_cache_clear(d);
        if (models_too)
            ttp_models_drop(d);
    }
}

void ttp_pool_close(ttape_reader *r)
{
    struct ttp_pool *pool = &r->pool;
    struct ttp_memory m = ttp_memory_sharing(&r->memory); /* as they were taken */
    close_decoder(&pool->first);
    for (struct ttp_trace_decoder *d = atomic_exchange(&pool->more, NULL), *next; d != NULL;
         d = next) {
        next = d->next;
        close_decoder(d);
        ttp_memory_give(&m, d, 1, sizeof *d);
    }
    for (struct ttp_thread_results *t = atomic_exchange(&pool->results, NULL), *next; t != NULL;
         t = next) {
        next = t->next;
        close_results(t);
        ttp_memory_give(&m, t, 1, sizeof *t);
    }
    ttp_cond_destroy(&pool->changed);
    ttp_mutex_destroy(&pool->mutex);
}
