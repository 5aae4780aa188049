/* Whether blocks can have run so often: a worked example of two conditions and a loop, and random
 * graphs, of which all ways up to a length are tried. */
#include <string.h>

#include "tests/asserts.h"
#include "tools/context/branches/branch_counts.h"

#define BLOCKS_MOST 5u
#define TIMES_MOST  3u

static const uint32_t example_first[] = {0, 2, 3, 4}, example_next[] = {1, 2, 2, 2};
static const uint32_t example_starts[] = {0, 1, 2};

static enum tool_branch_fit fit(uint32_t first, uint32_t second, uint32_t loop)
{
    const struct tool_branch_graph graph = {TTAPE_BRANCH_PRIMES, NULL,           3, example_first,
                                            example_next,        example_starts, 3};
    const uint32_t times[] = {first, second, loop};
    return tool_branch_counts_fit(&graph, times);
}

START_TEST(worked_example)
{
    ck_assert_int_eq(fit(0, 0, 0), TOOL_BRANCH_FITS);
    ck_assert_int_eq(fit(1, 1, 3), TOOL_BRANCH_FITS);
    ck_assert_int_eq(fit(1, 0, 200), TOOL_BRANCH_FITS);
    ck_assert_int_eq(fit(4, 0, 0), TOOL_BRANCH_FITS_NEVER); /* it is in no loop */
    ck_assert_int_eq(fit(1, 2, 1), TOOL_BRANCH_FITS_NEVER);
    ck_assert_int_eq(fit(TOOL_BRANCH_FREE, 1, 0), TOOL_BRANCH_FITS);
    ck_assert_int_eq(fit(TOOL_BRANCH_FREE, 2, 0), TOOL_BRANCH_FITS_NEVER);
}
END_TEST

/* A graph in the making, and which counts some way through it has: a bit for each. */
struct graph {
    uint32_t count, first[BLOCKS_MOST + 1], next[BLOCKS_MOST * BLOCKS_MOST], starts[BLOCKS_MOST];
    uint32_t start_count;
    bool has[1u << (2 * BLOCKS_MOST)]; /* two bits a block */
};

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void make(struct graph *graph, uint32_t *state)
{
    memset(graph, 0, sizeof *graph);
    graph->count = 2 + next_random(state) % (BLOCKS_MOST - 1);
    for (uint32_t i = 0; i < graph->count; i++) {
        if (next_random(state) % 3 == 0 || i == 0)
            graph->starts[graph->start_count++] = i;
        graph->first[i + 1] = graph->first[i];
        for (uint32_t k = 0; k < graph->count; k++)
            if (next_random(state) % 3 == 0)
                graph->next[graph->first[i + 1]++] = k;
    }
}

/* All ways in which no block runs more than so often. */
static void walk(struct graph *graph, uint32_t block, uint32_t counts)
{
    uint32_t shift = 2 * block;
    if ((counts >> shift & 3) == TIMES_MOST)
        return;
    counts += 1u << shift;
    graph->has[counts] = true;
    for (uint32_t i = graph->first[block]; i < graph->first[block + 1]; i++)
        walk(graph, graph->next[i], counts);
}

static bool is_reached(const struct graph *graph, uint32_t block)
{
    for (uint32_t counts = 0; counts < 1u << (2 * graph->count); counts++)
        if (graph->has[counts] && (counts >> 2 * block & 3) != 0)
            return true;
    return false;
}

START_TEST(random_graphs)
{
    uint32_t state = (uint32_t)_i * 7919u + 1, sure = 0, all = 0;
    struct graph graph;
    make(&graph, &state);
    graph.has[0] = true;
    for (uint32_t i = 0; i < graph.start_count; i++)
        walk(&graph, graph.starts[i], 0);
    const struct tool_branch_graph asked = {TTAPE_BRANCH_COUNTS, NULL,       graph.count,
                                            graph.first,         graph.next, graph.starts,
                                            graph.start_count};
    for (uint32_t counts = 0; counts < 1u << (2 * graph.count); counts++) {
        uint32_t times[BLOCKS_MOST];
        bool is_known = true;
        for (uint32_t i = 0; i < graph.count; i++) {
            times[i] = counts >> (2 * i) & 3;
            is_known &= times[i] == 0 || is_reached(&graph, i);
        }
        enum tool_branch_fit found = tool_branch_counts_fit(&asked, times);
        if (!is_known) /* of an exception */
            ck_assert_int_eq(found, TOOL_BRANCH_MAY_FIT);
        else
            ck_assert_int_ne(found, graph.has[counts] ? TOOL_BRANCH_FITS_NEVER : TOOL_BRANCH_FITS);
        sure += is_known && found != TOOL_BRANCH_MAY_FIT;
        all += is_known;
    }
    ck_assert_uint_eq(sure, all);
}
END_TEST

/* A graph in which what may come is written out: behind unsure blocks all, behind all what nothing
 * leads to. */
static void widen(const struct graph *graph, const bool *is_unsure, bool starts_unsure,
                  struct graph *wide)
{
    memset(wide, 0, sizeof *wide);
    wide->count = graph->count;
    for (uint32_t i = 0; i < graph->count; i++) {
        bool is_start = starts_unsure || !is_reached(graph, i);
        for (uint32_t k = 0; k < graph->start_count; k++)
            is_start |= graph->starts[k] == i;
        if (is_start)
            wide->starts[wide->start_count++] = i;
        wide->first[i + 1] = wide->first[i];
        for (uint32_t to = 0; to < graph->count; to++) {
            bool leads = is_unsure[i] || !is_reached(graph, to);
            for (uint32_t k = graph->first[i]; k < graph->first[i + 1]; k++)
                leads |= graph->next[k] == to;
            if (leads)
                wide->next[wide->first[i + 1]++] = to;
        }
    }
    wide->has[0] = true;
    for (uint32_t i = 0; i < wide->start_count; i++)
        walk(wide, wide->starts[i], 0);
}

START_TEST(random_graphs_with_unknown_ways)
{
    uint32_t state = (uint32_t)_i * 7919u + 1;
    static struct graph graph, wide;
    make(&graph, &state);
    for (uint32_t i = 0; i < graph.start_count; i++)
        walk(&graph, graph.starts[i], 0);
    bool is_unsure[BLOCKS_MOST], starts_unsure = next_random(&state) % 4 == 0;
    for (uint32_t i = 0; i < BLOCKS_MOST; i++)
        is_unsure[i] = next_random(&state) % 4 == 0;
    widen(&graph, is_unsure, starts_unsure, &wide);
    const struct tool_branch_graph asked = {TTAPE_BRANCH_COUNTS, NULL,       graph.count,
                                            graph.first,         graph.next, graph.starts,
                                            graph.start_count};
    for (uint32_t counts = 0; counts < 1u << (2 * graph.count); counts++) {
        uint32_t times[BLOCKS_MOST];
        for (uint32_t i = 0; i < graph.count; i++)
            times[i] = counts >> (2 * i) & 3;
        ck_assert_int_eq(tool_branch_counts_fit_widely(&asked, is_unsure, starts_unsure, times),
                         wide.has[counts] ? TOOL_BRANCH_MAY_FIT : TOOL_BRANCH_FITS_NEVER);
    }
}
END_TEST

/* Three thousand blocks in a row, with a jump through a register behind the first one. */
START_TEST(large_function)
{
    enum { COUNT = 3000 };
    static uint32_t first[COUNT + 1], next[COUNT], times[COUNT];
    static bool is_unsure[COUNT] = {true};
    const uint32_t start = 0;
    for (uint32_t i = 0; i < COUNT - 1; i++)
        first[i + 1] = i + 1, next[i] = i + 1;
    first[COUNT] = COUNT - 1;
    const struct tool_branch_graph graph = {
        TTAPE_BRANCH_COUNTS, NULL, COUNT, first, next, &start, 1};
    times[0] = times[2000] = 1;
    ck_assert_int_eq(tool_branch_counts_fit_widely(&graph, is_unsure, false, times),
                     TOOL_BRANCH_MAY_FIT);
    times[2000] = 2;
    ck_assert_int_eq(tool_branch_counts_fit_widely(&graph, is_unsure, false, times),
                     TOOL_BRANCH_FITS_NEVER);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("branch counts");
    TCase *test_case = tcase_create("counts");
    tcase_add_test(test_case, worked_example);
    tcase_add_loop_test(test_case, random_graphs, 0, 60);
    tcase_add_loop_test(test_case, random_graphs_with_unknown_ways, 0, 60);
    tcase_add_test(test_case, large_function);
    suite_add_tcase(suite, test_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
