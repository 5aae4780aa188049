/* What the writer wrote is what the reader reads, whichever way it reads. */
#include "tests/unit/test_reader_fixture.h"

static const struct ttest_plan plans[] = {
    {.streams = 1, .events = 300, .plain = true},
    {.streams = 3, .events = 5000, .partition_events = 900},
    {.streams = 3, .events = 5000, .partition_events = 900, .literal = true},
    {.streams = 2, .events = 3000, .partition_events = 1500, .level = 9},
    {.streams = 2, .events = 3000, .resolution_ns = 100},
    {.streams = 2, .events = 3000, .resolution_ns = TTAPE_TIME_NONE, .partition_events = 700},
    {.streams = 40, .events = 9000, .partition_events = 4000},
    {.streams = 3, .events = 40000, .partition_events = 20000},
    {.streams = 3, .events = 30000, .partition_events = 1000, .model_period = 4},
};
#define PLANS (sizeof plans / sizeof plans[0])

static ttape_reader *open_file(const ttape_source *source, bool scan)
{
    ttape_error err = {0};
    ttape_reader *r;
    ttape_reader_options o = {.size = sizeof o, .ignore_index = scan};
    TTEST_OK(ttape_reader_open(&r, source, &o, &err));
    return r;
}

/* F-IDX-08 */
START_TEST(index_and_scan_agree)
{
    struct ttest_file file = ttest_write(&plans[_i]);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_reader *a = open_file(&source, false), *b = open_file(&source, true);
    ttape_info x, y;
    ttape_reader_get_info(a, &x);
    ttape_reader_get_info(b, &y);
    ck_assert(x.by_index && !y.by_index && x.complete && y.complete && !y.truncated);
    y.by_index = true;
    ck_assert_uint_eq(x.gap_count, y.gap_count);
    ck_assert_uint_eq(x.lost_count, y.lost_count);
    ck_assert_int_eq(memcmp(&x, &y, sizeof x), 0);
    struct ttest_sum s = ttest_read_all(a), t = ttest_read_all(b);
    ck_assert_uint_eq(s.errors, 0);
    ck_assert_uint_eq(s.events, 2 * x.event_count);
    ck_assert_uint_eq(s.hash, t.hash);
    ttape_reader_close(a);
    ttape_reader_close(b);
    free(file.data);
}
END_TEST

START_TEST(sound_files_verify)
{
    ttape_error err = {0};
    uint64_t findings = 1;
    struct ttest_file file = ttest_write(&plans[_i]);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    TTEST_OK(ttape_verify(&source, NULL, ttest_print_finding, NULL, NULL, &findings, &err));
    ck_assert_uint_eq(findings, 0);
    free(file.data);
}
END_TEST

/* Both directions, and every event found by its number and by its time. */
START_TEST(seeks_and_steps_back)
{
    ttape_error err = {0};
    struct ttest_file file = ttest_write(&plans[_i]);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_reader *r = open_file(&source, false);
    ttape_cursor *c;
    ttape_stream_info info;
    ck_assert_int_eq(ttape_reader_get_stream(r, 0, &info), TTAPE_OK);
    uint64_t n = info.event_count;
    ttape_event_item *items = calloc(n, sizeof *items), item;
    TTEST_OK(ttape_cursor_open(&c, r, 0, &err));
    for (uint64_t i = 0; i < n; i++)
        TTEST_OK(ttape_cursor_next(c, &items[i], &err));
    ck_assert_int_eq(ttape_cursor_next(c, &item, &err), TTAPE_END);
    for (uint64_t i = n; i-- > 0;) {
        TTEST_OK(ttape_cursor_previous(c, &item, &err));
        ck_assert_int_eq(memcmp(&item.event, &items[i].event, sizeof item.event), 0);
        ck_assert_uint_eq(item.number, i);
    }
    ck_assert_int_eq(ttape_cursor_previous(c, &item, &err), TTAPE_END);
    uint64_t seed = 3;
    for (int k = 0; k < 200; k++) {
        uint64_t i = ttest_random(&seed, (uint32_t)n), t = items[i].event.time_ns, first = 0;
        TTEST_OK(ttape_cursor_seek_event(c, i, &err));
        TTEST_OK(ttape_cursor_next(c, &item, &err));
        ck_assert_uint_eq(item.number, i);
        while (items[first].event.time_ns < t)
            first++;
        TTEST_OK(ttape_cursor_seek_time(c, t, &err));
        TTEST_OK(ttape_cursor_next(c, &item, &err));
        ck_assert_uint_eq(item.number, first);
    }
    ttape_cursor_close(c);
    ttape_reader_close(r);
    free(items);
    free(file.data);
}
END_TEST

START_TEST(many_events_at_once)
{
    ttape_error err = {0};
    struct ttest_file file = ttest_write(&plans[_i]);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_reader *r = open_file(&source, false);
    ttape_cursor *one, *many;
    ttape_event events[333];
    ttape_event_item item;
    size_t count;
    TTEST_OK(ttape_cursor_open(&one, r, 0, &err));
    TTEST_OK(ttape_cursor_open(&many, r, 0, &err));
    while (ttape_cursor_next_events(many, events, 333, &count, &err) == TTAPE_OK)
        for (size_t i = 0; i < count; i++) {
            TTEST_OK(ttape_cursor_next(one, &item, &err));
            ck_assert_int_eq(memcmp(&item.event, &events[i], sizeof item.event), 0);
        }
    ck_assert_int_eq(ttape_cursor_next(one, &item, &err), TTAPE_END);
    ttape_cursor_close(one);
    ttape_cursor_close(many);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

struct columns {
    uint64_t number[1000], time_ns[1000], lost_count[1000];
    uint32_t site[1000], argument[1000], depth[1000];
    uint8_t kind[1000];
};

static bool is_same(const struct columns *got, size_t at, const ttape_event_item *item)
{
    const ttape_event *e = &item->event;
    return got->number[at] == item->number && got->time_ns[at] == e->time_ns &&
           got->lost_count[at] == e->lost_count && got->site[at] == e->site &&
           got->argument[at] == e->argument && got->depth[at] == e->depth &&
           got->kind[at] == e->kind;
}

/* All columns, or two of them; batches shorter and longer than the reader's chunks. */
START_TEST(columns_are_events)
{
    ttape_error err = {0};
    struct ttest_file file = ttest_write(&plans[_i]);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_reader *r = open_file(&source, false);
    struct columns *got = calloc(1, sizeof *got);
    ttape_event_columns all = {sizeof all, got->number,   got->time_ns, got->lost_count,
                               got->site,  got->argument, got->depth,   got->kind};
    ttape_event_columns some = {.size = sizeof some, .time_ns = got->time_ns, .depth = got->depth};
    ttape_cursor *one, *many;
    ttape_event_item item;
    size_t count;
    TTEST_OK(ttape_cursor_open(&one, r, 0, &err));
    TTEST_OK(ttape_cursor_open(&many, r, 0, &err));
    for (size_t turn = 0;
         ttape_cursor_next_columns(many, turn % 5 == 4 ? &some : &all, 1 + turn * 131 % 1000,
                                   &count, &err) == TTAPE_OK;
         turn++)
        for (size_t i = 0; i < count; i++) {
            TTEST_OK(ttape_cursor_next(one, &item, &err));
            ck_assert(turn % 5 != 4 ? is_same(got, i, &item)
                                    : got->time_ns[i] == item.event.time_ns &&
                                          got->depth[i] == item.event.depth);
        }
    ck_assert_int_eq(ttape_cursor_next(one, &item, &err), TTAPE_END);
    all.size = 1;
    ck_assert_int_eq(ttape_cursor_next_columns(many, &all, 1, &count, &err), TTAPE_E_ARGUMENT);
    ttape_cursor_close(one);
    ttape_cursor_close(many);
    ttape_reader_close(r);
    free(got);
    free(file.data);
}
END_TEST

/* The edge at every event follows from the edge before and the event. */
START_TEST(edges_follow_events)
{
    ttape_error err = {0};
    struct ttest_file file = ttest_write(&plans[_i]);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_reader *r = open_file(&source, false);
    ttape_cursor *c;
    ttape_event_item item;
    ttape_edge edge;
    uint64_t seed = 9;
    ttape_stream_info info;
    ttape_reader_get_stream(r, 0, &info);
    TTEST_OK(ttape_cursor_open(&c, r, 0, &err));
    for (int k = 0; k < 100; k++) {
        uint64_t n = ttest_random(&seed, (uint32_t)info.event_count);
        TTEST_OK(ttape_cursor_seek_event(c, n, &err));
        TTEST_OK(ttape_cursor_get_edge(c, &edge, &err));
        ck_assert_uint_eq(edge.event_number, n);
        uint32_t open = 0, before = edge.stack;
        uint64_t time = edge.time_ns;
        for (uint32_t i = 0; i < edge.frame_count; i++)
            open += edge.frames[i].stack == edge.stack;
        TTEST_OK(ttape_cursor_next(c, &item, &err));
        ck_assert(n == 0 ? time == item.event.time_ns : true);
        if (item.event.kind == TTAPE_EVENT_ENTER) {
            ck_assert_int_eq((int)(open + edge.unknown_depth) + edge.depth_offset,
                             (int)item.event.depth);
            TTEST_OK(ttape_cursor_get_edge(c, &edge, &err));
            ck_assert_uint_eq(edge.stack, before);
            const ttape_open_frame *top = NULL;
            for (uint32_t i = 0; i < edge.frame_count; i++)
                if (edge.frames[i].stack == edge.stack)
                    top = &edge.frames[i];
            ck_assert_uint_eq(top->site, item.event.site);
            ck_assert_uint_eq(top->enter_time_ns, item.event.time_ns);
        }
    }
    ttape_cursor_close(c);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

struct pipe_end {
    const struct ttest_file *file;
    size_t at, most;
};

static ttape_status pipe_read(void *context, void *buffer, size_t size_bytes, size_t *got,
                              ttape_error *err)
{
    struct pipe_end *p = context;
    size_t left = p->file->size_bytes - p->at;
    (void)err;
    *got = size_bytes < left ? size_bytes : left;
    *got = *got < p->most ? *got : p->most;
    memcpy(buffer, p->file->data + p->at, *got);
    p->at += *got;
    return TTAPE_OK;
}

/* A pipe gives the same events, partition by partition, and in the end the same info. */
START_TEST(forward_reads_the_same)
{
    ttape_error err = {0};
    struct ttest_file file = ttest_write(&plans[_i]);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_reader *whole = open_file(&source, false), *part;
    struct pipe_end end = {&file, 0, 37};
    ttape_input input = {&end, pipe_read};
    ttape_forward *forward;
    ttape_status status;
    ttape_info x, y;
    ttape_reader_get_info(whole, &x);
    struct ttest_sum *a = calloc(x.stream_count, sizeof *a);
    TTEST_OK(ttape_forward_open(&forward, &input, NULL, &err));
    while ((status = ttape_forward_next(forward, &part, &err)) == TTAPE_OK) {
        ttape_info now;
        ttape_reader_get_info(part, &now);
        for (uint32_t s = 0; s < now.stream_count; s++) {
            ttape_cursor *c;
            ttape_event_item item;
            TTEST_OK(ttape_cursor_open(&c, part, s, &err));
            while (ttape_cursor_next(c, &item, &err) == TTAPE_OK)
                ttest_mix_item(&a[s], &item);
            ttape_cursor_close(c);
        }
    }
    ck_assert_int_eq(status, TTAPE_END);
    ttape_reader_get_info(part, &y);
    ck_assert(y.complete && !y.truncated);
    ck_assert_uint_eq(x.event_count, y.event_count);
    ck_assert_uint_eq(x.partition_count, y.partition_count);
    ck_assert_uint_eq(x.gap_count, y.gap_count);
    ck_assert_uint_eq(x.time_first_ns, y.time_first_ns);
    ck_assert_uint_eq(x.time_last_ns, y.time_last_ns);
    ck_assert_int_eq(memcmp(&x.bytes, &y.bytes, sizeof x.bytes), 0);
    for (uint32_t s = 0; s < x.stream_count; s++)
        ck_assert_uint_eq(ttest_read_stream(whole, s).hash, a[s].hash);
    ttape_forward_close(forward);
    ttape_reader_close(whole);
    free(a);
    free(file.data);
}
END_TEST

#define OPEN 1200000u /* more than partitions are meant to start with */
#define MORE 200u

/* Partitions go on as long as ever: one for each event would repeat all of the frames each time. */
START_TEST(more_frames_than_a_partition_likes)
{
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer_options options = {.size = sizeof options, .partition_events = OPEN / 4};
    ttape_event enter = {.kind = TTAPE_EVENT_ENTER, .depth = TTAPE_DEPTH_AUTO};
    ttape_info info;
    ttape_writer *w;
    ttape_reader *r;
    TTEST_OK(ttape_writer_open(&w, &sink, &options, &err));
    ttest_define(w, 1);
    for (; enter.time_ns < OPEN + MORE; enter.time_ns++)
        TTEST_OK(ttape_writer_append(w, 0, &enter, 1, &err));
    TTEST_OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
    ttape_source source = ttape_source_memory(memory.data, memory.size_bytes);
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    ttape_reader_get_info(r, &info);
    ck_assert_uint_eq(info.event_count, OPEN + MORE);
    ck_assert_uint_eq(info.partition_count, 5);
    ttape_reader_close(r);
    ttape_memory_sink_close(&memory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reader_roundtrip");
    TCase *tests = tcase_create("plans");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, index_and_scan_agree, 0, PLANS);
    tcase_add_loop_test(tests, sound_files_verify, 0, PLANS);
    tcase_add_loop_test(tests, seeks_and_steps_back, 0, PLANS);
    tcase_add_loop_test(tests, many_events_at_once, 0, PLANS);
    tcase_add_loop_test(tests, columns_are_events, 0, PLANS);
    tcase_add_loop_test(tests, edges_follow_events, 0, PLANS);
    tcase_add_loop_test(tests, forward_reads_the_same, 0, PLANS);
    tcase_add_test(tests, more_frames_than_a_partition_likes);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
