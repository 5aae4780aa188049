/* Sinks over descriptors and memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tracetape/writer.h>

#include "format/base/fail.h"
#include "writer/output/sync_file.h"

/* A sink's context is a pointer; a descriptor fits in it. */
static int descriptor_of(void *context) { return (int)(intptr_t)context; }

static ttape_status fail_io(ttape_error *err, const char *what)
{
    int code = errno;
    (void)ttp_fail(err, TTAPE_E_IO, "", TTAPE_ERROR_NO_OFFSET, "%s failed: %s", what,
                   strerror(code));
    if (err != NULL)
        err->os_errno = code;
    return TTAPE_E_IO;
}

static ttape_status fd_append(void *context, const void *data, size_t size_bytes, ttape_error *err)
{
    const char *at = data;
    while (size_bytes > 0) {
        ssize_t n = write(descriptor_of(context), at, size_bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_io(err, "writing the trace");
        at += n;
        size_bytes -= (size_t)n;
    }
    return TTAPE_OK;
}

static ttape_status fd_sync(void *context, ttape_error *err)
{
    return ttp_sync_file(descriptor_of(context)) ? TTAPE_OK : fail_io(err, "syncing the trace");
}

ttape_sink ttape_sink_fd(int fd) { return (ttape_sink){(void *)(intptr_t)fd, fd_append, fd_sync}; }

static ttape_status memory_append(void *context, const void *data, size_t size_bytes,
                                  ttape_error *err)
{
    ttape_memory_sink *m = context;
    if (m->capacity_bytes - m->size_bytes < size_bytes) {
        size_t capacity = m->capacity_bytes < 4096 ? 4096 : m->capacity_bytes;
        while (capacity - m->size_bytes < size_bytes)
            capacity += capacity;
        uint8_t *bigger = realloc(m->data, capacity);
        if (bigger == NULL)
            return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET,
                            "out of memory for %zu bytes", capacity);
        m->data = bigger;
        m->capacity_bytes = capacity;
    }
    memcpy(m->data + m->size_bytes, data, size_bytes);
    m->size_bytes += size_bytes;
    return TTAPE_OK;
}

ttape_sink ttape_sink_memory(ttape_memory_sink *memory)
{
    return (ttape_sink){memory, memory_append, NULL};
}

void ttape_memory_sink_close(ttape_memory_sink *memory)
{
    free(memory->data);
    *memory = (ttape_memory_sink){0};
}
