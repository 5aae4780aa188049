/* The library makes the graph; here its failures become messages. */
#include "tools/graph/graph_model.h"

#include "tools/command/memory_limit.h"
#include "tools/command/tool.h"

static void note_damage(void *context, uint32_t stream, const ttape_error *error)
{
    struct tool_graph *graph = context;
    (void)stream;
    (void)tool_input_go_on(graph->input, error, &graph->error_count, &graph->status);
}

static bool is_below(void *context, uint32_t site)
{
    const struct tool_graph *graph = context;
    return tool_below_matches(graph->below, site);
}

/* What the reader takes beside the graph counts, too. */
static bool look_at_memory(void *context, uint64_t event_count)
{
    (void)context;
    (void)event_count;
    if (tool_memory_left() == 0)
        tool_memory_over(0);
    return true;
}

int tool_graph_make(struct tool_graph *graph, const struct tool_input *input,
                    const struct tool_selection *selection, const struct tool_graph_limits *limits,
                    const struct tool_graph_shape *shape)
{
    const ttape_graph_options how = {.size = sizeof(how),
                                     .streams = selection->streams,
                                     .stream_count = selection->stream_count,
                                     .has_range = selection->has_range,
                                     .from_ns = selection->from_ns,
                                     .to_ns = selection->to_ns,
                                     .memory_bytes = tool_memory_left() | 1,
                                     .split_levels = shape->split_levels,
                                     .contexts = shape->contexts,
                                     .prunes = !limits->whole,
                                     .by_self = limits->by_self,
                                     .min_share = limits->min_share,
                                     .min_ns = limits->min_ns,
                                     .min_calls = limits->min_calls,
                                     .top = limits->top,
                                     .damage = note_damage,
                                     .goes_on = look_at_memory,
                                     .below = shape->below != NULL ? is_below : NULL,
                                     .context = graph,
                                     .by = shape->by};
    ttape_error err = {0};
    uint32_t count;
    *graph = (struct tool_graph){.input = input, .selection = selection, .below = shape->below};
    ttape_status status = ttape_graph_make(&graph->made, input->reader, &how, &err);
    if (status == TTAPE_E_LIMIT) /* of its own memory: others' are damage */
        tool_memory_over(how.memory_bytes);
    if (status != TTAPE_OK)
        return graph->status = tool_fail_error(input->name, &err);
    ttape_graph_get_info(graph->made, &graph->info);
    graph->nodes = ttape_graph_get_nodes(graph->made, &count);
    graph->edges = ttape_graph_get_edges(graph->made, &count);
    graph->threads = ttape_graph_get_threads(graph->made, &count);
    graph->contexts = ttape_graph_get_contexts(graph->made, &count);
    graph->functions = ttape_functions_get_rows(ttape_graph_get_functions(graph->made), &count);
    return graph->status;
}

void tool_graph_close(struct tool_graph *graph)
{
    ttape_graph_close(graph->made);
    *graph = (struct tool_graph){0};
}
