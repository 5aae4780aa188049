/* The folder that plans are kept in. */
#define _GNU_SOURCE /* openat and the like */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/binary/plan_file.h"

#define USER_BYTES 4096u

/* Ours, and nobody else can change what is in it. */
static bool is_own(int fd, mode_t forbidden)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           (status.st_mode & forbidden) == 0;
}

/* Opens a folder in another one, made where it is missing; closes the other one. */
static int step(int folder, const char *name, mode_t forbidden)
{
    int fd = -1;
    if (folder < 0)
        return -1;
    if (mkdirat(folder, name, 0700) == 0 || errno == EEXIST)
        fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    close(folder);
    if (fd >= 0 && !is_own(fd, forbidden)) {
        close(fd);
        return -1;
    }
    return fd;
}

static int open_own(const char *path)
{
    int fd = path == NULL || path[0] != '/' ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && !is_own(fd, S_IWOTH | S_IWGRP)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* A folder that is missing is made where its parent is ours, or anybody's but so that nobody takes
 * away what is ours (/tmp). Under sudo it is neither: the environment names another's. */
static bool make_own(const char *path)
{
    struct stat status;
    char *parent = strdup(path);
    for (size_t n = parent != NULL ? strlen(parent) : 0; n > 1 && parent[n - 1] == '/'; n--)
        parent[n - 1] = '\0';
    char *slash = parent != NULL ? strrchr(parent, '/') : NULL;
    if (slash != NULL)
        *(slash == parent ? slash + 1 : slash) = '\0';
    bool may = slash != NULL && stat(parent, &status) == 0 &&
               (status.st_uid == geteuid() || (status.st_uid == 0 && status.st_mode & S_ISVTX));
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
static int open_home(void)
{
    char buffer[USER_BYTES];
    struct passwd user, *found = NULL;
    int fd = open_own(getenv("HOME"));
    if (fd < 0 && getpwuid_r(geteuid(), &user, buffer, sizeof buffer, &found) == 0 && found != NULL)
        fd = open_own(found->pw_dir);
    return fd;
}

/* A user without a home folder, of a service or a container, has one of his own among the temporary
 * files: its name tells users apart, and where another has taken it there is none. */
static int open_temporary(void)
{
    char path[USER_BYTES];
    const char *named = getenv("TMPDIR");
    int length = snprintf(path, sizeof path, "%s/tracetape-%ju",
                          named != NULL && named[0] == '/' ? named : "/tmp", (uintmax_t)geteuid());
    return length > 0 && (size_t)length < sizeof path ? open_named(path) : -1;
}

static int open_below(int folder)
{
    return step(step(folder, "tracetape", S_IRWXO | S_IRWXG), "plan-v1", S_IRWXO | S_IRWXG);
}

int tool_plan_cache_open(void)
{
    int fd = open_named(getenv("XDG_CACHE_HOME"));
    if (fd >= 0)
        return open_below(fd);
    fd = open_below(step(open_home(), ".cache", S_IWOTH | S_IWGRP));
    return fd >= 0 ? fd : open_below(open_temporary());
}

char *tool_plan_cache_path(void)
{
    char link[64], path[USER_BYTES];
    int fd = tool_plan_cache_open();
    if (fd < 0)
        return NULL;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path);
    close(fd);
    return length > 0 && (size_t)length < sizeof path ? strndup(path, (size_t)length) : NULL;
}
