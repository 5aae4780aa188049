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

#include "format/container/layout.h"
#include "recorder/arena/arena.h"
#include "recorder/state/function_change.h"
#include "recorder/state/recording_internal.h"
#include "recorder/state/rule_change.h"

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

/* Whether a file in the output's folder begins as a trace does. */
static bool is_trace(const struct ttp_directory *d, const char *name)
{
    uint8_t head[TTP_FILE_MAJOR_AT];
    struct stat info;
    int fd = openat(d->parent_fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    bool is = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
              pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head &&
              memcmp(head, TTP_FILE_MAGIC, sizeof head) == 0;
    if (fd >= 0)
        (void)close(fd);
    return is;
}

/* The name that an older trace gets; NULL: it must stay where it is. */
static char *old_name(const struct ttp_directory *d, const char *name)
{
    char *old = NULL;
    struct stat info;
    if (!d->keeps_old || !is_trace(d, name) || asprintf(&old, "%s.old", name) < 0)
        return NULL;
    if (fstatat(d->parent_fd, old, &info, AT_SYMLINK_NOFOLLOW) != 0 || is_trace(d, old))
        return old;
    free(old);
    return NULL;
}

/* False, with errno as it was: what has the name must keep it. */
static bool put_aside(const struct ttp_directory *d, const char *name)
{
    int code = errno;
    char *old = old_name(d, name);
    bool done = old != NULL && renameat(d->parent_fd, name, d->parent_fd, old) == 0;
    free(old);
    errno = code;
    return done;
}

static ttape_status check_output(const struct ttp_directory *d, ttape_error *err)
{
    struct stat info;
    const char *name = ttp_directory_base(d->output);
    if (fstatat(d->parent_fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        (d->replaces_output && S_ISREG(info.st_mode)))
        return TTAPE_OK;
    char *old = old_name(d, name);
    bool may = old != NULL;
    free(old);
    if (may)
        return TTAPE_OK;
    if (d->keeps_old && is_trace(d, name))
        return ttp_fail_plain(err, TTAPE_E_EXISTS, "'%s' exists already, and '%s.old' is no trace",
                              d->output, d->output);
    return ttp_fail_plain(err, TTAPE_E_EXISTS, "'%s' exists already%s", d->output,
                          d->keeps_old && S_ISREG(info.st_mode) ? ", and is no trace" : "");
}

static ttape_status make_directory(struct ttp_directory *d, ttape_error *err)
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
    d->output = strdup(output);
    if (d->output == NULL || asprintf(&d->path, "%s" SUFFIX, output) < 0) {
        d->path = NULL;
        return ttp_fail_memory(err);
    }
    if (*ttp_directory_base(output) == '\0')
        return ttp_fail_plain(err, TTAPE_E_ARGUMENT, "'%s' is not the name of a file", output);
    TTP_TRY(open_parent(d, err));
    TTP_TRY(check_output(d, err));
    return make_directory(d, err);
}

ttape_status ttp_directory_link(const struct ttp_directory *d, const char *name, const char *target,
                                ttape_error *err)
{
    return target == NULL || symlinkat(target, d->fd, name) == 0
               ? TTAPE_OK
               : ttp_directory_fail(err, "linking plans in", d->path);
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
    else
        (void)put_aside(d, base);
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
    (void)put_aside(d, base);
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
        (void)unlinkat(d->fd, TTP_PLAN_FOLDER, 0);
        (void)unlinkat(d->fd, TTP_CHANGE_NAME, 0); /* whoever sent it does not wait any longer */
        (void)unlinkat(d->fd, TTP_REFUSED_NAME, 0);
        (void)unlinkat(d->fd, TTP_FUNCTIONS_NAME, 0);
        (void)unlinkat(d->fd, TTP_FUNCTIONS_ANSWERED, 0);
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
