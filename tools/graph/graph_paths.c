/* The library finds the paths; here they are ranked and weighed. */
#include "tools/graph/graph_paths.h"

#include <stdlib.h>

#include "base/ranks.h"
#include "base/time_sum.h"
#include "tools/command/tool.h"

static bool selects(void *context, uint32_t site)
{
    const struct tool_paths *paths = context;
    return paths->is_reached == NULL || paths->is_reached[site];
}

static void note_damage(void *context, uint32_t stream, const ttape_error *error)
{
    struct tool_paths *paths = context;
    (void)stream;
    (void)tool_input_go_on(paths->input, error, &paths->error_count, &paths->status);
}

static int find_paths(struct tool_paths *paths, const struct tool_selection *selection,
                      ttape_functions_by by)
{
    const ttape_reach_options how = {.size = sizeof(how),
                                     .streams = selection->streams,
                                     .stream_count = selection->stream_count,
                                     .has_range = selection->has_range,
                                     .from_ns = selection->from_ns,
                                     .to_ns = selection->to_ns,
                                     .memory_bytes = UINT64_MAX,
                                     .selects = selects,
                                     .damage = note_damage,
                                     .context = paths,
                                     .by = by};
    ttape_error err = {0};
    ttape_reach_info info;
    if (ttape_reach_find(&paths->reach, paths->input->reader, &how, &err) != TTAPE_OK)
        return tool_fail_error(paths->input->name, &err);
    ttape_reach_get_info(paths->reach, &info);
    paths->has_times = info.has_times;
    paths->call_count = info.call_count;
    paths->span_ns = info.span_ns;
    paths->paths = ttape_reach_get_paths(paths->reach, &paths->count);
    return paths->status;
}

int tool_paths_make(struct tool_paths *paths, const struct tool_input *input,
                    const struct tool_selection *selection, const char *name, ttape_functions_by by,
                    enum tool_name_style style)
{
    *paths = (struct tool_paths){.input = input, .name = name};
    tool_site_names_open_as(&paths->names, input->reader, style);
    if (name == NULL)
        return find_paths(paths, selection, by);
    paths->is_reached = tool_sites_called(&paths->names, name);
    if (paths->is_reached == NULL)
        return tool_no_function(&paths->names, input->name, name);
    return find_paths(paths, selection, by);
}

void tool_paths_close(struct tool_paths *paths)
{
    tool_site_names_close(&paths->names);
    ttape_reach_close(paths->reach);
    free(paths->is_reached);
    free(paths->order);
    *paths = (struct tool_paths){0};
}

double tool_paths_share(const struct tool_paths *paths, int64_t time_ns, uint64_t calls)
{
    if (paths->has_times)
        return paths->span_ns > 0 ? (double)time_ns / (double)paths->span_ns : 0;
    return paths->call_count > 0 ? (double)calls / (double)paths->call_count : 0;
}

static bool is_heavy(const struct tool_paths *paths, const ttape_reach_path *path,
                     const struct tool_graph_limits *limits)
{
    int64_t time_ns = limits->by_self ? path->self_ns : path->total_ns;
    return tool_paths_share(paths, time_ns, path->call_count) >= limits->min_share &&
           path->call_count >= limits->min_calls &&
           (!paths->has_times || limits->min_ns == 0 ||
            (time_ns >= 0 && (uint64_t)time_ns >= limits->min_ns));
}

void tool_paths_order(struct tool_paths *paths, const struct tool_graph_limits *limits)
{
    struct ttp_rank *ranks = tool_allocate(paths->count + 1, sizeof(*ranks));
    size_t count = 0;
    uint64_t all_calls = 0;
    for (uint32_t i = 0; i < paths->count; i++) {
        const ttape_reach_path *path = &paths->paths[i];
        int64_t time_ns = limits->by_self ? path->self_ns : path->total_ns;
        if (!path->is_end) /* on the way there */
            continue;
        all_calls += path->call_count;
        paths->pruned_count++;
        if (is_heavy(paths, path, limits))
            ranks[count++] = (struct ttp_rank){
                .index = i, .weight = ttp_weight_of_ns(time_ns), .calls = path->call_count};
    }
    ttp_sort_ranks(ranks, count);
    if (limits->top != 0 && count > limits->top)
        count = (size_t)limits->top;
    paths->order = tool_allocate(count + 1, sizeof(uint32_t));
    paths->shown_count = count;
    paths->pruned_count -= count;
    paths->pruned_calls = all_calls;
    for (size_t i = 0; i < count; i++) {
        paths->order[i] = ranks[i].index;
        paths->pruned_calls -= paths->paths[ranks[i].index].call_count;
    }
    free(ranks);
}

uint32_t tool_paths_hottest(const struct tool_paths *paths)
{
    uint32_t found = TTAPE_NONE;
    for (uint32_t i = 0; i < paths->count; i++) {
        const ttape_reach_path *path = &paths->paths[i];
        const ttape_reach_path *best = found != TTAPE_NONE ? &paths->paths[found] : NULL;
        if (best == NULL || path->self_ns > best->self_ns ||
            (path->self_ns == best->self_ns && path->call_count > best->call_count))
            found = i;
    }
    return found;
}
