// Calls while a thread ends: destructors of thread-local objects and of pthread keys (which set
// their keys anew until the library gives up), cleanup handlers of pthread_exit and pthread_cancel
// from inner frames. `p_thread_exit [THREADS]`
#include <cstdio>
#include <pthread.h>
#include <unistd.h>

#include "own.h"

static pthread_key_t keys[3];
static long counts[8];

extern "C" ALONE long helper(long n)
{
    IN;
    long result = n < 1 ? 0 : helper(n - 1) + n;
    OUT;
    return result;
}

struct Local {
    long number = 1;
    ALONE ~Local()
    {
        own_put('R', "");
        own_put('E', "~Local");
        __atomic_add_fetch(&counts[0], helper(2), __ATOMIC_RELAXED);
        own_put('X', "~Local");
    }
};

static thread_local Local local;

extern "C" void key_destructor(void *value)
{
    own_put('R', "");
    IN;
    long left = (long)value;
    __atomic_add_fetch(&counts[1], helper(1), __ATOMIC_RELAXED);
    if (left > 1)
        pthread_setspecific(keys[left % 3], (void *)(left - 1));
    OUT;
}

extern "C" void cleanup(void *value)
{
    IN;
    __atomic_add_fetch(&counts[2], (long)value, __ATOMIC_RELAXED);
    helper(1);
    OUT;
    own_put('P', "");
}

extern "C" ALONE void leave_by_exit(long depth)
{
    IN;
    pthread_cleanup_push(cleanup, (void *)1);
    if (depth == 0)
        pthread_exit(nullptr);
    leave_by_exit(depth - 1);
    pthread_cleanup_pop(0);
    OUT;
}

extern "C" ALONE void wait_for_cancel(long depth)
{
    IN;
    pthread_cleanup_push(cleanup, (void *)100);
    while (depth == 0)
        usleep(1000);
    wait_for_cancel(depth - 1);
    pthread_cleanup_pop(0);
    OUT;
}

/* Only asks to be cancelled where it says so, however many hooks run before. */
extern "C" ALONE void test_cancel_late(void)
{
    IN;
    pthread_cancel(pthread_self());
    __atomic_add_fetch(&counts[3], helper(3), __ATOMIC_RELAXED);
    pthread_testcancel();
    __atomic_add_fetch(&counts[4], 1, __ATOMIC_RELAXED);
    OUT;
}

static void *thread_main(void *argument)
{
    own_put('E', "thread_main");
    long number = (long)argument;
    local.number += number;
    pthread_setspecific(keys[0], (void *)6);
    if (number % 4 == 1)
        leave_by_exit(3);
    if (number % 4 == 2)
        wait_for_cancel(3);
    if (number % 4 == 3)
        test_cancel_late();
    helper(2);
    own_put('X', "thread_main");
    return nullptr;
}

int main(int argc, char **argv)
{
    IN;
    long count = own_argument(argc, argv, 1, 12);
    pthread_t threads[256];
    for (auto &key : keys)
        pthread_key_create(&key, key_destructor);
    for (long i = 0; i < count; i++)
        pthread_create(&threads[i], nullptr, thread_main, (void *)i);
    usleep(20000);
    for (long i = 0; i < count; i++) {
        void *result = nullptr;
        if (i % 4 == 2)
            pthread_cancel(threads[i]);
        pthread_join(threads[i], &result);
        std::printf("thread %ld: %s\n", i, result == PTHREAD_CANCELED ? "cancelled" : "ended");
    }
    std::printf("%ld %ld %ld %ld %ld\n", counts[0], counts[1], counts[2], counts[3], counts[4]);
    OUT;
    return 0;
}
