/* Plans in the user's cache: made once, found again, made anew where what is there is none; kept in
 * a folder of our own only. */
#define _GNU_SOURCE /* mkdtemp, setenv */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/asserts.h"
#include "tools/binary/patch_file.h"
#include "tools/binary/plan_file.h"

static char folder[64];

static const char *within(const char *name)
{
    static char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void set_up(void)
{
    strcpy(folder, "/tmp/test_plan_file.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(mkdir(within("cache"), 0700), 0);
    ck_assert_int_eq(mkdir(within("home"), 0700), 0);
    ck_assert_int_eq(setenv("XDG_CACHE_HOME", within("cache"), 1), 0);
    ck_assert_int_eq(setenv("HOME", within("home"), 1), 0);
}

static void remove_all(const char *path)
{
    DIR *opened = opendir(path);
    char below[1024];
    for (struct dirent *entry; opened != NULL && (entry = readdir(opened)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        (void)snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
        remove_all(below);
    }
    if (opened != NULL)
        (void)closedir(opened);
    ck_assert_int_eq(remove(path), 0);
}

static void tear_down(void) { remove_all(folder); }

static struct tool_plan_given give(const char *into)
{
    struct tool_plan_given given;
    struct tool_plan_wish wish = {.path = "/proc/self/exe", .folder = into};
    char path[4096];
    ssize_t length = readlink(wish.path, path, sizeof path - 1);
    ck_assert_int_gt(length, 0);
    path[length] = 0;
    wish.path = path;
    const char *reason = tool_plan_give(&wish, &given);
    ck_assert_msg(reason == NULL, "%s", reason);
    ck_assert(given.head.magic == TTP_PLAN_MAGIC && given.head.row_count > 0);
    return given;
}

static void plan_path(const char *cache, const char *name, char path[512])
{
    (void)snprintf(path, 512, "%s/%s/tracetape/plan-v1/%s", folder, cache, name);
}

START_TEST(made_once)
{
    char path[512], copy[512];
    struct stat status;
    struct tool_plan_given given = give(NULL);
    ck_assert(!given.was_cached);
    plan_path("cache", given.name, path);
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_uint_eq((uint64_t)status.st_size, given.head.total_bytes);
    ck_assert_int_eq(status.st_mode & 0777, 0600);
    plan_path("cache", "", path);
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0700);
    ck_assert(give(folder).was_cached);
    (void)snprintf(copy, sizeof copy, "%s/%s", folder, given.name);
    ck_assert_int_eq(stat(copy, &status), 0);
    ck_assert_uint_eq((uint64_t)status.st_size, given.head.total_bytes);
}
END_TEST

START_TEST(what_is_none_is_made_anew)
{
    char path[512];
    struct tool_plan_given given = give(NULL);
    plan_path("cache", given.name, path);
    ck_assert_int_eq(truncate(path, (off_t)given.head.total_bytes - 8), 0);
    ck_assert(!give(NULL).was_cached);
    ck_assert(give(NULL).was_cached);
    FILE *plan = fopen(path, "r+");
    ck_assert_ptr_nonnull(plan);
    ck_assert_int_eq(fseek(plan, 8, SEEK_SET), 0); /* the version */
    ck_assert_int_ne(fputc(99, plan), EOF);
    ck_assert_int_eq(fclose(plan), 0);
    ck_assert(!give(NULL).was_cached);
    /* a link is not followed, and is replaced */
    ck_assert_int_eq(rename(path, within("elsewhere")), 0);
    ck_assert_int_eq(symlink(within("elsewhere"), path), 0);
    ck_assert(!give(NULL).was_cached);
    ck_assert(give(NULL).was_cached);
}
END_TEST

START_TEST(a_cache_that_is_missing_is_made)
{
    char path[512];
    struct stat status;
    ck_assert_int_eq(setenv("XDG_CACHE_HOME", within("none"), 1), 0);
    struct tool_plan_given given = give(NULL);
    ck_assert(!given.was_cached);
    plan_path("none", given.name, path);
    ck_assert_int_eq(access(path, F_OK), 0);
    ck_assert_int_eq(stat(within("none"), &status), 0);
    ck_assert_int_eq(status.st_mode & 07777, 0700);

    /* where the folder above is missing, too, the one at home is used */
    ck_assert_int_eq(setenv("XDG_CACHE_HOME", within("absent/none"), 1), 0);
    ck_assert(!give(NULL).was_cached);
    ck_assert_int_eq(access(within("absent"), F_OK), -1);
    plan_path("home/.cache", given.name, path);
    ck_assert_int_eq(access(path, F_OK), 0);
    if (geteuid() != 0)
        return;
    /* under sudo it may be in another user's, who would find a folder there that is not his */
    ck_assert_int_eq(mkdir(within("other"), 0755), 0);
    ck_assert_int_eq(chown(within("other"), 12345, 12345), 0);
    ck_assert_int_eq(setenv("XDG_CACHE_HOME", within("other/none"), 1), 0);
    ck_assert(give(NULL).was_cached);
    ck_assert_int_eq(access(within("other/none"), F_OK), -1);
}
END_TEST

START_TEST(others_may_not_look_in)
{
    char path[512];
    struct stat status;
    ck_assert_int_eq(mkdir(within("cache/tracetape"), 0755), 0);
    ck_assert_int_eq(chmod(within("cache/tracetape"), 0755), 0);
    ck_assert_int_eq(tool_plan_cache_open(), -1);
    ck_assert_ptr_null(tool_plan_cache_path());
    struct tool_plan_given given = give(folder); /* a plan all the same */
    ck_assert(!given.was_cached && !give(folder).was_cached);
    ck_assert_int_eq(stat(within(given.name), &status), 0);
    /* a cache that others may write is not used, but the one at home */
    ck_assert_int_eq(chmod(within("cache"), 0777), 0);
    ck_assert(!give(NULL).was_cached);
    plan_path("home/.cache", given.name, path);
    ck_assert_int_eq(stat(path, &status), 0);
}
END_TEST

/* A patch plan is beside the other one. */
static bool give_patch(struct tool_patch_given *given)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    ck_assert_int_gt(length, 0);
    path[length] = 0;
    const char *reason = tool_patch_give(&(struct tool_plan_wish){.path = path}, given);
    ck_assert_msg(reason == NULL, "%s", reason);
    ck_assert_uint_gt(given->head.entry_reasons[TTP_PATCH_CAN], 100);
    return given->was_cached;
}

START_TEST(patches)
{
    char path[512];
    struct tool_patch_given made, found, anew;
    ck_assert(!give(NULL).was_cached && !give_patch(&made));
    ck_assert(give(NULL).was_cached && give_patch(&found));
    ck_assert_uint_eq(made.size_bytes, found.size_bytes);
    ck_assert_mem_eq(made.bytes, found.bytes, made.size_bytes);
    for (uint32_t i = 0; i < found.head.function_count; i++) {
        struct ttp_patch_function function = tool_patch_function_at(&found, i);
        ck_assert_uint_eq(tool_patch_probe_at(&found, &function, 0).kind, TTP_PATCH_ENTRY);
        ck_assert_uint_eq(tool_patch_probe_at(&found, &function, 0).function, i);
    }
    /* a function that has probes of the next one makes it none */
    struct ttp_patch_function first = tool_patch_function_at(&found, 0);
    first.probe_count++;
    plan_path("cache", found.name, path);
    FILE *plan = fopen(path, "r+");
    ck_assert_ptr_nonnull(plan);
    ck_assert_int_eq(fseek(plan, (long)found.head.functions_at, SEEK_SET), 0);
    ck_assert_uint_eq(fwrite(&first, sizeof first, 1, plan), 1);
    ck_assert_int_eq(fclose(plan), 0);
    ck_assert(!give_patch(&anew));
    ck_assert_mem_eq(made.bytes, anew.bytes, made.size_bytes);
    tool_patch_given_close(&made);
    tool_patch_given_close(&found);
    tool_patch_given_close(&anew);
}
END_TEST

START_TEST(refusals)
{
    struct tool_plan_given given;
    struct tool_plan_wish wish = {.path = "/dev/null"};
    ck_assert_ptr_nonnull(tool_plan_give(&wish, &given));
    wish.path = within("missing");
    ck_assert_ptr_nonnull(tool_plan_give(&wish, &given));
    wish.path = "/proc/self/maps";
    ck_assert_ptr_nonnull(tool_plan_give(&wish, &given));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan_file");
    TCase *test_case = tcase_create("plan_file");
    tcase_add_checked_fixture(test_case, set_up, tear_down);
    tcase_add_test(test_case, made_once);
    tcase_add_test(test_case, what_is_none_is_made_anew);
    tcase_add_test(test_case, others_may_not_look_in);
    tcase_add_test(test_case, a_cache_that_is_missing_is_made);
    tcase_add_test(test_case, patches);
    tcase_add_test(test_case, refusals);
    suite_add_tcase(suite, test_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
