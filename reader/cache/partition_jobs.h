/* Work over many partitions on several threads: each is read apart from the reader's cache, handed
 * out, and dropped.
 *
 * What the work makes of partitions must not depend on their order: then results are the same for
 * any number of threads. */
#ifndef TTP_READER_PARTITION_JOBS_H
#define TTP_READER_PARTITION_JOBS_H

#include "reader/partition/partition_reader.h"
#include "reader/reader_internal.h"

#define TTP_PARTITION_WORKERS_MOST 64u

/* What is wanted of a partition whose light sections were read. */
enum ttp_partition_wish {
    TTP_WISH_NOTHING,
    TTP_WISH_EDGES, /* as SUMMARY, without rows */
    TTP_WISH_SUMMARY,
    TTP_WISH_EVENTS
};

/* Calls come from the thread of worker `worker` (0 ..); `r` is the worker's reader: good for its
 * memory and definitions. A failure of `summary` or `events` fails all. */
struct ttp_partition_work {
    void *context;
    /* Set it when `wish` may return EVENTS. Otherwise such partitions are decoded on the calling
     * thread. */
    bool decodes;
    /* With summaries, max_self_ticks and CPU times are wanted, where the partition has them. */
    bool own_times, cpu_times;
    enum ttp_partition_wish (*wish)(void *context, uint32_t worker, struct ttp_trace_decoder *d,
                                    const struct ttp_loaded *p);
    /* cpu->rows is NULL where they are not wanted or not there. */
    ttape_status (*summary)(void *context, uint32_t worker, struct ttp_trace_decoder *d,
                            const struct ttp_loaded *p, const struct ttp_measure *rows,
                            uint32_t row_count, const struct ttp_cpu_times *cpu, ttape_error *err);
    /* The partition is at stage EVENTS. */
    ttape_status (*events)(void *context, uint32_t worker, struct ttp_trace_decoder *d,
                           const struct ttp_loaded *p, ttape_error *err);
    /* In the calling thread, at the end: a partition cannot be read (a status of the bytes).
     * TTAPE_OK: leave it out. NULL: fail. */
    ttape_status (*damaged)(void *context, uint32_t partition, const ttape_error *problem);
};

/* Workers for so many jobs over so many partitions. */
uint32_t ttp_partition_workers(uint32_t jobs, uint32_t partition_count);

/* Does the work for each partition. On failure (of the work, of memory, of I/O) some of it is
 * done. */
ttape_status ttp_partition_work(struct ttp_trace_decoder *d, const uint32_t *partitions,
                                uint32_t partition_count, uint32_t jobs,
                                const struct ttp_partition_work *work, ttape_error *err);

#endif
