/* Stacks are linked frames in one pool, because a segment may run on any number of them and nothing
 * says how deep each gets. The pool gives back a frame when it is the newest, which is nearly
 * always; so it stays in the cache.
 *
 *   workspace, per segment:  stacks, sorted by number | frames ... */
#include "format/order/order_check.h"

#include "format/base/fail.h"
#include "format/base/limits.h"

#define NO_FRAME UINT32_MAX

struct frame {
    uint32_t symbol, below;
};

struct stack {
    uint32_t number, top, depth;
};

struct check {
    const struct ttp_order_out *order;
    struct stack *stacks, *running;
    struct frame *frames;
    uint32_t stack_count, frame_count, min_depth, max_depth;
};

size_t ttp_order_check_workspace(uint32_t event_count, uint32_t open_count)
{
    /* An event is a switch (a stack) or may be a push (a frame), an open frame may be both; one
     * stack is there anyway. */
    return ((size_t)event_count + 1) * sizeof(struct stack) +
           (size_t)open_count * (sizeof(struct stack) + sizeof(struct frame)) + sizeof(uint32_t);
}

static ttape_status corrupt(ttape_error *err, const char *rule, uint32_t event, const char *message)
{
    return ttp_fail(err, TTAPE_E_CORRUPT, rule, TTAPE_ERROR_NO_OFFSET,
                    "%s: event '%u' of the partition", message, event);
}

static void stacks_sift(struct stack *stacks, uint32_t root, uint32_t count)
{
    for (uint32_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && stacks[child].number < stacks[child + 1].number)
            child++;
        if (stacks[root].number >= stacks[child].number)
            return;
        struct stack swap = stacks[root];
        stacks[root] = stacks[child];
        stacks[child] = swap;
    }
}

/* Ascending, each number once. */
static void stacks_sort(struct check *c)
{
    uint32_t count = c->stack_count, kept = 0;

    for (uint32_t i = count / 2; i-- > 0;)
        stacks_sift(c->stacks, i, count);
    for (uint32_t i = count; i-- > 1;) {
        struct stack swap = c->stacks[0];
        c->stacks[0] = c->stacks[i];
        c->stacks[i] = swap;
        stacks_sift(c->stacks, 0, i);
    }
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || c->stacks[i].number != c->stacks[kept - 1].number)
            c->stacks[kept++] = c->stacks[i];
    c->stack_count = kept;
}

/* The caller has put every number in. */
static struct stack *stack_find(struct check *c, uint32_t number)
{
    uint32_t low = 0, high = c->stack_count;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (c->stacks[middle].number <= number)
            low = middle;
        else
            high = middle;
    }
    return &c->stacks[low];
}

static ttape_status stack_add(struct check *c, uint32_t number, uint32_t event, ttape_error *err)
{
    if (number >= TTP_MAX_STACKS)
        return corrupt(err, "O-CHK-06", event, "stack number too large");
    /* The same number in a row is the common case, and saves sorting. */
    if (c->stack_count == 0 || c->stacks[c->stack_count - 1].number != number)
        c->stacks[c->stack_count++] = (struct stack){number, NO_FRAME, 0};
    return TTAPE_OK;
}

static void push_symbol(struct check *c, struct stack *stack, uint32_t symbol)
{
    c->frames[c->frame_count] = (struct frame){symbol, stack->top};
    stack->top = c->frame_count++;
    stack->depth++;
}

static void pop_frame(struct check *c, struct stack *stack)
{
    if (stack->top == c->frame_count - 1)
        c->frame_count--;
    stack->top = c->frames[stack->top].below;
    stack->depth--;
}

/* Collects the segment's stacks, so that the place of the frames behind them is known, and opens
 * its frames. */
static ttape_status segment_start(struct check *c, uint32_t segment, void *ws, ttape_error *err)
{
    const struct ttp_order_out *o = c->order;
    uint32_t first = o->segment_start[segment];

    c->stacks = ws;
    c->stack_count = c->frame_count = 0;
    TTP_TRY(stack_add(c, o->start_stack[segment], first, err));
    for (uint32_t i = o->open_start[segment]; i < o->open_start[segment + 1]; i++) {
        if (o->open[i] >= o->symbol_count || !ttp_class_pushes(o->symbols[o->open[i]].event_class))
            return corrupt(err, "O-CHK-01", first, "open frame is none that can be entered");
        TTP_TRY(stack_add(c, o->open_stack[i], first, err));
    }
    for (uint32_t i = first; i < o->segment_start[segment + 1]; i++) {
        uint32_t symbol = o->codes[i] >> 1;
        if (symbol >= o->symbol_count)
            return corrupt(err, "O-CHK-02", i, "undefined symbol");
        if (o->symbols[symbol].event_class == TTP_CLASS_SWITCH)
            TTP_TRY(stack_add(c, o->symbols[symbol].argument, i, err));
    }
    if (c->stack_count > 1)
        stacks_sort(c);
    c->frames = (struct frame *)(void *)(c->stacks + c->stack_count);
    for (uint32_t i = o->open_start[segment]; i < o->open_start[segment + 1]; i++)
        push_symbol(c, stack_find(c, o->open_stack[i]), o->open[i]);
    c->running = stack_find(c, o->start_stack[segment]);
    c->min_depth = c->max_depth = c->running->depth;
    return TTAPE_OK;
}

static ttape_status check_close(struct check *c, uint32_t symbol, uint32_t event, ttape_error *err)
{
    if (!ttp_class_pushes(c->order->symbols[symbol].event_class))
        return corrupt(err, "O-CHK-03", event, "end of what cannot be entered");
    if (c->running->top == NO_FRAME || c->frames[c->running->top].symbol != symbol)
        return corrupt(err, "O-CHK-03", event, "end of a frame that is not on top of its stack");
    pop_frame(c, c->running);
    return TTAPE_OK;
}

/* n frames left by unwinding, and with `across` the exit of one more. */
static ttape_status check_unwind(struct check *c, uint32_t n, bool across, uint32_t event,
                                 ttape_error *err)
{
    uint64_t frames = (uint64_t)n + across;

    if (n == 0 || frames > c->running->depth)
        return corrupt(err, across ? "O-CHK-05" : "O-CHK-04", event,
                       "unwinding no frames, or more than are open");
    while (frames-- > 0)
        pop_frame(c, c->running);
    return TTAPE_OK;
}

static ttape_status check_event(struct check *c, uint32_t event, ttape_error *err)
{
    uint32_t code = c->order->codes[event];
    struct ttp_symbol symbol = c->order->symbols[code >> 1];

    if (code & 1)
        return check_close(c, code >> 1, event, err);
    if (ttp_class_pushes(symbol.event_class))
        push_symbol(c, c->running, code >> 1);
    else if (symbol.event_class == TTP_CLASS_UNWIND)
        return check_unwind(c, symbol.argument, false, event, err);
    else if (symbol.event_class == TTP_CLASS_EXIT_ACROSS)
        return check_unwind(c, symbol.argument, true, event, err);
    else if (symbol.event_class == TTP_CLASS_SWITCH)
        c->running = stack_find(c, symbol.argument);
    return TTAPE_OK;
}

static ttape_status ends_write(const struct check *c, uint32_t segment,
                               struct ttp_order_edges *edges, ttape_error *err)
{
    uint32_t at = edges->end_start[segment];

    for (uint32_t s = 0; s < c->stack_count; s++) {
        const struct stack *stack = &c->stacks[s];
        if (stack->depth > edges->end_capacity - at)
            return ttp_fail(err, TTAPE_E_LIMIT, "", TTAPE_ERROR_NO_OFFSET,
                            "too many open frames at the end of segment '%u'", segment);
        uint32_t place = at += stack->depth;
        for (uint32_t f = stack->top; f != NO_FRAME; f = c->frames[f].below) {
            edges->end[--place] = c->frames[f].symbol;
            edges->end_stack[place] = stack->number;
        }
    }
    edges->end_start[segment + 1] = at;
    edges->end_running_stack[segment] = c->running->number;
    return TTAPE_OK;
}

ttape_status ttp_order_check_edges(const struct ttp_order_out *order, struct ttp_order_edges *edges,
                                   void *ws, size_t ws_bytes, ttape_error *err)
{
    uint8_t *aligned = (uint8_t *)ws + (0 - (uintptr_t)ws) % sizeof(uint32_t);
    struct check c = {.order = order};
    uint32_t open_max = 0;

    for (uint32_t s = 0; s < order->segment_count; s++)
        if (order->open_start[s + 1] - order->open_start[s] > open_max)
            open_max = order->open_start[s + 1] - order->open_start[s];
    if (ws_bytes < ttp_order_check_workspace(order->event_count, open_max))
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "workspace too small to check the order");
    if (edges != NULL && edges->end_start != NULL)
        edges->end_start[0] = 0;
    for (uint32_t s = 0; s < order->segment_count; s++) {
        TTP_TRY(segment_start(&c, s, aligned, err));
        for (uint32_t i = order->segment_start[s]; i < order->segment_start[s + 1]; i++) {
            TTP_TRY(check_event(&c, i, err));
            if (c.running->depth < c.min_depth)
                c.min_depth = c.running->depth;
            if (c.running->depth > c.max_depth)
                c.max_depth = c.running->depth;
        }
        if (edges != NULL && edges->min_depth != NULL)
            edges->min_depth[s] = c.min_depth;
        if (edges != NULL && edges->max_depth != NULL)
            edges->max_depth[s] = c.max_depth;
        if (edges != NULL && edges->end_start != NULL)
            TTP_TRY(ends_write(&c, s, edges, err));
    }
    return TTAPE_OK;
}

ttape_status ttp_order_check(const struct ttp_order_out *order, void *ws, size_t ws_bytes,
                             ttape_error *err)
{
    return ttp_order_check_edges(order, NULL, ws, ws_bytes, err);
}
