/* The last calls and the open frames of each thread, against all events of the stream; and how
 * threads and processes ended. */
#include <tracetape/last.h>
#include <tracetape/writer.h>

#include "tests/unit/report_model.h"

static ttape_last *find(ttape_reader *r, const ttape_last_options *options)
{
    ttape_last *last;
    ttape_error err = {0};
    TTEST_OK(ttape_last_find(&last, r, options, &err));
    return last;
}

/* Calls are the stream's last enters, each as often as it says. Goes back from event `end`. */
static void check_calls(const struct ttest_model *m, const ttape_last_thread *thread, uint32_t most)
{
    const ttape_event *events = m->streams[thread->stream].events;
    size_t at = m->streams[thread->stream].count;
    ck_assert_uint_le(thread->call_count, most);
    for (uint32_t i = thread->call_count; i-- > 0;) {
        const ttape_last_call *call = &thread->calls[i];
        ck_assert_uint_ne(call->count, 0);
        for (uint64_t k = 0; k < call->count; k++) {
            do
                ck_assert_uint_ne(at--, 0);
            while (events[at].kind != TTAPE_EVENT_ENTER);
            ck_assert_uint_eq(events[at].site, call->site);
            ck_assert_uint_eq(events[at].depth, call->depth);
        }
        ck_assert_uint_eq(events[at].time_ns, call->start_ns);
        ck_assert(!call->has_returned || !call->is_open);
        ck_assert(call->has_returned || call->count == 1);
    }
    while (at > 0 && events[at - 1].kind != TTAPE_EVENT_ENTER)
        at--;
    if (at != 0)
        ck_assert(thread->has_more_calls);
    ck_assert(thread->call_count == most || at == 0);
}

static void check_frames(const struct ttest_model *m, const ttape_last_thread *thread)
{
    uint32_t open = 0, found = 0;
    for (size_t i = 0; i < m->frame_count; i++)
        open += m->frames[i].stream == thread->stream && !m->frames[i].ended;
    ck_assert_uint_eq(thread->frame_count, open);
    for (uint32_t k = 0; k < thread->frame_count; k++)
        for (size_t i = 0; i < m->frame_count; i++)
            if (m->frames[i].stream == thread->stream && !m->frames[i].ended &&
                m->frames[i].enter_ns == thread->frames[k].enter_time_ns &&
                m->frames[i].site == thread->frames[k].site) {
                found++;
                break;
            }
    ck_assert_uint_eq(found, open);
}

START_TEST(calls_are_the_last_of_the_model)
{
    struct ttest_opened o = open_plan(_i);
    static const uint32_t counts[] = {1, 3, 10, 200, 100000};
    for (uint32_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const ttape_last_options options = {.size = sizeof options, .call_count = counts[i]};
        ttape_last *last = find(o.reader, &options);
        uint32_t count;
        const ttape_last_thread *threads = ttape_last_get_threads(last, &count);
        for (uint32_t t = 0; t < count; t++) {
            const struct ttest_stream *stream = &o.model.streams[threads[t].stream];
            check_calls(&o.model, &threads[t], counts[i]);
            check_frames(&o.model, &threads[t]);
            ck_assert_uint_eq(threads[t].end_ns, stream->events[stream->count - 1].time_ns);
            ck_assert(!threads[t].end.is_known);
        }
        ttape_last_close(last);
    }
    close_plan(&o);
}
END_TEST

/* ---- ends ---- */

/* What a thread says of its end; how 99: of the thread, that it ended by itself. */
struct said {
    uint32_t how, number;
};

static void append(ttape_writer *w, uint32_t stream, uint64_t time_ns, ttape_event_kind kind,
                   uint32_t site)
{
    ttape_event e = {.time_ns = time_ns, .kind = kind, .site = site, .depth = TTAPE_DEPTH_AUTO};
    ck_assert_int_eq(ttape_writer_append(w, stream, &e, 1, NULL), TTAPE_OK);
}

static void end(ttape_writer *w, uint32_t stream, uint64_t time_ns, const struct said *said)
{
    bool is_thread = said->how == 99;
    ttape_value values[] = {{.type = TTAPE_VALUE_UNSIGNED, .number = is_thread ? 1 : said->how},
                            {.type = TTAPE_VALUE_UNSIGNED, .number = said->number}};
    append(w, stream, time_ns, TTAPE_EVENT_LEAF, is_thread ? 1 : 2);
    ck_assert_int_eq(ttape_writer_attach(w, stream, values, is_thread ? 1 : 2, NULL), TTAPE_OK);
}

static void add_site(ttape_writer *w, uint32_t kind, const char *name)
{
    uint32_t id;
    ttape_site site = {
        .address = 16, .module = TTAPE_NONE, .kind = kind, .symbol = {name, strlen(name)}};
    ck_assert_int_eq(ttape_writer_add_site(w, &site, &id, NULL), TTAPE_OK);
}

static void write_ends(ttape_writer *w, const struct said *said, uint32_t count)
{
    uint32_t id;
    ttape_process process = {.pid = 1, .parent = TTAPE_NONE};
    ck_assert_int_eq(ttape_writer_add_process(w, &process, &id, NULL), TTAPE_OK);
    add_site(w, TTAPE_SITE_FUNCTION, "f");
    add_site(w, TTAPE_SITE_MARKER, "tracetape:thread_end");
    add_site(w, TTAPE_SITE_MARKER, "tracetape:process_end");
    for (uint32_t i = 0; i < count; i++) {
        ttape_stream stream = {.tid = i + 1};
        ck_assert_int_eq(ttape_writer_add_stream(w, &stream, &id, NULL), TTAPE_OK);
        append(w, i, 100, TTAPE_EVENT_ENTER, 0);
        end(w, i, 200, &said[i]);
    }
}

/* Of a process with these facts in its threads. */
static ttape_last_end end_of(const struct said *said, uint32_t count)
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer *w;
    ck_assert_int_eq(ttape_writer_open(&w, &sink, NULL, NULL), TTAPE_OK);
    write_ends(w, said, count);
    ck_assert_int_eq(ttape_writer_finish(w, NULL), TTAPE_OK);
    ttape_writer_close(w);
    const struct ttest_file file = {.data = memory.data, .size_bytes = memory.size_bytes};
    ttape_reader *r = ttest_open(&file);
    ttape_last *last = find(r, NULL);
    uint32_t thread_count;
    const ttape_last_thread *threads = ttape_last_get_threads(last, &thread_count);
    ck_assert_uint_eq(thread_count, count);
    for (uint32_t i = 0; i < count; i++) {
        ck_assert(threads[i].end.is_known);
        ck_assert_int_eq(threads[i].end.is_process, said[i].how != 99);
        ck_assert_uint_eq(threads[i].frame_count, 1);
        ck_assert_uint_eq(threads[i].end_ns, 200);
        ck_assert(threads[i].calls[0].is_open);
    }
    ttape_last_end found;
    ck_assert_int_eq(ttape_last_get_process(last, 1, &found), TTAPE_E_NOT_FOUND);
    ck_assert_int_eq(ttape_last_get_process(last, 0, &found), TTAPE_OK);
    ttape_last_close(last);
    ttape_reader_close(r);
    ttape_memory_sink_close(&memory);
    return found;
}

/* F-FCT-09 */
START_TEST(of_several_ends_one_counts)
{
    static const struct {
        struct said said[2];
        uint64_t how, number;
    } cases[] = {{{{1, 7}, {99, 0}}, 1, 7}, {{{99, 0}, {0, 0}}, 0, 0}, {{{3, 9}, {0, 0}}, 3, 9},
                 {{{0, 0}, {3, 9}}, 3, 9},  {{{2, 8}, {1, 8}}, 2, 8},  {{{2, 8}, {1, 9}}, 1, 9},
                 {{{1, 8}, {2, 8}}, 2, 8},  {{{2, 8}, {3, 9}}, 3, 9}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ttape_last_end found = end_of(cases[i].said, 2);
        ck_assert(found.is_known && found.is_process);
        ck_assert_uint_eq(found.how, cases[i].how);
        ck_assert_uint_eq(found.number, cases[i].number);
    }
}
END_TEST

START_TEST(what_cannot_be_is_refused)
{
    struct ttest_opened o = open_plan(0);
    ttape_last *last = (ttape_last *)1;
    ttape_error err = {0};
    uint32_t count = 1, stream = 99, first = 0;
    const ttape_last_options bad[] = {{.size = sizeof bad[0], .call_count = (1u << 20) + 1},
                                      {.size = sizeof bad[0], .stream_count = 1}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_int_eq(ttape_last_find(&last, o.reader, &bad[i], &err), TTAPE_E_ARGUMENT);
        ck_assert_ptr_null(last);
    }
    ttape_last_options one = {.size = sizeof one, .streams = &stream, .stream_count = 1};
    ck_assert_int_eq(ttape_last_find(&last, o.reader, &one, &err), TTAPE_E_NOT_FOUND);
    ttape_last_options small = {.size = sizeof small, .memory_bytes = 500};
    ck_assert_int_eq(ttape_last_find(&last, o.reader, &small, &err), TTAPE_E_LIMIT);
    ck_assert_int_eq(ttape_last_find(&last, NULL, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_last_find(NULL, o.reader, NULL, &err), TTAPE_E_ARGUMENT);
    one.streams = &first;
    one.has_no_calls = true;
    last = find(o.reader, &one);
    const ttape_last_thread *thread = ttape_last_get_threads(last, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(thread->call_count, 0);
    ttape_last_close(last);
    ttape_last_close(NULL);
    ck_assert_ptr_null(ttape_last_get_threads(NULL, &count));
    ck_assert_uint_eq(count, 0);
    close_plan(&o);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("last");
    TCase *tests = tcase_create("last");
    tcase_add_loop_test(tests, calls_are_the_last_of_the_model, 0, TTEST_PLANS);
    tcase_add_test(tests, of_several_ends_one_counts);
    tcase_add_test(tests, what_cannot_be_is_refused);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
