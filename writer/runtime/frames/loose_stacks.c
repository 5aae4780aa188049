/* Stacks that nobody announced: coroutines of programs that switch by code of their own. Several may
 * lie in one mapping (a heap, an array, regions side by side), so where it ends says nothing.
 *
 *     block:  ... | free | lowest ... frames ... high |      high: of what was seen there first
 *
 * A stack begins where a function is entered that nothing has called: its return address is made up
 * (none, or where another function begins). It goes on where its frames are, or near them. */
#include <errno.h>
#include <sys/syscall.h>

#include "writer/runtime/slow.h"

#define ABOVE_MOST  8192u  /* of frames that are not recorded, above the first one that is */
#define BELOW_MOST  12288u /* of one function */
#define ROOM_ABOVE  512u   /* of a function, above where it calls its hook */
#define UNKNOWN_HOW 99
#define CODE_BYTES  8u
#define CODE_PAGE   4096u
#define CALL_DIRECT 0xe8u
#define JUMP_DIRECT 0xe9u
#define JUMP_BYTES  5u
#define CALL_BY     0xffu
#define SITES_KNOWN 256u
#define WINDOW_MOST 32u

/* Call sites that are behind a call: looked at once. */
static uintptr_t known_sites[SITES_KNOWN];

/* The kernel reads the signals before it refuses to do something unknown with them. */
static bool is_readable(uintptr_t address)
{
    return ttp_syscall(SYS_rt_sigprocmask, UNKNOWN_HOW, (long)address, 0, sizeof(uint64_t), 0, 0) ==
           -EINVAL;
}

static bool is_call(const uint8_t *end)
{
    static const uint8_t lengths[] = {2, 3, 4, 6, 7};
    if (end[-5] == CALL_DIRECT)
        return true;
    for (uint32_t i = 0; i < sizeof(lengths); i++) {
        const uint8_t *code = end - lengths[i];
        if (code[0] == CALL_BY && (code[1] >> 3 & 7) == 2)
            return true;
    }
    return false;
}

/* A call may have been moved into a stub, with the jump to that left in front of it. */
static bool is_behind_jump(uintptr_t call_site)
{
    const uint8_t *end = (const uint8_t *)call_site;
    for (uint32_t i = JUMP_BYTES; i <= WINDOW_MOST && i <= call_site % CODE_PAGE; i++) {
        const uint8_t *code = end - i;
        uint32_t distance =
            code[1] | (uint32_t)code[2] << 8 | (uint32_t)code[3] << 16 | (uint32_t)code[4] << 24;
        if (code[0] == JUMP_DIRECT &&
            ttp_is_in_stubs((uintptr_t)code + JUMP_BYTES + (uintptr_t)(intptr_t)(int32_t)distance))
            return true;
    }
    return false;
}

bool ttp_is_first_call(uintptr_t call_site)
{
    uintptr_t *known = &known_sites[(call_site >> 1) % SITES_KNOWN];
    if (call_site == 0)
        return true;
    if (*(volatile uintptr_t *)known == call_site || ttp_process.avoids_system_calls ||
        ttp_is_signal_return(call_site))
        return false;
    if (!is_readable(call_site - CODE_BYTES) ||
        (!is_call((const uint8_t *)call_site) && !is_behind_jump(call_site)))
        return true;
    *(volatile uintptr_t *)known = call_site;
    return false;
}

/* -- where they are -- */

static uintptr_t top_of(uint32_t index)
{
    const struct ttp_stacks *stacks = ttp_thread.stacks;
    const struct ttp_runtime_stack *stack = &stacks->list[index];
    const struct ttp_runtime_frame *top = index == stacks->current ? ttp_thread.top : stack->top;
    while (!ttp_is_base(top) && (ttp_is_mark(top) || ttp_sp_of(top) >= stack->high))
        top--; /* a handler's, on another stack */
    return ttp_is_base(top) ? stack->lowest : ttp_sp_of(top);
}

/* Frames have been there, as far as was seen; the hot path goes down in small steps. */
static uintptr_t lowest_of(struct ttp_runtime_stack *stack, uintptr_t top)
{
    if (top < stack->lowest) {
        stack->lowest = top;
        stack->low = top - BELOW_MOST;
    }
    return stack->lowest;
}

uint32_t ttp_loose_find(uintptr_t sp)
{
    struct ttp_stacks *stacks = ttp_thread.stacks;
    uint32_t found = TTP_STACK_NONE;
    uintptr_t least = UINTPTR_MAX;
    for (uint32_t i = 1; stacks->has_loose && i < stacks->count; i++) {
        struct ttp_runtime_stack *stack = &stacks->list[i];
        if (!stack->is_loose)
            continue;
        uintptr_t top = top_of(i), distance = top > sp ? top - sp : sp - top;
        if (sp < stack->high && sp + TTP_LARGE_FRAME >= lowest_of(stack, top) && distance < least) {
            least = distance;
            found = i;
        }
    }
    return found;
}

/* The nearest one, not far away; it reaches as far from now on. */
uint32_t ttp_loose_claim(uintptr_t sp)
{
    struct ttp_stacks *stacks = ttp_thread.stacks;
    uint32_t found = TTP_STACK_NONE;
    uintptr_t least = UINTPTR_MAX;
    for (uint32_t i = 1; stacks->has_loose && i < stacks->count; i++) {
        const struct ttp_runtime_stack *stack = &stacks->list[i];
        if (!stack->is_loose)
            continue;
        uintptr_t top = top_of(i), distance = sp >= stack->high ? sp - stack->high : top - sp;
        if (distance < (sp >= stack->high ? ABOVE_MOST : BELOW_MOST) && distance < least) {
            least = distance;
            found = i;
        }
    }
    if (found != TTP_STACK_NONE && sp >= stacks->list[found].high)
        stacks->list[found].high = sp + ROOM_ABOVE;
    return found;
}

static void set_bounds(struct ttp_runtime_stack *stack, uintptr_t sp, uintptr_t high)
{
    stack->lowest = sp;
    stack->low = sp - BELOW_MOST;
    stack->high = high;
    stack->base->sp = high;
    stack->is_loose = true;
}

/* One that has ended is another one from now on. */
uint32_t ttp_loose_begin(uintptr_t sp, uintptr_t high)
{
    struct ttp_stacks *stacks = ttp_thread.stacks;
    uint32_t index = TTP_STACK_NONE;
    for (uint32_t i = 1; stacks->has_loose && i < stacks->count && !ttp_is_dropping(); i++) {
        const struct ttp_runtime_stack *stack = &stacks->list[i];
        if (stack->is_loose && i != stacks->current && stack->top == stack->base)
            index = i;
    }
    if (index == TTP_STACK_NONE)
        index = ttp_stack_add(sp - BELOW_MOST, high, 0, true);
    if (index != stacks->current)
        set_bounds(&stacks->list[index], sp, high);
    stacks->has_loose = true;
    return index;
}

uint32_t ttp_loose_first(uintptr_t sp)
{
    uint32_t index = ttp_loose_find(sp);
    if (index != TTP_STACK_NONE &&
        ttp_thread.stacks->list[index].high - sp <= TTP_LARGE_FRAME + ROOM_ABOVE)
        return index; /* used anew: frames that it has lie below */
    return ttp_loose_begin(sp, sp + ROOM_ABOVE);
}
