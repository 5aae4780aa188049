/* Tiles say what a model says that looks at each instant's stack by itself, however the trace is
 * cut into partitions. */
#include "format/base/bytes.h"
#include "reader/reader_internal.h"
#include "tests/unit/tile_model.h"

static void compare(ttape_reader *r, const struct ttest_model *m, const ttape_tile_axis *axis,
                    const ttape_tile_options *o)
{
    ttape_tile_info info;
    struct ttest_tile want = ttest_tile_of(m, axis, o);
    ttape_tile *tile = ttest_tile_made(r, o, &info);
    ck_assert_uint_eq(info.bar_count, want.bar_count);
    ck_assert_uint_eq(info.left_out_count, 0);
    ck_assert(!info.is_cut);
    ck_assert_msg(ttest_tile_same(&want, tile), "stream %u level %u tile %d instants %u", o->stream,
                  o->level, (int)o->index, o->instants);
    ttape_tile_close(tile);
    free(want.bars);
}

/* Of a level all tiles that have something, and one more at each end; of fine ones some. */
static uint32_t compare_level(ttape_reader *r, const struct ttest_model *m, ttape_tile_options o)
{
    ttape_error err = {0};
    ttape_tile_axis axis;
    uint32_t count = 0;
    TTEST_OK(ttape_tile_get_axis(r, o.stream, &axis, &err));
    if (!axis.has_times)
        return 0;
    struct ttest_tile_span span = ttest_tile_span_of(&axis, o.level, 3);
    for (o.index = span.first - 1; o.index <= span.last + 1; o.index += span.step, count++)
        compare(r, m, &axis, &o);
    return count;
}

START_TEST(tiles_are_those_of_the_model)
{
    struct ttest_file file = ttest_write(&ttest_plans[_i]);
    ttape_reader *r = ttest_open(&file);
    struct ttest_model m = ttest_model_of(r);
    uint32_t count = 0;
    for (uint32_t s = 0; s < m.stream_count && s < 2; s++)
        for (uint32_t level = s; level < 14; level += 2 + 3 * s)
            count += compare_level(
                r, &m,
                (ttape_tile_options){.size = sizeof(ttape_tile_options),
                                     .stream = s,
                                     .level = level,
                                     .instants = level % 3 == 0 ? 0 : 1u << level % 5});
    ck_assert_uint_eq(count == 0, ttest_plans[_i].resolution_ns == TTAPE_TIME_NONE);
    ttest_model_close(&m);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

static void damage(void *context, uint32_t partition, const ttape_error *error)
{
    ck_assert_int_eq(error->status, TTAPE_E_CHECKSUM);
    *(uint32_t *)context = partition;
}

/* What a partition had is not known then, and that something is missing is said behind it. */
START_TEST(damaged_partitions_are_gaps)
{
    enum { DAMAGED = 7 };
    struct ttest_file file = ttest_write(&ttest_plans[0]);
    ttape_reader *r = ttest_open(&file);
    struct ttest_model m = ttest_model_of(r);
    const struct ttp_partition_entry *entry = &r->partitions[DAMAGED];
    uint32_t seen = 0, missing = 0, gaps = 0;
    ttape_tile_options o = {.size = sizeof o, .level = 9, .context = &seen};
    ttape_tile_axis axis;
    ttape_error err = {0};
    ttape_tile *tile;
    ttape_tile_info info;
    TTEST_OK(ttape_tile_get_axis(r, 0, &axis, &err));
    struct ttest_tile whole = ttest_tile_of(&m, &axis, &o);
    file.data[entry->offset + TTP_CHUNK_HEADER_BYTES + entry->stored_bytes - 1] ^= 1;
    ttape_reader_close(r);
    r = ttest_open(&file);
    ck_assert_int_eq(ttape_tile_make(&tile, r, &o, &err), TTAPE_E_CHECKSUM);
    o.damage = damage;
    TTEST_OK(ttape_tile_make(&tile, r, &o, &err));
    ttape_tile_get_info(tile, &info);
    ck_assert_uint_eq(seen, DAMAGED);
    ck_assert_uint_eq(info.damaged_count, 1);
    const ttape_tile_bucket *buckets = ttape_tile_get_buckets(tile);
    for (uint32_t i = 0; i < TTAPE_TILE_BUCKETS; i++) {
        ck_assert_uint_le(buckets[i].known, whole.buckets[i].known);
        missing += whole.buckets[i].known - buckets[i].known;
        gaps += buckets[i].has_gaps;
    }
    ck_assert_uint_gt(missing, 0);
    ck_assert_uint_eq(gaps, 1);
    ttape_tile_close(tile);
    free(whole.bars);
    ttest_model_close(&m);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

/* Gives a partition another axis. */
static void move_axis(uint8_t *chunk)
{
    uint8_t *head = chunk + TTP_CHUNK_HEADER_BYTES;
    ttp_store64(head + TTP_HEAD_ORIGIN_AT, ttp_load64(head + TTP_HEAD_ORIGIN_AT) + 500);
    ttp_store64(head + TTP_HEAD_RESOLUTION_AT, 3 * ttp_load64(head + TTP_HEAD_RESOLUTION_AT));
    uint32_t sections = ttp_load32(head + TTP_HEAD_SECTIONS_AT);
    ttp_store64(head,
                ttp_checksum(head + 8, TTP_HEAD_BYTES - 8 + sections * TTP_SECTION_ENTRY_BYTES));
    ttp_store64(chunk + TTP_CHUNK_PAYLOAD_HASH_AT,
                ttp_checksum(head, ttp_load64(chunk + TTP_CHUNK_STORED_AT)));
    ttp_store64(chunk + TTP_CHUNK_HASH_AT, ttp_checksum(chunk, TTP_CHUNK_HASH_AT));
}

/* Partitions of another axis than the stream's first one: times are what counts. */
START_TEST(partitions_of_another_axis)
{
    struct ttest_file file = ttest_write(&ttest_plans[0]);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_reader_options options = {.size = sizeof options, .ignore_index = true};
    ttape_error err = {0};
    ttape_tile_axis axis;
    ttape_reader *r = ttest_open(&file);
    for (uint32_t p = 1; p < r->partition_count; p++)
        move_axis(file.data + r->partitions[p].offset);
    ttape_reader_close(r);
    TTEST_OK(ttape_reader_open(&r, &source, &options, &err));
    struct ttest_model m = ttest_model_of(r);
    TTEST_OK(ttape_tile_get_axis(r, 0, &axis, &err));
    int64_t second = (int64_t)(m.streams[0].events[60].time_ns - axis.origin_ns);
    ttape_tile_options o = {.size = sizeof o};
    for (o.level = 1; o.level < 11; o.level += 3)
        for (o.index = second / (INT64_C(256) << o.level) + 1;
             o.index * (INT64_C(256) << o.level) < axis.last_tick; o.index += 1 + 20 / o.level)
            compare(r, &m, &axis, &o);
    ttest_model_close(&m);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

START_TEST(deep_frames_are_cut)
{
    struct ttest_file file = ttest_write(&ttest_plans[3]);
    ttape_reader *r = ttest_open(&file);
    ttape_tile_options o = {.size = sizeof o, .level = 10};
    ttape_tile_info info;
    uint32_t count, cut_count;
    ttape_tile *tile = ttest_tile_made(r, &o, &info);
    o.depths = 2;
    ttape_tile *cut = ttest_tile_made(r, &o, &info);
    ck_assert(info.is_cut);
    ck_assert_uint_eq(info.depth_count, 2);
    const ttape_tile_bar *bars = ttape_tile_get_bars(tile, &count);
    const ttape_tile_bar *some = ttape_tile_get_bars(cut, &cut_count);
    ck_assert_uint_lt(cut_count, count);
    ck_assert_int_eq(memcmp(bars, some, cut_count * sizeof *bars), 0);
    ck_assert_uint_eq(bars[cut_count].depth, 2);
    ttape_tile_close(tile);
    ttape_tile_close(cut);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

/* The ends of the axis are tiles as others are. */
START_TEST(what_cannot_be_is_refused)
{
    struct ttest_file file = ttest_write(&ttest_plans[0]);
    ttape_reader *r = ttest_open(&file);
    ttape_error err = {0};
    ttape_tile *tile;
    ttape_tile_axis axis;
    uint32_t count = 1;
    const ttape_tile_options bad[] = {{.size = sizeof bad[0], .level = TTAPE_TILE_LEVELS},
                                      {.size = sizeof bad[0], .level = 55, .index = 1},
                                      {.size = sizeof bad[0], .level = 55, .index = -2},
                                      {.size = sizeof bad[0], .instants = 3},
                                      {.size = sizeof bad[0], .instants = 32},
                                      {.size = sizeof bad[0], .depths = (1u << 20) + 1},
                                      {.size = sizeof bad[0], .sources = 1u << 31}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_int_eq(ttape_tile_make(&tile, r, &bad[i], &err), TTAPE_E_ARGUMENT);
        ck_assert_ptr_null(tile);
    }
    const ttape_tile_options ends[] = {
        {.size = sizeof ends[0], .level = 55, .index = -1},
        {.size = sizeof ends[0], .level = 0, .index = -(INT64_C(1) << 55)},
        {.size = sizeof ends[0], .level = 0, .index = (INT64_C(1) << 55) - 1},
        {.size = sizeof ends[0], .level = 4, .index = -(INT64_C(1) << 51)},
        {.size = sizeof ends[0], .level = 30, .instants = 1, .index = (INT64_C(1) << 25) - 1}};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        TTEST_OK(ttape_tile_make(&tile, r, &ends[i], &err));
        ck_assert_ptr_nonnull(ttape_tile_get_bars(tile, &count));
        ck_assert_uint_eq(count, 0);
        ttape_tile_close(tile);
    }
    ttape_tile_options o = {.size = sizeof o, .stream = 1};
    ck_assert_int_eq(ttape_tile_make(&tile, r, &o, &err), TTAPE_E_NOT_FOUND);
    ck_assert_int_eq(ttape_tile_get_axis(r, 1, &axis, &err), TTAPE_E_NOT_FOUND);
    ck_assert_int_eq(ttape_tile_get_axis(NULL, 0, &axis, &err), TTAPE_E_ARGUMENT);
    ttape_tile_options small = {.size = sizeof small, .memory_bytes = 3000};
    ck_assert_int_eq(ttape_tile_make(&tile, r, &small, &err), TTAPE_E_LIMIT);
    ck_assert_int_eq(ttape_tile_make(&tile, NULL, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_tile_make(NULL, r, NULL, &err), TTAPE_E_ARGUMENT);
    ttape_tile_close(NULL);
    ck_assert_ptr_null(ttape_tile_get_bars(NULL, &count));
    ck_assert_uint_eq(count, 0);
    ck_assert_ptr_null(ttape_tile_get_buckets(NULL));
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tiles");
    TCase *tests = tcase_create("tiles");
    tcase_set_timeout(tests, 240);
    tcase_add_loop_test(tests, tiles_are_those_of_the_model, 0, TTEST_PLANS);
    tcase_add_test(tests, damaged_partitions_are_gaps);
    tcase_add_test(tests, partitions_of_another_axis);
    tcase_add_test(tests, deep_frames_are_cut);
    tcase_add_test(tests, what_cannot_be_is_refused);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
