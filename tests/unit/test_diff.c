/* Two runs side by side: number by number; a call that moved to another caller; three runs a side
 * are their medians; what is refused, stopped, or past the memory. */
#include <tracetape/diff.h>

#include "tests/unit/report_model.h"

enum { MAIN, WORK, LEAF, SITES };

struct event {
    uint32_t time;
    ttape_event_kind kind;
    uint32_t site;
};

/* main calls leaf and work, which calls itself and leaf. */
static const struct event run_a[] = {{100, TTAPE_EVENT_ENTER, MAIN}, {110, TTAPE_EVENT_ENTER, LEAF},
                                     {115, TTAPE_EVENT_EXIT, LEAF},  {120, TTAPE_EVENT_ENTER, WORK},
                                     {130, TTAPE_EVENT_ENTER, WORK}, {140, TTAPE_EVENT_ENTER, LEAF},
                                     {160, TTAPE_EVENT_EXIT, LEAF},  {170, TTAPE_EVENT_EXIT, WORK},
                                     {190, TTAPE_EVENT_EXIT, WORK},  {200, TTAPE_EVENT_EXIT, MAIN}};
/* work calls leaf twice, and main does not. */
static const struct event run_b[] = {{100, TTAPE_EVENT_ENTER, MAIN}, {120, TTAPE_EVENT_ENTER, WORK},
                                     {130, TTAPE_EVENT_ENTER, LEAF}, {140, TTAPE_EVENT_EXIT, LEAF},
                                     {150, TTAPE_EVENT_ENTER, LEAF}, {170, TTAPE_EVENT_EXIT, LEAF},
                                     {190, TTAPE_EVENT_EXIT, WORK},  {200, TTAPE_EVENT_EXIT, MAIN}};
#define COUNT(events) (sizeof(events) / sizeof((events)[0]))

struct opened {
    struct ttest_file file;
    ttape_source source;
    ttape_reader *reader;
};

/* `slower`: of all times, in percent. */
static struct opened open_run(const struct event *events, size_t count, uint32_t slower)
{
    static const char *const names[SITES] = {"main", "work", "leaf"};
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
    for (size_t i = 0; i < count; i++) {
        ttape_event e = {.time_ns = events[i].time * (100u + slower),
                         .kind = events[i].kind,
                         .site = events[i].site,
                         .depth = TTAPE_DEPTH_AUTO};
        ck_assert_int_eq(ttape_writer_append(w, 0, &e, 1, NULL), TTAPE_OK);
    }
    ck_assert_int_eq(ttape_writer_finish(w, NULL), TTAPE_OK);
    ttape_writer_close(w);
    return (struct opened){.file = ttest_take(&memory)};
}

static void open_reader(struct opened *o)
{
    ttape_error err = {0};
    o->source = ttape_source_memory(o->file.data, o->file.size_bytes);
    TTEST_OK(ttape_reader_open(&o->reader, &o->source, NULL, &err));
}

#define RUNS 6u
static struct opened opened[RUNS];
static ttape_reader *readers[RUNS]; /* A, B, and each of them slower by 10 % twice */

static void setup(void)
{
    static const uint32_t slower[RUNS] = {0, 10, 20, 0, 10, 20};
    for (uint32_t i = 0; i < RUNS; i++) {
        opened[i] = i < 3 ? open_run(run_a, COUNT(run_a), slower[i])
                          : open_run(run_b, COUNT(run_b), slower[i]);
        open_reader(&opened[i]);
        readers[i] = opened[i].reader;
    }
}

static void teardown(void)
{
    for (uint32_t i = 0; i < RUNS; i++) {
        ttape_reader_close(opened[i].reader);
        free(opened[i].file.data);
    }
}

static ttape_reader *two[2];

static ttape_diff *make_two(ttape_diff_options how)
{
    ttape_diff *diff;
    ttape_error err = {0};
    how.size = sizeof how;
    two[0] = readers[0];
    two[1] = readers[3];
    TTEST_OK(ttape_diff_make(&diff, two, 2, &how, &err));
    return diff;
}

static uint32_t key_of(const ttape_diff *diff, const char *name)
{
    uint32_t count;
    const ttape_function *rows = ttape_functions_get_rows(ttape_diff_get_keys(diff), &count);
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].symbol.size_bytes == strlen(name) &&
            memcmp(rows[i].symbol.data, name, strlen(name)) == 0)
            return i;
    ck_abort_msg("no function %s", name);
    return TTAPE_NONE;
}

static const ttape_diff_side *sides_of(const ttape_diff *diff, const ttape_diff_rows *rows,
                                       const char *name)
{
    for (uint32_t i = 0; i < rows->row_count; i++)
        if (rows->rows[i].key == key_of(diff, name))
            return &rows->sides[(size_t)i * 2];
    ck_abort_msg("no row of %s", name);
    return NULL;
}

START_TEST(functions_of_two_runs)
{
    ttape_diff *diff = make_two((ttape_diff_options){0});
    const ttape_diff_rows *rows = ttape_diff_get_functions(diff);
    static const struct {
        const char *name;
        uint64_t calls[2];
        int64_t self_ns[2];
    } wanted[] = {{"main", {1, 1}, {2500, 3000}},
                  {"work", {2, 1}, {5000, 4000}},
                  {"leaf", {2, 2}, {2500, 3000}}};
    ck_assert(ttape_diff_has_times(diff));
    ck_assert_uint_eq(rows->row_count, 3);
    ck_assert_uint_eq(rows->order_count, 3);
    ck_assert_uint_eq(rows->rows[rows->order[0]].key, key_of(diff, "work"));
    ck_assert_uint_eq(rows->state_counts[TTAPE_DIFF_CHANGED], 3);
    for (size_t i = 0; i < COUNT(wanted); i++)
        for (int side = 0; side < 2; side++) {
            const ttape_diff_side *at = &sides_of(diff, rows, wanted[i].name)[side];
            ck_assert(at->is_there && !at->is_partial);
            ck_assert_uint_eq(at->calls, wanted[i].calls[side]);
            ck_assert_int_eq(at->self_ns, wanted[i].self_ns[side]);
        }
    ttape_diff_close(diff);
}
END_TEST

START_TEST(paths_and_other_callers)
{
    uint32_t count;
    ttape_diff *diff = make_two((ttape_diff_options){0});
    const ttape_diff_rows *rows = ttape_diff_get_paths(diff);
    ck_assert_uint_eq(rows->row_count, 6);
    ck_assert_uint_eq(rows->depth_limit, 0);
    ck_assert_uint_eq(rows->state_counts[TTAPE_DIFF_GONE], 3);
    ck_assert_uint_eq(rows->state_counts[TTAPE_DIFF_NEW], 1);
    const ttape_diff_move *moves = ttape_diff_get_moves(diff, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(moves[0].key, key_of(diff, "leaf"));
    ck_assert_uint_eq(moves[0].calls, 1);
    ck_assert_uint_eq(moves[0].callers[0].key, key_of(diff, "main"));
    ck_assert_uint_eq(moves[0].callers[1].key, key_of(diff, "work"));
    ttape_diff_close(diff);
    diff = make_two((ttape_diff_options){.depth = 2, .no_functions = true});
    ck_assert_ptr_null(ttape_diff_get_functions(diff));
    ck_assert_uint_eq(ttape_diff_get_paths(diff)->row_count, 3);
    ck_assert_uint_eq(ttape_diff_get_paths(diff)->depth_limit, 2);
    ttape_diff_close(diff);
}
END_TEST

/* The runs of a side differ by 10 and 20 %: by less nothing changed. */
START_TEST(sides_of_three_runs)
{
    const ttape_diff_options how = {.size = sizeof how, .a_count = 3};
    ttape_diff *diff;
    ttape_error err = {0};
    TTEST_OK(ttape_diff_make(&diff, readers, RUNS, &how, &err));
    const ttape_diff_rows *rows = ttape_diff_get_functions(diff);
    ck_assert_uint_eq(rows->trace_count, RUNS);
    ck_assert_int_eq(sides_of(diff, rows, "main")[0].self_ns, 2750);
    ck_assert_int_eq(sides_of(diff, rows, "main")[1].self_ns, 3300);
    ck_assert_uint_eq(sides_of(diff, rows, "work")[0].calls, 2);
    ttape_diff_close(diff);
    ttape_reader *const same[4] = {readers[0], readers[1], readers[2], readers[1]};
    TTEST_OK(ttape_diff_make(&diff, same, 4, &how, &err));
    ck_assert_uint_eq(ttape_diff_get_functions(diff)->order_count, 0);
    ttape_diff_close(diff);
}
END_TEST

static bool stop_later(void *context, uint64_t done, uint64_t all)
{
    ck_assert(all == 0 || done < all);
    return (*(uint32_t *)context)-- > 0;
}

START_TEST(what_cannot_be_is_refused)
{
    ttape_diff *diff;
    ttape_error err = {0};
    uint32_t count;
    two[0] = readers[0];
    two[1] = readers[3];
    ck_assert_int_eq(ttape_diff_make(NULL, two, 2, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_diff_make(&diff, two, 1, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_ptr_null(diff);
    ttape_diff_options how = {.size = sizeof how, .a_count = 2};
    ck_assert_int_eq(ttape_diff_make(&diff, two, 2, &how, &err), TTAPE_E_ARGUMENT);
    for (uint32_t left = 0; left < 2; left++) {
        uint32_t still = left;
        const ttape_watch watch = {stop_later, &still};
        how = (ttape_diff_options){.size = sizeof how, .watch = &watch};
        ck_assert_int_eq(ttape_diff_make(&diff, two, 2, &how, &err), TTAPE_E_STATE);
        ck_assert_ptr_null(diff);
    }
    ttape_diff_close(NULL);
    ck_assert_ptr_null(ttape_diff_get_functions(NULL));
    ck_assert_ptr_null(ttape_diff_get_moves(NULL, &count));
    ck_assert_uint_eq(count, 0);
}
END_TEST

#define DEEP 64u

/* Many call paths of one function. */
static struct opened open_deep_run(void)
{
    struct event events[2 * DEEP];
    for (uint32_t i = 0; i < 2 * DEEP; i++)
        events[i] = (struct event){i, i < DEEP ? TTAPE_EVENT_ENTER : TTAPE_EVENT_EXIT, WORK};
    return open_run(events, 2 * DEEP, 0);
}

/* A diff says that memory is short, until there is enough for all of its call paths. */
static void sweep_memory(ttape_reader *const *runs, uint32_t count, uint32_t row_count)
{
    uint32_t refused = 0;
    ttape_diff *diff;
    ttape_error err = {0};
    ttape_diff_options how = {.size = sizeof how, .memory_bytes = 1, .a_count = count / 2};
    for (;; how.memory_bytes += 200 + how.memory_bytes / 32) {
        ttape_status status = ttape_diff_make(&diff, runs, count, &how, &err);
        if (status == TTAPE_OK && ttape_diff_get_paths(diff)->depth_limit == 0)
            break;
        refused += status != TTAPE_OK;
        if (status != TTAPE_OK)
            ck_assert_int_eq(status, TTAPE_E_LIMIT);
        ttape_diff_close(diff);
    }
    ck_assert_uint_gt(refused, 20);
    ck_assert_uint_eq(ttape_diff_get_paths(diff)->row_count, row_count);
    ttape_diff_close(diff);
}

START_TEST(memory_is_short)
{
    two[0] = readers[0];
    two[1] = readers[3];
    sweep_memory(two, 2, 6);
    sweep_memory(readers, RUNS, 6);
    struct opened deep = open_deep_run();
    open_reader(&deep);
    ttape_reader *same[] = {deep.reader, deep.reader, deep.reader, deep.reader};
    sweep_memory(same, 4, DEEP);
    ttape_reader_close(deep.reader);
    free(deep.file.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("diff");
    TCase *tests = tcase_create("diff");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, functions_of_two_runs);
    tcase_add_test(tests, paths_and_other_callers);
    tcase_add_test(tests, sides_of_three_runs);
    tcase_add_test(tests, what_cannot_be_is_refused);
    tcase_add_test(tests, memory_is_short);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
