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

#include "format/base/fail.h"
#include "writer/recording/recording_internal.h"

#define SUFFIX ".recording"

static ttape_status no_memory(ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
}

ttape_status ttp_directory_fail(ttape_error *err, const char *what, const char *path)
{
    int code = errno;
    ttape_status status = code == EEXIST ? TTAPE_E_EXISTS : TTAPE_E_IO;
    (void)ttp_fail(err, status, "", TTAPE_ERROR_NO_OFFSET, "%s '%s' failed: %s", what, path,
                   strerror(code));
    if (err != NULL)
        err->os_errno = code;
    return status;
}

static ttape_status open_parent(ttape_recording *r, ttape_error *err)
{
    const char *slash = strrchr(r->output, '/');
    char *parent = slash == NULL
                       ? strdup(".")
                       : strndup(r->output, slash == r->output ? 1 : (size_t)(slash - r->output));
    if (parent == NULL)
        return no_memory(err);
    r->parent_fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ttape_status status = r->parent_fd < 0 ? ttp_directory_fail(err, "opening", parent) : TTAPE_OK;
    free(parent);
    return status;
}

const char *ttp_directory_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static ttape_status make(ttape_recording *r, ttape_error *err)
{
    const char *base = ttp_directory_base(r->directory);
    if (mkdirat(r->parent_fd, base, 0700) != 0) {
        int code = errno;
        ttape_status status = ttp_directory_fail(err, "creating", r->directory);
        if (code == EEXIST && err != NULL)
            (void)ttp_fail(err, status, "", TTAPE_ERROR_NO_OFFSET,
                           "'%s' exists: a recorder is at work there, or was killed (see recover)",
                           r->directory);
        return status;
    }
    r->has_directory = true;
    r->directory_fd = openat(r->parent_fd, base, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    return r->directory_fd < 0 ? ttp_directory_fail(err, "opening", r->directory) : TTAPE_OK;
}

ttape_status ttp_directory_make(ttape_recording *r, const char *output, ttape_error *err)
{
    struct stat info;
    r->output = strdup(output);
    if (r->output == NULL || asprintf(&r->directory, "%s" SUFFIX, output) < 0) {
        r->directory = NULL;
        return no_memory(err);
    }
    if (*ttp_directory_base(output) == '\0')
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "'%s' is not the name of a file", output);
    TTP_TRY(open_parent(r, err));
    if (fstatat(r->parent_fd, ttp_directory_base(output), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        (!r->options.replace || !S_ISREG(info.st_mode)))
        return ttp_fail(err, TTAPE_E_EXISTS, "", TTAPE_ERROR_NO_OFFSET, "'%s' exists already",
                        output);
    return make(r, err);
}

int ttp_directory_create(const ttape_recording *r, const char *name, int flags)
{
    return openat(r->directory_fd, name, flags | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

int ttp_directory_create_final(const ttape_recording *r, const char *path)
{
    const char *base = ttp_directory_base(path);
    if (r->options.replace)
        (void)unlinkat(r->parent_fd, base, 0);
    return openat(r->parent_fd, base, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

ttape_status ttp_directory_publish(const ttape_recording *r, const char *name, const char *path,
                                   ttape_error *err)
{
    const char *base = ttp_directory_base(path);
    if (r->options.replace) {
        if (renameat(r->directory_fd, name, r->parent_fd, base) != 0)
            return ttp_directory_fail(err, "renaming to", path);
        return TTAPE_OK;
    }
    if (linkat(r->directory_fd, name, r->parent_fd, base, 0) == 0) {
        (void)unlinkat(r->directory_fd, name, 0);
        return TTAPE_OK;
    }
    struct stat info; /* a file system without links */
    if (errno == EEXIST || fstatat(r->parent_fd, base, &info, AT_SYMLINK_NOFOLLOW) == 0 ||
        renameat(r->directory_fd, name, r->parent_fd, base) != 0)
        return ttp_directory_fail(err, "linking", path);
    return TTAPE_OK;
}

void ttp_directory_sync(const ttape_recording *r)
{
    if (r->parent_fd >= 0)
        (void)fsync(r->parent_fd); /* not every file system can: no failure */
}

void ttp_directory_close(ttape_recording *r, bool remove)
{
    char name[32];
    if (remove && r->directory_fd >= 0) { /* the journal last: without it, nothing is left */
        (void)unlinkat(r->directory_fd, "spill", 0);
        (void)unlinkat(r->directory_fd, "snapshot", 0);
        for (uint32_t i = 0; i < r->next_file; i++) {
            (void)snprintf(name, sizeof name, "trace.%u", i);
            (void)unlinkat(r->directory_fd, name, 0);
        }
        (void)unlinkat(r->directory_fd, "journal", 0);
    }
    if (remove && r->has_directory)
        (void)unlinkat(r->parent_fd, ttp_directory_base(r->directory), AT_REMOVEDIR);
    if (r->directory_fd >= 0)
        (void)close(r->directory_fd);
    if (r->parent_fd >= 0)
        (void)close(r->parent_fd);
}
