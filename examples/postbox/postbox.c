/* Delivers a few letters. Three calls may find that there is no way to a place, and all say so in
 * the same words, by the same function: which one it was is told by the number in front.
 *
 *     cc -O1 -g -finstrument-functions -o postbox postbox.c -ltracetape-context
 *     TRACETAPE_CONTEXT=postbox.ctx ./postbox >postbox.log
 *     tracetape context --dictionary postbox.ctx --annotate postbox.log
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../logs/log_printf.h"

static const char *const reachable[] = {"earth", "venus"};

/* Asked by all the others, and the only one that logs. */
static bool find_route(const char *place)
{
    for (size_t i = 0; i < sizeof reachable / sizeof *reachable; i++)
        if (strcmp(place, reachable[i]) == 0)
            return true;
    LOG("no route to %s", place);
    return false;
}

static bool try_again(const char *place, int times)
{
    return find_route(place) || (times > 1 && try_again(place, times - 1));
}

static void send_back(const char *from)
{
    if (!find_route(from))
        LOG("letter from %s is kept", from);
}

static void deliver(const char *from, const char *to)
{
    if (!find_route(to) && !try_again(to, 2))
        send_back(from);
}

int main(void)
{
    deliver("earth", "venus");
    deliver("venus", "mars");
    deliver("pluto", "mars");
    return 0;
}
