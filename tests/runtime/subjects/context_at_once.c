/* Threads that ask for their value for the first time, all at once. */
#include <pthread.h>
#include <stdio.h>

#include <tracetape/context.h>

#define THREADS 16

static pthread_barrier_t barrier;
static char texts[THREADS][TTAPE_CONTEXT_TEXT_BYTES];

static void *ask(void *argument)
{
    pthread_barrier_wait(&barrier);
    ttape_context_text((char *)argument, TTAPE_CONTEXT_TEXT_BYTES);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, ask, texts[i]) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        puts(texts[i]);
    }
    return 0;
}
