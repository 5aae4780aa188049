/* Merging pieces of one trace that both have models: numbers of models are a file's own, so that
 * each partition must find the one that it was written with; and models that are the same are
 * stored once. */
#include <stdlib.h>
#include <string.h>

#include <tracetape/copy.h>

#include "tests/asserts.h"

#define SITES        40u
#define PIECE_EVENTS 6000u
#define PIECES       3u

static ttape_string text(const char *t) { return (ttape_string){t, strlen(t)}; }

/* Calls in an order that is another one in each piece: its models are of no use to another. */
static ttape_event event_of(uint32_t piece, uint32_t i)
{
    uint32_t site = (i / 2 * (2 * piece + 1) + i / 64 * piece) % SITES;
    return (ttape_event){.time_ns = piece * 1000000u + i * 10u,
                         .site = site,
                         .kind = i % 2 == 0 ? TTAPE_EVENT_ENTER : TTAPE_EVENT_EXIT,
                         .depth = TTAPE_DEPTH_AUTO};
}

static ttape_memory_sink make_piece(uint32_t piece)
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer_options options = {.size = sizeof options,
                                    .partition_events = 100,
                                    .model_period = 4,
                                    .has_trace_id = true,
                                    .trace_id = {9}};
    ttape_writer *writer;
    ttape_error err = {0};
    uint32_t process, stream, site;
    ck_assert_int_eq(ttape_writer_open(&writer, &sink, &options, &err), TTAPE_OK);
    ttape_writer_add_process(writer, &(ttape_process){.pid = 1, .parent = TTAPE_NONE}, &process,
                             &err);
    ttape_writer_add_stream(writer, &(ttape_stream){.process = process, .tid = 1}, &stream, &err);
    for (uint32_t i = 0; i < SITES; i++)
        ttape_writer_add_site(
            writer, &(ttape_site){.address = i, .module = TTAPE_NONE, .symbol = text("s")}, &site,
            &err);
    ttape_edge edge = {.event_number = piece * PIECE_EVENTS, .time_ns = event_of(piece, 0).time_ns};
    ck_assert_int_eq(ttape_writer_resume(writer, stream, &edge, &err), TTAPE_OK);
    for (uint32_t i = 0; i < PIECE_EVENTS; i++) {
        ttape_event event = event_of(piece, i);
        ck_assert_int_eq(ttape_writer_append(writer, stream, &event, 1, &err), TTAPE_OK);
    }
    ck_assert_int_eq(ttape_writer_finish(writer, &err), TTAPE_OK);
    ttape_writer_close(writer);
    return memory;
}

static ttape_reader *open_reader(const ttape_memory_sink *memory, ttape_source *source)
{
    ttape_reader *reader;
    ttape_error err = {0};
    *source = ttape_source_memory(memory->data, memory->size_bytes);
    ck_assert_int_eq(ttape_reader_open(&reader, source, NULL, &err), TTAPE_OK);
    return reader;
}

static ttape_writer *open_writer(ttape_memory_sink *memory, uint32_t partition_events)
{
    ttape_sink sink = ttape_sink_memory(memory);
    ttape_writer_options options = {.size = sizeof options,
                                    .partition_events = partition_events,
                                    .has_trace_id = true,
                                    .trace_id = {9}};
    ttape_writer *writer;
    ttape_error err = {0};
    ck_assert_int_eq(ttape_writer_open(&writer, &sink, &options, &err), TTAPE_OK);
    return writer;
}

/* Copies partitions [from, to) of a piece. */
static void copy_some(ttape_writer *writer, ttape_reader *reader, uint32_t from, uint32_t to)
{
    ttape_copier *copier;
    ttape_error err = {0};
    ck_assert_int_eq(ttape_copier_open(&copier, writer, reader, &err), TTAPE_OK);
    for (uint32_t i = from; i < to; i++)
        ck_assert_int_eq(ttape_copier_partition(copier, i, &err), TTAPE_OK);
    ttape_copier_close(copier);
}

static void close_writer(ttape_writer *writer)
{
    ttape_error err = {0};
    ck_assert_int_eq(ttape_writer_finish(writer, &err), TTAPE_OK);
    ttape_writer_close(writer);
}

static void expect_events(const ttape_memory_sink *memory, uint32_t pieces)
{
    ttape_source source;
    ttape_reader *reader = open_reader(memory, &source);
    ttape_cursor *cursor;
    ttape_error err = {0};
    uint64_t findings = 0;
    ttape_info info;
    ttape_reader_get_info(reader, &info);
    ck_assert_uint_eq(info.stream_count, 1);
    ck_assert_uint_eq(info.scope_count, 1);
    ck_assert_int_eq(ttape_cursor_open(&cursor, reader, 0, &err), TTAPE_OK);
    for (uint32_t i = 0; i < pieces * PIECE_EVENTS; i++) {
        ttape_event wanted = event_of(i / PIECE_EVENTS, i % PIECE_EVENTS), got;
        size_t count = 0;
        ck_assert_msg(ttape_cursor_next_events(cursor, &got, 1, &count, &err) == TTAPE_OK,
                      "event %u: %s", i, err.message);
        ck_assert_uint_eq(count, 1);
        ck_assert_uint_eq(got.time_ns, wanted.time_ns);
        ck_assert_uint_eq(got.site, wanted.site);
        ck_assert_uint_eq(got.kind, wanted.kind);
    }
    ttape_cursor_close(cursor);
    ck_assert_int_eq(ttape_verify(&source, NULL, NULL, NULL, NULL, &findings, &err), TTAPE_OK);
    ck_assert_uint_eq(findings, 0);
    ttape_reader_close(reader);
}

static uint32_t partitions(ttape_reader *reader)
{
    ttape_info info;
    ttape_reader_get_info(reader, &info);
    return (uint32_t)info.partition_count;
}

START_TEST(each_partition_keeps_its_model)
{
    ttape_memory_sink pieces[PIECES], whole = {0};
    ttape_source sources[PIECES];
    ttape_writer *writer = open_writer(&whole, 100);
    for (uint32_t i = 0; i < PIECES; i++) {
        pieces[i] = make_piece(i);
        ttape_reader *reader = open_reader(&pieces[i], &sources[i]);
        ttape_partition_info info;
        ck_assert_int_eq(ttape_reader_get_partition(reader, 1, &info), TTAPE_OK);
        ck_assert_uint_eq(info.model, 0); /* the pieces' numbers are the same */
        copy_some(writer, reader, 0, partitions(reader));
        ttape_reader_close(reader);
    }
    close_writer(writer);
    expect_events(&whole, PIECES);
    for (uint32_t i = 0; i < PIECES; i++)
        ttape_memory_sink_close(&pieces[i]);
    ttape_memory_sink_close(&whole);
}
END_TEST

/* A trace taken apart and put together again is what it was, to the byte. */
START_TEST(shared_models_are_stored_once)
{
    ttape_memory_sink piece = make_piece(0), once = {0}, parts[3] = {0}, again = {0};
    ttape_source sources[4];
    ttape_reader *reader = open_reader(&piece, &sources[0]);
    uint32_t count = partitions(reader);
    const uint32_t ends[4] = {0, 6, 7, count}; /* inside the first model's run and the second's */
    ttape_writer *writer = open_writer(&once, 100);
    copy_some(writer, reader, 0, count);
    close_writer(writer);
    for (uint32_t i = 0; i < 3; i++) {
        writer = open_writer(&parts[i], 100);
        copy_some(writer, reader, ends[i], ends[i + 1]);
        close_writer(writer);
    }
    writer = open_writer(&again, 100);
    for (uint32_t i = 0; i < 3; i++) {
        ttape_reader *part = open_reader(&parts[i], &sources[1 + i]);
        copy_some(writer, part, 0, partitions(part));
        ttape_reader_close(part);
    }
    close_writer(writer);
    ck_assert_uint_eq(once.size_bytes, again.size_bytes);
    ck_assert_mem_eq(once.data, again.data, once.size_bytes);
    expect_events(&again, 1);
    ttape_reader_close(reader);
    for (uint32_t i = 0; i < 3; i++)
        ttape_memory_sink_close(&parts[i]);
    ttape_memory_sink_close(&piece);
    ttape_memory_sink_close(&once);
    ttape_memory_sink_close(&again);
}
END_TEST

/* What a copier writes anew has models of the writer's own, which must stay apart from copied
 * ones: 40 partitions are re-encoded as many small ones, 20 are copied. */
START_TEST(own_models_stay_apart)
{
    ttape_memory_sink piece = make_piece(0), mixed = {0};
    ttape_source source;
    ttape_reader *reader = open_reader(&piece, &source);
    ttape_writer *writer = open_writer(&mixed, 30);
    ttape_copier *copier;
    ttape_error err = {0};
    const uint64_t from = 0, to = UINT64_MAX;
    ck_assert_int_eq(ttape_copier_open(&copier, writer, reader, &err), TTAPE_OK);
    for (uint32_t i = 0; i < partitions(reader); i++)
        ck_assert_int_eq(i % 3 == 2 ? ttape_copier_partition(copier, i, &err)
                                    : ttape_copier_part(copier, i, &from, &to, &err),
                         TTAPE_OK);
    ttape_copier_close(copier);
    close_writer(writer);
    expect_events(&mixed, 1);
    ttape_reader_close(reader);
    ttape_memory_sink_close(&piece);
    ttape_memory_sink_close(&mixed);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copy_models");
    TCase *test_case = tcase_create("copy_models");
    tcase_add_test(test_case, each_partition_keeps_its_model);
    tcase_add_test(test_case, shared_models_are_stored_once);
    tcase_add_test(test_case, own_models_stay_apart);
    suite_add_tcase(suite, test_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
