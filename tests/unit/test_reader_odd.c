/* Odd but valid traces, and an index that names what is not there: what the reader says of them. */
#define _GNU_SOURCE /* the fixture's memmem */
#include <tracetape/report.h>

#include "recover_fixture.h"

static ttape_reader *open_whole(const struct ttest_file *from, ttape_source *source)
{
    ttape_error err = {0};
    ttape_reader *r;
    *source = ttape_source_memory(from->data, from->size_bytes);
    TTEST_OK(ttape_reader_open(&r, source, NULL, &err));
    return r;
}

/* Without times, first and last are 0; so they are without events. */
START_TEST(no_times)
{
    const struct ttest_plan plans[] = {
        {.streams = 1, .events = 500, .resolution_ns = TTAPE_TIME_NONE, .plain = true},
        {.streams = 1, .resolution_ns = 1}};
    for (size_t i = 0; i < 2; i++) {
        struct ttest_file made = ttest_write(&plans[i]);
        ttape_source source;
        ttape_reader *r = open_whole(&made, &source);
        ttape_info info;
        ttape_reader_get_info(r, &info);
        ck_assert_uint_eq(info.event_count, plans[i].events);
        ck_assert_uint_eq(info.time_first_ns, 0);
        ck_assert_uint_eq(info.time_last_ns, 0);
        ttape_reader_close(r);
        free(made.data);
    }
}
END_TEST

/* One thing at a time that the index says of a model is no longer so: refused by the rule. */
START_TEST(an_index_that_names_another_model)
{
    size_t place = find_kind(TTP_CHUNK_MODEL, 0);
    for (int way = 0; way < 3; way++) {
        struct ttp_chunk head = places[place].head;
        uint8_t header[TTP_CHUNK_HEADER_BYTES], *at = file.data + places[place].offset;
        memcpy(header, at, sizeof header);
        head.sequence += way == 0;
        head.scope += way == 1;
        head.kind = way == 2 ? TTP_CHUNK_SITES : head.kind;
        ttp_chunk_write(&head, at);
        ttape_source source;
        ttape_reader *r = open_whole(&file, &source);
        ttape_cursor *cursor;
        ttape_event_item item;
        ttape_error err = {0};
        ttape_status status;
        uint32_t refused = 0;
        TTEST_OK(ttape_cursor_open(&cursor, r, 0, &err));
        while ((status = ttape_cursor_next(cursor, &item, &err)) != TTAPE_END)
            if (status != TTAPE_OK) {
                ck_assert_int_eq(status, TTAPE_E_CORRUPT);
                ck_assert_str_eq(err.rule, "F-IDX-08");
                ck_assert_uint_eq(err.offset, places[place].offset);
                refused++;
            }
        ck_assert_uint_gt(refused, 0);
        ttape_cursor_close(cursor);
        ttape_reader_close(r);
        memcpy(at, header, sizeof header);
    }
}
END_TEST

/* Ten events of each of two threads; then their numbers go on at `from`, threads in turns. */
static struct ttest_file with_hole(uint64_t from)
{
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer_options o = {.size = sizeof o};
    ttape_writer *w;
    TTEST_OK(ttape_writer_open(&w, &sink, &o, &err));
    ttest_define(w, 2);
    for (uint64_t i = 0; i < 40; i++) {
        uint32_t stream = i / 5 % 2;
        ttape_edge edge = {.event_number = from, .time_ns = 1000};
        if (i == 20 || i == 25)
            TTEST_OK(ttape_writer_resume(w, stream, &edge, &err));
        ttape_event e = {
            .time_ns = 100 * i, .kind = TTAPE_EVENT_LEAF, .site = 4, .depth = TTAPE_DEPTH_AUTO};
        TTEST_OK(ttape_writer_append(w, stream, &e, 1, &err));
    }
    TTEST_OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
    return ttest_take(&memory);
}

static bool count_steps(void *context, const ttape_finding *finding)
{
    *(uint32_t *)context += strcmp(finding->error.rule, "F-SEG-01") == 0;
    return true;
}

/* Numbers that are left out are counted; numbers that step back are a finding for each thread. */
START_TEST(numbers_with_holes)
{
    for (int back = 0; back < 2; back++) {
        struct ttest_file made = with_hole(back ? 7 : 30);
        ttape_source source;
        ttape_reader *r = open_whole(&made, &source);
        ttape_error err = {0};
        uint64_t findings = 0;
        uint32_t steps = 0;
        for (uint32_t s = 0; s < 2; s++) {
            ttape_stream_info about;
            ck_assert_int_eq(ttape_reader_get_stream(r, s, &about), TTAPE_OK);
            ck_assert_uint_eq(about.event_count, 20);
            ck_assert_uint_eq(about.missing_count, back ? 0 : 20);
        }
        TTEST_OK(ttape_verify(&source, NULL, count_steps, NULL, &steps, &findings, &err));
        ck_assert_uint_eq(steps, back ? 2 : 0);
        ck_assert_uint_eq(findings, steps);
        ttape_reader_close(r);
        free(made.data);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reader_odd");
    TCase *tests = tcase_create("tests");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, no_times);
    tcase_add_test(tests, an_index_that_names_another_model);
    tcase_add_test(tests, numbers_with_holes);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
