/* What a filter leaves, on its way into a writer: events of threads, with their values, the times
 * in which threads did not run, and frames that were open before. */
#ifndef TTP_FILTERED_OUT_H
#define TTP_FILTERED_OUT_H

#include <tracetape/calls.h>
#include <tracetape/copy.h>

#include "base/region.h"
#include "writer/events/copy_writer.h"

struct ttp_filtered_stream {
    struct ttp_growing frames;       /* ttape_open_frame: kept ones, open where the stream begins */
    uint64_t first_number, start_ns; /* of the stream in the trace */
    uint64_t event_count;
    uint64_t elapsed_ns, preempted_ns, blocked_ns, unknown_ns; /* since the last that was kept */
    uint32_t start_stack;
    bool is_known; /* switches are */
};

struct ttp_filtered_out {
    ttape_writer *writer;
    ttape_copier *copier;
    ttape_reader *reader;
    struct ttp_filtered_stream *streams; /* by the reader's numbers */
    uint32_t stream_count;
};

ttape_status ttp_filtered_open(struct ttp_filtered_out *out, ttape_writer *writer,
                               ttape_reader *reader, struct ttp_region *region, ttape_error *err);
void ttp_filtered_close(struct ttp_filtered_out *out);
/* Time passes in a stream: the step's. */
void ttp_filtered_pass(struct ttp_filtered_out *out, const ttape_call_step *step);
/* A frame that is open where the stream begins; that it does, there. */
ttape_status ttp_filtered_found(struct ttp_filtered_out *out, const ttape_call *call,
                                ttape_error *err);
void ttp_filtered_start(struct ttp_filtered_out *out, const ttape_call_step *step);
ttape_status ttp_filtered_put(struct ttp_filtered_out *out, uint32_t stream,
                              const ttape_event *event, const ttape_value *values, uint32_t count,
                              ttape_error *err);

#endif
