/* Clocks as the library answers: pairs of two traces, damage between them, what is refused, and
 * where memory is short. What is true of clocks: tests/cli/test_clocks.py. */
#include <tracetape/clocks.h>

#include "tests/unit/test_reader_fixture.h"

#define PARTITION_EVENTS 1000u
#define MESSAGES         70000u /* a stream asks its watch in 65,536 events */
#define BETWEEN_NS       1000u
#define LATE_NS          100u /* messages of both hosts need so long */
#define AHEAD_NS         5000u

/* Both send and receive by turns: even numbers go from the first host to the second. */
static struct ttest_file make(uint32_t host)
{
    static const char *const boots[] = {"one", "two"}, *const symbols[] = {"sent", "received"};
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer_options options = {.size = sizeof options, .partition_events = PARTITION_EVENTS};
    const ttape_process process = {.pid = 7, .parent = TTAPE_NONE};
    const ttape_stream stream = {.tid = 7};
    ttape_error err = {0};
    ttape_writer *w;
    uint32_t id;
    TTEST_OK(ttape_writer_open(&w, &sink, &options, &err));
    TTEST_OK(ttape_writer_set_text(w, "boot_id", ttest_string(boots[host]), &err));
    TTEST_OK(ttape_writer_add_process(w, &process, &id, &err));
    for (uint32_t i = 0; i < 2; i++) {
        const ttape_site site = {.address = 16 * i + 16,
                                 .module = TTAPE_NONE,
                                 .kind = TTAPE_SITE_MARKER,
                                 .symbol = ttest_string(symbols[i])};
        TTEST_OK(ttape_writer_add_site(w, &site, &id, &err));
    }
    TTEST_OK(ttape_writer_add_stream(w, &stream, &id, &err));
    for (uint32_t i = 0; i < MESSAGES; i++) {
        bool is_received = i % 2 != host;
        const ttape_event event = {.time_ns = (uint64_t)(i + 1) * BETWEEN_NS + host * AHEAD_NS +
                                              (is_received ? LATE_NS : 0),
                                   .kind = TTAPE_EVENT_LEAF,
                                   .site = is_received,
                                   .depth = TTAPE_DEPTH_AUTO};
        const ttape_value number = {.type = TTAPE_VALUE_UNSIGNED, .number = i};
        TTEST_OK(ttape_writer_append(w, 0, &event, 1, &err));
        TTEST_OK(ttape_writer_attach(w, 0, &number, 1, &err));
    }
    TTEST_OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
    return ttest_take(&memory);
}

START_TEST(damage_costs_the_pairs_in_it)
{
    for (uint32_t damaged = 0; damaged < 2; damaged++) {
        struct ttest_trace t[2] = {ttest_open_trace(make(0)), ttest_open_trace(make(1))};
        ttape_reader *readers[] = {t[0].reader, t[1].reader};
        ttape_error err = {0};
        ttape_partition_info p;
        ttape_clocks *clocks;
        ttape_clocks_info info;
        ttape_clock_shift first, second;
        TTEST_OK(ttape_reader_get_partition(t[1].reader, 3, &p));
        if (damaged != 0)
            t[1].file.data[p.offset + p.stored_bytes / 2] ^= 0x10;
        TTEST_OK(ttape_clocks_find(&clocks, readers, 2, NULL, &err));
        ttape_clocks_get_info(clocks, &info);
        TTEST_OK(ttape_clocks_get_shift(clocks, 0, 0, &first));
        TTEST_OK(ttape_clocks_get_shift(clocks, 1, 0, &second));
        ck_assert_uint_eq(info.clock_count, 2);
        ck_assert_uint_eq(info.pair_count, MESSAGES - damaged * PARTITION_EVENTS);
        ck_assert_uint_eq(first.shift_ns - second.shift_ns, AHEAD_NS);
        ck_assert(second.is_placed && second.has_error && second.error_ns <= LATE_NS + 5);
        ck_assert_int_eq(ttape_clocks_get_shift(clocks, 1, 1, &second), TTAPE_E_NOT_FOUND);
        ck_assert_int_eq(ttape_clocks_get_shift(clocks, 2, 0, &second), TTAPE_E_NOT_FOUND);
        ttape_clocks_close(clocks);
        ttest_close_trace(&t[0]);
        ttest_close_trace(&t[1]);
    }
}
END_TEST

static bool stop(void *context, uint64_t done, uint64_t all)
{
    (void)done, (void)all;
    return --*(uint32_t *)context != 0;
}

START_TEST(what_cannot_be_is_refused)
{
    struct ttest_trace t[2] = {ttest_open_trace(make(0)), ttest_open_trace(make(1))};
    ttape_reader *readers[] = {t[0].reader, t[1].reader, NULL};
    ttape_clocks *clocks;
    ttape_error err = {0};
    uint32_t left = 2, refused = 0;
    const ttape_watch watch = {stop, &left};
    ttape_clocks_options how = {.size = sizeof how, .watch = &watch};
    ck_assert_int_eq(ttape_clocks_find(NULL, readers, 2, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_clocks_find(&clocks, readers, 0, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_clocks_find(&clocks, readers, 3, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_clocks_find(&clocks, readers, 2, &how, &err), TTAPE_E_STATE);
    ck_assert_ptr_null(clocks);
    ck_assert_uint_eq(left, 0);
    how.watch = NULL;
    for (how.memory_bytes = 1;
         ttest_is_short(ttape_clocks_find(&clocks, readers, 2, &how, &err), &clocks); refused++)
        how.memory_bytes += how.memory_bytes / 4 + 40;
    ck_assert_uint_gt(refused, 20);
    ttape_clocks_close(clocks);
    ttape_clocks_close(NULL);
    ttest_close_trace(&t[0]);
    ttest_close_trace(&t[1]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clocks");
    TCase *tests = tcase_create("clocks");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, damage_costs_the_pairs_in_it);
    tcase_add_test(tests, what_cannot_be_is_refused);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
