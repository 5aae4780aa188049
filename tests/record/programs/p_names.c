/* Threads that get names at once, from themselves and from others, before their first call, between
 * calls and at last; names that are refused. Each prints its id and the name that it has at its
 * end. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROUNDS   6
#define TOGETHER 4
#define CALLS    300

static pthread_barrier_t together;

__attribute__((noinline)) static void work(int times)
{
    static __thread volatile int count;
    for (int i = 0; i < times; i++)
        count += i;
}

static void tell(void)
{
    char name[16];
    pthread_getname_np(pthread_self(), name, sizeof name);
    printf("%ld %s\n", syscall(SYS_gettid), name);
    fflush(stdout);
}

static void *body(void *place)
{
    long number = (long)place;
    char name[32];
    for (int i = 0; i < CALLS; i++)
        work(i);
    pthread_barrier_wait(&together);
    snprintf(name, sizeof name, "early-%ld", number);
    if (number % TOGETHER < 2)
        pthread_setname_np(pthread_self(), name);
    work(1);
    snprintf(name, sizeof name, "late-%ld", number);
    if (number % TOGETHER == 1)
        prctl(PR_SET_NAME, name);
    pthread_setname_np(pthread_self(), "this is too long to be a name");
    pthread_barrier_wait(&together); /* main names the last one */
    pthread_barrier_wait(&together);
    work(1);
    tell();
    return NULL;
}

static void round_of(long first)
{
    pthread_t threads[TOGETHER];
    char name[32];
    pthread_barrier_init(&together, NULL, TOGETHER + 1);
    for (long i = 0; i < TOGETHER; i++)
        pthread_create(&threads[i], NULL, body, (void *)(first + i));
    pthread_barrier_wait(&together);
    pthread_barrier_wait(&together);
    snprintf(name, sizeof name, "given-%ld", first + TOGETHER - 1);
    pthread_setname_np(threads[TOGETHER - 1], name);
    pthread_barrier_wait(&together);
    for (int i = 0; i < TOGETHER; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    for (long i = 0; i < ROUNDS; i++)
        round_of(i * TOGETHER);
    prctl(PR_SET_NAME, "main-thread");
    work(1);
    tell();
    return 0;
}
