/* The graph as lines for people, and as a picture's text. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/callgraph/binaries/callgraph_view.h"

static const char *const kind_words[] = {"seen",    "direct",  "inlined", "linked",  "tail call",
                                         "pointer", "outside", "debug",   "compiler"};
#define KINDS (sizeof kind_words / sizeof kind_words[0])

const char *tool_callgraph_kinds(uint32_t kinds, char text[TOOL_CALLGRAPH_KIND_BYTES])
{
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < KINDS; i++)
        if ((kinds >> i & 1) != 0)
            at += (size_t)snprintf(text + at, TOOL_CALLGRAPH_KIND_BYTES - at, "%s%s",
                                   at > 0 ? ", " : "", kind_words[i]);
    return text;
}

static const char *name_of(const struct tool_edges *edges, uint32_t function)
{
    const char *name = edges->functions[function].name;
    return function == TOOL_EDGES_OUTSIDE ? "(outside)" : name != NULL ? name : "?";
}

/* Functions that are really there: known in a file. */
static size_t count_functions(const struct tool_callgraph *graph, uint32_t module)
{
    size_t count = 0;
    for (size_t i = 1; i < graph->edges.function_count; i++)
        count += graph->edges.functions[i].module == module + 1;
    return count;
}

static void print_modules(struct tool_callgraph *graph, struct tool_output *out)
{
    for (uint32_t i = 0; i < graph->binaries.module_count; i++) {
        const struct tool_binary_module *module = graph->binaries.modules[i];
        tool_output_escaped(out, TTP_ESCAPE_TERMINAL,
                            (ttape_string){module->path, strlen(module->path)});
        if (!module->has_hooks && !graph->binaries.all_functions)
            tool_output_text(out, ": no hooks: its functions are never in a context; it is passed "
                                  "through\n");
        else
            tool_output_printf(out, ": %zu functions, of %zu in the code%s\n",
                               count_functions(graph, i), module->code.function_count,
                               module->has_hooks ? "" : " (no hooks: all of them)");
        if (module->unknown_hooks != 0)
            tool_output_printf(out, "  %" PRIu32 " calls of hooks could not be followed\n",
                               module->unknown_hooks);
    }
}

static void print_summary(struct tool_callgraph *graph, struct tool_output *out)
{
    const struct tool_edges *edges = &graph->edges;
    size_t kinds[KINDS] = {0}, only_pointer = 0, seen = 0, seen_static = 0, seen_sure = 0;
    size_t recursive = 0, taken = 0, only_compiler = 0;
    for (size_t i = 0; i < edges->edge_count; i++) {
        uint32_t kind = edges->edges[i].kinds;
        for (size_t k = 0; k < KINDS; k++)
            kinds[k] += kind >> k & 1;
        only_pointer += (kind & ~(uint32_t)TOOL_EDGE_SEEN) == TOOL_EDGE_POINTER;
        only_compiler += (kind & ~(uint32_t)TOOL_EDGE_SEEN) == TOOL_EDGE_COMPILER;
        seen += (kind & TOOL_EDGE_SEEN) != 0;
        seen_static += (kind & TOOL_EDGE_SEEN) != 0 && kind != TOOL_EDGE_SEEN;
        seen_sure += (kind & TOOL_EDGE_SEEN) != 0 && (kind & TOOL_EDGE_SURE) != 0;
    }
    for (size_t i = 1; i < edges->function_count; i++) {
        recursive += graph->recursive[i];
        taken += edges->functions[i].is_taken;
    }
    tool_output_printf(out,
                       "edges        %zu: direct %zu, inlined %zu, linked %zu, tail calls %zu, "
                       "by a pointer alone %zu, from outside %zu\n",
                       edges->edge_count, kinds[1], kinds[2], kinds[3], kinds[4], only_pointer,
                       kinds[6]);
    if (kinds[7] + kinds[8] > 0)
        tool_output_printf(out,
                           "sources      debug information has %zu edges; compilers' files have "
                           "%zu, %zu that no instruction has\n",
                           kinds[7], kinds[8], only_compiler);
    tool_output_printf(out, "address taken %zu functions; recursion is possible in %zu\n", taken,
                       recursive);
    if (seen > 0)
        tool_output_printf(out,
                           "seen         %zu edges in traces: %zu (%.1f %%) are in the files, "
                           "%zu of them surely\n",
                           seen, seen_static, 100.0 * (double)seen_static / (double)seen,
                           seen_sure);
}

static void print_functions(struct tool_callgraph *graph, struct tool_output *out)
{
    const struct tool_edges *edges = &graph->edges;
    tool_output_text(out, "\nfunctions\n");
    for (uint32_t i = 1; i < edges->function_count; i++) {
        const struct tool_edge_function *function = &edges->functions[i];
        tool_output_printf(
            out, "  %s%s%s%s\n", name_of(edges, i),
            graph->recursive[i] ? ", recursion is possible" : "",
            function->is_taken ? ", its address is taken" : "",
            function->makes_pointer_calls
                ? ", calls through pointers (NO RE-ENTRY where these leave the files)"
                : "");
    }
}

static void print_edges(struct tool_callgraph *graph, struct tool_output *out)
{
    const struct tool_edges *edges = &graph->edges;
    char text[TOOL_CALLGRAPH_KIND_BYTES];
    tool_output_text(out, "\nedges\n");
    for (size_t i = 0; i < edges->edge_count; i++)
        tool_output_printf(out, "  %s > %s: %s\n", name_of(edges, edges->edges[i].from),
                           name_of(edges, edges->edges[i].to),
                           tool_callgraph_kinds(edges->edges[i].kinds, text));
}

void tool_callgraph_text(struct tool_callgraph *graph, struct tool_output *out)
{
    print_modules(graph, out);
    print_summary(graph, out);
    if (graph->with_functions)
        print_functions(graph, out);
    if (graph->with_edges)
        print_edges(graph, out);
}

static void put_quoted(struct tool_output *out, const char *name)
{
    tool_output_text(out, "\"");
    for (; *name != '\0'; name++) {
        if (*name == '"' || *name == '\\')
            tool_output_text(out, "\\");
        tool_output_bytes(out, name, 1);
    }
    tool_output_text(out, "\"");
}

void tool_callgraph_dot(struct tool_callgraph *graph, struct tool_output *out)
{
    const struct tool_edges *edges = &graph->edges;
    tool_output_text(out, "digraph calls {\n");
    for (size_t i = 0; i < edges->edge_count; i++) {
        uint32_t kinds = edges->edges[i].kinds;
        if (edges->edges[i].from == TOOL_EDGES_OUTSIDE && (kinds & TOOL_EDGE_SURE) == 0)
            continue;
        tool_output_text(out, "  ");
        put_quoted(out, name_of(edges, edges->edges[i].from));
        tool_output_text(out, " -> ");
        put_quoted(out, name_of(edges, edges->edges[i].to));
        tool_output_text(out, (kinds & TOOL_EDGE_SURE) != 0   ? ";\n"
                              : (kinds & TOOL_EDGE_SEEN) != 0 ? " [style=bold];\n"
                                                              : " [style=dotted];\n");
    }
    tool_output_text(out, "}\n");
}
