/* The converter for Chrome trace JSON: calls in the order of their begin become nested frames.
 *
 * Of calls of one thread that begin at one time the one that ends later is around the other one;
 * of two that end together, too, a pair of B and E keeps the file's order, and of two X the first
 * in the file is outside (the last one, where X are written when they end). What ends at a time
 * ends before what begins then; an X of length 0 is inside a call that ends then where it stands
 * before its E in the file, and otherwise inside all that begins then. A call that reaches out of
 * the one around it lies across: it is cut, and counted. Ends are known beforehand, so that nothing
 * is cut that is nested. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/convert/chrome/convert_chrome.h"

#define SWEEP_GROUPS 4096u /* between two looks for threads that have ended something */
#define NO_FRAME     UINT32_MAX

/* An open frame; those that end by themselves are chained. */
struct chrome_frame {
    uint64_t begin, end, limit; /* limit: the least end of the frames up to here */
    uint64_t end_order, end_values;
    uint32_t site;
    uint32_t own_below; /* index of the innermost frame at or below this one that has an end */
    bool is_x;
};

struct chrome_stack {
    struct chrome_frame *frames;
    size_t count, capacity;
};

/* Items of one kind, that begin at one time. */
struct item_list {
    struct tool_chrome_item *items;
    size_t count, capacity;
    size_t used; /* of those, in turn */
};

struct chrome_feed {
    struct tool_chrome *chrome;
    struct tool_chrome_out *out;
    struct chrome_stack *stacks; /* by thread */
    uint32_t thread;             /* of the group */
    uint64_t now;
    struct item_list others;  /* points, and calls of length 0, in their order */
    struct item_list pairs;   /* calls of B and E with a length */
    struct item_list calls_x; /* of X with a length, from the longest to the shortest */
    struct item_list late;    /* X of length 0 that go inside of pairs which begin behind them */
    uint64_t group_count, across_count;
};

/* ---- frames ---- */

static uint32_t own_of(const struct chrome_stack *stack)
{
    return stack->count > 0 ? stack->frames[stack->count - 1].own_below : NO_FRAME;
}

/* The innermost frame that ends by itself ends at a time; what is above it was left. */
static void end_frame(struct chrome_feed *feed, uint32_t thread, uint64_t time)
{
    struct chrome_stack *stack = &feed->stacks[thread];
    const struct chrome_frame frame = stack->frames[own_of(stack)];
    uint32_t above = (uint32_t)(stack->count - 1 - own_of(stack));
    stack->count = own_of(stack);
    tool_chrome_out_add(
        feed->out, thread,
        (ttape_event){.time_ns = time,
                      .kind = above > 0 ? TTAPE_EVENT_EXIT_ACROSS : TTAPE_EVENT_EXIT,
                      .site = frame.site,
                      .argument = above},
        frame.end_values);
}

/* The frame that ends next, if it does so at or before a time. */
static const struct chrome_frame *due(const struct chrome_feed *feed, uint32_t thread,
                                      uint64_t time)
{
    const struct chrome_stack *stack = &feed->stacks[thread];
    uint32_t own = own_of(stack);
    return own != NO_FRAME && stack->frames[own].end <= time ? &stack->frames[own] : NULL;
}

static void end_due(struct chrome_feed *feed, uint32_t thread, uint64_t time)
{
    const struct chrome_frame *frame;
    while ((frame = due(feed, thread, time)) != NULL)
        end_frame(feed, thread, frame->end);
}

/* Ends what ends now, before something of an order. */
static void end_before(struct chrome_feed *feed, uint64_t order)
{
    const struct chrome_frame *frame;
    while ((frame = due(feed, feed->thread, feed->now)) != NULL &&
           (frame->is_x || frame->end_order < order))
        end_frame(feed, feed->thread, frame->end);
}

/* What a double cannot tell apart at this time: programs compute with those, and print times whose
 * sums are not exact. */
static uint64_t tolerance(uint64_t time)
{
    uint64_t distance = time > TOOL_CHROME_BIAS ? time - TOOL_CHROME_BIAS : TOOL_CHROME_BIAS - time;
    return 1 + (distance >> 51);
}

/* Ends X that reach into what begins now by less than can be told, and whose end is that of a sum:
 * siblings. */
static void end_siblings(struct chrome_feed *feed, const struct tool_chrome_item *item)
{
    const struct chrome_stack *stack = &feed->stacks[feed->thread];
    while (stack->count > 0 && own_of(stack) == stack->count - 1) {
        const struct chrome_frame *top = &stack->frames[stack->count - 1];
        if (!top->is_x || top->begin >= item->begin || top->end >= item->end ||
            top->end - item->begin > tolerance(item->begin))
            return;
        end_frame(feed, feed->thread, item->begin);
    }
}

static void enter_item(struct chrome_feed *feed, const struct tool_chrome_item *item)
{
    struct chrome_stack *stack = &feed->stacks[feed->thread];
    struct chrome_frame frame = {.begin = item->begin,
                                 .end = item->end,
                                 .end_order = item->end_order,
                                 .end_values = item->end_values,
                                 .site = item->site,
                                 .is_x = item->kind == TOOL_CHROME_X};
    bool has_end = item->end != TOOL_CHROME_OPEN && !item->is_left;
    if (has_end)
        end_siblings(feed, item);
    uint64_t limit = stack->count > 0 ? stack->frames[stack->count - 1].limit : TOOL_CHROME_OPEN;
    if (has_end && item->end > limit) {
        feed->across_count += item->end - limit > tolerance(item->end);
        frame.end = limit;
    }
    frame.limit = has_end ? frame.end : limit;
    frame.own_below = has_end ? (uint32_t)stack->count : own_of(stack);
    tool_chrome_out_add(
        feed->out, feed->thread,
        (ttape_event){.time_ns = item->begin, .kind = TTAPE_EVENT_ENTER, .site = item->site},
        item->values);
    tool_grow((void **)&stack->frames, &stack->capacity, stack->count + 1, sizeof(frame));
    stack->frames[stack->count++] = frame;
}

/* ---- groups: what begins in one thread at one time ---- */

static void add_item(struct item_list *list, const struct tool_chrome_item *item)
{
    tool_grow((void **)&list->items, &list->capacity, list->count + 1, sizeof(*item));
    list->items[list->count++] = *item;
}

static const struct tool_chrome_item *next_of(const struct item_list *list)
{
    return list->used < list->count ? &list->items[list->used] : NULL;
}

static int compare_ends(const void *a, const void *b)
{
    const struct tool_chrome_item *one = a, *two = b;
    if (one->end != two->end)
        return one->end > two->end ? -1 : 1;
    return one->order < two->order ? -1 : one->order > two->order;
}

/* A pair that began behind another one in the file and ends later is around it. */
static void sort_pairs(struct item_list *pairs)
{
    for (size_t i = 1; i < pairs->count; i++) {
        if (compare_ends(&pairs->items[i - 1], &pairs->items[i]) > 0) {
            qsort(pairs->items, pairs->count, sizeof(*pairs->items), compare_ends);
            return;
        }
    }
}

/* Turns twins around: they came in the file's order. */
static void turn_twins(struct item_list *list)
{
    for (size_t first = 0, end; first < list->count; first = end) {
        for (end = first + 1; end < list->count && list->items[end].end == list->items[first].end;)
            end++;
        for (size_t i = first, k = end - 1; i < k; i++, k--) {
            struct tool_chrome_item other = list->items[i];
            list->items[i] = list->items[k];
            list->items[k] = other;
        }
    }
}

/* Enters the X that are around a pair, or all that are left. */
static void enter_around(struct chrome_feed *feed, const struct tool_chrome_item *pair)
{
    const struct tool_chrome_item *x;
    while ((x = next_of(&feed->calls_x)) != NULL &&
           (pair == NULL || x->end > pair->end ||
            (x->end == pair->end && x->sequence < pair->sequence))) {
        enter_item(feed, x);
        feed->calls_x.used++;
    }
}

/* Enters what has a length, up to a pair's order. */
static void enter_long(struct chrome_feed *feed, uint64_t order)
{
    const struct tool_chrome_item *pair;
    end_due(feed, feed->thread, feed->now);
    while ((pair = next_of(&feed->pairs)) != NULL && pair->order < order) {
        enter_around(feed, pair);
        enter_item(feed, pair);
        feed->pairs.used++;
    }
    enter_around(feed, next_of(&feed->pairs));
}

static void take_other(struct chrome_feed *feed, const struct tool_chrome_item *item)
{
    if (item->kind == TOOL_CHROME_PAIR || item->kind == TOOL_CHROME_X) {
        enter_item(feed, item);
        if (item->kind == TOOL_CHROME_X)
            end_frame(feed, feed->thread, item->end);
        return;
    }
    tool_chrome_out_add(feed->out, feed->thread,
                        (ttape_event){.time_ns = item->begin,
                                      .kind = item->kind == TOOL_CHROME_POINT
                                                  ? TTAPE_EVENT_LEAF
                                                  : TTAPE_EVENT_EXIT_UNSEEN,
                                      .site = item->site},
                        item->values);
}

static void take_late(struct chrome_feed *feed)
{
    for (; next_of(&feed->late) != NULL; feed->late.used++)
        take_other(feed, next_of(&feed->late));
}

static void empty(struct item_list *list) { list->count = list->used = 0; }

static void take_group(struct chrome_feed *feed)
{
    const struct tool_chrome_item *item;
    sort_pairs(&feed->pairs);
    if (feed->chrome->threads[feed->thread].is_by_end)
        turn_twins(&feed->calls_x);
    for (; (item = next_of(&feed->others)) != NULL; feed->others.used++) {
        end_before(feed, item->order);
        if (due(feed, feed->thread, feed->now) == NULL) { /* nothing ends now any more */
            enter_long(feed, item->order);
            if (next_of(&feed->pairs) == NULL) {
                take_late(feed);
            } else if (item->kind == TOOL_CHROME_X) {
                add_item(&feed->late, item);
                continue;
            }
        }
        take_other(feed, item);
    }
    if (feed->pairs.count > 0 || feed->calls_x.count > 0)
        enter_long(feed, UINT64_MAX);
    take_late(feed);
    empty(&feed->others);
    empty(&feed->pairs);
    empty(&feed->calls_x);
    empty(&feed->late);
}

static bool has_length(const struct tool_chrome_item *item) { return item->end > item->begin; }

static void add_to_group(struct chrome_feed *feed, const struct tool_chrome_item *item)
{
    if (!has_length(item))
        add_item(&feed->others, item);
    else
        add_item(item->kind == TOOL_CHROME_X ? &feed->calls_x : &feed->pairs, item);
}

/* Ends what has ended elsewhere meanwhile, so that events come about in the order of time. */
static void sweep(struct chrome_feed *feed, uint64_t time)
{
    size_t threads = feed->chrome->thread_count;
    if (++feed->group_count < (threads > SWEEP_GROUPS ? threads : SWEEP_GROUPS))
        return;
    feed->group_count = 0;
    for (uint32_t i = 0; i < threads; i++)
        end_due(feed, i, time - 1);
}

static void take_all(struct chrome_feed *feed)
{
    struct tool_chrome_item item;
    size_t count = 0; /* in the group */
    while (tool_sorter_next(feed->chrome->items, &item)) {
        if (count > 0 && (item.begin != feed->now || item.thread != feed->thread ||
                          count == TOOL_CHROME_GROUP_MAX)) {
            take_group(feed);
            count = 0;
        }
        if (count++ == 0) {
            sweep(feed, item.begin);
            end_due(feed, item.thread, item.begin - 1);
            feed->thread = item.thread;
            feed->now = item.begin;
        }
        add_to_group(feed, &item);
    }
    if (count > 0)
        take_group(feed);
    for (uint32_t i = 0; i < feed->chrome->thread_count; i++)
        end_due(feed, i, TOOL_CHROME_OPEN - 1);
}

/* ---- definitions ---- */

static ttape_status define(struct tool_chrome *chrome)
{
    ttape_writer *writer = chrome->conversion->writer;
    ttape_status status = TTAPE_OK;
    for (size_t i = 0; i < chrome->process_count && status == TTAPE_OK; i++) {
        struct tool_chrome_process *process = &chrome->processes[i];
        const ttape_process added = {.pid = process->pid,
                                     .parent = TTAPE_NONE,
                                     .name = {process->name, process->name_bytes}};
        status = ttape_writer_add_process(writer, &added, &process->id, &chrome->err);
    }
    for (size_t i = 0; i < chrome->thread_count && status == TTAPE_OK; i++) {
        struct tool_chrome_thread *thread = &chrome->threads[i];
        const ttape_stream added = {.process = chrome->processes[thread->process].id,
                                    .tid = thread->tid,
                                    .name = {thread->name, thread->name_bytes}};
        status = ttape_writer_add_stream(writer, &added, &thread->stream, &chrome->err);
    }
    return status;
}

static int feed_all(struct chrome_feed *feed)
{
    struct tool_chrome *chrome = feed->chrome;
    bool is_sorted = tool_sorter_finish(chrome->items);
    feed->out = tool_chrome_out_open(chrome);
    feed->stacks = tool_allocate(chrome->thread_count, sizeof(struct chrome_stack));
    if (is_sorted)
        take_all(feed);
    for (size_t i = 0; i < chrome->thread_count; i++)
        free(feed->stacks[i].frames);
    free(feed->stacks);
    if (tool_chrome_out_close(feed->out) != TTAPE_OK)
        return tool_conversion_fail(chrome->conversion, &chrome->err);
    return tool_sorter_failed(chrome->items) ? TOOL_CANNOT : TOOL_OK;
}

int tool_chrome_feed(struct tool_chrome *chrome)
{
    struct chrome_feed feed = {.chrome = chrome};
    if (define(chrome) != TTAPE_OK)
        return tool_conversion_fail(chrome->conversion, &chrome->err);
    int status = feed_all(&feed);
    free(feed.others.items);
    free(feed.pairs.items);
    free(feed.calls_x.items);
    free(feed.late.items);
    if (feed.across_count > 0) {
        tool_conversion_warn(chrome->conversion, "%" PRIu64 " frames lie across others: cut to fit",
                             feed.across_count);
    }
    return status;
}
