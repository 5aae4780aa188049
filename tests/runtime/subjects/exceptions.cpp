// Exceptions through one and several calls, caught by type, rethrown, thrown from destructors'
// calls.
#include <string.h>

#include <stdexcept>

#define NOINLINE __attribute__((noinline))

static volatile int sink;

NOINLINE void leaf() { sink = sink + 1; }
struct guard {
    ~guard() { leaf(); }
};
NOINLINE void thrower(int depth)
{
    if (depth == 0)
        throw std::runtime_error("thrown");
    thrower(depth - 1);
    leaf();
}
NOINLINE void guarded()
{
    guard here;
    thrower(1);
}
NOINLINE void reaches_down()
{
    char room[3000];
    memset(room, 1, sizeof(room));
    sink = sink + room[sink & 7];
    leaf();
}
NOINLINE void catcher()
{
    try {
        thrower(2);
    } catch (const std::exception &) {
        reaches_down();
    }
    leaf();
}
NOINLINE void rethrower()
{
    try {
        thrower(0);
    } catch (...) {
        leaf();
        throw;
    }
}
NOINLINE void outer()
{
    try {
        rethrower();
    } catch (const std::runtime_error &) {
        leaf();
    }
    try {
        guarded();
    } catch (...) {
    }
    leaf();
}

int main()
{
    catcher();
    outer();
    for (int i = 0; i < 3; i++)
        try {
            thrower(i);
        } catch (...) {
        }
    leaf();
    return 0;
}
