/* Sources: a regular file by pread, and memory. Never mmap: a file that shrinks while it is read is
 * then an error that a caller can handle, not a SIGBUS. */
#include "reader/base/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/fail.h"

ttape_status ttp_fail_os(ttape_error *err, int os_errno, const char *what)
{
    char reason[96] = "";
    if (strerror_r(os_errno, reason, sizeof reason) != 0)
        reason[0] = '\0';
    ttape_status status =
        ttp_fail(err, TTAPE_E_IO, "", TTAPE_ERROR_NO_OFFSET, "%s: %s", what, reason);
    if (err != NULL)
        err->os_errno = os_errno;
    return status;
}

void ttp_error_rebase(ttape_error *err, uint64_t base)
{
    if (err != NULL && err->offset != TTAPE_ERROR_NO_OFFSET)
        err->offset += base;
}

ttape_status ttp_source_read(const ttape_source *source, uint64_t offset, void *buffer,
                             size_t size_bytes, ttape_error *err)
{
    size_t got = 0;
    if (offset > source->size_bytes || size_bytes > source->size_bytes - offset)
        return ttp_fail(err, TTAPE_E_TRUNCATED, "F-CHK-10", source->size_bytes,
                        "file ends inside a chunk");
    ttape_status status = source->read_at(source->context, offset, buffer, size_bytes, &got, err);
    if (status != TTAPE_OK)
        return status;
    if (got != size_bytes)
        return ttp_fail(err, TTAPE_E_TRUNCATED, "F-CHK-10", offset + got,
                        "file became shorter while it was read");
    return TTAPE_OK;
}

/* The descriptor travels in the context pointer, so that a file source needs no memory. */
static int descriptor_of(const void *context) { return (int)(intptr_t)context - 1; }

static ttape_status file_read_at(void *context, uint64_t offset, void *buffer, size_t size_bytes,
                                 size_t *got_bytes, ttape_error *err)
{
    uint8_t *to = buffer;
    size_t done = 0;
    while (done < size_bytes) {
        if (offset + done > (uint64_t)INT64_MAX)
            break;
        size_t wanted = size_bytes - done;
        wanted = wanted > SSIZE_MAX ? SSIZE_MAX : wanted;
        ssize_t got = pread(descriptor_of(context), to + done, wanted, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return ttp_fail_os(err, errno, "cannot read the trace");
        if (got == 0)
            break;
        done += (size_t)got;
    }
    *got_bytes = done;
    return TTAPE_OK;
}

uint64_t ttp_source_hole_end(const ttape_source *source, uint64_t offset)
{
    if (source->read_at != file_read_at)
        return offset;
    return ttp_descriptor_hole_end(descriptor_of(source->context), offset, source->size_bytes);
}

ttape_status ttape_source_file_open(ttape_source *out, const char *path, ttape_error *err)
{
    struct stat info;
    if (out == NULL || path == NULL)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET, "no source or no path");
    *out = (ttape_source){0};
    /* Not blocking, because a FIFO without a writer would hang the open itself. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return ttp_fail_os(err, errno, "cannot open the trace");
    if (fstat(fd, &info) != 0) {
        int os_errno = errno;
        (void)close(fd);
        return ttp_fail_os(err, os_errno, "cannot stat the trace");
    }
    if (!S_ISREG(info.st_mode)) {
        (void)close(fd);
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "trace is not a regular file");
    }
    out->context = (void *)(intptr_t)(fd + 1);
    out->read_at = file_read_at;
    out->size_bytes = (uint64_t)info.st_size;
    return TTAPE_OK;
}

void ttape_source_file_close(ttape_source *source)
{
    if (source == NULL || source->read_at != file_read_at)
        return;
    (void)close(descriptor_of(source->context));
    *source = (ttape_source){0};
}

/* ttape_source.size_bytes is a copy that the caller holds; reads are bounded by it in
 * ttp_source_read. */
static ttape_status memory_read_at(void *context, uint64_t offset, void *buffer, size_t size_bytes,
                                   size_t *got_bytes, ttape_error *err)
{
    (void)err;
    memcpy(buffer, (const uint8_t *)context + offset, size_bytes);
    *got_bytes = size_bytes;
    return TTAPE_OK;
}

ttape_source ttape_source_memory(const void *data, size_t size_bytes)
{
    /* The context is only ever read. */
    union {
        const void *in;
        void *out;
    } context = {data};
    return (ttape_source){context.out, memory_read_at, size_bytes};
}

static ttape_status fd_read(void *context, void *buffer, size_t size_bytes, size_t *got_bytes,
                            ttape_error *err)
{
    for (;;) {
        size_t wanted = size_bytes > SSIZE_MAX ? SSIZE_MAX : size_bytes;
        ssize_t got = read(descriptor_of(context), buffer, wanted);
        if (got >= 0) {
            *got_bytes = (size_t)got;
            return TTAPE_OK;
        }
        if (errno != EINTR)
            return ttp_fail_os(err, errno, "cannot read the trace");
    }
}

ttape_input ttape_input_fd(int fd) { return (ttape_input){(void *)(intptr_t)(fd + 1), fd_read}; }
