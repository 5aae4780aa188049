/* Threads that all call at once, one of them starting another: `p_threads [THREADS] [ROUNDS]`. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>

#include "own.h"

static long rounds;
static long results[64];

ALONE static long leaf(long n)
{
    IN;
    long result = n * 2654435761l % 1013;
    OUT;
    return result;
}

ALONE static long branch(long n, int depth)
{
    IN;
    long sum = leaf(n);
    for (int i = 0; i < depth; i++)
        sum += branch(n + i, depth - i - 1);
    OUT;
    return sum;
}

static void *work(void *argument)
{
    IN;
    long *result = argument;
    for (long i = 0; i < rounds; i++)
        *result += branch((result - results) * 7 + i, 4);
    OUT;
    return NULL;
}

static void *work_with_child(void *argument)
{
    IN;
    pthread_t child;
    pthread_setname_np(pthread_self(), "parent-thread");
    pthread_create(&child, NULL, work, (long *)argument + 1);
    work(argument);
    pthread_join(child, NULL);
    OUT;
    return NULL;
}

int main(int argc, char **argv)
{
    IN;
    pthread_t threads[64];
    long count = own_argument(argc, argv, 1, 6), sum = 0;
    rounds = own_argument(argc, argv, 2, 20);
    for (long i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, i + 1 == count ? work_with_child : work, &results[i]);
    for (long i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    for (long i = 0; i <= count; i++)
        sum += results[i];
    printf("sum %ld\n", sum);
    OUT;
    return 0;
}
