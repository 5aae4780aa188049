/* Call paths come from the calls themselves, all traces in one tree. A tree that grows too large,
 * or past the memory, is made again with half the depth: what is deeper counts where the limit is,
 * alike in all traces. */
#include <tracetape/calls.h>

#include "answers/diff/diff_internal.h"
#include "base/time_sum.h"

#define PATHS_MOST      2000000u   /* call paths, by runs */
#define SWITCHES_EVENTS 30000000u  /* as in report: a second or two */
#define EVENTS_BETWEEN  (1u << 16) /* two questions whether to go on */

/* A call has words for its caller's use: the node, plus 1, and whether it has no path. */
enum { NODE, HAS_NO_PATH };

struct climbing {
    struct ttape_diff *diff;
    struct ttp_diff_rows *rows;
    struct ttp_region *region;
    struct ttp_key_map children; /* (parent + 1, key) */
    const uint32_t *key_of;      /* by site */
    uint32_t site_count, run, depth_limit;
    bool is_too_large;
};

static uint32_t node_of(const ttape_call *call) { return (uint32_t)call->user[NODE] - 1; }

static uint32_t find_path(struct climbing *c, uint32_t parent, uint32_t key, uint32_t depth)
{
    uint32_t *place =
        ttp_region_at(c->region, &c->children, (uint64_t)(parent + 1) << 32 | key, TTAPE_NONE);
    if (*place != TTAPE_NONE)
        return *place;
    if (c->rows->count < PATHS_MOST / c->rows->trace_count || c->depth_limit <= 1)
        *place = ttp_diff_add_row(c->rows, key, parent, depth);
    if (*place != TTAPE_NONE)
        return *place;
    c->is_too_large = true;
    return parent;
}

/* A signal's handler is an outermost call: which function it interrupts is chance. */
static void enter_call(struct climbing *c, ttape_call *call)
{
    bool is_signal = call->kind == TTAPE_EVENT_SIGNAL_BEGIN;
    uint32_t parent = call->height > 0 ? node_of(&call[-1]) : TTAPE_NONE;
    uint32_t depth = parent != TTAPE_NONE ? c->rows->rows[parent].depth + 1 : 0;
    if (is_signal || (parent != TTAPE_NONE && depth >= c->depth_limit)) {
        call->user[NODE] = is_signal ? 0 : parent + UINT64_C(1);
        call->user[HAS_NO_PATH] = 1;
        if (!is_signal)
            c->rows->depth_limit = c->depth_limit;
        return;
    }
    uint32_t key = call->site < c->site_count ? c->key_of[call->site] : c->diff->key_count - 1;
    uint32_t node = find_path(c, parent, key, depth);
    call->user[NODE] = node != TTAPE_NONE ? node + UINT64_C(1) : 0;
    if (node != TTAPE_NONE) {
        ttape_diff_side *at = ttp_diff_measures(c->rows, node, c->run);
        at->is_there = true;
        at->calls += call->kind != TTAPE_EVENT_OPEN && !call->is_found;
    }
}

static void leave_call(struct climbing *c, const ttape_call *call)
{
    uint32_t node = node_of(call);
    if (node == TTAPE_NONE)
        return;
    ttape_diff_side *at = ttp_diff_measures(c->rows, node, c->run);
    ttp_sum_ns(&at->self_ns, call->self_ns);
    ttp_sum_ns(&at->total_ns, call->user[HAS_NO_PATH] == 0 ? call->total_ns : 0);
}

/* The call on top before the step; NULL: none. */
static const ttape_call *top_before(ttape_call_cursor *cursor, const ttape_call_step *step)
{
    const ttape_call *calls;
    uint32_t count;
    if (step->ended_count > 0)
        return &step->ended[step->ended_count - 1];
    if (step->began_count > 0)
        return step->began[0].height > 0 ? &step->began[-1] : NULL;
    ttape_call_cursor_stack(cursor, &calls, &count);
    return count > 0 ? &calls[count - 1] : NULL;
}

/* When a thread got no processor is chance: it is no time of the function. */
static void pass_time(struct climbing *c, ttape_call_cursor *cursor, const ttape_call_step *step)
{
    const ttape_call *top = top_before(cursor, step);
    uint32_t node = top != NULL ? node_of(top) : TTAPE_NONE;
    if (node == TTAPE_NONE)
        return;
    ttape_diff_side *at = ttp_diff_measures(c->rows, node, c->run);
    at->self_ns = ttp_change_ns(step->preempted_ns, at->self_ns);
    ttp_sum_ns(&at->preempted_ns, step->preempted_ns);
}

static void take_step(struct climbing *c, ttape_call_cursor *cursor, const ttape_call_step *step)
{
    bool has_time = step->kind == TTAPE_STEP_EVENT || step->kind == TTAPE_STEP_STOP;
    if (__builtin_expect(step->preempted_ns != 0, 0) && has_time)
        pass_time(c, cursor, step);
    for (uint32_t i = 0; i < step->began_count; i++)
        enter_call(c, &step->began[i]);
    for (uint32_t i = step->ended_count; i-- > 0;)
        leave_call(c, &step->ended[i]);
}

static bool is_done(struct climbing *c)
{
    c->is_too_large |= c->region->is_short;
    return c->is_too_large ||
           (++c->diff->event_count % EVENTS_BETWEEN == 0 && !ttp_diff_goes_on(c->diff));
}

static void read_steps(struct climbing *c, ttape_call_cursor *cursor)
{
    ttape_error err = {0};
    const ttape_call_step *step;
    while (!is_done(c)) {
        ttape_status status = ttape_call_cursor_step(cursor, &step, &err);
        if (status == TTAPE_END ||
            (status != TTAPE_OK && !ttp_diff_pass_over(c->diff, c->run, &err)))
            return;
        if (status == TTAPE_OK)
            take_step(c, cursor, step);
    }
}

static void climb_stream(struct climbing *c, uint32_t stream, bool switches)
{
    const ttape_call_options options = {
        .size = sizeof(options), .streams = &stream, .stream_count = 1, .switches = switches};
    ttape_error err = {0};
    ttape_call_cursor *cursor;
    if (ttape_call_cursor_open(&cursor, c->diff->readers[c->run], &options, &err) == TTAPE_OK)
        read_steps(c, cursor);
    else
        (void)ttp_diff_pass_over(c->diff, c->run, &err);
    ttape_call_cursor_close(cursor);
}

static void climb(struct climbing *c, uint32_t run)
{
    ttape_info info;
    c->run = run;
    c->key_of = ttape_functions_get_sites(c->diff->functions, run, &c->site_count);
    ttape_reader_get_info(c->diff->readers[run], &info);
    for (uint32_t i = 0; i < info.stream_count && c->diff->status == TTAPE_OK; i++) {
        climb_stream(c, i, info.event_count <= SWITCHES_EVENTS);
        if (c->is_too_large || c->region->is_short)
            return;
    }
}

static bool climb_all(struct ttape_diff *diff, uint32_t depth_limit)
{
    struct climbing c = {.diff = diff,
                         .rows = &diff->paths,
                         .region = &diff->paths_region,
                         .depth_limit = depth_limit};
    diff->paths = (struct ttp_diff_rows){.region = c.region, .trace_count = diff->trace_count};
    for (uint32_t run = 0; run < diff->trace_count && !c.is_too_large && !c.region->is_short; run++)
        climb(&c, run);
    ttp_region_close_map(c.region, &c.children);
    return !c.is_too_large && !c.region->is_short;
}

void ttp_diff_make_paths(struct ttape_diff *diff)
{
    uint32_t depth_limit = diff->options.depth;
    uint64_t events_before = diff->event_count;
    diff->paths_region.left_bytes = diff->region.left_bytes / 8 * 7;
    diff->region.left_bytes -= diff->paths_region.left_bytes;
    while (!climb_all(diff, depth_limit) && depth_limit > 1 && diff->status == TTAPE_OK) {
        depth_limit /= 2;
        ttp_region_close(&diff->paths_region);
        diff->paths_region.is_short = false;
        diff->event_count = events_before;
    }
    ttp_diff_make_sides(diff, &diff->paths);
}
