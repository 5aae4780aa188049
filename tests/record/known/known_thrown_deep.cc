// Exceptions out of a recursion, through jumps to other functions, in threads, and one that is
// thrown while another is handled.
// Known: main 1, thread_main 2, rounds 3, catches 30, deep 180, passes 30, raises 30, second 30,
// mends 30, burn 3
#include <pthread.h>

#include "known.h"

namespace {

struct Error {
    long n;
};

ALONE long raises(long n)
{
    IN;
    sink += n;
    throw Error{n};
}

ALONE long passes(long n)
{
    IN;
    sink += n;
    TAIL(raises(n));
}

ALONE long deep(long n, long depth)
{
    IN;
    long r = depth > 0 ? deep(n, depth - 1) : passes(n);
    sink += r;
    OUT;
    return r;
}

ALONE long second(long n)
{
    IN;
    sink += n;
    throw n;
}

ALONE long mends(long n)
{
    IN;
    sink += n;
    OUT;
    return n;
}

ALONE long catches(long n)
{
    IN;
    long r = 0;
    try {
        r = deep(n, 5);
    } catch (const Error &error) {
        own_back("catches");
        try {
            r = second(error.n);
        } catch (long number) {
            own_back("catches");
            r = mends(number);
        }
    }
    sink += r;
    OUT;
    return r;
}

ALONE void rounds()
{
    IN;
    for (long i = 0; i < 10; i++)
        sink += catches(i);
    burn(3);
    OUT;
}

void *thread_main(void *unused)
{
    IN;
    rounds();
    sink++;
    OUT;
    return unused;
}

}

int main()
{
    IN;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], nullptr, thread_main, nullptr);
    rounds();
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], nullptr);
    OUT;
    return 0;
}
