/* Opening by path, names of sites and statuses, and what stands in a struct that was not found. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/test_reader_fixture.h"

static const struct ttest_plan small = {
    .resolution_ns = 1, .partition_events = 100, .level = 1, .streams = 1, .events = 50};

static char path[64];

static void name_file(void)
{
    (void)snprintf(path, sizeof path, "/tmp/test_by_path.%ld", (long)getpid());
}

static void remove_file(void) { (void)unlink(path); }

static bool exists(void)
{
    struct stat info;
    return stat(path, &info) == 0;
}

START_TEST(a_file_appears_when_the_writer_finishes)
{
    ttape_error err = {0};
    ttape_writer *w;
    ttape_reader *r;
    ttape_info info;
    TTEST_OK(ttape_writer_open_path(&w, path, false, NULL, &err));
    ttest_define(w, 1);
    ck_assert(!exists());
    TTEST_OK(ttape_writer_finish(w, &err));
    ck_assert(exists());
    ttape_writer_close(w);
    ck_assert_int_eq(ttape_writer_open_path(&w, path, false, NULL, &err), TTAPE_E_EXISTS);
    ck_assert_ptr_null(w);
    TTEST_OK(ttape_reader_open_path(&r, path, NULL, &err));
    ttape_reader_get_info(r, &info);
    ck_assert(info.complete && info.site_count == TTEST_SITES);
    ttape_reader_close(r);
}
END_TEST

START_TEST(a_writer_that_does_not_finish_leaves_nothing)
{
    ttape_error err = {0};
    ttape_writer_options bad = {.size = sizeof bad, .level = 99};
    ttape_writer *w;
    TTEST_OK(ttape_writer_open_path(&w, path, true, NULL, &err));
    ttest_define(w, 1);
    ttape_writer_close(w);
    ck_assert(!exists());
    ck_assert_int_eq(ttape_writer_open_path(&w, path, true, &bad, &err), TTAPE_E_ARGUMENT);
    ck_assert_ptr_null(w);
    ck_assert(!exists());
}
END_TEST

/* The name is taken meanwhile: finish fails for good, and what is there stays. */
START_TEST(a_commit_that_fails_is_a_failure_of_the_writer)
{
    ttape_error err = {0};
    ttape_writer *w;
    TTEST_OK(ttape_writer_open_path(&w, path, false, NULL, &err));
    FILE *other = fopen(path, "w");
    ck_assert_ptr_nonnull(other);
    (void)fclose(other);
    ck_assert_int_eq(ttape_writer_finish(w, &err), TTAPE_E_EXISTS);
    ck_assert_int_eq(ttape_writer_finish(w, &err), TTAPE_E_EXISTS);
    ttape_writer_close(w);
    struct stat info;
    ck_assert_int_eq(stat(path, &info), 0);
    ck_assert_int_eq(info.st_size, 0);
}
END_TEST

START_TEST(a_path_that_is_no_trace)
{
    ttape_error err = {0};
    ttape_reader *r;
    int next = dup(STDIN_FILENO);
    (void)close(next);
    ck_assert_int_eq(ttape_reader_open_path(&r, path, NULL, &err), TTAPE_E_IO);
    ck_assert_int_eq(err.os_errno, ENOENT);
    ck_assert_ptr_null(r);
    FILE *other = fopen(path, "w");
    ck_assert_ptr_nonnull(other);
    (void)fputs("this is not a trace, although it is long enough to be the beginning of one\n",
                other);
    (void)fclose(other);
    ck_assert_int_eq(ttape_reader_open_path(&r, path, NULL, &err), TTAPE_E_NOT_TRACE);
    ck_assert_ptr_null(r);
    ck_assert_int_eq(dup(STDIN_FILENO), next); /* nothing stayed open */
    (void)close(next);
}
END_TEST

static ttape_reader *reader_of(ttape_memory_sink *file, const ttape_site *sites, uint32_t count)
{
    ttape_error err = {0};
    ttape_sink sink = ttape_sink_memory(file);
    ttape_module module = {
        .start = 0x7000, .end = 0x9000, .process = TTAPE_NONE, .path = ttest_string("/a/b.so")};
    ttape_writer *w;
    ttape_reader *r;
    uint32_t id;
    TTEST_OK(ttape_writer_open(&w, &sink, NULL, &err));
    TTEST_OK(ttape_writer_add_module(w, &module, &id, &err));
    for (uint32_t i = 0; i < count; i++)
        TTEST_OK(ttape_writer_add_site(w, &sites[i], &id, &err));
    TTEST_OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
    ttape_source source = ttape_source_memory(file->data, file->size_bytes);
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    return r;
}

START_TEST(sites_have_names)
{
    static const ttape_site sites[] = {
        {.address = 0x7010, .symbol = {"work", 4}},
        {.address = 0x7010},
        {.address = 0xABC, .module = TTAPE_NONE},
    };
    static const char *const names[] = {"work", "b.so+0x10", "0xabc", "?", "?"};
    static const uint32_t numbers[] = {0, 1, 2, 3, TTAPE_NONE};
    ttape_memory_sink file = {0};
    ttape_reader *r = reader_of(&file, sites, 3);
    for (int i = 0; i < 5; i++) {
        char name[16] = "unchanged";
        ck_assert_uint_eq(ttape_site_name(r, numbers[i], name, sizeof name), strlen(names[i]));
        ck_assert_str_eq(name, names[i]);
        memset(name, 'x', sizeof name);
        ck_assert_uint_eq(ttape_site_name(r, numbers[i], name, 3), strlen(names[i]));
        ck_assert_int_eq(strncmp(name, names[i], 2), 0);
        ck_assert(name[names[i][1] == '\0' ? 1 : 2] == '\0' && name[3] == 'x');
        ck_assert_uint_eq(ttape_site_name(r, numbers[i], NULL, 0), strlen(names[i]));
    }
    ttape_reader_close(r);
    ttape_memory_sink_close(&file);
}
END_TEST

START_TEST(what_is_not_found_is_empty)
{
    ttape_memory_sink file = {0};
    ttape_reader *r = reader_of(&file, NULL, 0);
    ttape_site site = {.line = 7};
    ttape_module module;
    ttape_process process;
    ttape_stream_info stream;
    ttape_metadata_entry entry;
    ttape_partition_info partition = {.event_count = 7};
    ck_assert_int_eq(ttape_reader_get_site(r, TTAPE_NONE, &site), TTAPE_E_NOT_FOUND);
    ck_assert(site.module == TTAPE_NONE && site.line == 0 && site.file.size_bytes == 0);
    ck_assert_str_eq(site.symbol.data, "");
    ck_assert_int_eq(ttape_reader_get_module(r, TTAPE_NONE, &module), TTAPE_E_NOT_FOUND);
    ck_assert(module.process == TTAPE_NONE && module.end == 0);
    ck_assert_str_eq(module.path.data, "");
    ck_assert_int_eq(ttape_reader_get_process(r, TTAPE_NONE, &process), TTAPE_E_NOT_FOUND);
    ck_assert(process.parent == TTAPE_NONE && process.pid == 0);
    ck_assert_str_eq(process.name.data, "");
    ck_assert_int_eq(ttape_reader_get_stream(r, TTAPE_NONE, &stream), TTAPE_E_NOT_FOUND);
    ck_assert(stream.stream.process == TTAPE_NONE && stream.event_count == 0);
    ck_assert_str_eq(stream.stream.name.data, "");
    ck_assert_int_eq(ttape_reader_get_metadata(r, TTAPE_NONE, &entry), TTAPE_E_NOT_FOUND);
    ck_assert_str_eq(entry.key.data, "");
    ck_assert_int_eq(ttape_reader_get_partition(r, 0, &partition), TTAPE_E_NOT_FOUND);
    ck_assert(partition.model == TTAPE_NONE && partition.event_count == 0);
    ttape_reader_close(r);
    ttape_memory_sink_close(&file);
}
END_TEST

/* What a later version puts there must not be passed over. */
START_TEST(reserved_words_are_zero)
{
    ttape_error err = {0};
    struct ttest_file file = ttest_write(&small);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_memory_sink out = {0};
    ttape_sink sink = ttape_sink_memory(&out);
    ttape_reader_options reading = {.size = sizeof reading, .limits.reserved = {0, 1}};
    ttape_writer_options writing = {.size = sizeof writing, .reserved = {0, 1}};
    ttape_site site = {.module = TTAPE_NONE, .reserved = {1}};
    ttape_module module = {.process = TTAPE_NONE, .reserved = {0, 1}};
    ttape_process process = {.parent = TTAPE_NONE, .reserved = {1}};
    ttape_stream stream = {.reserved = {1}};
    ttape_edge edge = {.reserved = {1}};
    ttape_reader *r;
    ttape_writer *w;
    uint32_t id;
    ck_assert_int_eq(ttape_reader_open(&r, &source, &reading, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_writer_open(&w, &sink, &writing, &err), TTAPE_E_ARGUMENT);
    for (int i = 0; i < 5; i++) {
        TTEST_OK(ttape_writer_open(&w, &sink, NULL, &err));
        ttest_define(w, 1);
        ttape_status status = i == 0   ? ttape_writer_add_site(w, &site, &id, &err)
                              : i == 1 ? ttape_writer_add_module(w, &module, &id, &err)
                              : i == 2 ? ttape_writer_add_process(w, &process, &id, &err)
                              : i == 3 ? ttape_writer_add_stream(w, &stream, &id, &err)
                                       : ttape_writer_resume(w, 0, &edge, &err);
        ck_assert_int_eq(status, TTAPE_E_ARGUMENT);
        ttape_writer_close(w);
    }
    ttape_memory_sink_close(&out);
    free(file.data);
}
END_TEST

START_TEST(statuses_have_names)
{
    ck_assert_str_eq(ttape_status_name(TTAPE_OK), "ok");
    ck_assert_str_eq(ttape_status_name(TTAPE_END), "end");
    for (int i = 1; i <= 30; i++) {
        bool known = i <= 3 || (i >= 10 && i <= 12) || (i >= 20 && i <= 26);
        ck_assert_int_eq(strcmp(ttape_status_name((ttape_status)i), "unknown") != 0, known);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("by path");
    TCase *files = tcase_create("files"), *names = tcase_create("names");
    tcase_add_checked_fixture(files, name_file, remove_file);
    tcase_add_test(files, a_file_appears_when_the_writer_finishes);
    tcase_add_test(files, a_writer_that_does_not_finish_leaves_nothing);
    tcase_add_test(files, a_commit_that_fails_is_a_failure_of_the_writer);
    tcase_add_test(files, a_path_that_is_no_trace);
    tcase_add_test(names, sites_have_names);
    tcase_add_test(names, what_is_not_found_is_empty);
    tcase_add_test(names, reserved_words_are_zero);
    tcase_add_test(names, statuses_have_names);
    suite_add_tcase(suite, files);
    suite_add_tcase(suite, names);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
