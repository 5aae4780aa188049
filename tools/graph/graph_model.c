/* Making a graph, and making it again without what was pruned. */
#include "tools/graph/graph_model.h"

#include <stdlib.h>
#include <string.h>

#include <tracetape/writer.h>

#include "tools/command/tool.h"

#define KEY_START (UINT64_C(1) << 63)

static uint64_t number_of(const struct tool_graph_thread *thread)
{
    return thread->start.is_fact ? thread->start.first : 0;
}

/* Starters first, also where clocks are coarse or none: of processes parents have the lower ids,
 * and a thread's number was drawn before those of the threads that it starts. */
static int compare_threads(const void *a, const void *b)
{
    const struct tool_graph_thread *one = a, *two = b;
    if (one->start_ns != two->start_ns)
        return one->start_ns < two->start_ns ? -1 : 1;
    if (one->process != two->process)
        return one->process < two->process ? -1 : 1;
    if (number_of(one) != number_of(two))
        return number_of(one) < number_of(two) ? -1 : 1;
    return one->stream < two->stream ? -1 : one->stream > two->stream;
}

void tool_graph_peek_failed(struct tool_graph *graph, const ttape_error *err)
{
    bool is_machine = err->status == TTAPE_E_MEMORY || err->status == TTAPE_E_IO;
    if (is_machine && graph->peek_status == TOOL_OK)
        graph->peek_status = tool_fail_error(graph->input->name, err);
}

/* When a thread's recording began; where that is not said, its first event's time. */
static uint64_t start_of(struct tool_graph *graph, uint32_t stream, const ttape_stream_info *info)
{
    ttape_error err = {0};
    ttape_cursor *cursor;
    ttape_edge edge = {0};
    if (info->stream.start_time_ns != 0)
        return info->stream.start_time_ns;
    if (ttape_cursor_open(&cursor, graph->input->reader, stream, &err) != TTAPE_OK) {
        tool_graph_peek_failed(graph, &err);
        return 0;
    }
    if (ttape_cursor_get_open_frames(cursor, &edge, &err) != TTAPE_OK) {
        tool_graph_peek_failed(graph, &err);
        edge.time_ns = 0;
    }
    ttape_cursor_close(cursor);
    return edge.time_ns;
}

static void add_thread(struct tool_graph *graph, uint32_t stream)
{
    ttape_stream_info info;
    if (ttape_reader_get_stream(graph->input->reader, stream, &info) != TTAPE_OK)
        return;
    graph->threads[graph->thread_count++] = (struct tool_graph_thread){
        .stream = stream,
        .process = info.stream.process,
        .pid = info.pid,
        .tid = info.stream.tid,
        .start_ns = graph->has_times ? start_of(graph, stream, &info) : 0};
}

static void add_threads(struct tool_graph *graph)
{
    const struct tool_selection *selection = graph->selection;
    ttape_info info;
    ttape_reader_get_info(graph->input->reader, &info);
    graph->has_times = info.resolution_ns != TTAPE_TIME_NONE;
    bool all = selection->streams == NULL;
    uint32_t count = all ? info.stream_count : selection->stream_count;
    graph->threads = tool_allocate(count + 1u, sizeof(*graph->threads));
    for (uint32_t i = 0; i < count; i++)
        add_thread(graph, all ? i : selection->streams[i]);
    tool_spawn_read_starts(graph);
    if (graph->thread_count > 1)
        qsort(graph->threads, graph->thread_count, sizeof(*graph->threads), compare_threads);
}

static int read_all(struct tool_graph *graph)
{
    struct tool_calls calls;
    tool_spawn_open(graph);
    tool_graph_walk(graph, &calls);
    int status = graph->peek_status != TOOL_OK ? graph->peek_status : tool_calls_status(&calls);
    tool_calls_close(&calls);
    tool_spawn_close(graph);
    return status;
}

static bool is_idle_call(const struct tool_graph *graph, uint32_t function)
{
    const ttape_function *found = &graph->functions.functions[function];
    ttape_site site;
    return found->is_idle &&
           ttape_reader_get_site(graph->input->reader, found->site, &site) == TTAPE_OK &&
           site.kind == TTAPE_SITE_SYSCALL;
}

/* Where there are blocking system calls, functions that are called so say nothing. */
static void find_idle(struct tool_graph *graph)
{
    const struct tool_functions *all = &graph->functions;
    graph->is_idle = tool_allocate(all->count, sizeof(bool));
    for (uint32_t i = 0; i < all->count; i++) {
        graph->is_idle[i] = all->functions[i].is_idle;
        graph->has_idle_names |= graph->is_idle[i];
        graph->has_idle_calls |= is_idle_call(graph, i);
    }
    for (uint32_t i = 0; graph->has_idle_calls && i < all->count; i++)
        graph->is_idle[i] = is_idle_call(graph, i);
}

ttape_idle_source tool_graph_idle_source(const struct tool_graph *graph)
{
    return graph->has_switches     ? TTAPE_IDLE_SWITCHES
           : graph->has_idle_calls ? TTAPE_IDLE_SYSTEM_CALLS
           : graph->has_idle_names ? TTAPE_IDLE_FUNCTIONS
                                   : TTAPE_IDLE_NOTHING;
}

const char *tool_graph_idle_word(const struct tool_graph *graph)
{
    static const char *const words[] = {"nothing", "switches", "system calls", "functions"};
    return words[tool_graph_idle_source(graph)];
}

int tool_graph_make(struct tool_graph *graph, const struct tool_input *input,
                    const struct tool_selection *selection)
{
    graph->input = input;
    graph->selection = selection;
    tool_functions_open(&graph->functions, input->reader);
    find_idle(graph);
    graph->plain = tool_allocate(graph->functions.count, sizeof(uint32_t));
    memset(graph->plain, 0xFF, graph->functions.count * sizeof(uint32_t));
    (void)tool_graph_new_node(
        graph,
        &(struct tool_graph_node){.kind = TOOL_NODE_START, .function = graph->functions.count - 1},
        KEY_START);
    add_threads(graph);
    graph->status = read_all(graph);
    return graph->status;
}

int tool_graph_remake(struct tool_graph *graph)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        graph->nodes[i].sum = (struct tool_graph_counts){0};
        graph->nodes[i].thread_count = 0;
    }
    graph->edge_count = 0;
    tool_map_close(&graph->edge_map);
    tool_map_close(&graph->active_map); /* it names edges */
    graph->context_count = 0;
    graph->call_count = 0;
    graph->span_ns = graph->idle_ns = graph->blocked_ns = graph->unknown_ns = 0;
    graph->is_pruned = true;
    return read_all(graph);
}

void tool_graph_close(struct tool_graph *graph)
{
    tool_functions_close(&graph->functions);
    free(graph->is_idle);
    tool_map_close(&graph->node_map);
    tool_map_close(&graph->edge_map);
    tool_map_close(&graph->active_map);
    free(graph->nodes);
    free(graph->edges);
    free(graph->plain);
    free(graph->touched);
    free(graph->frames);
    free(graph->contexts);
    free(graph->threads);
    *graph = (struct tool_graph){0};
}
