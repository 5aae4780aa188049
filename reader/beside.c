#include "reader/beside.h"

#include <signal.h>

static void *run(void *context)
{
    const struct ttp_beside *b = context;
    b->work(b->context);
    return NULL;
}

void ttp_beside_begin(struct ttp_beside *b, void (*work)(void *context), void *context)
{
    sigset_t all, before;
    *b = (struct ttp_beside){.work = work, .context = context};
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) /* they are for the program's threads */
        return;
    b->has_thread = pthread_create(&b->thread, NULL, run, b) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void ttp_beside_end(struct ttp_beside *b)
{
    if (b->has_thread)
        pthread_join(b->thread, NULL);
    else
        b->work(b->context);
}
