/* Worker threads: they take jobs in order and encode them; what they do depends on the job alone,
 * so their number never shows in the bytes. All waiting is on two condition variables under one
 * lock. */
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "format/base/fail.h"
#include "writer/writer_internal.h"
#include "writer/writer_threads.h"

#define MAX_WORKERS 64u

struct ttp_workers {
    const ttape_writer *writer;
    pthread_mutex_t lock;
    pthread_cond_t queued, done;
    pthread_t threads[MAX_WORKERS];
    uint32_t thread_count;
    struct ttp_job *queue[MAX_WORKERS + 2];
    uint32_t queue_start, queue_count;
    bool stop;
};

static void *work(void *argument)
{
    struct ttp_workers *pool = argument;
    const uint32_t slots = sizeof pool->queue / sizeof pool->queue[0];
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->queue_count == 0 && !pool->stop)
            pthread_cond_wait(&pool->queued, &pool->lock);
        if (pool->queue_count == 0)
            break;
        struct ttp_job *job = pool->queue[pool->queue_start];
        pool->queue_start = (pool->queue_start + 1) % slots;
        pool->queue_count--;
        pthread_mutex_unlock(&pool->lock);
        ttp_encode_job(pool->writer, job);
        pthread_mutex_lock(&pool->lock);
        job->state = TTP_JOB_DONE;
        pthread_cond_broadcast(&pool->done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* Workers take no signals: those are the program's. */
static int start_thread(struct ttp_workers *pool, pthread_t *thread)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = ttp_thread_create(thread, work, pool);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

ttape_status ttp_workers_start(ttape_writer *w, uint32_t count, ttape_error *err)
{
    struct ttp_workers *pool = w->allocator.allocate(w->allocator.context, sizeof *pool);
    if (pool == NULL)
        return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
    memset(pool, 0, sizeof *pool);
    pool->writer = w;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->queued, NULL);
    pthread_cond_init(&pool->done, NULL);
    w->workers = pool;
    while (pool->thread_count < count && pool->thread_count < MAX_WORKERS &&
           start_thread(pool, &pool->threads[pool->thread_count]) == 0)
        pool->thread_count++;
    if (pool->thread_count == 0) /* no threads to be had: encode in place */
        ttp_workers_stop(w);
    return TTAPE_OK;
}

void ttp_workers_submit(ttape_writer *w, struct ttp_job *job)
{
    struct ttp_workers *pool = w->workers;
    const uint32_t slots = sizeof pool->queue / sizeof pool->queue[0];
    pthread_mutex_lock(&pool->lock);
    job->state = TTP_JOB_QUEUED;
    pool->queue[(pool->queue_start + pool->queue_count++) % slots] = job;
    pthread_cond_signal(&pool->queued);
    pthread_mutex_unlock(&pool->lock);
}

void ttp_workers_wait(ttape_writer *w, struct ttp_job *job)
{
    struct ttp_workers *pool = w->workers;
    pthread_mutex_lock(&pool->lock);
    while (job->state == TTP_JOB_QUEUED)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

void ttp_workers_stop(ttape_writer *w)
{
    struct ttp_workers *pool = w->workers;
    if (pool == NULL)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->queued);
    pthread_mutex_unlock(&pool->lock);
    for (uint32_t i = 0; i < pool->thread_count; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->queued);
    pthread_cond_destroy(&pool->done);
    pthread_mutex_destroy(&pool->lock);
    w->allocator.release(w->allocator.context, pool, sizeof *pool);
    w->workers = NULL;
}
