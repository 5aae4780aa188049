/* What sweeps of faults over recordings have found, each by a name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api_runs.h"
#include "fault_calls.h"
#include "tests/asserts.h"
#include "writer/growing.h"

#define FIRST 60u

static char folder[64];

static void set_up(void)
{
    (void)snprintf(folder, sizeof folder, "/tmp/test_recording_findings.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void tear_down(void) { ck_assert_int_eq(rmdir(folder), 0); }

static const struct ttest_api_run *run_of(const char *name)
{
    const struct ttest_api_run *what = ttest_api_runs;
    while (strcmp(what->name, name) != 0)
        what++;
    return what;
}

/* Fails each call of a kind (of the first ones): what is done is done as without that, else the
 * status is this one. */
static void fail_each(const char *name, enum ttest_fault_kind kind, bool for_ever,
                      ttape_status wanted)
{
    const struct ttest_api_run *what = run_of(name);
    uint64_t digest = 0, count = 1;
    char path[256];
    ttest_api_path(folder, "out.ttape", path);
    if (what->begin != NULL)
        what->begin(folder);
    for (uint64_t i = 0; i <= count && i < FIRST; i++) { /* the first time nothing fails */
        struct ttest_run run = {.folder = folder, .allocator = ttp_allocator_or_default(NULL)};
        (void)unlink(path);
        if (what->reset != NULL)
            what->reset(folder);
        ttest_faults_begin(kind, i == 0 ? TTEST_COUNT : TTEST_FAIL, i - 1, for_ever);
        ttape_status status = what->run(&run);
        (void)ttest_faults_end();
        count = i == 0 ? ttest_faults_counted(kind) : count;
        digest = i == 0 ? run.digest : digest;
        ck_assert_msg(status == TTAPE_OK ? run.digest == digest : i != 0 && status == wanted,
                      "call %d: status %d: %s", (int)i, status, run.err.message);
        if (what->check != NULL)
            what->check(&run, status, name);
    }
    if (what->end != NULL)
        what->end(folder);
    (void)unlink(path);
}

/* It counted as somebody else's: what was only in the arena was left out. */
START_TEST(arenas_folder_whose_state_is_not_known)
{
    fail_each("recover a recording", TTEST_STAT, false, TTAPE_E_IO);
}
END_TEST

/* What there was no memory for was told as a failure of the disk. */
START_TEST(name_of_a_file_without_memory)
{
    fail_each("recover a recording", TTEST_ALLOC, false, TTAPE_E_MEMORY);
}
END_TEST

/* The arena was gone, and with it the way to the folder that it had been in: that stayed for ever.
 */
START_TEST(arenas_folder_that_is_removed_later)
{
    fail_each("remove a recording", TTEST_REMOVE, false, TTAPE_E_IO);
}
END_TEST

/* That was told as a disk without room. */
START_TEST(buffers_without_memory) { fail_each("record", TTEST_ALLOC, true, TTAPE_E_MEMORY); }
END_TEST

/* Where there are no links an empty file keeps the name of a snapshot: it stayed. */
START_TEST(snapshot_that_cannot_be_named) { fail_each("record", TTEST_NAME, true, TTAPE_E_IO); }
END_TEST

/* It has its name already, and kept it. */
START_TEST(live_file_of_a_recording_that_does_not_begin)
{
    fail_each("record live", TTEST_ALLOC, false, TTAPE_E_MEMORY);
}
END_TEST

/* Mappings that could not be read to their end were taken for none: the process was not recorded,
 * or its recorder gone. */
START_TEST(control_that_cannot_look)
{
    fail_each("control", TTEST_ALLOC, false, TTAPE_E_MEMORY);
    fail_each("control", TTEST_OPEN, false, TTAPE_E_IO);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recording_findings");
    TCase *cases = tcase_create("findings");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, arenas_folder_whose_state_is_not_known);
    tcase_add_test(cases, name_of_a_file_without_memory);
    tcase_add_test(cases, arenas_folder_that_is_removed_later);
    tcase_add_test(cases, buffers_without_memory);
    tcase_add_test(cases, snapshot_that_cannot_be_named);
    tcase_add_test(cases, live_file_of_a_recording_that_does_not_begin);
    tcase_add_test(cases, control_that_cannot_look);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
