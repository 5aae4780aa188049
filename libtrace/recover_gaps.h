/* Marking what a damaged trace has lost, stream by stream, in the trace that is made of it. */
#ifndef TTP_LIBTRACE_RECOVER_GAPS_H
#define TTP_LIBTRACE_RECOVER_GAPS_H

#include <tracetape/copy.h>

#include "reader/salvage.h"
#include "writer/growing.h"

/* How far a stream has come in the output. */
struct ttp_gap_stream {
    uint64_t next;               /* the number behind its last kept event */
    uint32_t losses;             /* lost chunks before that event's partition */
    uint32_t partition, segment; /* its last ones; TTAPE_NONE: none yet */
};

struct ttp_gaps {
    const struct ttp_salvage *s;
    ttape_writer *writer;
    ttape_copier *copier;
    struct ttp_growing streams; /* struct ttp_gap_stream, by file-wide number */
    struct ttp_growing order;   /* uint32_t: s->lost by stream and number */
    struct ttp_growing frames;  /* ttape_open_frame */
    uint64_t gap_count;
};

ttape_status ttp_gaps_open(struct ttp_gaps *g, const struct ttp_salvage *s, ttape_writer *writer,
                           ttape_copier *copier, ttape_error *err);
/* To be called before a partition is copied: writes what is missing before it. */
ttape_status ttp_gaps_before(struct ttp_gaps *g, uint32_t partition, ttape_error *err);
/* And behind the last partition: what is known to be missing at the streams' ends. */
ttape_status ttp_gaps_at_end(struct ttp_gaps *g, ttape_error *err);
void ttp_gaps_close(struct ttp_gaps *g);

#endif
