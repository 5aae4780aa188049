/* Blocks within a bound that end together (base/region.h), and what program/ makes of files in
 * them: where memory is short it says so, and never says anything else than with enough of it. */
#include <stdlib.h>

#include "base/region.h"
#include "program/callgraph/binary_strings.h"
#include "tests/asserts.h"

#define FILE_PATH "/bin/true"

START_TEST(a_region_bounds_its_blocks)
{
    struct ttp_region region = ttp_region_of(1000);
    char *one = ttp_region_take(&region, 100, 1), *two = ttp_region_copy(&region, "text", 4);
    ck_assert(one != NULL && two != NULL);
    for (size_t i = 0; i < 100; i++)
        ck_assert_int_eq(one[i], 0);
    ck_assert_str_eq(two, "text");
    uint64_t left = region.left_bytes;
    ck_assert_uint_lt(left, 1000 - 104);
    ttp_region_give(&region, one);
    ttp_region_give(&region, NULL);
    ck_assert_uint_gt(region.left_bytes, left + 99);
    ck_assert(!region.is_short);
    ck_assert_ptr_null(ttp_region_take(&region, 2000, 1));
    ck_assert(region.is_short);
    ck_assert_ptr_null(ttp_region_take(&region, 1, 1)); /* it stays so */
    ttp_region_close(&region);
    ck_assert_uint_eq(region.left_bytes, 1000);
    ck_assert_ptr_null(
        ttp_region_take(&(struct ttp_region){.left_bytes = UINT64_MAX}, UINT64_MAX, 2));
}
END_TEST

START_TEST(a_list_and_a_map_grow)
{
    struct ttp_region region = ttp_region_of(UINT64_MAX);
    struct ttp_key_map map = {0};
    uint32_t *list = NULL;
    size_t count = 0, capacity = 0;
    for (uint32_t i = 0; i < 5000; i++) {
        uint32_t *item = ttp_region_add(&region, &list, &count, &capacity, sizeof *item);
        ck_assert_uint_eq(*item, 0);
        *item = i;
        *ttp_region_at(&region, &map, i * UINT64_C(0x100000001), UINT32_MAX) = i;
    }
    for (uint32_t i = 0; i < 5000; i++) {
        ck_assert_uint_eq(list[i], i);
        ck_assert_uint_eq(ttp_key_map_find(&map, i * UINT64_C(0x100000001), UINT32_MAX), i);
    }
    ck_assert_uint_eq(ttp_key_map_find(&map, 1, 7), 7);
    region.left_bytes = 0;
    for (uint32_t i = 5000; !region.is_short; i++) /* until a key has no place */
        *ttp_region_at(&region, &map, i, 1) = i;
    ck_assert_uint_eq(*ttp_region_at(&region, &map, 1, 9), 9);
    ttp_region_close(&region);
}
END_TEST

struct found {
    size_t functions, edges, strings, uses;
};

/* False: memory was short. */
static bool look(uint64_t memory_bytes, struct found *found)
{
    struct tool_edges edges;
    struct tool_binary_graph graph = {0};
    struct tool_strings strings = {.region = ttp_region_of(memory_bytes)};
    bool fits = tool_edges_open(&edges, 1, memory_bytes) &&
                tool_binary_graph_open(&graph, &edges, TTAPE_CONTEXT_IDS_STABLE);
    graph.strings = &strings;
    fits = fits && tool_binary_graph_add(&graph, FILE_PATH) == NULL &&
           tool_binary_graph_add_ci_beside(&graph, FILE_PATH) == TOOL_BINARY_FINE &&
           tool_binary_graph_join(&graph) && tool_strings_settle(&strings, &graph) &&
           !edges.region.is_short;
    *found = (struct found){edges.function_count, edges.edge_count, strings.string_count,
                            strings.use_count};
    if (graph.edges != NULL && edges.region.is_short) /* whatever was added before */
        ck_assert(!tool_binary_graph_join(&graph));
    if (graph.edges != NULL)
        tool_binary_graph_close(&graph);
    tool_edges_close(&edges);
    ttp_region_close(&strings.region);
    return fits;
}

START_TEST(a_graph_of_a_file_is_whole_or_short)
{
    struct found whole, found;
    uint64_t memory_bytes = 0, tried = 0;
    if (!tool_decode_is_there())
        return;
    ck_assert(look(UINT64_MAX, &whole));
    ck_assert_uint_gt(whole.functions, 10);
    ck_assert_uint_gt(whole.edges, 10);
    for (; !look(memory_bytes, &found); memory_bytes += memory_bytes / 8 + 64)
        tried++;
    ck_assert_uint_gt(tried, 20);
    ck_assert_mem_eq(&found, &whole, sizeof whole);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("region");
    TCase *test_case = tcase_create("region");
    tcase_set_timeout(test_case, 60);
    tcase_add_test(test_case, a_region_bounds_its_blocks);
    tcase_add_test(test_case, a_list_and_a_map_grow);
    tcase_add_test(test_case, a_graph_of_a_file_is_whole_or_short);
    suite_add_tcase(suite, test_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
