#define _GNU_SOURCE /* open file description locks */
#include "tools/io/follow/growing_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/command/progress.h"
#include "tools/command/tool.h"

static bool is_locked(int fd)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* At the end for now. False: for ever. */
static bool wait_for_more(struct tool_growing *file)
{
    struct stat info;
    bool locked = is_locked(file->fd);
    if (file->was_locked && !locked) {
        file->is_abandoned = true; /* unless there is more when it is read once again */
        return true;
    }
    file->was_locked |= locked;
    if (fstat(file->fd, &info) == 0 &&
        (info.st_nlink == 0 || (uint64_t)info.st_size < file->offset)) {
        file->is_abandoned = true;
        return (uint64_t)info.st_size > file->offset;
    }
    file->is_unwanted = !file->pause(file->context);
    return !file->is_unwanted;
}

static ttape_status read_growing(void *context, void *buffer, size_t size_bytes, size_t *got_bytes,
                                 ttape_error *err)
{
    struct tool_growing *file = context;
    *got_bytes = 0;
    for (;;) {
        ssize_t got = file->is_stream ? read(file->fd, buffer, size_bytes)
                                      : pread(file->fd, buffer, size_bytes, (off_t)file->offset);
        if (got < 0 && errno != EINTR) {
            *err = (ttape_error){.status = TTAPE_E_IO,
                                 .os_errno = errno,
                                 .offset = file->offset,
                                 .message = "cannot read on"};
            return TTAPE_E_IO;
        }
        if (got > 0) {
            file->is_abandoned = false;
            file->offset += (uint64_t)got;
            *got_bytes = (size_t)got;
            return TTAPE_OK;
        }
        if (got == 0 && (file->is_stream || file->is_abandoned || !wait_for_more(file)))
            return TTAPE_OK;
    }
}

int tool_growing_open(struct tool_growing *file, const char *path, uint64_t wait_ns)
{
    struct stat info;
    uint64_t start = tool_now_ns();
    file->name = path;
    file->fd = STDIN_FILENO;
    if (strcmp(path, "-") == 0) {
        file->name = "standard input";
        file->is_stream = true;
        return TOOL_OK;
    }
    for (;;) {
        file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (file->fd >= 0 || errno != ENOENT || tool_now_ns() - start >= wait_ns)
            break;
        if (!file->pause(file->context))
            return TOOL_OK;
    }
    if (file->fd < 0)
        return tool_fail("cannot open '%s': %s", path, strerror(errno));
    if (fstat(file->fd, &info) != 0 || !S_ISREG(info.st_mode))
        return tool_fail("'%s' is not a regular file", path);
    /* The recorder may be killed before we have come to the file's end. */
    file->was_locked = is_locked(file->fd);
    return TOOL_OK;
}

ttape_input tool_growing_input(struct tool_growing *file)
{
    return (ttape_input){file, read_growing};
}

void tool_growing_close(struct tool_growing *file)
{
    if (file->fd > STDIN_FILENO)
        (void)close(file->fd);
    file->fd = -1;
}
