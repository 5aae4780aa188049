/* For builds with sanitizers: `p_sanitized` calls in two threads and does nothing wrong;
 * `p_sanitized address|thread|undefined|leak` does what that sanitizer reports, too. */
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile long sink[2];
static long raced;
static atomic_int has_raced;
static void *volatile lost;

__attribute__((noinline)) static void leaf(long n) { sink[n & 1] += n; }

static void *other_thread(void *unused)
{
    for (int i = 0; i < 100; i++)
        leaf(1);
    return unused;
}

static void *racing_thread(void *unused)
{
    raced++;
    atomic_store_explicit(&has_raced, 1, memory_order_relaxed);
    return unused;
}

static void use_freed(void)
{
    char *volatile text = malloc(10);
    free(text);
    sink[0] += text[1];
}

/* Two accesses at one instant can escape the sanitizer. Here they are one after the other, in an
 * order that it does not know of: a relaxed store orders nothing. */
static void race(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, racing_thread, NULL);
    while (!atomic_load_explicit(&has_raced, memory_order_relaxed))
        sched_yield();
    raced++;
    pthread_join(thread, NULL);
}

static void overflow(void)
{
    volatile int large = INT_MAX;
    large = large + 1;
}

static void leak(void)
{
    lost = malloc(100);
    lost = NULL;
}

int main(int argc, char **argv)
{
    const char *wrong = argc > 1 ? argv[1] : "";
    pthread_t thread;
    for (int i = 0; i < 1000; i++)
        leaf(0);
    pthread_create(&thread, NULL, other_thread, NULL);
    pthread_join(thread, NULL);
    if (strcmp(wrong, "address") == 0)
        use_freed();
    else if (strcmp(wrong, "thread") == 0)
        race();
    else if (strcmp(wrong, "undefined") == 0)
        overflow();
    else if (strcmp(wrong, "leak") == 0)
        leak();
    puts("done");
    return 0;
}
