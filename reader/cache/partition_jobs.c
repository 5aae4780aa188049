/* Workers take the next partition from one counter. A worker has a decoder of its own; its memory
 * is a share of what the reader's limit leaves. A partition that does not fit there is done at the
 * end by the calling thread, with all of it. */
#include "reader/cache/partition_jobs.h"

#include <stdatomic.h>
#include <string.h>

#include "base/task.h"
#include "format/base/fail.h"
#include "reader/base/choice.h"
#include "reader/decoder_pool.h"
#include "reader/partition/model_reader.h"
#include "reader/partition/partition_decoder.h"
#include "reader/partition/summary_reader.h"

enum outcome {
    FINE,
    AGAIN, /* it could not be read: damage, or too little memory */
    LATER  /* it needs what only the calling thread may do */
};

struct crew {
    const struct ttp_partition_work *work;
    const uint32_t *partitions;
    uint8_t *outcomes; /* one each */
    atomic_uint next;
    atomic_bool stop;
    uint32_t partition_count;
    struct ttp_pool *pool;
    const ttape_watch *watch; /* is asked by the calling thread, which is worker 0 */
    ttp_mutex mutex;          /* of the failure that stops all: the one of the first partition */
    uint32_t failed;
    ttape_error error;
};

struct crew_member {
    struct crew *crew;
    struct ttp_trace_decoder decoder;
    ttp_thread thread;
    uint32_t number;
    bool started;
};

/* Of few partitions the last one would be waited for: then more threads take turns on the
 * processors, and all end at about the same time. */
uint32_t ttp_partition_workers(uint32_t jobs, uint32_t partition_count)
{
    uint64_t most = jobs > 1 && partition_count < 4ull * jobs ? 2ull * jobs : jobs;
    most = most < TTP_PARTITION_WORKERS_MOST ? most : TTP_PARTITION_WORKERS_MOST;
    most = most < partition_count ? most : partition_count;
    return most > 1 ? (uint32_t)most : 1;
}

/* ---- one partition ---- */

static ttape_status read_light(struct ttp_trace_decoder *d, struct ttp_loaded *p, ttape_error *err)
{
    TTP_TRY(ttp_loaded_read_light(d, p, err));
    p->stage = TTP_STAGE_LIGHT;
    return TTAPE_OK;
}

static ttape_status read_events(struct ttp_trace_decoder *d, struct ttp_loaded *p, ttape_error *err)
{
    TTP_TRY(ttp_loaded_prepare(d, p, err));
    TTP_TRY(ttp_loaded_complete(d, p, err));
    p->stage = TTP_STAGE_EVENTS;
    return TTAPE_OK;
}

/* The failure of the work itself. */
static void fail_all(struct crew *c, uint32_t number, ttape_status status, const ttape_error *err)
{
    ttp_mutex_lock(&c->mutex);
    if (number < c->failed) {
        c->failed = number;
        c->error = *err;
        c->error.status = status;
    }
    ttp_mutex_unlock(&c->mutex);
    atomic_store(&c->stop, true);
}

/* *unread: it failed for the partition, not for the work. */
static ttape_status do_edges(const struct ttp_partition_work *work, uint32_t worker,
                             struct ttp_trace_decoder *d, const struct ttp_loaded *p, bool *unread,
                             ttape_error *err)
{
    const struct ttp_cpu_times cpu = {0};
    *unread = false;
    return work->summary(work->context, worker, d, p, NULL, 0, &cpu, err);
}

static ttape_status do_summary(const struct ttp_partition_work *work, uint32_t worker,
                               struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                               bool *unread, ttape_error *err)
{
    struct ttp_measure *rows;
    uint32_t row_count;
    *unread = true;
    TTP_TRY(ttp_summary_load(d, p, &rows, &row_count, err));
    bool known;
    struct ttp_cpu_times cpu = {0};
    ttape_status status =
        work->own_times ? ttp_own_times_load(d, p, rows, row_count, &known, err) : TTAPE_OK;
    if (status == TTAPE_OK && work->cpu_times)
        status = ttp_cpu_times_load(d, p, rows, row_count, &cpu, err);
    *unread = status != TTAPE_OK;
    if (status == TTAPE_OK)
        status = work->summary(work->context, worker, d, p, rows, row_count, &cpu, err);
    ttp_cpu_times_drop(d, &cpu);
    ttp_memory_give(&d->memory, rows, row_count, sizeof *rows);
    return status;
}

static ttape_status do_apart(struct crew *c, struct ttp_trace_decoder *d, uint32_t worker,
                             struct ttp_loaded *p, enum outcome *outcome, ttape_error *err)
{
    const struct ttp_partition_work *work = c->work;
    bool unread = true;
    *outcome = AGAIN;
    if (d->reader->partitions[p->partition].damaged)
        return TTAPE_E_CORRUPT;
    TTP_TRY(read_light(d, p, NULL));
    enum ttp_partition_wish wish = work->wish(work->context, worker, d, p);
    if (wish == TTP_WISH_EVENTS && !work->decodes) {
        *outcome = LATER;
        return TTAPE_OK;
    }
    if (wish == TTP_WISH_EVENTS)
        TTP_TRY(read_events(d, p, NULL));
    ttape_status status = TTAPE_OK;
    if (wish == TTP_WISH_SUMMARY)
        status = do_summary(work, worker, d, p, &unread, err);
    else if (wish == TTP_WISH_EDGES)
        status = do_edges(work, worker, d, p, &unread, err);
    else if (wish == TTP_WISH_EVENTS)
        status = work->events(work->context, worker, d, p, err);
    if (wish != TTP_WISH_SUMMARY || !unread)
        *outcome = FINE;
    return status;
}

static void do_number(struct crew *c, struct ttp_trace_decoder *d, uint32_t worker, uint32_t number)
{
    struct ttp_loaded p = {.partition = c->partitions[number]};
    ttape_error err = {0};
    enum outcome outcome;
    ttp_decoding_begin(c->pool);
    ttape_status status = do_apart(c, d, worker, &p, &outcome, &err);
    if (status != TTAPE_OK && outcome == FINE)
        fail_all(c, number, status, &err);
    c->outcomes[number] = (uint8_t)outcome;
    ttp_loaded_drop(d, &p, 0);
    ttp_decoding_end(c->pool);
}

static void take_numbers(struct crew *c, struct ttp_trace_decoder *d, uint32_t worker)
{
    while (!atomic_load(&c->stop)) {
        uint32_t number = atomic_fetch_add(&c->next, 1);
        ttape_error err = {0};
        if (number >= c->partition_count)
            break;
        ttape_status status =
            worker == 0 ? ttp_ask_watch(c->watch, number, c->partition_count, &err) : TTAPE_OK;
        if (status != TTAPE_OK)
            fail_all(c, number, status, &err);
        else
            do_number(c, d, worker, number);
    }
}

/* ---- threads ---- */

static void *run_member(void *context)
{
    struct crew_member *m = context;
    take_numbers(m->crew, &m->decoder, m->number);
    return NULL;
}

static void copy_decoder(struct crew_member *m, const struct ttp_trace_decoder *d, uint64_t share)
{
    m->decoder = ttp_decoder_for_worker(d);
    m->decoder.memory.limit_bytes = share;
}

/* Threads that cannot be made are work that others do. */
static void start_members(struct crew_member *members, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        members[i].started = ttp_thread_begin(&members[i].thread, run_member, &members[i]);
}

static ttape_status run_members(struct ttp_trace_decoder *d, struct crew *c, uint32_t workers,
                                ttape_error *err)
{
    struct ttp_memory *memory = &d->memory;
    struct crew_member *members = ttp_memory_take(memory, workers, sizeof *members, err);
    if (members == NULL)
        return memory->status;
    memset(members, 0, workers * sizeof *members);
    uint64_t share = ttp_memory_left(memory) / workers;
    for (uint32_t i = 0; i < workers; i++) {
        members[i].crew = c;
        members[i].number = i;
        copy_decoder(&members[i], d, share);
    }
    start_members(members, workers);
    take_numbers(c, &members[0].decoder, 0);
    for (uint32_t i = 0; i < workers; i++) {
        if (members[i].started)
            ttp_thread_join(members[i].thread);
        ttp_models_drop(&members[i].decoder);
        ttp_zstd_reset(&members[i].decoder.zstd, &members[i].decoder.memory);
    }
    ttp_memory_give(memory, members, workers, sizeof *members);
    return TTAPE_OK;
}

/* ---- what became of it ---- */

static bool of_the_bytes(ttape_status status) { return status >= TTAPE_E_TRUNCATED; }

/* Where others have the memory that it takes, it is done once more when nobody decodes. */
static ttape_status do_summary_again(struct ttp_trace_decoder *d,
                                     const struct ttp_partition_work *work,
                                     const struct ttp_loaded *p, bool *unread, ttape_error *err)
{
    ttp_decoding_begin(d->pool);
    ttape_status status = do_summary(work, 0, d, p, unread, err);
    ttp_decoding_end(d->pool);
    if (status != TTAPE_E_LIMIT || !*unread || !ttp_pool_is_shared(d->pool))
        return status;
    ttp_decoding_begin_alone(d->pool);
    status = do_summary(work, 0, d, p, unread, err);
    ttp_decoding_end(d->pool);
    return status;
}

/* Through the cache, which makes room where a worker's share of the memory did not suffice.
 * *unread: it failed for the partition, not for the work. */
static ttape_status do_again(struct ttp_trace_decoder *d, const struct ttp_partition_work *work,
                             uint32_t partition, bool *unread, ttape_error *err)
{
    struct ttp_loaded *p;
    *unread = true;
    TTP_TRY(ttp_loaded_get(d, partition, TTP_STAGE_LIGHT, &p, err));
    if (d->reader->partitions[partition]
            .damaged) /* its streams are unknown, even if it can be read now */
        return ttp_fail(err, TTAPE_E_CORRUPT, "", p->payload_offset,
                        "partition could not be read when the file was opened");
    enum ttp_partition_wish wish = work->wish(work->context, 0, d, p);
    if (wish == TTP_WISH_SUMMARY)
        return do_summary_again(d, work, p, unread, err);
    if (wish == TTP_WISH_EDGES)
        return do_edges(work, 0, d, p, unread, err);
    if (wish == TTP_WISH_NOTHING)
        return TTAPE_OK;
    TTP_TRY(ttp_loaded_get(d, partition, TTP_STAGE_EVENTS, &p, err));
    *unread = false;
    return work->events(work->context, 0, d, p, err);
}

static ttape_status settle_job(struct ttp_trace_decoder *d, const struct crew *c, uint32_t number,
                               ttape_error *err)
{
    uint32_t partition = c->partitions[number];
    ttape_error problem = {0};
    bool unread;
    if (c->outcomes[number] == FINE)
        return TTAPE_OK;
    ttape_status status = do_again(d, c->work, partition, &unread, &problem);
    problem.status = status;
    if (status != TTAPE_OK && unread && of_the_bytes(status) && c->work->damaged != NULL)
        status = c->work->damaged(c->work->context, partition, &problem);
    if (status != TTAPE_OK && err != NULL)
        *err = problem;
    return status;
}

/* Workers only look numbers of models up: those are learnt before. Asking for one that cannot be
 * there learns all that stand before a partition. */
static void learn_models(struct ttp_trace_decoder *d, const uint32_t *partitions, uint32_t count)
{
    uint32_t index, last = 0;
    if (d->reader->model_count == 0 || count == 0)
        return;
    for (uint32_t i = 0; i < count; i++)
        last = partitions[i] > last ? partitions[i] : last;
    for (uint32_t i = 0; i <= last; i++)
        if (i == last || d->reader->partitions[i].scope != d->reader->partitions[i + 1].scope)
            (void)ttp_model_find(d->reader, i, TTP_NO_MODEL, &index, NULL);
}

static ttape_status run_all(struct ttp_trace_decoder *d, struct crew *c, uint32_t jobs,
                            ttape_error *err)
{
    uint32_t workers = ttp_partition_workers(jobs, c->partition_count);
    if (c->work->decodes)
        learn_models(d, c->partitions, c->partition_count);
    if (workers > 1)
        TTP_TRY(run_members(d, c, workers, err));
    else
        take_numbers(c, d, 0);
    if (c->failed != UINT32_MAX) {
        if (err != NULL)
            *err = c->error;
        return c->error.status;
    }
    for (uint32_t i = 0; i < c->partition_count; i++)
        TTP_TRY(settle_job(d, c, i, err));
    return TTAPE_OK;
}

ttape_status ttp_partition_work(struct ttp_trace_decoder *d, const uint32_t *partitions,
                                uint32_t partition_count, uint32_t jobs,
                                const struct ttp_partition_work *work, ttape_error *err)
{
    struct ttp_memory *memory = &d->memory;
    struct crew c = {.work = work,
                     .partitions = partitions,
                     .partition_count = partition_count,
                     .pool = d->pool,
                     .watch = d->watch,
                     .failed = UINT32_MAX};
    if (partition_count > 0) /* other threads may leave this one nothing to ask for */
        TTP_TRY(ttp_ask_watch(d->watch, 0, partition_count, err));
    c.outcomes = ttp_memory_take(memory, partition_count, 1, err);
    if (c.outcomes == NULL)
        return memory->status;
    memset(c.outcomes, FINE, partition_count);
    ttp_mutex_init(&c.mutex);
    ttape_status status = run_all(d, &c, jobs, err);
    ttp_mutex_destroy(&c.mutex);
    ttp_memory_give(memory, c.outcomes, partition_count, 1);
    return status;
}
