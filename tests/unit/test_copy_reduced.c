/* Copies with less: no values, whatever the index says of them; module paths, names and entries of
 * the metadata as the caller wants them; what is refused. */
#include <tracetape/copy.h>

#include "reader/reader_internal.h"
#include "tests/unit/test_reader_fixture.h"

static const struct ttest_plan plan = {.streams = 2, .events = 600, .partition_events = 100};

static void rename_module(void *context, ttape_module *module)
{
    (void)context;
    ck_assert_uint_eq(module->path.size_bytes, strlen("/bin/prog"));
    module->path = ttest_string("prog");
    module->start = 1; /* is ignored */
}

static bool keep_numbers(void *context, const ttape_metadata_entry *entry)
{
    (void)context;
    return entry->type == TTAPE_METADATA_NUMBER;
}

struct copying {
    struct ttest_trace from;
    ttape_memory_sink memory;
    ttape_writer *writer;
    ttape_copier *copier;
};

static void begin(struct copying *c, const ttape_reduction *how)
{
    ttape_error err = {0};
    ttape_writer_options options = {.size = sizeof options};
    *c = (struct copying){.from = ttest_open_trace(ttest_write(&plan))};
    ttape_sink sink = ttape_sink_memory(&c->memory);
    TTEST_OK(ttape_writer_open(&c->writer, &sink, &options, &err));
    TTEST_OK(ttape_copier_open_reduced(&c->copier, c->writer, c->from.reader, how, &err));
}

static struct ttest_trace end(struct copying *c)
{
    ttape_error err = {0};
    TTEST_OK(ttape_writer_finish(c->writer, &err));
    ttape_copier_close(c->copier);
    ttape_writer_close(c->writer);
    ttest_close_trace(&c->from);
    return ttest_open_trace(ttest_take(&c->memory));
}

static uint64_t count_values(ttape_reader *reader)
{
    uint64_t count = 0;
    for (uint32_t stream = 0; stream < plan.streams; stream++) {
        ttape_cursor *cursor;
        ttape_event_item item;
        ttape_error err = {0};
        TTEST_OK(ttape_cursor_open(&cursor, reader, stream, &err));
        while (ttape_cursor_next(cursor, &item, &err) == TTAPE_OK)
            count += item.value_count;
        ttape_cursor_close(cursor);
    }
    return count;
}

START_TEST(values_are_left_out)
{
    const ttape_reduction how = {.size = sizeof how,
                                 .without_values = 1,
                                 .rename_module = rename_module,
                                 .keeps = keep_numbers};
    struct copying c;
    ttape_info before, after;
    ttape_module module;
    ttape_metadata_entry entry;
    ttape_error err = {0};
    uint32_t with_values = 0;
    begin(&c, &how);
    ttape_reader_get_info(c.from.reader, &before);
    for (uint32_t i = 0; i < before.partition_count; i++) {
        ttape_partition_info about;
        (void)ttape_reader_get_partition(c.from.reader, i, &about);
        with_values += about.bytes.values != 0;
        c.from.reader->partitions[i].values_bytes = 0; /* as an index could say */
        if (about.bytes.values != 0)
            ck_assert_int_eq(ttape_copier_partition(c.copier, i, &err), TTAPE_E_ARGUMENT);
        TTEST_OK(ttape_copier_part(c.copier, i, NULL, NULL, &err));
    }
    ck_assert_uint_gt(with_values, 3);
    struct ttest_trace copy = end(&c);
    ttape_reader_get_info(copy.reader, &after);
    ck_assert_uint_eq(after.event_count, before.event_count);
    ck_assert_uint_eq(count_values(copy.reader), 0); /* bytes of values also tell of gaps */
    ck_assert_int_eq(ttape_reader_get_module(copy.reader, 0, &module), TTAPE_OK);
    ck_assert_uint_eq(module.start, 4096);
    ck_assert(module.path.size_bytes == 4 && memcmp(module.path.data, "prog", 4) == 0);
    for (uint32_t i = 0; ttape_reader_get_metadata(copy.reader, i, &entry) == TTAPE_OK; i++)
        ck_assert_int_ne(entry.type, TTAPE_METADATA_TEXT);
    ttest_close_trace(&copy);
}
END_TEST

START_TEST(values_stay_where_nothing_is_said)
{
    struct copying c;
    ttape_info before, after;
    ttape_error err = {0};
    begin(&c, NULL);
    ttape_reader_get_info(c.from.reader, &before);
    for (uint32_t i = 0; i < before.partition_count; i++)
        TTEST_OK(ttape_copier_partition(c.copier, i, &err));
    struct ttest_trace copy = end(&c);
    ttape_reader_get_info(copy.reader, &after);
    ck_assert_uint_gt(count_values(copy.reader), 10);
    ck_assert_uint_eq(after.bytes.values, before.bytes.values);
    ttest_close_trace(&copy);
}
END_TEST

START_TEST(words_that_are_not_known_are_refused)
{
    const ttape_reduction odd[] = {{.size = sizeof *odd, .without_values = 2},
                                   {.size = sizeof *odd, .reserved = 1}};
    struct copying c;
    ttape_copier *none;
    ttape_error err = {0};
    begin(&c, NULL);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(ttape_copier_open_reduced(&none, c.writer, c.from.reader, &odd[i], &err),
                         TTAPE_E_ARGUMENT);
        ck_assert_ptr_null(none);
    }
    struct ttest_trace copy = end(&c);
    ttest_close_trace(&copy);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copy_reduced");
    TCase *tests = tcase_create("copy_reduced");
    tcase_add_test(tests, values_are_left_out);
    tcase_add_test(tests, values_stay_where_nothing_is_said);
    tcase_add_test(tests, words_that_are_not_known_are_refused);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
