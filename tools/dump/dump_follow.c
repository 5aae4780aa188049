/* Following a trace that is being written.
 *
 *   file that grows --(waiting at its end)--> forward reader --> partition --> format --> flush
 *
 * The file ends with its footer. A recorder holds a lock on the file; when the lock is gone and the
 * footer is not there, the recorder was killed. A pipe just ends. */
#define _GNU_SOURCE /* open file description locks */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/dump/dump.h"

#define PAUSE_MS 40

/* The end of a file, and why no more of it is waited for. */
struct growing_file {
    struct tool_input input; /* its name */
    int fd;
    uint64_t offset;
    bool is_stream, was_locked, is_abandoned, is_unwanted;
};

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* False: the reader of our output is gone. */
static bool pause_a_little(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    if (poll(&out, 1, PAUSE_MS) <= 0)
        return true;
    return (out.revents & (POLLERR | POLLNVAL)) == 0;
}

static bool is_locked(int fd)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* At the end for now. False: for ever. */
static bool wait_for_more(struct growing_file *file)
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
    file->is_unwanted = !pause_a_little();
    return !file->is_unwanted;
}

static ttape_status read_growing(void *context, void *buffer, size_t size_bytes, size_t *got_bytes,
                                 ttape_error *err)
{
    struct growing_file *file = context;
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

/* Waits until the file is there. */
static int open_growing(struct growing_file *file, const char *path, uint64_t wait_ns)
{
    struct stat info;
    uint64_t start = now_ns();
    *file = (struct growing_file){.input = {.name = path, .fd = -1}, .fd = STDIN_FILENO};
    if (strcmp(path, "-") == 0) {
        file->input.name = "standard input";
        file->is_stream = true;
        return TOOL_OK;
    }
    for (;;) {
        file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (file->fd >= 0 || errno != ENOENT || now_ns() - start >= wait_ns)
            break;
        if (!pause_a_little())
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

static int print_part(struct tool_dump *dump, bool *is_open)
{
    int status = tool_dump_prepare(dump);
    if (status == TOOL_OK && !*is_open) {
        dump->format->open(dump);
        *is_open = true;
    }
    if (status == TOOL_OK) {
        dump->format->print(dump);
        tool_output_flush(&dump->out);
    }
    return status;
}

/* Why it ended, where that is not how it should. */
static int check_end(const struct tool_dump *dump, const struct growing_file *file)
{
    ttape_info info;
    ttape_reader_get_info(dump->reader, &info);
    if (info.complete || file->is_unwanted)
        return TOOL_OK;
    if (file->is_abandoned) {
        tool_message(
            "'%s' is not complete, and nobody is writing it any more: see tracetape recover",
            file->input.name);
    } else {
        tool_message("'%s' ends without its index", file->input.name);
    }
    return TOOL_LOSS;
}

static int print_parts(struct tool_dump *dump, ttape_forward *forward, struct growing_file *file)
{
    ttape_error err = {0};
    bool is_open = false;
    int status = TOOL_OK;
    while (status == TOOL_OK && !(is_open && tool_dump_done(dump))) {
        ttape_status next = ttape_forward_next(forward, &dump->reader, &err);
        if (next == TTAPE_OK) {
            status = print_part(dump, &is_open);
            continue;
        }
        if (next != TTAPE_END) {
            (void)tool_fail_error(file->input.name, &err);
            status = next < TTAPE_E_TRUNCATED ? TOOL_CANNOT : TOOL_LOSS;
            break;
        }
        if (!is_open) /* no events: the header, as of any other file */
            status = print_part(dump, &is_open);
        status = status == TOOL_OK ? check_end(dump, file) : status;
        break;
    }
    if (is_open)
        dump->format->close(dump);
    return status == TOOL_OK ? dump->status : status;
}

int tool_dump_follow(struct tool_dump *dump, const char *path, uint64_t wait_ns)
{
    struct growing_file file;
    ttape_forward *forward;
    ttape_error err = {0};
    int status = open_growing(&file, path, wait_ns);
    dump->input = &file.input;
    if (status == TOOL_OK && file.fd >= 0) {
        ttape_input input = {&file, read_growing};
        ttape_reader_options reader_options = {.size = sizeof(reader_options),
                                               .limits = {.memory_bytes = dump->memory_bytes}};
        if (ttape_forward_open(&forward, &input, &reader_options, &err) == TTAPE_OK) {
            status = print_parts(dump, forward, &file);
            ttape_forward_close(forward);
        } else if (!file.is_unwanted) {
            status = tool_fail_error(file.input.name, &err);
        }
    }
    if (file.fd > STDIN_FILENO)
        close(file.fd);
    dump->input = NULL;
    dump->reader = NULL;
    return status;
}
