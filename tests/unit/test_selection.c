/* Which streams and which range are meant by threads, processes, streams and times. */
#include <tracetape/selection.h>

#include "tests/unit/test_reader_fixture.h"

#define STREAMS 4

/* Two processes; thread 7 is in both. */
static const struct {
    uint32_t process;
    uint64_t tid;
} streams[STREAMS] = {{0, 7}, {0, 8}, {1, 7}, {1, 9}};
static const uint64_t pids[2] = {100, 200};

static struct ttest_file make(bool has_times)
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer_options options = {.size = sizeof options};
    ttape_writer *w;
    uint32_t id;
    options.resolution_ns = has_times ? 1 : TTAPE_TIME_NONE;
    ck_assert_int_eq(ttape_writer_open(&w, &sink, &options, NULL), TTAPE_OK);
    for (size_t i = 0; i < 2; i++) {
        const ttape_process process = {.pid = pids[i]};
        ck_assert_int_eq(ttape_writer_add_process(w, &process, &id, NULL), TTAPE_OK);
    }
    const ttape_site site = {
        .module = TTAPE_NONE, .kind = TTAPE_SITE_FUNCTION, .symbol = ttest_string("main")};
    ck_assert_int_eq(ttape_writer_add_site(w, &site, &id, NULL), TTAPE_OK);
    for (uint32_t i = 0; i < STREAMS; i++) {
        const ttape_stream stream = {.process = streams[i].process, .tid = streams[i].tid};
        const ttape_event events[2] = {
            {.time_ns = has_times ? 5000 : 0, .kind = TTAPE_EVENT_ENTER, .depth = TTAPE_DEPTH_AUTO},
            {.time_ns = has_times ? 6000 : 0, .kind = TTAPE_EVENT_EXIT, .depth = TTAPE_DEPTH_AUTO}};
        ck_assert_int_eq(ttape_writer_add_stream(w, &stream, &id, NULL), TTAPE_OK);
        ck_assert_int_eq(ttape_writer_append(w, id, events, 2, NULL), TTAPE_OK);
    }
    ck_assert_int_eq(ttape_writer_finish(w, NULL), TTAPE_OK);
    ttape_writer_close(w);
    return ttest_take(&memory);
}

START_TEST(streams_are_those_that_are_named)
{
    static const struct {
        uint64_t tids[2], pids[2], named[2];
        uint32_t tid_count, pid_count, named_count;
        uint32_t chosen; /* bits of streams; 0: there is none */
    } wanted[] = {
        {.chosen = 0xF},
        {.tids = {7}, .tid_count = 1, .chosen = 0x5},
        {.tids = {7, 9}, .tid_count = 2, .chosen = 0xD},
        {.pids = {200}, .pid_count = 1, .chosen = 0xC},
        {.tids = {7}, .pids = {200}, .tid_count = 1, .pid_count = 1, .chosen = 0x4},
        {.tids = {9}, .named = {1}, .tid_count = 1, .named_count = 1, .chosen = 0xA},
        {.named = {1, 2}, .pids = {100}, .named_count = 2, .pid_count = 1, .chosen = 0x2},
        {.named = {4}, .named_count = 1},
        {.tids = {1}, .tid_count = 1},
        {.tids = {8}, .pids = {200}, .tid_count = 1, .pid_count = 1},
    };
    struct ttest_trace t = ttest_open_trace(make(true));
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const ttape_selection_options how = {.size = sizeof how,
                                             .tids = wanted[i].tids,
                                             .pids = wanted[i].pids,
                                             .streams = wanted[i].named,
                                             .tid_count = wanted[i].tid_count,
                                             .pid_count = wanted[i].pid_count,
                                             .named_stream_count = wanted[i].named_count};
        ttape_selection *s;
        ttape_selection_info info;
        ttape_error err = {0};
        uint32_t count, listed = 0;
        ttape_status status = ttape_selection_make(&s, t.reader, &how, &err);
        ck_assert_int_eq(status, wanted[i].chosen != 0 ? TTAPE_OK : TTAPE_E_NOT_FOUND);
        if (status != TTAPE_OK) {
            ck_assert_ptr_null(s);
            continue;
        }
        const uint32_t *rows = ttape_selection_get_rows(s, &count);
        ttape_selection_get_info(s, &info);
        ck_assert_int_eq(info.has_streams, i > 0);
        ck_assert_int_eq(rows != NULL, i > 0);
        ck_assert(!info.has_range && info.from_ns == 0 && info.to_ns == UINT64_MAX);
        for (uint32_t k = 0; k < count; k++)
            listed |= 1u << rows[k];
        ck_assert_uint_eq(listed, i > 0 ? wanted[i].chosen : 0);
        for (uint32_t k = 0; k < STREAMS; k++)
            ck_assert_int_eq(ttape_selection_has(s, k), wanted[i].chosen >> k & 1);
        ttape_selection_close(s);
    }
    ttest_close_trace(&t);
}
END_TEST

/* The first event is at 5000, the last at 6000. */
START_TEST(ranges_are_of_the_clock_or_from_the_start)
{
    static const struct {
        ttape_selection_time from, to;
        uint64_t from_ns, to_ns;
        ttape_status status;
        bool is_outside;
    } wanted[] = {
        {.from = {.is_given = true, .time_ns = 5500}, .from_ns = 5500, .to_ns = UINT64_MAX},
        {.to = {.is_given = true, .is_relative = true, .time_ns = 200}, .to_ns = 5200},
        {.from = {.is_given = true, .is_span = true, .time_ns = 300},
         .from_ns = 5300,
         .to_ns = UINT64_MAX},
        {.from = {.is_given = true, .is_span = true, .time_ns = 5300},
         .from_ns = 5300,
         .to_ns = UINT64_MAX},
        {.from = {.is_given = true, .time_ns = 300}, .from_ns = 300, .to_ns = UINT64_MAX},
        {.from = {.is_given = true, .is_relative = true, .time_ns = UINT64_MAX},
         .from_ns = UINT64_MAX,
         .to_ns = UINT64_MAX,
         .is_outside = true},
        {.to = {.is_given = true, .time_ns = 5000}, .to_ns = 5000, .is_outside = true},
        {.from = {.is_given = true, .time_ns = 6000}, .from_ns = 6000, .to_ns = UINT64_MAX},
        {.from = {.is_given = true, .time_ns = 6001},
         .from_ns = 6001,
         .to_ns = UINT64_MAX,
         .is_outside = true},
        {.from = {.is_given = true, .time_ns = 2},
         .to = {.is_given = true, .time_ns = 1},
         .status = TTAPE_E_ARGUMENT},
    };
    struct ttest_trace t = ttest_open_trace(make(true));
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const ttape_selection_options how = {
            .size = sizeof how, .from = wanted[i].from, .to = wanted[i].to};
        ttape_selection *s;
        ttape_selection_info info;
        ttape_error err = {0};
        ck_assert_int_eq(ttape_selection_make(&s, t.reader, &how, &err), wanted[i].status);
        if (wanted[i].status != TTAPE_OK)
            continue;
        ttape_selection_get_info(s, &info);
        ck_assert(info.has_range && !info.has_streams);
        ck_assert_uint_eq(info.from_ns, wanted[i].from_ns);
        ck_assert_uint_eq(info.to_ns, wanted[i].to_ns);
        ck_assert_int_eq(info.is_outside, wanted[i].is_outside);
        ttape_selection_close(s);
    }
    ttest_close_trace(&t);
}
END_TEST

START_TEST(what_cannot_be_is_refused)
{
    struct ttest_trace t = ttest_open_trace(make(false));
    ttape_selection *s;
    ttape_error err = {0};
    uint32_t count, refused = 0;
    const uint64_t tid = 7;
    ttape_selection_options how = {.size = sizeof how, .from = {.is_given = true}};
    ck_assert_int_eq(ttape_selection_make(NULL, t.reader, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_selection_make(&s, NULL, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_selection_make(&s, t.reader, &how, &err), TTAPE_E_UNSUPPORTED);
    how = (ttape_selection_options){.size = sizeof how, .tid_count = 1};
    ck_assert_int_eq(ttape_selection_make(&s, t.reader, &how, &err), TTAPE_E_ARGUMENT);
    how.tids = &tid;
    for (how.memory_bytes = 1; ttest_is_short(ttape_selection_make(&s, t.reader, &how, &err), &s);
         refused++)
        how.memory_bytes += 8;
    ck_assert_uint_gt(refused, 10);
    ttape_selection_close(s);
    ttape_selection_close(NULL);
    ck_assert_ptr_null(ttape_selection_get_rows(NULL, &count));
    ck_assert_uint_eq(count, 0);
    ttest_close_trace(&t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("selection");
    TCase *tests = tcase_create("selection");
    tcase_add_test(tests, streams_are_those_that_are_named);
    tcase_add_test(tests, ranges_are_of_the_clock_or_from_the_start);
    tcase_add_test(tests, what_cannot_be_is_refused);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
