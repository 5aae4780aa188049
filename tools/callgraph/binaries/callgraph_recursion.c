/* Circles of calls: Tarjan's strongly connected components, without recursion of our own. */
#include <stdlib.h>
#include <string.h>

#include "tools/callgraph/binaries/callgraph_view.h"

struct circles {
    const struct tool_edges *edges;
    uint32_t *first, *callees; /* of each function, in a row */
    uint32_t *number, *low, *next;
    uint32_t *open, *path;
    size_t open_count, path_count;
    bool *is_open;
    uint32_t count;
};

static void list_callees(struct circles *circles)
{
    const struct tool_edges *edges = circles->edges;
    size_t count = edges->function_count;
    for (size_t i = 0; i < edges->edge_count; i++)
        circles->first[edges->edges[i].from + 1]++;
    for (size_t i = 0; i < count; i++)
        circles->first[i + 1] += circles->first[i];
    memcpy(circles->next, circles->first, count * sizeof *circles->next);
    for (size_t i = 0; i < edges->edge_count; i++)
        circles->callees[circles->next[edges->edges[i].from]++] = edges->edges[i].to;
    memcpy(circles->next, circles->first, count * sizeof *circles->next);
}

static void begin_function(struct circles *circles, uint32_t function)
{
    circles->number[function] = circles->low[function] = ++circles->count;
    circles->open[circles->open_count++] = function;
    circles->path[circles->path_count++] = function;
    circles->is_open[function] = true;
}

/* All callees of the last one on the path were looked at. */
static void end_circles(struct circles *circles, bool *recursive)
{
    uint32_t function = circles->path[--circles->path_count];
    if (circles->path_count > 0) {
        uint32_t caller = circles->path[circles->path_count - 1];
        if (circles->low[function] < circles->low[caller])
            circles->low[caller] = circles->low[function];
    }
    if (circles->low[function] != circles->number[function])
        return;
    bool is_circle = circles->open[circles->open_count - 1] != function;
    uint32_t one;
    do {
        one = circles->open[--circles->open_count];
        circles->is_open[one] = false;
        recursive[one] |= is_circle;
    } while (one != function);
}

static void follow_function(struct circles *circles, uint32_t function, bool *recursive)
{
    begin_function(circles, function);
    while (circles->path_count > 0) {
        uint32_t at = circles->path[circles->path_count - 1];
        if (circles->next[at] == circles->first[at + 1]) {
            end_circles(circles, recursive);
            continue;
        }
        uint32_t callee = circles->callees[circles->next[at]++];
        if (circles->number[callee] == 0)
            begin_function(circles, callee);
        else if (circles->is_open[callee] && circles->number[callee] < circles->low[at])
            circles->low[at] = circles->number[callee];
    }
}

void tool_callgraph_find_recursion(struct tool_callgraph *graph)
{
    const struct tool_edges *edges = &graph->edges;
    size_t count = edges->function_count;
    uint32_t *all = tool_allocate(7 * (count + 2), sizeof *all);
    struct circles circles = {.edges = edges,
                              .first = all,
                              .number = all + (count + 2),
                              .low = all + 2 * (count + 2),
                              .next = all + 3 * (count + 2),
                              .open = all + 4 * (count + 2),
                              .path = all + 5 * (count + 2),
                              .callees = tool_allocate(edges->edge_count + 1, sizeof *all),
                              .is_open = tool_allocate(count + 1, sizeof(bool))};
    graph->recursive = tool_allocate(count + 1, sizeof *graph->recursive);
    list_callees(&circles);
    for (uint32_t i = 0; i < count; i++)
        if (circles.number[i] == 0)
            follow_function(&circles, i, graph->recursive);
    for (size_t i = 0; i < edges->edge_count; i++)
        if (edges->edges[i].from == edges->edges[i].to)
            graph->recursive[edges->edges[i].from] = true;
    free(circles.callees);
    free(circles.is_open);
    free(all);
}
