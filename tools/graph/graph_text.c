/* A graph for people: from the start on, each node opened once; or as two lists. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time_sum.h"
#include "tools/callgraph/graph_functions.h"
#include "tools/command/pager.h"
#include "tools/graph/graph_view.h"
#include "tools/io/table.h"

#define HOT_SHARE   0.20
#define WARM_SHARE  0.05
#define INDENT_MOST 40u
#define HOTTEST     5u
#define MARK_BYTES  160u

#define NARROW_COLUMNS 100u /* of a terminal: names need what deep levels would take */
#define LEAST_NAME     20u  /* at the deepest level: other columns are left out first */
#define LEAST_DEEP     36u  /* however deep */

struct printing {
    struct tool_graph_view *view;
    const struct tool_graph *graph;
    struct tool_output *out;
    struct tool_table table;
    struct tool_column columns[6];
    size_t column_count;
    bool *is_opened;
    uint64_t *recursion; /* by node: calls of its self edge */
    char *line;
    size_t line_capacity;
    size_t step;    /* blanks of a level */
    size_t deepest; /* blanks in front of a name, at most */
};

static enum tool_tone tone_of(const struct printing *print, const ttape_graph_node *node)
{
    double share = tool_graph_share(print->graph, node->sum.self_ns, node->sum.call_count);
    return share >= HOT_SHARE ? TOOL_HOT : share >= WARM_SHARE ? TOOL_WARM : TOOL_PLAIN;
}

static void put_share(struct printing *print, enum tool_tone tone, int64_t time_ns, uint64_t calls)
{
    tool_table_printf(&print->table, tone, "%.2f",
                      100.0 * tool_graph_share(print->graph, time_ns, calls));
}

/* Blanks, name, marks. */
static void put_name(struct printing *print, enum tool_tone tone, unsigned depth, const char *name,
                     const char *marks)
{
    size_t indent = print->step * (depth < INDENT_MOST ? depth : INDENT_MOST);
    size_t length = strlen(name);
    print->deepest = indent > print->deepest ? indent : print->deepest;
    tool_grow((void **)&print->line, &print->line_capacity, indent + length + MARK_BYTES + 1, 1);
    memset(print->line, ' ', indent);
    memcpy(print->line + indent, name, length);
    strcpy(print->line + indent + length, marks);
    tool_table_text(&print->table, tone, print->line);
}

static void add_mark(char *marks, const char *format, ...) TOOL_PRINTF(2, 3);
static void add_mark(char *marks, const char *format, ...)
{
    size_t used = strlen(marks);
    va_list list;
    va_start(list, format);
    (void)vsnprintf(marks + used, MARK_BYTES - used, format, list);
    va_end(list);
}

static const char *const way_marks[] = {"",          "",        "inlined",
                                        "tail call", "pointer", "name or pointer"};

static void edge_marks(const struct printing *print, const ttape_graph_edge *edge, bool again,
                       char *marks)
{
    marks[0] = '\0';
    if (edge->sum.start_count > 0 && edge->from != TTAPE_GRAPH_START)
        add_mark(marks, "  starts %" PRIu64 "%s", edge->sum.start_count,
                 edge->is_inferred ? "?" : "");
    const struct tool_graph_ways *ways = print->view->ways;
    enum tool_call_way way =
        ways != NULL ? ways->of_edge[edge - print->graph->edges] : TOOL_WAY_UNKNOWN;
    if (way > TOOL_WAY_NAMED) /* that is usual */
        add_mark(marks, "  %s", way_marks[way]);
    if (edge->sum.through_count > 0)
        add_mark(marks, "  indirect %" PRIu64, edge->sum.through_count);
    if (print->recursion[edge->to] > 0 && !again)
        add_mark(marks, "  rc=%" PRIu64, print->recursion[edge->to]);
    if (again)
        add_mark(marks, "  ^");
}

static void put_total(struct printing *print, enum tool_tone tone, const ttape_graph_counts *counts)
{
    tool_table_time_marked(&print->table, tone, counts->total_ns,
                           counts->late_count != 0     ? "~"
                           : counts->unseen_count != 0 ? ">="
                                                       : "");
}

/* Own time, and what stands before it. */
struct self {
    int64_t time_ns;
    const char *mark;
};

static void put_counts(struct printing *print, enum tool_tone tone,
                       const ttape_graph_counts *counts, struct self self)
{
    put_share(print, tone, counts->total_ns, counts->call_count);
    if (print->graph->info.has_times) {
        put_total(print, tone, counts);
        tool_table_time_marked(&print->table, tone, self.time_ns, self.mark);
    }
    tool_table_count(&print->table, tone, counts->call_count);
}

/* A function's own time is not told apart by its callers: it is a call's where there is one caller,
 * or where it calls nothing; else no more than either. */
static struct self find_self(const struct printing *print, const ttape_graph_edge *edge)
{
    const ttape_graph_counts *node = &print->graph->nodes[edge->to].sum;
    if (edge->sum.call_count + print->recursion[edge->to] == node->call_count)
        return (struct self){node->self_ns, ""};
    if (node->self_ns == node->total_ns)
        return (struct self){edge->sum.total_ns, ""};
    int64_t least = node->self_ns < edge->sum.total_ns ? node->self_ns : edge->sum.total_ns;
    return (struct self){least, "<="};
}

static void put_edge(struct printing *print, const ttape_graph_edge *edge, unsigned depth)
{
    const ttape_graph_node *node = &print->graph->nodes[edge->to];
    bool again = print->is_opened[edge->to];
    enum tool_tone tone = again ? TOOL_FAINT : tone_of(print, node);
    char marks[MARK_BYTES];
    edge_marks(print, edge, again, marks);
    put_counts(print, tone, &edge->sum, find_self(print, edge));
    put_name(print, tone, depth, tool_graph_label(print->view, edge->to), marks);
}

/* The start's own time is that of threads with nothing on their stack. */
static void put_start(struct printing *print)
{
    const struct tool_graph *graph = print->graph;
    ttape_graph_counts counts = {.total_ns = graph->info.span_ns};
    const struct self self = {graph->nodes[TTAPE_GRAPH_START].sum.self_ns, ""};
    put_counts(print, TOOL_PLAIN, &counts, self);
    put_name(print, TOOL_PLAIN, 0, tool_graph_label(print->view, TTAPE_GRAPH_START), "");
}

struct place {
    const uint32_t *edges;
    uint32_t next, count;
};

static struct place open_place(const struct tool_graph *graph, uint32_t node)
{
    struct place place = {0};
    place.edges = ttape_graph_get_callees(graph->made, node, &place.count);
    return place;
}

static void put_tree(struct printing *print)
{
    const struct tool_graph *graph = print->graph;
    struct place *path = tool_allocate(graph->info.node_count + 1, sizeof(*path));
    size_t depth = 1;
    put_start(print);
    print->is_opened[TTAPE_GRAPH_START] = true;
    path[0] = open_place(graph, TTAPE_GRAPH_START);
    while (depth > 0) {
        struct place *here = &path[depth - 1];
        if (here->next == here->count) {
            depth--;
            continue;
        }
        const ttape_graph_edge *edge = &graph->edges[here->edges[here->next++]];
        if (tool_graph_is_recursion(edge))
            continue; /* a mark of its node's */
        put_edge(print, edge, (unsigned)depth);
        if (!print->is_opened[edge->to]) {
            print->is_opened[edge->to] = true;
            path[depth++] = open_place(graph, edge->to);
        }
    }
    free(path);
}

/* ---- columns ---- */

static void open_table(struct printing *print, const char *share, const char *time,
                       const char *self, const char *name)
{
    size_t count = 0;
    print->columns[count++] = (struct tool_column){share, .rank = 2};
    if (print->graph->info.has_times) {
        print->columns[count++] = (struct tool_column){time, .rank = 0};
        if (self != NULL)
            print->columns[count++] = (struct tool_column){self, .rank = 1};
    }
    print->columns[count++] = (struct tool_column){"CALLS", .rank = 0};
    print->columns[count++] = (struct tool_column){name, .is_text = true, .gives_way = true};
    print->column_count = count;
    print->deepest = 0;
    tool_table_open(&print->table, print->columns, count);
}

static void close_table(struct printing *print)
{
    unsigned width = tool_table_width(&print->table, print->view->names.is_shortened);
    size_t least = print->deepest + LEAST_NAME;
    if (!print->table.keeps_all && least > print->table.least)
        print->table.least = least < LEAST_DEEP ? least : LEAST_DEEP;
    tool_table_print(&print->table, print->out, width, tool_terminal_colours());
    tool_table_close(&print->table);
}

static void open_printing(struct printing *print, struct tool_graph_view *view,
                          struct tool_output *out)
{
    const struct tool_graph *graph = view->graph;
    unsigned terminal = tool_terminal_columns();
    *print = (struct printing){.view = view,
                               .graph = graph,
                               .out = out,
                               .step = terminal > 0 && terminal < NARROW_COLUMNS ? 1 : 2};
    print->is_opened = tool_allocate(graph->info.node_count, sizeof(bool));
    print->recursion = tool_allocate(graph->info.node_count, sizeof(uint64_t));
    for (size_t i = 0; i < graph->info.edge_count; i++)
        if (tool_graph_is_recursion(&graph->edges[i]))
            print->recursion[graph->edges[i].to] = graph->edges[i].sum.call_count;
}

static void close_printing(struct printing *print)
{
    free(print->is_opened);
    free(print->recursion);
    free(print->line);
}

/* ---- lists ---- */

static void put_nodes(struct printing *print, size_t most)
{
    uint32_t *order;
    size_t count = tool_graph_hottest(print->graph, false, &order);
    open_table(print, "SELF %", "SELF", "TOTAL", "NODE");
    for (size_t i = 0; i < count && i < most; i++) {
        const ttape_graph_node *node = &print->graph->nodes[order[i]];
        enum tool_tone tone = tone_of(print, node);
        char marks[MARK_BYTES] = "";
        if (print->recursion[order[i]] > 0)
            add_mark(marks, "  rc=%" PRIu64, print->recursion[order[i]]);
        if (node->thread_count > 1)
            add_mark(marks, "  in %" PRIu32 " threads", node->thread_count);
        put_share(print, tone, node->sum.self_ns, node->sum.call_count);
        if (print->graph->info.has_times) {
            tool_table_time(&print->table, tone, node->sum.self_ns);
            put_total(print, tone, &node->sum);
        }
        tool_table_count(&print->table, tone, node->sum.call_count);
        put_name(print, tone, 0, tool_graph_label(print->view, order[i]), marks);
    }
    close_table(print);
    free(order);
}

static void put_edges(struct printing *print, size_t most)
{
    uint32_t *order;
    size_t count = tool_graph_hottest(print->graph, true, &order);
    open_table(print, "TIME %", "TIME", NULL, "EDGE");
    for (size_t i = 0; i < count && i < most; i++) {
        const ttape_graph_edge *edge = &print->graph->edges[order[i]];
        const char *from = tool_graph_label(print->view, edge->from);
        const char *to = tool_graph_label(print->view, edge->to);
        char marks[MARK_BYTES];
        edge_marks(print, edge, false, marks);
        put_share(print, TOOL_PLAIN, edge->sum.total_ns, edge->sum.call_count);
        if (print->graph->info.has_times)
            put_total(print, TOOL_PLAIN, &edge->sum);
        tool_table_count(&print->table, TOOL_PLAIN, edge->sum.call_count);
        char *text = tool_allocate(strlen(from) + strlen(to) + 5, 1);
        strcat(strcat(strcpy(text, from), " -> "), to);
        put_name(print, TOOL_PLAIN, 0, text, marks);
        free(text);
    }
    close_table(print);
    free(order);
}

static void put_pruned(struct printing *print)
{
    const struct tool_graph *graph = print->graph;
    int64_t below_ns = 0;
    for (size_t i = 0; i < graph->info.node_count; i++)
        ttp_sum_ns(&below_ns, graph->nodes[i].is_kept ? graph->nodes[i].sum.below_ns : 0);
    if (graph->info.pruned_node_count + graph->info.pruned_edge_count > 0) {
        char text[40];
        text[tool_put_time(text, below_ns)] = '\0';
        tool_output_printf(print->out,
                           "\nPruned: %" PRIu64 " nodes with %" PRIu64 " calls and %s of their own,"
                           "\n  %" PRIu64 " edges (--all shows them).\n",
                           graph->info.pruned_node_count, graph->info.pruned_call_count,
                           graph->info.has_times ? text : "-", graph->info.pruned_edge_count);
    }
}

void tool_graph_text(struct tool_graph_view *view, struct tool_output *out)
{
    struct printing print;
    open_printing(&print, view, out);
    if (view->as_list) {
        put_nodes(&print, SIZE_MAX);
        tool_output_text(out, "\n");
        put_edges(&print, SIZE_MAX);
    } else {
        open_table(&print, "TIME %", "TIME", "SELF", "FUNCTION");
        put_tree(&print);
        close_table(&print);
    }
    put_pruned(&print);
    close_printing(&print);
}

/* ---- the summary ---- */

static void put_fact(struct tool_output *out, const char *what, uint64_t number, const char *rest)
{
    char text[40];
    text[tool_put_count(text, number)] = '\0';
    tool_output_printf(out, "  %-28s %s%s\n", what, text, rest);
}

/* How the calls that are direct by the stack were made, by the code of the callers' files. */
static void put_ways(struct printing *print)
{
    static const char *const words[TOOL_WAY_COUNT] = {"  not known how", "  by name",
                                                      "  inlined",       "  by a tail call",
                                                      "  by a pointer",  "  by name or a pointer"};
    const struct tool_graph_ways *ways = print->view->ways;
    for (uint32_t way = TOOL_WAY_NAMED; way < TOOL_WAY_COUNT; way++)
        put_fact(print->out, words[way], ways->calls[way], "");
    put_fact(print->out, words[TOOL_WAY_UNKNOWN], ways->calls[TOOL_WAY_UNKNOWN], "");
    if (ways->missing == 0)
        return;
    tool_output_text(print->out, "    no file of this build that fits into memory: ");
    tool_output_escaped(print->out, TTP_ESCAPE_TERMINAL, ways->first_missing);
    if (ways->missing > 1)
        tool_output_printf(print->out, ", and %" PRIu32 " more", ways->missing - 1);
    tool_output_text(print->out, "\n");
}

static void put_calls(struct printing *print, const struct tool_graph_summary *summary)
{
    struct tool_output *out = print->out;
    put_fact(out, "direct calls", summary->direct_calls, "");
    put_ways(print);
    put_fact(out, "indirect calls",
             summary->spawned_calls + summary->signal_calls + summary->start_calls +
                 summary->through_calls,
             "");
    put_fact(out, "  first in their thread", summary->start_calls, "");
    put_fact(out, "  first, and who started it", summary->spawned_calls, "");
    put_fact(out, "  signal handlers", summary->signal_calls, "");
    put_fact(out, "  through pruned functions", summary->through_calls, "");
    put_fact(out, "recursive calls", summary->recursive_calls, "");
}

static void put_idle(struct printing *print)
{
    const struct tool_graph *graph = print->graph;
    static const char *const words[] = {NULL, "(blocked)", "(in blocking system calls)",
                                        "(in blocking functions)"};
    const char *words_of_source = words[graph->info.idle_source];
    int64_t idle_ns = tool_graph_idle(graph, graph->info.idle_ns, graph->info.blocked_ns);
    char text[40];
    if (words_of_source == NULL) {
        tool_output_printf(print->out, "  %-28s ?\n", "  idle");
        return;
    }
    text[tool_put_time(text, idle_ns)] = '\0';
    tool_output_printf(print->out, "  %-28s %s (%.2f %%) %s\n", "  idle", text,
                       100.0 * tool_graph_share(graph, idle_ns, 0), words_of_source);
    if (!graph->info.has_switches || graph->info.unknown_ns <= 0)
        return;
    text[tool_put_time(text, graph->info.unknown_ns)] = '\0';
    tool_output_printf(print->out, "  %-28s %s\n", "  not known", text);
}

static void put_shape(struct printing *print, const struct tool_graph_summary *summary)
{
    struct tool_output *out = print->out;
    put_fact(out, "nodes", summary->node_count, "");
    put_fact(out, "edges", summary->edge_count, "");
    put_calls(print, summary);
    put_fact(out, "recursion depth", summary->recursion_depth, "");
    if (summary->recursive_node != TTAPE_NONE) {
        tool_output_printf(out, "  %-28s %s\n", "  of",
                           tool_graph_label(print->view, summary->recursive_node));
    }
    put_fact(out, "cycles of several nodes", summary->cycle_count, "");
    put_fact(out, "  that threads close", summary->cycles_by_threads, "");
    put_fact(out, "stack depth", summary->max_depth, "");
    put_fact(out, "processes", summary->process_count, "");
    put_fact(out, "threads", print->graph->info.thread_count, "");
    put_fact(out, "threading levels", summary->level_count, "");
    if (print->graph->info.has_times) {
        char text[40];
        text[tool_put_time(text, print->graph->info.span_ns)] = '\0';
        tool_output_printf(out, "  %-28s %s\n", "time of all threads", text);
        put_idle(print);
    }
}

static void put_modules(struct printing *print)
{
    struct tool_graph_module *modules;
    size_t count = tool_graph_modules(print->graph, &modules);
    open_table(print, "SELF %", "SELF", NULL, "MODULE");
    for (size_t i = 0; i < count; i++) {
        const struct tool_graph_module *module = &modules[i];
        ttape_string base = ttp_path_base(module->path);
        char text[64 * TTP_ESCAPE_MAX + 1];
        size_t size = ttp_escape(text, TTP_ESCAPE_TERMINAL, base.data,
                                 base.size_bytes < 64 ? base.size_bytes : 64);
        text[size] = '\0';
        put_share(print, TOOL_PLAIN, module->self_ns, module->calls);
        if (print->graph->info.has_times)
            tool_table_time(&print->table, TOOL_PLAIN, module->self_ns);
        tool_table_count(&print->table, TOOL_PLAIN, module->calls);
        tool_table_text(&print->table, TOOL_PLAIN, size > 0 ? text : "(unknown)");
    }
    close_table(print);
    free(modules);
}

void tool_graph_print_summary(struct tool_graph_view *view, struct tool_output *out)
{
    struct printing print;
    struct tool_graph_summary summary;
    open_printing(&print, view, out);
    tool_graph_summarize(view->graph, &summary);
    tool_output_text(out, "Call graph\n");
    put_shape(&print, &summary);
    tool_output_text(out, "\nHottest functions\n");
    put_nodes(&print, HOTTEST);
    tool_output_text(out, "\nHottest edges\n");
    put_edges(&print, HOTTEST);
    if (view->paths != NULL) {
        tool_output_text(out, "\nHottest path\n");
        tool_reach_hottest(view->paths, out);
    }
    tool_output_text(out, "\nModules\n");
    put_modules(&print);
    put_pruned(&print);
    close_printing(&print);
}
