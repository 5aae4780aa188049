/* Depth and size: `p_deep recursion [FRAMES]` a million frames deep, twice, on a stack of its own;
 * `p_deep frames` frames of 100 MB, `p_deep alloca` frames of any size. */
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "own.h"

#define STACK_BYTES (1ul << 30)

static const char *way = "recursion";
static long frames = 1000000;
static volatile long sink;

ALONE static long recurse(long n)
{
    sink += n;
    long below = n > 0 ? recurse(n - 1) : 0;
    return below + 1;
}

ALONE static long leaf(long n) { return n + 1; }

ALONE static long huge_frame(long n)
{
    char room[100 << 20];
    char *volatile at = room;
    at[0] = (char)n;
    at[sizeof(room) - 1] = 1;
    long sum = leaf(n) + (n > 0 ? huge_frame(n - 1) : 0) + leaf(n);
    return sum + at[sizeof(room) - 1];
}

ALONE static long with_alloca(size_t bytes)
{
    char *volatile room = alloca(bytes);
    room[0] = 1;
    long sum = leaf((long)bytes);
    room = alloca(bytes);
    room[bytes / 2] = 1;
    return sum + leaf(1) + room[bytes / 2];
}

static void *work(void *result)
{
    long sum = 0;
    if (strcmp(way, "recursion") == 0)
        for (int i = 0; i < 2; i++)
            sum += recurse(frames) + leaf(i);
    else if (strcmp(way, "frames") == 0)
        for (int i = 0; i < 3; i++)
            sum += huge_frame(3) + leaf(1);
    else
        for (size_t bytes = 16; bytes < 100u << 20; bytes *= 3)
            sum += with_alloca(bytes) + leaf(2);
    *(long *)result = sum;
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    pthread_attr_t attributes;
    long sum = 0;
    void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (argc > 1)
        way = argv[1];
    frames = own_argument(argc, argv, 2, frames);
    if (stack == MAP_FAILED)
        return 3;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, STACK_BYTES);
    if (pthread_create(&thread, &attributes, work, &sum) != 0)
        return 4;
    pthread_join(thread, NULL);
    printf("%s %ld\n", way, sum);
    return 0;
}
