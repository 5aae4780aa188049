/* Removing the folder of a recording: all of it or nothing. What recorders leave in it is known;
 * where there is anything else, nothing is touched, and the journal goes last, so that recovery
 * still understands what a failure on the way leaves. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/fail.h"
#include "recorder/recover/recover_files.h"
#include "recorder/state/rule_change.h"

static bool is_dots(const char *name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

/* What control was killed over, or waited for in vain; "change.NUMBER" is half of one. */
static bool is_change(const char *name)
{
    size_t size = strlen(TTP_CHANGE_NAME);
    return strncmp(name, TTP_CHANGE_NAME, size) == 0 && (name[size] == '\0' || name[size] == '.');
}

static bool is_file_of_ours(const char *name)
{
    uint32_t number;
    return strcmp(name, "journal") == 0 || strcmp(name, "spill") == 0 ||
           strcmp(name, "snapshot") == 0 || is_change(name) || ttp_recovered_number(name, &number);
}

/* In the folder, or in shared memory: then it is what a move that was killed has left of a copy. */
static bool is_arena_of_ours(const struct ttp_recovered_arena *arena, const char *name)
{
    return (arena->is_in_folder || arena->memory != NULL) && arena->directory != NULL &&
           arena->why_not[0] == '\0' && strcmp(strrchr(arena->directory, '/') + 1, name) == 0;
}

static ttape_status check_name(const struct ttp_recovered_files *files, int fd, const char *name,
                               ttape_error *err)
{
    struct stat info;
    if (is_dots(name))
        return TTAPE_OK;
    if (fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return ttp_recovered_fail(err, "reading the state of", name);
    bool is_ours = S_ISREG(info.st_mode) ? is_file_of_ours(name)
                   : S_ISLNK(info.st_mode)
                       ? strcmp(name, TTP_PLAN_FOLDER) == 0
                       : S_ISDIR(info.st_mode) && is_arena_of_ours(&files->arena, name);
    if (is_ours)
        return TTAPE_OK;
    return ttp_fail(err, TTAPE_E_STATE, "", TTAPE_ERROR_NO_OFFSET,
                    "nothing was removed: no recorder made '%s' in '%s'", name, files->directory);
}

static ttape_status remove_file(int fd, const char *name, ttape_error *err)
{
    return unlinkat(fd, name, 0) != 0 && errno != ENOENT ? ttp_recovered_fail(err, "removing", name)
                                                         : TTAPE_OK;
}

static ttape_status remove_numbered(const struct ttp_recovered_files *files, int fd,
                                    const char *name, ttape_error *err)
{
    uint32_t number;
    (void)files;
    return ttp_recovered_number(name, &number) || is_change(name) ? remove_file(fd, name, err)
                                                                  : TTAPE_OK;
}

static ttape_status each_name(const struct ttp_recovered_files *files, int fd,
                              ttape_status (*take)(const struct ttp_recovered_files *, int fd,
                                                   const char *name, ttape_error *err),
                              ttape_error *err)
{
    DIR *listing = opendir(files->directory);
    const struct dirent *entry;
    ttape_status status = TTAPE_OK;
    if (listing == NULL)
        return ttp_recovered_fail(err, "opening", files->directory);
    while (status == TTAPE_OK && (errno = 0, entry = readdir(listing)) != NULL)
        status = take(files, fd, entry->d_name, err);
    if (status == TTAPE_OK && errno != 0)
        status = ttp_recovered_fail(err, "listing", files->directory);
    (void)closedir(listing);
    return status;
}

/* An arena that is in shared memory is whole: nobody needs the copy. */
static ttape_status remove_half_copy(const struct ttp_recovered_files *files, int fd,
                                     ttape_error *err)
{
    const struct ttp_recovered_arena *arena = &files->arena;
    if (arena->is_in_folder || arena->memory == NULL)
        return TTAPE_OK;
    const char *name = strrchr(arena->directory, '/') + 1;
    int copy = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (copy < 0)
        return errno == ENOENT ? TTAPE_OK : ttp_recovered_fail(err, "opening", name);
    ttape_status status = remove_file(copy, "arena", err);
    (void)close(copy);
    if (status == TTAPE_OK && unlinkat(fd, name, AT_REMOVEDIR) != 0)
        status = ttp_recovered_fail(err, "removing", name);
    return status;
}

/* First what recovery tells as a loss where it is gone. */
static ttape_status remove_all(const struct ttp_recovered_files *files, int fd, ttape_error *err)
{
    TTP_TRY(each_name(files, fd, check_name, err));
    if (faccessat(fd, "..", W_OK | X_OK, 0) != 0)
        return ttp_recovered_fail(err, "removing", files->directory);
    TTP_TRY(remove_half_copy(files, fd, err));
    TTP_TRY(remove_file(fd, "spill", err));
    TTP_TRY(ttp_recovered_arena_remove(&files->arena, err));
    TTP_TRY(remove_file(fd, "snapshot", err));
    TTP_TRY(remove_file(fd, TTP_PLAN_FOLDER, err)); /* a link */
    TTP_TRY(each_name(files, fd, remove_numbered, err));
    TTP_TRY(remove_file(fd, "journal", err));
    return rmdir(files->directory) != 0 ? ttp_recovered_fail(err, "removing", files->directory)
                                        : TTAPE_OK;
}

ttape_status ttape_recover_remove(const char *directory, ttape_error *err)
{
    struct ttp_recovered_files files;
    char *path = realpath(directory, NULL); /* "." cannot be removed by that name */
    if (path == NULL)
        return ttp_recovered_fail(err, "opening", directory);
    ttape_status status = ttp_recovered_start(&files, path, err);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (status == TTAPE_OK && fd < 0)
        status = ttp_recovered_fail(err, "opening", path);
    if (status == TTAPE_OK)
        status =
            ttp_recovered_arena_open(&files.arena, files.arena_path, path, files.trace_id, err);
    if (status == TTAPE_OK)
        status = remove_all(&files, fd, err);
    if (fd >= 0)
        (void)close(fd);
    ttp_recovered_close(&files);
    free(path);
    return status;
}
