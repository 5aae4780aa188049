/* Where a recording's files lie: a directory of our own beside the output. Both it and the output's
 * directory are held open from the start, and names are looked up in them and nowhere else:
 * whatever is moved or replaced by a symbolic link meanwhile, nothing is written outside of them.
 */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer/recording/recording_internal.h"

#define SUFFIX ".recording"

ttape_status ttp_directory_fail(ttape_error *err, const char *what, const char *path)
{
    int code = errno;
    ttape_status status = code == EEXIST ? TTAPE_E_EXISTS : TTAPE_E_IO;
    (void)ttp_fail_plain(err, status, "%s '%s' failed: %s", what, path, strerror(code));
    if (err != NULL)
        err->os_errno = code;
    return status;
}

static ttape_status open_parent(struct ttp_directory *d, ttape_error *err)
{
    const char *slash = strrchr(d->output, '/');
    char *parent = slash == NULL
                       ? strdup(".")
                       : strndup(d->output, slash == d->output ? 1 : (size_t)(slash - d->output));
    if (parent == NULL)
        return ttp_fail_memory(err);
    d->parent_fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ttape_status status = d->parent_fd < 0 ? ttp_directory_fail(err, "opening", parent) : TTAPE_OK;
    free(parent);
    return status;
}

const char *ttp_directory_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static ttape_status make(struct ttp_directory *d, ttape_error *err)
{
    const char *base = ttp_directory_base(d->path);
    if (mkdirat(d->parent_fd, base, 0700) != 0) {
        int code = errno;
        ttape_status status = ttp_directory_fail(err, "creating", d->path);
        if (code == EEXIST && err != NULL)
            (void)ttp_fail_plain(
                err, status,
                "'%s' exists: a recorder is at work there, or was killed (see recover)", d->path);
        return status;
    }
    d->is_made = true;
    d->fd = openat(d->parent_fd, base, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    return d->fd < 0 ? ttp_directory_fail(err, "opening", d->path) : TTAPE_OK;
}

ttape_status ttp_directory_make(struct ttp_directory *d, const char *output, ttape_error *err)
{
    struct stat info;
    d->output = strdup(output);
    if (d->output == NULL || asprintf(&d->path, "%s" SUFFIX, output) < 0) {
        d->path = NULL;
        return ttp_fail_memory(err);
    }
    if (*ttp_directory_base(output) == '\0')
        return ttp_fail_plain(err, TTAPE_E_ARGUMENT, "'%s' is not the name of a file", output);
    TTP_TRY(open_parent(d, err));
    if (fstatat(d->parent_fd, ttp_directory_base(output), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        (!d->replaces_output || !S_ISREG(info.st_mode)))
        return ttp_fail_plain(err, TTAPE_E_EXISTS, "'%s' exists already", output);
    return make(d, err);
}

int ttp_directory_create(const struct ttp_directory *d, const char *name, int flags)
{
    return openat(d->fd, name, flags | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

int ttp_directory_create_final(const struct ttp_directory *d, const char *path)
{
    const char *base = ttp_directory_base(path);
    if (d->replaces_output)
        (void)unlinkat(d->parent_fd, base, 0);
    return openat(d->parent_fd, base, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

ttape_status ttp_directory_publish(const struct ttp_directory *d, const char *name,
                                   const char *path, ttape_error *err)
{
    const char *base = ttp_directory_base(path);
    if (d->replaces_output) {
        if (renameat(d->fd, name, d->parent_fd, base) != 0)
            return ttp_directory_fail(err, "renaming to", path);
        return TTAPE_OK;
    }
    if (linkat(d->fd, name, d->parent_fd, base, 0) == 0) {
        (void)unlinkat(d->fd, name, 0);
        return TTAPE_OK;
    }
    struct stat info; /* a file system without links */
    if (errno == EEXIST || fstatat(d->parent_fd, base, &info, AT_SYMLINK_NOFOLLOW) == 0 ||
        renameat(d->fd, name, d->parent_fd, base) != 0)
        return ttp_directory_fail(err, "linking", path);
    return TTAPE_OK;
}

void ttp_directory_sync(const struct ttp_directory *d)
{
    if (d->parent_fd >= 0)
        (void)fsync(d->parent_fd); /* not every file system can: no failure */
}

void ttp_directory_close(struct ttp_directory *d, bool remove, uint32_t file_count)
{
    char name[32];
    if (remove && d->fd >= 0) { /* the journal last: without it, nothing is left */
        (void)unlinkat(d->fd, "spill", 0);
        (void)unlinkat(d->fd, "snapshot", 0);
        for (uint32_t i = 0; i < file_count; i++) {
            (void)snprintf(name, sizeof name, "trace.%u", i);
            (void)unlinkat(d->fd, name, 0);
        }
        (void)unlinkat(d->fd, "journal", 0);
    }
    if (remove && d->is_made)
        (void)unlinkat(d->parent_fd, ttp_directory_base(d->path), AT_REMOVEDIR);
    if (d->fd >= 0)
        (void)close(d->fd);
    if (d->parent_fd >= 0)
        (void)close(d->parent_fd);
    free(d->output);
    free(d->path);
}
