/* A mutex that knows in which context it was last taken and last let go: a debugger, or
 * `print lock.taken` in a message, says who holds it, without a stack for each lock. */
#ifndef LOCK_CONTEXT_H
#define LOCK_CONTEXT_H

#include <pthread.h>

#include <tracetape/context.h>

typedef struct lock_context {
    pthread_mutex_t mutex;
    ttape_context_value taken, released; /* of its holder, and of who held it before */
} lock_context;

#define LOCK_CONTEXT_INITIALIZER                                                                   \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER, {0, 0, 0}, { 0, 0, 0 }                                          \
    }

/* The caller's context, so these are part of it. */
static inline __attribute__((always_inline, no_instrument_function, unused)) int
lock_context_take(lock_context *lock)
{
    int result = pthread_mutex_lock(&lock->mutex);
    if (result == 0)
        lock->taken = ttape_context();
    return result;
}

static inline __attribute__((always_inline, no_instrument_function, unused)) int
lock_context_release(lock_context *lock)
{
    lock->released = ttape_context();
    return pthread_mutex_unlock(&lock->mutex);
}

#endif
