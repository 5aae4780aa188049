/* When threads ended whose recorder was killed before it saw it: spec/facts.md, F-FCT-08. */
#define _GNU_SOURCE 1
#include "recover_left.h"

#include <tracetape/recover.h>

static void put_at(struct ttest_block *b, uint64_t tag, uint64_t time_ns, uint64_t address)
{
    ttest_put(b, ttp_record_call(tag, time_ns, address));
}

static struct ttest_block take_image(struct ttest_player *p, uint32_t pid, uint64_t serial,
                                     uint64_t started, uint32_t parent_pid)
{
    struct ttest_block b = ttest_block_take(p, pid, serial, serial, 1);
    b.head->started = started;
    ttest_process_message(&b, 0, parent_pid, "/bin/x");
    return b;
}

/* Of processes that are there: of others the recorder would see the end. */
static void play(struct ttest_player *p)
{
    struct ttest_block said = take_image(p, (uint32_t)getpid(), 1, 100, 1);
    put_at(&said, TTP_TAG_ENTER, 500, 0x1000);
    ttest_put(&said, ttp_record_extension(TTP_EXT_END, 1000,
                                          ttp_end_payload(true, TTAPE_PROCESS_END_EXIT, 7) |
                                              TTP_END_SAID));
    put_at(&said, TTP_TAG_ENTER, 1100, 0x1100);
    struct ttest_block before = take_image(p, (uint32_t)getppid(), 2, 200, 1);
    put_at(&before, TTP_TAG_ENTER, 2000, 0x1000);
    struct ttest_block after = take_image(p, (uint32_t)getppid(), 3, 3000, 1);
    put_at(&after, TTP_TAG_ENTER, 3100, 0x1000);
    struct ttest_block last = take_image(p, 1, 4, 300, 1);
    put_at(&last, TTP_TAG_ENTER, 9000, 0x1000);
    ttest_poll(p);
}

/* Time since the first event of all, how, and number of the fact that ends the stream of a serial;
 * the number of a thread's is 0. */
static void expect_end(ttape_reader *reader, uint32_t serial, uint64_t ns, uint64_t how,
                       uint64_t number)
{
    ttape_stream_info info = {0};
    ttape_cursor *cursor;
    ttape_event_item item;
    ttape_info all;
    uint32_t stream = 0;
    uint64_t found_ns = 0, values[2] = {0};
    ttape_reader_get_info(reader, &all);
    do
        ck_assert_int_eq(ttape_reader_get_stream(reader, stream++, &info), TTAPE_OK);
    while (info.stream.name.data[1] != (char)('0' + serial));
    TTEST_DONE(ttape_cursor_open(&cursor, reader, stream - 1, &err));
    while (ttape_cursor_next(cursor, &item, NULL) == TTAPE_OK) {
        found_ns = item.event.time_ns - all.time_first_ns;
        for (uint32_t i = 0; i < 2; i++)
            values[i] = i < item.value_count ? item.values[i].number : 0;
    }
    ttape_cursor_close(cursor);
    ck_assert_uint_eq(found_ns, ns);
    ck_assert_uint_eq(values[0], how);
    ck_assert_uint_eq(values[1], number);
}

/* Of how it was recorded nothing had been written yet. */
static void expect_metadata(const ttape_reader *reader)
{
    ttape_metadata_entry entry;
    bool has_every = false, has_scope = false;
    for (uint32_t i = 0; ttape_reader_get_metadata(reader, i, &entry) == TTAPE_OK; i++) {
        bool is_calls = entry.key.size_bytes > 9 && memcmp(entry.key.data, "syscalls_", 9) == 0;
        const char *what = is_calls ? entry.key.data + 9 : "";
        has_every |= strncmp(what, "stack_every", 11) == 0 && entry.number == 10;
        has_scope |= strncmp(what, "scope", 5) == 0 && memcmp(entry.text.data, "stack", 5) == 0;
    }
    ck_assert(has_every && has_scope);
}

START_TEST(when_they_ended)
{
    ttape_memory_sink out = {0};
    ttape_sink sink = ttape_sink_memory(&out);
    ttape_recover_options how = {.size = sizeof how};
    ttape_recover_report report;
    ttape_recording_options options = {
        .size = sizeof options,
        .clock = TTAPE_CLOCK_MONOTONIC,
        .syscalls = {.chosen = {1}, .stacks = true, .stack_every = 10}};
    ttape_reader *reader;
    kill_with(&options, play);
    TTEST_DONE(ttape_recover_recording(left->directory, &sink, &how, &report, &err));
    ttape_source source = ttape_source_memory(out.data, out.size_bytes);
    TTEST_DONE(ttape_reader_open(&reader, &source, NULL, &err));
    expect_metadata(reader);
    expect_end(reader, 1, 600, TTAPE_PROCESS_END_EXIT, 7);
    expect_end(reader, 2, 2500, TTAPE_THREAD_END_EXEC, 0);
    expect_end(reader, 3, 8500, TTAPE_THREAD_END_RECORDER_DIED, 0);
    expect_end(reader, 4, 8500, TTAPE_THREAD_END_RECORDER_DIED, 0);
    ttape_reader_close(reader);
    ttape_memory_sink_close(&out);
    tear_down();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recover ends");
    TCase *tests = tcase_create("ends");
    tcase_add_test(tests, when_they_ended);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
