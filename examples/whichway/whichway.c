/* A program to record whose calls go different ways: the same function prices four orders, and one
 * price is wrong. Which lines ran for that one, and not for the others?
 *
 *   cc -g -finstrument-functions -fsanitize-coverage=trace-pc -o whichway whichway.c \
 *      $(pkg-config --libs tracetape-blocks)
 *   tracetape record -o run.ttape -- ./whichway
 *   tracetape slow run.ttape -F '^discount$' -1            # the calls, by their names: s0e33
 *   tracetape lines run.ttape --frame s0e33               # one of them
 *   tracetape lines run.ttape --frame s0e33 --with s0e51  # beside another one */
#include <stdio.h>

struct order {
    const char *name;
    int pieces, cents_each;
    int is_member;
};

static int discount(const struct order *order, int sum)
{
    if (order->is_member)
        return sum / 10;
    if (order->pieces > 100)
        sum = sum - 100; /* the mistake: of large orders of others */
    return sum / 100;
}

static int price(const struct order *order)
{
    int sum = order->pieces * order->cents_each;
    if (sum > 5000)
        sum = sum - discount(order, sum);
    if (sum < 0)
        return 0; /* never */
    return sum;
}

int main(void)
{
    static const struct order orders[] = {
        {"pencils", 20, 90, 0},
        {"lamps", 3, 4500, 1},
        {"screws", 1200, 5, 0},
        {"chairs", 4, 8000, 0},
    };
    for (unsigned i = 0; i < sizeof orders / sizeof *orders; i++)
        printf("%s %d\n", orders[i].name, price(&orders[i]));
    return 0;
}
