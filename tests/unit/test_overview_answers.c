/* Overviews change no answer (F-OVR-08): trees and the longest calls with them are those without,
 * of traces with every kind of event. Reports: test_overviews.c. */
#include <tracetape/longest.h>
#include <tracetape/tree.h>

#include "tests/unit/every.h"
#include "tests/unit/test_overview_fixture.h"

/* ---- the longest calls ---- */

static bool is_selected(void *context, uint32_t site)
{
    uint32_t wanted = *(const uint32_t *)context;
    return wanted == TTAPE_NONE || wanted == site;
}

/* Returns how much less was read of the first file. */
static int64_t compare_longest(const struct ttest_file *one, const struct ttest_file *two,
                               ttape_longest_options options, uint32_t site)
{
    struct counted of_one, of_two;
    ttape_reader *r = open_file(one, &of_one), *s = open_file(two, &of_two);
    ttape_longest *a, *b;
    ttape_error err = {0};
    uint32_t count, other;
    options.size = sizeof options;
    options.selects = is_selected;
    options.context = &site;
    of_one.bytes = of_two.bytes = 0;
    TTEST_OK(ttape_longest_find(&a, r, &options, &err));
    TTEST_OK(ttape_longest_find(&b, s, &options, &err));
    const ttape_longest_call *mine = ttape_longest_get_calls(a, &count);
    const ttape_longest_call *theirs = ttape_longest_get_calls(b, &other);
    ck_assert_uint_eq(count, other);
    for (uint32_t i = 0; i < count; i++) {
        ck_assert_int_eq(mine[i].duration_ns, theirs[i].duration_ns);
        ck_assert_uint_eq(mine[i].site, theirs[i].site);
        ck_assert_uint_eq(mine[i].stream, theirs[i].stream);
        ck_assert_uint_eq(mine[i].enter_number, theirs[i].enter_number);
        ck_assert_uint_eq(mine[i].end_number, theirs[i].end_number);
        ck_assert_uint_eq(mine[i].path_count, theirs[i].path_count);
        for (uint32_t f = 0; f < mine[i].path_count; f++)
            ck_assert_mem_eq(&mine[i].path[f], &theirs[i].path[f], sizeof *mine[i].path);
        ttape_longest_call a_call = mine[i], b_call = theirs[i]; /* all but pointers */
        a_call.path = b_call.path = NULL;
        a_call.arguments = a_call.results = b_call.arguments = b_call.results = NULL;
        ck_assert_mem_eq(&a_call, &b_call, sizeof a_call);
    }
    ttape_longest_close(a);
    ttape_longest_close(b);
    ttape_reader_close(r);
    ttape_reader_close(s);
    return (int64_t)(of_two.bytes - of_one.bytes);
}

START_TEST(longest_calls_are_the_same)
{
    struct ttest_file with = make(_i, true, PERIOD), without = make(_i, true, UINT64_MAX);
    const uint32_t first[] = {0};
    int64_t less = 0;
    for (uint32_t site = 0; site < 12; site += ttest_every(7)) {
        uint32_t wanted = site < 10 ? site : TTAPE_NONE;
        const ttape_longest_options ways[] = {{.count = 1, .jobs = 1, .ended_only = true},
                                              {.count = 1 + site},
                                              {.count = 500, .jobs = 3},
                                              {.by = TTAPE_LONGEST_BY_SELF},
                                              {.by = TTAPE_LONGEST_BY_ON_CPU, .count = 3},
                                              {.has_range = true, .from_ns = 9000, .to_ns = 60000},
                                              {.streams = first, .stream_count = 1}};
        /* with sanitizers half of them of each function */
        for (size_t i = site / 7 % ttest_every(2); i < sizeof ways / sizeof ways[0];
             i += ttest_every(2)) {
            int64_t one = compare_longest(&with, &without, ways[i], wanted);
            less += i == 0 ? one : 0;
        }
    }
    if (plans[_i].resolution_ns != TTAPE_TIME_NONE)
        ck_assert_int_gt(less, 0); /* overviews were asked */
    free(with.data);
    free(without.data);
}
END_TEST

/* Calls that overviews list are those that events give; some are told without these. */
START_TEST(listed_calls_are_the_same)
{
    struct ttest_file with = make(_i, false, PERIOD), without = make(_i, false, UINT64_MAX);
    const uint32_t first[] = {0};
    const ttape_longest_options ways[] = {
        {.count = 1},
        {.count = 6, .jobs = 2},
        {.count = 500},
        {.count = 5000},
        {.count = 40, .has_range = true, .from_ns = 9000, .to_ns = 60000},
        {.count = 40, .streams = first, .stream_count = 1}};
    int64_t less = 0;
    for (uint32_t site = 0; site < 12; site += 3 * ttest_every(2))
        for (size_t i = site / 6 % ttest_every(2); i < sizeof ways / sizeof ways[0];
             i += ttest_every(2)) {
            ttape_longest_options options = ways[i];
            options.names_only = true;
            int64_t one = compare_longest(&with, &without, options, site < 9 ? site : TTAPE_NONE);
            less += i == 0 ? one : 0;
        }
    if (plans[_i].resolution_ns != TTAPE_TIME_NONE)
        ck_assert_int_gt(less, 0);
    free(with.data);
    free(without.data);
}
END_TEST

/* Calls of up to three, in two streams, nearly all within one partition. in_leaves: nearly all time
 * is that of calls that call nothing. */
static struct ttest_file short_calls(uint64_t period, bool in_leaves)
{
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer_options o = {.size = sizeof o, .partition_events = 60, .overview_period = period};
    ttape_writer *w;
    uint64_t seed = 11, time = 1000;
    uint32_t depth[2] = {0};
    bool entered[2] = {false};
    TTEST_OK(ttape_writer_open(&w, &sink, &o, &err));
    ttest_define(w, 2);
    for (uint32_t i = 0; i < 3000; i++) {
        uint32_t stream = i / 9 % 2;
        bool enters = depth[stream] == 0 || (depth[stream] < 3 && ttest_random(&seed, 2) == 0);
        depth[stream] -= !enters;
        time += in_leaves ? enters || !entered[stream] ? 1 : 100
                          : 1 + ttest_random(&seed, 8) * ttest_random(&seed, 8);
        entered[stream] = enters;
        ttape_event e = {.time_ns = time,
                         .kind = enters ? TTAPE_EVENT_ENTER : TTAPE_EVENT_EXIT,
                         .site = depth[stream],
                         .depth = TTAPE_DEPTH_AUTO};
        depth[stream] += enters;
        TTEST_OK(ttape_writer_append(w, stream, &e, 1, &err));
    }
    TTEST_OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
    return ttest_take(&memory);
}

static uint64_t decoded_for(const struct ttest_file *file, uint32_t count, uint32_t site)
{
    ttape_longest_options options = {.size = sizeof options,
                                     .count = count,
                                     .names_only = true,
                                     .selects = is_selected,
                                     .context = &site};
    struct counted counted;
    ttape_reader *r = open_file(file, &counted);
    ttape_longest *longest;
    ttape_longest_info info;
    ttape_error err = {0};
    TTEST_OK(ttape_longest_find(&longest, r, &options, &err));
    ttape_longest_get_info(longest, &info);
    ttape_longest_close(longest);
    ttape_reader_close(r);
    return info.decoded_count;
}

START_TEST(listed_calls_need_few_partitions)
{
    struct ttest_file with = short_calls(PERIOD, false), without = short_calls(UINT64_MAX, false);
    for (uint32_t site = 0; site < 3; site++)
        for (uint32_t count = 1; count < 700; count = 2 * count + 1)
            (void)compare_longest(
                &with, &without,
                (ttape_longest_options){.count = count, .names_only = true, .jobs = 1 + site % 2},
                site);
    /* some were entered in the partition before */
    ck_assert_uint_lt(decoded_for(&with, 20, 2), decoded_for(&without, 20, 2) / 2);
    free(with.data);
    free(without.data);
}
END_TEST

/* A callee for which its caller is left out is asked for itself: it ends in the range, and its
 * function is selected. */
START_TEST(callers_are_left_out_the_same)
{
    struct ttest_file with = short_calls(2, true), without = short_calls(UINT64_MAX, true);
    ttape_longest_options options = {
        .count = 4000, .names_only = true, .without_callers = true, .jobs = 1};
    for (uint32_t site = 0; site < 4; site++)
        (void)compare_longest(&with, &without, options, site < 3 ? site : TTAPE_NONE);
    options.has_range = true;
    for (uint64_t from_ns = 1090; from_ns < 1220; from_ns += ttest_every(7)) {
        options.from_ns = from_ns;
        options.to_ns = from_ns + 1000;
        (void)compare_longest(&with, &without, options, TTAPE_NONE);
    }
    free(with.data);
    free(without.data);
}
END_TEST

static void compare_shares(ttape_tree *one, ttape_tree *two, uint32_t partitions)
{
    const ttape_tree_share *mine, *theirs;
    ttape_error err = {0};
    uint32_t count, other;
    uint64_t all, other_all;
    for (uint32_t p = 0; p < partitions; p++) {
        TTEST_OK(ttape_tree_get_shares(one, p, &mine, &count, &all, &err));
        TTEST_OK(ttape_tree_get_shares(two, p, &theirs, &other, &other_all, &err));
        ck_assert_uint_eq(count, other);
        ck_assert_uint_eq(all, other_all);
        for (uint32_t i = 0; i < count; i++)
            ck_assert(mine[i].site == theirs[i].site && mine[i].weight == theirs[i].weight);
    }
}

/* Everything below two nodes of the same name. */
static uint64_t compare_nodes(ttape_tree *one, ttape_tree *two, const ttape_node_id *id)
{
    ttape_tree_walk *a, *b;
    ttape_node mine, theirs;
    ttape_error err = {0};
    uint64_t count = 1;
    TTEST_OK(ttape_tree_walk_open(&a, one, id, TTAPE_TREE_PRUNED, &err));
    TTEST_OK(ttape_tree_walk_open(&b, two, id, TTAPE_TREE_PRUNED, &err));
    for (;;) {
        ttape_status status = ttape_tree_walk_next(a, &mine, &err);
        ck_assert_int_eq(status, ttape_tree_walk_next(b, &theirs, &err));
        if (status == TTAPE_END)
            break;
        TTEST_OK(status);
        ck_assert_mem_eq(&mine, &theirs, sizeof mine);
        if (mine.id.kind != TTAPE_NODE_PART)
            count += compare_nodes(one, two, &mine.id);
    }
    ttape_tree_walk_close(a);
    ttape_tree_walk_close(b);
    return count;
}

/* Returns how much less was read of the first file. `cache`: 0 or so few bytes that outlines are
 * made again and again. */
static int64_t compare_trees(const struct ttest_file *one, const struct ttest_file *two,
                             uint64_t cache)
{
    const ttape_node_id trace = {.kind = TTAPE_NODE_TRACE};
    ttape_tree_options options = {.size = sizeof options, .cache_bytes = cache};
    struct counted of_one, of_two;
    ttape_reader *r = open_file(one, &of_one), *s = open_file(two, &of_two);
    ttape_tree *a, *b;
    ttape_error err = {0};
    of_one.bytes = of_two.bytes = 0;
    TTEST_OK(ttape_tree_open(&a, r, &options, &err));
    TTEST_OK(ttape_tree_open(&b, s, &options, &err));
    ck_assert_uint_gt(compare_nodes(a, b, &trace), r->partition_count / 2);
    int64_t less = (int64_t)(of_two.bytes - of_one.bytes);
    compare_shares(a, b, r->partition_count);
    ttape_tree_close(a);
    ttape_tree_close(b);
    ttape_reader_close(r);
    ttape_reader_close(s);
    return less;
}

START_TEST(trees_are_the_same)
{
    for (int measured = 0; measured < 2; measured += (int)ttest_every(2)) {
        struct ttest_file with = make(_i, measured != 0, PERIOD);
        struct ttest_file without = make(_i, measured != 0, UINT64_MAX);
        int64_t less = compare_trees(&with, &without, 0);
        if (plans[_i].resolution_ns != TTAPE_TIME_NONE) /* else events are looked at */
            ck_assert_int_gt(less, 0);
        if (_i % (int)ttest_every(PLANS) == 0) /* it takes longest: with sanitizers of one trace */
            (void)compare_trees(&with, &without, 20000);
        content_of(&with, 1)[9] ^= 0x10;
        content_of(&with, 4)[9] ^= 0x10;
        (void)compare_trees(&with, &without, 0);
        free(with.data);
        free(without.data);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("overview_answers");
    TCase *t = tcase_create("overview_answers");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, longest_calls_are_the_same, 0, PLANS);
    tcase_add_loop_test(t, listed_calls_are_the_same, 0, PLANS);
    tcase_add_test(t, callers_are_left_out_the_same);
    tcase_add_test(t, listed_calls_need_few_partitions);
    tcase_add_loop_test(t, trees_are_the_same, 0, PLANS);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
