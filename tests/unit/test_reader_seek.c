/* A seek decodes little: what it finds, and what follows, is what reading from the start finds. */
#include "tests/unit/test_reader_fixture.h"

#include "reader/cache/cache.h"
#include "reader/partition/partition_reader.h"
#include "reader/reader_internal.h"
#include "tests/unit/every.h"

static const struct ttest_plan plans[] = {
    {.streams = 1, .events = 200000, .partition_events = 200000, .plain = true},
    {.streams = 1, .events = 100000, .partition_events = 100000},
    {.streams = 5, .events = 250000, .partition_events = 120000, .plain = true},
    {.streams = 3, .events = 150000, .partition_events = 70000},
    {.streams = 2, .events = 100000, .level = 9, .plain = true},
    {.streams = 2, .events = 100000, .resolution_ns = TTAPE_TIME_NONE, .literal = true},
    {.streams = 2, .events = 100000, .literal = true},
};
#define PLANS (sizeof plans / sizeof plans[0])
#define SEEKS 8

/* Half the size with sanitizers, partitions of several blocks of times all the same. */
static struct ttest_file write_plan(int number)
{
    struct ttest_plan plan = plans[number];
    plan.events /= ttest_every(2);
    plan.partition_events /= ttest_every(2);
    return ttest_write(&plan);
}

static ttape_reader *open_file(const struct ttest_file *file)
{
    ttape_error err = {0};
    ttape_reader *r;
    ttape_source source = ttape_source_memory(file->data, file->size_bytes);
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    return r;
}

/* All events of a stream, read from its start. */
static ttape_event *read_events(ttape_reader *r, uint32_t stream, uint64_t *count)
{
    ttape_error err = {0};
    ttape_stream_info info;
    ttape_cursor *c;
    size_t got;
    ck_assert_int_eq(ttape_reader_get_stream(r, stream, &info), TTAPE_OK);
    ttape_event *events = calloc(info.event_count, sizeof *events);
    TTEST_OK(ttape_cursor_open(&c, r, stream, &err));
    for (*count = 0; *count < info.event_count; *count += got)
        TTEST_OK(
            ttape_cursor_next_events(c, events + *count, info.event_count - *count, &got, &err));
    ttape_cursor_close(c);
    return events;
}

static void same_edge(ttape_cursor *warm, ttape_cursor *cold, uint64_t number)
{
    ttape_error err = {0};
    ttape_edge full, light;
    TTEST_OK(ttape_cursor_seek_event(warm, number, &err));
    TTEST_OK(ttape_cursor_get_edge(warm, &full, &err));
    TTEST_OK(ttape_cursor_get_open_frames(cold, &light, &err));
    ck_assert_uint_eq(light.event_number, number);
    ck_assert_uint_eq(light.time_ns, full.time_ns);
    ck_assert_uint_eq(light.stack, full.stack);
    ck_assert_uint_eq(light.unknown_depth, full.unknown_depth);
    ck_assert_int_eq(light.depth_offset, full.depth_offset);
    ck_assert_uint_eq(light.frame_count, full.frame_count);
    for (uint32_t i = 0; i < full.frame_count; i++) {
        ttape_open_frame frame = full.frames[i];
        frame.self_ns = 0;
        ck_assert_int_eq(memcmp(&frame, &light.frames[i], sizeof frame), 0);
    }
    TTEST_OK(ttape_cursor_get_edge(cold, &light, &err));
    for (uint32_t i = 0; i < full.frame_count; i++)
        ck_assert_int_eq(light.frames[i].self_ns, full.frames[i].self_ns);
}

/* By number or by time in a reader that has decoded nothing, then on from there and back. */
static void seek_cold(const struct ttest_file *file, ttape_cursor *warm, const ttape_event *events,
                      uint64_t count, uint64_t target, bool by_time, uint32_t follow)
{
    ttape_error err = {0};
    ttape_cursor *c;
    ttape_event_item item;
    ttape_reader *r = open_file(file);
    TTEST_OK(ttape_cursor_open(&c, r, 0, &err));
    if (by_time) {
        uint64_t time_ns = events[target].time_ns;
        for (target = 0; events[target].time_ns < time_ns;)
            target++;
        TTEST_OK(ttape_cursor_seek_time(c, time_ns, &err));
    } else {
        TTEST_OK(ttape_cursor_seek_event(c, target, &err));
    }
    if (follow % 2 == 0)
        same_edge(warm, c, target);
    uint64_t end = count - target < follow ? count : target + follow;
    for (uint64_t i = target; i < end; i++) {
        TTEST_OK(ttape_cursor_next(c, &item, &err));
        ck_assert_uint_eq(item.number, i);
        ck_assert_int_eq(memcmp(&item.event, &events[i], sizeof item.event), 0);
    }
    for (uint64_t i = end; i-- > (target > follow ? target - follow : 0);) {
        TTEST_OK(ttape_cursor_previous(c, &item, &err));
        ck_assert_int_eq(memcmp(&item.event, &events[i], sizeof item.event), 0);
    }
    ttape_cursor_close(c);
    ttape_reader_close(r);
}

START_TEST(cold_seeks_find_the_same)
{
    static const uint32_t follows[] = {10, 5, 3001, 60000};
    ttape_error err = {0};
    struct ttest_file file = write_plan(_i);
    ttape_reader *r = open_file(&file);
    ttape_cursor *warm;
    uint64_t count, seed = 11;
    ttape_event *events = read_events(r, 0, &count);
    TTEST_OK(ttape_cursor_open(&warm, r, 0, &err));
    for (uint32_t k = 0; k < SEEKS; k += ttest_every(5)) {
        uint64_t target = ttest_random(&seed, (uint32_t)count);
        if (k >= SEEKS / 2) /* around the start of a block */
            target = (target / 32768 * 32768 + k % 3 - 1) % count;
        seek_cold(&file, warm, events, count, target, k % 2, follows[k % 4]);
    }
    ttape_cursor_close(warm);
    ttape_reader_close(r);
    free(events);
    free(file.data);
}
END_TEST

/* Merged: a reader that has decoded everything and one that has decoded nothing agree. */
START_TEST(merged_seeks_find_the_same)
{
    ttape_error err = {0};
    struct ttest_file file = write_plan(_i);
    ttape_reader *r = open_file(&file), *cold;
    ttape_cursor *warm, *c;
    ttape_info info;
    ttape_event_item a, b;
    uint64_t seed = 13;
    ttape_reader_get_info(r, &info);
    uint64_t length = info.time_last_ns - info.time_first_ns;
    ck_assert_uint_eq(ttest_read_stream(r, TTAPE_ALL_STREAMS).errors, 0);
    TTEST_OK(ttape_cursor_open(&warm, r, TTAPE_ALL_STREAMS, &err));
    for (uint32_t k = 0; k < SEEKS; k += ttest_every(5)) {
        uint64_t time_ns = info.time_first_ns + length * ttest_random(&seed, 1000) / 999;
        cold = open_file(&file);
        TTEST_OK(ttape_cursor_open(&c, cold, TTAPE_ALL_STREAMS, &err));
        TTEST_OK(ttape_cursor_seek_time(warm, time_ns, &err));
        TTEST_OK(ttape_cursor_seek_time(c, time_ns, &err));
        ttape_status status = TTAPE_OK;
        uint32_t follow = k % 4 ? 500u : 100000u / ttest_every(5);
        for (uint32_t i = 0; i < follow && status == TTAPE_OK; i++) {
            status = ttape_cursor_next(warm, &a, &err);
            ck_assert_int_eq(ttape_cursor_next(c, &b, &err), status);
            if (status != TTAPE_OK)
                break;
            ck_assert_int_eq(memcmp(&a.event, &b.event, sizeof a.event), 0);
            ck_assert_uint_eq(a.stream, b.stream);
            ck_assert_uint_eq(a.number, b.number);
            ck_assert_uint_eq(a.value_count, b.value_count);
        }
        ttape_cursor_close(c);
        ttape_reader_close(cold);
    }
    ttape_cursor_close(warm);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

/* What makes it fast: few blocks of times, and checks up to there only. */
START_TEST(seeks_decode_little)
{
    ttape_error err = {0};
    struct ttest_file file = ttest_write(&plans[0]);
    ttape_reader *r = open_file(&file);
    ttape_cursor *c;
    ttape_event_item item;
    TTEST_OK(ttape_cursor_open(&c, r, 0, &err));
    TTEST_OK(ttape_cursor_seek_event(c, 100000, &err));
    TTEST_OK(ttape_cursor_next(c, &item, &err));
    TTEST_OK(ttape_cursor_seek_time(c, item.event.time_ns, &err));
    for (int i = 0; i < 10; i++)
        TTEST_OK(ttape_cursor_next(c, &item, &err));
    const struct ttp_loaded *p = ttp_cache_find(&r->pool.first, 0);
    ck_assert_int_eq(p->stage, TTP_STAGE_ORDER);
    ck_assert_uint_le(p->time_block_count, 3);
    ck_assert_uint_lt(p->checked.event, 102000);
    ttape_cursor_close(c);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

/* Under every limit of memory that lets the file be opened, a seek works or says why, and gives
 * everything back. */
START_TEST(seeks_in_little_memory)
{
    struct ttest_file file = ttest_write(&plans[3]);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    uint32_t good = 0;
    for (uint64_t limit = 1 << 16; limit < 1 << 24; limit += limit / 4) {
        ttape_reader_options o = {.size = sizeof o, .limits.memory_bytes = limit};
        ttape_reader *r;
        ttape_cursor *c;
        ttape_event_item item;
        ttape_status status = ttape_reader_open(&r, &source, &o, NULL);
        if (status == TTAPE_OK) {
            status = ttape_cursor_open(&c, r, 0, NULL);
            if (status == TTAPE_OK)
                status = ttape_cursor_seek_event(c, 20000, NULL);
            if (status == TTAPE_OK)
                status = ttape_cursor_next(c, &item, NULL);
            ttape_cursor_close(status == TTAPE_OK || c != NULL ? c : NULL);
            ttape_reader_close(r);
        }
        ck_assert(status == TTAPE_OK || status == TTAPE_E_LIMIT);
        good += status == TTAPE_OK;
    }
    ck_assert_uint_gt(good, 3);
    free(file.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reader seek");
    TCase *tests = tcase_create("seek");
    tcase_set_timeout(tests, 240);
    tcase_add_loop_test(tests, cold_seeks_find_the_same, 0, PLANS);
    tcase_add_loop_test(tests, merged_seeks_find_the_same, 0, PLANS);
    tcase_add_test(tests, seeks_decode_little);
    tcase_add_test(tests, seeks_in_little_memory);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
