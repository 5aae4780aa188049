/* Every golden vector, valid or not, is recovered: what comes out verifies, and its gaps count what
 * the report says; what is valid loses nothing. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/recover.h>

#include "tests/asserts.h"

static uint64_t lost_by_gaps(const ttape_memory_sink *out, const char *name)
{
    ttape_reader *reader;
    ttape_info info;
    ttape_error err = {0};
    uint64_t findings = 0;
    ttape_source source = ttape_source_memory(out->data, out->size_bytes);
    ck_assert_int_eq(ttape_verify(&source, NULL, NULL, NULL, NULL, &findings, &err), TTAPE_OK);
    ck_assert_msg(findings == 0, "%s: the output does not verify", name);
    ck_assert_int_eq(ttape_reader_open(&reader, &source, NULL, &err), TTAPE_OK);
    ttape_reader_get_info(reader, &info);
    ttape_reader_close(reader);
    return info.lost_count;
}

static void try_vector(const char *path, const char *name)
{
    ttape_source source;
    ttape_memory_sink out = {0};
    ttape_sink sink = ttape_sink_memory(&out);
    ttape_recover_report report;
    ttape_error err = {0};
    uint64_t findings = 1;
    ck_assert_int_eq(ttape_source_file_open(&source, path, &err), TTAPE_OK);
    bool is_valid =
        ttape_verify(&source, NULL, NULL, NULL, NULL, &findings, NULL) == TTAPE_OK && findings == 0;
    ttape_status status = ttape_recover_trace(&source, &sink, NULL, &report, &err);
    if (status == TTAPE_OK)
        ck_assert_msg(lost_by_gaps(&out, name) >= report.lost_events, "%s: lost events", name);
    else
        ck_assert_msg(status == TTAPE_E_NOT_TRACE || status == TTAPE_E_VERSION, "%s: %s", name,
                      err.message);
    if (is_valid)
        ck_assert_msg(status == TTAPE_OK && report.lost_events == 0, "%s: valid, and lost", name);
    ttape_memory_sink_close(&out);
    ttape_source_file_close(&source);
}

START_TEST(every_vector)
{
    const char *src = getenv("TTAPE_SRC");
    char folder[512], path[1024];
    unsigned count = 0;
    (void)snprintf(folder, sizeof folder, "%s/spec/vectors", src != NULL ? src : ".");
    DIR *listing = opendir(folder);
    ck_assert_ptr_nonnull(listing);
    for (const struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        const char *end = strrchr(entry->d_name, '.');
        if (end == NULL || strcmp(end, ".ttape") != 0)
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        try_vector(path, entry->d_name);
        count++;
    }
    (void)closedir(listing);
    ck_assert_uint_ge(count, 300);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recover_vectors");
    TCase *tests = tcase_create("tests");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, every_vector);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
