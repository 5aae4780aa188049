/* Runs of the library that ask a reader something. Nothing in here asserts. */
#include <tracetape/graph.h>
#include <tracetape/longest.h>
#include <tracetape/reach.h>

#include "api_runs.h"

#include "../unit/test_reader_fixture.h"

/* Few calls and many, with what is decoded for each. */
ttape_status ttest_find_longest(struct ttest_run *run, ttape_reader *reader)
{
    for (uint32_t i = 0; i < 4; i++) {
        ttape_longest *longest;
        uint32_t count;
        const ttape_longest_options o = {
            .size = sizeof o, .by = (ttape_longest_by)(i % 2), .count = i < 2 ? 3 : 100};
        TTP_TRY(ttape_longest_find(&longest, reader, &o, &run->err));
        const ttape_longest_call *calls = ttape_longest_get_calls(longest, &count);
        for (uint32_t c = 0; c < count; c++)
            ttest_api_mix(run, &calls[c].duration_ns, sizeof calls[c].duration_ns);
        ttape_longest_close(longest);
    }
    return TTAPE_OK;
}

ttape_status ttest_find_paths(struct ttest_run *run, ttape_reader *reader)
{
    ttape_reach *reach;
    uint32_t count;
    TTP_TRY(ttape_reach_find(&reach, reader, NULL, &run->err));
    const ttape_reach_path *paths = ttape_reach_get_paths(reach, &count);
    for (uint32_t i = 0; i < count; i++)
        ttest_api_mix(run, &paths[i].total_ns, sizeof paths[i].total_ns);
    ttape_reach_close(reach);
    return TTAPE_OK;
}

/* With all that a graph keeps, read twice. */
ttape_status ttest_make_graph(struct ttest_run *run, ttape_reader *reader)
{
    const ttape_graph_options o = {
        .size = sizeof o, .contexts = true, .split_levels = true, .prunes = true, .top = 3};
    ttape_graph *graph;
    uint32_t count;
    TTP_TRY(ttape_graph_make(&graph, reader, &o, &run->err));
    const ttape_graph_edge *edges = ttape_graph_get_edges(graph, &count);
    for (uint32_t i = 0; i < count; i++)
        ttest_api_mix(run, &edges[i].sum.total_ns, sizeof edges[i].sum.total_ns);
    ttape_graph_close(graph);
    return TTAPE_OK;
}

ttape_status ttest_read_off(struct ttest_run *run, ttape_reader *reader, uint32_t partition)
{
    const ttape_off_span *spans;
    uint32_t count;
    bool is_known;
    TTP_TRY(ttape_reader_get_off(reader, partition, 0, &spans, &count, &is_known, &run->err));
    for (uint32_t i = 0; i < count; i++)
        ttest_api_mix(run, &spans[i].length_ns, sizeof spans[i].length_ns);
    return TTAPE_OK;
}
