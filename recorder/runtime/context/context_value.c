/* What the open calls are worth: see context_state.h and spec/context.md, 1.
 *
 * Frames are as hooks left them, so they may say more than is open: what was left by a jump, and
 * nothing was called since, lies below our caller's stack pointer. Less is never said, but where
 * a handler interrupted a hook between its two steps: the frame is counted, and not yet written. */
#include "recorder/arena/record.h"
#include "recorder/runtime/context/context_state.h"
#include "recorder/runtime/hot.h"

#define CACHED_FRAMES 4096u /* of the outermost ones */

struct context {
    uint64_t value;
    uint32_t entry; /* in the dictionary, or 0 */
    uint32_t depth : 31, overflows : 1;
};

struct cached {
    uintptr_t function;
    struct context context;
};

struct ttp_context_cache {
    uintptr_t busy_sp;             /* not 0: it is being changed by what has its stack there */
    uint32_t turn, module_changes; /* that it is of */
    uint32_t count;
    struct cached frames[CACHED_FRAMES + 1]; /* the first is of no frame */
};

/* Frames of the stack that our caller is on. */
struct open {
    const struct ttp_runtime_frame *base, *top;
    uint32_t flags;
    bool is_there; /* the memory of that stack can be read */
};

extern const int32_t __start_ttp_pushes[] __attribute__((weak, visibility("hidden")));
extern const int32_t __stop_ttp_pushes[] __attribute__((weak, visibility("hidden")));

/* -- which frames -- */

static bool is_on_alternate(uintptr_t address)
{
    const struct ttp_stacks *stacks = ttp_thread.stacks;
    return address - stacks->alternate_low < stacks->alternate_high - stacks->alternate_low;
}

static const struct ttp_runtime_stack *stack_of(const struct ttp_runtime_frame *frame)
{
    const struct ttp_stacks *stacks = ttp_thread.stacks;
    const struct ttp_runtime_stack *current = &stacks->list[stacks->current];
    if (TTP_LIKELY(frame >= current->base && frame <= current->end + TTP_FRAMES_SPARE))
        return current;
    for (uint32_t i = 0; i < stacks->count; i++)
        if (frame >= stacks->list[i].base && frame <= stacks->list[i].end + TTP_FRAMES_SPARE)
            return &stacks->list[i];
    return NULL;
}

/* A stack that the thread has gone to since the last hook. */
static TTP_COLD void look_for_stack(struct open *open, const struct ttp_runtime_stack *current,
                                    uintptr_t sp)
{
    const struct ttp_stacks *stacks = ttp_thread.stacks;
    if (is_on_alternate(sp) || (current->exact && ttp_stack_holds(current, sp)))
        return;
    for (uint32_t i = 0; i < stacks->count; i++) {
        const struct ttp_runtime_stack *stack = &stacks->list[i];
        if (stack != current && stack->exact && ttp_stack_holds(stack, sp)) {
            open->base = stack->base;
            open->top = stack->is_stale ? stack->base : stack->top;
            open->is_there = true;
            return;
        }
    }
}

/* Where it lies: a handler's mark, where the handler returns to. */
static bool is_gone(const struct ttp_runtime_frame *frame, uintptr_t sp)
{
    uintptr_t at = ttp_is_mark(frame) ? frame->call_site : ttp_sp_of(frame);
    return at < sp && is_on_alternate(at) == is_on_alternate(sp);
}

/* Its function has jumped to another one that is not recorded. As long as that runs, its return
 * address is where it was. */
static TTP_COLD bool is_return_gone(const struct open *open, const struct ttp_runtime_frame *frame)
{
    return !open->is_there || *(const volatile uintptr_t *)ttp_sp_of(frame) != frame->call_site;
}

static inline bool is_past(const struct open *open, const struct ttp_runtime_frame *frame)
{
    return TTP_UNLIKELY(ttp_awaits(frame)) && is_return_gone(open, frame);
}

/* A forked child has its parent's frames before its first hook has given it a state. */
static bool has_frames(void)
{
    if (ttp_arena.head.mode != TTP_MODE_ON) /* first: the thread may not be the C library's */
        return false;
    const struct ttp_thread_page *page = ttp_thread.page;
    bool is_child = page->gate == TTP_GATE_NO_STATE && page != &ttp_page_no_state;
    return ttp_has_state() || is_child;
}

static bool find_open(struct open *open, uintptr_t sp)
{
    if (!has_frames() || ttp_thread.page->deep_frames != 0)
        return false;
    open->top = *(struct ttp_runtime_frame *volatile *)&ttp_thread.top;
    const struct ttp_runtime_stack *stack = stack_of(open->top);
    if (stack == NULL || open->top >= stack->end) /* there may be more than it has room for */
        return false;
    open->base = stack->base;
    open->flags = ttp_process.verdicts != NULL ? TTAPE_CONTEXT_PARTIAL : 0;
    open->is_there = stack == &ttp_thread.stacks->list[0] || stack->exact;
    if (TTP_UNLIKELY(open->top->sp - sp >= TTP_LARGE_FRAME))
        look_for_stack(open, stack, sp);
    while (open->top != open->base && (is_gone(open->top, sp) || is_past(open, open->top)))
        open->top--;
    return true;
}

static bool is_next_marked(const struct open *open, const struct ttp_runtime_frame *at)
{
    return at < open->top && ttp_is_mark(at + 1);
}

/* The hook that a handler interrupted has counted this frame, and not yet written it. What is
 * there instead may be an old mark; a handler's frame follows on one that is in use. */
static TTP_COLD bool is_half_pushed(const struct open *open, const struct ttp_runtime_frame *frame)
{
    if (frame + 2 > open->top || (frame[2].function & TTP_FRAME_HANDLER) == 0)
        return false;
    uintptr_t at = ttp_signal_place((const uint64_t *)frame[1].call_site);
    for (const int32_t *push = __start_ttp_pushes; push < __stop_ttp_pushes; push += 2)
        if (at - ((uintptr_t)push + push[0]) <
            ((uintptr_t)(push + 1) + push[1]) - ((uintptr_t)push + push[0]))
            return true;
    return false;
}

/* -- what they are worth -- */

static inline uintptr_t function_at(const struct ttp_runtime_frame *frame)
{
    return *(const volatile uintptr_t *)&frame->function;
}

static struct context take_in(struct context around, uintptr_t function)
{
    const struct ttp_context_settings *settings = &ttp_context_settings;
    struct ttp_context_place found = ttp_context_find(function);
    struct context next = {.value =
                               ttape_context_enter(settings->operation, around.value, found.id),
                           .depth = around.depth + 1u,
                           .overflows = around.overflows};
    if (settings->operation == TTAPE_CONTEXT_ADD && next.value < around.value)
        next.overflows = 1;
    if (settings->dictionary != NULL && (around.depth == 0 || around.entry != 0))
        next.entry = ttp_dictionary_add(next.value, around.entry, next.depth, found.place);
    return next;
}

static bool is_function(const struct ttp_runtime_frame *frame)
{
    uintptr_t function = function_at(frame);
    return function - TTP_FRAME_MARK >= TTP_MARKS && !ttp_is_call_key(function);
}

/* From `at` on, what is around it being worth `context`; what is cached goes on behind `cached`. */
static struct context go_on(const struct open *open, const struct ttp_runtime_frame *at,
                            struct context context, struct ttp_context_cache *cache)
{
    for (; at <= open->top; at++) {
        bool is_interrupted = is_next_marked(open, at);
        if (is_interrupted || !is_function(at) || ttp_awaits(at))
            cache = NULL;
        if (!is_function(at) || (is_interrupted && is_half_pushed(open, at)) || is_past(open, at))
            continue;
        context = take_in(context, ttp_function_of(at));
        if (cache != NULL && cache->count < CACHED_FRAMES)
            cache->frames[++cache->count] = (struct cached){at->function, context};
        else
            cache = NULL;
    }
    if (ttp_context_settings.dictionary != NULL && context.depth != 0 && context.entry == 0)
        ttp_dictionary_missed();
    return context;
}

static struct context begin_change(void)
{
    return (struct context){.value = ttape_context_first(ttp_context_settings.operation)};
}

/* One branch for four. */
static inline bool are_four(const struct ttp_runtime_frame *at, const struct cached *cached)
{
    return ((at[0].function ^ cached[0].function) | (at[1].function ^ cached[1].function) |
            (at[2].function ^ cached[2].function) | (at[3].function ^ cached[3].function)) == 0;
}

/* Functions that are as they were; a frame that may be half pushed is none of them. */
static struct context from_cache(const struct open *open, struct ttp_context_cache *cache)
{
    const struct ttp_runtime_frame *at = open->base + 1;
    uint32_t same = 0, count = cache->count;
    size_t frames = (size_t)(open->top - open->base);
    if (frames < count)
        count = (uint32_t)frames;
    while (same + 4 <= count && are_four(&at[same], &cache->frames[same + 1]))
        same += 4;
    while (same < count && function_at(&at[same]) == cache->frames[same + 1].function)
        same++;
    if (TTP_LIKELY(same == frames))
        return cache->frames[same].context;
    if (same != 0 && is_next_marked(open, &at[same - 1]))
        same--;
    cache->count = same;
    return go_on(open, &at[same], cache->frames[same].context, cache);
}

/* -- the thread's cache -- */

static struct ttp_context_cache *find_cache(void)
{
    struct ttp_context_cache *cache = ttp_thread.context;
    if (TTP_LIKELY(cache != NULL) || ttp_process.avoids_system_calls)
        return cache;
    long memory = ttp_room_map(sizeof(*cache));
    if (ttp_failed(memory))
        return NULL;
    if (ttp_swap_here((uint64_t *)&ttp_thread.context, 0, (uint64_t)memory))
        return (struct ttp_context_cache *)memory;
    ttp_room_unmap((void *)memory, sizeof(*cache)); /* a handler was faster */
    return ttp_thread.context;
}

void ttp_context_end(void)
{
    struct ttp_context_cache *cache = ttp_thread.context;
    ttp_thread.context = NULL;
    TTP_SIGNAL_FENCE();
    if (cache != NULL)
        ttp_room_unmap(cache, sizeof(*cache));
}

/* Takes the cache for the frame at `sp`. False: this is a handler that has interrupted the holder.
 * A holder that was left by a jump is told by its stack: `sp` lies further out than its frame. */
static bool hold_cache(struct ttp_context_cache *cache, uintptr_t sp)
{
    uintptr_t busy = cache->busy_sp;
    bool is_left = busy != 0 && busy < sp && !is_on_alternate(sp) && !is_on_alternate(busy) &&
                   ttp_stack_holds(ttp_stack_current(), busy) &&
                   ttp_stack_holds(ttp_stack_current(), sp);
    if (busy != 0 && !is_left)
        return false;
    cache->busy_sp = sp;
    TTP_SIGNAL_FENCE();
    uint32_t changes = __atomic_load_n(&ttp_process.module_changes, __ATOMIC_RELAXED);
    if (TTP_UNLIKELY(is_left || cache->turn != ttp_context_settings.turn ||
                     cache->module_changes != changes)) {
        cache->turn = ttp_context_settings.turn;
        cache->module_changes = changes;
        cache->count = 0;
        cache->frames[0].context = begin_change();
    }
    return true;
}

static void let_go(struct ttp_context_cache *cache)
{
    TTP_SIGNAL_FENCE();
    cache->busy_sp = 0;
}

ttape_context_value ttp_context_at(uintptr_t sp)
{
    struct open open;
    struct context context;
    if (!find_open(&open, sp))
        return (ttape_context_value){.flags = TTAPE_CONTEXT_UNKNOWN};
    struct ttp_context_cache *cache = find_cache();
    if (cache != NULL && hold_cache(cache, sp)) {
        context = from_cache(&open, cache);
        let_go(cache);
    } else {
        context = go_on(&open, open.base + 1, begin_change(), NULL);
    }
    return (ttape_context_value){.value = context.value,
                                 .depth = context.depth,
                                 .flags =
                                     open.flags | (context.overflows ? TTAPE_CONTEXT_OVERFLOW : 0)};
}

TTP_EXPORT ttape_context_value ttape_context(void) { return ttp_context_at(TTP_CALLER_SP()); }

/* -- as text -- */

static char *put_hex(char *at, uint64_t value)
{
    for (int shift = 60; shift >= 0; shift -= 4)
        *at++ = "0123456789abcdef"[value >> shift & 15];
    return at;
}

static char *put_number(char *at, uint32_t number)
{
    char digits[10];
    uint32_t count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    while (count != 0)
        *at++ = digits[--count];
    return at;
}

TTP_EXPORT size_t ttape_context_text(char *text, size_t room)
{
    ttape_context_value context = ttp_context_at(TTP_CALLER_SP());
    char own[TTAPE_CONTEXT_TEXT_BYTES], *end = own;
    if ((context.flags & TTAPE_CONTEXT_UNKNOWN) != 0) {
        *end++ = '-';
    } else {
        end = put_hex(end, context.value);
        *end++ = '/';
        end = put_number(end, context.depth);
    }
    size_t size = (size_t)(end - own);
    if (size >= room)
        return 0;
    for (size_t i = 0; i < size; i++)
        text[i] = own[i];
    text[size] = '\0';
    return size;
}
