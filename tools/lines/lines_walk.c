/* How often each block ran in the chosen calls. A block belongs to the call that is open on its
 * stack, but for the one that stands right in front of an enter or behind an exit (F-SIT-12): so
 * the last block waits until it is seen what comes next. */
#include <stdlib.h>
#include <string.h>

#include <tracetape/calls.h>

#include "tools/calls/name_table.h"
#include "tools/lines/lines_view.h"

#define STACKS_MAX 4096u /* stacks of one thread that are told apart */

/* An open call, by its height on its stack. */
struct frame {
    uint32_t site, block; /* block: the site of its last one, or TOOL_LINES_NONE */
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
    struct tool_lines *view;
    const struct tool_call_id *call;
    struct tool_lines_counts *counts;
    struct frames *stacks;
    size_t stack_count, stack_capacity;
    uint32_t stream, chosen_open;
    uint32_t gap_count; /* where events are missing, from one place to the other */
    struct frame left;  /* the call that the event before ended; site TOOL_LINES_NONE: none */
    /* the block that waits, and where it was */
    uint32_t block, block_stack;
    size_t block_height;
    bool is_over; /* the one call that is wanted has ended */
};

static __attribute__((noinline)) void add_stacks(struct walk *w, size_t count)
{
    size_t before = w->stack_count;
    tool_grow((void **)&w->stacks, &w->stack_capacity, count, sizeof *w->stacks);
    w->stack_count = count;
    memset(w->stacks + before, 0, (count - before) * sizeof *w->stacks);
}

static inline struct frames *stack_of(struct walk *w, uint32_t number)
{
    size_t index = number < STACKS_MAX ? number : 0;
    if (index >= w->stack_count)
        add_stacks(w, index + 1);
    return &w->stacks[index];
}

static struct tool_lines_pair *pair_of(struct tool_lines_pairs *pairs, uint32_t from, uint32_t to)
{
    bool is_new;
    uint32_t key[2] = {from, to}, *at = tool_names_find(&pairs->places, key, sizeof key, &is_new);
    if (is_new) {
        tool_grow((void **)&pairs->list, &pairs->capacity, pairs->count + 1, sizeof *pairs->list);
        pairs->list[pairs->count] = (struct tool_lines_pair){.from = from, .to = to};
        *at = (uint32_t)pairs->count++;
    }
    return &pairs->list[*at];
}

static void count_jump(struct tool_lines_counts *counts, uint32_t from, uint32_t to)
{
    struct tool_lines_pair *pair = pair_of(&counts->edges, from, to);
    pair->count++;
    pair->jumped++;
}

static void count_way(struct tool_lines_counts *counts, uint32_t from, uint32_t to)
{
    struct tool_lines_next *next = &counts->next[from];
    for (size_t i = 0; i < 2; i++) {
        if (next->count[i] == 0)
            next->to[i] = to;
        if (next->to[i] == to) {
            next->count[i]++;
            return;
        }
    }
    pair_of(&counts->edges, from, to)->count++;
}

static int compare_pairs(const void *a, const void *b)
{
    const struct tool_lines_pair *one = a, *other = b;
    if (one->from != other->from)
        return one->from < other->from ? -1 : 1;
    return one->to < other->to ? -1 : one->to > other->to;
}

static void end_pairs(struct tool_lines_pairs *pairs)
{
    tool_names_close(&pairs->places);
    if (pairs->count > 0)
        qsort(pairs->list, pairs->count, sizeof *pairs->list, compare_pairs);
}

/* What was counted by site joins the others. */
static void end_ways(const struct tool_lines *view, struct tool_lines_counts *counts)
{
    for (uint32_t i = 0; i < view->info.site_count; i++)
        for (size_t k = 0; k < 2 && counts->next[i].count[k] > 0; k++)
            pair_of(&counts->edges, i, counts->next[i].to[k])->count += counts->next[i].count[k];
    free(counts->next);
    counts->next = NULL;
}

/* The last block's pass ended somewhere within it, not with a way to another one. */
static void stop(struct walk *w, const struct frame *frame)
{
    if (frame->block != TOOL_LINES_NONE && !frame->is_left && frame->site != TTAPE_NONE)
        count_jump(w->counts, frame->block, frame->site);
}

static void follow(struct walk *w, const struct frame *frame, uint32_t block)
{
    bool is_broken = frame->gap != w->gap_count;
    uint32_t from = frame->block;
    if (is_broken)
        stop(w, frame);
    if (from == TOOL_LINES_NONE)
        from = frame->is_found ? TOOL_LINES_NONE : frame->site;
    if (from >= w->view->info.site_count)
        return;
    if (is_broken || frame->is_left)
        count_jump(w->counts, from, block);
    else
        count_way(w->counts, from, block);
}

static void give(struct walk *w, struct frame *frame, uint32_t block)
{
    const struct tool_lines *view = w->view;
    if (frame->is_chosen) {
        w->counts->by_site[block]++;
        frame->hits += view->line_sites != NULL && view->line_sites[block];
        follow(w, frame, block);
    }
    frame->block = block;
    frame->is_left = false;
    frame->gap = w->gap_count;
}

/* The block that waits belongs where it was. Outside of all calls it is of none. */
static void settle(struct walk *w)
{
    if (w->block == TOOL_LINES_NONE)
        return;
    struct frames *stack = stack_of(w, w->block_stack);
    if (w->block_height > 0 && w->block_height <= stack->count)
        give(w, &stack->list[w->block_height - 1], w->block);
    else if (w->view->chosen == NULL && !w->call->given)
        w->counts->by_site[w->block]++;
    w->block = TOOL_LINES_NONE;
}

static uint32_t function_of(const struct tool_lines *view, uint32_t site)
{
    return site < view->info.site_count ? view->places[site].function : TOOL_LINES_NONE;
}

/* Does the waiting block lie in the function that is entered? */
static bool is_of(const struct walk *w, uint32_t block, uint32_t entered)
{
    uint32_t function = function_of(w->view, block);
    return function != TOOL_LINES_NONE && function == function_of(w->view, entered);
}

static void take_block(struct walk *w, const ttape_call_step *step)
{
    uint32_t site = step->event->site;
    const struct tool_lines *view = w->view;
    settle(w);
    struct frames *stack = stack_of(w, step->stack);
    const struct tool_code_block *block = view->places[site].block == TOOL_LINES_NONE
                                              ? NULL
                                              : &view->blocks[view->places[site].block];
    const struct frame *top = stack->count > 0 ? &stack->list[stack->count - 1] : NULL;
    bool is_left = w->left.site != TOOL_LINES_NONE && is_of(w, site, w->left.site) &&
                   (block == NULL || !block->is_first); /* that is of a call that follows */
    if (is_left &&
        ((block != NULL && block->is_tail) || top == NULL || !is_of(w, site, top->site))) {
        give(w, &w->left, site);
        return;
    }
    w->left.site = TOOL_LINES_NONE;
    w->block = site;
    w->block_stack = step->stack;
    w->block_height = stack->count;
}

static bool is_chosen(const struct walk *w, const ttape_call *call)
{
    if (w->call->given)
        return call->stream == w->call->stream && call->enter_number == w->call->event &&
               !call->is_found;
    return call->site != TTAPE_NONE && call->kind != TTAPE_EVENT_EXIT_UNSEEN &&
           (w->view->chosen == NULL || w->view->chosen[call->site]);
}

static void begin(struct walk *w, const ttape_call *call)
{
    struct frames *stack = stack_of(w, call->stack);
    tool_grow((void **)&stack->list, &stack->capacity, (size_t)call->height + 1,
              sizeof *stack->list);
    struct frame *frame = &stack->list[call->height];
    for (size_t i = stack->count; i < call->height; i++) /* not known: events were missing */
        stack->list[i] = (struct frame){.site = TOOL_LINES_NONE, .block = TOOL_LINES_NONE};
    *frame = (struct frame){.site = call->site,
                            .block = TOOL_LINES_NONE,
                            .is_chosen = is_chosen(w, call),
                            .is_found = call->is_found,
                            .gap = w->gap_count,
                            .number = call->enter_number,
                            .start_ns = call->enter_ns};
    stack->count = (size_t)call->height + 1;
    if (!frame->is_chosen)
        return;
    w->chosen_open++;
    w->counts->calls++;
    w->counts->is_partial = w->counts->is_partial || call->is_found;
}

static void add_call(struct walk *w, const struct frame *frame)
{
    struct tool_lines *view = w->view;
    if (frame->hits == 0 || frame->is_found)
        return;
    tool_grow((void **)&view->calls, &view->call_capacity, view->call_count + 1,
              sizeof *view->calls);
    view->calls[view->call_count++] = (struct tool_lines_call){.stream = w->stream,
                                                               .site = frame->site,
                                                               .number = frame->number,
                                                               .start_ns = frame->start_ns,
                                                               .count = frame->hits};
}

static void finish(struct walk *w, const struct frame *frame)
{
    if (!frame->is_chosen)
        return;
    w->chosen_open--;
    w->is_over = w->call->given;
    add_call(w, frame);
}

static void end(struct walk *w, const ttape_call *call)
{
    struct frames *stack = stack_of(w, call->stack);
    const uint32_t site_count = w->view->info.site_count;
    if (call->height >= stack->count)
        return;
    struct frame frame = stack->list[call->height];
    struct frame *below = call->height > 0 ? &stack->list[call->height - 1] : NULL;
    if (call->end != TTAPE_CALL_RETURNED && below != NULL && below->block != TOOL_LINES_NONE &&
        call->site != TTAPE_NONE) {
        if (below->is_chosen && !below->is_left)
            pair_of(&w->counts->left, below->block, call->site)->count++;
        below->is_left = true;
    }
    if (frame.is_chosen && (call->end != TTAPE_CALL_RETURNED || frame.gap != w->gap_count))
        stop(w, &frame);
    else if (frame.is_chosen && frame.block == TOOL_LINES_NONE && frame.site < site_count)
        count_way(w->counts, frame.site, frame.site); /* to its end, and nothing told */
    stack->count = call->height;
    if (call->end == TTAPE_CALL_LOST)
        w->counts->is_partial = w->counts->is_partial || frame.is_chosen;
    w->left = frame;
    if (call->end != TTAPE_CALL_RETURNED)
        w->left.site = TOOL_LINES_NONE;
    finish(w, &frame);
}

/* What a step other than a block begins and ends. */
static void take_calls(struct walk *w, const ttape_call_step *step)
{
    const ttape_call *last = step->began_count > 0 ? &step->began[step->began_count - 1] : NULL;
    bool is_signal = last != NULL && last->site == TTAPE_NONE;
    bool is_entered = w->block != TOOL_LINES_NONE && last != NULL && !is_signal &&
                      step->kind == TTAPE_STEP_EVENT && is_of(w, w->block, last->site);
    uint32_t entered_by = w->block;
    if (is_entered)
        w->block = TOOL_LINES_NONE;
    else if (!is_signal)
        settle(w);
    w->left.site = TOOL_LINES_NONE;
    for (uint32_t i = step->ended_count; i-- > 0;)
        end(w, &step->ended[i]);
    for (uint32_t i = 0; i < step->began_count; i++)
        begin(w, &step->began[i]);
    if (is_entered) {
        struct frames *stack = stack_of(w, last->stack);
        give(w, &stack->list[stack->count - 1], entered_by);
    }
    bool is_gap = step->event != NULL && step->event->kind == TTAPE_EVENT_GAP;
    w->gap_count += is_gap || step->kind == TTAPE_STEP_MISSING;
    if ((is_gap || step->kind == TTAPE_STEP_MISSING) && (w->chosen_open > 0 || !w->call->given))
        w->counts->is_partial = true;
}

static void take(struct walk *w, const ttape_call_step *step)
{
    if (step->kind == TTAPE_STEP_EVENT && step->event->kind == TTAPE_EVENT_LEAF) {
        uint32_t site = step->event->site;
        if (site < w->view->info.site_count && w->view->places[site].is_block)
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
    uint64_t number = w->call->event;
    for (int i = 0; i < 2 && number > 0; i++) {
        if (ttape_cursor_seek_event(cursor, --number, &err) != TTAPE_OK ||
            ttape_cursor_next(cursor, &item, &err) != TTAPE_OK)
            return;
        if (item.event.kind == TTAPE_EVENT_LEAF &&
            w->view->places[item.event.site].block != TOOL_LINES_NONE)
            w->block = item.event.site;
        if (item.event.kind != TTAPE_EVENT_SIGNAL_BEGIN)
            return;
    }
}

/* When the one call begins; false: there is no such call. */
static bool find_call(struct walk *w, uint64_t *from_ns)
{
    ttape_cursor *cursor;
    ttape_event_item item;
    ttape_error err = {0};
    ttape_stream_info stream;
    if (ttape_reader_get_stream(w->view->reader, w->call->stream, &stream) != TTAPE_OK ||
        ttape_cursor_open(&cursor, w->view->reader, w->call->stream, &err) != TTAPE_OK)
        return false;
    bool is_there = ttape_cursor_seek_event(cursor, w->call->event, &err) == TTAPE_OK &&
                    ttape_cursor_next(cursor, &item, &err) == TTAPE_OK &&
                    item.number == w->call->event && item.event.kind == TTAPE_EVENT_ENTER;
    if (is_there) {
        *from_ns = item.event.time_ns;
        take_first_block(w, cursor);
    }
    ttape_cursor_close(cursor);
    return is_there;
}

static void walk_stream(struct walk *w, ttape_call_cursor *cursor)
{
    const ttape_call_step *step;
    ttape_error err = {0};
    struct tool_lines *view = w->view;
    uint32_t first = w->block;
    while (!w->is_over) {
        ttape_status status = ttape_call_cursor_step(cursor, &step, &err);
        if (status == TTAPE_END)
            break;
        if (status != TTAPE_OK) {
            if (!tool_input_go_on(view->input, &err, &view->damage_count, &view->status))
                break;
            w->counts->is_partial = true;
            w->gap_count++;
            continue;
        }
        if (first != TOOL_LINES_NONE) { /* events at the same time come before the call */
            bool is_it = step->kind == TTAPE_STEP_EVENT && step->number == w->call->event;
            w->block = is_it ? first : TOOL_LINES_NONE;
            first = is_it ? TOOL_LINES_NONE : first;
        }
        take(w, step);
        if (w->is_over && ttape_call_cursor_step(cursor, &step, &err) == TTAPE_OK &&
            step->kind == TTAPE_STEP_EVENT && step->event->kind == TTAPE_EVENT_LEAF)
            take(w, step); /* it may have told of its last block behind its exit */
    }
    settle(w);
}

static void restart(struct walk *w, uint32_t stream)
{
    for (size_t i = 0; i < w->stack_count; i++)
        w->stacks[i].count = 0;
    w->stream = stream;
    w->chosen_open = 0;
    w->left.site = TOOL_LINES_NONE;
}

static int walk_one(struct walk *w, uint32_t stream, uint64_t from_ns)
{
    const struct tool_selection *s = w->view->selection;
    ttape_error err = {0};
    ttape_call_cursor *cursor;
    bool is_untimed = w->view->line_sites == NULL && (w->call->given || !s->has_range);
    const ttape_call_options options = {.size = sizeof options,
                                        .streams = &stream,
                                        .stream_count = 1,
                                        .has_range = s->has_range || w->call->given,
                                        .untimed = is_untimed,
                                        .from_ns = w->call->given ? from_ns : s->from_ns,
                                        .to_ns = w->call->given ? UINT64_MAX : s->to_ns};
    restart(w, stream);
    if (ttape_call_cursor_open(&cursor, w->view->reader, &options, &err) != TTAPE_OK)
        return tool_fail_error(w->view->input->name, &err);
    walk_stream(w, cursor);
    ttape_call_cursor_close(cursor);
    return TOOL_OK;
}

static int walk_all(struct walk *w)
{
    const struct tool_selection *s = w->view->selection;
    uint32_t count = s->streams != NULL ? s->stream_count : w->view->info.stream_count;
    int status = TOOL_OK;
    for (uint32_t i = 0; i < count && status == TOOL_OK; i++)
        status = walk_one(w, s->streams != NULL ? s->streams[i] : i, 0);
    return status;
}

int tool_lines_walk(struct tool_lines *view, const struct tool_call_id *call,
                    struct tool_lines_counts *counts)
{
    uint64_t from_ns = 0;
    int status;
    struct walk w = {.view = view,
                     .call = call,
                     .counts = counts,
                     .block = TOOL_LINES_NONE,
                     .left = {.site = TOOL_LINES_NONE}};
    counts->by_site = tool_allocate((size_t)view->info.site_count + 1, sizeof *counts->by_site);
    counts->next = tool_allocate((size_t)view->info.site_count + 1, sizeof *counts->next);
    char id[TOOL_CALL_ID_BYTES];
    if (call->given && !find_call(&w, &from_ns))
        status = tool_fail("'%s' has no call '%s'", view->input->name,
                           tool_put_call(id, call->stream, call->event));
    else
        status = call->given ? walk_one(&w, call->stream, from_ns) : walk_all(&w);
    for (size_t i = 0; i < w.stack_count; i++)
        free(w.stacks[i].list);
    free(w.stacks);
    end_ways(view, counts);
    end_pairs(&counts->left);
    end_pairs(&counts->edges);
    return status != TOOL_OK ? status : view->status == TOOL_CANNOT ? TOOL_CANNOT : TOOL_OK;
}

void tool_lines_counts_close(struct tool_lines_counts *counts)
{
    free(counts->by_site);
    free(counts->next);
    free(counts->left.list);
    free(counts->edges.list);
    *counts = (struct tool_lines_counts){0};
}
