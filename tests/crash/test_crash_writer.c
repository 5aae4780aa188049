/* Crashes of a writer on a simulated disk: after every step, and with what was not synced dropped,
 * reordered and torn. What is recovered is, stream by stream, the beginning of what was appended,
 * up to a gap that says so, and holds all that was there at the last sync; it verifies.
 *
 *   crash_test_crash_writer [--seed N]: only the run with this seed, as a failure names it */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/recover.h>

#include "../unit/test_reader_fixture.h"
#include "crash_disk.h"
#include "tests/unit/every.h"

/* Runs of a writer, each with other options, and power cuts at each step. */
#ifndef SEEDS
#if TTEST_SANITIZED
#define SEEDS 5
#else
#define SEEDS 16
#endif
#define DRAWS 3
#endif

#define STREAMS    3u
#define EVENTS     600u
#define PER_STREAM EVENTS
#define STEPS_MOST 4096u

/* A run of a writer: what it did to the disk, and what had been appended when. */
struct run {
    uint64_t seed;
    struct ttest_disk disk;
    ttape_writer *writer;
    uint32_t appended[STREAMS];
    uint32_t synced[STEPS_MOST][STREAMS]; /* by step of the disk: appended before the sync */
    bool is_syncing;
    uint64_t hashes[STREAMS][PER_STREAM]; /* of the events as a sound file has them */
};

static struct run run;
static uint64_t only_seed;

static ttape_status disk_append(void *context, const void *data, size_t size_bytes,
                                ttape_error *err)
{
    (void)err;
    ttest_disk_write(context, data, size_bytes);
    return TTAPE_OK;
}

static ttape_status disk_sync(void *context, ttape_error *err)
{
    (void)err;
    ttest_disk_sync(context);
    ck_assert_uint_lt(run.disk.step_count, STEPS_MOST);
    memcpy(run.synced[run.disk.step_count - 1], run.appended, sizeof run.appended);
    return TTAPE_OK;
}

/* ---- the writer's run ---- */

static ttape_writer_options draw_options(uint64_t *seed)
{
    static const uint32_t sizes[] = {20, 45, 100, 250};
    return (ttape_writer_options){.size = sizeof(ttape_writer_options),
                                  .partition_events = sizes[ttest_random(seed, 4)],
                                  .resolution_ns = ttest_random(seed, 4) == 0 ? TTAPE_TIME_NONE : 1,
                                  .literal = ttest_random(seed, 3) == 0,
                                  .jobs = ttest_random(seed, 3) == 0 ? 3 : 1,
                                  .model_period = ttest_random(seed, 2) == 0 ? 2 : UINT32_MAX,
                                  .index_period = 1 + ttest_random(seed, 4),
                                  .has_trace_id = true,
                                  .trace_id = {9}};
}

static void add_site(ttape_writer *w, uint32_t number)
{
    ttape_error err = {0};
    uint32_t id;
    char name[24];
    (void)snprintf(name, sizeof name, "late %u", number);
    ttape_site site = {.address = 90000 + number,
                       .module = TTAPE_NONE,
                       .kind = TTAPE_SITE_FUNCTION,
                       .symbol = ttest_string(name)};
    TTEST_OK(ttape_writer_add_site(w, &site, &id, &err));
}

static void append_one(struct ttest_thread *threads, uint64_t *seed, uint32_t number)
{
    static const struct ttest_plan plan = {.streams = STREAMS};
    ttape_error err = {0};
    uint32_t stream = number / 9 % STREAMS;
    ttape_event e = ttest_event(&threads[stream], &plan, seed);
    e.time_ns = 1000 + number * 37;
    TTEST_OK(ttape_writer_append(run.writer, stream, &e, 1, &err));
    if (e.kind == TTAPE_EVENT_ENTER && ttest_random(seed, 10) == 0)
        ttest_attach(run.writer, stream, seed);
    run.appended[stream]++;
    if (ttest_random(seed, 60) == 0)
        add_site(run.writer, number);
    uint32_t what = ttest_random(seed, 150);
    if (what == 0)
        TTEST_OK(ttape_writer_flush(run.writer, true, &err));
    else if (what == 1)
        TTEST_OK(ttape_writer_flush(run.writer, false, &err));
    else if (what == 2)
        TTEST_OK(ttape_writer_seal(run.writer, &err));
}

static void read_hashes(void);

static void write_run(uint64_t seed_number)
{
    ttape_error err = {0};
    uint64_t seed = seed_number;
    struct ttest_thread threads[STREAMS];
    memset(&run, 0, sizeof run);
    memset(threads, 0, sizeof threads);
    run.seed = seed_number;
    ttape_sink sink = {&run.disk, disk_append, disk_sync};
    ttape_writer_options options = draw_options(&seed);
    TTEST_OK(ttape_writer_open(&run.writer, &sink, &options, &err));
    ttest_define(run.writer, STREAMS);
    for (uint32_t i = 0; i < EVENTS; i++)
        append_one(threads, &seed, i);
    TTEST_OK(ttape_writer_finish(run.writer, &err));
    ttape_writer_close(run.writer);
    read_hashes();
}

/* ---- reading ---- */

static uint64_t hash_item(const ttape_event_item *item)
{
    struct ttest_sum sum = {0};
    ttest_mix_item(&sum, item);
    return sum.hash;
}

static bool is_mark(const ttape_event_item *item)
{
    return item->event.kind == TTAPE_EVENT_GAP && item->event.argument == TTAPE_GAP_REASON_DAMAGE;
}

static void read_hashes(void)
{
    ttape_error err = {0};
    ttape_reader *r;
    ttape_source source = ttape_source_memory(run.disk.data, run.disk.size_bytes);
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    for (uint32_t s = 0; s < STREAMS; s++) {
        ttape_cursor *cursor;
        ttape_event_item item;
        TTEST_OK(ttape_cursor_open(&cursor, r, s, &err));
        while (ttape_cursor_next(cursor, &item, &err) == TTAPE_OK)
            run.hashes[s][item.number] = hash_item(&item);
        ttape_cursor_close(cursor);
        ck_assert_uint_ne(run.hashes[s][run.appended[s] - 1], 0);
    }
    ttape_reader_close(r);
}

struct crash {
    const char *how;
    size_t step, draw;
    bool is_torn; /* what was not synced may be there in parts */
};

#define SAY(crash)                                                                                 \
    "--seed %llu: %s after step %zu of %zu, draw %zu", (unsigned long long)run.seed, (crash)->how, \
        (crash)->step, run.disk.step_count, (crash)->draw

static void broken(const struct crash *crash, const char *what, uint32_t stream, uint64_t number)
{
    char label[160];
    (void)snprintf(label, sizeof label, SAY(crash));
    ck_abort_msg("%s: stream %u, event %llu: %s", label, stream, (unsigned long long)number, what);
}

/* The events in their order: those of the original, or a mark where some are left out. */
static uint64_t check_stream(const struct crash *crash, ttape_reader *r, uint32_t stream)
{
    ttape_error err = {0};
    ttape_cursor *cursor;
    ttape_event_item item;
    ttape_status status;
    uint64_t next = 0, whole = UINT64_MAX; /* whole: events before the first mark */
    TTEST_OK(ttape_cursor_open(&cursor, r, stream, &err));
    while ((status = ttape_cursor_next(cursor, &item, &err)) == TTAPE_OK) {
        if (is_mark(&item)) {
            if (!crash->is_torn)
                broken(crash, "a gap, where nothing can be missing", stream, item.number);
            if (item.number < next)
                broken(crash, "a gap in front of what is there", stream, item.number);
            whole = whole == UINT64_MAX ? next : whole;
        } else if (item.number != next) {
            broken(crash, "events are left out silently", stream, item.number);
        } else if (item.number >= run.appended[stream] ||
                   hash_item(&item) != run.hashes[stream][item.number]) {
            broken(crash, "not what was appended", stream, item.number);
        }
        next = item.number + 1;
    }
    ttape_cursor_close(cursor);
    if (status != TTAPE_END)
        broken(crash, err.message, stream, next);
    return whole == UINT64_MAX ? next : whole;
}

static void check_recovered(const struct crash *crash, const ttape_memory_sink *out,
                            const uint32_t *synced)
{
    ttape_error err = {0};
    ttape_reader *r;
    ttape_info info;
    uint64_t findings = 0;
    ttape_source source = ttape_source_memory(out->data, out->size_bytes);
    TTEST_OK(ttape_verify(&source, NULL, ttest_print_finding, NULL, NULL, &findings, &err));
    if (findings != 0)
        broken(crash, "the output does not verify", 0, 0);
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    ttape_reader_get_info(r, &info);
    for (uint32_t s = 0; s < STREAMS; s++) {
        uint64_t count = s < info.stream_count ? check_stream(crash, r, s) : 0;
        if (count < synced[s])
            broken(crash, "what had been synced is lost", s, count);
    }
    ttape_reader_close(r);
}

static void crash_once(const struct crash *crash, uint8_t *image, size_t size_bytes,
                       const uint32_t *synced)
{
    ttape_error err = {0};
    ttape_memory_sink out = {0};
    ttape_sink sink = ttape_sink_memory(&out);
    /* A copy of exactly the size, so that ASan sees one byte over. */
    uint8_t *copy = malloc(size_bytes == 0 ? 1 : size_bytes);
    if (size_bytes != 0)
        memcpy(copy, image, size_bytes);
    ttape_source source = ttape_source_memory(copy, size_bytes);
    ttape_recover_report report = {0};
    ttape_status status = ttape_recover_trace(&source, &sink, NULL, &report, &err);
    if (status == TTAPE_OK)
        check_recovered(crash, &out, synced);
    else if (status != TTAPE_E_NOT_TRACE || synced[0] + synced[1] + synced[2] != 0)
        broken(crash, err.message, 0, 0);
    ttape_memory_sink_close(&out);
    free(copy);
    free(image);
}

static void crash_everywhere(uint64_t seed_number)
{
    uint64_t seed = seed_number ^ UINT64_C(0x9E3779B97F4A7C15);
    uint32_t synced[STREAMS] = {0};
    write_run(seed_number);
    for (size_t step = 0; step <= run.disk.step_count; step++) {
        size_t size;
        if (step > 0 && run.disk.steps[step - 1].is_sync)
            memcpy(synced, run.synced[step - 1], sizeof synced);
        uint8_t *image = ttest_disk_cut(&run.disk, step, &size);
        crash_once(&(struct crash){"a stop", step, 0, false}, image, size, synced);
        for (size_t draw = 0; draw < DRAWS; draw++) {
            image = ttest_disk_crash(&run.disk, step, (enum ttest_stale)(draw % TTEST_STALE_COUNT),
                                     &seed, &size);
            crash_once(&(struct crash){"a power cut", step, draw, true}, image, size, synced);
        }
    }
    ck_assert_uint_eq(synced[0], run.appended[0]); /* finish syncs */
    ttest_disk_close(&run.disk);
}

START_TEST(every_step) { crash_everywhere(only_seed != 0 ? only_seed : (uint64_t)_i + 1); }
END_TEST

int main(int count, char **words)
{
    Suite *suite = suite_create("crash_writer");
    TCase *cases = tcase_create("crashes");
    bool one = count == 3 && strcmp(words[1], "--seed") == 0;
    only_seed = one ? strtoull(words[2], NULL, 10) : 0;
    tcase_set_timeout(cases, 600);
    tcase_add_loop_test(cases, every_step, 0, one ? 1 : SEEDS);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
