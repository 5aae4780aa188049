/* Tiles from what partitions say of instants are those from events, wherever both can tell; and a
 * section that is not right is found, or passed over. */
#include "format/base/bytes.h"
#include "reader/levels/instants_reader.h"
#include "tests/unit/tile_model.h"

static const struct ttest_plan plans[] = {
    {.streams = 1, .events = 2500, .partition_events = 60},
    {.streams = 1, .events = 2500, .partition_events = 300, .resolution_ns = 8},
    {.streams = 3, .events = 2600, .partition_events = 90, .plain = true},
    {.streams = 2, .events = 2600, .partition_events = 1000, .literal = true},
};

#define PLANS ((int)(sizeof plans / sizeof plans[0]))

/* Everything but other stacks and clocks that step back; waits of more than 2^32 ticks too. */
static struct ttest_file write_plan(const struct ttest_plan *plan, uint32_t share)
{
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer_options o = {.size = sizeof o,
                              .resolution_ns = plan->resolution_ns,
                              .partition_events = plan->partition_events,
                              .literal = plan->literal};
    ttape_writer *w;
    uint64_t seed = 5, time = 1000;
    struct ttest_thread *threads = calloc(plan->streams, sizeof *threads);
    TTEST_OK(ttape_writer_open(&w, &sink, &o, &err));
    w->instants_share = share;
    w->instant_events = 3;
    ttest_define(w, plan->streams);
    for (uint32_t i = 0; i < plan->events; i++) {
        uint32_t stream = i / 7 % plan->streams;
        ttape_event e = ttest_event(&threads[stream], plan, &seed);
        threads[stream].current = 0;
        if (e.kind == TTAPE_EVENT_SWITCH)
            continue;
        time += 20 + ttest_random(&seed, 60);
        time += ttest_random(&seed, 1000) == 0 ? UINT64_C(50000000000) : 0;
        e.time_ns = time;
        TTEST_OK(ttape_writer_append(w, stream, &e, 1, &err));
    }
    TTEST_OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
    free(threads);
    return ttest_take(&memory);
}

static bool same_tiles(const ttape_tile *a, const ttape_tile *b)
{
    uint32_t count, other;
    const ttape_tile_bar *x = ttape_tile_get_bars(a, &count), *y = ttape_tile_get_bars(b, &other);
    return count == other && memcmp(x, y, count * sizeof *x) == 0 &&
           memcmp(ttape_tile_get_buckets(a), ttape_tile_get_buckets(b),
                  TTAPE_TILE_BUCKETS * sizeof(ttape_tile_bucket)) == 0;
}

/* Adds how many segments sections told. */
static void compare(ttape_reader *r, ttape_tile_options o, uint32_t *told, uint32_t *events)
{
    ttape_error err = {0};
    ttape_tile *tile, *decoded, *alone;
    ttape_tile_info info;
    TTEST_OK(ttape_tile_make(&tile, r, &o, &err));
    ttape_tile_get_info(tile, &info);
    *told += info.section_count;
    *events += info.event_count;
    uint32_t left = info.event_count;
    ck_assert_uint_eq(info.left_out_count, 0);
    o.sources = TTAPE_TILE_FROM_EVENTS;
    TTEST_OK(ttape_tile_make(&decoded, r, &o, &err));
    ttape_tile_get_info(decoded, &info);
    ck_assert_uint_eq(info.section_count, 0);
    ck_assert_msg(same_tiles(tile, decoded), "stream %u level %u tile %d instants %u", o.stream,
                  o.level, (int)o.index, o.instants);
    o.sources = TTAPE_TILE_FROM_INSTANTS;
    TTEST_OK(ttape_tile_make(&alone, r, &o, &err));
    ttape_tile_get_info(alone, &info);
    ck_assert_uint_eq(info.event_count, 0);
    ck_assert_uint_eq(info.left_out_count, left);
    ck_assert(left != 0 || same_tiles(alone, decoded));
    ttape_tile_close(tile);
    ttape_tile_close(decoded);
    ttape_tile_close(alone);
}

/* Of each level tiles from the first to the last, at most about 20. */
static void compare_levels(ttape_reader *r, uint32_t stream, uint32_t *told, uint32_t *events)
{
    ttape_error err = {0};
    ttape_tile_axis axis;
    TTEST_OK(ttape_tile_get_axis(r, stream, &axis, &err));
    for (uint32_t level = 0; level < 40; level++) {
        ttape_tile_options o = {
            .size = sizeof o, .stream = stream, .level = level, .instants = 1u << level % 5};
        int64_t width = INT64_C(256) << level;
        int64_t first = ttest_tile_floor(axis.first_tick, width);
        int64_t last = ttest_tile_floor(axis.last_tick, width);
        int64_t step = last - first > 20 ? (last - first) / 20 : 1;
        for (o.index = first; o.index <= last; o.index += step)
            compare(r, o, told, events);
    }
}

START_TEST(sections_and_events_agree)
{
    struct ttest_file file = write_plan(&plans[_i], 0);
    ttape_reader *r = ttest_open(&file);
    ttape_error err = {0};
    uint32_t told = 0, events = 0;
    for (uint32_t s = 0; s < plans[_i].streams; s++)
        compare_levels(r, s, &told, &events);
    ck_assert_uint_gt(told, 300);
    ck_assert_uint_gt(events, 100);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    uint64_t findings = 1;
    TTEST_OK(ttape_verify(&source, NULL, NULL, NULL, NULL, &findings, &err));
    ck_assert_uint_eq(findings, 0);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

/* With sections and with events alone, tiles are those of the model. */
START_TEST(sections_tell_what_the_model_does)
{
    struct ttest_file file = write_plan(&plans[1], 0);
    ttape_reader *r = ttest_open(&file);
    struct ttest_model m = ttest_model_of(r);
    ttape_tile_axis axis;
    ttape_error err = {0};
    ttape_tile_options o = {.size = sizeof o, .instants = 4};
    TTEST_OK(ttape_tile_get_axis(r, 0, &axis, &err));
    for (o.level = 6; o.level < 13; o.level += 2) {
        ttape_tile *tile;
        o.index = axis.first_tick / (INT64_C(256) << o.level);
        struct ttest_tile want = ttest_tile_of(&m, &axis, &o);
        TTEST_OK(ttape_tile_make(&tile, r, &o, &err));
        ck_assert(ttest_tile_same(&want, tile));
        ttape_tile_close(tile);
        free(want.bars);
    }
    ttest_model_close(&m);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

/* Events say the same. */
START_TEST(damaged_sections_are_passed_over)
{
    struct ttest_file file = write_plan(&plans[0], 0);
    ttape_reader *r = ttest_open(&file);
    ttape_error err = {0};
    ttape_tile *whole, *tile;
    ttape_tile_info info;
    ttape_tile_options o = {.size = sizeof o, .level = 10, .instants = 2};
    TTEST_OK(ttape_tile_make(&whole, r, &o, &err));
    ttape_tile_get_info(whole, &info);
    uint32_t told = info.section_count;
    ck_assert_uint_gt(told, 3);
    const struct ttp_partition_entry *entry = &r->partitions[2];
    uint8_t *chunk = file.data + entry->offset;
    chunk[TTP_CHUNK_HEADER_BYTES + entry->stored_bytes - 1] ^= 1;
    ttp_store64(chunk + TTP_CHUNK_PAYLOAD_HASH_AT,
                ttp_checksum(chunk + TTP_CHUNK_HEADER_BYTES, entry->stored_bytes));
    ttp_store64(chunk + TTP_CHUNK_HASH_AT, ttp_checksum(chunk, TTP_CHUNK_HASH_AT));
    ttape_reader_close(r);
    r = ttest_open(&file);
    TTEST_OK(ttape_tile_make(&tile, r, &o, &err));
    ttape_tile_get_info(tile, &info);
    ck_assert_uint_lt(info.section_count, told);
    ck_assert(same_tiles(whole, tile));
    ttape_tile_close(whole);
    ttape_tile_close(tile);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

static uint32_t section_count(const struct ttest_file *file)
{
    ttape_error err = {0};
    ttape_reader *r = ttest_open(file);
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->partition_count; i++) {
        struct ttp_loaded *p;
        TTEST_OK(ttp_loaded_get(r, i, TTP_STAGE_LIGHT, &p, &err));
        count += ttp_partition_section(&p->head, TTP_SECTION_INSTANTS) != NULL;
    }
    ttape_reader_close(r);
    return count;
}

/* No section where it takes more than its share, where there are several stacks, or no times. */
START_TEST(where_there_are_sections)
{
    static const struct ttest_plan without = {
        .streams = 1, .events = 1000, .partition_events = 100, .resolution_ns = TTAPE_TIME_NONE};
    struct ttest_file file = write_plan(&plans[0], 0), dear = write_plan(&plans[0], 1000);
    struct ttest_file stacks = ttest_write(&ttest_plans[2]), untimed = write_plan(&without, 0);
    ck_assert_uint_gt(section_count(&file), 30);
    ck_assert_uint_eq(section_count(&dear), 0);
    ck_assert_uint_eq(section_count(&stacks), 0);
    ck_assert_uint_eq(section_count(&untimed), 0);
    free(file.data);
    free(dear.data);
    free(stacks.data);
    free(untimed.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tiles");
    TCase *tests = tcase_create("instants");
    tcase_set_timeout(tests, 240);
    tcase_add_loop_test(tests, sections_and_events_agree, 0, PLANS);
    tcase_add_test(tests, sections_tell_what_the_model_does);
    tcase_add_test(tests, damaged_sections_are_passed_over);
    tcase_add_test(tests, where_there_are_sections);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
