/* What the callback of a block does for branch values: see branch_state.h and spec/context.md.
 *
 * A block counts for the call whose frame has the block's own stack pointer: what compilers put in
 * front of the enter hook or behind the exit hook is in no call, and so is the block of a function
 * that has no hooks. Handlers have frames of their own. */
#include <sys/syscall.h>

#include <tracetape/runtime.h>

#include "recorder/runtime/branch/branch_state.h"
#include "recorder/runtime/hot.h"
#include "recorder/runtime/slow.h"

#define ENV_BRANCH "TRACETAPE_BRANCH"

struct ttp_branch_settings ttp_branch_settings;

/* -- cells -- */

static size_t cell_bytes(const struct ttp_runtime_stack *stack)
{
    return (size_t)(stack->end - stack->base + 1 + TTP_FRAMES_SPARE) * sizeof(ttape_branch);
}

static ttape_branch *map_into(ttape_branch **place, size_t bytes)
{
    if (ttp_process.avoids_system_calls)
        return NULL;
    long memory = ttp_room_map(bytes);
    if (ttp_failed(memory))
        return NULL;
    if (!ttp_swap_here((uint64_t *)place, 0, (uint64_t)memory))
        ttp_room_unmap((void *)memory, bytes); /* a handler was faster */
    return *place;
}

static struct ttp_runtime_stack *stack_of(const struct ttp_runtime_frame *frame)
{
    struct ttp_runtime_stack *current = ttp_stack_current();
    return frame > current->base && frame <= current->end + TTP_FRAMES_SPARE ? current : NULL;
}

/* NULL: there is none, and none is made. */
static ttape_branch *find_cell(const struct ttp_runtime_frame *frame)
{
    struct ttp_runtime_stack *stack = stack_of(frame);
    return stack == NULL || stack->branches == NULL ? NULL : &stack->branches[frame - stack->base];
}

static ttape_branch *take_cell(const struct ttp_runtime_frame *frame)
{
    struct ttp_runtime_stack *stack = stack_of(frame);
    if (stack == NULL ||
        (stack->branches == NULL && map_into(&stack->branches, cell_bytes(stack)) == NULL))
        return NULL;
    return &stack->branches[frame - stack->base];
}

static ttape_branch *thread_cell(void)
{
    return ttp_thread.branch != NULL ? ttp_thread.branch
                                     : map_into(&ttp_thread.branch, sizeof(ttape_branch));
}

/* All 0 until a block comes: whatever a value begins with. */
static void empty(ttape_branch *cell)
{
    uint64_t *words = (uint64_t *)cell;
    for (size_t i = 0; i < sizeof(*cell) / sizeof(*words); i++)
        words[i] = 0;
}

void ttp_branch_entered(const struct ttp_runtime_frame *frame)
{
    ttape_branch *cell = find_cell(frame);
    if (cell != NULL && (cell->blocks != 0 || cell->flags != 0))
        empty(cell);
}

void ttp_branch_close(struct ttp_runtime_stack *stack)
{
    ttape_branch *cells = stack->branches;
    stack->branches = NULL;
    TTP_SIGNAL_FENCE();
    if (cells != NULL)
        ttp_room_unmap(cells, cell_bytes(stack));
}

void ttp_branch_end(void)
{
    ttape_branch *cell = ttp_thread.branch;
    ttp_thread.branch = NULL;
    TTP_SIGNAL_FENCE();
    if (cell != NULL)
        ttp_room_unmap(cell, sizeof(*cell));
}

/* -- blocks -- */

static bool has_frames(void)
{
    return ttp_arena.head.mode == TTP_MODE_ON && ttp_has_state() &&
           ttp_thread.page->deep_frames == 0;
}

/* The function whose code a call runs in: inlined ones have its stack pointer and call site. */
static uintptr_t code_of(const struct ttp_runtime_frame *frame)
{
    while (frame[-1].sp == frame->sp && frame[-1].call_site == frame->call_site &&
           (frame->function & TTP_FRAME_CHAINED) == 0)
        frame--;
    return ttp_function_of(frame);
}

static void take_branch(ttape_branch *cell, uint64_t id)
{
    if (cell->blocks == 0 && (cell->flags & TTAPE_BRANCH_OVERFLOW) == 0)
        cell->value = ttape_branch_first(ttp_branch_settings.operation).value;
    ttape_branch_take(ttp_branch_settings.operation, cell, id);
}

static void take_number(ttape_branch *cell, const struct ttp_runtime_frame *frame, uintptr_t end,
                        uintptr_t callback)
{
    uint32_t number = ttp_branch_number(code_of(frame), end, callback);
    bool has_primes = ttp_branch_settings.operation == TTAPE_BRANCH_PRIMES;
    uint64_t id = has_primes ? ttp_branch_prime(number) : number;
    if (number == TTP_BRANCH_NO_NUMBER || (has_primes && id == 0))
        cell->flags |= TTAPE_BRANCH_PARTIAL;
    else
        take_branch(cell, id);
}

static TTP_COLD void pass(uintptr_t address, uintptr_t sp, uintptr_t callback, uintptr_t move)
{
    uintptr_t end = address + 1;
    if (!has_frames() || !ttp_branch_is_call(end, callback)) /* not a function's last jump */
        return;
    if (ttp_branch_settings.scope == TTAPE_BRANCH_THREAD) {
        ttape_branch *own = thread_cell();
        if (own != NULL)
            take_branch(own, address - move);
        return;
    }
    const struct ttp_runtime_frame *top = ttp_thread.top;
    if (top->sp != sp || ttp_inlined_in(top) != 0)
        return;
    ttape_branch *cell = take_cell(top);
    if (cell == NULL)
        return;
    if (ttp_branch_settings.operation >= TTAPE_BRANCH_PRIMES)
        take_number(cell, top, end, callback);
    else
        take_branch(cell, address - move);
}

TTP_EXPORT void ttape_rt_branch(uintptr_t address, uintptr_t sp, uintptr_t callback, uintptr_t move)
{
    if (TTP_UNLIKELY(ttp_branch_settings.is_on))
        pass(address, sp, callback, move);
    ttape_rt_block(address, sp);
}

/* -- what they are worth -- */

/* The innermost call that is not over: frames that a jump left lie below who asks. */
static ttape_branch *asked_cell(uintptr_t sp)
{
    if (!ttp_branch_settings.is_on || !has_frames())
        return NULL;
    if (ttp_branch_settings.scope == TTAPE_BRANCH_THREAD)
        return thread_cell();
    const struct ttp_runtime_frame *top = ttp_thread.top;
    while (stack_of(top) != NULL && (top->sp < sp || ttp_is_mark(top) || ttp_awaits(top)))
        top--;
    return take_cell(top);
}

static ttape_branch value_of(const ttape_branch *cell)
{
    if (cell == NULL)
        return (ttape_branch){.flags = TTAPE_BRANCH_UNKNOWN};
    ttape_branch value = *cell;
    if (value.blocks == 0)
        value.value = ttape_branch_first(ttp_branch_settings.operation).value;
    return value;
}

TTP_EXPORT ttape_branch ttape_branch_value(void) { return value_of(asked_cell(TTP_CALLER_SP())); }

TTP_EXPORT void ttape_branch_reset(void)
{
    ttape_branch *cell = asked_cell(TTP_CALLER_SP());
    if (cell != NULL)
        empty(cell);
}

/* The value, or the counters, and how many blocks are in it. */
bool ttp_branch_end_values(struct ttp_call_values *values)
{
    const ttape_branch *cell = NULL;
    if (ttp_branch_settings.scope == TTAPE_BRANCH_CALL)
        cell = find_cell(ttp_thread.top);
    if (cell == NULL || cell->blocks == 0)
        return false;
    *values = (struct ttp_call_values){.has_types = true};
    const uint64_t *counts = (const uint64_t *)cell->counts;
    bool has_counts = ttp_branch_settings.operation == TTAPE_BRANCH_COUNTS;
    for (uint32_t i = 0; i < (has_counts ? TTAPE_BRANCH_COUNTERS / 8 : 1); i++) {
        values->types[values->count] = TTAPE_VALUE_POINTER;
        values->numbers[values->count++] = has_counts ? counts[i] : cell->value;
    }
    values->types[values->count] = TTAPE_VALUE_UNSIGNED;
    values->numbers[values->count++] = cell->blocks;
    return true;
}

/* -- as text -- */

static char *put_hex(char *at, uint64_t value, int bits)
{
    for (int shift = bits - 4; shift >= 0; shift -= 4)
        *at++ = "0123456789abcdef"[value >> shift & 15];
    return at;
}

static char *put_text(char *at, const ttape_branch *branch)
{
    char digits[10];
    uint32_t count = 0, number = branch->blocks;
    if ((branch->flags & TTAPE_BRANCH_UNKNOWN) != 0) {
        *at++ = '-';
        return at;
    }
    if (ttp_branch_settings.operation != TTAPE_BRANCH_COUNTS)
        at = put_hex(at, branch->value, 64);
    else
        for (uint32_t i = 0; i < TTAPE_BRANCH_COUNTERS; i++)
            at = put_hex(at, branch->counts[i], 8);
    *at++ = '/';
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    while (count != 0)
        *at++ = digits[--count];
    if ((branch->flags & TTAPE_BRANCH_OVERFLOW) != 0)
        *at++ = '+';
    return at;
}

TTP_EXPORT size_t ttape_branch_text(char *text, size_t room)
{
    char own[TTAPE_BRANCH_TEXT_BYTES];
    ttape_branch branch = value_of(asked_cell(TTP_CALLER_SP()));
    size_t size = (size_t)(put_text(own, &branch) - own);
    if (size >= room)
        return 0;
    for (size_t i = 0; i < size; i++)
        text[i] = own[i];
    text[size] = '\0';
    return size;
}

/* -- beginning -- */

static int start_values(ttape_branch_operation operation, ttape_branch_scope scope)
{
    if ((uint32_t)operation > TTAPE_BRANCH_COUNTS || (uint32_t)scope > TTAPE_BRANCH_THREAD ||
        (scope == TTAPE_BRANCH_THREAD && operation > TTAPE_BRANCH_ADD))
        return -1;
    ttp_branch_find_primes();
    ttp_branch_settings.operation = operation;
    ttp_branch_settings.scope = scope;
    __atomic_store_n(&ttp_branch_settings.is_on, true, __ATOMIC_RELEASE);
    if (ttp_has_state()) { /* frames are emptied beside the hot path */
        ttp_thread.page->hot_end = NULL;
        if (ttp_thread.page->gate == TTP_GATE_TSC)
            (void)ttp_gate_set(ttp_thread.page, TTP_GATE_FILTER);
    }
    return 0;
}

TTP_EXPORT int ttape_branch_start(const ttape_branch_options *options)
{
    ttape_branch_options own = {0};
    size_t size = options == NULL ? 0 : options->size;
    for (size_t i = 0; i < size && i < sizeof(own); i++)
        ((char *)&own)[i] = ((const char *)options)[i];
    return start_values(own.operation, own.scope);
}

/* How much of it is that word; 0: it is another one. */
static size_t begins_with(const char *text, const char *word)
{
    size_t size = 0;
    while (word[size] != '\0' && text[size] == word[size])
        size++;
    return word[size] == '\0' ? size : 0;
}

static void complain(void)
{
    static const char line[] = "tracetape: " ENV_BRANCH " is affine, xor, add, primes or counts; "
                               "the first three also with :thread\n";
    ttp_syscall(SYS_write, 2, (long)line, sizeof(line) - 1, 0, 0, 0);
}

void ttp_branch_begin(char **environment)
{
    static const char *const words[] = {"affine", "xor", "add", "primes", "counts"};
    const char *text;
    if (ttp_environment_find(environment, ENV_BRANCH, &text) == NULL || text[0] == '\0')
        return;
    for (uint32_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        size_t size = begins_with(text, words[i]);
        if (size == 0)
            continue;
        size_t more = begins_with(text + size, ":thread");
        if (text[size + more] == '\0' &&
            start_values((ttape_branch_operation)i,
                         more != 0 ? TTAPE_BRANCH_THREAD : TTAPE_BRANCH_CALL) == 0)
            return;
    }
    complain();
}
