#include "base/task.h"

#include <stddef.h>
#ifndef TTP_NO_THREADS
#include <signal.h>
#endif

#ifndef TTP_NO_THREADS

bool ttp_thread_begin(ttp_thread *thread, void *(*run)(void *context), void *context)
{
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return false;
    bool has_begun = pthread_create(thread, NULL, run, context) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return has_begun;
}

#else

bool ttp_thread_begin(ttp_thread *thread, void *(*run)(void *context), void *context)
{
    (void)run, (void)context;
    *thread = 0;
    return false;
}

#endif

static void *run(void *context)
{
    const struct ttp_task *b = context;
    b->work(b->context);
    return NULL;
}

void ttp_task_begin(struct ttp_task *b, void (*work)(void *context), void *context)
{
    *b = (struct ttp_task){.work = work, .context = context};
    b->has_thread = ttp_thread_begin(&b->thread, run, b);
}

void ttp_task_end(struct ttp_task *b)
{
    if (b->has_thread)
        ttp_thread_join(b->thread);
    else
        b->work(b->context);
}
