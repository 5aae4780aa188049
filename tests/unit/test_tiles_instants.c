/* Tiles from what overviews and partitions say of instants are those from events, wherever they can
 * tell; and what is not right is found, or passed over. */
#include <tracetape/copy.h>
#include <tracetape/recover.h>

#include "format/base/bytes.h"
#include "reader/levels/instants_reader.h"
#include "reader/levels/merged_reader.h"
#include "tests/unit/every.h"
#include "tests/unit/tile_model.h"

static const struct ttest_plan plans[] = {
    {.streams = 1, .events = 2500, .partition_events = 60},
    {.streams = 1, .events = 2500, .partition_events = 300, .resolution_ns = 8},
    {.streams = 3, .events = 2600, .partition_events = 90, .plain = true},
    {.streams = 2, .events = 2600, .partition_events = 1000, .literal = true},
    {.streams = 1, .events = 9000, .partition_events = 1500, .plain = true},
};

#define PLANS ((int)(sizeof plans / sizeof plans[0]))

enum { PERIOD = 5, OVERVIEW_INSTANTS = 40 };

/* Everything but other stacks and clocks that step back; waits of more than 2^32 ticks too. */
static struct ttest_file write_plan(const struct ttest_plan *plan, uint32_t share)
{
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer_options o = {.size = sizeof o,
                              .resolution_ns = plan->resolution_ns,
                              .partition_events = plan->partition_events,
                              .literal = plan->literal,
                              .overview_period = PERIOD};
    ttape_writer *w;
    uint64_t seed = 5, time = 1000;
    struct ttest_thread *threads = calloc(plan->streams, sizeof *threads);
    TTEST_OK(ttape_writer_open(&w, &sink, &o, &err));
    w->instants_share = share;
    w->instant_events = plan->partition_events > 1000 ? 30 : 3;
    w->merged_instants = OVERVIEW_INSTANTS;
    ttest_define(w, plan->streams);
    for (uint32_t i = 0; i < plan->events; i++) {
        uint32_t stream = i / 7 % plan->streams;
        ttape_event e = ttest_event(&threads[stream], plan, &seed);
        threads[stream].current = 0;
        if (e.kind == TTAPE_EVENT_SWITCH || (plan->plain && e.kind == TTAPE_EVENT_LEAF))
            continue; /* plain: calls alone, which writers pass by eights ... */
        if (plan->plain && e.kind == TTAPE_EVENT_ENTER) { /* ... of several functions */
            e.site = ttest_random(&seed, 4);
            threads[stream].sites[0][threads[stream].depth[0] - 1] = e.site;
        }
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

/* Segments that were told of by each. */
struct counts {
    uint32_t overviews, sections, events;
};

/* With these sources and with events alone; where something is left out, only that it is said. */
static void compare_sources(ttape_reader *r, ttape_tile_options o, uint32_t sources,
                            const ttape_tile *decoded, struct counts *counts)
{
    ttape_tile_info info;
    o.sources = sources;
    ttape_tile *tile = ttest_tile_made(r, &o, &info);
    sources = sources != 0 ? sources : 7;
    bool events = (sources & TTAPE_TILE_FROM_EVENTS) != 0;
    ck_assert(!events || info.left_out_count == 0);
    ck_assert(events || info.event_count == 0);
    ck_assert((sources & TTAPE_TILE_FROM_INSTANTS) != 0 || info.section_count == 0);
    ck_assert((sources & TTAPE_TILE_FROM_OVERVIEWS) != 0 || info.overview_count == 0);
    ck_assert_msg(info.left_out_count != 0 || ttest_tiles_agree(tile, decoded),
                  "stream %u level %u tile %d instants %u sources %u", o.stream, o.level,
                  (int)o.index, o.instants, sources);
    counts->overviews += info.overview_count;
    counts->sections += info.section_count;
    counts->events += info.event_count;
    ttape_tile_close(tile);
}

static void compare(ttape_reader *r, ttape_tile_options o, struct counts *counts)
{
    struct counts other = {0};
    ttape_tile_info info;
    o.sources = TTAPE_TILE_FROM_EVENTS;
    ttape_tile *decoded = ttest_tile_made(r, &o, &info);
    compare_sources(r, o, 0, decoded, counts);
    for (uint32_t sources = 2; sources < 7; sources++)
        compare_sources(r, o, sources, decoded, &other);
    ttape_tile_close(decoded);
}

/* Of each level tiles from the first to the last, at most about 20; with sanitizers six, of each
 * other level. */
static void compare_levels(ttape_reader *r, uint32_t stream, struct counts *counts)
{
    ttape_error err = {0};
    ttape_tile_axis axis;
    TTEST_OK(ttape_tile_get_axis(r, stream, &axis, &err));
    for (uint32_t level = 0; level < 40; level += ttest_every(2)) {
        ttape_tile_options o = {
            .size = sizeof o, .stream = stream, .level = level, .instants = 1u << level % 5};
        struct ttest_tile_span span = ttest_tile_span_of(&axis, level, 20 / ttest_every(3));
        for (o.index = span.first; o.index <= span.last; o.index += span.step)
            compare(r, o, counts);
    }
}

/* How many segments' events tiles of 8 instants need, adapting and not; and that what adapts is the
 * tile that has been asked for with so many instants. */
static void compare_adapted(ttape_reader *r, uint32_t stream, uint32_t *adapting, uint32_t *asked)
{
    ttape_error err = {0};
    ttape_tile_axis axis;
    TTEST_OK(ttape_tile_get_axis(r, stream, &axis, &err));
    for (uint32_t level = 0; level < 40; level += ttest_every(2)) {
        ttape_tile_options o = {.size = sizeof o, .stream = stream, .level = level, .instants = 8};
        struct ttest_tile_span span = ttest_tile_span_of(&axis, level, 20 / ttest_every(3));
        for (o.index = span.first; o.index <= span.last; o.index += span.step) {
            ttape_tile_options same = o;
            ttape_tile_info info, others;
            ttape_tile_close(ttest_tile_made(r, &o, &others));
            *asked += others.event_count;
            o.adapts = true;
            ttape_tile *tile = ttest_tile_made(r, &o, &info);
            o.adapts = false;
            *adapting += info.event_count;
            ck_assert_uint_le(info.event_count, others.event_count);
            ck_assert(info.instants == others.instants || info.event_count < others.event_count);
            ck_assert_uint_eq(info.left_out_count, 0);
            same.instants = info.instants;
            same.sources = TTAPE_TILE_FROM_EVENTS;
            ttape_tile *decoded = ttest_tile_made(r, &same, &others);
            ck_assert(ttest_tiles_agree(tile, decoded));
            ttape_tile_close(tile);
            ttape_tile_close(decoded);
        }
    }
}

START_TEST(fewer_instants_need_fewer_events)
{
    struct ttest_file file = write_plan(&plans[_i], 0);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_error err = {0};
    ttape_reader *r;
    uint32_t adapting = 0, asked = 0;
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    for (uint32_t stream = 0; stream < plans[_i].streams; stream++)
        compare_adapted(r, stream, &adapting, &asked);
    ck_assert_uint_lt(adapting, asked);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

static void check_sound(const struct ttest_file *file)
{
    ttape_source source = ttape_source_memory(file->data, file->size_bytes);
    ttape_error err = {0};
    uint64_t findings = 1;
    TTEST_OK(ttape_verify(&source, NULL, NULL, NULL, NULL, &findings, &err));
    ck_assert_uint_eq(findings, 0);
}

START_TEST(sources_agree)
{
    struct ttest_file file = write_plan(&plans[_i], 0);
    ttape_reader *r = ttest_open(&file);
    struct counts counts = {0};
    for (uint32_t s = 0; s < plans[_i].streams; s++)
        compare_levels(r, s, &counts);
    ck_assert_uint_gt(counts.overviews,
                      plans[_i].events / plans[_i].partition_events * 4 / ttest_every(3));
    ck_assert_uint_gt(counts.sections, 2);
    ck_assert_uint_gt(counts.events, 50);
    check_sound(&file);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

/* Whatever tells them, tiles are those of the model. */
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
        ttape_tile_info info;
        o.index = axis.first_tick / (INT64_C(256) << o.level);
        struct ttest_tile want = ttest_tile_of(&m, &axis, &o);
        ttape_tile *tile = ttest_tile_made(r, &o, &info);
        ck_assert(ttest_tile_same(&want, tile));
        ttape_tile_close(tile);
        free(want.bars);
    }
    ttest_model_close(&m);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

static void mend(uint8_t *chunk, uint64_t stored_bytes)
{
    ttp_store64(chunk + TTP_CHUNK_PAYLOAD_HASH_AT,
                ttp_checksum(chunk + TTP_CHUNK_HEADER_BYTES, stored_bytes));
    ttp_store64(chunk + TTP_CHUNK_HASH_AT, ttp_checksum(chunk, TTP_CHUNK_HASH_AT));
}

/* Events say the same. */
START_TEST(damaged_sections_are_passed_over)
{
    struct ttest_file file = write_plan(&plans[0], 0);
    ttape_reader *r = ttest_open(&file);
    ttape_tile_info info, other;
    ttape_tile_options o = {.size = sizeof o,
                            .level = 10,
                            .instants = 2,
                            .sources = TTAPE_TILE_FROM_EVENTS | TTAPE_TILE_FROM_INSTANTS};
    ttape_tile *whole = ttest_tile_made(r, &o, &info);
    ck_assert_uint_gt(info.section_count, 3);
    const struct ttp_partition_entry *entry = &r->partitions[2];
    uint8_t *chunk = file.data + entry->offset;
    chunk[TTP_CHUNK_HEADER_BYTES + entry->stored_bytes - 1] ^= 1;
    mend(chunk, entry->stored_bytes);
    ttape_reader_close(r);
    r = ttest_open(&file);
    ttape_tile *tile = ttest_tile_made(r, &o, &other);
    ck_assert_uint_lt(other.section_count, info.section_count);
    ck_assert(ttest_tiles_agree(whole, tile));
    ttape_tile_close(whole);
    ttape_tile_close(tile);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

/* A tile of the whole file, of one instant a bucket: overviews are fine enough for it. */
static ttape_tile_options whole_file(ttape_reader *r)
{
    ttape_tile_options o = {.size = sizeof o, .instants = 1};
    ttape_tile_axis axis;
    ttape_error err = {0};
    TTEST_OK(ttape_tile_get_axis(r, 0, &axis, &err));
    while (axis.last_tick >> o.level >= TTAPE_TILE_BUCKETS)
        o.level++;
    return o;
}

/* The rule that verify has found broken, of a file with no more than that. */
static bool take_rule(void *context, const ttape_finding *finding)
{
    (void)snprintf(context, 16, "%s", finding->error.rule);
    return true;
}

/* Partitions say the same; verify finds it. */
START_TEST(damaged_overviews_are_passed_over)
{
    struct ttest_file file = write_plan(&plans[0], 0);
    ttape_reader *r = ttest_open(&file);
    ttape_tile_info info, other;
    ttape_tile_options o = whole_file(r);
    ttape_tile *whole = ttest_tile_made(r, &o, &info);
    uint8_t *chunk = file.data + r->overviews[2].offset;
    uint64_t stored = ttp_load64(chunk + TTP_CHUNK_STORED_AT), findings;
    chunk[TTP_CHUNK_HEADER_BYTES + stored - 9] ^= 1;
    mend(chunk, stored);
    ttape_reader_close(r);
    r = ttest_open(&file);
    ttape_tile *tile = ttest_tile_made(r, &o, &other);
    ck_assert_uint_le(other.overview_count, info.overview_count);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_error err = {0};
    char rule[16] = "";
    TTEST_OK(ttape_verify(&source, NULL, take_rule, NULL, rule, &findings, &err));
    ck_assert(findings == 1 &&
              (strncmp(rule, "F-OVR-1", 7) == 0 || strncmp(rule, "F-INS", 5) == 0));
    chunk[TTP_CHUNK_HEADER_BYTES + stored - 9] ^= 1; /* and with its hash wrong */
    ttape_tile_close(tile);
    ttape_reader_close(r);
    r = ttest_open(&file);
    tile = ttest_tile_made(r, &o, &other);
    ck_assert_uint_eq(other.overview_count, info.overview_count - PERIOD);
    ck_assert(ttest_tiles_agree(whole, tile));
    ttape_tile_close(whole);
    ttape_tile_close(tile);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

/* Where overviews tell it, no partition is read: it may be damaged, and nobody knows. */
START_TEST(overviews_need_no_partition)
{
    struct ttest_file file = write_plan(&plans[0], 0);
    ttape_reader *r = ttest_open(&file);
    ttape_tile_info info, other;
    ttape_tile_options o = whole_file(r);
    ttape_tile *whole = ttest_tile_made(r, &o, &info);
    ck_assert_uint_gt(info.overview_count, 4 * PERIOD);
    for (uint32_t i = 0; i < 4 * PERIOD; i++)
        file.data[r->partitions[i].offset + TTP_CHUNK_HEADER_BYTES + TTP_HEAD_BYTES] ^= 1;
    ttape_reader_close(r);
    r = ttest_open(&file);
    ttape_tile *tile = ttest_tile_made(r, &o, &other);
    ck_assert_mem_eq(&info, &other, sizeof info);
    ck_assert(ttest_tiles_agree(whole, tile));
    ttape_tile_close(whole);
    ttape_tile_close(tile);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

/* Copies of pieces have the overviews that they have all partitions of; recovered files all. */
START_TEST(copies_keep_them)
{
    struct ttest_file file = write_plan(&plans[0], 0);
    ttape_reader *r = ttest_open(&file);
    ttape_tile_info info, other;
    ttape_memory_sink memory = {0}, again = {0};
    ttape_sink sink = ttape_sink_memory(&memory), recovered = ttape_sink_memory(&again);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_recover_report report;
    ttape_error err = {0};
    ttape_writer *w;
    ttape_copier *c;
    ttape_tile_options o = whole_file(r);
    ttape_tile_close(ttest_tile_made(r, &o, &info));
    TTEST_OK(ttape_writer_open(&w, &sink, NULL, &err));
    TTEST_OK(ttape_copier_open(&c, w, r, &err));
    for (uint32_t p = PERIOD - 1; p < r->partition_count; p++)
        TTEST_OK(ttape_copier_partition(c, p, &err));
    TTEST_OK(ttape_writer_finish(w, &err));
    ttape_copier_close(c);
    ttape_writer_close(w);
    ttape_reader_close(r);
    TTEST_OK(ttape_recover_trace(&source, &recovered, NULL, &report, &err));
    struct ttest_file both[] = {ttest_take(&memory), ttest_take(&again)};
    for (uint32_t i = 0; i < 2; i++) {
        struct counts counts = {0};
        check_sound(&both[i]);
        r = ttest_open(&both[i]);
        ttape_tile_close(ttest_tile_made(r, &o, &other));
        ck_assert_uint_eq(other.overview_count, info.overview_count - (i == 0 ? PERIOD : 0));
        compare(r, o, &counts);
        ttape_reader_close(r);
        free(both[i].data);
    }
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
        TTEST_OK(ttp_loaded_get(&r->pool.first, i, TTP_STAGE_LIGHT, &p, &err));
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
    tcase_add_loop_test(tests, sources_agree, 0, PLANS);
    tcase_add_loop_test(tests, fewer_instants_need_fewer_events, 0, PLANS);
    tcase_add_test(tests, sections_tell_what_the_model_does);
    tcase_add_test(tests, damaged_sections_are_passed_over);
    tcase_add_test(tests, damaged_overviews_are_passed_over);
    tcase_add_test(tests, overviews_need_no_partition);
    tcase_add_test(tests, copies_keep_them);
    tcase_add_test(tests, where_there_are_sections);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
