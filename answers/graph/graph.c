/* Making a graph: from options to an answer, and once more without what was pruned. */
#include <string.h>

#include <tracetape/writer.h>

#include "answers/graph/graph_internal.h"
#include "base/sort.h"
#include "format/base/sized.h"
#include "reader/base/choice.h"

#define MEMORY_BYTES_DEFAULT (256ull << 20)
#define KEY_START            (UINT64_C(1) << 63)
/* Up to so many events their times off the CPU are asked for: a second or two. */
#define SWITCHES_EVENTS 30000000u

/* ---- memory and failures ---- */

void ttp_graph_fail(struct ttape_graph *graph, ttape_status status, const ttape_error *err)
{
    if (graph->status != TTAPE_OK)
        return;
    graph->status = status;
    graph->err = *err;
}

void ttp_graph_peek_failed(struct ttape_graph *graph, const ttape_error *err)
{
    if (err->status == TTAPE_E_MEMORY || err->status == TTAPE_E_IO)
        ttp_graph_fail(graph, err->status, err);
}

void *ttp_graph_take(struct ttape_graph *graph, uint64_t count, size_t item_bytes)
{
    ttape_error err = {0};
    void *block = ttp_memory_take(&graph->memory, count, item_bytes, &err);
    if (block != NULL)
        memset(block, 0, (size_t)count * item_bytes);
    else
        ttp_graph_fail(graph, graph->memory.status, &err);
    return block;
}

bool ttp_graph_reserve(struct ttape_graph *graph, void *array, uint32_t *capacity, uint64_t wanted,
                       size_t item_bytes)
{
    ttape_error err = {0};
    if (__builtin_expect(wanted <= *capacity, 1))
        return true;
    ttape_status status =
        ttp_memory_reserve(&graph->memory, array, capacity, wanted, item_bytes, &err);
    if (status != TTAPE_OK)
        ttp_graph_fail(graph, status, &err);
    return status == TTAPE_OK;
}

/* ---- threads ---- */

static uint64_t number_of(const struct ttp_graph_thread *thread)
{
    return thread->start.is_fact ? thread->start.first : 0;
}

/* Starters first, also where clocks are coarse or none: of processes parents have the lower ids,
 * and a thread's number was drawn before those of the threads that it starts. */
static bool starts_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ttp_graph_thread *threads = context, *one = &threads[a], *two = &threads[b];
    if (one->shown.start_ns != two->shown.start_ns)
        return one->shown.start_ns < two->shown.start_ns;
    if (one->shown.process != two->shown.process)
        return one->shown.process < two->shown.process;
    if (number_of(one) != number_of(two))
        return number_of(one) < number_of(two);
    return one->shown.stream < two->shown.stream;
}

/* When a thread's recording began; where that is not known, its first event's time. */
static uint64_t start_of(struct ttape_graph *graph, uint32_t stream, const ttape_stream_info *info)
{
    ttape_error err = {0};
    ttape_cursor *cursor;
    ttape_edge edge = {0};
    if (info->stream.start_time_ns != 0)
        return info->stream.start_time_ns;
    if (ttape_cursor_open(&cursor, graph->reader, stream, &err) != TTAPE_OK) {
        ttp_graph_peek_failed(graph, &err);
        return 0;
    }
    if (ttape_cursor_get_open_frames(cursor, &edge, &err) != TTAPE_OK) {
        ttp_graph_peek_failed(graph, &err);
        edge.time_ns = 0;
    }
    ttape_cursor_close(cursor);
    return edge.time_ns;
}

static void add_thread(struct ttape_graph *graph, uint32_t stream)
{
    ttape_stream_info info;
    if (ttape_reader_get_stream(graph->reader, stream, &info) != TTAPE_OK)
        return;
    graph->threads[graph->info.thread_count++].shown = (ttape_graph_thread){
        .stream = stream,
        .process = info.stream.process,
        .pid = info.pid,
        .tid = info.stream.tid,
        .start_ns = graph->info.has_times ? start_of(graph, stream, &info) : 0};
}

static void sort_threads(struct ttape_graph *graph)
{
    uint32_t count = graph->info.thread_count, *order;
    struct ttp_graph_thread *sorted;
    order = ttp_graph_take(graph, count, sizeof *order);
    sorted = ttp_graph_take(graph, graph->thread_capacity, sizeof *sorted);
    if (order != NULL && sorted != NULL) {
        for (uint32_t i = 0; i < count; i++)
            order[i] = i;
        ttp_sort(order, count, starts_before, graph->threads);
        for (uint32_t i = 0; i < count; i++)
            sorted[i] = graph->threads[order[i]];
        struct ttp_graph_thread *old = graph->threads;
        graph->threads = sorted;
        sorted = old;
    }
    ttp_memory_give(&graph->memory, order, count, sizeof *order);
    ttp_memory_give(&graph->memory, sorted, graph->thread_capacity, sizeof *sorted);
}

static void add_threads(struct ttape_graph *graph, const ttape_info *info)
{
    const uint32_t *streams = graph->options.streams;
    uint32_t count = streams == NULL ? info->stream_count : graph->options.stream_count;
    graph->threads = ttp_graph_take(graph, count, sizeof *graph->threads);
    graph->thread_capacity = graph->threads != NULL ? count : 0;
    for (uint32_t i = 0; i < graph->thread_capacity; i++)
        add_thread(graph, streams == NULL ? i : streams[i]);
    ttp_spawn_read_starts(graph);
    sort_threads(graph);
}

static void show_threads(struct ttape_graph *graph)
{
    graph->shown_threads =
        ttp_graph_take(graph, graph->thread_capacity, sizeof *graph->shown_threads);
    for (uint32_t i = 0; graph->shown_threads != NULL && i < graph->info.thread_count; i++) {
        graph->shown_threads[i] = graph->threads[i].shown;
        graph->shown_threads[i].start_node = graph->threads[i].first.node;
    }
}

/* ---- what blocks ---- */

static bool is_idle_call(const struct ttape_graph *graph, uint32_t row)
{
    ttape_site site;
    return graph->rows[row].is_idle &&
           ttape_reader_get_site(graph->reader, graph->rows[row].site, &site) == TTAPE_OK &&
           site.kind == TTAPE_SITE_SYSCALL;
}

/* Where there are blocking system calls, functions that are called so do not count. */
static void find_idle(struct ttape_graph *graph)
{
    bool has_calls = false, has_names = false;
    for (uint32_t i = 0; i < graph->row_count; i++) {
        graph->is_idle[i] = graph->rows[i].is_idle;
        has_names |= graph->is_idle[i];
        has_calls |= is_idle_call(graph, i);
    }
    for (uint32_t i = 0; has_calls && i < graph->row_count; i++)
        graph->is_idle[i] = is_idle_call(graph, i);
    graph->info.idle_source = has_calls   ? TTAPE_IDLE_SYSTEM_CALLS
                              : has_names ? TTAPE_IDLE_FUNCTIONS
                                          : TTAPE_IDLE_NOTHING;
}

/* ---- what is asked about ---- */

static void find_below(struct ttape_graph *graph)
{
    const ttape_graph_options *o = &graph->options;
    if (o->below == NULL)
        return;
    graph->is_below = ttp_graph_take(graph, graph->row_count, sizeof *graph->is_below);
    for (uint32_t site = 0; graph->is_below != NULL && site < graph->site_count; site++)
        graph->is_below[graph->row_of[site]] |= o->below(o->context, site);
}

/* ---- making ---- */

static void read_all(struct ttape_graph *graph)
{
    ttp_spawn_open(graph);
    if (graph->status == TTAPE_OK)
        ttp_graph_walk(graph);
    ttp_spawn_close(graph);
}

/* Again, passing over nodes that are not kept: what they called hangs below their closest kept
 * callers. */
static void read_again(struct ttape_graph *graph)
{
    for (uint32_t i = 0; i < graph->info.node_count; i++) {
        graph->nodes[i].sum = (ttape_graph_counts){0};
        graph->nodes[i].times = (ttape_graph_times){0};
        graph->nodes[i].thread_count = 0;
        graph->nodes_now[i].edge_plus_one = 0;
    }
    graph->info.edge_count = graph->info.context_count = 0;
    ttp_key_map_close(&graph->edge_map, &graph->memory);
    ttp_key_map_close(&graph->active_map, &graph->memory); /* it names edges */
    graph->info.call_count = 0;
    graph->info.span_ns = graph->info.idle_ns = graph->info.blocked_ns = graph->info.unknown_ns = 0;
    graph->is_again = true;
    read_all(graph);
}

static ttape_status find_functions(struct ttape_graph *graph, ttape_error *err)
{
    const ttape_reader *reader = graph->reader;
    const ttape_functions_options how = {
        .size = sizeof how, .by = graph->options.by, .memory_bytes = graph->memory.limit_bytes};
    TTP_TRY(ttape_functions_make(&graph->functions, &reader, 1, &how, err));
    graph->rows = ttape_functions_get_rows(graph->functions, &graph->row_count);
    graph->row_of = ttape_functions_get_sites(graph->functions, 0, &graph->site_count);
    return TTAPE_OK;
}

/* What is looked up after a failure is there, too: one node, and room for an edge. */
static void begin_graph(struct ttape_graph *graph)
{
    graph->is_idle = ttp_graph_take(graph, graph->row_count, sizeof *graph->is_idle);
    graph->plain = ttp_graph_take(graph, graph->row_count, sizeof *graph->plain);
    bool has_room =
        ttp_graph_reserve(graph, &graph->edges, &graph->edge_capacity, 1, sizeof *graph->edges) &&
        ttp_graph_reserve(graph, &graph->edges_now, &graph->edge_now_capacity, 1,
                          sizeof *graph->edges_now);
    if (graph->is_idle == NULL || graph->plain == NULL || !has_room)
        return;
    graph->edges[0] = (ttape_graph_edge){0};
    graph->edges_now[0] = (struct ttp_graph_now){0};
    memset(graph->plain, 0xFF, graph->row_count * sizeof *graph->plain);
    find_idle(graph);
    find_below(graph);
    (void)ttp_graph_new_node(graph,
                             &(ttape_graph_node){.kind = TTAPE_GRAPH_START_NODE,
                                                 .function = graph->row_count - 1,
                                                 .site = TTAPE_NONE},
                             KEY_START);
}

static ttape_status make_graph(struct ttape_graph *graph, ttape_error *err)
{
    const ttape_graph_options *o = &graph->options;
    ttape_info info;
    ttape_reader_get_info(graph->reader, &info);
    TTP_TRY(ttp_find_streams(o->streams, o->stream_count, info.stream_count, NULL, err));
    graph->info.has_times = info.resolution_ns != TTAPE_TIME_NONE;
    graph->asks_switches = info.event_count <= SWITCHES_EVENTS;
    graph->has_paths = ttape_reader_path_count(graph->reader) != 0;
    TTP_TRY(find_functions(graph, err));
    begin_graph(graph);
    if (graph->status == TTAPE_OK)
        add_threads(graph, &info);
    if (graph->status == TTAPE_OK)
        read_all(graph);
    if (graph->status == TTAPE_OK && o->prunes && ttp_graph_choose(graph))
        read_again(graph);
    if (graph->status == TTAPE_OK && o->prunes)
        ttp_graph_thin(graph);
    if (graph->status == TTAPE_OK)
        ttp_graph_order(graph);
    if (graph->status == TTAPE_OK)
        show_threads(graph);
    if (graph->info.has_switches)
        graph->info.idle_source = TTAPE_IDLE_SWITCHES;
    if (graph->status != TTAPE_OK && err != NULL)
        *err = graph->err;
    return graph->status;
}

static ttape_status take_options(ttape_graph_options *out, const ttape_graph_options *options,
                                 ttape_error *err)
{
    *out = (ttape_graph_options){.size = sizeof *out};
    if (options != NULL)
        TTP_TRY(ttp_take_sized(out, sizeof *out, options, "call graphs", err));
    out->memory_bytes = out->memory_bytes != 0 ? out->memory_bytes : MEMORY_BYTES_DEFAULT;
    if (!(out->min_share >= 0 && out->min_share <= 1))
        return ttp_refuse(err, "a share of the run is from 0 to 1");
    TTP_TRY(ttp_check_range(out->has_range, out->from_ns, out->to_ns, err));
    return ttp_check_streams(out->streams, out->stream_count, err);
}

/* ---- public ---- */

ttape_status ttape_graph_make(ttape_graph **out, ttape_reader *reader,
                              const ttape_graph_options *options, ttape_error *err)
{
    ttape_graph_options taken;
    struct ttp_memory memory;
    if (out == NULL)
        return ttp_refuse(err, "no place for an answer");
    *out = NULL;
    if (reader == NULL)
        return ttp_refuse(err, "no reader");
    TTP_TRY(take_options(&taken, options, err));
    /* half of it for the functions, which are an answer of their own */
    ttp_memory_init(&memory, &reader->memory.allocator, taken.memory_bytes / 2);
    struct ttape_graph *graph = ttp_memory_take(&memory, 1, sizeof *graph, err);
    if (graph == NULL)
        return memory.status;
    *graph = (struct ttape_graph){.memory = memory, .reader = reader, .options = taken};
    ttape_status status = make_graph(graph, err);
    graph->options.streams = NULL;
    if (status != TTAPE_OK) {
        ttape_graph_close(graph);
        return status;
    }
    *out = graph;
    return TTAPE_OK;
}

static void close_calls(struct ttape_graph *graph)
{
    struct ttp_memory *memory = &graph->memory;
    ttp_memory_give(memory, graph->stacks, graph->stack_capacity, sizeof *graph->stacks);
    ttp_memory_give(memory, graph->frames, graph->frame_capacity, sizeof *graph->frames);
    ttp_memory_give(memory, graph->touched, graph->touched_capacity, sizeof *graph->touched);
    ttp_memory_give(memory, graph->nodes_now, graph->node_now_capacity, sizeof *graph->nodes_now);
    ttp_memory_give(memory, graph->edges_now, graph->edge_now_capacity, sizeof *graph->edges_now);
    ttp_key_map_close(&graph->node_map, memory);
    ttp_key_map_close(&graph->edge_map, memory);
    ttp_key_map_close(&graph->active_map, memory);
    ttp_key_map_close(&graph->stack_map, memory);
}

void ttape_graph_close(ttape_graph *graph)
{
    if (graph == NULL)
        return;
    struct ttp_memory *memory = &graph->memory;
    uint32_t firsts = graph->info.node_count + 1;
    close_calls(graph);
    ttape_functions_close(graph->functions);
    ttp_memory_give(memory, graph->is_idle, graph->row_count, sizeof *graph->is_idle);
    if (graph->is_below != NULL)
        ttp_memory_give(memory, graph->is_below, graph->row_count, sizeof *graph->is_below);
    ttp_memory_give(memory, graph->plain, graph->row_count, sizeof *graph->plain);
    ttp_memory_give(memory, graph->nodes, graph->node_capacity, sizeof *graph->nodes);
    ttp_memory_give(memory, graph->edges, graph->edge_capacity, sizeof *graph->edges);
    ttp_memory_give(memory, graph->contexts, graph->context_capacity, sizeof *graph->contexts);
    ttp_memory_give(memory, graph->threads, graph->thread_capacity, sizeof *graph->threads);
    ttp_memory_give(memory, graph->shown_threads, graph->thread_capacity,
                    sizeof *graph->shown_threads);
    for (int i = 0; i < 2; i++) {
        ttp_memory_give(memory, graph->edge_order[i], graph->order_count, sizeof(uint32_t));
        ttp_memory_give(memory, graph->edge_first[i], firsts, sizeof(uint32_t));
    }
    struct ttp_memory own = *memory;
    ttp_memory_give(&own, graph, 1, sizeof *graph);
}

void ttape_graph_get_info(const ttape_graph *graph, ttape_graph_info *info) { *info = graph->info; }

const ttape_graph_node *ttape_graph_get_nodes(const ttape_graph *graph, uint32_t *count)
{
    *count = graph != NULL ? graph->info.node_count : 0;
    return graph != NULL ? graph->nodes : NULL;
}

const ttape_graph_edge *ttape_graph_get_edges(const ttape_graph *graph, uint32_t *count)
{
    *count = graph != NULL ? graph->info.edge_count : 0;
    return graph != NULL ? graph->edges : NULL;
}

const ttape_graph_thread *ttape_graph_get_threads(const ttape_graph *graph, uint32_t *count)
{
    *count = graph != NULL ? graph->info.thread_count : 0;
    return graph != NULL ? graph->shown_threads : NULL;
}

const ttape_graph_context *ttape_graph_get_contexts(const ttape_graph *graph, uint32_t *count)
{
    *count = graph != NULL ? graph->info.context_count : 0;
    return graph != NULL ? graph->contexts : NULL;
}

static const uint32_t *get_edges_of(const ttape_graph *graph, int side, uint32_t node,
                                    uint32_t *count)
{
    *count = 0;
    if (graph == NULL || node >= graph->info.node_count)
        return NULL;
    const uint32_t *first = graph->edge_first[side];
    *count = first[node + 1] - first[node];
    return &graph->edge_order[side][first[node]];
}

const uint32_t *ttape_graph_get_callers(const ttape_graph *graph, uint32_t node, uint32_t *count)
{
    return get_edges_of(graph, 0, node, count);
}

const uint32_t *ttape_graph_get_callees(const ttape_graph *graph, uint32_t node, uint32_t *count)
{
    return get_edges_of(graph, 1, node, count);
}

const ttape_functions *ttape_graph_get_functions(const ttape_graph *graph)
{
    return graph != NULL ? graph->functions : NULL;
}

double ttape_graph_share(const ttape_graph_info *info, int64_t time_ns, uint64_t call_count)
{
    if (info->has_times)
        return info->span_ns > 0 ? (double)time_ns / (double)info->span_ns : 0;
    return info->call_count > 0 ? (double)call_count / (double)info->call_count : 0;
}
