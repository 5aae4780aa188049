/* A program whose call graph is known to the last call: recursion, six threads started at one
 * place, and one started by a thread, with a routine that the others run too.
 *
 *   main -> sort_basket (calls itself)
 *   main -> foo -> alpha, beta, and six threads: start_thread -> alpha
 *   main -> bar -> alpha
 *   the first thread: start_thread -> bar -> alpha, and a thread: start_thread -> alpha
 *
 * Were all start_thread one node, the last line would close a cycle that no call went round.
 *
 * Two markers with one handle say who starts which thread; without them a call graph has to guess.
 * Weak: the program needs no runtime, `tracetape record` brings it. Each thread has its own sites:
 * their names are told by the thread that passes them first, and only what it tells itself is sure
 * to be known before its events. */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

#include <tracetape/runtime.h>

#pragma weak ttape_rt_mark_pointer

#define BASKET  64
#define THREADS 6

typedef struct task {
    int number;
    int nested;
    pthread_t thread;
} task;

static volatile unsigned long sink;
static task tasks[THREADS + 1];

__attribute__((no_instrument_function)) static void tell(ttape_rt_site *site, const void *handle)
{
    if (ttape_rt_mark_pointer != NULL)
        ttape_rt_mark_pointer(site, handle);
}

static void alpha(int rounds)
{
    for (int i = 0; i < rounds; i++)
        sink += (unsigned long)i;
}

static void beta(void) { sink++; }

/* Merge sort: a basket of n calls this 2n - 1 times. */
static void sort_basket(int *basket, int *scratch, int count)
{
    int half = count / 2, left = 0, right = half;
    if (count < 2)
        return;
    sort_basket(basket, scratch, half);
    sort_basket(basket + half, scratch, count - half);
    for (int i = 0; i < count; i++) {
        int take_left = right == count || (left < half && basket[left] <= basket[right]);
        scratch[i] = take_left ? basket[left++] : basket[right++];
    }
    for (int i = 0; i < count; i++)
        basket[i] = scratch[i];
}

static void *start_thread(void *argument);

/* Belongs to the function that starts the thread. */
__attribute__((no_instrument_function)) static int start(int number, int nested)
{
    static _Thread_local ttape_rt_site site =
        TTAPE_RT_SITE("tracetape:thread_create", TTAPE_SITE_MARKER);
    task *next = &tasks[number];
    *next = (task){.number = number, .nested = nested};
    tell(&site, next);
    return pthread_create(&next->thread, NULL, start_thread, next);
}

static void bar(int starts_one)
{
    alpha(1000);
    if (starts_one && start(THREADS, 0) == 0)
        pthread_join(tasks[THREADS].thread, NULL);
}

static void *start_thread(void *argument)
{
    static _Thread_local ttape_rt_site site =
        TTAPE_RT_SITE("tracetape:thread_start", TTAPE_SITE_MARKER);
    const task *mine = argument;
    tell(&site, mine);
    alpha(20000 * (mine->number + 1));
    if (mine->nested)
        bar(1);
    return NULL;
}

static void foo(void)
{
    alpha(1000);
    beta();
    for (int i = 0; i < THREADS; i++)
        if (start(i, i == 0) != 0)
            return;
    for (int i = 0; i < THREADS; i++)
        pthread_join(tasks[i].thread, NULL);
}

int main(void)
{
    int basket[BASKET], scratch[BASKET];
    for (int i = 0; i < BASKET; i++)
        basket[i] = (i * 37) % BASKET;
    sort_basket(basket, scratch, BASKET);
    foo();
    bar(0);
    printf("%d %d\n", basket[0], basket[BASKET - 1]);
    return 0;
}
