/* Paths are found when the function is entered: from there down its stack to a call whose path is
 * known already. So what never leads to the function costs nothing but being read. */
#include "tools/graph/graph_paths.h"

#include <stdlib.h>
#include <string.h>

#include <tracetape/writer.h>

#include "tools/callgraph/graph_calls.h"
#include "tools/calls/ranks.h"
#include "tools/calls/time_sum.h"
#include "tools/command/tool.h"

/* ---- the walk ---- */

static uint32_t step_of(const struct tool_paths *paths, const ttape_call *call)
{
    return call->site == TTAPE_NONE && call->kind == TTAPE_EVENT_SIGNAL_BEGIN
               ? TOOL_PATH_SIGNAL | (call->argument & ~TOOL_PATH_SIGNAL)
               : tool_function_of(&paths->functions, call->site);
}

static uint32_t path_of(struct tool_paths *paths, uint32_t before, uint32_t step)
{
    if (before != TTAPE_NONE && paths->paths[before].step == step)
        return before;
    uint32_t *place = tool_map_at(&paths->map, (uint64_t)before << 32 | step, TTAPE_NONE);
    if (*place == TTAPE_NONE) {
        tool_grow((void **)&paths->paths, &paths->capacity, paths->count + 1,
                  sizeof(*paths->paths));
        paths->paths[paths->count] = (struct tool_path){
            .before = before,
            .step = step,
            .length = before != TTAPE_NONE ? paths->paths[before].length + 1 : 1};
        *place = (uint32_t)paths->count++;
    }
    return *place;
}

/* The word of a call is its path + 1, or 0 where that was not asked for. */
static void find_path(struct tool_paths *paths, const struct tool_call_stack *stack,
                      ttape_call *call)
{
    size_t known = (size_t)(call - stack->calls);
    while (known > 0 && stack->calls[known - 1].user[TOOL_CALL_NODE] == 0)
        known--;
    for (ttape_call *at = &stack->calls[known]; at <= call; at++) {
        uint32_t before =
            at > stack->calls ? tool_call_word(&at[-1], TOOL_CALL_NODE) - 1 : TTAPE_NONE;
        at->user[TOOL_CALL_NODE] = (uint64_t)path_of(paths, before, step_of(paths, at)) + 1;
    }
}

static bool is_reached(const struct tool_paths *paths, const ttape_call *call)
{
    uint32_t step = step_of(paths, call);
    return (step & TOOL_PATH_SIGNAL) == 0 && paths->is_reached[step];
}

static void enter(void *context, struct tool_call_stack *stack, ttape_call *call)
{
    struct tool_paths *paths = context;
    paths->call_count += tool_call_counts(call) && call->site != TTAPE_NONE;
    if (is_reached(paths, call))
        find_path(paths, stack, call);
}

static void leave(void *context, struct tool_call_stack *stack, ttape_call *call)
{
    struct tool_paths *paths = context;
    uint32_t number = tool_call_word(call, TOOL_CALL_NODE);
    if (number == 0 || !is_reached(paths, call))
        return;
    struct tool_path *path = &paths->paths[number - 1];
    bool is_own = stack->count > 1 && tool_call_word(&call[-1], TOOL_CALL_NODE) == number;
    path->calls += tool_call_counts(call);
    path->recursion += is_own && tool_call_counts(call);
    tool_add_ns(&path->self_ns, call->self_ns);
    if (!is_own)
        tool_add_ns(&path->total_ns, call->total_ns);
}

static int read_streams(struct tool_paths *paths)
{
    static const struct tool_calls_handler handler = {.enter = enter, .leave = leave};
    const struct tool_selection *selection = paths->selection;
    struct tool_calls calls;
    ttape_info info;
    ttape_reader_get_info(paths->input->reader, &info);
    paths->has_times = info.resolution_ns != TTAPE_TIME_NONE;
    uint32_t count = selection->streams != NULL ? selection->stream_count : info.stream_count;
    tool_calls_open(&calls, paths->input, selection, &handler, paths);
    for (uint32_t i = 0; i < count && calls.status != TOOL_CANNOT; i++) {
        tool_calls_stream(&calls, selection->streams != NULL ? selection->streams[i] : i,
                          UINT64_MAX);
        tool_add_ns(&paths->span_ns, calls.span_ns);
    }
    int status = tool_calls_status(&calls);
    tool_calls_close(&calls);
    return status;
}

/* ---- the whole ---- */

int tool_paths_make(struct tool_paths *paths, const struct tool_input *input,
                    const struct tool_selection *selection, const char *name,
                    enum tool_name_style style)
{
    *paths = (struct tool_paths){.input = input, .selection = selection, .name = name};
    tool_functions_open(&paths->functions, input->reader);
    tool_site_names_open_as(&paths->names, input->reader, style);
    paths->is_reached = tool_allocate(paths->functions.count, sizeof(bool));
    if (name == NULL) {
        memset(paths->is_reached, true, paths->functions.count);
        return read_streams(paths);
    }
    uint32_t count = tool_find_sites(&paths->names, name, NULL, 0);
    if (count == 0)
        return tool_fail("'%s' has no function '%s'", input->name, name);
    uint32_t *sites = tool_allocate(count, sizeof(*sites));
    count = tool_find_sites(&paths->names, name, sites, count);
    for (uint32_t i = 0; i < count; i++)
        paths->is_reached[tool_function_of(&paths->functions, sites[i])] = true;
    free(sites);
    return read_streams(paths);
}

void tool_paths_close(struct tool_paths *paths)
{
    tool_site_names_close(&paths->names);
    tool_functions_close(&paths->functions);
    tool_map_close(&paths->map);
    free(paths->is_reached);
    free(paths->paths);
    free(paths->order);
    *paths = (struct tool_paths){0};
}

double tool_paths_share(const struct tool_paths *paths, int64_t time_ns, uint64_t calls)
{
    if (paths->has_times)
        return paths->span_ns > 0 ? (double)time_ns / (double)paths->span_ns : 0;
    return paths->call_count > 0 ? (double)calls / (double)paths->call_count : 0;
}

static bool is_heavy(const struct tool_paths *paths, const struct tool_path *path,
                     const struct tool_graph_limits *limits)
{
    int64_t time_ns = limits->by_self ? path->self_ns : path->total_ns;
    return tool_paths_share(paths, time_ns, path->calls) >= limits->min_share &&
           path->calls >= limits->min_calls &&
           (!paths->has_times || limits->min_ns == 0 ||
            (time_ns >= 0 && (uint64_t)time_ns >= limits->min_ns));
}

/* Paths on the way to the function have no calls and no time, unless they end in it too. */
static bool ends_there(const struct tool_paths *paths, const struct tool_path *path)
{
    return (path->step & TOOL_PATH_SIGNAL) == 0 && paths->is_reached[path->step];
}

void tool_paths_order(struct tool_paths *paths, const struct tool_graph_limits *limits)
{
    struct tool_rank *ranks = tool_allocate(paths->count + 1, sizeof(*ranks));
    size_t count = 0;
    uint64_t all_calls = 0;
    for (uint32_t i = 0; i < paths->count; i++) {
        const struct tool_path *path = &paths->paths[i];
        int64_t time_ns = limits->by_self ? path->self_ns : path->total_ns;
        if (!ends_there(paths, path))
            continue;
        all_calls += path->calls;
        paths->pruned_count++;
        if (is_heavy(paths, path, limits))
            ranks[count++] = (struct tool_rank){
                .index = i, .weight = tool_weight_of_ns(time_ns), .calls = path->calls};
    }
    tool_sort_ranks(ranks, count);
    if (limits->top != 0 && count > limits->top)
        count = (size_t)limits->top;
    paths->order = tool_allocate(count + 1, sizeof(uint32_t));
    paths->shown_count = count;
    paths->pruned_count -= count;
    paths->pruned_calls = all_calls;
    for (size_t i = 0; i < count; i++) {
        paths->order[i] = ranks[i].index;
        paths->pruned_calls -= paths->paths[ranks[i].index].calls;
    }
    free(ranks);
}

uint32_t tool_paths_hottest(const struct tool_paths *paths)
{
    uint32_t found = TTAPE_NONE;
    for (uint32_t i = 0; i < paths->count; i++) {
        const struct tool_path *path = &paths->paths[i];
        const struct tool_path *best = found != TTAPE_NONE ? &paths->paths[found] : NULL;
        if (best == NULL || path->self_ns > best->self_ns ||
            (path->self_ns == best->self_ns && path->calls > best->calls))
            found = i;
    }
    return found;
}
