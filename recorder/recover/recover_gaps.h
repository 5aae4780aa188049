/* Marking what a damaged trace has lost, stream by stream, in the trace that is made of it. */
#ifndef TTP_LIBTRACE_RECOVER_GAPS_H
#define TTP_LIBTRACE_RECOVER_GAPS_H

#include <tracetape/copy.h>

#include "answers/check/salvage.h"
#include "writer/growing.h"

/* How far a stream has come in the output. */
struct ttp_gap_stream {
    uint64_t next;               /* the number behind its last kept event */
    uint32_t losses;             /* lost chunks before that event's partition */
    uint32_t partition, segment; /* its last ones; TTAPE_NONE: none yet */
};

/* What is known of a file beside what is in it. */
struct ttp_gap_facts {
    /* Where a stream (file-wide) ends: the number behind its last event, whose time that is. False:
     * not known. NULL: of none. */
    bool (*find_end)(void *context, uint32_t stream, uint64_t *number, uint64_t *time_ns);
    void *context;
    bool begins;      /* it is the first of its trace: streams begin at number 0 */
    bool lost_before; /* pieces of the trace before it have losses */
};

/* Sums over what was written. */
struct ttp_gap_sums {
    uint64_t gap_count, lost_events;
    uint64_t uncounted; /* gaps and losses of which nothing tells how many events they are */
};

struct ttp_gaps {
    const struct ttp_salvage *s;
    const struct ttp_gap_facts *facts;
    ttape_writer *writer;
    ttape_copier *copier;
    struct ttp_growing streams; /* struct ttp_gap_stream, by file-wide number */
    struct ttp_growing order;   /* uint32_t: s->lost by stream and number */
    struct ttp_growing frames;  /* ttape_open_frame */
    struct ttp_growing counted; /* uint32_t, by loss: more gaps begin than end to speak for it */
    struct ttp_gap_sums sums;
};

/* facts: NULL, or for as long as the gaps are. */
ttape_status ttp_gaps_open(struct ttp_gaps *g, const struct ttp_salvage *s, ttape_writer *writer,
                           ttape_copier *copier, const struct ttp_gap_facts *facts,
                           ttape_error *err);
/* To be called before a partition is copied: writes what is missing before it. */
ttape_status ttp_gaps_before(struct ttp_gaps *g, uint32_t partition, ttape_error *err);
/* And behind the last partition: what is known to be missing at the streams' ends. */
ttape_status ttp_gaps_at_end(struct ttp_gaps *g, ttape_error *err);
void ttp_gaps_close(struct ttp_gaps *g);

#endif
