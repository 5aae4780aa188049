/* A file that appears under its name only when it is complete.
 *
 *   open    create NAME.XXXXXX.tmp exclusively, beside NAME
 *   commit  sync, then link (must not exist) or rename (may replace), then sync the directory
 *   close   without commit: remove the temporary file */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tracetape/writer.h>

#include "format/base/fail.h"
#include "writer/output/sync_file.h"

#define NAME_TRIES 100

struct ttape_file_sink {
    int fd;
    bool replace;
    char *path, *temporary;
};

static ttape_status fail_file(ttape_error *err, const char *what, const char *path)
{
    int code = errno;
    ttape_status status = code == EEXIST ? TTAPE_E_EXISTS : TTAPE_E_IO;
    (void)ttp_fail(err, status, "", TTAPE_ERROR_NO_OFFSET, "%s '%s' failed: %s", what, path,
                   strerror(code));
    if (err != NULL)
        err->os_errno = code;
    return status;
}

static ttape_status create_temporary(ttape_file_sink *file, ttape_error *err)
{
    size_t bytes = strlen(file->path) + 32;
    file->temporary = malloc(bytes);
    if (file->temporary == NULL)
        return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
    for (unsigned i = 0; i < NAME_TRIES; i++) {
        (void)snprintf(file->temporary, bytes, "%s.%ld-%u.tmp", file->path, (long)getpid(), i);
        file->fd =
            open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (file->fd >= 0)
            return TTAPE_OK;
        if (errno != EEXIST)
            break;
    }
    ttape_status status = fail_file(err, "creating", file->path);
    free(file->temporary);
    file->temporary = NULL;
    return status;
}

ttape_status ttape_file_sink_open(ttape_file_sink **out, const char *path, bool replace,
                                  ttape_error *err)
{
    struct stat info;
    *out = NULL;
    if (lstat(path, &info) == 0) {
        if (!replace)
            return ttp_fail(err, TTAPE_E_EXISTS, "", TTAPE_ERROR_NO_OFFSET, "'%s' exists already",
                            path);
        if (!S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode))
            return ttp_fail(err, TTAPE_E_EXISTS, "", TTAPE_ERROR_NO_OFFSET,
                            "'%s' is not a regular file", path);
    }
    ttape_file_sink *file = calloc(1, sizeof *file);
    if (file == NULL || (file->path = strdup(path)) == NULL) {
        free(file);
        return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
    }
    file->fd = -1;
    file->replace = replace;
    ttape_status status = create_temporary(file, err);
    if (status != TTAPE_OK) {
        ttape_file_sink_close(file);
        return status;
    }
    *out = file;
    return TTAPE_OK;
}

ttape_sink ttape_file_sink_sink(ttape_file_sink *file) { return ttape_sink_fd(file->fd); }

const char *ttape_file_sink_temporary_name(const ttape_file_sink *file) { return file->temporary; }

/* The new name must survive a power cut too. Not every file system can sync a directory: that is no
 * failure. */
static void sync_directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *directory =
        slash == NULL ? strdup(".") : strndup(path, slash == path ? 1 : (size_t)(slash - path));
    int fd = directory == NULL ? -1 : open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        (void)close(fd);
    }
    free(directory);
}

/* link does what rename cannot: it fails where the name has appeared meanwhile. File systems
 * without links rename. */
static int publish(const ttape_file_sink *file)
{
    if (file->replace)
        return rename(file->temporary, file->path);
    if (link(file->temporary, file->path) == 0)
        return unlink(file->temporary);
    if (errno == EEXIST)
        return -1;
    struct stat info;
    if (lstat(file->path, &info) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(file->temporary, file->path);
}

ttape_status ttape_file_sink_commit(ttape_file_sink *file, ttape_error *err)
{
    if (file->fd < 0)
        return ttp_fail(err, TTAPE_E_STATE, "", TTAPE_ERROR_NO_OFFSET, "'%s' is committed already",
                        file->path);
    if (!ttp_sync_file(file->fd))
        return fail_file(err, "syncing", file->path);
    int fd = file->fd;
    file->fd = -1;
    if (close(fd) != 0 && errno != EINTR)
        return fail_file(err, "closing", file->path);
    if (publish(file) != 0)
        return fail_file(err, "naming", file->path);
    free(file->temporary);
    file->temporary = NULL;
    sync_directory(file->path);
    return TTAPE_OK;
}

void ttape_file_sink_close(ttape_file_sink *file)
{
    if (file == NULL)
        return;
    if (file->fd >= 0)
        (void)close(file->fd);
    if (file->temporary != NULL)
        (void)unlink(file->temporary);
    free(file->temporary);
    free(file->path);
    free(file);
}
