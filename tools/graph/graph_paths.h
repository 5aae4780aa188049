/* Every path that leads to a function: the calls below it on its stack, from the outermost on.
 *
 *   ttape_reach_find -> paths, with counts of those that end in the function
 *                    -> which are shown (graph_paths.c) -> graph_reach.c prints them */
#ifndef TOOL_GRAPH_PATHS_H
#define TOOL_GRAPH_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/reach.h>

#include "tools/calls/site_name.h"
#include "tools/calls/stream_choice.h"
#include "tools/command/output.h"
#include "tools/graph/graph_model.h"
#include "tools/io/input.h"
#include "tools/io/json.h"

struct tool_paths {
    const struct tool_input *input;
    struct tool_site_names names;
    const char *name; /* of what is reached */
    bool *is_reached; /* by site; NULL: all */
    uint64_t error_count;
    int status; /* damage that was met is a loss */
    ttape_reach *reach;
    const ttape_reach_path *paths; /* reach's */
    uint32_t count;
    bool has_times;
    uint32_t *order; /* those to be shown, heaviest first */
    size_t shown_count;
    uint64_t pruned_count, pruned_calls;
    uint64_t call_count; /* of the run, of whatever function */
    int64_t span_ns;
};

/* Reads the selection; NULL: paths to all functions. Returns a tool_exit; TOOL_CANNOT: there is no
 * such function. */
int tool_paths_make(struct tool_paths *paths, const struct tool_input *input,
                    const struct tool_selection *selection, const char *name, ttape_functions_by by,
                    enum tool_name_style style);
void tool_paths_close(struct tool_paths *paths);
/* Decides which are shown. */
void tool_paths_order(struct tool_paths *paths, const struct tool_graph_limits *limits);
/* That with most own time, where there are no times with most calls; TTAPE_NONE: there is none. */
uint32_t tool_paths_hottest(const struct tool_paths *paths);
double tool_paths_share(const struct tool_paths *paths, int64_t time_ns, uint64_t calls);

/* ---- graph_reach.c ---- */

void tool_reach_text(struct tool_paths *paths, struct tool_output *out);
void tool_reach_json(struct tool_paths *paths, struct tool_output *out);
/* One row, or an object, for the summary. */
void tool_reach_hottest(struct tool_paths *paths, struct tool_output *out);
void tool_reach_hottest_json(struct tool_paths *paths, struct tool_json *json);
/* Their tree, as Graphviz draws it. */
void tool_reach_dot(struct tool_paths *paths, struct tool_output *out);

#endif
