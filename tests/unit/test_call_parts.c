/* A stream's calls in parts are those of the whole stream, each once: wherever the parts meet,
 * behind damage, and where events are missing. */
#include <tracetape/calls.h>

#include "format/container/layout.h"
#include "tests/unit/report_model.h"

struct list {
    ttape_call *calls;
    size_t count, capacity, failures;
};

static void add_calls(struct list *list, ttape_reader *r, ttape_call_options o)
{
    ttape_error err = {0};
    ttape_call_cursor *c;
    ttape_status status;
    o.size = sizeof o;
    TTEST_OK(ttape_call_cursor_open(&c, r, &o, &err));
    for (;;) {
        if (list->count == list->capacity) {
            list->capacity = 2 * list->capacity + 64;
            list->calls = realloc(list->calls, list->capacity * sizeof *list->calls);
            ck_assert_ptr_nonnull(list->calls);
        }
        status = ttape_call_cursor_next(c, &list->calls[list->count], &err);
        if (status == TTAPE_END)
            break;
        list->failures += status != TTAPE_OK;
        list->count += status == TTAPE_OK;
    }
    ttape_call_cursor_close(c);
}

static void check_same(const struct list *whole, const struct list *parts, bool is_intact)
{
    ck_assert_uint_eq(parts->count, whole->count);
    for (size_t i = 0; i < whole->count; i++) {
        const ttape_call *a = &whole->calls[i], *b = &parts->calls[i];
        ck_assert_uint_eq(a->site, b->site);
        ck_assert_uint_eq(a->caller, b->caller);
        ck_assert_uint_eq(a->kind, b->kind);
        ck_assert_uint_eq(a->argument, b->argument);
        ck_assert_uint_eq(a->stack, b->stack);
        ck_assert_uint_eq(a->height, b->height);
        ck_assert_uint_eq(a->depth, b->depth);
        ck_assert_uint_eq(a->end, b->end);
        ck_assert_uint_eq(a->end_number, b->end_number);
        ck_assert_uint_eq(a->enter_ns, b->enter_ns);
        ck_assert_uint_eq(a->end_ns, b->end_ns);
        ck_assert_int_eq(a->duration_ns, b->duration_ns);
        ck_assert(b->is_found || a->enter_number == b->enter_number);
        if (is_intact)
            ck_assert_int_eq(a->self_ns, b->self_ns);
    }
}

/* The stream's segments, each one part. */
static void add_segments(struct list *list, ttape_reader *r, uint32_t stream)
{
    ttape_error err = {0};
    ttape_info info;
    ttape_reader_get_info(r, &info);
    for (uint32_t p = 0; p < info.partition_count; p++) {
        ttape_partition_info about;
        TTEST_OK(ttape_reader_get_partition(r, p, &about));
        for (uint32_t s = 0; s < about.segment_count; s++) {
            ttape_segment_info segment;
            if (ttape_reader_get_segment(r, p, s, &segment, &err) != TTAPE_OK ||
                segment.stream != stream)
                continue;
            uint64_t first = segment.start.event_number;
            add_calls(list, r,
                      (ttape_call_options){.streams = &stream,
                                           .stream_count = 1,
                                           .has_stretch = true,
                                           .first_event = first,
                                           .end_event = first + segment.event_count});
        }
    }
}

static void check_segments(ttape_reader *r, uint32_t stream, bool is_intact)
{
    struct list whole = {0}, parts = {0};
    add_calls(&whole, r, (ttape_call_options){.streams = &stream, .stream_count = 1});
    add_segments(&parts, r, stream);
    check_same(&whole, &parts, is_intact);
    ck_assert(!is_intact || parts.failures + whole.failures == 0);
    free(whole.calls);
    free(parts.calls);
}

START_TEST(segments_have_each_call_once)
{
    struct ttest_opened o = open_plan(_i);
    for (uint32_t s = 0; s < o.info.stream_count; s++)
        check_segments(o.reader, s, true);
    close_plan(&o);
}
END_TEST

START_TEST(parts_may_meet_anywhere)
{
    struct ttest_opened o = open_plan(_i);
    ttape_error err = {0};
    uint64_t seed = 5;
    for (uint32_t s = 0; s < o.info.stream_count; s++) {
        struct list whole = {0}, parts = {0};
        ttape_stream_info about;
        TTEST_OK(ttape_reader_get_stream(o.reader, s, &about));
        ttape_call_options options = {.streams = &s, .stream_count = 1, .values = s % 2};
        add_calls(&whole, o.reader, options);
        options.has_stretch = true;
        uint64_t at = about.first_event, end = at + about.event_count + about.missing_count;
        while (at < end) {
            options.first_event = at;
            at += 1 + ttest_random(&seed, (uint32_t)about.event_count);
            options.end_event = at;
            add_calls(&parts, o.reader, options);
        }
        check_same(&whole, &parts, true);
        free(whole.calls);
        free(parts.calls);
    }
    close_plan(&o);
}
END_TEST

START_TEST(behind_damage_no_call_is_lost_twice)
{
    struct ttest_opened o = open_plan(_i);
    for (uint32_t p = 0; p < o.info.partition_count; p += 1 + o.info.partition_count / 8) {
        ttape_partition_info about;
        ttape_reader_get_partition(o.reader, p, &about);
        uint8_t *byte = &o.file.data[about.offset + about.stored_bytes - 2];
        *byte ^= 1;
        ttape_reader *r = ttest_open(&o.file);
        for (uint32_t s = 0; s < o.info.stream_count; s++)
            check_segments(r, s, false);
        ttape_reader_close(r);
        *byte ^= 1;
    }
    close_plan(&o);
}
END_TEST

/* A scan knows nothing of a partition whose first bytes are damaged. */
static ttape_reader *open_by_scan(const ttape_source *source)
{
    const ttape_reader_options options = {.size = sizeof options, .ignore_index = true};
    ttape_error err = {0};
    ttape_reader *r;
    TTEST_OK(ttape_reader_open(&r, source, &options, &err));
    return r;
}

START_TEST(where_events_are_missing_calls_are_lost_once)
{
    struct ttest_opened o = open_plan(_i);
    const ttape_source source = ttape_source_memory(o.file.data, o.file.size_bytes);
    for (uint32_t p = 0; p < o.info.partition_count; p += 1 + o.info.partition_count / 8) {
        ttape_partition_info about;
        ttape_reader_get_partition(o.reader, p, &about);
        uint8_t *byte = &o.file.data[about.offset + TTP_CHUNK_HEADER_BYTES + 2];
        *byte ^= 1;
        ttape_reader *r = open_by_scan(&source);
        for (uint32_t s = 0; s < o.info.stream_count; s++)
            check_segments(r, s, false);
        ttape_reader_close(r);
        *byte ^= 1;
    }
    close_plan(&o);
}
END_TEST

START_TEST(what_is_no_part_is_refused)
{
    struct ttest_opened o = open_plan(3);
    ttape_call_cursor *c;
    ttape_error err = {0};
    const uint32_t streams[] = {0, 1};
    ttape_call_options bad = {
        .size = sizeof bad, .streams = streams, .stream_count = 1, .has_stretch = true};
    bad.first_event = 1; /* behind its end */
    ck_assert_int_eq(ttape_call_cursor_open(&c, o.reader, &bad, &err), TTAPE_E_ARGUMENT);
    bad.end_event = 1; /* empty: nothing ends there */
    TTEST_OK(ttape_call_cursor_open(&c, o.reader, &bad, &err));
    ttape_call_cursor_close(c);
    bad.stream_count = 2;
    ck_assert_int_eq(ttape_call_cursor_open(&c, o.reader, &bad, &err), TTAPE_E_ARGUMENT);
    bad.streams = NULL;
    ck_assert_int_eq(ttape_call_cursor_open(&c, o.reader, &bad, &err), TTAPE_E_ARGUMENT);
    bad.streams = streams;
    bad.stream_count = 1;
    bad.has_range = true;
    bad.to_ns = UINT64_MAX;
    ck_assert_int_eq(ttape_call_cursor_open(&c, o.reader, &bad, &err), TTAPE_E_ARGUMENT);
    ck_assert_ptr_null(c);
    close_plan(&o);
}
END_TEST

static void same_call(const ttape_call *a, const ttape_call *b)
{
    ck_assert(a->site == b->site && a->caller == b->caller && a->kind == b->kind &&
              a->depth == b->depth && a->end == b->end && a->stack == b->stack);
    ck_assert(a->enter_number == b->enter_number && a->end_number == b->end_number &&
              a->duration_ns == b->duration_ns && a->total_ns == b->total_ns &&
              a->self_ns == b->self_ns);
}

/* The steps that end calls, taken alone, are those among all; of a stream, or of a part. */
static void same_steps(ttape_reader *r, ttape_call_options how)
{
    ttape_error err = {0};
    ttape_call_cursor *all, *ended;
    const ttape_call_step *a, *b;
    ttape_status status;
    how.size = sizeof how;
    TTEST_OK(ttape_call_cursor_open(&all, r, &how, &err));
    TTEST_OK(ttape_call_cursor_open(&ended, r, &how, &err));
    while ((status = ttape_call_cursor_step(all, &a, &err)) == TTAPE_OK) {
        if (a->ended_count == 0)
            continue;
        TTEST_OK(ttape_call_cursor_step_ended(ended, &b, &err));
        ck_assert(a->kind == b->kind && a->number == b->number && a->time_ns == b->time_ns &&
                  a->ended_count == b->ended_count);
        for (uint32_t i = 0; i < a->ended_count; i++)
            same_call(&a->ended[i], &b->ended[i]);
    }
    ck_assert_int_eq(status, TTAPE_END);
    ck_assert_int_eq(ttape_call_cursor_step_ended(ended, &b, &err), TTAPE_END);
    ttape_call_cursor_close(all);
    ttape_call_cursor_close(ended);
}

START_TEST(steps_that_end_calls_may_be_taken_alone)
{
    struct ttest_opened o = open_plan(_i);
    same_steps(o.reader, (ttape_call_options){0}); /* all streams, merged */
    for (uint32_t s = 0; s < o.info.stream_count; s++) {
        const struct ttest_stream *of = &o.model.streams[s];
        ttape_call_options how = {.streams = &s, .stream_count = 1, .to_ns = UINT64_MAX};
        same_steps(o.reader, how);
        how.values = how.switches = true;
        same_steps(o.reader, how);
        how.values = how.switches = false;
        how.has_range = of->count > 0;
        how.from_ns = of->count > 0 ? of->events[of->count / 2].time_ns : 0;
        same_steps(o.reader, how);
        how.has_range = false;
        how.from_ns = 0;
        how.has_stretch = true;
        how.first_event = of->count / 3;
        how.end_event = of->count;
        same_steps(o.reader, how);
    }
    close_plan(&o);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("call_parts");
    TCase *tests = tcase_create("call_parts");
    tcase_set_timeout(tests, 240);
    tcase_add_loop_test(tests, segments_have_each_call_once, 0, TTEST_PLANS);
    tcase_add_loop_test(tests, parts_may_meet_anywhere, 0, TTEST_PLANS);
    tcase_add_loop_test(tests, behind_damage_no_call_is_lost_twice, 0, TTEST_PLANS);
    tcase_add_loop_test(tests, where_events_are_missing_calls_are_lost_once, 0, TTEST_PLANS);
    tcase_add_test(tests, what_is_no_part_is_refused);
    tcase_add_loop_test(tests, steps_that_end_calls_may_be_taken_alone, 0, TTEST_PLANS);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
