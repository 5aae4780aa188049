/* Files choose the numbers of their stacks. What a stack takes in memory and time does not depend
 * on its number: small files with the largest numbers can be read in little memory. */
#include <tracetape/calls.h>
#include <tracetape/report.h>

#include "tests/unit/test_reader_fixture.h"

#define STREAMS 64u
#define HIGH    1048575u /* O-CHK-06 */
#define LITTLE  (2u << 20)

static void append(ttape_writer *w, uint32_t stream, uint8_t kind, uint32_t argument, uint64_t time)
{
    ttape_error err = {0};
    bool has_site = kind == TTAPE_EVENT_ENTER || kind == TTAPE_EVENT_EXIT;
    ttape_event e = {.time_ns = time,
                     .kind = kind,
                     .site = has_site ? 0 : TTAPE_NONE,
                     .argument = argument,
                     .depth = TTAPE_DEPTH_AUTO};
    TTEST_OK(ttape_writer_append(w, stream, &e, 1, &err));
}

/* Each stream enters on stack 0, then on two high ones, and returns on all of them. */
static void write_all(ttape_memory_sink *memory)
{
    ttape_error err = {0};
    ttape_sink sink = ttape_sink_memory(memory);
    ttape_writer_options o = {.size = sizeof o};
    ttape_process process = {.pid = 7, .parent = TTAPE_NONE, .name = ttest_string("p")};
    ttape_site site = {.module = TTAPE_NONE, .symbol = ttest_string("f")};
    ttape_writer *w;
    uint32_t id, stacks[] = {0, HIGH, HIGH - 1};
    TTEST_OK(ttape_writer_open(&w, &sink, &o, &err));
    TTEST_OK(ttape_writer_add_process(w, &process, &process.parent, &err));
    TTEST_OK(ttape_writer_add_site(w, &site, &id, &err));
    for (uint32_t s = 0; s < STREAMS; s++) {
        ttape_stream stream = {.tid = 8 + s, .name = ttest_string("t"), .process = process.parent};
        TTEST_OK(ttape_writer_add_stream(w, &stream, &id, &err));
    }
    for (uint32_t s = 0; s < STREAMS; s++)
        for (uint32_t i = 0; i < 6; i++) {
            if (i > 0)
                append(w, s, TTAPE_EVENT_SWITCH, stacks[i % 3], 100 * i);
            append(w, s, i < 3 ? TTAPE_EVENT_ENTER : TTAPE_EVENT_EXIT, 0, 100 * i + 50);
        }
    TTEST_OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
}

static ttape_reader *open_little(const ttape_memory_sink *memory)
{
    ttape_error err = {0};
    ttape_reader *r;
    ttape_reader_options o = {.size = sizeof o, .limits.memory_bytes = LITTLE};
    ttape_source source = ttape_source_memory(memory->data, memory->size_bytes);
    TTEST_OK(ttape_reader_open(&r, &source, &o, &err));
    return r;
}

static void report(ttape_reader *r, uint32_t jobs)
{
    ttape_error err = {0};
    ttape_report *report;
    uint32_t count;
    ttape_report_options how = {
        .size = sizeof how, .exact = true, .jobs = jobs, .memory_bytes = LITTLE};
    TTEST_OK(ttape_report_make(&report, r, &how, &err));
    const ttape_report_row *row = ttape_report_get_rows(report, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(row->call_count, 3 * STREAMS);
    ck_assert_uint_eq(row->exit_count, 3 * STREAMS);
    ck_assert_int_eq(row->self_ns, STREAMS * 300);
    ttape_report_close(report);
}

START_TEST(reports_in_little_memory)
{
    ttape_memory_sink memory = {0};
    write_all(&memory);
    ttape_reader *r = open_little(&memory);
    report(r, 1);
    report(r, 2);
    ttape_reader_close(r);
    ttape_memory_sink_close(&memory);
}
END_TEST

/* Stacks that are still open come by their numbers, wherever the time range begins. */
START_TEST(calls_in_little_memory)
{
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    write_all(&memory);
    ttape_reader *r = open_little(&memory);
    ttape_call_options options = {.size = sizeof options,
                                  .memory_bytes = LITTLE,
                                  .has_range = _i != 0,
                                  .from_ns = 240,
                                  .to_ns = 310};
    ttape_call_cursor *calls;
    ttape_call call;
    uint32_t returned = 0, left = 0, before = 0;
    ttape_status status;
    TTEST_OK(ttape_call_cursor_open(&calls, r, &options, &err));
    while ((status = ttape_call_cursor_next(calls, &call, &err)) == TTAPE_OK) {
        ck_assert(call.stack == 0 || call.stack >= HIGH - 1);
        returned += call.end == TTAPE_CALL_RETURNED;
        left += call.end == TTAPE_CALL_LEFT;
        if (call.end == TTAPE_CALL_LEFT && before != call.stack && call.stack == HIGH)
            ck_assert_uint_eq(before, HIGH - 1);
        before = call.stack;
    }
    ck_assert_int_eq(status, TTAPE_END);
    ck_assert_uint_eq(returned, _i == 0 ? 3 * STREAMS : 0);
    ck_assert_uint_eq(left, _i == 0 ? 0 : 3 * STREAMS);
    ttape_call_cursor_close(calls);
    ttape_reader_close(r);
    ttape_memory_sink_close(&memory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("high_stacks");
    TCase *tests = tcase_create("tests");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, reports_in_little_memory);
    tcase_add_loop_test(tests, calls_in_little_memory, 0, 2);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
