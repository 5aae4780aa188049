/* Threads that decode ahead change nothing but time: whatever the number of jobs, the file's damage
 * and the memory, what is read is the same. Thread-sanitized builds run this too. */
#define _DEFAULT_SOURCE /* usleep */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/unit/every.h"
#include "tests/unit/test_reader_fixture.h"

static const struct ttest_plan plans[] = {
    {.streams = 1, .events = 60000, .partition_events = 2000, .plain = true},
    {.streams = 3, .events = 40000, .partition_events = 1500},
    {.streams = 30, .events = 40000, .partition_events = 3000, .model_period = 4},
    {.streams = 3, .events = 40000, .partition_events = 900, .literal = true},
    {.streams = 2, .events = 30000, .resolution_ns = TTAPE_TIME_NONE, .partition_events = 700},
    {.streams = 2, .events = 150000, .partition_events = 60000},
};
#define PLANS       (sizeof plans / sizeof plans[0])
#define PATIENCE_MS 60000u /* the machine may be busy */

/* The short form has smaller partitions, not fewer. */
static struct ttest_file write_plan(int number)
{
    struct ttest_plan plan = plans[number];
    plan.events /= ttest_step(2, 8);
    plan.partition_events /= ttest_step(2, 8);
    return ttest_write(&plan);
}

static ttape_reader *open_file(const struct ttest_file *file, uint32_t jobs, uint64_t cache_bytes,
                               uint64_t memory_bytes)
{
    ttape_reader *r;
    ttape_source source = ttape_source_memory(file->data, file->size_bytes);
    ttape_reader_options o = {.size = sizeof o,
                              .jobs = jobs,
                              .cache_bytes = cache_bytes,
                              .limits.memory_bytes = memory_bytes};
    return ttape_reader_open(&r, &source, &o, NULL) == TTAPE_OK ? r : NULL;
}

static struct ttest_sum read_with(const struct ttest_file *file, uint32_t jobs,
                                  uint64_t cache_bytes, uint64_t memory_bytes)
{
    ttape_reader *r = open_file(file, jobs, cache_bytes, memory_bytes);
    struct ttest_sum sum = {.errors = 999};
    if (r != NULL)
        sum = ttest_read_all(r);
    ttape_reader_close(r);
    return sum;
}

static void same_for_all(const struct ttest_file *file, uint64_t cache_bytes, uint64_t memory_bytes)
{
    struct ttest_sum none = read_with(file, 0, cache_bytes, memory_bytes);
    for (uint32_t jobs = 2; jobs <= 8; jobs *= 4) {
        struct ttest_sum some = read_with(file, jobs, cache_bytes, memory_bytes);
        ck_assert_uint_eq(some.hash, none.hash);
        ck_assert_uint_eq(some.events, none.events);
        ck_assert_uint_eq(some.errors, none.errors);
    }
}

START_TEST(jobs_change_nothing)
{
    struct ttest_file file = write_plan(_i);
    same_for_all(&file, 0, 0);
    same_for_all(&file, 200000, 0);
    free(file.data);
}
END_TEST

START_TEST(damage_is_reported_alike)
{
    struct ttest_file file = write_plan(_i);
    for (uint64_t k = 2; k < 8; k++)
        file.data[file.size_bytes / 9 * k + 7] ^= 0x10;
    same_for_all(&file, 0, 0);
    free(file.data);
}
END_TEST

/* What is reserved for jobs is given up before a reader fails. (Where it fails in any case, it may
 * do so elsewhere.) */
START_TEST(little_memory_is_enough_alike)
{
    struct ttest_file file = write_plan(_i);
    for (uint64_t limit = 1 << 19; limit < 1 << 24; limit *= 4 * ttest_every(2)) {
        struct ttest_sum none = read_with(&file, 0, 0, limit), some = read_with(&file, 3, 0, limit);
        if (none.errors == 0)
            ck_assert_uint_eq(some.hash, none.hash);
    }
    free(file.data);
}
END_TEST

/* Cursors that jump, stop early and run against each other. */
START_TEST(cursors_may_do_what_they_like)
{
    ttape_error err = {0};
    struct ttest_file file = write_plan(_i);
    ttape_reader *r[2] = {open_file(&file, 0, 0, 0), open_file(&file, 3, 0, 0)};
    ttape_cursor *c[2], *all[2];
    ttape_stream_info info;
    ttape_event_item item[2];
    uint64_t seed = 9;
    ck_assert_int_eq(ttape_reader_get_stream(r[0], 0, &info), TTAPE_OK);
    for (int k = 0; k < 2; k++) {
        TTEST_OK(ttape_cursor_open(&c[k], r[k], 0, &err));
        TTEST_OK(ttape_cursor_open(&all[k], r[k], TTAPE_ALL_STREAMS, &err));
    }
    for (uint32_t step = 0; step < 30; step += ttest_every(7)) {
        uint64_t number = ttest_random(&seed, (uint32_t)info.event_count);
        uint32_t length = ttest_random(&seed, 5000);
        for (int k = 0; k < 2; k++)
            TTEST_OK(ttape_cursor_seek_event(c[k], number, &err));
        for (uint32_t i = 0; i < length; i++) {
            ttape_cursor **cursors = i % 3 ? c : all;
            ttape_status status = ttape_cursor_next(cursors[0], &item[0], &err);
            ck_assert_int_eq(ttape_cursor_next(cursors[1], &item[1], &err), status);
            if (status != TTAPE_OK)
                break;
            ck_assert_int_eq(memcmp(&item[0].event, &item[1].event, sizeof item[0].event), 0);
            ck_assert_uint_eq(item[0].number, item[1].number);
        }
    }
    for (int k = 0; k < 2; k++) {
        ttape_cursor_close(c[k]);
        ttape_cursor_close(all[k]);
        ttape_reader_close(r[k]);
    }
    free(file.data);
}
END_TEST

/* ---- who decodes ---- */

static pthread_t owner;
static atomic_uint elsewhere; /* blocks that were taken on other threads */

static void *allocate(void *context, size_t size_bytes)
{
    (void)context;
    if (!pthread_equal(pthread_self(), owner))
        atomic_fetch_add(&elsewhere, 1);
    return malloc(size_bytes);
}

static void give_back(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    free(memory);
}

/* While the second partition is read, threads take memory for those behind it. A mistake here costs
 * nothing but time, which no other test would notice. */
START_TEST(threads_decode_ahead)
{
    ttape_error err = {0};
    struct ttest_file file = ttest_write(&plans[0]);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_allocator allocator = {NULL, allocate, give_back};
    ttape_reader_options o = {.size = sizeof o, .jobs = 3, .allocator = &allocator};
    ttape_reader *r;
    ttape_cursor *cursor;
    ttape_event_item item;
    owner = pthread_self();
    TTEST_OK(ttape_reader_open(&r, &source, &o, &err));
    TTEST_OK(ttape_cursor_open(&cursor, r, 0, &err));
    for (uint32_t i = 0; i <= plans[0].partition_events; i++)
        TTEST_OK(ttape_cursor_next(cursor, &item, &err));
    for (uint32_t i = 0; i < PATIENCE_MS && atomic_load(&elsewhere) == 0; i++)
        usleep(1000);
    ck_assert_uint_gt(atomic_load(&elsewhere), 0);
    ttape_cursor_close(cursor);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reader jobs");
    TCase *tests = tcase_create("jobs");
    tcase_set_timeout(tests, 240);
    tcase_add_loop_test(tests, jobs_change_nothing, 0, PLANS);
    tcase_add_loop_test(tests, damage_is_reported_alike, 0, PLANS);
    tcase_add_loop_test(tests, little_memory_is_enough_alike, 0, PLANS);
    tcase_add_loop_test(tests, cursors_may_do_what_they_like, 0, PLANS);
    tcase_add_test(tests, threads_decode_ahead);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
