/* The public writer: same bytes on any number of workers, misuse, sinks that fail at any append,
 * allocators that fail at any call. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/writer.h>

#include "tests/asserts.h"
#include "writer/growing.h"

enum { SITES = 7, STREAMS = 3, EVENTS = 3000 };

/* Bytes that are out; fails from call `fail_at` on, for ever. */
struct counting {
    atomic_size_t calls, bytes;
    size_t fail_at;
};

static void *count_allocate(void *context, size_t size_bytes)
{
    struct counting *c = context;
    if (atomic_fetch_add(&c->calls, 1) >= c->fail_at)
        return NULL;
    atomic_fetch_add(&c->bytes, size_bytes);
    return malloc(size_bytes);
}

static void count_release(void *context, void *memory, size_t size_bytes)
{
    struct counting *c = context;
    if (memory != NULL)
        atomic_fetch_sub(&c->bytes, size_bytes);
    free(memory);
}

/* A memory sink that fails at its append `fail_at`, for ever. */
struct failing {
    ttape_memory_sink memory;
    ttape_sink inner;
    size_t calls, syncs, fail_at;
    bool sync_fails;
};

static ttape_status no_space(ttape_error *err)
{
    *err = (ttape_error){.status = TTAPE_E_IO,
                         .os_errno = 28,
                         .offset = TTAPE_ERROR_NO_OFFSET,
                         .message = "no space"};
    return TTAPE_E_IO;
}

static ttape_status failing_append(void *context, const void *data, size_t size_bytes,
                                   ttape_error *err)
{
    struct failing *f = context;
    if (f->calls++ >= f->fail_at)
        return no_space(err);
    return f->inner.append(f->inner.context, data, size_bytes, err);
}

static ttape_status failing_sync(void *context, ttape_error *err)
{
    struct failing *f = context;
    f->syncs++;
    return f->sync_fails ? no_space(err) : TTAPE_OK;
}

static ttape_sink failing_sink(struct failing *f, size_t fail_at)
{
    *f = (struct failing){.fail_at = fail_at};
    f->inner = ttape_sink_memory(&f->memory);
    return (ttape_sink){f, failing_append, failing_sync};
}

static ttape_status define(ttape_writer *w, ttape_error *err)
{
    uint32_t id;
    char name[16];
    ttape_process process = {.pid = 1, .parent = TTAPE_NONE, .name = {"p", 1}};
    ttape_status status = ttape_writer_set_text(w, "clock", (ttape_string){"tsc", 3}, err);
    if (status == TTAPE_OK)
        status = ttape_writer_add_process(w, &process, &id, err);
    for (uint32_t i = 0; i < STREAMS && status == TTAPE_OK; i++) {
        ttape_stream stream = {.process = 0, .tid = 10 + i};
        status = ttape_writer_add_stream(w, &stream, &id, err);
    }
    for (uint32_t i = 0; i < SITES && status == TTAPE_OK; i++) {
        (void)snprintf(name, sizeof name, "site %u", i);
        ttape_site site = {.address = 4096 + 16 * i,
                           .module = TTAPE_NONE,
                           .symbol = {name, strlen(name)},
                           .file = {"a.c", 3}};
        status = ttape_writer_add_site(w, &site, &id, err);
    }
    return status;
}

/* Calls on three streams in turn, with values, gaps, odd depths and clock steps; the first failure
 * is returned. */
static ttape_status write_all(ttape_writer *w, ttape_error *err)
{
    uint64_t random = 1, time = 1000;
    ttape_value value = {.type = TTAPE_VALUE_STRING, .bytes = {"value", 5}};
    ttape_status status = define(w, err);
    for (uint32_t i = 0; i < EVENTS && status == TTAPE_OK; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint32_t r = (uint32_t)(random >> 33), stream = i / 10 % STREAMS;
        time += r % 997 == 0 ? UINT64_C(0) - 500 : r % 300;
        ttape_event e = {.time_ns = time,
                         .kind = r % 7 < 4 ? TTAPE_EVENT_ENTER : TTAPE_EVENT_EXIT,
                         .site = r / 7 % SITES,
                         .depth = r % 501 == 0 ? 1000 + r % 9 : TTAPE_DEPTH_AUTO};
        if (r % 211 == 0)
            e = (ttape_event){.time_ns = time,
                              .kind = TTAPE_EVENT_GAP,
                              .site = TTAPE_NONE,
                              .argument = 1,
                              .lost_count = r % 5,
                              .depth = TTAPE_DEPTH_AUTO};
        else if (e.depth != TTAPE_DEPTH_AUTO)
            e.kind = TTAPE_EVENT_LEAF;
        status = ttape_writer_append(w, stream, &e, 1, err);
        if (status == TTAPE_OK && r % 53 == 0 && e.kind != TTAPE_EVENT_GAP)
            status = ttape_writer_attach(w, stream, &value, 1, err);
    }
    return status == TTAPE_OK ? ttape_writer_finish(w, err) : status;
}

static ttape_memory_sink write_with(const ttape_writer_options *options)
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer *w;
    ttape_error err = {0};
    ck_assert_int_eq(ttape_writer_open(&w, &sink, options, &err), TTAPE_OK);
    ck_assert_msg(write_all(w, &err) == TTAPE_OK, "%s", err.message);
    ttape_writer_progress progress;
    ttape_writer_get_progress(w, &progress);
    ck_assert_uint_eq(progress.event_count, EVENTS);
    ck_assert_uint_eq(progress.written_bytes, memory.size_bytes);
    ttape_writer_close(w);
    return memory;
}

START_TEST(workers_never_change_the_bytes)
{
    static const ttape_writer_options kinds[] = {
        {.partition_events = 256},
        {.partition_events = 256, .level = 9},
        {.partition_events = 100, .literal = true},
        {.partition_events = 256, .resolution_ns = TTAPE_TIME_NONE},
        {.partition_events = 100, .model_period = UINT32_MAX, .index_period = 3}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        ttape_writer_options options = kinds[i];
        options.size = sizeof options;
        ttape_memory_sink first = write_with(&options);
        for (uint32_t jobs = 1; jobs <= 3; jobs++) {
            options.jobs = jobs;
            ttape_memory_sink again = write_with(&options);
            ck_assert_uint_eq(again.size_bytes, first.size_bytes);
            ck_assert_mem_eq(again.data, first.data, first.size_bytes);
            ttape_memory_sink_close(&again);
        }
        ttape_memory_sink_close(&first);
    }
}
END_TEST

/* One run with a sink and an allocator that fail; true when nothing failed. */
static bool run_failing(uint32_t jobs, size_t append_at, size_t allocate_at)
{
    struct failing f;
    struct counting c = {.fail_at = allocate_at};
    ttape_allocator allocator = {&c, count_allocate, count_release};
    ttape_sink sink = failing_sink(&f, append_at);
    ttape_writer_options options = {
        .size = sizeof options, .partition_events = 700, .jobs = jobs, .allocator = &allocator};
    ttape_writer *w;
    ttape_error err = {0}, again = {0};
    ttape_status status = ttape_writer_open(&w, &sink, &options, &err);
    ck_assert((status == TTAPE_OK) == (w != NULL));
    if (status == TTAPE_OK) {
        status = write_all(w, &err);
        if (status != TTAPE_OK) { /* for good */
            size_t calls = f.calls;
            ck_assert_int_eq(ttape_writer_flush(w, true, &again), status);
            ck_assert_int_eq(ttape_writer_finish(w, NULL), status);
            ck_assert_int_eq(again.os_errno, err.os_errno);
            ck_assert_str_eq(again.message, err.message);
            ck_assert_uint_eq(f.calls, calls);
        }
        ttape_writer_close(w);
    }
    if (status != TTAPE_OK)
        ck_assert_int_eq(err.status, status);
    if (append_at != SIZE_MAX && status != TTAPE_OK)
        ck_assert(status == TTAPE_E_IO && err.os_errno == 28);
    if (allocate_at != SIZE_MAX && status != TTAPE_OK)
        ck_assert_int_eq(status, TTAPE_E_MEMORY);
    ck_assert_uint_eq(atomic_load(&c.bytes), 0);
    ttape_memory_sink_close(&f.memory);
    return status == TTAPE_OK;
}

START_TEST(sink_fails_at_any_append)
{
    for (uint32_t jobs = 1; jobs <= 2; jobs++) {
        size_t n = 0;
        while (!run_failing(jobs, n, SIZE_MAX))
            n++;
        ck_assert_uint_gt(n, 10);
    }
}
END_TEST

START_TEST(allocator_fails_at_any_call)
{
    size_t n = 0;
    while (!run_failing(1, SIZE_MAX, n))
        n++;
    ck_assert_uint_gt(n, 20);
    for (size_t at = 0; at < n; at += 5)
        (void)run_failing(2, SIZE_MAX, at);
}
END_TEST

START_TEST(sync_is_passed_on)
{
    struct failing f;
    ttape_sink sink = failing_sink(&f, SIZE_MAX);
    ttape_writer *w;
    ttape_error err = {0};
    ck_assert_int_eq(ttape_writer_open(&w, &sink, NULL, &err), TTAPE_OK);
    ck_assert_int_eq(ttape_writer_flush(w, false, &err), TTAPE_OK);
    ck_assert_uint_eq(f.syncs, 0);
    ck_assert_int_eq(ttape_writer_flush(w, true, &err), TTAPE_OK);
    ck_assert_uint_eq(f.syncs, 1);
    f.sync_fails = true;
    ck_assert_int_eq(ttape_writer_finish(w, &err), TTAPE_E_IO);
    ck_assert_int_eq(ttape_writer_flush(w, false, &err), TTAPE_E_IO);
    ttape_writer_close(w);
    ttape_memory_sink_close(&f.memory);
}
END_TEST

#define EVENT(...)                                                                                 \
    (ttape_event) { .depth = TTAPE_DEPTH_AUTO, __VA_ARGS__ }

START_TEST(bad_events)
{
    static const struct {
        uint32_t stream;
        ttape_event event;
        const char *rule;
    } all[] = {
        {STREAMS, {.kind = TTAPE_EVENT_ENTER}, ""},
        {0, {.kind = TTAPE_EVENT_ENTER, .site = SITES}, ""},
        {0, {.kind = TTAPE_EVENT_LEAF, .site = TTAPE_NONE}, ""},
        {0, {.kind = TTAPE_EVENT_KIND_COUNT}, "F-EVT-01"},
        {0, {.kind = TTAPE_EVENT_SIGNAL_END, .argument = 3}, "F-EVT-02"},
        {0, {.kind = TTAPE_EVENT_UNWIND, .argument = 0}, "F-EVT-03"},
        {0, {.kind = TTAPE_EVENT_UNWIND, .argument = 1}, "F-EVT-03"},
        {0, {.kind = TTAPE_EVENT_EXIT_ACROSS, .argument = UINT32_MAX}, "F-EVT-03"},
        {0, {.kind = TTAPE_EVENT_SWITCH, .argument = 1u << 20}, "F-EVT-03"},
        {0, {.kind = TTAPE_EVENT_ENTER, .depth = 1u << 31}, "F-EVT-05"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        ttape_memory_sink memory = {0};
        ttape_sink sink = ttape_sink_memory(&memory);
        ttape_writer *w;
        ttape_error err = {0};
        ck_assert_int_eq(ttape_writer_open(&w, &sink, NULL, &err), TTAPE_OK);
        ck_assert_int_eq(define(w, &err), TTAPE_OK);
        ttape_status status = ttape_writer_append(w, all[i].stream, &all[i].event, 1, &err);
        ck_assert_msg(status == TTAPE_E_ARGUMENT && strcmp(err.rule, all[i].rule) == 0,
                      "event %zu: status %d, rule '%s': %s", i, status, err.rule, err.message);
        ttape_writer_close(w);
        ttape_memory_sink_close(&memory);
    }
}
END_TEST

START_TEST(bad_options)
{
    static const ttape_writer_options bad[] = {{.level = 10},
                                               {.level = -1},
                                               {.partition_events = (1u << 24) + 1},
                                               {.resolution_ns = 1ull << 63}};
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory), none = {0};
    ttape_writer *w;
    ttape_error err = {0};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ttape_writer_options options = bad[i];
        ck_assert_int_eq(ttape_writer_open(&w, &sink, &options, &err), TTAPE_E_ARGUMENT);
        options.size = sizeof options;
        ck_assert_int_eq(ttape_writer_open(&w, &sink, &options, &err), TTAPE_E_ARGUMENT);
        ck_assert_ptr_null(w);
    }
    struct {
        ttape_writer_options options;
        uint64_t newer;
    } larger = {.options = {.size = sizeof larger}};
    ck_assert_int_eq(ttape_writer_open(&w, &sink, &larger.options, &err), TTAPE_OK);
    ttape_writer_close(w);
    larger.newer = 1;
    ck_assert_int_eq(ttape_writer_open(&w, &sink, &larger.options, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_writer_open(&w, &none, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_writer_open(&w, NULL, NULL, NULL), TTAPE_E_ARGUMENT);
    ttape_writer_close(NULL);
    ttape_memory_sink_close(&memory);
}
END_TEST

START_TEST(bad_levels)
{
    static const int32_t bad[] = {INT32_MIN, -1, 0, 10, INT32_MAX};
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer *w;
    ttape_error err = {0};
    ck_assert_int_eq(ttape_writer_open(&w, &sink, NULL, &err), TTAPE_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_int_eq(ttape_writer_set_level(w, bad[i], &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_writer_set_level(w, 0, NULL), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_writer_set_level(w, TTAPE_LEVEL_FAST, &err), TTAPE_OK);
    ck_assert_int_eq(ttape_writer_set_level(w, TTAPE_LEVEL_MAX, &err), TTAPE_OK);
    ck_assert_int_eq(ttape_writer_finish(w, &err), TTAPE_OK);
    ck_assert_int_eq(ttape_writer_set_level(w, TTAPE_LEVEL_FAST, &err), TTAPE_E_STATE);
    ttape_writer_close(w);
    ttape_memory_sink_close(&memory);
}
END_TEST

START_TEST(after_finish)
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_event event = EVENT(.kind = TTAPE_EVENT_ENTER);
    ttape_writer *w;
    ttape_error err = {0};
    ck_assert_int_eq(ttape_writer_open(&w, &sink, NULL, &err), TTAPE_OK);
    ck_assert_int_eq(define(w, &err), TTAPE_OK);
    ck_assert_int_eq(ttape_writer_append(w, 0, &event, 1, &err), TTAPE_OK);
    ck_assert_int_eq(ttape_writer_finish(w, &err), TTAPE_OK);
    size_t size = memory.size_bytes;
    ck_assert_int_eq(ttape_writer_append(w, 0, &event, 1, &err), TTAPE_E_STATE);
    ck_assert_int_eq(ttape_writer_flush(w, true, &err), TTAPE_E_STATE);
    ck_assert_int_eq(ttape_writer_finish(w, &err), TTAPE_E_STATE);
    ck_assert_int_eq(define(w, &err), TTAPE_E_STATE);
    ck_assert_uint_eq(memory.size_bytes, size);
    ttape_writer_close(w);
    ttape_memory_sink_close(&memory);
}
END_TEST

START_TEST(bad_values)
{
    static char long_text[TTAPE_VALUE_MAX_BYTES + 1];
    ttape_value good = {.type = TTAPE_VALUE_NULL};
    ttape_value bad[] = {{.type = 7},
                         {.type = TTAPE_VALUE_BYTES, .bytes = {long_text, sizeof long_text}}};
    for (int i = 0; i < 4; i++) {
        ttape_memory_sink memory = {0};
        ttape_sink sink = ttape_sink_memory(&memory);
        ttape_event event = EVENT(.kind = TTAPE_EVENT_ENTER);
        ttape_writer *w;
        ttape_error err = {0};
        ck_assert_int_eq(ttape_writer_open(&w, &sink, NULL, &err), TTAPE_OK);
        ck_assert_int_eq(define(w, &err), TTAPE_OK);
        ck_assert_int_eq(ttape_writer_append(w, 0, &event, 1, &err), TTAPE_OK);
        if (i < 2) {
            ck_assert_int_eq(ttape_writer_attach(w, 0, &bad[i], 1, &err), TTAPE_E_ARGUMENT);
        } else if (i == 2) {
            ck_assert_int_eq(ttape_writer_attach(w, 0, &good, 1, &err), TTAPE_OK);
            ck_assert_int_eq(ttape_writer_attach(w, 0, &good, 1, &err), TTAPE_E_STATE);
        } else {
            ck_assert_int_eq(ttape_writer_attach(w, 1, &good, 1, &err), TTAPE_E_STATE);
        }
        ttape_writer_close(w);
        ttape_memory_sink_close(&memory);
    }
}
END_TEST

/* Doubling what holds less than half of all memory to more than that passed by every size, for
 * ever. */
START_TEST(more_than_half_of_all_memory)
{
    struct counting counting = {.fail_at = 1};
    ttape_allocator allocator = {&counting, count_allocate, count_release};
    struct ttp_growing array = {0};
    ttape_error err = {0};
    ck_assert_int_eq(ttp_push_bytes(&allocator, &array, "byte", 4, &err), TTAPE_OK);
    ck_assert_int_eq(ttp_grow(&allocator, &array, 1, SIZE_MAX - 7, &err), TTAPE_E_MEMORY);
    ck_assert_int_eq(ttp_grow(&allocator, &array, 2, SIZE_MAX - 7, &err), TTAPE_E_MEMORY);
    ttp_grown_free(&allocator, &array);
    ck_assert_uint_eq(counting.bytes, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("writer");
    TCase *cases = tcase_create("writer");
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, workers_never_change_the_bytes);
    tcase_add_test(cases, sink_fails_at_any_append);
    tcase_add_test(cases, allocator_fails_at_any_call);
    tcase_add_test(cases, sync_is_passed_on);
    tcase_add_test(cases, bad_events);
    tcase_add_test(cases, bad_options);
    tcase_add_test(cases, bad_levels);
    tcase_add_test(cases, after_finish);
    tcase_add_test(cases, bad_values);
    tcase_add_test(cases, more_than_half_of_all_memory);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
