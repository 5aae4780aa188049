// Exceptions: through three frames with and without destructors, thrown again, caught in a loop,
// from a constructor, through noexcept-free callbacks, in threads. `p_throwing [ROUNDS]`
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <stdexcept>

#include "own.h"

// Says in whose frame it is destroyed, since no code of ours runs between a throw and that.
struct Guard {
    int number;
    const char *owner;
    ALONE Guard(int n, const char *in) : number(n), owner(in)
    {
        own_put('E', "Guard");
        own_put('X', "Guard");
    }
    ALONE ~Guard()
    {
        own_back(owner);
        own_put('E', "~Guard");
        own_put('X', "~Guard");
    }
};

extern "C" {

ALONE int thrower(int n)
{
    IN;
    if (n >= 0)
        throw n;
    OUT;
    return n;
}

ALONE int plain_middle(int n)
{
    IN;
    int result = thrower(n) + 1;
    OUT;
    return result;
}

ALONE int plain_outer(int n)
{
    IN;
    int result = plain_middle(n) + 1;
    OUT;
    return result;
}

ALONE int guarded_middle(int n)
{
    IN;
    Guard guard(n, __func__);
    int result = thrower(n) + guard.number;
    OUT;
    return result;
}

ALONE int guarded_outer(int n)
{
    IN;
    Guard guard(n + 1, __func__);
    int result = guarded_middle(n) + guard.number;
    OUT;
    return result;
}

ALONE int rethrower(int n)
{
    IN;
    int result = 0;
    try {
        result = guarded_outer(n);
    } catch (int caught) {
        own_back(__func__);
        plain_middle(-1);
        if (caught % 2 == 1)
            throw;
        result = caught;
    }
    OUT;
    return result;
}

ALONE int catcher(int (*function)(int), int n)
{
    IN;
    int sum = 0;
    for (int i = 0; i < 4; i++) {
        try {
            sum += function(n + i);
        } catch (int caught) {
            own_back(__func__);
            sum += caught * 10;
        }
        plain_middle(-1);
    }
    OUT;
    return sum;
}

}

// Logs the constructor's entry before members are made, and the destructor's exit after they are
// gone.
struct Entry {
    bool is_whole = false;
    PLAIN Entry() { own_put('E', "Broken"); }
    PLAIN ~Entry()
    {
        if (is_whole)
            own_put('X', "~Broken");
    }
};

struct Broken {
    Entry entry;
    Guard guard;
    ALONE explicit Broken(int n) : guard(n, "Broken")
    {
        if (n > 1)
            throw std::runtime_error("broken");
        guard.owner = "~Broken";
        entry.is_whole = true;
        own_put('X', "Broken");
    }
    ALONE ~Broken() { own_put('E', "~Broken"); }
};

extern "C" ALONE int construct(int n)
{
    IN;
    int result = 0;
    try {
        Broken broken(n);
        result = broken.guard.number;
    } catch (const std::exception &) {
        own_back(__func__);
        result = -n;
    }
    OUT;
    return result;
}

extern "C" ALONE int nested_catch(int n)
{
    IN;
    int result = 0;
    try {
        plain_outer(n);
    } catch (int outer) {
        own_back(__func__);
        try {
            guarded_outer(outer + 1);
        } catch (int inner) {
            own_back(__func__);
            result = outer * 100 + inner;
        }
    }
    OUT;
    return result;
}

extern "C" ALONE long all_of_it(long rounds)
{
    IN;
    long sum = 0;
    for (int i = 0; i < rounds; i++) {
        sum += catcher(plain_outer, i);
        sum += catcher(guarded_outer, i);
        sum += catcher(rethrower, i);
        sum += construct(i);
        sum += nested_catch(i);
    }
    OUT;
    return sum;
}

extern "C" void *thread_main(void *argument)
{
    IN;
    *(long *)argument = all_of_it(3);
    OUT;
    return nullptr;
}

int main(int argc, char **argv)
{
    IN;
    pthread_t thread;
    long other = 0;
    pthread_create(&thread, nullptr, thread_main, &other);
    std::printf("sum %ld\n", all_of_it(own_argument(argc, argv, 1, 4)));
    pthread_join(thread, nullptr);
    std::printf("other %ld\n", other);
    OUT;
    return 0;
}
