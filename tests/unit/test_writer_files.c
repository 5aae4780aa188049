/* Sinks over files: a name appears only when the file behind it is complete. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tracetape/writer.h>

#include "tests/asserts.h"

static char folder[64], path[128];

static void set_up(void)
{
    strcpy(folder, "/tmp/test_writer_files.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/trace.ttape", folder);
}

static size_t count_entries(void)
{
    size_t count = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        count += e->d_name[0] != '.';
    (void)closedir(d);
    return count;
}

static void tear_down(void)
{
    (void)unlink(path);
    ck_assert_uint_eq(count_entries(), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}

static void put(ttape_file_sink *file, const char *text)
{
    ttape_error err = {0};
    ttape_sink sink = ttape_file_sink_sink(file);
    ck_assert_int_eq(sink.append(sink.context, text, strlen(text), &err), TTAPE_OK);
    ck_assert_int_eq(sink.sync(sink.context, &err), TTAPE_OK);
}

static void expect_content(const char *text)
{
    char got[64] = "";
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_nonnull(fgets(got, sizeof got, f));
    (void)fclose(f);
    ck_assert_str_eq(got, text);
}

START_TEST(commit_names_the_file)
{
    ttape_file_sink *file;
    ttape_error err = {0};
    ck_assert_int_eq(ttape_file_sink_open(&file, path, false, &err), TTAPE_OK);
    put(file, "one ");
    ck_assert_int_eq(access(path, F_OK), -1);
    ck_assert_int_eq(access(ttape_file_sink_temporary_name(file), F_OK), 0);
    put(file, "two");
    ck_assert_int_eq(ttape_file_sink_commit(file, &err), TTAPE_OK);
    expect_content("one two");
    ck_assert_uint_eq(count_entries(), 1);
    ck_assert_int_eq(ttape_file_sink_commit(file, &err), TTAPE_E_STATE);
    ttape_file_sink_close(file);
    expect_content("one two");
}
END_TEST

START_TEST(close_without_commit_leaves_nothing)
{
    ttape_file_sink *file;
    ttape_error err = {0};
    ck_assert_int_eq(ttape_file_sink_open(&file, path, false, &err), TTAPE_OK);
    put(file, "gone");
    ttape_file_sink_close(file);
    ck_assert_uint_eq(count_entries(), 0);
    ttape_file_sink_close(NULL);
}
END_TEST

START_TEST(an_existing_file_stays)
{
    ttape_file_sink *file, *late;
    ttape_error err = {0};
    ck_assert_int_eq(ttape_file_sink_open(&late, path, false, &err), TTAPE_OK);
    put(late, "late");
    ck_assert_int_eq(ttape_file_sink_open(&file, path, false, &err), TTAPE_OK);
    put(file, "first");
    ck_assert_int_eq(ttape_file_sink_commit(file, &err), TTAPE_OK);
    ttape_file_sink_close(file);
    ck_assert_int_eq(ttape_file_sink_open(&file, path, false, &err), TTAPE_E_EXISTS);
    ck_assert_ptr_null(file);
    ck_assert_int_eq(err.status, TTAPE_E_EXISTS);
    ck_assert_int_eq(ttape_file_sink_commit(late, &err),
                     TTAPE_E_EXISTS); /* it appeared meanwhile */
    ttape_file_sink_close(late);
    expect_content("first");
    ck_assert_uint_eq(count_entries(), 1);
}
END_TEST

START_TEST(replace_is_all_or_nothing)
{
    ttape_file_sink *file;
    ttape_error err = {0};
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(ttape_file_sink_open(&file, path, true, &err), TTAPE_OK);
        put(file, i == 0 ? "old" : "new");
        ck_assert_int_eq(ttape_file_sink_commit(file, &err), TTAPE_OK);
        ttape_file_sink_close(file);
    }
    expect_content("new");
    ck_assert_int_eq(ttape_file_sink_open(&file, path, true, &err), TTAPE_OK);
    put(file, "never");
    ttape_file_sink_close(file);
    expect_content("new");
    ck_assert_uint_eq(count_entries(), 1);
    ck_assert_int_eq(ttape_file_sink_open(&file, folder, true, &err), TTAPE_E_EXISTS);
}
END_TEST

START_TEST(no_such_folder)
{
    char far[160];
    ttape_file_sink *file;
    ttape_error err = {0};
    (void)snprintf(far, sizeof far, "%s/none/trace.ttape", folder);
    ck_assert_int_eq(ttape_file_sink_open(&file, far, false, &err), TTAPE_E_IO);
    ck_assert_ptr_null(file);
    ck_assert_int_ne(err.os_errno, 0);
}
END_TEST

START_TEST(a_broken_pipe_is_an_error)
{
    int ends[2];
    ttape_error err = {0};
    (void)signal(SIGPIPE, SIG_IGN);
    ck_assert_int_eq(pipe(ends), 0);
    ttape_sink sink = ttape_sink_fd(ends[1]);
    ck_assert_int_eq(sink.append(sink.context, "x", 1, &err), TTAPE_OK);
    ck_assert_int_eq(sink.sync(sink.context, &err), TTAPE_OK);
    (void)close(ends[0]);
    ck_assert_int_eq(sink.append(sink.context, "x", 1, &err), TTAPE_E_IO);
    ck_assert_int_eq(err.os_errno, 32);
    (void)close(ends[1]);
    ck_assert_int_eq(sink.append(sink.context, "x", 1, NULL), TTAPE_E_IO);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("writer_files");
    TCase *cases = tcase_create("files");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, commit_names_the_file);
    tcase_add_test(cases, close_without_commit_leaves_nothing);
    tcase_add_test(cases, an_existing_file_stays);
    tcase_add_test(cases, replace_is_all_or_nothing);
    tcase_add_test(cases, no_such_folder);
    tcase_add_test(cases, a_broken_pipe_is_an_error);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
