/* Plans in the user's cache: made once, found again by what is in a file, made anew where what is
 * there is none; kept in a folder of our own only, and not for ever. */
#define _GNU_SOURCE /* mkdtemp, setenv, st_mtim */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program/binary/patch_file.h"
#include "program/binary/plan_file.h"
#include "tests/asserts.h"

static char folder[64];

static const char *within(const char *name)
{
    static char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void set_up(void)
{
    ck_assert_int_eq(unsetenv("TMPDIR"), 0);
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

static char *own_path(void)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    ck_assert_int_gt(length, 0);
    path[length] = 0;
    return strdup(path);
}

/* Of a file, by whatever folder there is. */
static struct tool_plan_given give_of(const char *path)
{
    struct tool_plan_cache cache;
    struct tool_plan_given given;
    ck_assert(tool_plan_cache_open(&cache));
    const char *reason =
        tool_plan_give(&(struct tool_plan_wish){.path = path, .cache = &cache}, &given);
    ck_assert_msg(reason == NULL, "%s", reason);
    ck_assert(given.head.magic == TTP_PLAN_MAGIC && given.head.row_count > 0);
    tool_plan_given_close(&(struct tool_plan_given){.bytes = given.bytes});
    given.bytes = NULL;
    tool_plan_cache_close(&cache);
    return given;
}

static struct tool_plan_given give(void)
{
    char *path = own_path();
    struct tool_plan_given given = give_of(path);
    free(path);
    return given;
}

static void plan_path(const char *cache, const char *name, char path[512])
{
    (void)snprintf(path, 512, "%s/%s/tracetape/plan-v2/%s", folder, cache, name);
}

static bool is_kept(const char *cache, const struct tool_plan_given *given)
{
    char path[512];
    struct stat status;
    plan_path(cache, given->name, path);
    return stat(path, &status) == 0 && (uint64_t)status.st_size == given->head.total_bytes &&
           (status.st_mode & 0777) == 0600;
}

static void copy_file(const char *from, const char *to)
{
    static char bytes[1 << 16];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    ck_assert(in != NULL && out != NULL);
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, in)) > 0;)
        ck_assert_uint_eq(fwrite(bytes, 1, got, out), got);
    ck_assert_int_eq(fclose(out), 0);
    ck_assert_int_eq(fclose(in), 0);
}

/* In place, and with the time of its data as it was. */
static void change_last_byte(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    uint8_t last;
    ck_assert(fd >= 0 && fstat(fd, &status) == 0);
    ck_assert_int_eq(pread(fd, &last, 1, status.st_size - 1), 1);
    last ^= 0x55;
    ck_assert_int_eq(pwrite(fd, &last, 1, status.st_size - 1), 1);
    const struct timespec times[2] = {status.st_atim, status.st_mtim};
    ck_assert_int_eq(futimens(fd, times), 0);
    ck_assert_int_eq(close(fd), 0);
}

START_TEST(made_once)
{
    char path[512];
    struct stat status;
    struct tool_plan_given given = give();
    ck_assert(!given.was_cached && given.is_kept && is_kept("cache", &given));
    plan_path("cache", "", path);
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0700);
    ck_assert(give().was_cached);
    ck_assert(is_kept("cache", &given));
}
END_TEST

/* What a plan is called by is what is in the file, and nothing else. */
START_TEST(by_what_is_in_it)
{
    char copy[512], other[512], *own = own_path();
    (void)snprintf(copy, sizeof copy, "%s", within("copy"));
    (void)snprintf(other, sizeof other, "%s", within("other"));
    copy_file(own, copy);
    free(own);
    struct tool_plan_given first = give_of(copy);
    ck_assert(!first.was_cached);
    ck_assert_int_eq(chmod(copy, 0640), 0);
    ck_assert(give_of(copy).was_cached);
    copy_file(copy, other);
    struct tool_plan_given same = give_of(other);
    ck_assert(same.was_cached);
    ck_assert_str_eq(first.name, same.name);
    for (int i = 0; i < 3; i++) { /* at once, one after the other: within one step of clocks */
        change_last_byte(other);
        struct tool_plan_given changed = give_of(other);
        ck_assert_msg(changed.was_cached == (i != 0), "change %d", i);
        ck_assert_int_eq(strcmp(changed.name, first.name) == 0, i == 1); /* as it was */
    }
    /* a link to it, under which it is looked up, says the same */
    ck_assert_int_eq(link(copy, within("link")), 0);
    ck_assert_str_eq(give_of(within("link")).name, first.name);
    /* renamed over, it is the other one */
    ck_assert_int_eq(rename(other, copy), 0);
    ck_assert_int_ne(strcmp(give_of(copy).name, first.name), 0);
}
END_TEST

START_TEST(what_is_none_is_made_anew)
{
    char path[512];
    struct tool_plan_given given = give();
    plan_path("cache", given.name, path);
    ck_assert_int_eq(truncate(path, (off_t)given.head.total_bytes - 8), 0);
    ck_assert(!give().was_cached);
    ck_assert(give().was_cached);
    FILE *plan = fopen(path, "r+");
    ck_assert_ptr_nonnull(plan);
    ck_assert_int_eq(fseek(plan, 8, SEEK_SET), 0); /* the version */
    ck_assert_int_ne(fputc(99, plan), EOF);
    ck_assert_int_eq(fclose(plan), 0);
    ck_assert(!give().was_cached);
    /* a link is not followed, and is replaced */
    ck_assert_int_eq(rename(path, within("elsewhere")), 0);
    ck_assert_int_eq(symlink(within("elsewhere"), path), 0);
    ck_assert(!give().was_cached);
    ck_assert(give().was_cached);
    /* nor is a file with another name elsewhere, or one that others may write */
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(link(within("elsewhere"), path), 0);
    ck_assert(!give().was_cached);
    ck_assert_int_eq(chmod(path, 0620), 0);
    ck_assert(!give().was_cached && is_kept("cache", &given));
    /* the plan of another file, under this one's name */
    ck_assert_int_eq(rename(path, within("elsewhere")), 0);
    plan = fopen(within("elsewhere"), "r+");
    ck_assert_ptr_nonnull(plan);
    ck_assert_int_eq(fseek(plan, offsetof(struct ttp_plan_head, content), SEEK_SET), 0);
    ck_assert_int_ne(fputc(~given.head.content[0], plan), EOF);
    ck_assert_int_eq(fclose(plan), 0);
    ck_assert_int_eq(rename(within("elsewhere"), path), 0);
    ck_assert(!give().was_cached);
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(path, 12345, 12345), 0);
        ck_assert(!give().was_cached && is_kept("cache", &given));
    }
}
END_TEST

/* A folder has a secret: elsewhere the same file is called otherwise. */
START_TEST(names_are_secret)
{
    char path[512];
    struct tool_plan_given here = give();
    ck_assert_int_eq(setenv("XDG_CACHE_HOME", within("none"), 1), 0);
    struct tool_plan_given there = give();
    ck_assert_int_ne(strcmp(here.name, there.name), 0);
    /* a secret that is none is made anew, and what has the old name is not found */
    plan_path("none", "key", path);
    ck_assert_int_eq(truncate(path, 8), 0);
    ck_assert(give().was_cached); /* by what was known of the file */
    char *own = own_path();
    copy_file(own, within("copy"));
    free(own);
    ck_assert(!give_of(within("copy")).was_cached);
    struct stat status;
    ck_assert(stat(path, &status) == 0 && status.st_size == TOOL_PLAN_KEY_BYTES);
}
END_TEST

START_TEST(a_cache_that_is_missing_is_made)
{
    struct stat status;
    ck_assert_int_eq(setenv("XDG_CACHE_HOME", within("none"), 1), 0);
    struct tool_plan_given given = give();
    ck_assert(!given.was_cached && is_kept("none", &given));
    ck_assert_int_eq(stat(within("none"), &status), 0);
    ck_assert_int_eq(status.st_mode & 07777, 0700);

    /* where the folder above is missing, too, the one at home is used */
    ck_assert_int_eq(setenv("XDG_CACHE_HOME", within("absent/none"), 1), 0);
    given = give();
    ck_assert(!given.was_cached && is_kept("home/.cache", &given));
    ck_assert_int_eq(access(within("absent"), F_OK), -1);
    if (geteuid() != 0)
        return;
    /* under sudo it may be in another user's, who would find a folder there that is not his */
    ck_assert_int_eq(mkdir(within("other"), 0755), 0);
    ck_assert_int_eq(chown(within("other"), 12345, 12345), 0);
    ck_assert_int_eq(setenv("XDG_CACHE_HOME", within("other/none"), 1), 0);
    ck_assert(give().was_cached);
    ck_assert_int_eq(access(within("other/none"), F_OK), -1);
}
END_TEST

/* What others can look into, or own, is passed over, whichever folder of the way it is. */
START_TEST(others_may_not_look_in)
{
    struct tool_plan_given given;
    char mine[512];
    (void)snprintf(mine, sizeof mine, "%s", within("mine"));
    ck_assert_int_eq(mkdir(within("cache/tracetape"), 0755), 0);
    ck_assert_int_eq(chmod(within("cache/tracetape"), 0755), 0);
    given = give();
    ck_assert(!given.was_cached && is_kept("home/.cache", &given));
    ck_assert_int_eq(rmdir(within("cache/tracetape")), 0);
    ck_assert_int_eq(mkdir(mine, 0700), 0);
    ck_assert_int_eq(symlink(mine, within("cache/tracetape")), 0);
    ck_assert(give().was_cached); /* at home */
    ck_assert_int_eq(rmdir(mine), 0);
    ck_assert_int_eq(unlink(within("cache/tracetape")), 0);
    if (geteuid() == 0) {
        ck_assert_int_eq(mkdir(within("cache/tracetape"), 0700), 0);
        ck_assert_int_eq(chown(within("cache/tracetape"), 12345, 12345), 0);
        ck_assert(give().was_cached);
        ck_assert_int_eq(rmdir(within("cache/tracetape")), 0);
    }
    ck_assert_int_eq(chmod(within("cache"), 0777), 0);
    ck_assert(give().was_cached);
    ck_assert_int_eq(access(within("cache/tracetape"), F_OK), -1);
}
END_TEST

/* Where none of the folders can be had there is one that goes again, and that is said. */
START_TEST(a_passing_cache)
{
    struct tool_plan_cache cache;
    struct tool_plan_given given;
    char *path = own_path(), taken[64];
    (void)snprintf(taken, sizeof taken, "tmp/tracetape-%u", (unsigned)geteuid());
    ck_assert_int_eq(chmod(within("cache"), 0777), 0);
    copy_file("/dev/null", within("home/.cache"));
    ck_assert_int_eq(mkdir(within("tmp"), 0700), 0);
    ck_assert_int_eq(mkdir(within(taken), 0700), 0);
    ck_assert_int_eq(chmod(within(taken), 0777), 0);
    ck_assert_int_eq(setenv("TMPDIR", within("tmp"), 1), 0);
    ck_assert(tool_plan_cache_open(&cache) && cache.is_passing);
    ck_assert_ptr_nonnull(strstr(cache.refused, "/cache' is not yours alone"));
    ck_assert_ptr_eq(strstr(cache.path, within("tmp/tracetape-plans-")), cache.path);
    const char *reason =
        tool_plan_give(&(struct tool_plan_wish){.path = path, .cache = &cache}, &given);
    ck_assert_msg(reason == NULL && given.is_kept, "%s", reason);
    tool_plan_given_close(&given);
    char *was = strdup(cache.path);
    tool_plan_cache_close(&cache);
    ck_assert_int_eq(access(was, F_OK), -1);
    free(was);
    free(path);
}
END_TEST

static size_t count_files(const char *path)
{
    size_t count = 0;
    DIR *opened = opendir(path);
    ck_assert_ptr_nonnull(opened);
    for (struct dirent *entry; (entry = readdir(opened)) != NULL;)
        count += entry->d_name[0] != '.';
    (void)closedir(opened);
    return count;
}

/* What was used longest ago goes; the secret, and what is being written, stay. */
START_TEST(not_for_ever)
{
    static const char bytes[5000];
    struct tool_plan_cache cache;
    char name[32], path[512];
    ck_assert(tool_plan_cache_open(&cache) && tool_plan_cache_key(&cache));
    for (int i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof name, "%02d.plan", i);
        ck_assert(tool_plan_write(&cache, name, bytes, sizeof bytes));
        const struct timespec used[2] = {{1000000 + i, 0}, {1000000 + i, 0}};
        ck_assert_int_eq(utimensat(cache.fd, name, used, 0), 0);
    }
    plan_path("cache", ".x.1", path); /* what a killed recorder was writing */
    copy_file("/dev/null", path);
    const struct timespec old[2] = {{1000, 0}, {1000, 0}};
    ck_assert_int_eq(utimensat(AT_FDCWD, path, old, 0), 0);
    tool_plan_cache_tidy(&cache, &(struct tool_plan_bound){1 << 20, 20});
    ck_assert_uint_eq(count_files(cache.path), 21);
    ck_assert_int_eq(access(path, F_OK), -1);
    tool_plan_cache_tidy(&cache, &(struct tool_plan_bound){1 << 20, 16});
    ck_assert_uint_eq(count_files(cache.path), 12 + 1);
    tool_plan_cache_tidy(&cache, &(struct tool_plan_bound){10 * 8192, 100});
    ck_assert_uint_eq(count_files(cache.path), 7 + 1);
    ck_assert(faccessat(cache.fd, "19.plan", F_OK, 0) == 0);
    ck_assert(faccessat(cache.fd, "12.plan", F_OK, 0) != 0);
    ck_assert(faccessat(cache.fd, "key", F_OK, 0) == 0);
    tool_plan_cache_close(&cache);
}
END_TEST

/* A patch plan is beside the other one. */
static bool give_patch(struct tool_patch_given *given)
{
    struct tool_plan_cache cache;
    char *path = own_path();
    ck_assert(tool_plan_cache_open(&cache));
    const char *reason =
        tool_patch_give(&(struct tool_plan_wish){.path = path, .cache = &cache}, given);
    ck_assert_msg(reason == NULL, "%s", reason);
    ck_assert_uint_gt(given->head.entry_reasons[TTP_PATCH_CAN], 100);
    tool_plan_cache_close(&cache);
    free(path);
    return given->was_cached;
}

START_TEST(patches)
{
    char path[512];
    struct tool_patch_given made, found, anew;
    ck_assert(!give().was_cached && !give_patch(&made));
    ck_assert(give().was_cached && give_patch(&found));
    ck_assert_mem_eq(made.head.content, give().head.content, sizeof made.head.content);
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
    tcase_add_test(test_case, by_what_is_in_it);
    tcase_add_test(test_case, what_is_none_is_made_anew);
    tcase_add_test(test_case, names_are_secret);
    tcase_add_test(test_case, others_may_not_look_in);
    tcase_add_test(test_case, a_cache_that_is_missing_is_made);
    tcase_add_test(test_case, a_passing_cache);
    tcase_add_test(test_case, not_for_ever);
    tcase_add_test(test_case, patches);
    tcase_add_test(test_case, refusals);
    suite_add_tcase(suite, test_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
