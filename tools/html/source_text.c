/* Text of source files, and which of their lines ran. What is asked for is named by the trace (the
 * library looks), which may be anybody's: no way to a file goes through a link or upwards, and what
 * is no regular file of some size is not read. */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/command/tool.h"
#include "tools/html/page_files.h"

#define SOURCE_BYTES_MOST (8u << 20)
#define PATH_BYTES        4096u

static ttape_status refuse_file(ttape_error *err, ttape_status status, const char *path,
                                const char *what)
{
    *err = (ttape_error){.status = status, .offset = TTAPE_ERROR_NO_OFFSET};
    (void)snprintf(err->message, sizeof err->message, "'%.150s' %s", path, what);
    return status;
}

static bool has_ups(const char *path)
{
    for (const char *at = path; at != NULL; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
            return true;
    }
    return false;
}

/* Part by part, none of which is a link; `from`: a folder that was given, or the root. -1, with
 * errno: ELOOP or ENOTDIR for a link. */
static int open_below(int from, const char *path)
{
    char part[PATH_BYTES];
    int fd = from;
    while (fd >= 0) {
        path += strspn(path, "/");
        size_t length = strcspn(path, "/");
        bool is_last = path[length + strspn(path + length, "/")] == '\0';
        if (length == 0 || length >= sizeof part) {
            close(fd);
            errno = ENOENT;
            return -1;
        }
        memcpy(part, path, length);
        part[length] = '\0';
        path += length;
        int flags =
            O_NOFOLLOW | O_CLOEXEC | (is_last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY);
        int next = openat(fd, part, flags);
        int saved = errno;
        close(fd);
        errno = saved;
        fd = next;
        if (is_last)
            break;
    }
    return fd;
}

static int open_folder(const char *path) { return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC); }

/* Below a folder, by as many parts of its path as possible. */
static int find_below(const char *folder, const char *path)
{
    int fd = -1;
    for (const char *rest = path; rest != NULL && fd < 0; rest = strchr(rest, '/')) {
        rest += strspn(rest, "/");
        int from = has_ups(rest) ? -1 : open_folder(folder);
        fd = from >= 0 ? open_below(from, rest) : -1;
        if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
            break;
    }
    return fd;
}

/* As it was compiled, if that is a full path; else below the folder of --sources, or this one. */
static int open_source(const char *sources, const char *path)
{
    int fd = -1;
    if (sources != NULL)
        fd = find_below(sources, path);
    if (fd < 0 && path[0] == '/' && !has_ups(path))
        fd = open_below(open_folder("/"), path);
    else if (fd < 0 && path[0] != '/' && sources == NULL)
        fd = find_below(".", path);
    return fd;
}

static ttape_status read_all(int fd, const char *path, char **text, size_t *size_bytes,
                             ttape_error *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return refuse_file(err, TTAPE_E_ARGUMENT, path, "is no regular file");
    if (status.st_size > SOURCE_BYTES_MOST)
        return refuse_file(err, TTAPE_E_LIMIT, path, "is too large to be shown: 8 MiB at most");
    size_t room = (size_t)status.st_size, count = 0;
    *text = tool_allocate(room + 1, 1);
    for (ssize_t got = 1; count < room && got > 0; count += (size_t)(got > 0 ? got : 0))
        got = read(fd, *text + count, room - count);
    *size_bytes = count;
    return TTAPE_OK;
}

ttape_status view_read_source(const char *sources, ttape_string file, char **text,
                              size_t *size_bytes, ttape_error *err)
{
    char path[PATH_BYTES + 1];
    if (file.size_bytes > PATH_BYTES || memchr(file.data, '\0', file.size_bytes) != NULL)
        return refuse_file(err, TTAPE_E_ARGUMENT, "the path", "is no path");
    memcpy(path, file.data, file.size_bytes);
    path[file.size_bytes] = '\0';
    errno = ENOENT;
    int fd = open_source(sources, path);
    if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
        return refuse_file(err, TTAPE_E_ARGUMENT, path,
                           "is reached by a link, which is not followed "
                           "(see --sources)");
    if (fd < 0 && path[0] == '/' && has_ups(path))
        return refuse_file(err, TTAPE_E_ARGUMENT, path,
                           "leads upwards, which is not followed (see "
                           "--sources)");
    if (fd < 0)
        return refuse_file(err, TTAPE_E_NOT_FOUND, path, "is not here (see --sources)");
    ttape_status result = read_all(fd, path, text, size_bytes, err);
    close(fd);
    return result;
}
