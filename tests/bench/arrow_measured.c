/* Events as the Python package's Arrow stream, batch after batch, each dropped when it was looked
 * at:
 *
 *   arrow_measured FILE
 *
 * Prints the number of events, and seconds of this thread's processor time. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "python/native/query.h"

/* Arrow's C interfaces, as its specification has them. */
struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, void *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

static double thread_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    struct query query = {.table = TABLE_EVENTS, .jobs = 1, .memory_bytes = 256u << 20};
    struct source source;
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    ttape_error err = {0};
    uint64_t rows = 0, sum = 0;
    double start = thread_seconds();
    if (argc != 2)
        return 2;
    query.parts = calloc(1, sizeof *query.parts);
    query.part_count = 1;
    query.parts[0].file = file_open(argv[1], query.memory_bytes, 1, &err);
    if (query.parts[0].file == NULL || !query_start(&source, &query) ||
        !arrow_export(&stream, &source)) {
        fprintf(stderr, "arrow_measured: %s\n", err.message);
        return 4;
    }
    while (stream.get_next(&stream, &array) == 0 && array.release != NULL) {
        rows += (uint64_t)array.length;
        sum += *(const uint64_t *)array.children[3]->buffers[1];
        array.release(&array);
    }
    stream.release(&stream);
    printf("%" PRIu64 " %.6f %" PRIu64 "\n", rows, thread_seconds() - start, sum);
    return 0;
}
