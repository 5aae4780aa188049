/* Stacks that have a value, by a graph of calls: what is found, where memory is short at each
 * place, and how a search is stopped. */
#include <stdlib.h>
#include <string.h>

#include "program/context/context_search.h"
#include "tests/asserts.h"

#define DEPTH 24u
#define NAMES 40u

/* A run in which each function calls the two behind it, to some depth. */
static void make_graph(struct tool_edges *edges, bool is_seen)
{
    uint32_t around = 0;
    ck_assert(tool_edges_open(edges, 4096, UINT64_MAX));
    for (uint32_t i = 0; i < NAMES; i++) {
        uint32_t function = tool_edges_function(edges, 1000 + i * 7919);
        edges->functions[function].id = edges->functions[function].key;
        edges->functions[function].name = ttp_region_copy(&edges->region, "f", 1);
    }
    for (uint32_t i = 0; i + 2 <= NAMES; i++)
        for (uint32_t k = 1; k <= 2 && i + k <= NAMES; k++)
            tool_edges_edge(edges, i, i + k)->kinds |= TOOL_EDGE_DIRECT;
    for (uint32_t i = 1; i <= DEPTH && is_seen; i++) {
        around = tool_edges_context(edges, around, i);
        edges->contexts[around].entered++;
    }
    tool_edges_weigh(edges);
    ck_assert(!edges->region.is_short);
}

/* The value of the stack that has every function up to `depth`, but the second. */
static uint64_t value_of(const struct tool_edges *edges, uint32_t depth)
{
    uint64_t value = ttape_context_first(TTAPE_CONTEXT_AFFINE);
    for (uint32_t i = 1; i <= depth; i++)
        if (i != 2)
            value = ttape_context_enter(TTAPE_CONTEXT_AFFINE, value, edges->functions[i].id);
    return value;
}

struct found {
    uint32_t count, depth;
    bool is_right; /* 1, 3, 4, ... */
};

static void take(void *context, const struct tool_search_found *stack)
{
    struct found *found = context;
    found->count++;
    found->depth = stack->depth;
    found->is_right = true;
    for (uint32_t i = 0; i < stack->depth; i++)
        found->is_right = found->is_right && stack->functions[i] == (i == 0 ? 1 : i + 2);
}

static struct tool_search_options options_of(void)
{
    return (struct tool_search_options){.operation = TTAPE_CONTEXT_AFFINE,
                                        .news_most = 3,
                                        .prefixes_most = 128,
                                        .nodes_most = 16384,
                                        .deep_bytes = 1u << 14,
                                        .memory_bytes = UINT64_MAX};
}

START_TEST(a_stack_is_found_by_its_value)
{
    const struct tool_search_options options = options_of();
    struct tool_edges edges;
    struct tool_search search;
    make_graph(&edges, _i != 0);
    ck_assert(tool_search_open(&search, &edges, &options));
    for (uint32_t depth = 1; depth <= 12; depth++) {
        struct found found = {0};
        uint32_t own = depth > 1 ? depth - 1 : 1;
        (void)tool_search_run(&search, value_of(&edges, depth), own, take, &found);
        ck_assert_msg(found.count > 0 && found.depth == own && found.is_right, "depth %u: %u", own,
                      found.count);
    }
    ck_assert(!search.is_stopped && !search.region.is_short);
    tool_search_close(&search);
    tool_edges_close(&edges);
}
END_TEST

/* Each block in turn is the one that does not fit. */
START_TEST(short_memory_ends_it_cleanly)
{
    struct tool_search_options options = options_of();
    struct tool_edges edges;
    struct tool_search search;
    uint32_t refused = 0, cut = 0;
    make_graph(&edges, _i != 0);
    bool is_whole = false;
    for (options.memory_bytes = 64; !is_whole;
         options.memory_bytes += options.memory_bytes / 8 + 8) {
        if (!tool_search_open(&search, &edges, &options)) {
            ck_assert_ptr_null(search.region.blocks);
            refused++;
            continue;
        }
        struct found found = {0};
        (void)tool_search_run(&search, 12345, 20, take, &found); /* nothing has it */
        is_whole = !search.region.is_short;
        cut += !is_whole;
        tool_search_close(&search);
    }
    ck_assert_uint_gt(refused, 20);
    ck_assert_uint_gt(cut, 0);
    tool_edges_close(&edges);
}
END_TEST

static bool stop(void *context, uint64_t done, uint64_t all)
{
    (void)done;
    (void)all;
    return --*(uint32_t *)context != 0;
}

START_TEST(a_search_is_stopped_where_it_asks)
{
    struct tool_search_options options = options_of();
    struct tool_edges edges;
    struct tool_search search;
    uint32_t left, asked = 1;
    const ttape_watch watch = {stop, &left};
    make_graph(&edges, false);
    options.watch = &watch;
    for (bool is_stopped = true; is_stopped && asked < 64; asked *= 2) {
        struct found found = {0};
        left = asked;
        ck_assert(tool_search_open(&search, &edges, &options));
        bool is_whole = tool_search_run(&search, 12345, 20, take, &found);
        is_stopped = search.is_stopped;
        ck_assert(!is_stopped || !is_whole);
        tool_search_close(&search);
    }
    ck_assert_uint_gt(asked, 4);
    tool_edges_close(&edges);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("context_search");
    TCase *tests = tcase_create("context_search");
    tcase_add_loop_test(tests, a_stack_is_found_by_its_value, 0, 2);
    tcase_add_loop_test(tests, short_memory_ends_it_cleanly, 0, 2);
    tcase_add_test(tests, a_search_is_stopped_where_it_asks);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
