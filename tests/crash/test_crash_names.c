/* Power cuts around the moment in which a file gets its name: under the name there is nothing, what
 * was there before, or all of it; and all of it when the call has returned. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tracetape/recording.h>
#include <tracetape/writer.h>

#include "crash_disk.h"
#include "crash_names.h"

/* The program that is recorded, as the unit tests play it. */
#include "../unit/arena_player.c"
#include "tests/asserts.h"

#define DRAWS 40

static char folder[64], path[128];

static void set_up(void)
{
    strcpy(folder, "/tmp/test_crash_names.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/trace.ttape", folder);
}

static void tear_down(void)
{
    ttest_names_forget();
    (void)unlink(path);
    ck_assert_int_eq(rmdir(folder), 0);
}

static void put_file(const char *content, bool replace)
{
    ttape_file_sink *file;
    ttape_error err = {0};
    ck_assert_int_eq(ttape_file_sink_open(&file, path, replace, &err), TTAPE_OK);
    ttape_sink sink = ttape_file_sink_sink(file);
    for (const char *at = content; *at != '\0'; at += 4)
        ck_assert_int_eq(sink.append(sink.context, at, 4, &err), TTAPE_OK);
    ck_assert_int_eq(ttape_file_sink_commit(file, &err), TTAPE_OK);
    ttape_file_sink_close(file);
}

/* Is the name's content, at each step, one of the two (NULL: nothing there)? At the last step it is
 * the second. */
static void check(const char *name, const void *before, size_t before_bytes, const void *after,
                  size_t after_bytes, size_t first, size_t last)
{
    uint64_t seed = 3;
    bool seen_before = false;
    for (size_t step = first; step <= last; step++)
        for (int draw = 0; draw < DRAWS; draw++) {
            size_t size = 0;
            uint8_t *data = ttest_names_crash(step, name, &seed, &size);
            bool is_after = data != NULL && size == after_bytes && memcmp(data, after, size) == 0;
            bool is_before = before == NULL ? data == NULL
                                            : data != NULL && size == before_bytes &&
                                                  memcmp(data, before, size) == 0;
            ck_assert_msg(is_after || is_before, "step %zu of %zu, draw %d: %s", step, last, draw,
                          data == NULL ? "the file is gone" : "a half-written file has the name");
            ck_assert_msg(is_after || step < last, "done, and not there after a power cut");
            seen_before |= is_before;
            free(data);
        }
    ck_assert(seen_before);
}

START_TEST(a_new_file)
{
    ttest_names_watch(folder);
    put_file("new and whole...", false);
    check("trace.ttape", NULL, 0, "new and whole...", 16, 0, ttest_names_end());
}
END_TEST

START_TEST(a_file_that_is_replaced)
{
    ttest_names_watch(folder);
    put_file("old one.", true);
    size_t start = ttest_names_count();
    put_file("new and whole...", true);
    size_t end = ttest_names_end();
    check("trace.ttape", "old one.", 8, "new and whole...", 16, start, end);
}
END_TEST

static uint8_t *load(const char *name, size_t *size_bytes)
{
    FILE *f = fopen(name, "r");
    ck_assert_ptr_nonnull(f);
    uint8_t *data = malloc(1u << 20);
    *size_bytes = fread(data, 1, 1u << 20, f);
    (void)fclose(f);
    return data;
}

START_TEST(a_recording)
{
    struct ttest_player player;
    ttape_recording_options options = {.size = sizeof options, .clock = TTAPE_CLOCK_NONE};
    pid_t pid = ttest_process_start();
    options.writer.partition_events = 100;
    player = (struct ttest_player){0}; /* watched from before the recording is opened */
    strcpy(player.folder, "/tmp/test_recording.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(player.folder));
    (void)snprintf(player.output, sizeof player.output, "%s/a.ttape", player.folder);
    ttest_names_watch(player.folder);
    TTEST_DONE(ttape_recording_open(&player.recording, player.output, &options, &err));
    map_arena(&player);
    struct ttest_block block = ttest_block_take(&player, (uint32_t)pid, 1, 1, 1);
    for (uint64_t i = 0; i < 400; i++) {
        ttest_enter(&block, 0x1000 + i % 7 * 16);
        ttest_exit(&block, 0x1000 + i % 7 * 16);
        if (i % 100 == 99)
            ttest_flush(&player);
    }
    ttest_block_state(&block, TTP_BLOCK_DONE);
    (void)ttest_finish(&player);
    size_t size, end = ttest_names_end();
    uint8_t *whole = load(player.output, &size);
    check("a.ttape", NULL, 0, whole, size, 0, end);
    free(whole);
    ttest_player_close(&player);
    ttest_process_end(pid);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("crash_names");
    TCase *cases = tcase_create("names");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, a_new_file);
    tcase_add_test(cases, a_file_that_is_replaced);
    tcase_add_test(cases, a_recording);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
