/* A search in a graph: what it finds is likely, never certain. */
#include <stdlib.h>
#include <string.h>

#include "program/callgraph/binary_strings.h"
#include "program/context/context_search.h"
#include "tools/callgraph/edges_seen.h"
#include "tools/command/memory_limit.h"
#include "tools/context/context_view.h"

#define MEMORY_USUAL  (UINT64_C(256) << 20)
#define CONTEXT_SHARE 512u /* bytes of memory for each context that is kept */
#define PREFIX_SHARE  256u
#define NODE_SHARE    512u
#define DEEP_EIGHTHS  5u /* of memory, for the large table */

struct looking {
    struct tool_context_wanted *wanted;
    const struct tool_edges *edges;
    bool is_xor;
    uint64_t *ids;
    size_t capacity;
};

/* Functions whose addresses were given to code that is in no file: that was between, unseen. */
static uint32_t find_reentry(const struct tool_edges *edges, const struct tool_search_found *stack)
{
    for (uint32_t i = 1; i < stack->depth; i++) {
        const struct tool_edge *edge =
            tool_edges_find(edges, stack->functions[i - 1], stack->functions[i]);
        uint32_t kinds = edge != NULL ? edge->kinds : 0;
        if ((kinds & TOOL_EDGE_OUTSIDE) != 0 && (kinds & TOOL_EDGE_SURE) == 0)
            return i;
    }
    return 0;
}

static void take_stack(void *context, const struct tool_search_found *stack)
{
    struct looking *looking = context;
    const struct tool_edge_function *functions = looking->edges->functions;
    tool_grow((void **)&looking->ids, &looking->capacity, stack->depth, sizeof *looking->ids);
    for (uint32_t i = 0; i < stack->depth; i++)
        looking->ids[i] = functions[stack->functions[i]].id;
    bool is_any_times = looking->is_xor && looking->wanted->depth == TOOL_CONTEXT_ANY_DEPTH;
    struct tool_context_answer *answer =
        is_any_times ? tool_context_answer_any_times(looking->wanted, looking->ids, stack->depth)
                     : tool_context_answer(looking->wanted, looking->ids, stack->depth);
    if (answer == NULL || answer->is_searched)
        return;
    answer->is_searched = true;
    answer->may_leave =
        stack->depth != 0 && functions[stack->functions[stack->depth - 1]].makes_pointer_calls;
    answer->reentry = find_reentry(looking->edges, stack);
    answer->is_xor = looking->is_xor;
    if (answer->cost == 0 || stack->cost < answer->cost) {
        answer->news = stack->news;
        answer->unknown = stack->unknown;
        answer->cost = stack->cost;
    }
    for (uint32_t i = 0; i < stack->depth; i++) {
        const char *name = functions[stack->functions[i]].name;
        answer->names[i] = name != NULL ? tool_copy_text(name, strlen(name)) : NULL;
    }
}

static int compare_costs(const void *a, const void *b)
{
    const struct tool_context_answer *one = a, *other = b;
    return one->cost < other->cost ? -1 : one->cost > other->cost;
}

static size_t share_memory(uint64_t memory, uint64_t bytes_each)
{
    uint64_t count = memory / bytes_each;
    return count < INT32_MAX ? (size_t)count : INT32_MAX;
}

/* Which functions may be the innermost one, by the text; NULL: any. To be freed. */
static bool *ends_by(struct tool_printers *printers, const char *text)
{
    if (text == NULL || printers == NULL)
        return NULL;
    tool_printers_look(printers, text, strlen(text));
    bool *ends = tool_printers_ends(printers);
    if (ends == NULL)
        tool_message("no function of these binaries has to do with a string of the text");
    return ends;
}

static void search_all(struct tool_contexts *contexts, const struct tool_edges *edges,
                       const struct tool_context_graph *graph)
{
    bool *ends = ends_by(contexts->printers, graph->text);
    uint64_t memory = graph->how.memory_bytes != 0 ? graph->how.memory_bytes : MEMORY_USUAL;
    const struct tool_search_options options = {.operation = graph->how.operation,
                                                .news_most = graph->news_most,
                                                .ends = ends,
                                                .prefixes_most = share_memory(memory, PREFIX_SHARE),
                                                .nodes_most = share_memory(memory, NODE_SHARE),
                                                .deep_bytes = (size_t)(memory / 8) * DEEP_EIGHTHS,
                                                .memory_bytes = tool_memory_left()};
    struct tool_search search;
    struct looking looking = {.edges = edges, .is_xor = graph->how.operation == TTAPE_CONTEXT_XOR};
    if (!tool_search_open(&search, edges, &options))
        tool_memory_short();
    for (size_t i = 0; i < contexts->count; i++) {
        looking.wanted = &contexts->wanted[i];
        if (looking.wanted->answer_count != 0)
            continue;
        (void)tool_search_run(&search, looking.wanted->value, looking.wanted->depth, take_stack,
                              &looking);
        if (search.region.is_short)
            tool_memory_short();
        looking.wanted->looked = search.looked;
        if (looking.wanted->answer_count > 1)
            qsort(looking.wanted->answers, looking.wanted->answer_count,
                  sizeof *looking.wanted->answers, compare_costs);
    }
    tool_search_close(&search);
    free(looking.ids);
    free(ends);
}

static int worse(int one, int other) { return one > other ? one : other; }

static void open_printers(struct tool_printers *printers, struct tool_binary_graph *binaries)
{
    struct tool_strings *strings = binaries->strings;
    if (!tool_strings_settle(strings, binaries))
        tool_memory_short();
    if (strings->is_cut)
        tool_message("there are too many strings: some are left out");
    tool_printers_open(printers, strings, binaries->edges);
}

static int add_binaries(struct tool_edges *edges, const struct tool_context_graph *graph,
                        struct tool_printers *printers)
{
    struct tool_binary_graph binaries;
    struct tool_strings strings = {.region = ttp_region_of(tool_memory_left())};
    int status = TOOL_OK;
    if (graph->binaries.count == 0)
        return TOOL_OK;
    if (!tool_decode_is_there())
        return tool_fail("built without Zydis: code cannot be read");
    tool_binaries_begin(&binaries, edges, graph->how.ids, graph->how.map);
    binaries.strings = printers != NULL ? &strings : NULL;
    for (size_t i = 0; i < graph->binaries.count && status == TOOL_OK; i++) {
        const char *reason = tool_binary_graph_add_any(&binaries, graph->binaries.paths[i]);
        if (reason != NULL)
            status = tool_fail("'%s': %s", graph->binaries.paths[i], reason);
    }
    for (size_t i = 0; i < graph->binaries.count && status != TOOL_CANNOT; i++)
        status = worse(status, tool_binaries_ci_beside(&binaries, graph->binaries.paths[i]));
    if (status != TOOL_CANNOT)
        status = worse(status, tool_binaries_join(&binaries));
    if (status != TOOL_CANNOT && printers != NULL)
        open_printers(printers, &binaries);
    tool_binary_graph_close(&binaries);
    if (status == TOOL_CANNOT) /* nobody has taken them */
        ttp_region_close(&strings.region);
    return status;
}

int tool_context_search(struct tool_contexts *contexts, const struct tool_context_graph *graph)
{
    uint64_t memory = graph->how.memory_bytes != 0 ? graph->how.memory_bytes : MEMORY_USUAL;
    struct tool_edges edges;
    int status = TOOL_OK;
    tool_edges_begin(&edges, share_memory(memory, CONTEXT_SHARE));
    for (size_t i = 0; i < graph->traces.count && status != TOOL_CANNOT; i++) {
        const struct tool_edges_seen seen = {.path = graph->traces.paths[i],
                                             .ids = graph->how.ids,
                                             .map = graph->how.map,
                                             .names = graph->how.names,
                                             .memory_bytes = graph->how.memory_bytes};
        status = worse(status, tool_edges_see(&edges, &seen));
    }
    if (status != TOOL_CANNOT) {
        tool_edges_weigh(&edges);
        status = worse(status, add_binaries(&edges, graph, contexts->printers));
    }
    if (status != TOOL_CANNOT && contexts->count != 0)
        search_all(contexts, &edges, graph);
    tool_edges_close(&edges);
    return status;
}
