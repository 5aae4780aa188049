/* The one function of the API that takes a floating point number, and so needs a vector register:
 * apart from the rest, which is compiled without. */
#include <tracetape/runtime.h>

#include "recorder/runtime/slow.h"

void ttape_rt_mark_double(ttape_rt_site *site, double value)
{
    ttape_value copy = {.type = TTAPE_VALUE_FLOAT};
    __builtin_memcpy(&copy.number, &value, sizeof(copy.number));
    if (ttp_arena.head.mode == TTP_MODE_ON)
        ttape_rt_mark(site, &copy, 1);
}
