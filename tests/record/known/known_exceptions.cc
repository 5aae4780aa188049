// Exceptions that pass functions with and without destructors, are caught, and thrown again.
// Known: main 1, serve 30, checks 30, works 30, throws 20, Guard 60, ~Guard 60, closes 60,
// handles 20, again 10, burn 1
#include "known.h"

namespace {

ALONE void closes(long n)
{
    IN;
    sink += n;
    OUT;
}

struct Guard {
    long n;
    const char *owner; // whose it is: what that called is gone when it goes
    ALONE Guard(long number, const char *function) : n(number), owner(function)
    {
        IN;
        sink += n;
        OUT;
    }
    ALONE ~Guard()
    {
        own_back(owner);
        own_put('E', "~Guard");
        closes(n);
        sink += n;
        own_put('X', "~Guard");
    }
};

ALONE void throws(long n)
{
    IN;
    sink += n;
    throw n;
}

ALONE void works(long n)
{
    IN;
    {
        Guard guard(n, "works");
        if (n % 3 != 0)
            throws(n);
        sink++;
    }
    sink++;
    OUT;
}

ALONE void handles(long n)
{
    IN;
    if (n == 13)
        burn(5);
    sink += n;
    OUT;
}

ALONE void again(long n)
{
    IN;
    sink += n;
    throw;
}

ALONE void checks(long n)
{
    IN;
    {
        Guard guard(n, "checks");
        try {
            works(n);
        } catch (long caught) {
            own_back("checks");
            if (caught % 2 == 0)
                again(caught);
            sink++;
        }
    }
    sink++;
    OUT;
}

ALONE void serve(long n)
{
    IN;
    try {
        checks(n);
        if (n % 3 != 0)
            handles(n);
    } catch (long caught) {
        own_back("serve");
        handles(caught);
    }
    sink++;
    OUT;
}

}

int main()
{
    IN;
    for (long i = 0; i < 30; i++)
        serve(i);
    OUT;
    return 0;
}
