/* Copies with other names: what a caller may change, and that everything else stays. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/copy.h>

#include "tests/asserts.h"

#define SITES 300u

static ttape_string text(const char *t) { return (ttape_string){t, strlen(t)}; }

/* A trace whose sites are named after their letter and number, in small partitions. */
static ttape_memory_sink make_trace(char letter, uint8_t id)
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer_options options = {
        .size = sizeof options, .partition_events = 128, .has_trace_id = true, .trace_id = {id}};
    ttape_writer *writer;
    ttape_error err = {0};
    uint32_t module, process, stream, site;
    char name[2] = {letter, '\0'};
    ck_assert_int_eq(ttape_writer_open(&writer, &sink, &options, &err), TTAPE_OK);
    ttape_writer_add_module(writer,
                            &(ttape_module){.start = 4096,
                                            .end = 8192,
                                            .process = TTAPE_NONE,
                                            .path = text("m"),
                                            .build_id = text("id")},
                            &module, &err);
    ttape_writer_add_process(writer, &(ttape_process){.pid = 1, .parent = TTAPE_NONE}, &process,
                             &err);
    ttape_writer_add_stream(writer, &(ttape_stream){.process = process, .tid = id}, &stream, &err);
    for (uint32_t i = 0; i < SITES; i++) {
        ttape_site made = {.address = 4096 + i, .module = module, .symbol = text(name)};
        ck_assert_int_eq(ttape_writer_add_site(writer, &made, &site, &err), TTAPE_OK);
        ttape_event events[2] = {
            {.time_ns = i, .site = site, .depth = TTAPE_DEPTH_AUTO},
            {.time_ns = i + 1, .kind = TTAPE_EVENT_EXIT, .site = site, .depth = TTAPE_DEPTH_AUTO}};
        ck_assert_int_eq(ttape_writer_append(writer, stream, events, 2, &err), TTAPE_OK);
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

/* Names every third site, and tries to change what is not the caller's. */
static ttape_status rename_third(void *context, uint32_t number, ttape_site *site, ttape_error *err)
{
    uint32_t *calls = context;
    (void)err;
    ck_assert_uint_eq(number, (*calls)++);
    ck_assert_uint_eq(site->address, 4096 + number % SITES);
    if (number % 3 == 0) {
        static char name[32];
        (void)snprintf(name, sizeof name, "new %u", number);
        site->symbol = text(name);
        site->file = text(number % 2 == 0 ? "even.c" : "odd.c");
        site->line = number + 1;
    }
    site->address = 1;
    site->kind = TTAPE_SITE_MARKER;
    site->module = TTAPE_NONE;
    return TTAPE_OK;
}

static ttape_memory_sink copy_renamed(ttape_reader *reader, ttape_site_callback rename,
                                      void *context, ttape_status wanted)
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer_options options = {.size = sizeof options, .has_trace_id = true};
    ttape_writer *writer;
    ttape_copier *copier;
    ttape_info info;
    ttape_error err = {0};
    ttape_reader_get_info(reader, &info);
    memcpy(options.trace_id, info.trace_id, sizeof info.trace_id);
    ck_assert_int_eq(ttape_writer_open(&writer, &sink, &options, &err), TTAPE_OK);
    ck_assert_int_eq(ttape_copier_open_renamed(&copier, writer, reader, rename, context, &err),
                     wanted);
    ck_assert((copier == NULL) == (wanted != TTAPE_OK));
    for (uint32_t i = 0; copier != NULL && i < info.partition_count; i++)
        ck_assert_int_eq(ttape_copier_partition(copier, i, &err), TTAPE_OK);
    if (copier != NULL)
        ck_assert_int_eq(ttape_writer_finish(writer, &err), TTAPE_OK);
    ttape_copier_close(copier);
    ttape_writer_close(writer);
    return memory;
}

static void expect_same_partitions(ttape_reader *one, const ttape_memory_sink *one_bytes,
                                   ttape_reader *two, const ttape_memory_sink *two_bytes)
{
    ttape_info info;
    ttape_reader_get_info(one, &info);
    for (uint32_t i = 0; i < info.partition_count; i++) {
        ttape_partition_info a, b;
        ck_assert_int_eq(ttape_reader_get_partition(one, i, &a), TTAPE_OK);
        ck_assert_int_eq(ttape_reader_get_partition(two, i, &b), TTAPE_OK);
        ck_assert_uint_eq(a.stored_bytes, b.stored_bytes);
        ck_assert_uint_eq(a.scope, b.scope);
        ck_assert_mem_eq(one_bytes->data + a.offset + 64, two_bytes->data + b.offset + 64,
                         a.stored_bytes - 64);
    }
}

START_TEST(names_change_and_nothing_else)
{
    ttape_source source, copied_source;
    ttape_memory_sink original = make_trace('a', 1);
    ttape_reader *reader = open_reader(&original, &source);
    uint32_t calls = 0;
    ttape_memory_sink copy = copy_renamed(reader, rename_third, &calls, TTAPE_OK);
    ttape_reader *copied = open_reader(&copy, &copied_source);
    ck_assert_uint_eq(calls, SITES);
    for (uint32_t i = 0; i < SITES; i++) {
        ttape_site site;
        char wanted[32] = "a";
        if (i % 3 == 0)
            (void)snprintf(wanted, sizeof wanted, "new %u", i);
        ck_assert_int_eq(ttape_reader_get_site(copied, i, &site), TTAPE_OK);
        ck_assert_uint_eq(site.address, 4096 + i);
        ck_assert_uint_eq(site.kind, TTAPE_SITE_FUNCTION);
        ck_assert_uint_eq(site.module, 0);
        ck_assert_uint_eq(site.line, i % 3 == 0 ? i + 1 : 0);
        ck_assert_uint_eq(site.symbol.size_bytes, strlen(wanted));
        ck_assert_mem_eq(site.symbol.data, wanted, strlen(wanted));
    }
    expect_same_partitions(reader, &original, copied, &copy);
    uint64_t findings = 0;
    ttape_error err = {0};
    ck_assert_int_eq(ttape_verify(&copied_source, NULL, NULL, NULL, NULL, &findings, &err),
                     TTAPE_OK);
    ck_assert_uint_eq(findings, 0);
    ttape_reader_close(reader);
    ttape_reader_close(copied);
    ttape_memory_sink_close(&original);
    ttape_memory_sink_close(&copy);
}
END_TEST

static ttape_status keep_names(void *context, uint32_t number, ttape_site *site, ttape_error *err)
{
    (void)context;
    (void)number;
    (void)site;
    (void)err;
    return TTAPE_OK;
}

/* Copies partitions [from, to) into scopes of their own. */
static void copy_piece(ttape_writer *writer, ttape_reader *reader, uint32_t from, uint32_t to)
{
    ttape_copier *copier;
    ttape_error err = {0};
    ck_assert_int_eq(ttape_copier_open_renamed(&copier, writer, reader, keep_names, NULL, &err),
                     TTAPE_OK);
    for (uint32_t i = from; i < to; i++)
        ck_assert_int_eq(ttape_copier_partition(copier, i, &err), TTAPE_OK);
    ttape_copier_close(copier);
}

/* Two pieces of one trace that a plain copy would join: here each scope stays what it is. */
START_TEST(scopes_stay_apart)
{
    ttape_memory_sink whole = make_trace('a', 7), pieces = {0};
    ttape_sink sink = ttape_sink_memory(&pieces);
    ttape_writer_options options = {.size = sizeof options, .has_trace_id = true, .trace_id = {7}};
    ttape_writer *writer;
    ttape_source sources[3];
    ttape_reader *reader = open_reader(&whole, &sources[0]);
    ttape_info info;
    ttape_error err = {0};
    ck_assert_int_eq(ttape_writer_open(&writer, &sink, &options, &err), TTAPE_OK);
    copy_piece(writer, reader, 0, 2);
    copy_piece(writer, reader, 2, 4);
    ck_assert_int_eq(ttape_writer_finish(writer, &err), TTAPE_OK);
    ttape_writer_close(writer);
    ttape_reader *joined = open_reader(&pieces, &sources[1]);
    ttape_memory_sink copy = copy_renamed(joined, keep_names, NULL, TTAPE_OK);
    ttape_reader *copied = open_reader(&copy, &sources[2]);
    ttape_reader_get_info(copied, &info);
    ck_assert_uint_eq(info.scope_count, 2);
    ck_assert_uint_eq(info.site_count, 2 * SITES);
    expect_same_partitions(joined, &pieces, copied, &copy);
    ttape_reader_close(reader);
    ttape_reader_close(joined);
    ttape_reader_close(copied);
    ttape_memory_sink_close(&whole);
    ttape_memory_sink_close(&pieces);
    ttape_memory_sink_close(&copy);
}
END_TEST

static ttape_status refuse(void *context, uint32_t number, ttape_site *site, ttape_error *err)
{
    (void)context;
    (void)site;
    if (number < SITES / 2)
        return TTAPE_OK;
    *err = (ttape_error){.status = TTAPE_E_LIMIT, .message = "enough"};
    return TTAPE_E_LIMIT;
}

static ttape_status name_too_long(void *context, uint32_t number, ttape_site *site,
                                  ttape_error *err)
{
    (void)number;
    (void)err;
    site->symbol = (ttape_string){context, (1u << 20) + 1};
    return TTAPE_OK;
}

START_TEST(failures_are_passed_on)
{
    ttape_source source;
    ttape_memory_sink original = make_trace('a', 1);
    ttape_reader *reader = open_reader(&original, &source);
    ttape_memory_sink copy = copy_renamed(reader, refuse, NULL, TTAPE_E_LIMIT);
    ttape_memory_sink_close(&copy);
    char *name = calloc(1, (1u << 20) + 1);
    copy = copy_renamed(reader, name_too_long, name, TTAPE_E_ARGUMENT);
    ttape_memory_sink_close(&copy);
    free(name);
    ttape_reader_close(reader);
    ttape_memory_sink_close(&original);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copy_names");
    TCase *test_case = tcase_create("copy_names");
    tcase_add_test(test_case, names_change_and_nothing_else);
    tcase_add_test(test_case, scopes_stay_apart);
    tcase_add_test(test_case, failures_are_passed_on);
    suite_add_tcase(suite, test_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
