/* How often each block ran in the chosen calls. A block belongs to the call that is open on its
 * stack, but for the one that stands right in front of an enter or behind an exit (F-SIT-12): so
 * the last block waits until it is seen what comes next. */
#include <string.h>

#include <tracetape/calls.h>

#include "answers/passes/passes_internal.h"
#include "format/base/fail.h"

#define STACKS_MAX     4096u  /* stacks of one thread that are told apart */
#define EVENTS_BETWEEN 65536u /* two questions whether to go on */
#define NONE           TTAPE_NONE

/* An open call, by its height on its stack. */
struct frame {
    uint32_t site, block; /* block: the site of its last one, or NONE */
    bool is_chosen, is_found;
    bool is_left;                    /* a call in the last block did not return */
    uint32_t gap;                    /* how many there were before its last block */
    uint64_t number, start_ns, hits; /* hits: passes of the wanted line */
};

struct frames {
    struct frame *list;
    size_t count, capacity;
};

struct walk {
    struct ttape_passes *passes;
    const ttape_passes_site *sites;
    uint32_t site_count;
    struct frames *stacks; /* STACKS_MAX of them */
    size_t stack_count;    /* that were used */
    uint32_t stream, chosen_open;
    uint32_t gap_count; /* where events are missing, from one place to the other */
    struct frame left;  /* the call that the event before ended; site NONE: none */
    /* the block that waits, and where it was */
    uint32_t block, block_stack;
    size_t block_height;
    bool is_over; /* the one call that is wanted has ended */
    uint64_t event_count;
};

static inline struct frames *stack_of(struct walk *w, uint32_t number)
{
    size_t index = number < STACKS_MAX ? number : 0;
    w->stack_count = index < w->stack_count ? w->stack_count : index + 1;
    return &w->stacks[index];
}

static void count_jump(struct ttape_passes *passes, uint32_t from, uint32_t to)
{
    ttape_passes_pair *pair = ttp_passes_pair(passes, &passes->pairs, from, to);
    pair->count++;
    pair->jumped++;
}

static void count_way(struct ttape_passes *passes, uint32_t from, uint32_t to)
{
    struct ttp_passes_next *next = &passes->next[from];
    for (size_t i = 0; i < 2; i++) {
        if (next->count[i] == 0)
            next->to[i] = to;
        if (next->to[i] == to) {
            next->count[i]++;
            return;
        }
    }
    ttp_passes_pair(passes, &passes->pairs, from, to)->count++;
}

/* The last block's pass ended somewhere within it, not with a way to another one. */
static void stop(struct walk *w, const struct frame *frame)
{
    if (frame->block != NONE && !frame->is_left && frame->site != NONE)
        count_jump(w->passes, frame->block, frame->site);
}

static void follow_block(struct walk *w, const struct frame *frame, uint32_t block)
{
    bool is_broken = frame->gap != w->gap_count;
    uint32_t from = frame->block;
    if (is_broken)
        stop(w, frame);
    if (from == NONE)
        from = frame->is_found ? NONE : frame->site;
    if (from >= w->site_count)
        return;
    if (is_broken || frame->is_left)
        count_jump(w->passes, from, block);
    else
        count_way(w->passes, from, block);
}

static void give_block(struct walk *w, struct frame *frame, uint32_t block)
{
    if (frame->is_chosen) {
        w->passes->by_site[block]++;
        frame->hits += w->sites[block].is_watched;
        follow_block(w, frame, block);
    }
    frame->block = block;
    frame->is_left = false;
    frame->gap = w->gap_count;
}

/* The block that waits belongs where it was. Outside of all calls it is of none. */
static void settle_frames(struct walk *w)
{
    if (w->block == NONE)
        return;
    struct frames *stack = stack_of(w, w->block_stack);
    if (w->block_height > 0 && w->block_height <= stack->count)
        give_block(w, &stack->list[w->block_height - 1], w->block);
    else if (!w->passes->options.only_chosen && !w->passes->options.has_call)
        w->passes->by_site[w->block]++;
    w->block = NONE;
}

static uint32_t function_of(const struct walk *w, uint32_t site)
{
    return site < w->site_count ? w->sites[site].function : NONE;
}

/* Does the waiting block lie in the function that is entered? */
static bool is_of(const struct walk *w, uint32_t block, uint32_t entered)
{
    uint32_t function = function_of(w, block);
    return function != NONE && function == function_of(w, entered);
}

static void take_block(struct walk *w, const ttape_call_step *step)
{
    uint32_t site = step->event->site;
    settle_frames(w);
    struct frames *stack = stack_of(w, step->stack);
    const ttape_passes_site *block = &w->sites[site];
    const struct frame *top = stack->count > 0 ? &stack->list[stack->count - 1] : NULL;
    bool is_left = w->left.site != NONE && is_of(w, site, w->left.site) &&
                   !block->is_first; /* that is of a call that follows */
    if (is_left && (block->is_tail || top == NULL || !is_of(w, site, top->site))) {
        give_block(w, &w->left, site);
        return;
    }
    w->left.site = NONE;
    w->block = site;
    w->block_stack = step->stack;
    w->block_height = stack->count;
}

static bool is_chosen(const struct walk *w, const ttape_call *call)
{
    const ttape_passes_options *o = &w->passes->options;
    if (o->has_call)
        return call->stream == o->call_stream && call->enter_number == o->call_event &&
               !call->is_found;
    return call->site < w->site_count && call->kind != TTAPE_EVENT_EXIT_UNSEEN &&
           (!o->only_chosen || w->sites[call->site].is_chosen);
}

static void begin_call(struct walk *w, const ttape_call *call)
{
    struct frames *stack = stack_of(w, call->stack);
    if (!ttp_region_grow(&w->passes->region, &stack->list, &stack->capacity,
                         (size_t)call->height + 1, sizeof *stack->list))
        return;
    struct frame *frame = &stack->list[call->height];
    for (size_t i = stack->count; i < call->height; i++) /* not known: events were missing */
        stack->list[i] = (struct frame){.site = NONE, .block = NONE};
    *frame = (struct frame){.site = call->site,
                            .block = NONE,
                            .is_chosen = is_chosen(w, call),
                            .is_found = call->is_found,
                            .gap = w->gap_count,
                            .number = call->enter_number,
                            .start_ns = call->enter_ns};
    stack->count = (size_t)call->height + 1;
    if (!frame->is_chosen)
        return;
    w->chosen_open++;
    w->passes->info.call_count++;
    w->passes->info.is_partial = w->passes->info.is_partial || call->is_found;
}

static void add_call(struct walk *w, const struct frame *frame)
{
    struct ttape_passes *passes = w->passes;
    if (frame->hits == 0 || frame->is_found)
        return;
    ttape_passes_call *call = ttp_region_add(&passes->region, &passes->calls, &passes->call_count,
                                             &passes->call_capacity, sizeof *call);
    if (call != NULL)
        *call = (ttape_passes_call){.stream = w->stream,
                                    .site = frame->site,
                                    .enter_number = frame->number,
                                    .enter_ns = frame->start_ns,
                                    .count = frame->hits};
}

static void finish_frame(struct walk *w, const struct frame *frame)
{
    if (!frame->is_chosen)
        return;
    w->chosen_open--;
    w->is_over = w->passes->options.has_call;
    add_call(w, frame);
}

static void end_call(struct walk *w, const ttape_call *call)
{
    struct frames *stack = stack_of(w, call->stack);
    if (call->height >= stack->count)
        return;
    struct frame frame = stack->list[call->height];
    struct frame *below = call->height > 0 ? &stack->list[call->height - 1] : NULL;
    if (call->end != TTAPE_CALL_RETURNED && below != NULL && below->block != NONE &&
        call->site != NONE) {
        if (below->is_chosen && !below->is_left)
            ttp_passes_pair(w->passes, &w->passes->left, below->block, call->site)->count++;
        below->is_left = true;
    }
    if (frame.is_chosen && (call->end != TTAPE_CALL_RETURNED || frame.gap != w->gap_count))
        stop(w, &frame);
    else if (frame.is_chosen && frame.block == NONE && frame.site < w->site_count)
        count_way(w->passes, frame.site, frame.site); /* to its end, and nothing told */
    stack->count = call->height;
    if (call->end == TTAPE_CALL_LOST)
        w->passes->info.is_partial = w->passes->info.is_partial || frame.is_chosen;
    w->left = frame;
    if (call->end != TTAPE_CALL_RETURNED)
        w->left.site = NONE;
    finish_frame(w, &frame);
}

/* What a step other than a block begins and ends. */
static void take_calls(struct walk *w, const ttape_call_step *step)
{
    const ttape_call *last = step->began_count > 0 ? &step->began[step->began_count - 1] : NULL;
    bool is_signal = last != NULL && last->site == TTAPE_NONE;
    bool is_entered = w->block != NONE && last != NULL && !is_signal &&
                      step->kind == TTAPE_STEP_EVENT && is_of(w, w->block, last->site);
    uint32_t entered_by = w->block;
    if (is_entered)
        w->block = NONE;
    else if (!is_signal)
        settle_frames(w);
    w->left.site = NONE;
    for (uint32_t i = step->ended_count; i-- > 0;)
        end_call(w, &step->ended[i]);
    for (uint32_t i = 0; i < step->began_count; i++)
        begin_call(w, &step->began[i]);
    if (is_entered && !w->passes->region.is_short) {
        struct frames *stack = stack_of(w, last->stack);
        give_block(w, &stack->list[stack->count - 1], entered_by);
    }
    bool is_gap = step->event != NULL && step->event->kind == TTAPE_EVENT_GAP;
    w->gap_count += is_gap || step->kind == TTAPE_STEP_MISSING;
    if ((is_gap || step->kind == TTAPE_STEP_MISSING) &&
        (w->chosen_open > 0 || !w->passes->options.has_call))
        w->passes->info.is_partial = true;
}

static void take_step(struct walk *w, const ttape_call_step *step)
{
    if (step->kind == TTAPE_STEP_EVENT && step->event->kind == TTAPE_EVENT_LEAF) {
        uint32_t site = step->event->site;
        if (site < w->site_count && w->sites[site].is_block)
            take_block(w, step);
        return;
    }
    take_calls(w, step);
}

/* What is right in front of the one call, and would not be read: its first block. */
static void take_first_block(struct walk *w, ttape_cursor *cursor)
{
    ttape_event_item item;
    ttape_error err = {0};
    uint64_t number = w->passes->options.call_event;
    for (int i = 0; i < 2 && number > 0; i++) {
        if (ttape_cursor_seek_event(cursor, --number, &err) != TTAPE_OK ||
            ttape_cursor_next(cursor, &item, &err) != TTAPE_OK)
            return;
        if (item.event.kind == TTAPE_EVENT_LEAF && item.event.site < w->site_count &&
            w->sites[item.event.site].is_block && w->sites[item.event.site].function != NONE)
            w->block = item.event.site;
        if (item.event.kind != TTAPE_EVENT_SIGNAL_BEGIN)
            return;
    }
}

/* *from_ns is when the one call begins. TTAPE_END: there is no such call. */
static ttape_status find_call(struct walk *w, uint64_t *from_ns, ttape_error *err)
{
    const ttape_passes_options *o = &w->passes->options;
    ttape_cursor *cursor;
    ttape_event_item item;
    TTP_TRY(ttape_cursor_open(&cursor, w->passes->reader, o->call_stream, err));
    ttape_status status = ttape_cursor_seek_event(cursor, o->call_event, err);
    if (status == TTAPE_OK)
        status = ttape_cursor_next(cursor, &item, err);
    if (status == TTAPE_OK &&
        (item.number != o->call_event || item.event.kind != TTAPE_EVENT_ENTER))
        status = TTAPE_END;
    if (status == TTAPE_OK) {
        *from_ns = item.event.time_ns;
        take_first_block(w, cursor);
    }
    ttape_cursor_close(cursor);
    return status;
}

static bool goes_on(struct walk *w)
{
    if (++w->event_count % EVENTS_BETWEEN != 0)
        return !w->passes->region.is_short;
    return ttp_passes_goes_on(w->passes, w->event_count);
}

static void walk_steps(struct walk *w, ttape_call_cursor *cursor)
{
    const ttape_passes_options *o = &w->passes->options;
    const ttape_call_step *step;
    ttape_error err = {0};
    uint32_t first = w->block;
    while (!w->is_over && goes_on(w)) {
        ttape_status status = ttape_call_cursor_step(cursor, &step, &err);
        if (status == TTAPE_END)
            break;
        if (status != TTAPE_OK) {
            if (!ttp_passes_pass_over(w->passes, w->stream, &err))
                break;
            w->gap_count++;
            continue;
        }
        if (first != NONE) { /* events at the same time come before the call */
            bool is_it = step->kind == TTAPE_STEP_EVENT && step->number == o->call_event;
            w->block = is_it ? first : NONE;
            first = is_it ? NONE : first;
        }
        take_step(w, step);
        if (w->is_over && ttape_call_cursor_step(cursor, &step, &err) == TTAPE_OK &&
            step->kind == TTAPE_STEP_EVENT && step->event->kind == TTAPE_EVENT_LEAF)
            take_step(w, step); /* it may have told of its last block behind its exit */
    }
    if (!w->passes->region.is_short)
        settle_frames(w);
}

/* Stacks are new; what was taken for them stays. */
static void restart(struct walk *w, uint32_t stream)
{
    for (size_t i = 0; i < w->stack_count; i++)
        w->stacks[i].count = 0;
    w->stream = stream;
    w->chosen_open = 0;
    w->left.site = NONE;
}

/* Times are asked for where something is chosen by them, or calls are listed with them. */
static bool needs_times(const struct walk *w)
{
    for (uint32_t i = 0; i < w->site_count; i++)
        if (w->sites[i].is_watched)
            return true;
    return w->passes->options.has_range && !w->passes->options.has_call;
}

static void walk_stream(struct walk *w, uint32_t stream, uint64_t from_ns)
{
    const ttape_passes_options *o = &w->passes->options;
    ttape_error err = {0};
    ttape_call_cursor *cursor;
    const ttape_call_options options = {.size = sizeof options,
                                        .streams = &stream,
                                        .stream_count = 1,
                                        .has_range = o->has_range || o->has_call,
                                        .untimed = !needs_times(w),
                                        .from_ns = o->has_call ? from_ns : o->from_ns,
                                        .to_ns = o->has_call ? UINT64_MAX : o->to_ns};
    restart(w, stream);
    if (ttape_call_cursor_open(&cursor, w->passes->reader, &options, &err) == TTAPE_OK)
        walk_steps(w, cursor);
    else
        (void)ttp_passes_pass_over(w->passes, stream, &err);
    ttape_call_cursor_close(cursor);
}

static void walk_call(struct walk *w)
{
    struct ttape_passes *passes = w->passes;
    uint64_t from_ns = 0;
    ttape_status status = find_call(w, &from_ns, passes->err);
    if (status == TTAPE_OK)
        walk_stream(w, passes->options.call_stream, from_ns);
    else if (status != TTAPE_END && status != TTAPE_E_NOT_FOUND)
        passes->status = status;
    else
        passes->status =
            ttp_fail(passes->err, TTAPE_E_NOT_FOUND, "", TTAPE_ERROR_NO_OFFSET,
                     "no call was entered by event %llu of stream %u",
                     (unsigned long long)passes->options.call_event, passes->options.call_stream);
}

void ttp_passes_walk(struct ttape_passes *passes)
{
    const ttape_passes_options *o = &passes->options;
    struct walk w = {.passes = passes,
                     .sites = passes->sites,
                     .site_count = passes->info.site_count,
                     .stacks = ttp_region_take(&passes->region, STACKS_MAX, sizeof *w.stacks),
                     .block = NONE,
                     .left = {.site = NONE}};
    ttape_info info;
    ttape_reader_get_info(passes->reader, &info);
    uint32_t count = o->streams != NULL ? o->stream_count : info.stream_count;
    if (w.stacks == NULL)
        return;
    if (o->has_call)
        walk_call(&w);
    for (uint32_t i = 0; !o->has_call && i < count && passes->status == TTAPE_OK; i++)
        walk_stream(&w, o->streams != NULL ? o->streams[i] : i, 0);
    for (size_t i = 0; i < STACKS_MAX; i++)
        ttp_region_give(&passes->region, w.stacks[i].list);
    ttp_region_give(&passes->region, w.stacks);
}
