/* Destructors that run while an exception passes: each is called by the function whose object it
 * destroys, whether its frame is larger than that of the function that threw or smaller. */
#include <stdexcept>

#define ALONE __attribute__((noinline))

static volatile int sink;

template <int SIZE> struct Object {
    ALONE Object() { sink = sink + SIZE; }
    ALONE ~Object()
    {
        volatile char room[SIZE];
        for (int i = 0; i < SIZE; i += 16)
            room[i] = (char)sink;
        sink = sink + room[SIZE / 2];
    }
};

ALONE static void throws(int kind)
{
    sink = sink + 1;
    if (kind == 0)
        throw 3;
    if (kind == 1)
        throw std::runtime_error("text");
}

ALONE static void small_one(int kind)
{
    Object<16> object;
    throws(kind);
    sink = sink + 1;
}

ALONE static void large_one(int kind)
{
    Object<700> object;
    small_one(kind);
    sink = sink + 1;
}

/* Two of them, and a call in between that ended before. */
ALONE static void several(int kind)
{
    Object<900> outer;
    throws(2);
    Object<300> inner;
    large_one(kind);
    sink = sink + 1;
}

ALONE static void rethrows(int kind)
{
    Object<400> object;
    try {
        several(kind);
    } catch (const std::exception &) {
        throws(2);
        throw;
    }
}

int main()
{
    for (int i = 0; i < 6; i++)
        try {
            rethrows(i % 3);
        } catch (...) {
            sink = sink + 1;
        }
    return 0;
}
