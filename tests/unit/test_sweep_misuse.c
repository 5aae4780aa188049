/* R19: calls that a contract forbids give the documented error and leave handles that can be
 * closed; R10: files that change while they are read; R14: what recordings must not do, in bulk. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tracetape/tracetape.h>

#include "tests/asserts.h"
#include "tests/unit/every.h"
#include "tests/unit/test_reader_fixture.h"

static const struct ttest_plan small = {.streams = 2, .events = 260, .partition_events = 90};

START_TEST(r19_nothing_is_closed)
{
    ttape_memory_sink memory = {0};
    ttape_reader_close(NULL);
    ttape_cursor_close(NULL);
    ttape_forward_close(NULL);
    ttape_writer_close(NULL);
    ttape_copier_close(NULL);
    ttape_file_sink_close(NULL);
    ttape_memory_sink_close(&memory);
    ttape_memory_sink_close(&memory);
}
END_TEST

START_TEST(r19_readers_without_what_they_need)
{
    struct ttest_file file = ttest_write(&small);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes), broken = {0};
    ttape_error err = {0};
    ttape_reader *r = (ttape_reader *)&err;
    ttape_input input = {0};
    ttape_forward *f;
    uint64_t findings = 7;
    ck_assert_int_eq(ttape_reader_open(NULL, &source, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_reader_open(&r, NULL, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert(r == NULL && err.message[0] != '\0');
    ck_assert_int_eq(ttape_reader_open(&r, &broken, NULL, NULL), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_verify(NULL, NULL, NULL, NULL, NULL, &findings, &err), TTAPE_E_ARGUMENT);
    ck_assert_uint_eq(findings, 0);
    ck_assert_int_eq(ttape_forward_open(&f, &input, NULL, &err), TTAPE_E_ARGUMENT);
    ttape_reader_options o = {.size = 3};
    ck_assert_int_eq(ttape_reader_open(&r, &source, &o, &err), TTAPE_E_ARGUMENT);
    o.size = 0;
    ck_assert_int_eq(ttape_reader_open(&r, &source, &o, &err), TTAPE_E_ARGUMENT);
    /* An older caller knows fewer fields. */
    o = (ttape_reader_options){.size = offsetof(ttape_reader_options, jobs), .jobs = 1000000};
    ck_assert_int_eq(ttape_reader_open(&r, &source, &o, &err), TTAPE_OK);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

START_TEST(r19_numbers_past_the_end)
{
    struct ttest_file file = ttest_write(&small);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_error err = {0};
    ttape_reader *r;
    ttape_cursor *c;
    ttape_site site;
    ttape_module module;
    ttape_process process;
    ttape_stream_info stream;
    ttape_metadata_entry entry;
    ttape_partition_info partition;
    ttape_segment_info segment;
    ttape_event_item item;
    ttape_edge edge;
    const ttape_summary_row *rows;
    const ttape_off_span *spans;
    uint32_t count;
    bool is_known;
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    for (uint64_t n = 1000; n <= UINT32_MAX; n = n * 60 + 1) {
        uint32_t past = (uint32_t)n;
        ck_assert_int_eq(ttape_reader_get_site(r, past, &site), TTAPE_E_NOT_FOUND);
        ck_assert_int_eq(ttape_reader_get_module(r, past, &module), TTAPE_E_NOT_FOUND);
        ck_assert_int_eq(ttape_reader_get_process(r, past, &process), TTAPE_E_NOT_FOUND);
        ck_assert_int_eq(ttape_reader_get_stream(r, past, &stream), TTAPE_E_NOT_FOUND);
        ck_assert_int_eq(ttape_reader_get_metadata(r, past, &entry), TTAPE_E_NOT_FOUND);
        ck_assert_int_eq(ttape_reader_get_partition(r, past, &partition), TTAPE_E_NOT_FOUND);
        ck_assert_int_eq(ttape_reader_get_segment(r, past, 0, &segment, &err), TTAPE_E_NOT_FOUND);
        ck_assert_int_eq(ttape_reader_get_segment(r, 0, past, &segment, &err), TTAPE_E_NOT_FOUND);
        ck_assert_int_eq(ttape_reader_get_summary(r, past, &rows, &count, &err), TTAPE_E_NOT_FOUND);
        ck_assert_int_eq(ttape_reader_get_off(r, past, 0, &spans, &count, &is_known, &err),
                         TTAPE_E_NOT_FOUND);
        ck_assert_int_eq(ttape_reader_get_off(r, 0, past, &spans, &count, &is_known, &err),
                         TTAPE_E_NOT_FOUND);
        ck_assert_int_eq(ttape_cursor_open(&c, r, past, &err), TTAPE_E_NOT_FOUND);
        ck_assert(c == NULL);
    }
    TTEST_OK(ttape_cursor_open(&c, r, TTAPE_ALL_STREAMS, &err));
    ck_assert(ttape_cursor_previous(c, &item, &err) == TTAPE_E_ARGUMENT ||
              ttape_cursor_previous(c, &item, &err) == TTAPE_E_STATE);
    ck_assert(ttape_cursor_get_edge(c, &edge, &err) != TTAPE_OK);
    TTEST_OK(ttape_cursor_next(c, &item, &err)); /* it still works */
    ttape_cursor_close(c);
    TTEST_OK(ttape_cursor_open(&c, r, 0, &err));
    ck_assert_int_eq(ttape_cursor_previous(c, &item, &err), TTAPE_END);
    ttape_status status = ttape_cursor_seek_event(c, UINT64_MAX, &err);
    ck_assert(status == TTAPE_OK || status == TTAPE_END);
    ck_assert_int_eq(ttape_cursor_next(c, &item, &err), TTAPE_END);
    ck_assert_int_eq(ttape_cursor_next(c, &item, &err), TTAPE_END);
    TTEST_OK(ttape_cursor_previous(c, &item, &err));
    ttape_cursor_close(c);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

/* The first failure of a writer is permanent: every later call says it again. */
START_TEST(r19_writers_after_failure_and_end)
{
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory), none = {0};
    ttape_writer *w = (ttape_writer *)&err;
    ttape_value value = {.type = 99};
    ck_assert_int_eq(ttape_writer_open(&w, NULL, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert(w == NULL);
    ck_assert_int_eq(ttape_writer_open(&w, &none, NULL, &err), TTAPE_E_ARGUMENT);
    const ttape_event events[] = {
        {.kind = TTAPE_EVENT_KIND_COUNT, .depth = TTAPE_DEPTH_AUTO},
        {.kind = TTAPE_EVENT_ENTER, .site = 77, .depth = TTAPE_DEPTH_AUTO},
        {.kind = TTAPE_EVENT_UNWIND, .site = TTAPE_NONE, .argument = 1, .depth = TTAPE_DEPTH_AUTO},
        {.kind = TTAPE_EVENT_SIGNAL_END,
         .site = TTAPE_NONE,
         .argument = 1,
         .depth = TTAPE_DEPTH_AUTO},
        {.kind = TTAPE_EVENT_SWITCH,
         .site = TTAPE_NONE,
         .argument = 1u << 20,
         .depth = TTAPE_DEPTH_AUTO},
        {.kind = TTAPE_EVENT_LEAF, .site = 4, .depth = UINT32_MAX - 1}};
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        TTEST_OK(ttape_writer_open(&w, &sink, NULL, &err));
        ttest_define(w, 1);
        ck_assert_int_eq(ttape_writer_append(w, 0, &events[i], 1, &err), TTAPE_E_ARGUMENT);
        ck_assert(err.message[0] != '\0');
        ttape_event good = {.kind = TTAPE_EVENT_LEAF, .site = 4, .depth = TTAPE_DEPTH_AUTO};
        ck_assert_int_eq(ttape_writer_append(w, 0, &good, 1, NULL), TTAPE_E_ARGUMENT);
        ck_assert_int_eq(ttape_writer_finish(w, &err), TTAPE_E_ARGUMENT);
        ttape_writer_close(w);
    }
    TTEST_OK(ttape_writer_open(&w, &sink, NULL, &err));
    ttest_define(w, 1);
    ck_assert_int_eq(ttape_writer_attach(w, 0, &value, 1, &err), TTAPE_E_STATE);
    ttape_writer_close(w);
    TTEST_OK(ttape_writer_open(&w, &sink, NULL, &err));
    ck_assert_int_eq(ttape_writer_set_text(w, NULL, ttest_string("x"), &err), TTAPE_E_ARGUMENT);
    ttape_writer_close(w);
    TTEST_OK(ttape_writer_open(&w, &sink, NULL, &err));
    ck_assert_int_eq(ttape_writer_set_text(w, "trace_id", ttest_string("x"), &err),
                     TTAPE_E_ARGUMENT);
    ttape_writer_close(w);
    TTEST_OK(ttape_writer_open(&w, &sink, NULL, &err));
    ttest_define(w, 1);
    TTEST_OK(ttape_writer_append(w, 0, NULL, 0, &err));
    TTEST_OK(ttape_writer_finish(w, &err));
    ck_assert_int_eq(ttape_writer_flush(w, false, &err), TTAPE_E_STATE);
    ttape_event late = {.kind = TTAPE_EVENT_LEAF, .site = 4, .depth = TTAPE_DEPTH_AUTO};
    ck_assert_int_eq(ttape_writer_append(w, 0, &late, 1, &err), TTAPE_E_STATE);
    ttape_writer_close(w);
    ttape_memory_sink_close(&memory);
}
END_TEST

static bool reenter(void *context, const ttape_finding *finding)
{
    ttape_source *source = context;
    ttape_reader *r;
    (void)finding;
    if (ttape_reader_open(&r, source, NULL, NULL) == TTAPE_OK)
        (void)ttest_read_all(r);
    ttape_reader_close(r);
    return false; /* stop at the first */
}

START_TEST(r19_callbacks_that_read_and_stop)
{
    struct ttest_file file = ttest_write(&small);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_error err = {0};
    uint64_t findings = 0;
    memset(file.data + file.size_bytes / 2, 0, 600);
    TTEST_OK(ttape_verify(&source, NULL, reenter, NULL, &source, &findings, &err));
    ck_assert_uint_eq(findings, 1);
    free(file.data);
}
END_TEST

static void *read_in_thread(void *context)
{
    static _Thread_local struct ttest_sum sum;
    ttape_reader *r;
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(ttape_reader_open(&r, context, NULL, NULL), TTAPE_OK);
        struct ttest_sum now = ttest_read_all(r);
        ck_assert(i == 0 || now.hash == sum.hash);
        sum = now;
        ttape_reader_close(r);
    }
    return (void *)(uintptr_t)sum.hash;
}

/* Several readers over one source, which is what the header allows; tsan runs this too. */
START_TEST(r19_one_source_for_many_threads)
{
    struct ttest_file file = ttest_write(&small);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    pthread_t threads[4];
    void *hash[4];
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, read_in_thread, &source), 0);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_join(threads[i], &hash[i]), 0);
    ck_assert(hash[0] == hash[1] && hash[0] == hash[2] && hash[0] == hash[3]);
    free(file.data);
}
END_TEST

/* R10: a file that grows, that another takes the place of, that is overwritten in place while it is
 * read: what was there, or an error. */
START_TEST(r10_file_that_changes)
{
    struct ttest_file file = ttest_write(&small);
    ttape_error err = {0};
    ttape_source source;
    ttape_reader *r;
    char path[] = "ttest_file_XXXXXX", other[] = "ttest_other_XXXXXX";
    int fd = mkstemp(path), second = mkstemp(other);
    ck_assert(write(fd, file.data, file.size_bytes) == (ssize_t)file.size_bytes);
    TTEST_OK(ttape_source_file_open(&source, path, &err));
    ttape_source memory = ttape_source_memory(file.data, file.size_bytes);
    TTEST_OK(ttape_reader_open(&r, &memory, NULL, &err));
    struct ttest_sum want = ttest_read_all(r);
    ttape_reader_close(r);
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    ck_assert(write(fd, file.data, 500) == 500); /* it grows */
    ck_assert(ttest_read_all(r).hash == want.hash);
    ck_assert_int_eq(rename(other, path), 0); /* another takes its name */
    ttape_reader_close(r);
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    ck_assert(ttest_read_all(r).hash == want.hash);
    ttape_reader_close(r);
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    memset(file.data, 0xaa, file.size_bytes); /* it is overwritten */
    ck_assert(pwrite(fd, file.data, file.size_bytes, 0) == (ssize_t)file.size_bytes);
    ck_assert(ttest_read_all(r).errors > 0);
    ttape_reader_close(r);
    ttape_source_file_close(&source);
    ck_assert_int_eq(unlink(path), 0);
    (void)close(fd);
    (void)close(second);
    free(file.data);
}
END_TEST

/* ---- R14 ---- */

#if TTEST_SANITIZED
#define MANY 200000u
#else
#define MANY 1000000u
#endif

static void write_many(ttape_memory_sink *memory, uint32_t kind, bool backwards)
{
    ttape_error err = {0};
    ttape_sink sink = ttape_sink_memory(memory);
    ttape_writer_options o = {.size = sizeof o, .partition_events = 262144};
    ttape_writer *w;
    TTEST_OK(ttape_writer_open(&w, &sink, &o, &err));
    ttest_define(w, 1);
    for (uint32_t i = 0; i < MANY; i++) {
        ttape_event e = {.time_ns = backwards ? MANY - i : i,
                         .kind = kind,
                         .site = i % 3,
                         .depth = TTAPE_DEPTH_AUTO};
        TTEST_OK(ttape_writer_append(w, 0, &e, 1, &err));
    }
    TTEST_OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
}

/* A million frames that stay open, a million exits of nothing, a clock that runs back: written,
 * verified and read with the default limits. */
START_TEST(r14_unbalanced_in_bulk)
{
    static const uint32_t kinds[] = {TTAPE_EVENT_ENTER, TTAPE_EVENT_EXIT, TTAPE_EVENT_OPEN};
    ttape_memory_sink memory = {0};
    ttape_error err = {0};
    uint64_t findings = 0;
    write_many(&memory, kinds[_i], _i == 1);
    ttape_source source = ttape_source_memory(memory.data, memory.size_bytes);
    TTEST_OK(ttape_verify(&source, NULL, ttest_print_finding, NULL, NULL, &findings, &err));
    ck_assert_uint_eq(findings, 0);
    ttape_reader *r;
    ttape_cursor *c;
    ttape_edge edge;
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    TTEST_OK(ttape_cursor_open(&c, r, 0, &err));
    ttape_status status = ttape_cursor_seek_event(c, MANY - 1, &err);
    ck_assert(status == TTAPE_OK);
    TTEST_OK(ttape_cursor_get_open_frames(c, &edge, &err));
    ck_assert_uint_eq(edge.frame_count, kinds[_i] == TTAPE_EVENT_EXIT ? 0 : MANY - 1);
    ttape_cursor_close(c);
    ttape_reader_close(r);
    ttape_memory_sink_close(&memory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sweep_misuse");
    TCase *tests = tcase_create("misuse");
    tcase_set_timeout(tests, 280);
    tcase_add_test(tests, r19_nothing_is_closed);
    tcase_add_test(tests, r19_readers_without_what_they_need);
    tcase_add_test(tests, r19_numbers_past_the_end);
    tcase_add_test(tests, r19_writers_after_failure_and_end);
    tcase_add_test(tests, r19_callbacks_that_read_and_stop);
    tcase_add_test(tests, r19_one_source_for_many_threads);
    tcase_add_test(tests, r10_file_that_changes);
    tcase_add_loop_test(tests, r14_unbalanced_in_bulk, 0, 3);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
