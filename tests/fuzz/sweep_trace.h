/* A trace of about 64 KiB with a chunk of every kind and a section of every form, small partitions
 * of several streams, and a source that knows which bytes were read. */
#ifndef TTEST_SWEEP_TRACE_H
#define TTEST_SWEEP_TRACE_H

#include <stdbool.h>

#include <tracetape/reader.h>

#define TTEST_SWEEP_BYTES 65536u

struct ttest_trace {
    uint8_t *data;
    size_t size_bytes;
};

/* At least `size_bytes` bytes, and about that. Ends the program when it cannot be made. */
struct ttest_trace ttest_sweep_trace(size_t size_bytes);
/* Another one, with other events and another trace id. */
struct ttest_trace ttest_sweep_other(size_t size_bytes);

/* A source over a trace that marks what is read in touched[offset], where that is not NULL. */
struct ttest_watch {
    const uint8_t *data;
    size_t size_bytes;
    uint8_t *touched, mark;
};
ttape_source ttest_watch_source(struct ttest_watch *watch);

/* What a partition holds, as one hash: segments, summary, every event with its values. *status is
 * the first failure, whose details go to *err. */
uint64_t ttest_read_partition(ttape_reader *reader, uint32_t partition, ttape_status *status,
                              ttape_error *err);
/* Everything that is known without partitions. */
uint64_t ttest_read_definitions(const ttape_reader *reader);

#endif
