/* tracetape graph: which graph to make of a trace, and how to show it. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tools/calls/losses.h"
#include "tools/calls/merge/joined.h"
#include "tools/command/memory_limit.h"
#include "tools/command/options.h"
#include "tools/command/pager.h"
#include "tools/command/tool.h"
#include "tools/filter/filtered_input.h"
#include "tools/graph/graph_paths.h"
#include "tools/graph/graph_view.h"

#define DEFAULT_SHARE 0.005 /* where people look: pictures and tables */

struct share_option {
    bool given;
    double value;
};

struct options {
    const char *context, *weight, *format, *reach, *below, *across;
    ttape_functions_by by; /* which functions are one */
    struct share_option min_share;
    struct tool_time min_time;
    struct tool_id min_calls, limit;
    struct tool_choice choice;
    struct tool_filter kept;
    uint32_t jobs;
    enum tool_name_style names;
    bool all, json, list, summary, split_levels, no_pager;
    uint64_t memory_bytes;
};

/* "1%" or "0.01" */
static bool parse_share(const char *text, void *into)
{
    struct share_option *share = into;
    char *end;
    if (strspn(text, "0123456789.") == 0)
        return false;
    share->value = strtod(text, &end);
    if (*end == '%') {
        share->value /= 100;
        end++;
    }
    share->given = true;
    return *end == '\0' && share->value >= 0 && share->value <= 1;
}

static bool is_format(const struct options *options, const char *name)
{
    return options->format != NULL && strcmp(options->format, name) == 0;
}

/* For a program, not a terminal. */
static bool is_language(const struct options *options)
{
    return is_format(options, "dot") || is_format(options, "mermaid");
}

static const struct tool_option table[] = {
    {"format", 0, "FORMAT", "text (default), dot, mermaid (languages of graphs), svg or json", NULL,
     TOOL_AT(format)},
    {"json", 0, NULL, "print JSON", NULL, TOOL_AT(json)},
    {"list", 0, NULL, "list nodes and edges instead of opening them from the start", NULL,
     TOOL_AT(list)},
    {"summary", 0, NULL, "sizes, kinds of calls, recursion, the hottest, modules", NULL,
     TOOL_AT(summary)},
    {"context", 0, "WHAT", "what each thread has of a node, an edge A->B, or of all (*)", NULL,
     TOOL_AT(context)},
    {"reach", 0, "FUNCTION", "every path that leads to it, with calls and time", NULL,
     TOOL_AT(reach)},
    {"below", 'B', "REGEX", "only calls of matching functions and what they call", NULL,
     TOOL_AT(below)},
    TOOL_FILTER_OPTION,
    TOOL_NO_BELOW_OPTION,
    {"across", 0, "WHAT", "of many: builds (default) joins functions by name; none: not", NULL,
     TOOL_AT(across)},
    TOOL_NAMES_OPTION,
    {"min-share", 0, "SHARE", "prune what has less of the run: 1%, 0.01 (0.5% but with --json)",
     parse_share, TOOL_AT(min_share)},
    {"min-time", 'm', "TIME", "prune what took less", tool_parse_time, TOOL_AT(min_time)},
    {"min-calls", 0, "N", "prune what was called less often", tool_parse_id, TOOL_AT(min_calls)},
    {"limit", 'n', "N", "keep the N functions with most time of their own", tool_parse_id,
     TOOL_AT(limit)},
    {"weight", 0, "TIME", "total (default) or self: the time of nodes that limits look at", NULL,
     TOOL_AT(weight)},
    {"all", 'a', NULL, "prune nothing", NULL, TOOL_AT(all)},
    {"split-levels", 0, NULL, "functions of threads of each nesting level are nodes of their own",
     NULL, TOOL_AT(split_levels)},
    TOOL_TIME_OPTION,
    TOOL_THREAD_OPTION,
    TOOL_PROCESS_OPTION,
    TOOL_STREAM_OPTION,
    {"jobs", 'j', "N", "threads that decode", tool_parse_u32, TOOL_AT(jobs)},
    {"no-pager", 0, NULL, "straight to the terminal", NULL, TOOL_AT(no_pager)},
    TOOL_MEMORY_OPTION,
    {0}};

static const struct tool_command command = {
    .verb = "graph",
    .usage = "[OPTION]... FILE|-|FOLDER|@LIST...",
    .about =
        "Says who called whom: the call graph of all threads and processes in one, with calls,\n"
        "times and shares of the run, recursion, and who started which thread. What is below a\n"
        "limit is pruned; what it called hangs below its closest callers that are kept. Several\n"
        "traces are one graph.",
    .options = table,
    .examples = "  tracetape graph run.ttape\n"
                "  tracetape graph run.ttape --summary\n"
                "  tracetape graph run.ttape --format svg --min-share 1% > run.svg\n"
                "  tracetape graph run.ttape --below '^parse_line$'\n"
                "  tracetape graph run.ttape --context 'main->run'\n"
                "  tracetape graph run.ttape --reach parse_line\n"
                "  tracetape graph run.ttape server.ttape\n",
    .statuses = "  0  done\n"
                "  2  the command line is wrong\n"
                "  3  a file is truncated or damaged: the graph is of what is there\n"
                "  4  not done\n",
    .operands_min = 1,
    .operands_max = INT_MAX,
};

static struct tool_graph_limits limits_of(const struct options *options)
{
    bool is_given = options->min_share.given || options->min_time.given ||
                    options->min_calls.given || options->limit.given;
    bool is_whole =
        options->all || options->json || options->summary || options->reach != NULL || is_given;
    return (struct tool_graph_limits){
        .min_share = options->min_share.given ? options->min_share.value
                     : is_whole               ? 0
                                              : DEFAULT_SHARE,
        .min_ns = options->min_time.given ? options->min_time.value_ns : 0,
        .min_calls = options->min_calls.given ? options->min_calls.value : 0,
        .top = options->limit.given ? options->limit.value : 0,
        .whole = options->all,
        .by_self = options->weight != NULL && strcmp(options->weight, "self") == 0};
}

static int print_text(const struct options *options, struct tool_graph_view *view)
{
    struct tool_output out;
    tool_pager_open(&out, !options->json && !is_language(options) && !options->no_pager);
    if (options->json)
        tool_graph_json(view, &out);
    else if (is_format(options, "dot"))
        tool_graph_dot(view, &out);
    else if (is_format(options, "mermaid"))
        tool_graph_mermaid(view, &out);
    else if (options->summary)
        tool_graph_print_summary(view, &out);
    else if (options->context != NULL)
        tool_graph_print_contexts(view, &out);
    else
        tool_graph_text(view, &out);
    return tool_pager_close(&out);
}

static void put_graph(void *context, struct tool_output *out) { tool_graph_dot(context, out); }

static void put_paths(void *context, struct tool_output *out) { tool_reach_dot(context, out); }

static int show_paths(const struct options *options, struct tool_paths *paths)
{
    struct tool_output out;
    if (is_format(options, "svg"))
        return tool_graph_draw(put_paths, paths);
    tool_pager_open(&out, !options->json && !is_language(options) && !options->no_pager);
    if (options->json)
        tool_reach_json(paths, &out);
    else if (is_format(options, "dot"))
        tool_reach_dot(paths, &out);
    else
        tool_reach_text(paths, &out);
    return tool_pager_close(&out);
}

static int reach(const struct options *options, const struct tool_input *input,
                 const struct tool_selection *selection)
{
    struct tool_paths paths;
    struct tool_graph_limits limits = limits_of(options);
    int status = tool_paths_make(&paths, input, selection, options->reach, options->by,
                                 tool_name_style(options->names, options->json));
    if (status != TOOL_CANNOT) {
        tool_paths_order(&paths, &limits);
        int shown = show_paths(options, &paths);
        status = shown > status ? shown : status;
    }
    tool_paths_close(&paths);
    return status;
}

static int show_graph(const struct options *options, struct tool_graph *graph)
{
    struct tool_graph_view view;
    struct tool_paths paths = {0};
    struct tool_graph_ways ways = {0};
    int status = TOOL_OK;
    tool_graph_view_open(&view, graph, options->context,
                         tool_name_style(options->names, options->json));
    view.as_list = options->list;
    if (options->summary) { /* what is wrong with the bytes, the graph has told */
        view.paths = &paths;
        view.ways = &ways;
        tool_graph_ways_open(&ways, graph, options->memory_bytes);
        status = tool_paths_make(&paths, graph->input, graph->selection, NULL, options->by,
                                 tool_name_style(options->names, options->json));
        status = status == TOOL_LOSS ? TOOL_OK : status;
    }
    if (status == TOOL_OK && options->context != NULL && !tool_graph_has_context(&view))
        status = tool_fail("'%s' is no node or edge of the graph%s", options->context,
                           graph->info.pruned_node_count + graph->info.pruned_edge_count > 0
                               ? ", of which limits have pruned some: --all keeps them"
                               : "");
    if (status == TOOL_OK)
        status = is_format(options, "svg") ? tool_graph_draw(put_graph, &view)
                                           : print_text(options, &view);
    tool_graph_view_close(&view);
    tool_graph_ways_close(&ways);
    if (options->summary)
        tool_paths_close(&paths);
    return status;
}

/* Guesses of who started whom are nothing to go by. */
static void say_started(const struct options *options, const struct tool_graph *graph)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < graph->info.thread_count; i++) {
        const ttape_graph_thread *thread = &graph->threads[i];
        count +=
            thread->parent != TTAPE_NONE && thread->start_node != TTAPE_GRAPH_START &&
            (thread->source == TTAPE_GRAPH_BY_RECORDER || thread->source == TTAPE_GRAPH_BY_MARKER);
    }
    tool_below_say_started(graph->input->name, options->below, count);
}

static int graph_input(void *context, const struct tool_input *input)
{
    const struct options *options = context;
    struct tool_selection selection = {0};
    struct tool_graph graph;
    struct tool_below below;
    struct tool_site_names names;
    const struct tool_graph_shape shape = {.split_levels = options->split_levels,
                                           .contexts = options->context != NULL,
                                           .below = options->below != NULL ? &below : NULL,
                                           .by = options->by};
    struct tool_graph_limits limits = limits_of(options);
    int status = tool_select(&selection, input, &options->choice);
    tool_site_names_open_as(&names, input->reader, tool_name_style(options->names, options->json));
    status = status == TOOL_OK ? tool_below_open(&below, "graph", options->below, &names) : status;
    if (status == TOOL_OK) {
        tool_losses_warn(input);
        tool_stacks_warn(input);
    }
    if (status == TOOL_OK && options->reach != NULL) {
        status = reach(options, input, &selection);
    } else if (status == TOOL_OK) {
        status = tool_graph_make(&graph, input, &selection, &limits, &shape);
        if (status != TOOL_CANNOT && options->below != NULL)
            say_started(options, &graph);
        int matched = tool_below_close(&below);
        status = matched > status ? matched : status;
        if (status != TOOL_CANNOT) {
            int shown = show_graph(options, &graph);
            status = shown > status ? shown : status;
        }
        tool_graph_close(&graph);
    }
    tool_site_names_close(&names);
    tool_selection_close(&selection);
    return status;
}

static int check_options(struct options *options)
{
    static const char *const names[] = {"text", "dot", "svg", "mermaid", "json"};
    size_t format = 0;
    while (options->format != NULL && format < 5 && strcmp(options->format, names[format]) != 0)
        format++;
    if (format == 5)
        return tool_usage("graph", "unknown format '%s'", options->format);
    bool is_picture = format >= 1 && format <= 3;
    options->json |= format == 4;
    if (is_picture + options->json + options->list + (options->summary ? 1 : 0) > 1 &&
        !(options->json && options->summary && !is_picture && !options->list))
        return tool_usage("graph",
                          "only one of dot, svg, mermaid, --json, --list, --summary is possible");
    if (options->across != NULL && strcmp(options->across, "builds") != 0 &&
        strcmp(options->across, "none") != 0)
        return tool_usage("graph", "--across is builds or none, not '%s'", options->across);
    if (options->reach != NULL && is_format(options, "mermaid"))
        return tool_usage("graph", "--reach has text, dot, svg and JSON");
    if (options->reach != NULL && (options->list || options->summary || options->context != NULL ||
                                   options->split_levels || options->below != NULL))
        return tool_usage("graph",
                          "--reach takes no --list, --summary, --context, --split-levels, --below");
    if (options->below != NULL && options->summary)
        return tool_usage("graph", "--summary is of all that ran: it takes no --below");
    if (options->weight != NULL && strcmp(options->weight, "self") != 0 &&
        strcmp(options->weight, "total") != 0)
        return tool_usage("graph", "unknown time '%s'", options->weight);
    return TOOL_OK;
}

static int run_verb(struct options *options, int argc, char **argv)
{
    int count, status;
    if (tool_options_parse(&command, argc, argv, options, &count, &status) != TOOL_PARSED_GO)
        return status;
    status = check_options(options);
    if (status != TOOL_OK)
        return status;
    tool_memory_bound(options->memory_bytes);
    struct tool_operands paths;
    struct tool_filtered filtered;
    status = tool_filtered_begin(&filtered, "graph", &options->kept, options->jobs,
                                 options->memory_bytes, graph_input, options);
    int taken = tool_operands_take(&paths, count, argv);
    status = status == TOOL_OK ? taken : status;
    if (options->across != NULL && strcmp(options->across, "none") == 0)
        options->by = TTAPE_FUNCTIONS_BY_BUILD;
    else if (paths.are_many || options->across != NULL)
        options->by = TTAPE_FUNCTIONS_BY_NAME;
    if (status == TOOL_OK)
        status = tool_joined_run(&paths, "graph", options->jobs, options->memory_bytes,
                                 tool_filtered_work, &filtered);
    tool_operands_close(&paths);
    tool_filtered_end(&filtered);
    return status;
}

int tool_verb_graph(int argc, char **argv)
{
    struct options options = {0};
    int status = run_verb(&options, argc, argv);
    tool_filter_close(&options.kept);
    tool_choice_close(&options.choice);
    return status;
}
