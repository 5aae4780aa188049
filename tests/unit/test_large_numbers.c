/* W25: event numbers of long runs. A run of 2^32 events is not written here: a stream goes on at an
 * edge as it does in the pieces of one, just before its number passes 31, 32, 63 bits. */
#include "test_reader_fixture.h"

#define STREAMS 2u
#define EVENTS  300u
#define BEFORE  100u /* events before the number passes */

static struct ttest_file long_run(uint64_t first)
{
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer_options o = {.size = sizeof o, .partition_events = 64};
    ttape_writer *w;
    TTEST_OK(ttape_writer_open(&w, &sink, &o, &err));
    ttest_define(w, STREAMS);
    for (uint32_t s = 0; s < STREAMS; s++) {
        ttape_edge edge = {.event_number = first, .time_ns = 1000};
        TTEST_OK(ttape_writer_resume(w, s, &edge, &err));
    }
    for (uint32_t i = 0; i < EVENTS * STREAMS; i++) {
        ttape_event e = {.time_ns = 1000 + 10 * i,
                         .kind = TTAPE_EVENT_LEAF,
                         .site = i % 5,
                         .depth = TTAPE_DEPTH_AUTO};
        TTEST_OK(ttape_writer_append(w, i % STREAMS, &e, 1, &err));
    }
    TTEST_OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
    return ttest_take(&memory);
}

static bool no_finding(void *context, const ttape_finding *finding)
{
    (void)context;
    ck_abort_msg("%s %s", finding->error.rule, finding->error.message);
    return false;
}

static void check_walk(ttape_reader *r, uint32_t stream, uint64_t first)
{
    ttape_error err = {0};
    ttape_cursor *cursor;
    ttape_event_item item;
    TTEST_OK(ttape_cursor_open(&cursor, r, stream, &err));
    for (uint32_t i = 0; i < EVENTS; i++) {
        TTEST_OK(ttape_cursor_next(cursor, &item, &err));
        ck_assert_uint_eq(item.number, first + i);
        ck_assert_uint_eq(item.event.time_ns, 1000 + 10 * (i * STREAMS + stream));
    }
    ck_assert_int_eq(ttape_cursor_next(cursor, &item, &err), TTAPE_END);
    for (uint32_t i = EVENTS; i-- > 0;) {
        TTEST_OK(ttape_cursor_previous(cursor, &item, &err));
        ck_assert_uint_eq(item.number, first + i);
    }
    for (uint32_t i = 0; i < EVENTS; i += 33) {
        TTEST_OK(ttape_cursor_seek_event(cursor, first + i, &err));
        TTEST_OK(ttape_cursor_next(cursor, &item, &err));
        ck_assert_uint_eq(item.number, first + i);
        ck_assert_uint_eq(item.event.time_ns, 1000 + 10 * (i * STREAMS + stream));
    }
    ttape_cursor_close(cursor);
}

START_TEST(event_numbers_pass_bits)
{
    const uint64_t passes[] = {1ull << 31, 1ull << 32, 1ull << 48, 1ull << 63, UINT64_MAX - EVENTS};
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        uint64_t first = passes[i] - BEFORE, findings;
        struct ttest_file made = long_run(first);
        ttape_source source = ttape_source_memory(made.data, made.size_bytes);
        ttape_error err = {0};
        ttape_reader *r;
        TTEST_OK(ttape_verify(&source, NULL, no_finding, NULL, NULL, &findings, &err));
        TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
        for (uint32_t s = 0; s < STREAMS; s++) {
            ttape_stream_info about;
            ck_assert_int_eq(ttape_reader_get_stream(r, s, &about), TTAPE_OK);
            ck_assert_uint_eq(about.event_count, EVENTS);
            check_walk(r, s, first);
        }
        ttape_reader_close(r);
        free(made.data);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("large numbers");
    TCase *tests = tcase_create("numbers");
    tcase_add_test(tests, event_numbers_pass_bits);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
