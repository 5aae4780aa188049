/* Inputs. Spooling a pipe gives every verb random access, and the same output for a pipe and a
 * file. A file on standard input is read where it is, and what does not begin as a trace is not
 * kept: the reader says what is wrong with its first bytes. */
#define _GNU_SOURCE /* F_OFD_GETLK */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tracetape/rollup.h>

#include "tools/command/memory_limit.h"
#include "tools/command/progress.h"
#include "tools/command/tool.h"
#include "tools/io/input.h"
#include "tools/io/scratch_file.h"

#define DAMAGE_SHOWN 20u

#define COPY_BYTES         (256 * 1024)
#define ROLLUP_MAGIC_BYTES 8
#define HEAD_BYTES         64 /* a file's header, which alone is a trace cut off */

static ttape_status read_spooled(void *context, uint64_t offset, void *buffer, size_t size_bytes,
                                 size_t *got_bytes, ttape_error *err)
{
    const struct tool_input *input = context;
    ssize_t got = tool_read_full(input->fd, buffer, size_bytes, (off_t)offset);
    *got_bytes = got > 0 ? (size_t)got : 0;
    if (got >= 0)
        return TTAPE_OK;
    *err = (ttape_error){.status = TTAPE_E_IO,
                         .os_errno = errno,
                         .offset = offset,
                         .message = "cannot read back a temporary file"};
    return TTAPE_E_IO;
}

/* Where standard input is a regular file, from its beginning on: it is all taken, like that of a
 * pipe. */
static bool take_file(struct tool_input *input)
{
    struct stat info;
    if (fstat(STDIN_FILENO, &info) != 0 || !S_ISREG(info.st_mode) ||
        lseek(STDIN_FILENO, 0, SEEK_CUR) != 0)
        return false;
    input->fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    if (input->fd < 0)
        return false;
    (void)lseek(STDIN_FILENO, 0, SEEK_END);
    input->source = (ttape_source){input, read_spooled, (uint64_t)info.st_size};
    return true;
}

/* What would not open at all, however much came behind it. */
static bool is_no_trace(const char *data, size_t size_bytes)
{
    ttape_error err = {0};
    ttape_reader *reader;
    ttape_source head = ttape_source_memory(data, size_bytes);
    ttape_status status = ttape_reader_open(&reader, &head, NULL, &err);
    ttape_reader_close(reader);
    return status != TTAPE_OK && status != TTAPE_E_MEMORY;
}

/* `head`: what was read of it before. */
static int spool(struct tool_input *input, const void *head, size_t head_bytes)
{
    input->name = "standard input";
    if (head_bytes == 0 && take_file(input))
        return TOOL_OK;
    input->fd = tool_open_unlinked();
    if (input->fd < 0)
        return tool_fail("cannot make a temporary file for standard input: %s", strerror(errno));
    char *buffer = tool_allocate(COPY_BYTES, 1);
    int status = TOOL_OK;
    bool goes_on = tool_write_full(input->fd, head, head_bytes);
    if (!goes_on)
        status = tool_fail("cannot keep standard input: %s", strerror(errno));
    input->source.size_bytes = head_bytes;
    while (goes_on) {
        ssize_t got = tool_read_full(STDIN_FILENO, buffer, COPY_BYTES, -1);
        if (got < 0) {
            status = tool_fail("cannot read standard input: %s", strerror(errno));
            break;
        }
        if (!tool_write_full(input->fd, buffer, (size_t)got)) {
            status = tool_fail("cannot keep standard input: %s", strerror(errno));
            break;
        }
        goes_on =
            got == COPY_BYTES && (input->source.size_bytes > 0 || !is_no_trace(buffer, HEAD_BYTES));
        input->source.size_bytes += (uint64_t)got;
    }
    free(buffer);
    input->source.context = input;
    input->source.read_at = read_spooled;
    return status;
}

int tool_input_open(struct tool_input *input, const char *path)
{
    ttape_error err = {0};
    struct stat is;
    *input = (struct tool_input){.name = path, .fd = -1};
    if (strcmp(path, "-") == 0)
        return spool(input, "", 0);
    if (stat(path, &is) == 0 && S_ISDIR(is.st_mode))
        return tool_fail("'%s' is a folder: 'tracetape recover' makes a trace of what a recorder "
                         "left there, 'tracetape convert' of what another tool did",
                         path);
    if (ttape_source_file_open(&input->source, path, &err) != TTAPE_OK)
        return tool_fail_error(path, &err);
    input->is_open = true;
    return TOOL_OK;
}

/* A recorder that still writes a file holds a lock on it. */
static bool is_written(const char *path)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is = fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    if (fd >= 0)
        close(fd);
    return is;
}

/* The lock is looked for first: who gave it back meanwhile has written the end before. */
ttape_status tool_input_try(struct tool_input *input, const ttape_reader_options *options,
                            ttape_error *err)
{
    ttape_info info;
    bool was_written = input->is_open && is_written(input->name);
    ttape_status status = ttape_reader_open(&input->reader, &input->source, options, err);
    if (status != TTAPE_OK)
        return status;
    ttape_reader_get_info(input->reader, &info);
    input->is_growing = was_written && !info.complete;
    return TTAPE_OK;
}

static int open_reader(struct tool_input *input, uint32_t jobs, uint64_t memory_bytes,
                       uint64_t start_ns)
{
    ttape_error err = {0};
    ttape_reader_options options = {.size = sizeof(options),
                                    .limits = {.memory_bytes = tool_memory_of_reader(memory_bytes)},
                                    .jobs = jobs,
                                    .start_ns = start_ns};
    return tool_input_try(input, &options, &err) == TTAPE_OK ? TOOL_OK
                                                             : tool_fail_error(input->name, &err);
}

int tool_input_begin(struct tool_input *input, uint32_t jobs, uint64_t memory_bytes)
{
    return open_reader(input, jobs, memory_bytes, 0);
}

int tool_input_read(struct tool_input *input, const char *path, uint32_t jobs,
                    uint64_t memory_bytes)
{
    int status = tool_input_open(input, path);
    return status == TOOL_OK ? open_reader(input, jobs, memory_bytes, 0) : status;
}

void tool_input_take(struct tool_input *input, int fd, const char *name)
{
    struct stat info = {0};
    (void)fstat(fd, &info);
    *input = (struct tool_input){.name = name, .fd = fd};
    input->source = (ttape_source){input, read_spooled, (uint64_t)info.st_size};
}

int tool_input_read_back(struct tool_input *input, const struct tool_input *of, int fd,
                         uint32_t jobs, uint64_t memory_bytes)
{
    ttape_info info;
    tool_input_take(input, fd, of->name);
    ttape_reader_get_info(of->reader, &info);
    return open_reader(input, jobs, memory_bytes, info.time_first_ns);
}

void tool_inputs_allow(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return;
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
}

bool tool_input_is_rollup(const struct tool_input *input)
{
    const ttape_source *source = &input->source;
    char head[ROLLUP_MAGIC_BYTES];
    size_t got = 0;
    return source->size_bytes >= sizeof head &&
           source->read_at(source->context, 0, head, sizeof head, &got, NULL) == TTAPE_OK &&
           ttape_rollup_begins(head, got);
}

void tool_input_close(struct tool_input *input)
{
    ttape_reader_close(input->reader);
    if (input->is_open)
        ttape_source_file_close(&input->source);
    if (input->fd >= 0)
        close(input->fd);
    *input = (struct tool_input){.fd = -1};
}

static int say_growing(const struct tool_input *input)
{
    tool_message("'%s' is still written: read up to its last whole partition", input->name);
    return TOOL_OK;
}

int tool_input_check_one(const struct tool_input *input)
{
    return input->is_growing ? say_growing(input) : tool_input_check_end(input);
}

int tool_input_check_end(const struct tool_input *input)
{
    ttape_info info;
    ttape_reader_get_info(input->reader, &info);
    if (info.truncated && input->is_growing)
        return say_growing(input);
    if (info.truncated) {
        tool_message("'%s' is truncated: it ends inside a chunk, complete up to byte %" PRIu64,
                     input->name, info.truncated_at);
        return TOOL_LOSS;
    }
    return TOOL_OK;
}

bool tool_input_go_on(const struct tool_input *input, const ttape_error *err, uint64_t *count,
                      int *status)
{
    if (err->status < TTAPE_E_TRUNCATED) {
        *status = tool_fail_error(input->name, err);
        return false;
    }
    if ((*count)++ < DAMAGE_SHOWN)
        tool_fail_error(input->name, err);
    if (*status == TOOL_OK)
        *status = TOOL_LOSS;
    return true;
}

static int read_input(struct tool_input *input, int status,
                      int (*work)(void *context, const struct tool_input *input), void *context)
{
    if (status == TOOL_OK) {
        status = work(context, input);
        int end = tool_input_check_end(input);
        status = status == TOOL_OK ? end : status;
    }
    tool_input_close(input);
    return status;
}

int tool_input_run(const char *path, uint32_t jobs, uint64_t memory_bytes,
                   int (*work)(void *context, const struct tool_input *input), void *context)
{
    struct tool_input input;
    return read_input(&input, tool_input_read(&input, path, jobs, memory_bytes), work, context);
}

int tool_input_run_begun(const void *head, size_t head_bytes,
                         int (*work)(void *context, const struct tool_input *input), void *context)
{
    struct tool_input input = {.fd = -1};
    int status = spool(&input, head, head_bytes);
    if (status == TOOL_OK)
        status = open_reader(&input, 1, 0, 0);
    return read_input(&input, status, work, context);
}
