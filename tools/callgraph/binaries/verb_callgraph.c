/* tracetape callgraph: who can call whom, by what is in the files of a program. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/callgraph/binaries/callgraph_view.h"
#include "tools/callgraph/edges_seen.h"
#include "tools/command/memory_limit.h"
#include "tools/command/options.h"

#define CONTEXTS_MOST 262144u

enum format { TEXT, JSON, DOT };

struct options {
    struct tool_files traces, ci;
    uint32_t format;
    bool functions, edges, branches, all, json;
    uint64_t memory_bytes;
};

static bool parse_format(const char *text, void *into)
{
    static const char *const words[] = {"text", "json", "dot"};
    for (uint32_t i = 0; i < 3; i++)
        if (strcmp(text, words[i]) == 0) {
            *(uint32_t *)into = i;
            return true;
        }
    return false;
}

static const struct tool_option table[] = {
    {"graph", 0, "FILE", "add the calls that this trace of the build shows; may be repeated",
     tool_parse_file, TOOL_AT(traces)},
    {"ci", 0, "PATH", "files of gcc -fcallgraph-info, or a folder; may be repeated",
     tool_parse_file, TOOL_AT(ci)},
    {"functions", 0, NULL, "list functions", NULL, TOOL_AT(functions)},
    {"edges", 0, NULL, "list who calls whom, and how", NULL, TOOL_AT(edges)},
    {"branches", 0, NULL, "with --json: each function's branches, jumps and returns", NULL,
     TOOL_AT(branches)},
    {"all", 'a', NULL, "list all of these", NULL, TOOL_AT(all)},
    {"format", 0, "HOW", "text (default), json or dot", parse_format, TOOL_AT(format)},
    {"json", 0, NULL, "the same as --format json", NULL, TOOL_AT(json)},
    TOOL_MEMORY_OPTION,
    {0}};

static const struct tool_command command = {
    .verb = "callgraph",
    .usage = "[OPTION]... BINARY...",
    .about =
        "Says who can call whom in a program and its libraries, as their hooks would tell it:\n"
        "read from the instructions of the files, which need no debug information.",
    .options = table,
    .examples = "  tracetape callgraph ./program\n"
                "  tracetape callgraph ./program --format dot > calls.dot\n"
                "  tracetape callgraph ./program --graph run.ttape --edges\n",
    .operands_min = 1,
    .operands_max = 1000,
};

static int worse(int one, int other) { return one > other ? one : other; }

static int read_ci(struct tool_binary_graph *binaries, const struct options *options, char **paths,
                   int count)
{
    int status = TOOL_OK;
    for (size_t i = 0; i < options->ci.count && status != TOOL_CANNOT; i++)
        status = worse(status, tool_binaries_ci(binaries, options->ci.paths[i]));
    for (int i = 0; i < count && status != TOOL_CANNOT; i++)
        status = worse(status, tool_binaries_ci_beside(binaries, paths[i]));
    return status;
}

static int read_all(struct tool_callgraph *graph, const struct options *options, char **paths,
                    int count)
{
    int status = TOOL_OK;
    for (size_t i = 0; i < options->traces.count && status != TOOL_CANNOT; i++) {
        const struct tool_edges_seen seen = {.path = options->traces.paths[i],
                                             .memory_bytes = options->memory_bytes};
        int one = tool_edges_see(&graph->edges, &seen);
        status = one > status ? one : status;
    }
    tool_edges_weigh(&graph->edges);
    for (int i = 0; i < count && status != TOOL_CANNOT; i++) {
        const char *reason = tool_binary_graph_add(&graph->binaries, paths[i]);
        if (reason != NULL)
            status = tool_fail("'%s': %s", paths[i], reason);
    }
    if (status != TOOL_CANNOT)
        status = worse(status, read_ci(&graph->binaries, options, paths, count));
    if (status == TOOL_CANNOT)
        return status;
    status = worse(status, tool_binaries_join(&graph->binaries));
    tool_callgraph_find_recursion(graph);
    return status;
}

static int show_graph(struct tool_callgraph *graph, uint32_t format)
{
    struct tool_output out;
    tool_output_open(&out, STDOUT_FILENO);
    if (format == JSON)
        tool_callgraph_json(graph, &out);
    else if (format == DOT)
        tool_callgraph_dot(graph, &out);
    else
        tool_callgraph_text(graph, &out);
    return tool_output_close(&out);
}

static int run_verb(struct options *options, int argc, char **argv)
{
    int count, status;
    if (tool_options_parse(&command, argc, argv, options, &count, &status) != TOOL_PARSED_GO)
        return status;
    struct tool_callgraph graph = {.with_functions = options->functions || options->all,
                                   .with_edges = options->edges || options->all,
                                   .with_branches = options->branches || options->all,
                                   .has_seen = options->traces.count != 0};
    if (!tool_decode_is_there())
        return tool_fail("built without Zydis: code cannot be read");
    tool_edges_begin(&graph.edges, CONTEXTS_MOST);
    tool_binaries_begin(&graph.binaries, &graph.edges, TTAPE_CONTEXT_IDS_STABLE, NULL);
    status = read_all(&graph, options, argv, count);
    if (status != TOOL_CANNOT) {
        int shown = show_graph(&graph, options->json ? JSON : options->format);
        status = shown > status ? shown : status;
    }
    free(graph.recursive);
    tool_binary_graph_close(&graph.binaries);
    tool_edges_close(&graph.edges);
    return status;
}

int tool_verb_callgraph(int argc, char **argv)
{
    struct options options = {0};
    int status = run_verb(&options, argc, argv);
    free(options.traces.paths);
    free(options.ci.paths);
    return status;
}
