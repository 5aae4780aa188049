/* Calls that were open when a file was full, of a recorder that was killed after it: what recovery
 * makes of them. */
#define _GNU_SOURCE /* asprintf */
#include <tracetape/recover.h>
#include <tracetape/report.h>

#include "recover_left.h"

/* Two frames are open when the file is full; they are left in the next one. */
static void play_rotation(struct ttest_player *p)
{
    struct ttest_block b = ttest_block_take(p, (uint32_t)getpid(), 1, 1, 1);
    ttest_process_message(&b, 0, 1, "/bin/x");
    ttest_enter(&b, 0x1000);
    ttest_enter(&b, 0x2000);
    for (uint32_t i = 0; i < 100; i++) {
        ttest_enter(&b, 0x3000);
        ttest_exit(&b, 0x3000);
    }
    ttest_flush(p);
    ttest_exit(&b, 0x2000);
    ttest_exit(&b, 0x1000);
}

/* The file that is open when the recorder is killed has something of another thread alone: of one
 * that lives, as the recorder looks for threads that are gone. */
static void play_another_thread(struct ttest_player *p)
{
    struct ttest_block b = ttest_block_take(p, (uint32_t)getpid(), 1, 1, 1);
    struct ttest_block other = ttest_block_take(p, (uint32_t)getppid(), 2, 2, 1);
    ttest_process_message(&b, 0, 1, "/bin/x");
    ttest_process_message(&other, 0, 1, "/bin/y");
    ttest_enter(&b, 0x1000);
    ttest_enter(&b, 0x2000);
    for (uint32_t i = 0; i < 1000; i++) { /* too much for one file */
        ttest_enter(&b, 0x3000 + 16u * i);
        ttest_exit(&b, 0x3000 + 16u * i);
    }
    ttest_flush(p);
    ttest_enter(&other, 0x4000);
    ttest_flush(p);
    ttest_exit(&b, 0x2000);
    ttest_exit(&b, 0x1000);
}

/* They are in the thread's last stream: it has one more where a file had just begun. */
static bool has_left(ttape_reader *reader)
{
    ttape_info info;
    bool found = false;
    ttape_reader_get_info(reader, &info);
    for (uint32_t i = 0; i < info.stream_count; i++) {
        char *text = ttest_stream_text(reader, i, false);
        const char *end = strstr(text, "-2000 -1000");
        found |= end != NULL && strcmp(end, "-2000 -1000") == 0;
        free(text);
    }
    return found;
}

/* What was called when the first file was full has left, and is known: it is no exit alone. */
static void expect_left(ttape_recording_options options, void (*play)(struct ttest_player *))
{
    ttape_memory_sink out = {0};
    ttape_sink sink = ttape_sink_memory(&out);
    ttape_reader *reader;
    ttape_report *report;
    ttape_report_info info;
    const ttape_report_options exact = {.size = sizeof exact, .exact = true};
    options.size = sizeof options;
    options.clock = TTAPE_CLOCK_NONE;
    kill_with(&options, play);
    TTEST_DONE(ttape_recover_recording(left->directory, &sink, NULL, NULL, &err));
    ttape_source source = ttape_source_memory(out.data, out.size_bytes);
    TTEST_DONE(ttape_reader_open(&reader, &source, NULL, &err));
    ck_assert_msg(has_left(reader), "no stream ends with both exits");
    TTEST_DONE(ttape_report_make(&report, reader, &exact, &err));
    ttape_report_get_info(report, &info);
    ck_assert_uint_gt(info.decoded_count, 0);
    ck_assert_uint_eq(info.unseen_count, 0);
    ttape_report_close(report);
    ttape_reader_close(reader);
    ttape_memory_sink_close(&out);
    tear_down();
}

START_TEST(killed_after_a_rotation)
{
    expect_left((ttape_recording_options){.rotate_bytes = 64}, play_rotation);
    expect_left((ttape_recording_options){.keep_bytes = 4096}, play_another_thread);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recover_rotated");
    TCase *tests = tcase_create("tests");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, killed_after_a_rotation);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures == 0 ? 0 : 1;
}
