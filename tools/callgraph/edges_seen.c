/* What a trace shows: a look into a table for each call. */
#include "tools/callgraph/edges_seen.h"

#include <stdlib.h>
#include <string.h>

#include "tools/callgraph/calls_walk.h"
#include "tools/callgraph/graph_functions.h"
#include "tools/calls/losses.h"
#include "tools/command/memory_limit.h"
#include "tools/command/tool.h"
#include "tools/kernel/system_module.h"

/* In the words of a call that are ours. */
enum { CONTEXT, FUNCTION };

struct seeing {
    struct tool_edges *edges;
    const struct tool_edges_seen *seen;
    const ttape_reader *reader;
    struct tool_site_names names;
    uint32_t *functions; /* by site, plus 1; 0: not asked yet, TTAPE_NONE: no function */
    uint32_t site_count;
};

/* Where functions were patched, the trace says which. */
static bool has_patched(const ttape_reader *reader)
{
    ttape_metadata_entry entry;
    for (uint32_t i = 0; ttape_reader_get_metadata(reader, i, &entry) == TTAPE_OK; i++)
        if (tool_text_is(entry.key, "patch_filter"))
            return true;
    return false;
}

bool tool_is_library_call(const ttape_reader *reader, const ttape_module *module)
{
    return module->path.size_bytes != 0 && tool_is_system_module(module->path) &&
           !has_patched(reader);
}

static uint32_t add_function(struct seeing *seeing, uint32_t site)
{
    ttape_site found;
    ttape_module module = {0};
    if (ttape_reader_get_site(seeing->reader, site, &found) != TTAPE_OK ||
        found.kind != TTAPE_SITE_FUNCTION)
        return TTAPE_NONE;
    bool has_module = ttape_reader_get_module(seeing->reader, found.module, &module) == TTAPE_OK;
    if (tool_is_library_call(seeing->reader, &module))
        return TTAPE_NONE;
    uint64_t seed = has_module ? tool_module_seed(&module) : 0;
    uint32_t number = tool_edges_function(
        seeing->edges, ttape_context_id(seed, found.address - (has_module ? module.start : 0)));
    struct tool_edge_function *function = &seeing->edges->functions[number];
    if (function->name == NULL) {
        const char *name = tool_site_name(&seeing->names, site);
        function->name = ttp_region_copy(&seeing->edges->region, name, strlen(name));
    }
    if (seeing->seen->ids == TTAPE_CONTEXT_IDS_ADDRESS)
        function->id = tool_module_map_address(seeing->seen->map, &module, found.address);
    return number + 1;
}

/* TTAPE_NONE: no function. */
static uint32_t function_of(struct seeing *seeing, uint32_t site)
{
    if (site >= seeing->site_count)
        return TTAPE_NONE;
    if (seeing->functions[site] == 0)
        seeing->functions[site] = add_function(seeing, site);
    return seeing->functions[site] == TTAPE_NONE ? TTAPE_NONE : seeing->functions[site] - 1;
}

static void enter_call(void *context, ttape_call *call)
{
    struct seeing *seeing = context;
    const ttape_call *around = tool_call_around(call);
    uint32_t in = around != NULL ? (uint32_t)around->user[CONTEXT] : 0;
    uint32_t from = around != NULL ? (uint32_t)around->user[FUNCTION] : TOOL_EDGES_OUTSIDE;
    uint32_t to = function_of(seeing, call->site);
    call->user[CONTEXT] = in;
    call->user[FUNCTION] = from;
    if (to == TTAPE_NONE)
        return;
    uint32_t found = in == TTAPE_NONE ? in : tool_edges_context(seeing->edges, in, to);
    if (found != TTAPE_NONE)
        seeing->edges->contexts[found].entered += tool_call_counts(call);
    else
        tool_edges_edge(seeing->edges, from, to)->kinds |= TOOL_EDGE_SEEN;
    call->user[CONTEXT] = found;
    call->user[FUNCTION] = to;
}

static int see(void *context, const struct tool_input *input)
{
    struct seeing *seeing = context;
    ttape_info info;
    ttape_reader_get_info(input->reader, &info);
    seeing->reader = input->reader;
    tool_losses_warn(input);
    seeing->site_count = info.site_count;
    seeing->functions = tool_allocate((size_t)info.site_count + 1, sizeof *seeing->functions);
    tool_site_names_open_as(&seeing->names, input->reader, seeing->seen->names);
    int status = tool_calls_walk(input, enter_call, seeing);
    tool_site_names_close(&seeing->names);
    free(seeing->functions);
    return status;
}

int tool_edges_see(struct tool_edges *edges, const struct tool_edges_seen *seen)
{
    struct seeing seeing = {.edges = edges, .seen = seen};
    int status = tool_input_run(seen->path, 1, seen->memory_bytes, see, &seeing);
    tool_edges_check(edges);
    return status;
}

/* ---- as the command uses them ---- */

void tool_edges_check(const struct tool_edges *edges)
{
    uint64_t left = tool_memory_left();
    if (edges->region.is_short && left == UINT64_MAX)
        tool_out_of_memory();
    if (edges->region.is_short)
        tool_memory_over(left + 1);
}

void tool_edges_begin(struct tool_edges *edges, size_t contexts_most)
{
    (void)tool_edges_open(edges, contexts_most, tool_memory_left());
    tool_edges_check(edges);
}

static void say_trouble(const struct tool_binary_trouble *trouble)
{
    switch (trouble->problem) {
    case TOOL_BINARY_NOT_OPENED:
        tool_message("cannot open '%s': %s", trouble->path, strerror(trouble->os_errno));
        return;
    case TOOL_BINARY_NOT_READ:
        tool_message("cannot read '%s': %s", trouble->path, strerror(trouble->os_errno));
        return;
    case TOOL_BINARY_NO_FILE_OF_CALLS:
        tool_message("'%s': it is no file of calls", trouble->path);
        return;
    case TOOL_BINARY_NO_GRAPH:
        tool_message("'%s': line %zu is no graph of calls (gcc -fcallgraph-info): the rest is left "
                     "out",
                     trouble->path, trouble->line);
        return;
    case TOOL_BINARY_NOT_MAPPED:
        tool_message("'%s': where a process had it is not known (--map)", trouble->path);
        return;
    }
}

static bool find_start(const void *context, ttape_string path, ttape_string build_id,
                       uint64_t *start)
{
    return tool_module_map_find(context, path, build_id, start);
}

void tool_binaries_begin(struct tool_binary_graph *binaries, struct tool_edges *edges,
                         ttape_context_ids ids, const struct tool_module_map *map)
{
    if (tool_binary_graph_open(binaries, edges, ids))
        tool_binary_graph_use_debug(binaries);
    tool_edges_check(edges);
    binaries->tell = say_trouble;
    binaries->find_context = map;
    binaries->find_start = map != NULL ? find_start : NULL;
}

static int exit_of(const struct tool_binary_graph *binaries, enum tool_binary_result result)
{
    tool_edges_check(binaries->edges);
    return result == TOOL_BINARY_FINE   ? TOOL_OK
           : result == TOOL_BINARY_LOSS ? TOOL_LOSS
                                        : TOOL_CANNOT;
}

int tool_binaries_ci(struct tool_binary_graph *binaries, const char *path)
{
    return exit_of(binaries, tool_binary_graph_add_ci(binaries, path));
}

int tool_binaries_ci_beside(struct tool_binary_graph *binaries, const char *path)
{
    return exit_of(binaries, tool_binary_graph_add_ci_beside(binaries, path));
}

int tool_binaries_join(struct tool_binary_graph *binaries)
{
    bool is_whole = tool_binary_graph_join(binaries);
    tool_edges_check(binaries->edges);
    if (!is_whole)
        tool_message("there are too many calls through pointers: some are left out");
    return is_whole ? TOOL_OK : TOOL_LOSS;
}
