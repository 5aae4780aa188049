/* What traces add to the edges of a program; and how the command uses those. */
#ifndef TOOL_EDGES_SEEN_H
#define TOOL_EDGES_SEEN_H

#include "program/callgraph/binary_graph.h"
#include "tools/callgraph/module_map.h"
#include "tools/calls/site_name.h"

/* Adds what a trace shows. Returns a tool_exit. */
struct tool_edges_seen {
    const char *path;
    ttape_context_ids ids;
    const struct tool_module_map
        *map; /* of the process whose ids are addresses; NULL: the trace's */
    enum tool_name_style names;
    uint64_t memory_bytes;
};
int tool_edges_see(struct tool_edges *edges, const struct tool_edges_seen *seen);

/* As tool_edges_open and tool_binary_graph_open, within what the command may take; without memory
 * it ends. map: as above. */
void tool_edges_begin(struct tool_edges *edges, size_t contexts_most);
void tool_binaries_begin(struct tool_binary_graph *binaries, struct tool_edges *edges,
                         ttape_context_ids ids, const struct tool_module_map *map);
/* Ends the command where memory was short for them. */
void tool_edges_check(const struct tool_edges *edges);
/* Both add what is told of one file, or of many. Return a tool_exit; what failed has been said. */
int tool_binaries_ci(struct tool_binary_graph *binaries, const char *path);
int tool_binaries_ci_beside(struct tool_binary_graph *binaries, const char *path);
/* Joins them, and says where it is too much. Returns a tool_exit. */
int tool_binaries_join(struct tool_binary_graph *binaries);

/* Whether it is a library of a program with hooks: calls of its functions are in no context
 * value. */
bool tool_is_library_call(const ttape_reader *reader, const ttape_module *module);

#endif
