/* The call graph: of a small trace, number by number; of traces with events of every kind, against
 * the report of the same; callers and callees; what is pruned; what is refused. */
#include <tracetape/graph.h>

#include "tests/unit/report_model.h"

static ttape_graph *make(ttape_reader *r, ttape_graph_options how)
{
    ttape_graph *graph;
    ttape_error err = {0};
    how.size = sizeof how;
    TTEST_OK(ttape_graph_make(&graph, r, &how, &err));
    return graph;
}

struct shown {
    ttape_graph *graph;
    ttape_graph_info info;
    const ttape_graph_node *nodes;
    const ttape_graph_edge *edges;
};

static struct shown show(ttape_reader *r, ttape_graph_options how)
{
    struct shown s = {.graph = make(r, how)};
    uint32_t count;
    ttape_graph_get_info(s.graph, &s.info);
    s.nodes = ttape_graph_get_nodes(s.graph, &count);
    ck_assert_uint_eq(count, s.info.node_count);
    s.edges = ttape_graph_get_edges(s.graph, &count);
    ck_assert_uint_eq(count, s.info.edge_count);
    return s;
}

/* ---- a small trace ---- */

enum { MAIN, WORK, LEAF, SITES };

/* main calls leaf and work, which calls itself and leaf. */
static struct ttest_file make_small(void)
{
    static const char *const names[SITES] = {"main", "work", "leaf"};
    static const struct {
        uint32_t time;
        ttape_event_kind kind;
        uint32_t site;
    } events[] = {{100, TTAPE_EVENT_ENTER, MAIN}, {110, TTAPE_EVENT_ENTER, LEAF},
                  {115, TTAPE_EVENT_EXIT, LEAF},  {120, TTAPE_EVENT_ENTER, WORK},
                  {130, TTAPE_EVENT_ENTER, WORK}, {140, TTAPE_EVENT_ENTER, LEAF},
                  {160, TTAPE_EVENT_EXIT, LEAF},  {170, TTAPE_EVENT_EXIT, WORK},
                  {190, TTAPE_EVENT_EXIT, WORK},  {200, TTAPE_EVENT_EXIT, MAIN}};
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer *w;
    uint32_t id;
    ttape_process process = {.pid = 1, .parent = TTAPE_NONE};
    ttape_stream stream = {.tid = 1};
    ck_assert_int_eq(ttape_writer_open(&w, &sink, NULL, NULL), TTAPE_OK);
    ck_assert_int_eq(ttape_writer_add_process(w, &process, &id, NULL), TTAPE_OK);
    ck_assert_int_eq(ttape_writer_add_stream(w, &stream, &id, NULL), TTAPE_OK);
    for (uint32_t i = 0; i < SITES; i++) {
        ttape_site site = {.address = 16 * (i + 1),
                           .module = TTAPE_NONE,
                           .kind = TTAPE_SITE_FUNCTION,
                           .symbol = ttest_string(names[i])};
        ck_assert_int_eq(ttape_writer_add_site(w, &site, &id, NULL), TTAPE_OK);
    }
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        ttape_event e = {.time_ns = events[i].time,
                         .kind = events[i].kind,
                         .site = events[i].site,
                         .depth = TTAPE_DEPTH_AUTO};
        ck_assert_int_eq(ttape_writer_append(w, 0, &e, 1, NULL), TTAPE_OK);
    }
    ck_assert_int_eq(ttape_writer_finish(w, NULL), TTAPE_OK);
    ttape_writer_close(w);
    return ttest_take(&memory);
}

static const ttape_graph_counts *edge_of(const struct shown *s, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < s->info.edge_count; i++)
        if (s->edges[i].from == from && s->edges[i].to == to)
            return &s->edges[i].sum;
    ck_abort_msg("no edge from %u to %u", from, to);
    return NULL;
}

/* Nodes come as they are met: the start, main, leaf, work. */
enum { N_START, N_MAIN, N_LEAF, N_WORK, NODES };

START_TEST(a_small_graph)
{
    static const struct {
        uint64_t calls, recursions;
        int64_t total, self;
        uint32_t depth;
    } nodes[NODES] = {{0, 0, 0, 0, 0}, {1, 0, 100, 25, 1}, {2, 0, 25, 25, 1}, {2, 1, 70, 50, 2}};
    struct ttest_trace o = ttest_open_trace(make_small());
    uint32_t count;
    struct shown s = show(o.reader, (ttape_graph_options){.contexts = true});
    ck_assert_uint_eq(s.info.node_count, NODES);
    ck_assert_uint_eq(s.info.edge_count, 5);
    ck_assert_uint_eq(s.info.call_count, 5);
    ck_assert_int_eq(s.info.span_ns, 100);
    ck_assert_uint_eq(s.info.max_depth, 4);
    for (uint32_t i = 0; i < NODES; i++) {
        ck_assert_uint_eq(s.nodes[i].sum.call_count, nodes[i].calls);
        ck_assert_uint_eq(s.nodes[i].sum.recursion_count, nodes[i].recursions);
        ck_assert_int_eq(s.nodes[i].sum.total_ns, nodes[i].total);
        ck_assert_int_eq(s.nodes[i].sum.self_ns, nodes[i].self);
        ck_assert_uint_eq(s.nodes[i].depth, nodes[i].depth);
        ck_assert(s.nodes[i].is_kept);
    }
    ck_assert_uint_eq(s.nodes[N_WORK].site, WORK);
    ck_assert_uint_eq(s.nodes[N_START].kind, TTAPE_GRAPH_START_NODE);
    ck_assert_int_eq(edge_of(&s, N_MAIN, N_WORK)->total_ns, 70);
    ck_assert_uint_eq(edge_of(&s, N_WORK, N_WORK)->call_count, 1);
    ck_assert_uint_eq(edge_of(&s, N_START, N_MAIN)->start_count, 1);
    const ttape_graph_context *contexts = ttape_graph_get_contexts(s.graph, &count);
    ck_assert_uint_eq(count, NODES + 5);
    ck_assert_uint_eq(contexts[0].thread, 0);
    const ttape_graph_thread *threads = ttape_graph_get_threads(s.graph, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(threads[0].event_count, 10);
    ck_assert_uint_eq(threads[0].parent, TTAPE_NONE);
    ttape_graph_close(s.graph);
    ttest_close_trace(&o);
}
END_TEST

/* The heaviest first; of leaf: by work 20, by main 5. */
START_TEST(callers_and_callees)
{
    struct ttest_trace o = ttest_open_trace(make_small());
    uint32_t count;
    struct shown s = show(o.reader, (ttape_graph_options){0});
    const uint32_t *edges = ttape_graph_get_callers(s.graph, N_LEAF, &count);
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(s.edges[edges[0]].from, N_WORK);
    ck_assert_uint_eq(s.edges[edges[1]].from, N_MAIN);
    edges = ttape_graph_get_callees(s.graph, N_MAIN, &count);
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(s.edges[edges[0]].to, N_WORK);
    ck_assert_uint_eq(s.edges[edges[1]].to, N_LEAF);
    ttape_graph_get_callees(s.graph, N_LEAF, &count);
    ck_assert_uint_eq(count, 0);
    ck_assert_ptr_null(ttape_graph_get_callers(s.graph, NODES, &count));
    ttape_graph_close(s.graph);
    /* of a range: only what is in it */
    s = show(o.reader, (ttape_graph_options){.has_range = true, .from_ns = 116, .to_ns = 165});
    ck_assert_int_eq(s.info.span_ns, 49);
    ck_assert_uint_eq(s.info.call_count, 3);
    ttape_graph_close(s.graph);
    ttest_close_trace(&o);
}
END_TEST

/* Without work, main calls leaf by way of it, and has its time. */
START_TEST(what_is_pruned_is_passed_over)
{
    struct ttest_trace o = ttest_open_trace(make_small());
    struct shown s = show(o.reader, (ttape_graph_options){.prunes = true, .min_ns = 80});
    ck_assert_uint_eq(s.info.pruned_node_count, 2);
    ck_assert_uint_eq(s.info.pruned_call_count, 4);
    ck_assert(s.nodes[N_MAIN].is_kept && !s.nodes[N_WORK].is_kept && !s.nodes[N_LEAF].is_kept);
    ck_assert_int_eq(s.nodes[N_MAIN].sum.below_ns, 75);
    ttape_graph_close(s.graph);
    s = show(o.reader,
             (ttape_graph_options){.prunes = true, .by_self = true, .min_ns = 25, .top = 2});
    ck_assert(s.nodes[N_WORK].is_kept && s.nodes[N_LEAF].is_kept != s.nodes[N_MAIN].is_kept);
    ttape_graph_close(s.graph);
    ttest_close_trace(&o);
}
END_TEST

/* ---- events of every kind ---- */

/* Calls, own time and total time of all nodes of a function are those of the report. */
START_TEST(nodes_are_the_reports)
{
    ttape_error err = {0};
    struct ttest_opened o = open_plan(_i);
    uint32_t count, row_count;
    struct shown s = show(o.reader, (ttape_graph_options){0});
    ttape_report *report;
    TTEST_OK(ttape_report_make(&report, o.reader, NULL, &err));
    const ttape_report_row *rows = ttape_report_get_rows(report, &row_count);
    const uint32_t *row_of =
        ttape_functions_get_sites(ttape_graph_get_functions(s.graph), 0, &count);
    int64_t self_ns = 0;
    uint64_t calls = 0, wanted = 0;
    for (uint32_t i = 0; i < s.info.node_count; i++) {
        self_ns += s.nodes[i].sum.self_ns;
        calls += s.nodes[i].kind == TTAPE_GRAPH_FUNCTION ? s.nodes[i].sum.call_count : 0;
    }
    ck_assert_int_eq(self_ns, s.info.span_ns);
    ck_assert_uint_eq(calls, s.info.call_count);
    for (uint32_t r = 0; r < row_count; r++) {
        if (rows[r].site == TTAPE_NONE)
            continue;
        uint64_t of_function = 0, of_rows = 0;
        for (uint32_t i = 0; i < s.info.node_count; i++)
            if (s.nodes[i].function == row_of[rows[r].site])
                of_function += s.nodes[i].sum.call_count;
        for (uint32_t i = 0; i < row_count; i++)
            if (rows[i].site != TTAPE_NONE && row_of[rows[i].site] == row_of[rows[r].site])
                of_rows += rows[i].call_count;
        ck_assert_uint_eq(of_function, of_rows);
        wanted += rows[r].call_count;
    }
    ck_assert_uint_ge(s.info.call_count, wanted);
    ttape_report_close(report);
    ttape_graph_close(s.graph);
    close_plan(&o);
}
END_TEST

/* ---- what is refused, and stopped ---- */

static bool stop_later(void *context, uint64_t event_count)
{
    uint32_t *left = context;
    (void)event_count;
    return (*left)-- > 0;
}

START_TEST(what_cannot_be_is_refused)
{
    struct ttest_trace o = ttest_open_trace(make_small());
    ttape_graph *graph;
    ttape_error err = {0};
    uint32_t count, left = 0, refused = 0, stream = 7;
    ck_assert_int_eq(ttape_graph_make(&graph, NULL, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_graph_make(NULL, o.reader, NULL, &err), TTAPE_E_ARGUMENT);
    ttape_graph_options how = {.size = sizeof how, .streams = &stream, .stream_count = 1};
    ck_assert_int_eq(ttape_graph_make(&graph, o.reader, &how, &err), TTAPE_E_NOT_FOUND);
    how = (ttape_graph_options){.size = sizeof how, .min_share = 1.5};
    ck_assert_int_eq(ttape_graph_make(&graph, o.reader, &how, &err), TTAPE_E_ARGUMENT);
    how = (ttape_graph_options){.size = sizeof how, .goes_on = stop_later, .context = &left};
    ck_assert_int_eq(ttape_graph_make(&graph, o.reader, &how, &err), TTAPE_E_STATE);
    ck_assert_ptr_null(graph);
    how = (ttape_graph_options){.size = sizeof how, .prunes = true, .min_calls = 2};
    for (how.memory_bytes = 1;
         ttest_is_short(ttape_graph_make(&graph, o.reader, &how, &err), &graph); refused++)
        how.memory_bytes += 100;
    ck_assert_uint_gt(refused, 100);
    ttape_graph_close(graph);
    ttape_graph_close(NULL);
    ck_assert_ptr_null(ttape_graph_get_nodes(NULL, &count));
    ck_assert_ptr_null(ttape_graph_get_callees(NULL, 0, &count));
    ck_assert_uint_eq(count, 0);
    ttest_close_trace(&o);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("graph");
    TCase *tests = tcase_create("graph");
    tcase_add_test(tests, a_small_graph);
    tcase_add_test(tests, callers_and_callees);
    tcase_add_test(tests, what_is_pruned_is_passed_over);
    tcase_add_loop_test(tests, nodes_are_the_reports, 0, TTEST_PLANS);
    tcase_add_test(tests, what_cannot_be_is_refused);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
