/* swapcontext and setcontext, in the shared library only: what they go on with is another stack, so
 * that no window sees the end of their calls. These are over when that begins. */
#include <stdlib.h>

#include "recorder/runtime/in_front_of.h"
#include "recorder/runtime/library/front_calls.h"
#include "recorder/runtime/loader/lookup.h"
#include "recorder/runtime/slow.h"

enum real_name { REAL_SWAPCONTEXT, REAL_SETCONTEXT, REAL_COUNT };

static const char *const names[REAL_COUNT] = {"swapcontext", "setcontext"};
static void *reals[REAL_COUNT];

void ttp_contexts_begin(void)
{
    for (uint32_t i = 0; i < REAL_COUNT; i++)
        reals[i] = ttp_next_function(names[i]);
}

static void *begin_switch(enum real_name name, uintptr_t return_address, uintptr_t sp)
{
    if (reals[name] == NULL)
        reals[name] = ttp_next_function(names[name]);
    if (reals[name] == NULL) /* without us the caller's own link would have failed */
        abort();
    ttp_front_point(reals[name], return_address, sp);
    return reals[name];
}

#define SWITCH_IN_FRONT_OF(name, number)                                                           \
    void *ttp_before_##name(uintptr_t first, uintptr_t second, uintptr_t sp,                       \
                            uintptr_t return_address);                                             \
    BEFORE void *ttp_before_##name(uintptr_t first, uintptr_t second, uintptr_t sp,                \
                                   uintptr_t return_address)                                       \
    {                                                                                              \
        (void)first;                                                                               \
        (void)second;                                                                              \
        return begin_switch(number, return_address, sp);                                           \
    }                                                                                              \
    IN_FRONT_OF(name, ttp_before_##name)

SWITCH_IN_FRONT_OF(swapcontext, REAL_SWAPCONTEXT);
SWITCH_IN_FRONT_OF(setcontext, REAL_SETCONTEXT);
