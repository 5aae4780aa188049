/* One reader, eight threads: each gets what one gets alone. */
#include <pthread.h>
#include <stdlib.h>

#include "tests/asserts.h"
#include "tests/unit/every.h"

#include <tracetape/calls.h>
#include <tracetape/longest.h>
#include <tracetape/report.h>
#include <tracetape/tree.h>

#include "tests/unit/analysis_fixture.h"

#define THREADS 8u
#define ROUNDS  6u

/* What was said, as one number, and how often nothing was. */
struct said {
    uint64_t sum, failures;
};

struct asker {
    ttape_reader *reader;
    struct said said;
    pthread_t thread;
    uint32_t number;
};

static void mix(struct said *said, uint64_t value)
{
    said->sum = (said->sum ^ value) * UINT64_C(0x100000001b3);
}

static bool holds(struct said *said, ttape_status status)
{
    said->failures += status != TTAPE_OK && status != TTAPE_END && status != TTAPE_E_NOT_FOUND;
    return status == TTAPE_OK;
}

static void add_report(ttape_reader *r, uint64_t from_ns, uint32_t number, struct said *said)
{
    ttape_report *report;
    uint32_t count;
    const ttape_report_options o = {.size = sizeof o,
                                    .has_range = from_ns != 0,
                                    .from_ns = from_ns,
                                    .to_ns = UINT64_MAX,
                                    .jobs = 1 + number % 2};
    (void)holds(said, ttape_report_make(&report, r, &o, NULL));
    const ttape_report_row *rows = ttape_report_get_rows(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        mix(said, (uint64_t)rows[i].total_ns);
        mix(said, rows[i].call_count);
    }
    ttape_report_close(report);
}

static void add_longest(ttape_reader *r, uint64_t from_ns, struct said *said)
{
    ttape_longest *longest;
    uint32_t count;
    const ttape_longest_options o = {
        .size = sizeof o, .has_range = true, .from_ns = from_ns, .to_ns = UINT64_MAX};
    (void)holds(said, ttape_longest_find(&longest, r, &o, NULL));
    const ttape_longest_call *calls = ttape_longest_get_calls(longest, &count);
    for (uint32_t i = 0; i < count; i++)
        mix(said, (uint64_t)calls[i].duration_ns + calls[i].enter_number);
    ttape_longest_close(longest);
}

static void add_tree(ttape_reader *r, struct said *said)
{
    ttape_tree *tree;
    ttape_tree_walk *walk;
    ttape_node node;
    const ttape_node_id id = {.kind = TTAPE_NODE_STREAM};
    if (holds(said, ttape_tree_open(&tree, r, NULL, NULL)) &&
        holds(said, ttape_tree_walk_open(&walk, tree, &id, TTAPE_TREE_FULL, NULL))) {
        while (holds(said, ttape_tree_walk_next(walk, &node, NULL)))
            mix(said, (uint64_t)node.self_ns + node.call_count);
        ttape_tree_walk_close(walk);
    }
    ttape_tree_close(tree);
}

static void add_calls(ttape_reader *r, struct said *said)
{
    ttape_call_cursor *cursor;
    ttape_call call;
    const ttape_call_options o = {.size = sizeof o, .values = true};
    if (!holds(said, ttape_call_cursor_open(&cursor, r, &o, NULL)))
        return;
    while (holds(said, ttape_call_cursor_next(cursor, &call, NULL)))
        mix(said, (uint64_t)call.total_ns + call.argument_count);
    ttape_call_cursor_close(cursor);
}

static void add_partitions(ttape_reader *r, uint64_t partition_count, struct said *said)
{
    const ttape_summary_row *rows;
    ttape_segment_info segment;
    uint32_t count;
    for (uint32_t i = 0; i < partition_count; i++) {
        if (!holds(said, ttape_reader_get_summary(r, i, &rows, &count, NULL)))
            continue;
        if (holds(said, ttape_reader_get_segment(r, i, 0, &segment, NULL)))
            mix(said, segment.start.frame_count + segment.end.frame_count);
        for (uint32_t k = 0; k < count; k++)
            mix(said, (uint64_t)rows[k].self_ns);
    }
}

static void ask_all(ttape_reader *r, uint32_t number, struct said *said)
{
    ttape_info info;
    ttape_reader_get_info(r, &info);
    uint64_t from = info.time_first_ns + (info.time_last_ns - info.time_first_ns) / 9 * number;
    mix(said, number);
    add_report(r, from, number, said);
    add_longest(r, from, said);
    add_tree(r, said);
    add_calls(r, said);
    add_partitions(r, info.partition_count, said);
}

static void *run(void *context)
{
    struct asker *a = context;
    for (uint32_t i = 0; i < ROUNDS; i += ttest_every(3))
        ask_all(a->reader, (a->number + i) % THREADS, &a->said);
    return NULL;
}

static ttape_reader *open_with(const struct ttest_file *file, const ttape_reader_options *options)
{
    ttape_error err = {0};
    ttape_reader *r;
    ttape_source source = ttape_source_memory(file->data, file->size_bytes);
    TTEST_OK(ttape_reader_open(&r, &source, options, &err));
    return r;
}

static void ask_together(ttape_reader *r, struct asker together[THREADS])
{
    for (uint32_t i = 0; i < THREADS; i++) {
        together[i] = (struct asker){.reader = r, .number = i};
        ck_assert_int_eq(pthread_create(&together[i].thread, NULL, run, &together[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(together[i].thread, NULL);
}

static void compare(const struct ttest_file *file, const ttape_reader_options *options,
                    bool is_tight)
{
    struct asker alone[THREADS] = {0}, together[THREADS] = {0};
    for (uint32_t i = 0; i < THREADS; i++) {
        alone[i] = (struct asker){.reader = open_with(file, NULL), .number = i};
        (void)run(&alone[i]);
        ttape_reader_close(alone[i].reader);
        ck_assert_uint_eq(alone[i].said.failures, 0);
    }
    ttape_reader *r = open_with(file, options);
    ask_together(r, together);
    ttape_reader_close(r);
    for (uint32_t i = 0; i < THREADS; i++) {
        if (!is_tight)
            ck_assert_uint_eq(together[i].said.failures, 0);
        if (together[i].said.failures == 0)
            ck_assert_uint_eq(alone[i].said.sum, together[i].said.sum);
    }
}

START_TEST(eight_threads_get_what_one_gets)
{
    struct ttest_file file = ttest_write(&ttest_plans[_i]);
    const ttape_reader_options small = {.size = sizeof small, .cache_bytes = 100000};
    compare(&file, NULL, false);
    compare(&file, &small, false);
    free(file.data);
}
END_TEST

/* Where the memory is too small for all at once, some calls fail; none waits for ever, and none
 * says anything else. */
START_TEST(little_memory_keeps_nobody)
{
    struct ttest_file file = ttest_write(&ttest_plans[_i]);
    const ttape_reader_options o = {.size = sizeof o, .limits.memory_bytes = 1u << 20};
    compare(&file, &o, true);
    free(file.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reader_threads");
    TCase *tests = tcase_create("tests");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, eight_threads_get_what_one_gets, 0, TTEST_PLANS);
    tcase_add_loop_test(tests, little_memory_keeps_nobody, 0, TTEST_PLANS);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
