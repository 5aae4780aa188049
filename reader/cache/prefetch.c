/* A slot is a partition on its way: waiting -> running -> done -> free. Only the owner makes and
 * frees slots, so counting memory is its business alone; a worker's own memory is a copy of the
 * reader's accounting with the slot's reservation as its limit. */
#include "reader/cache/prefetch.h"

#include <string.h>

#include "base/task.h"
#include "reader/cache/cache.h"
#include "reader/decoder_pool.h"
#include "reader/partition/codecs.h"
#include "reader/partition/model_reader.h"
#include "reader/partition/partition_decoder.h"

#define DECODED_BYTES 9ull /* of a decoded event in the cache: code, time, share of checkpoints */

enum state { FREE, WAITING, RUNNING, DONE };

struct slot {
    struct ttp_loaded *result; /* NULL: it could not be decoded */
    uint64_t reserved_bytes, turn;
    int64_t kept_bytes; /* by how much what its worker keeps has grown */
    uint32_t partition;
    enum ttp_stage stage;
    enum state state;
};

struct worker {
    struct ttp_prefetch *prefetch;
    struct ttp_trace_decoder decoder;
    ttp_thread thread;
    uint64_t kept_bytes; /* models and decompressor */
};

struct ttp_prefetch {
    struct ttp_trace_decoder *decoder;
    ttp_mutex mutex;
    ttp_cond work, done;
    struct slot slots[TTP_PREFETCH_MOST];
    struct worker *workers;
    uint32_t worker_count, worker_capacity, depth;
    uint64_t turn;
    bool stop;
};

/* ---- workers ---- */

/* Codes and times, and what decoding them takes besides; raw sections and texts are no larger than
 * they are stored. */
static uint64_t bytes_for(const struct ttp_partition_entry *entry)
{
    return 32ull * entry->event_count + 4ull * entry->stored_bytes + (8u << 20);
}

static ttape_status decode_partition(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                     enum ttp_stage stage)
{
    const struct ttp_partition_entry *entry = &d->reader->partitions[p->partition];
    ttape_status status = ttp_loaded_read_light(d, p, NULL);
    p->stage = TTP_STAGE_LIGHT;
    if (status == TTAPE_OK)
        status = ttp_loaded_prepare(d, p, NULL);
    p->stage = TTP_STAGE_ORDER;
    if (stage == TTP_STAGE_ORDER) {
        if (status == TTAPE_OK)
            ttp_codecs_times_ready(d, p);
        return status != TTAPE_OK ? status : ttp_loaded_check(d, p, p->head.event_count, NULL);
    }
    if (status == TTAPE_OK)
        status = ttp_loaded_complete(d, p, NULL);
    p->stage = TTP_STAGE_EVENTS;
    if (status == TTAPE_OK && entry->values_bytes != 0)
        status = ttp_loaded_read_values(d, p, NULL);
    return status;
}

static struct ttp_loaded *decode_apart(struct worker *w, const struct slot *slot)
{
    struct ttp_trace_decoder *d = &w->decoder;
    struct ttp_memory *m = &d->memory;
    m->limit_bytes = w->kept_bytes + slot->reserved_bytes;
    struct ttp_loaded *p = ttp_memory_take(m, 1, sizeof *p, NULL);
    if (p == NULL)
        return NULL;
    *p = (struct ttp_loaded){.partition = slot->partition};
    if (decode_partition(d, p, slot->stage) != TTAPE_OK) {
        ttp_loaded_drop(d, p, 0);
        ttp_memory_give(m, p, 1, sizeof *p);
        return NULL;
    }
    p->used_bytes = m->used_bytes - d->kept_model_bytes - d->zstd.charged_bytes - sizeof *p;
    m->used_bytes -= p->used_bytes + sizeof *p; /* the owner's from here on */
    return p;
}

static struct slot *next_waiting(struct ttp_prefetch *a)
{
    struct slot *best = NULL;
    for (uint32_t i = 0; i < a->depth; i++)
        if (a->slots[i].state == WAITING && (best == NULL || a->slots[i].turn < best->turn))
            best = &a->slots[i];
    return best;
}

static void *work(void *context)
{
    struct worker *w = context;
    struct ttp_prefetch *a = w->prefetch;
    struct slot *slot;
    ttp_mutex_lock(&a->mutex);
    while (!a->stop) {
        slot = next_waiting(a);
        if (slot == NULL) {
            ttp_cond_wait(&a->work, &a->mutex);
            continue;
        }
        slot->state = RUNNING;
        ttp_mutex_unlock(&a->mutex);
        struct ttp_loaded *result = decode_apart(w, slot);
        ttp_mutex_lock(&a->mutex);
        slot->result = result;
        slot->kept_bytes = (int64_t)(w->decoder.memory.used_bytes - w->kept_bytes);
        w->kept_bytes = w->decoder.memory.used_bytes;
        slot->state = DONE;
        ttp_cond_broadcast(&a->done);
    }
    ttp_mutex_unlock(&a->mutex);
    return NULL;
}

/* ---- the owner: with the mutex held ---- */

static struct ttp_loaded *take_result(struct ttp_prefetch *a, struct slot *slot)
{
    struct ttp_memory *m = &a->decoder->memory;
    struct ttp_loaded *p = slot->result;
    ttp_memory_discharge(m, slot->reserved_bytes);
    ttp_memory_charge(m, (uint64_t)slot->kept_bytes); /* or fewer: modulo 2^64 */
    if (p != NULL)
        ttp_memory_charge(m, p->used_bytes + sizeof *p);
    if (p != NULL && p->stacks.memory != NULL) /* checks that will go on: no longer the worker's */
        p->stacks.memory = m;
    *slot = (struct slot){.state = FREE};
    return p;
}

static void give_up(struct ttp_prefetch *a, struct slot *slot)
{
    while (slot->state == RUNNING)
        ttp_cond_wait(&a->done, &a->mutex);
    struct ttp_loaded *p = take_result(a, slot);
    if (p == NULL)
        return;
    ttp_loaded_drop(a->decoder, p, 0);
    ttp_memory_give(&a->decoder->memory, p, 1, sizeof *p);
}

static struct slot *find_partition(struct ttp_prefetch *a, uint32_t partition)
{
    for (uint32_t i = 0; i < a->depth; i++)
        if (a->slots[i].state != FREE && a->slots[i].partition == partition)
            return &a->slots[i];
    return NULL;
}

static bool relieve(void *context)
{
    struct ttp_prefetch *a = context;
    ttp_mutex_lock(&a->mutex);
    for (uint32_t i = 0; i < a->depth; i++) /* those first: no worker shall begin with them now */
        if (a->slots[i].state == WAITING)
            give_up(a, &a->slots[i]);
    for (uint32_t i = 0; i < a->depth; i++)
        if (a->slots[i].state != FREE)
            give_up(a, &a->slots[i]);
    ttp_mutex_unlock(&a->mutex);
    return true;
}

static void start_job(struct ttp_prefetch *a, uint32_t partition, enum ttp_stage stage)
{
    struct ttp_trace_decoder *d = a->decoder;
    const ttape_reader *r = d->reader;
    const struct ttp_partition_entry *entry = &r->partitions[partition];
    struct slot *slot = NULL;
    uint64_t bytes = bytes_for(entry), decoded = DECODED_BYTES * entry->event_count;
    uint32_t index;
    for (uint32_t i = 0; i < a->depth; i++)
        if (a->slots[i].state == FREE)
            slot = &a->slots[i];
        else
            decoded += DECODED_BYTES * r->partitions[a->slots[i].partition].event_count;
    if (slot == NULL || entry->damaged || decoded > ttp_pool_share(d->pool) / 4 * 3 ||
        bytes > ttp_memory_left(&d->memory) / 2)
        return;
    /* Finding a model may have to learn others' numbers: that is done here, workers only look. */
    if (entry->model != TTP_NO_MODEL &&
        ttp_model_find(r, partition, entry->model, &index, NULL) != TTAPE_OK)
        return;
    ttp_memory_charge(&d->memory, bytes);
    *slot = (struct slot){.partition = partition,
                          .stage = stage,
                          .reserved_bytes = bytes,
                          .turn = a->turn++,
                          .state = WAITING};
    ttp_cond_signal(&a->work);
}

/* ---- the owner ---- */

static bool start_workers(struct ttp_prefetch *a)
{
    for (uint32_t i = 0; i < a->worker_capacity; i++) {
        struct worker *w = &a->workers[i];
        w->prefetch = a;
        w->decoder = ttp_decoder_for_worker(a->decoder);
        w->decoder.memory.account = NULL; /* what it takes is reserved */
        w->kept_bytes = 0;
        if (!ttp_thread_begin(&w->thread, work, w))
            break;
        a->worker_count++;
    }
    return a->worker_count != 0;
}

static void close_prefetch(struct ttp_prefetch *a)
{
    struct ttp_memory *m = &a->decoder->memory;
    (void)relieve(a);
    ttp_mutex_lock(&a->mutex);
    a->stop = true;
    ttp_cond_broadcast(&a->work);
    ttp_mutex_unlock(&a->mutex);
    for (uint32_t i = 0; i < a->worker_count; i++) {
        struct worker *w = &a->workers[i];
        ttp_thread_join(w->thread);
        ttp_memory_discharge(m, w->kept_bytes);
        ttp_models_drop(&w->decoder);
        ttp_zstd_reset(&w->decoder.zstd, &w->decoder.memory);
    }
    m->relieve = NULL;
    ttp_cond_destroy(&a->done);
    ttp_cond_destroy(&a->work);
    ttp_mutex_destroy(&a->mutex);
    ttp_memory_give(m, a->workers, a->worker_capacity, sizeof *a->workers);
    ttp_memory_give(m, a, 1, sizeof *a);
}

void ttp_prefetch_close(struct ttp_trace_decoder *d)
{
    if (d->prefetch != NULL)
        close_prefetch(d->prefetch);
    d->prefetch = NULL;
}

uint32_t ttp_prefetch_depth(const struct ttp_trace_decoder *d)
{
    return d->jobs < 2 ? 0 : d->jobs < TTP_PREFETCH_MOST ? d->jobs + 1 : TTP_PREFETCH_MOST;
}

/* Without threads or memory for them the reader goes on without jobs. */
static struct ttp_prefetch *open_prefetch(struct ttp_trace_decoder *d)
{
    struct ttp_memory *m = &d->memory;
    struct ttp_prefetch *a = ttp_memory_take(m, 1, sizeof *a, NULL);
    if (a == NULL)
        return NULL;
    *a = (struct ttp_prefetch){.decoder = d, .depth = ttp_prefetch_depth(d)};
    a->worker_capacity = a->depth - 1;
    a->workers = ttp_memory_take(m, a->worker_capacity, sizeof *a->workers, NULL);
    if (a->workers == NULL) {
        ttp_memory_give(m, a, 1, sizeof *a);
        return NULL;
    }
    ttp_mutex_init(&a->mutex);
    ttp_cond_init(&a->work);
    ttp_cond_init(&a->done);
    if (!start_workers(a)) {
        close_prefetch(a);
        return NULL;
    }
    m->relieve = relieve;
    m->relieve_context = a;
    return a;
}

void ttp_prefetch_want(struct ttp_trace_decoder *d, uint32_t current, const uint32_t *next,
                       uint32_t count, enum ttp_stage stage)
{
    if (d->jobs < 2)
        return;
    if (d->prefetch == NULL)
        d->prefetch = open_prefetch(d);
    struct ttp_prefetch *a = d->prefetch;
    if (a == NULL) {
        d->jobs = 0;
        return;
    }
    ttp_mutex_lock(&a->mutex);
    for (uint32_t i = 0; i < a->depth; i++) {
        struct slot *slot = &a->slots[i];
        bool wanted = slot->partition == current;
        for (uint32_t k = 0; k < count; k++)
            wanted = wanted || slot->partition == next[k];
        if (!wanted && (slot->state == WAITING || slot->state == DONE))
            give_up(a, slot);
    }
    for (uint32_t k = 0; k < count; k++)
        if (ttp_cache_find(d, next[k]) == NULL && find_partition(a, next[k]) == NULL)
            start_job(a, next[k], stage);
    ttp_mutex_unlock(&a->mutex);
}

struct ttp_loaded *ttp_prefetch_take(struct ttp_trace_decoder *d, uint32_t partition)
{
    struct ttp_prefetch *a = d->prefetch;
    struct ttp_loaded *p = NULL;
    if (a == NULL)
        return NULL;
    ttp_mutex_lock(&a->mutex);
    struct slot *slot = find_partition(a, partition);
    if (slot != NULL) { /* a slot that still waits is given up: the caller decodes sooner */
        while (slot->state == RUNNING)
            ttp_cond_wait(&a->done, &a->mutex);
        p = take_result(a, slot);
    }
    ttp_mutex_unlock(&a->mutex);
    return p;
}
