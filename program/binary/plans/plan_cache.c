/* Where plans are kept: the first folder of those that are ours and can be written. */
#define _GNU_SOURCE /* openat and the like, asprintf */
#include "program/binary/plans/plan_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define USER_BYTES  4096u
#define FOLDER      "plan-v2"
#define GONE        " (deleted)" /* behind the path of what was removed */
#define CACHE_BYTES ((uint64_t)1 << 30)
#define CACHE_FILES 8192u

/* Ours, and nobody else can change what is in it. */
static bool is_own(int fd, mode_t forbidden)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           (status.st_mode & forbidden) == 0;
}

static int close_other(int fd, int code)
{
    if (fd >= 0)
        close(fd);
    errno = code;
    return -1;
}

/* Opens a folder in another one, made where it is missing; closes the other one. */
static int step_into(int folder, const char *name, mode_t forbidden)
{
    int fd = -1;
    if (folder < 0)
        return -1;
    if (mkdirat(folder, name, 0700) == 0 || errno == EEXIST)
        fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    (void)close_other(folder, errno);
    return fd >= 0 && !is_own(fd, forbidden) ? close_other(fd, EPERM) : fd;
}

static int open_own(const char *path)
{
    errno = ENOTDIR;
    int fd = path == NULL || path[0] != '/' ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && !is_own(fd, S_IWOTH | S_IWGRP) ? close_other(fd, EPERM) : fd;
}

/* Whether nobody else takes away what we make there: it is ours, or anybody's as /tmp is. */
static bool is_safe_to_make_in(const char *folder)
{
    struct stat status;
    return stat(folder, &status) == 0 && S_ISDIR(status.st_mode) &&
           (status.st_uid == geteuid()
                ? (status.st_mode & (S_IWOTH | S_IWGRP)) == 0 || (status.st_mode & S_ISVTX) != 0
                : status.st_uid == 0 && (status.st_mode & S_ISVTX) != 0);
}

/* A folder that is missing is made. Under sudo the environment may name another user's: there it is
 * not. */
static bool make_own(const char *path)
{
    char *parent = strdup(path);
    for (size_t n = parent != NULL ? strlen(parent) : 0; n > 1 && parent[n - 1] == '/'; n--)
        parent[n - 1] = '\0';
    char *slash = parent != NULL ? strrchr(parent, '/') : NULL;
    if (slash != NULL)
        *(slash == parent ? slash + 1 : slash) = '\0';
    bool may = slash != NULL && is_safe_to_make_in(parent);
    free(parent);
    return may && mkdir(path, 0700) == 0;
}

static int open_named(const char *path)
{
    int fd = open_own(path);
    if (fd < 0 && path != NULL && path[0] == '/' && errno == ENOENT && make_own(path))
        fd = open_own(path);
    return fd;
}

/* The home folder of the effective user: under sudo the environment may name another's. */
static int open_home(char name[USER_BYTES])
{
    char buffer[USER_BYTES];
    struct passwd user, *found = NULL;
    const char *named = getenv("HOME");
    int fd = open_own(named);
    if (fd < 0 && getpwuid_r(geteuid(), &user, buffer, sizeof buffer, &found) == 0 && found != NULL)
        fd = open_own(named = found->pw_dir);
    (void)snprintf(name, USER_BYTES, "%s/.cache", named != NULL ? named : "");
    return fd;
}

static int open_below(int folder)
{
    return step_into(step_into(folder, "tracetape", S_IRWXO | S_IRWXG), FOLDER, S_IRWXO | S_IRWXG);
}

/* The path of an open folder, also of one that was removed; false: it is not known. */
static bool find_path(int fd, char path[USER_BYTES])
{
    char link[64];
    size_t gone = strlen(GONE);
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, USER_BYTES);
    if (length <= 0 || length >= USER_BYTES)
        return false;
    path[length] = '\0';
    if ((size_t)length > gone && strcmp(path + (size_t)length - gone, GONE) == 0)
        path[(size_t)length - gone] = '\0';
    return true;
}

static bool is_there(int fd, const char *path)
{
    struct stat own, there;
    return fstat(fd, &own) == 0 && stat(path, &there) == 0 && own.st_dev == there.st_dev &&
           own.st_ino == there.st_ino;
}

bool tool_plan_cache_remake(const struct tool_plan_cache *cache)
{
    static const char below[] = "/tracetape/" FOLDER;
    char path[USER_BYTES];
    if (cache->fd < 0 || !find_path(cache->fd, path))
        return false;
    if (is_there(cache->fd, path)) /* as another thread has just made it */
        return true;
    size_t size = strlen(path);
    bool is_below = size > strlen(below) && strcmp(path + size - strlen(below), below) == 0;
    if (is_below)
        path[size - strlen(below)] = '\0';
    int fd = open_named(path);
    fd = is_below ? open_below(fd) : fd;
    bool is_made = fd >= 0 && dup3(fd, cache->fd, O_CLOEXEC) >= 0;
    if (fd >= 0)
        close(fd);
    return is_made;
}

/* Takes that folder, where it can be used; `name` is what people call it. */
static bool choose_folder(struct tool_plan_cache *cache, int folder, const char *name)
{
    cache->fd = folder;
    if (folder >= 0 && (tool_plan_can_write(cache) ||
                        (tool_plan_cache_remake(cache) && tool_plan_can_write(cache))))
        return true;
    int code = errno;
    if (folder >= 0)
        close(folder);
    cache->fd = -1;
    if (cache->refused == NULL &&
        asprintf(&cache->refused, "'%s' %s%s", name,
                 code == EPERM ? "is not yours alone" : "cannot be written: ",
                 code == EPERM ? "" : strerror(code)) < 0)
        cache->refused = NULL;
    return false;
}

/* A user without a home folder, of a service or a container, has one of his own among the temporary
 * files: its name tells users apart, and where another has taken it there is none. */
static bool choose_temporary(struct tool_plan_cache *cache, const char *among)
{
    static const char *const made[] = {("/tracetape/" FOLDER), "/tracetape", ""};
    char path[USER_BYTES], empty[USER_BYTES + sizeof("/tracetape/" FOLDER)];
    int length = snprintf(path, sizeof path, "%s/tracetape-%ju", among, (uintmax_t)geteuid());
    if (length < 0 || (size_t)length >= sizeof path)
        return false;
    if (choose_folder(cache, open_below(open_named(path)), path))
        return true;
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) { /* where nothing is in it */
        (void)snprintf(empty, sizeof empty, "%s%s", path, made[i]);
        (void)rmdir(empty);
    }
    return false;
}

/* One that nobody finds again. */
static bool choose_passing(struct tool_plan_cache *cache, const char *among)
{
    char path[USER_BYTES];
    int length = snprintf(path, sizeof path, "%s/tracetape-plans-XXXXXX", among);
    if (length < 0 || (size_t)length >= sizeof path || !is_safe_to_make_in(among) ||
        mkdtemp(path) == NULL)
        return false;
    cache->is_passing =
        choose_folder(cache, open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), path);
    if (!cache->is_passing)
        (void)rmdir(path);
    return cache->is_passing;
}

static bool choose_any(struct tool_plan_cache *cache)
{
    char home[USER_BYTES];
    const char *named = getenv("XDG_CACHE_HOME"), *temporary = getenv("TMPDIR");
    if (named != NULL && named[0] == '/' &&
        choose_folder(cache, open_below(open_named(named)), named))
        return true;
    int folder = open_home(home);
    bool is_named = temporary != NULL && temporary[0] == '/';
    return (folder >= 0 && /* some users have none */
            choose_folder(cache, open_below(step_into(folder, ".cache", S_IWOTH | S_IWGRP)),
                          home)) ||
           choose_temporary(cache, is_named ? temporary : "/tmp") ||
           (is_named && choose_passing(cache, temporary)) || choose_passing(cache, "/tmp") ||
           choose_passing(cache, "/dev/shm") || choose_passing(cache, "/var/tmp");
}

/* Programs find it by its path, whatever links led to it. */
static bool set_path(struct tool_plan_cache *cache)
{
    char path[USER_BYTES];
    cache->path = find_path(cache->fd, path) ? strdup(path) : NULL;
    return cache->path != NULL;
}

bool tool_plan_cache_open(struct tool_plan_cache *cache)
{
    *cache = (struct tool_plan_cache){.fd = -1};
    if (choose_any(cache) && set_path(cache))
        return true;
    if (cache->fd >= 0)
        close(cache->fd);
    cache->fd = -1;
    cache->has_failed = true;
    return false;
}

static void remove_all(const struct tool_plan_cache *cache)
{
    DIR *folder = opendir(cache->path);
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)unlinkat(cache->fd, entry->d_name, 0);
    if (folder != NULL)
        closedir(folder);
    (void)rmdir(cache->path);
}

void tool_plan_cache_close(struct tool_plan_cache *cache)
{
    static const struct tool_plan_bound bound = {CACHE_BYTES, CACHE_FILES};
    if (cache->is_passing)
        remove_all(cache);
    else if (cache->has_written)
        tool_plan_cache_tidy(cache, &bound);
    if (cache->fd >= 0)
        close(cache->fd);
    free(cache->path);
    free(cache->refused);
    *cache = (struct tool_plan_cache){.fd = -1};
}
