/* Edges between hooked functions: from what each of them does, through functions without hooks,
 * to the next hooked ones. */
#include <stdlib.h>
#include <string.h>

#include "program/callgraph/binary_graph.h"
#include "program/symbols/symbols.h"

#define STEPS_MOST 100000000u /* some seconds */

/* What is numbered has a first one, for what has no place where memory is short. */
bool tool_binary_graph_open(struct tool_binary_graph *graph, struct tool_edges *edges,
                            ttape_context_ids ids)
{
    struct ttp_region *region = &edges->region;
    *graph = (struct tool_binary_graph){.edges = edges, .ids = ids, .steps_left = STEPS_MOST};
    if (!ttp_region_grow(region, &graph->hooked, &graph->hooked_capacity, 1,
                         sizeof *graph->hooked) ||
        !ttp_region_grow(region, &graph->relations, &graph->relation_capacity, 1,
                         sizeof *graph->relations) ||
        !ttp_region_grow(region, &graph->names, &graph->name_capacity, 1, sizeof *graph->names))
        return false;
    graph->hooked[0] = (struct tool_hooked){0};
    graph->relations[0] = (struct tool_relation){0};
    graph->names[graph->name_count++] = "";
    return true;
}

void tool_binary_graph_use_debug(struct tool_binary_graph *graph)
{
    static const struct tool_symbols_options options = {.no_demangle = true};
    graph->symbols = tool_symbols_open(&options);
    graph->edges->region.is_short |= graph->symbols == NULL;
}

void tool_binary_graph_close(struct tool_binary_graph *graph)
{
    for (size_t i = 0; i < graph->module_count; i++) {
        tool_code_close(&graph->modules[i]->code);
        free(graph->modules[i]->bytes);
    }
    if (graph->symbols != NULL)
        tool_symbols_close(graph->symbols);
    *graph = (struct tool_binary_graph){0};
}

/* Machine functions that may run next, and the hooked ones that they lead to. */
struct reach {
    struct tool_binary_graph *graph;
    uint32_t *queue; /* machine functions */
    size_t queue_count, queue_capacity;
    uint32_t *hooked; /* numbers of edges' functions */
    size_t hooked_count, hooked_capacity;
    bool makes_pointer_calls;
};

static void put_hooked(struct reach *reach, uint32_t function)
{
    uint32_t *put = ttp_region_add(&reach->graph->edges->region, &reach->hooked,
                                   &reach->hooked_count, &reach->hooked_capacity, sizeof *put);
    if (put != NULL)
        *put = function;
}

static void meet(struct reach *reach, uint32_t machine)
{
    if (reach->graph->machines[machine].stamp == reach->graph->stamp)
        return;
    reach->graph->machines[machine].stamp = reach->graph->stamp;
    uint32_t *put = ttp_region_add(&reach->graph->edges->region, &reach->queue, &reach->queue_count,
                                   &reach->queue_capacity, sizeof *put);
    if (put != NULL)
        *put = machine;
}

uint32_t tool_binary_exported(struct tool_binary_graph *graph, ttape_string symbol)
{
    uint64_t hash = tool_binary_name_hash(graph, symbol.data, symbol.size_bytes);
    uint32_t found = ttp_key_map_find(&graph->exported, hash, 0);
    return found != 0 ? found - 1 : TTAPE_NONE;
}

uint64_t tool_binary_outside_id(struct tool_binary_graph *graph, ttape_string symbol)
{
    return ttape_context_id(ttape_context_seed("name:", 5),
                            tool_binary_name_hash(graph, symbol.data, symbol.size_bytes));
}

uint32_t tool_binary_named(struct tool_binary_graph *graph, uint32_t name)
{
    const char *symbol = graph->names[name];
    return tool_binary_exported(graph, (ttape_string){symbol, strlen(symbol)});
}

/* Names of the C library that call what they were given before, or what is in a table. */
static bool calls_back(const char *name)
{
    static const char *const names[] = {"qsort",   "qsort_r", "bsearch", "lfind",       "lsearch",
                                        "tsearch", "twalk",   "tdelete", "ftw",         "nftw",
                                        "scandir", "glob",    "exit",    "pthread_once"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

uint32_t tool_binary_function_of(struct tool_binary_graph *graph, uint32_t machine)
{
    for (uint32_t i = 0; i < graph->module_count; i++) {
        const struct tool_binary_module *module = graph->modules[i];
        uint32_t number = machine - module->first_machine;
        if (machine >= module->first_machine && number < module->code.function_count)
            return tool_binary_hooked(graph, i, module->code.functions[number].start)->function;
    }
    return TOOL_EDGES_OUTSIDE;
}

/* What a machine function does before a hook has told of any: goes on, or ends at hooked ones. */
static void step_machine(struct reach *reach, uint32_t machine)
{
    struct tool_binary_graph *graph = reach->graph;
    if (graph->machines[machine].is_seen) {
        put_hooked(reach, tool_binary_function_of(graph, machine));
        return;
    }
    for (uint32_t i = graph->machines[machine].first_relation; i != 0;
         i = graph->relations[i - 1].next) {
        const struct tool_relation *relation = &graph->relations[i - 1];
        uint32_t other = relation->kind == TOOL_RELATION_UNKNOWN
                             ? tool_binary_named(graph, relation->to)
                             : relation->to;
        graph->steps_left -= graph->steps_left > 0;
        if (relation->kind == TOOL_RELATION_ENTERS)
            put_hooked(reach, graph->hooked[relation->to].function);
        else if (relation->kind == TOOL_RELATION_POINTER ||
                 (other == TTAPE_NONE && calls_back(graph->names[relation->to])))
            reach->makes_pointer_calls = true;
        else if (other != TTAPE_NONE)
            meet(reach, other);
    }
}

static void begin_search(struct reach *reach)
{
    reach->graph->stamp++;
    reach->queue_count = reach->hooked_count = 0;
    reach->makes_pointer_calls = false;
}

static void go_on(struct reach *reach)
{
    for (size_t i = 0; i < reach->queue_count && reach->graph->steps_left > 0; i++)
        step_machine(reach, reach->queue[i]);
}

struct joining {
    struct tool_binary_graph *graph;
    struct reach reach, taken;
};

/* All that `from` reaches now. */
static void add_edges(struct joining *joining, uint32_t from, uint32_t kinds)
{
    struct tool_edges *edges = joining->graph->edges;
    for (size_t i = 0; i < joining->reach.hooked_count; i++)
        tool_edges_edge(edges, from, joining->reach.hooked[i])->kinds |= kinds;
    if (joining->reach.makes_pointer_calls)
        edges->functions[from].makes_pointer_calls = true;
}

static void call_outside(struct reach *reach, const char *name)
{
    struct tool_binary_graph *graph = reach->graph;
    reach->makes_pointer_calls = calls_back(name);
    if (graph->names_pointers) {
        uint64_t id = tool_binary_outside_id(graph, (ttape_string){name, strlen(name)});
        put_hooked(reach, tool_edges_function(graph->edges, id));
    }
}

static void join_relation(struct joining *joining, uint32_t from,
                          const struct tool_relation *relation)
{
    struct tool_binary_graph *graph = joining->graph;
    struct reach *reach = &joining->reach;
    uint32_t to = relation->to;
    begin_search(reach);
    if (relation->kind == TOOL_RELATION_ENTERS)
        put_hooked(reach, graph->hooked[relation->to].function);
    else if (relation->kind == TOOL_RELATION_POINTER)
        reach->makes_pointer_calls = true;
    else if (relation->kind == TOOL_RELATION_UNKNOWN &&
             (to = tool_binary_named(graph, to)) == TTAPE_NONE)
        call_outside(reach, graph->names[relation->to]);
    else
        meet(reach, to);
    go_on(reach);
    add_edges(joining, from, relation->edge_kinds);
}

/* What pointers may lead to: from each function that calls through one, and from outside. */
static void join_pointers(struct joining *joining)
{
    struct tool_binary_graph *graph = joining->graph;
    struct tool_edges *edges = graph->edges;
    const struct reach *taken = &joining->taken;
    for (size_t i = 0; i < taken->hooked_count; i++) {
        edges->functions[taken->hooked[i]].is_taken = true;
        if (!graph->names_pointers)
            tool_edges_edge(edges, TOOL_EDGES_OUTSIDE, taken->hooked[i])->kinds |=
                TOOL_EDGE_POINTER;
    }
    if (graph->names_pointers)
        return;
    for (uint32_t from = 1; from < edges->function_count; from++)
        for (size_t i = 0; edges->functions[from].makes_pointer_calls && i < taken->hooked_count;
             i++) {
            graph->steps_left -= graph->steps_left > 0;
            if (graph->steps_left == 0)
                return;
            tool_edges_edge(edges, from, taken->hooked[i])->kinds |= TOOL_EDGE_POINTER;
        }
}

/* Who begins: at the program's entry, and what other modules may call. */
static void join_entries(struct joining *joining)
{
    struct tool_binary_graph *graph = joining->graph;
    for (uint32_t i = 0; i < graph->module_count; i++) {
        const struct tool_binary_module *module = graph->modules[i];
        uint32_t machine =
            module->is_open ? tool_binary_machine_at(graph, i, module->image.entry) : TTAPE_NONE;
        begin_search(&joining->reach);
        if (machine != TTAPE_NONE)
            meet(&joining->reach, machine);
        go_on(&joining->reach);
        add_edges(joining, TOOL_EDGES_OUTSIDE, TOOL_EDGE_DIRECT);
    }
}

static void join_machines(struct joining *joining)
{
    struct tool_binary_graph *graph = joining->graph;
    for (uint32_t i = 0; i < graph->machine_count; i++) {
        if (!graph->machines[i].is_seen)
            continue;
        uint32_t from = tool_binary_function_of(graph, i);
        for (uint32_t r = graph->machines[i].first_relation; r != 0;
             r = graph->relations[r - 1].next)
            join_relation(joining, from, &graph->relations[r - 1]);
    }
}

static void see_machines(struct tool_binary_graph *graph)
{
    for (size_t i = 0; i < graph->module_count; i++) {
        const struct tool_binary_module *module = graph->modules[i];
        bool is_seen = graph->all_functions || (graph->sees_bare && !module->has_hooks);
        for (size_t k = 0; is_seen && k < module->code.function_count; k++)
            graph->machines[module->first_machine + k].is_seen = true;
    }
}

bool tool_binary_graph_join(struct tool_binary_graph *graph)
{
    struct joining joining = {.graph = graph, .reach = {.graph = graph}, .taken = {.graph = graph}};
    if (graph->edges->region.is_short) /* what was added may have no machines */
        return false;
    graph->all_functions = true;
    for (size_t i = 0; i < graph->module_count; i++)
        graph->all_functions &= !graph->modules[i]->has_hooks;
    see_machines(graph);
    begin_search(&joining.taken);
    for (uint32_t i = 0; i < graph->machine_count; i++)
        if (graph->machines[i].is_taken)
            meet(&joining.taken, i);
    go_on(&joining.taken);
    for (size_t i = 0; i < graph->hooked_count && graph->steps_left > 0; i++)
        for (uint32_t r = graph->hooked[i].first_relation; r != 0; r = graph->relations[r - 1].next)
            join_relation(&joining, graph->hooked[i].function, &graph->relations[r - 1]);
    join_machines(&joining);
    join_entries(&joining);
    join_pointers(&joining);
    struct ttp_region *region = &graph->edges->region;
    ttp_region_give(region, joining.reach.queue);
    ttp_region_give(region, joining.reach.hooked);
    ttp_region_give(region, joining.taken.queue);
    ttp_region_give(region, joining.taken.hooked);
    return graph->steps_left > 0;
}
