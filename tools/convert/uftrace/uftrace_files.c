/* Files of a recording. No memory mapping: a file that shrinks while it is read must not kill us.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/convert/uftrace/uftrace_files.h"
#include "tools/io/scratch_file.h"

#define SMALL_READ_BYTES  (16u * 1024u)
#define SPARE_DESCRIPTORS 4u /* one of them for the symbol file that stays open */

int tool_uft_open(const struct tool_uft_recording *recording, const char *name)
{
    struct stat status;
    if (strchr(name, '/') != NULL) {
        errno = EINVAL;
        return -1;
    }
    int fd = openat(recording->directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int problem = fstat(fd, &status) != 0 ? errno : S_ISREG(status.st_mode) ? 0 : EINVAL;
    if (problem != 0) {
        close(fd);
        errno = problem;
        return -1;
    }
    return fd;
}

void tool_uft_close_lines(const struct tool_uft_recording *recording, struct tool_lines *lines,
                          const char *name)
{
    if (lines->failed_errno != 0) {
        tool_conversion_warn(recording->conversion, "cannot read on in '%s': %s", name,
                             strerror(lines->failed_errno));
    }
    tool_lines_close(lines);
    close(lines->fd);
}

static int open_task(const struct tool_uft_recording *recording, const struct tool_uft_task *task)
{
    char name[32];
    snprintf(name, sizeof(name), "%llu.dat", (unsigned long long)task->tid);
    return tool_uft_open(recording, name);
}

static ssize_t read_at(int fd, void *data, size_t size_bytes, uint64_t offset)
{
    return tool_read_full(fd, data, size_bytes, (off_t)offset);
}

bool tool_uft_files_peek(const struct tool_uft_recording *recording, struct tool_uft_task *task,
                         uint8_t *first, size_t size_bytes, size_t *got_bytes)
{
    struct stat status;
    int fd = open_task(recording, task);
    if (fd < 0)
        return false;
    ssize_t got = fstat(fd, &status) == 0 ? read_at(fd, first, size_bytes, 0) : -1;
    int saved = errno;
    close(fd);
    errno = saved;
    if (got < 0)
        return false;
    task->size_bytes = (uint64_t)status.st_size;
    *got_bytes = (size_t)got;
    return true;
}

/* Leaves descriptors for what is opened beside the records: symbols are read as sites appear. */
static size_t count_buffers(void)
{
    struct rlimit limit;
    int next = dup(STDIN_FILENO);
    if (next < 0)
        return 1;
    close(next);
    size_t used = (size_t)next + SPARE_DESCRIPTORS;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur <= used)
        return 1;
    rlim_t left = limit.rlim_cur - used; /* wider than a size on 32-bit machines */
    return left < TOOL_UFT_BUFFER_COUNT ? (size_t)left : TOOL_UFT_BUFFER_COUNT;
}

void tool_uft_files_open(struct tool_uft_files *files, struct tool_uft_recording *recording)
{
    *files = (struct tool_uft_files){.recording = recording, .count = count_buffers()};
    for (size_t i = 0; i < TOOL_UFT_BUFFER_COUNT; i++) {
        files->buffers[i].fd = -1;
        files->buffers[i].task = TTAPE_NONE;
    }
}

/* Takes a buffer away from its task, which will read on where it was. */
static void detach(struct tool_uft_files *files, struct tool_uft_buffer *buffer)
{
    if (buffer->task == TTAPE_NONE)
        return;
    struct tool_uft_task *task = &files->recording->tasks[buffer->task];
    task->position = buffer->end_offset - (buffer->end - buffer->at);
    task->evicted = true;
    task->buffer = -1;
    close(buffer->fd);
    buffer->fd = -1;
    buffer->task = TTAPE_NONE;
    buffer->used = 0;
}

void tool_uft_files_release(struct tool_uft_files *files, struct tool_uft_task *task)
{
    if (task->buffer >= 0)
        detach(files, &files->buffers[task->buffer]);
}

void tool_uft_files_close(struct tool_uft_files *files)
{
    for (size_t i = 0; i < TOOL_UFT_BUFFER_COUNT; i++) {
        detach(files, &files->buffers[i]);
        free(files->buffers[i].data);
    }
}

/* The buffer that was not used for longest; free ones come first. `busy`: only one with a
 * descriptor. */
static struct tool_uft_buffer *find_oldest(struct tool_uft_files *files, bool busy)
{
    struct tool_uft_buffer *oldest = NULL;
    for (size_t i = 0; i < files->count; i++) {
        struct tool_uft_buffer *buffer = &files->buffers[i];
        if ((!busy || buffer->fd >= 0) && (oldest == NULL || buffer->used < oldest->used))
            oldest = buffer;
    }
    return oldest;
}

static struct tool_uft_buffer *attach_buffer(struct tool_uft_files *files,
                                             struct tool_uft_task *task)
{
    struct tool_uft_buffer *buffer = find_oldest(files, false);
    detach(files, buffer);
    int fd = open_task(files->recording, task);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
        tool_uft_close_last(files->recording->last_file);
        fd = open_task(files->recording, task);
    }
    while (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
        struct tool_uft_buffer *other = find_oldest(files, true);
        if (other == NULL)
            return NULL;
        detach(files, other);
        fd = open_task(files->recording, task);
    }
    if (fd < 0)
        return NULL;
    if (buffer->data == NULL)
        buffer->data = tool_allocate(TOOL_UFT_BUFFER_BYTES, 1);
    buffer->at = buffer->end = 0;
    buffer->fd = fd;
    buffer->end_offset = task->position;
    buffer->task = (uint32_t)(task - files->recording->tasks);
    task->buffer = (int32_t)(buffer - files->buffers);
    return buffer;
}

struct tool_uft_buffer *tool_uft_files_get(struct tool_uft_files *files, struct tool_uft_task *task)
{
    struct tool_uft_buffer *buffer =
        task->buffer >= 0 ? &files->buffers[task->buffer] : attach_buffer(files, task);
    if (buffer != NULL)
        buffer->used = ++files->clock;
    return buffer;
}

bool tool_uft_files_fill(struct tool_uft_files *files, struct tool_uft_buffer *buffer)
{
    size_t left = buffer->end - buffer->at;
    memmove(buffer->data, buffer->data + buffer->at, left);
    buffer->at = 0;
    buffer->end = left;
    size_t room = TOOL_UFT_BUFFER_BYTES - left;
    if (files->recording->tasks[buffer->task].evicted && room > SMALL_READ_BYTES) {
        room = SMALL_READ_BYTES; /* many tasks share few buffers: don't read what will be thrown
                                    away */
    }
    ssize_t got = read_at(buffer->fd, buffer->data + left, room, buffer->end_offset);
    if (got < 0)
        return false;
    buffer->end += (size_t)got;
    buffer->end_offset += (uint64_t)got;
    return true;
}
