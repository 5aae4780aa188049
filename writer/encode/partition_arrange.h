/* From order of arrival to order of streams: the first half of encoding a partition. Pure work on
 * one job, callable from any thread; failures are those of memory. */
#ifndef TTP_WRITER_PARTITION_ARRANGE_H
#define TTP_WRITER_PARTITION_ARRANGE_H

#include "writer/writer_internal.h"

/* What every step of encoding needs at hand. */
struct ttp_encoding {
    const ttape_writer *w;
    struct ttp_job *job;
    ttape_error *err;
};

/* Room for `bytes` in one of the job's arrays. */
static inline ttape_status ttp_encoding_room(struct ttp_encoding *e, struct ttp_growing *array,
                                             size_t bytes)
{
    return ttp_grow(&e->w->allocator, array, 1, bytes, e->err);
}

/* Segments as they are once they are arranged. */
static inline struct ttp_segments ttp_job_segments(const struct ttp_job *job)
{
    return (struct ttp_segments){job->segments.data,          job->start_frames.data,
                                 job->end_frames.data,        job->head.segment_count,
                                 job->head.start_frame_count, job->head.end_frame_count};
}

/* In this order. Segments: fills job->segments, their frames, segment_start and rank. */
ttape_status ttp_arrange_segments(struct ttp_encoding *e);
/* Events: points job->codes and job->delta to them. */
ttape_status ttp_arrange_events(struct ttp_encoding *e);
/* Symbols: renumbers job->codes; *order borrows the job's arrays. */
ttape_status ttp_arrange_symbols(struct ttp_encoding *e, struct ttp_order *order);

/* Gives the facts (struct ttp_fact) event numbers of the partition, ascending. */
void ttp_arrange_facts(const struct ttp_job *job, struct ttp_growing *facts);
/* Spans stand by pending segments; they go out in the order of streams. */
void ttp_arrange_spans(const struct ttp_job *job, struct ttp_switches *to, uint32_t *first_of);
/* The kinds (uint8_t, ttape_unwind_kind) of the order's unwinds and exits across. */
ttape_status ttp_arrange_ends(struct ttp_encoding *e, const struct ttp_order *order,
                              struct ttp_growing *out, uint32_t *count);

#endif
