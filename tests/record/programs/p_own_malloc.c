/* The program's own malloc, free, calloc, realloc, instrumented, on top of the library's found by
 * dlsym, and its own pthread_mutex_lock, instrumented too: hooks run inside of all of them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "own.h"

static void *(*next_malloc)(size_t);
static void (*next_free)(void *);
static void *(*next_realloc)(void *, size_t);
static int (*next_lock)(pthread_mutex_t *);
static char early[65536];
static size_t early_used;
static __thread int inside;
static long mallocs, frees, locks, nested;

static void *early_malloc(size_t size)
{
    void *memory = early + early_used;
    early_used += (size + 15) & ~(size_t)15;
    return early_used <= sizeof(early) ? memory : NULL;
}

static int is_early(const void *memory)
{
    return (uintptr_t)memory - (uintptr_t)early < sizeof(early);
}

static void find_next(void)
{
    static int finding;
    if (finding)
        return;
    finding = 1;
    *(void **)&next_free = dlsym(RTLD_NEXT, "free");
    *(void **)&next_realloc = dlsym(RTLD_NEXT, "realloc");
    *(void **)&next_lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
    *(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
}

void *malloc(size_t size)
{
    if (next_malloc == NULL)
        find_next();
    __atomic_add_fetch(inside++ > 0 ? &nested : &mallocs, 1, __ATOMIC_RELAXED);
    void *memory = next_malloc != NULL ? next_malloc(size) : early_malloc(size);
    inside--;
    return memory;
}

void free(void *memory)
{
    __atomic_add_fetch(&frees, memory != NULL, __ATOMIC_RELAXED);
    if (memory != NULL && !is_early(memory) && next_free != NULL)
        next_free(memory);
}

void *calloc(size_t count, size_t size)
{
    void *memory = malloc(count * size);
    return memory != NULL ? memset(memory, 0, count * size) : NULL;
}

void *realloc(void *memory, size_t size)
{
    if (memory == NULL)
        return malloc(size);
    if (!is_early(memory) && next_realloc != NULL)
        return next_realloc(memory, size);
    void *moved = malloc(size);
    if (moved != NULL)
        memcpy(moved, memory, size);
    return moved;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (next_lock == NULL)
        find_next();
    __atomic_add_fetch(&locks, 1, __ATOMIC_RELAXED);
    return next_lock != NULL ? next_lock(mutex) : 0;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *argument)
{
    void *pieces[16] = {NULL};
    for (int i = 0; i < 5000; i++) {
        free(pieces[i % 16]);
        pieces[i % 16] = malloc((size_t)(i % 300) + 1);
        if (i % 8 == 0) {
            pthread_mutex_lock(&mutex);
            ++*(long *)argument;
            pthread_mutex_unlock(&mutex);
        }
    }
    for (int i = 0; i < 16; i++)
        free(pieces[i]);
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    long sum = 0;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, &sum);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("sum %ld nested %ld enough %d\n", sum, nested, mallocs >= 20000 && frees >= 20000);
    return 0;
}
