/* Ways through blocks by their values: a worked example of two conditions and a loop, all of whose
 * end values are known; and bounds. */
#include <string.h>

#include "tests/asserts.h"
#include "tools/context/branches/branch_walk.h"

#define FIRST  UINT64_C(0x40052B)
#define SECOND UINT64_C(0x400548)
#define LOOP   UINT64_C(0x400570)

/* first? second? loop*: each may be followed by those behind it, the loop by itself, too. */
static const uint64_t ids[] = {FIRST, SECOND, LOOP};
static const uint32_t edges_first[] = {0, 2, 3, 4}, edges[] = {1, 2, 2, 2}, starts[] = {0, 1, 2};
static const struct tool_branch_bounds wide = {64, 100000, 1000000};

static struct tool_branch_graph graph_of(ttape_branch_operation operation)
{
    return (struct tool_branch_graph){operation, ids, 3, edges_first, edges, starts, 3};
}

/* What was found: each way as text, "12333". */
struct ways {
    char texts[64][72];
    uint32_t count;
};

static void take(void *context, const uint32_t *blocks, uint32_t count)
{
    struct ways *ways = context;
    ck_assert_uint_lt(ways->count, 64);
    for (uint32_t i = 0; i < count; i++)
        ways->texts[ways->count][i] = (char)('1' + blocks[i]);
    ways->texts[ways->count++][count] = '\0';
}

static bool has(const struct ways *ways, const char *text)
{
    for (uint32_t i = 0; i < ways->count; i++)
        if (strcmp(ways->texts[i], text) == 0)
            return true;
    return false;
}

static struct tool_branch_found ask(ttape_branch_operation operation, uint64_t value,
                                    uint32_t blocks, struct ways *ways)
{
    struct tool_branch_graph graph = graph_of(operation);
    *ways = (struct ways){.count = 0};
    return tool_branch_walk(&graph, value, blocks, &wide, take, ways);
}

START_TEST(worked_example)
{
    struct ways ways;
    struct tool_branch_found found = ask(TTAPE_BRANCH_XOR, 0x40052B, TOOL_BRANCH_ANY_BLOCKS, &ways);
    ck_assert(has(&ways, "1"));
    ck_assert(!found.is_whole);
    (void)ask(TTAPE_BRANCH_XOR, 0x63, TOOL_BRANCH_ANY_BLOCKS, &ways);
    ck_assert(has(&ways, "12") && has(&ways, "1233"));
    ck_assert_uint_eq(ways.count, 2);
    (void)ask(TTAPE_BRANCH_XOR, 0x400513, TOOL_BRANCH_ANY_BLOCKS, &ways);
    ck_assert(has(&ways, "123"));
    ck_assert_uint_eq(ways.count, 1);
    found = ask(TTAPE_BRANCH_XOR, 0x400513, 5, &ways);
    ck_assert(has(&ways, "12333") && found.is_whole);
    ck_assert_uint_eq(ways.count, 1);
}
END_TEST

/* All sixteen ends, by each operation: the way is found, and by addition it is the only one. */
START_TEST(all_ends)
{
    for (int i = 0; i < 16; i++) {
        char text[8] = "";
        if ((i & 8) != 0)
            strcat(text, "1");
        if ((i & 4) != 0)
            strcat(text, "2");
        for (int k = 0; k < (i & 3); k++)
            strcat(text, "3");
        for (int operation = TTAPE_BRANCH_AFFINE; operation <= TTAPE_BRANCH_ADD; operation++) {
            ttape_branch value = ttape_branch_first((ttape_branch_operation)operation);
            struct ways ways;
            for (const char *at = text; *at != '\0'; at++)
                ttape_branch_take((ttape_branch_operation)operation, &value, ids[*at - '1']);
            struct tool_branch_found found =
                ask((ttape_branch_operation)operation, value.value, value.blocks, &ways);
            ck_assert_msg(has(&ways, text), "%s", text);
            ck_assert(found.is_whole);
            if (operation != TTAPE_BRANCH_XOR)
                ck_assert_uint_eq(ways.count, 1);
            (void)ask((ttape_branch_operation)operation, value.value, value.blocks + 1, &ways);
            ck_assert(!has(&ways, text));
        }
    }
}
END_TEST

/* Two blocks in a loop, so that ways double with each one: where memory ends the rest is looked at
 * from behind, and where that takes too long it is said. */
START_TEST(bounds)
{
    static const uint64_t two[] = {0x1001, 0x1010};
    static const uint32_t first[] = {0, 2, 4}, next[] = {0, 1, 0, 1}, begin[] = {0, 1};
    struct tool_branch_graph graph = {TTAPE_BRANCH_AFFINE, two, 2, first, next, begin, 2};
    struct tool_branch_bounds small = {64, 3000, 1000000}, short_time = {64, 3000, 1000};
    struct ways ways = {.count = 0};
    ttape_branch value = ttape_branch_first(TTAPE_BRANCH_AFFINE);
    for (int i = 0; i < 22; i++)
        ttape_branch_take(TTAPE_BRANCH_AFFINE, &value, two[i % 3 == 0]);
    struct tool_branch_found found = tool_branch_walk(&graph, value.value, 22, &small, take, &ways);
    ck_assert_uint_eq(ways.count, 1);
    ck_assert(found.is_whole);
    ck_assert_str_eq(ways.texts[0], "2112112112112112112112");
    ways.count = 0;
    found = tool_branch_walk(&graph, value.value, 40, &short_time, take, &ways);
    ck_assert(!found.is_whole);
    found = tool_branch_walk(&graph, value.value, TOOL_BRANCH_ANY_BLOCKS, &small, take, &ways);
    ck_assert(!found.is_whole);
    ck_assert_uint_lt(found.blocks, 22);
    found = tool_branch_walk(&graph, value.value, 65, &small, take, &ways);
    ck_assert(!found.is_whole);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("branch walk");
    TCase *test_case = tcase_create("ways");
    tcase_add_test(test_case, worked_example);
    tcase_add_test(test_case, all_ends);
    tcase_add_test(test_case, bounds);
    suite_add_tcase(suite, test_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
