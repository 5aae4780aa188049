/* The recorder makes plans where there are none: that takes a tenth of a second for a large module,
 * once for each build. Bounded, as the recorder may be gone. */
#include <sys/syscall.h>
#include <time.h>

#include "writer/runtime/patch/patch.h"

#define FUTEX_WAIT  0
#define PLAN_WAIT_S 2
#define PLAN_TURNS  2u /* the first may have begun before our note was there */

static uint32_t turn_now(void)
{
    return __atomic_load_n(&ttp_arena.head.plan_turn, __ATOMIC_ACQUIRE);
}

bool ttp_plan_wait(const struct ttp_module_seen *module, const char *path, uint32_t flags,
                   bool (*is_there)(void *context, const struct ttp_plan_name *name), void *context)
{
    const struct timespec limit = {.tv_sec = PLAN_WAIT_S};
    struct ttp_plan_name name;
    ttp_plan_name_of(&name, module, path);
    uint32_t turn = turn_now();
    if (is_there(context, &name))
        return true;
    if (name.count == 0 || path[0] != '/')
        return false;
    ttp_note_plan(path, flags);
    for (uint32_t i = 0; i < PLAN_TURNS; i++) {
        if (ttp_syscall(SYS_futex, (long)&ttp_arena.head.plan_turn, FUTEX_WAIT, turn, (long)&limit,
                        0, 0) < 0 &&
            turn == turn_now())
            return false; /* nobody makes it */
        turn = turn_now();
        if (is_there(context, &name))
            return true;
    }
    return false;
}
