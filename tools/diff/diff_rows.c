/* Functions come from reports, which add up summaries; call paths from the calls themselves, all
 * traces in one tree. A tree that grows too large is made again with half the depth: what is deeper
 * counts where the limit is, alike in all traces. */
#include <stdlib.h>

#include <tracetape/report.h>

#include "tools/callgraph/calls_walk.h"
#include "tools/calls/ranks.h"
#include "tools/calls/time_sum.h"
#include "tools/command/memory_limit.h"
#include "tools/command/tool.h"
#include "tools/command/tool_map.h"
#include "tools/diff/diff_view.h"

#define JOBS_MOST       64u
#define SWITCHES_EVENTS 30000000u /* as in report: a second or two */

const char *const tool_diff_states[] = {"same", "changed", "new", "gone", "within_noise"};

static uint32_t add_row(struct tool_diff_rows *rows, uint32_t key, uint32_t parent, uint32_t depth)
{
    size_t first = rows->count * rows->run_count;
    tool_grow((void **)&rows->rows, &rows->capacity, rows->count + 1, sizeof(*rows->rows));
    tool_grow((void **)&rows->runs, &rows->runs_capacity, first + rows->run_count,
              sizeof(*rows->runs));
    for (uint32_t run = 0; run < rows->run_count; run++)
        rows->runs[first + run] = (struct tool_diff_side){0};
    rows->rows[rows->count] = (struct tool_diff_row){.key = key, .parent = parent, .depth = depth};
    return (uint32_t)rows->count++;
}

void tool_diff_rows_close(struct tool_diff_rows *rows)
{
    free(rows->rows);
    if (rows->sides != rows->runs)
        free(rows->sides);
    free(rows->runs);
    free(rows->order);
    *rows = (struct tool_diff_rows){0};
}

static struct tool_diff_side *measure_of(struct tool_diff_rows *rows, uint32_t row, uint32_t run)
{
    return &rows->runs[(size_t)row * rows->run_count + run];
}

static void worsen(int *status, int other) { *status = other > *status ? other : *status; }

/* ---- functions ---- */

struct reporting {
    const char *name;
    uint64_t damaged;
};

static void note_damage(void *context, uint32_t partition, const ttape_error *error)
{
    struct reporting *r = context;
    (void)partition;
    if (r->damaged++ < 20)
        tool_fail_error(r->name, error);
}

static int report_run(struct tool_diff *diff, uint32_t run, struct tool_diff_rows *rows,
                      uint32_t *row_of)
{
    ttape_error err = {0};
    ttape_report *report;
    uint32_t count;
    struct reporting r = {.name = diff->runs[run].input.name};
    ttape_report_options how = {.size = sizeof(how),
                                .by = TTAPE_REPORT_BY_FUNCTION,
                                .damage = note_damage,
                                .context = &r,
                                .switches = diff->runs[run].info.event_count <= SWITCHES_EVENTS,
                                .summed_switches = true,
                                .memory_bytes = diff->memory_bytes,
                                .jobs = diff->jobs < JOBS_MOST ? diff->jobs : JOBS_MOST};
    if (ttape_report_make(&report, diff->runs[run].input.reader, &how, &err) != TTAPE_OK)
        return tool_fail_error(diff->runs[run].input.name, &err);
    const ttape_report_row *found = ttape_report_get_rows(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t key = tool_diff_key_of(diff, run, found[i].site);
        if (row_of[key] == TTAPE_NONE)
            row_of[key] = add_row(rows, key, TTAPE_NONE, 0);
        struct tool_diff_side *at = measure_of(rows, row_of[key], run);
        at->calls += found[i].call_count;
        tool_add_ns(&at->self_ns, tool_change_ns(found[i].preempted_ns, found[i].self_ns));
        tool_add_ns(&at->preempted_ns, found[i].preempted_ns);
        tool_add_ns(&at->total_ns, found[i].total_ns);
        at->is_there = true;
    }
    ttape_report_close(report);
    return r.damaged > 0 ? TOOL_LOSS : TOOL_OK;
}

int tool_diff_functions(struct tool_diff *diff, struct tool_diff_rows *rows)
{
    int status = TOOL_OK;
    uint32_t *row_of = tool_allocate(diff->key_count, sizeof(uint32_t));
    rows->run_count = diff->run_count;
    for (uint32_t i = 0; i < diff->key_count; i++)
        row_of[i] = TTAPE_NONE;
    for (uint32_t run = 0; run < diff->run_count && status != TOOL_CANNOT; run++)
        worsen(&status, report_run(diff, run, rows, row_of));
    free(row_of);
    tool_diff_make_sides(diff, rows);
    return status;
}

/* ---- call paths ---- */

struct climbing {
    struct tool_diff *diff;
    struct tool_diff_rows *rows;
    struct ttp_key_map children; /* (parent + 1, key) */
    uint32_t run, depth_limit;
    bool is_too_large;
};

static uint32_t find_path(struct climbing *c, uint32_t parent, uint32_t key, uint32_t depth)
{
    uint32_t *place = tool_map_at(&c->children, (uint64_t)(parent + 1) << 32 | key, TTAPE_NONE);
    if (*place == TTAPE_NONE) {
        if (c->rows->count >= 2 * TOOL_DIFF_PATH_MOST / c->rows->run_count && c->depth_limit > 1) {
            c->is_too_large = true;
            return parent;
        }
        *place = add_row(c->rows, key, parent, depth);
    }
    return *place;
}

/* A signal's handler is an outermost call: which function it interrupts is chance. */
static void enter(void *context, struct tool_call_stack *stack, ttape_call *call)
{
    struct climbing *c = context;
    bool is_signal = call->kind == TTAPE_EVENT_SIGNAL_BEGIN;
    uint32_t parent = stack->count > 1 ? tool_call_word(&call[-1], TOOL_CALL_NODE) : TTAPE_NONE;
    uint32_t depth = parent != TTAPE_NONE ? c->rows->rows[parent].depth + 1 : 0;
    if (is_signal || (parent != TTAPE_NONE && depth >= c->depth_limit)) {
        call->user[TOOL_CALL_NODE] = is_signal ? TTAPE_NONE : parent;
        call->user[TOOL_CALL_FLAGS] = 1; /* it has no path of its own */
        if (!is_signal)
            c->rows->depth_limit = c->depth_limit;
        return;
    }
    uint32_t node = find_path(c, parent, tool_diff_key_of(c->diff, c->run, call->site), depth);
    call->user[TOOL_CALL_NODE] = node;
    if (node != TTAPE_NONE) {
        struct tool_diff_side *at = measure_of(c->rows, node, c->run);
        at->is_there = true;
        at->calls += tool_call_counts(call);
    }
}

static void leave(void *context, struct tool_call_stack *stack, ttape_call *call)
{
    struct climbing *c = context;
    uint32_t node = tool_call_word(call, TOOL_CALL_NODE);
    (void)stack;
    if (node != TTAPE_NONE) {
        struct tool_diff_side *at = measure_of(c->rows, node, c->run);
        tool_add_ns(&at->self_ns, call->self_ns);
        tool_add_ns(&at->total_ns, call->user[TOOL_CALL_FLAGS] == 0 ? call->total_ns : 0);
    }
}

/* When a thread got no processor is chance: it is no time of the function. */
static void off_cpu(void *context, ttape_call *top, int64_t preempted_ns, int64_t blocked_ns)
{
    struct climbing *c = context;
    uint32_t node = top != NULL ? tool_call_word(top, TOOL_CALL_NODE) : TTAPE_NONE;
    (void)blocked_ns;
    if (node == TTAPE_NONE)
        return;
    struct tool_diff_side *at = measure_of(c->rows, node, c->run);
    at->self_ns = tool_change_ns(preempted_ns, at->self_ns);
    tool_add_ns(&at->preempted_ns, preempted_ns);
}

static int climb(struct climbing *c, uint32_t run)
{
    static const struct tool_calls_handler handler = {
        .enter = enter, .leave = leave, .off = off_cpu};
    struct tool_calls calls;
    c->run = run;
    tool_calls_open(&calls, &c->diff->runs[run].input, &handler, c);
    for (uint32_t i = 0; i < c->diff->runs[run].info.stream_count && calls.status != TOOL_CANNOT;
         i++) {
        tool_calls_stream(&calls, i);
        if (c->is_too_large)
            break;
    }
    int status = tool_calls_status(&calls);
    tool_calls_close(&calls);
    return status;
}

int tool_diff_paths(struct tool_diff *diff, uint32_t depth_limit, struct tool_diff_rows *rows)
{
    struct climbing c = {.diff = diff, .rows = rows, .depth_limit = depth_limit};
    int status;
    rows->run_count = diff->run_count;
    do {
        c.depth_limit = c.is_too_large ? c.depth_limit / 2 : c.depth_limit;
        c.is_too_large = false;
        rows->count = 0;
        rows->depth_limit = 0;
        status = TOOL_OK;
        for (uint32_t run = 0; run < diff->run_count && status != TOOL_CANNOT; run++)
            if (!c.is_too_large)
                worsen(&status, climb(&c, run));
        tool_map_close(&c.children);
    } while (c.is_too_large && c.depth_limit > 1);
    tool_diff_make_sides(diff, rows);
    return status;
}

/* ---- what changed, and by how much ---- */

static uint64_t size_of(int64_t value) { return value < 0 ? 0 - (uint64_t)value : (uint64_t)value; }

static bool is_change(const struct tool_diff_limits *limits, int64_t a_ns, int64_t b_ns)
{
    uint64_t change = size_of(tool_change_ns(a_ns, b_ns));
    return change > 0 && change >= limits->min_ns &&
           (double)change >= limits->min_change * (double)size_of(a_ns);
}

/* What only some runs of a side have is there by chance. */
static enum tool_diff_state state_of(const struct tool_diff *diff,
                                     const struct tool_diff_limits *limits,
                                     const struct tool_diff_rows *rows, size_t row)
{
    const struct tool_diff_side *a = tool_diff_sides(rows, row), *b = a + 1;
    bool is_judged = rows->noise.is_measured;
    enum tool_diff_state found = !a->is_there   ? TOOL_DIFF_NEW
                                 : !b->is_there ? TOOL_DIFF_GONE
                                                : TOOL_DIFF_CHANGED;
    if (found != TOOL_DIFF_CHANGED && !(is_judged && (a->is_partial || b->is_partial)))
        return found;
    bool times = diff->has_times && (is_change(limits, a->self_ns, b->self_ns) ||
                                     is_change(limits, a->total_ns, b->total_ns));
    if (!times && a->calls == b->calls)
        return TOOL_DIFF_SAME;
    return is_judged && tool_diff_is_noise(diff, rows, row) ? TOOL_DIFF_NOISE : found;
}

static struct tool_rank weigh(const struct tool_diff_rows *rows, uint32_t number,
                              enum tool_diff_sort sort)
{
    const struct tool_diff_side *a = tool_diff_sides(rows, number), *b = a + 1;
    uint64_t self = size_of(tool_change_ns(a->self_ns, b->self_ns)),
             total = size_of(tool_change_ns(a->total_ns, b->total_ns));
    uint64_t calls = a->calls < b->calls ? b->calls - a->calls : a->calls - b->calls;
    uint64_t size = sort == TOOL_DIFF_BY_SELF ? self : sort == TOOL_DIFF_BY_TOTAL ? total : calls;
    return (struct tool_rank){
        .index = number, .weight = size, .calls = sort == TOOL_DIFF_BY_CALLS ? self : calls};
}

void tool_diff_judge(const struct tool_diff *diff, const struct tool_diff_limits *limits,
                     struct tool_diff_rows *rows)
{
    struct tool_rank *weights = tool_allocate(rows->count + 1, sizeof(*weights));
    rows->order = tool_allocate(rows->count + 1, sizeof(uint32_t));
    if (limits->hides_noise && diff->has_times)
        tool_diff_measure_noise(diff, rows, limits->sort);
    for (uint32_t i = 0; i < rows->count; i++) {
        struct tool_diff_row *row = &rows->rows[i];
        row->state = state_of(diff, limits, rows, i);
        rows->state_counts[row->state]++;
        if (row->state != TOOL_DIFF_SAME && row->state != TOOL_DIFF_NOISE)
            weights[rows->order_count++] = weigh(rows, i, limits->sort);
    }
    tool_sort_ranks(weights, rows->order_count);
    for (size_t i = 0; i < rows->order_count; i++)
        rows->order[i] = weights[i].index;
    free(weights);
}
