// Calls before main and after it: static objects, constructor and destructor functions, atexit and
// at_quick_exit handlers, a thread that is alive at the end. `p_statics [exit|return|quick|nested]`
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <unistd.h>

#include "own.h"

extern "C" ALONE int helper(int n)
{
    IN;
    int result = n < 1 ? 0 : helper(n - 1) + n;
    OUT;
    return result;
}

struct Early {
    int number;
    ALONE explicit Early(int n) : number(n)
    {
        own_put('E', "Early");
        number += helper(n);
        own_put('X', "Early");
    }
    ALONE ~Early()
    {
        own_put('E', "~Early");
        helper(number % 3);
        own_put('X', "~Early");
    }
};

static Early first __attribute__((init_priority(101)))(2);
static Early second(3);

extern "C" __attribute__((constructor(200))) void constructor_function()
{
    IN;
    helper(1);
    OUT;
}

extern "C" __attribute__((destructor(200))) void destructor_function()
{
    IN;
    helper(1);
    OUT;
}

extern "C" ALONE void at_exit_handler()
{
    IN;
    std::printf("at exit %d\n", helper(4));
    std::fflush(stdout);
    OUT;
}

extern "C" ALONE void at_quick_handler()
{
    IN;
    std::printf("at quick exit %d\n", helper(5));
    std::fflush(stdout);
    OUT;
}

extern "C" ALONE void exit_from_here(int depth)
{
    IN;
    if (depth == 0)
        std::exit(5);
    exit_from_here(depth - 1);
    OUT;
}

extern "C" void *sleeper(void *started)
{
    IN;
    helper(2);
    __atomic_store_n((int *)started, 1, __ATOMIC_RELEASE);
    for (;;)
        pause();
    OUT;
    return nullptr;
}

static Early &local_static()
{
    own_put('E', "local_static");
    static Early late(1);
    own_put('X', "local_static");
    return late;
}

int main(int argc, char **argv)
{
    IN;
    pthread_t thread;
    int started = 0;
    const char *way = argc > 1 ? argv[1] : "return";
    std::atexit(at_exit_handler);
    at_quick_exit(at_quick_handler);
    pthread_create(&thread, nullptr, sleeper, &started);
    while (__atomic_load_n(&started, __ATOMIC_ACQUIRE) == 0)
        usleep(100);
    std::printf("%d %d %d\n", first.number, second.number, local_static().number);
    std::fflush(stdout);
    if (std::strcmp(way, "exit") == 0)
        std::exit(3);
    if (std::strcmp(way, "quick") == 0)
        std::quick_exit(4);
    if (std::strcmp(way, "nested") == 0)
        exit_from_here(4);
    OUT;
    return 6;
}
