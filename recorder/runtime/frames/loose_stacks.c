/* Stacks that nobody announced: coroutines of programs that switch by code of their own. Several
 * may lie in one mapping (a heap, an array, regions side by side), so its end says nothing.
 *
 *     block:  ... | free | lowest ... frames ... high |      high: of what was seen there first
 *
 * A stack begins where a function is entered that nothing has called: its return address is made up
 * (none, or where another function begins); or one from where another stack's first was called. It
 * goes on where its frames are, or near them. */
#include <errno.h>
#include <sys/syscall.h>

#include "recorder/runtime/operation.h"
#include "recorder/runtime/slow.h"

#define ABOVE_MOST  8192u  /* of frames that are not recorded, above the first one that is */
#define BELOW_MOST  12288u /* of one function */
#define ROOM_ABOVE  512u   /* of a function, above where it calls its hook */
#define UNKNOWN_HOW 99
#define CODE_BYTES  8u
#define PAGE_BYTES  4096u
#define CALL_DIRECT 0xe8u
#define JUMP_DIRECT 0xe9u
#define JUMP_BYTES  5u
#define CALL_BY     0xffu
#define SITES_KNOWN 256u
#define NEAR_BITS   15u
#define NEAR_MIXED  UINT64_C(0x9e3779b97f4a7c15)
#define NEAR_BYTES  (sizeof(uint16_t) << NEAR_BITS)
#define CODE_MOST   65536u /* of one function */
#define WINDOW_MOST 32u

/* Call sites that are behind a call: looked at once. */
static uintptr_t known_sites[SITES_KNOWN];

/* The kernel reads the signals before it refuses to do something unknown with them. */
static bool is_readable(uintptr_t address)
{
    if (ttp_process.avoids_system_calls)
        return false;
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
    for (uint32_t i = JUMP_BYTES; i <= WINDOW_MOST && i <= call_site % PAGE_BYTES; i++) {
        const uint8_t *code = end - i;
        uint32_t distance =
            code[1] | (uint32_t)code[2] << 8 | (uint32_t)code[3] << 16 | (uint32_t)code[4] << 24;
        if (code[0] == JUMP_DIRECT &&
            ttp_is_in_stubs((uintptr_t)code + JUMP_BYTES + (uintptr_t)(intptr_t)(int32_t)distance))
            return true;
    }
    return false;
}

static bool is_made_up(uintptr_t call_site)
{
    uintptr_t *known = &known_sites[(call_site >> 1) % SITES_KNOWN];
    if (ttp_process.avoids_system_calls)
        return false;
    if (call_site == 0)
        return true;
    if (*(volatile uintptr_t *)known == call_site || ttp_is_signal_return(call_site))
        return false;
    if (!is_readable(call_site - CODE_BYTES) ||
        (!is_call((const uint8_t *)call_site) && !is_behind_jump(call_site)))
        return true;
    *(volatile uintptr_t *)known = call_site;
    return false;
}

/* -- where they are -- */

static uintptr_t distance_of(uintptr_t a, uintptr_t b) { return a > b ? a - b : b - a; }

static uintptr_t top_of(uint32_t index)
{
    const struct ttp_stacks *stacks = ttp_thread.stacks;
    const struct ttp_runtime_stack *stack = &stacks->list[index];
    const struct ttp_runtime_frame *top = index == stacks->current ? ttp_thread.top : stack->top;
    while (!ttp_is_base(top) && (ttp_is_mark(top) || ttp_sp_of(top) >= stack->high))
        top--; /* a handler's, on another stack */
    return !ttp_is_base(top) ? ttp_sp_of(top) : stack->is_loose ? stack->lowest : stack->high;
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

/* What the current stack's innermost function calls may lie further below it than others'. */
static bool may_hold(uint32_t index, uintptr_t sp, uintptr_t top)
{
    struct ttp_runtime_stack *stack = &ttp_thread.stacks->list[index];
    if (!stack->is_loose)
        return ttp_stack_holds(stack, sp);
    uintptr_t room = index == ttp_thread.stacks->current ? BELOW_MOST : TTP_LARGE_FRAME;
    return sp < stack->high && sp + room >= lowest_of(stack, top);
}

/* How far in the code behind its innermost function's start. */
static uintptr_t caller_distance(uint32_t index, uintptr_t call_site)
{
    const struct ttp_stacks *stacks = ttp_thread.stacks;
    const struct ttp_runtime_frame *top =
        index == stacks->current ? ttp_thread.top : stacks->list[index].top;
    uintptr_t distance = call_site - ttp_function_of(top);
    return ttp_is_base(top) || distance > CODE_MOST ? CODE_MOST : distance;
}

static uint16_t *near_of(uintptr_t sp)
{
    uint16_t *near = ttp_thread.stacks->near;
    return near == NULL ? NULL : &near[sp / PAGE_BYTES * NEAR_MIXED >> (64 - NEAR_BITS)];
}

static void keep_near(uintptr_t sp, uint32_t index)
{
    uint16_t *near = near_of(sp);
    if (near != NULL && index < ttp_thread.stacks->count)
        *(volatile uint16_t *)near = (uint16_t)(index + 1);
}

/* The one that was there last, if its innermost frame is near: so not all of many are looked at. */
static uint32_t find_near(uintptr_t sp)
{
    const uint16_t *near = near_of(sp);
    uint32_t index = near == NULL ? 0 : *(const volatile uint16_t *)near;
    if (index == 0 || index > ttp_thread.stacks->count)
        return TTP_STACK_NONE;
    uintptr_t top = top_of(--index);
    return distance_of(top, sp) < TTP_LARGE_FRAME && may_hold(index, sp, top) ? index
                                                                              : TTP_STACK_NONE;
}

/* Where several may be meant (one within an array of another's; one that was given up, and its
 * memory is another's), the one with the nearest frame. The current one goes on where what calls
 * looks more like its function. */
static uint32_t find_stack(uintptr_t sp, uintptr_t call_site)
{
    const struct ttp_stacks *stacks = ttp_thread.stacks;
    uint32_t found = find_near(sp), current = stacks->current;
    if (found != TTP_STACK_NONE)
        return found;
    uintptr_t least = UINTPTR_MAX;
    for (uint32_t i = 0; stacks->has_loose && i < stacks->count; i++) {
        uintptr_t top = top_of(i), distance = distance_of(top, sp);
        if (distance < least && may_hold(i, sp, top)) {
            least = distance;
            found = i;
        }
    }
    if (found != TTP_STACK_NONE && found != current && stacks->list[current].is_loose &&
        sp < top_of(current) && may_hold(current, sp, top_of(current)) &&
        caller_distance(current, call_site) < caller_distance(found, call_site))
        return current;
    return found;
}

/* Where another one's first function was called from. What calls itself from there, does so on the
 * current stack. */
static bool is_start(uintptr_t call_site, uintptr_t sp)
{
    const struct ttp_stacks *stacks = ttp_thread.stacks;
    uint32_t near = find_near(sp);
    if (near != TTP_STACK_NONE && stacks->list[near].base[1].call_site != call_site)
        return false;
    for (uint32_t i = 1; stacks->has_loose && i < stacks->count; i++)
        if (stacks->list[i].is_loose && stacks->list[i].base[1].call_site == call_site)
            return find_stack(sp, call_site) != stacks->current;
    return false;
}

bool ttp_is_first_call(uintptr_t call_site, uintptr_t sp)
{
    return is_made_up(call_site) || is_start(call_site, sp);
}

bool ttp_loose_is_within(uintptr_t low, uintptr_t high)
{
    const struct ttp_stacks *stacks = ttp_thread.stacks;
    for (uint32_t i = 0; stacks->has_loose && i < stacks->count; i++)
        if (stacks->list[i].is_loose && i != stacks->current && stacks->list[i].high > low &&
            stacks->list[i].lowest <= high + TTP_LARGE_FRAME)
            return true;
    return false;
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

/* What of it a walk may read: it ends with its first frame, or near it. */
uintptr_t ttp_loose_end(const struct ttp_runtime_stack *stack, uintptr_t sp)
{
    uintptr_t page_end = (sp | (PAGE_BYTES - 1)) + 1;
    return stack->high <= page_end || is_readable(stack->high - sizeof(uintptr_t)) ? stack->high
                                                                                   : page_end;
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
    if (stacks->near == NULL && !ttp_process.avoids_system_calls) {
        long memory = ttp_room_map(NEAR_BYTES);
        stacks->near = ttp_failed(memory) ? NULL : (uint16_t *)memory;
    }
    return index;
}

/* Where one has been before, that one is over. */
static uint32_t begin_first(uintptr_t sp)
{
    const struct ttp_stacks *stacks = ttp_thread.stacks;
    for (uint32_t i = 0; stacks->has_loose && i < stacks->count; i++) {
        struct ttp_runtime_stack *stack = &stacks->list[i];
        if (!stack->is_loose || sp >= stack->high || sp < lowest_of(stack, top_of(i)))
            continue;
        if (stack->high - sp > TTP_LARGE_FRAME + ROOM_ABOVE) {
            set_bounds(stack, sp, sp + ROOM_ABOVE);
            stack->is_stale = true;
        }
        return i;
    }
    if (ttp_thread_number() != ttp_thread.page->thread_id)
        return UINT32_MAX;
    if (!stacks->list[0].exact)
        ttp_stack_exact();
    return ttp_loose_begin(sp, sp + ROOM_ABOVE);
}

uint32_t ttp_loose_find(uintptr_t sp, const struct operation *op)
{
    uint32_t found = op == NULL || !op->is_first ? find_stack(sp, op != NULL ? op->call_site : 0)
                                                 : begin_first(sp);
    keep_near(sp, found);
    return found;
}

void ttp_loose_close(const struct ttp_stacks *stacks)
{
    if (stacks->near != NULL)
        ttp_room_unmap(stacks->near, NEAR_BYTES);
}

/* A coroutine begins where another one was given up: by a function that nobody has called, or by
 * the stack's first one. What has that one's place, and is another function, is inlined in it. */
struct ttp_runtime_frame *ttp_loose_staying(const struct operation *op,
                                            struct ttp_runtime_frame *stays, uintptr_t function)
{
    const struct ttp_runtime_stack *stack = ttp_stack_current();
    const struct ttp_runtime_frame *first = stack->base + 1;
    if (!stack->is_loose || stays == stack->base)
        return stays;
    bool is_anew = ttp_function_of(first) == function && ttp_sp_of(first) == op->sp;
    bool is_inlined = !op->is_whole && ttp_sp_of(stays) == op->sp;
    return is_anew || (op->is_first && !is_inlined) ? stack->base : stays;
}
