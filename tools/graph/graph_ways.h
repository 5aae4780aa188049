/* How the calls of a graph were made: named by an instruction, inlined, through a pointer. */
#ifndef TOOL_GRAPH_WAYS_H
#define TOOL_GRAPH_WAYS_H

#include "program/callgraph/call_ways.h"
#include "tools/graph/graph_model.h"

struct tool_graph_ways {
    uint8_t *of_edge;               /* tool_call_way */
    uint64_t calls[TOOL_WAY_COUNT]; /* the graph's direct ones */
    uint32_t missing;           /* modules whose file of that build is not there, or too large */
    ttape_string first_missing; /* its path */
};

void tool_graph_ways_open(struct tool_graph_ways *found, const struct tool_graph *graph,
                          uint64_t memory_bytes);
void tool_graph_ways_close(struct tool_graph_ways *found);

#endif
