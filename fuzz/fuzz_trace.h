/* Targets that read whole traces: what stands in front of the trace, and what all of them do first.
 */
#ifndef FUZZ_TRACE_H
#define FUZZ_TRACE_H

#include <tracetape/recover.h>

#include "fuzz_read.h"

/* Parameters of every such target; the mutator leaves them together. */
#define FUZZ_PARAMETER_BYTES 16u

/* Trace number `which` of those that stand one behind the other; size 0: there are not so many. */
struct fuzz_input fuzz_trace_part(const uint8_t *data, size_t size, uint32_t which);

/* An input, taken apart. */
struct fuzz_trace {
    struct fuzz_input parameters; /* what the reader's options left */
    struct fuzz_memory memory;
    ttape_reader_options options;
    ttape_source source;
};
/* False where the input has no trace in it. */
bool fuzz_trace_open(struct fuzz_trace *trace, const uint8_t *data, size_t size);
void fuzz_trace_close(struct fuzz_trace *trace);

/* Opens the trace; NULL when it cannot be opened, with a proper error then. */
ttape_reader *fuzz_trace_read(struct fuzz_trace *trace);

/* Opens an input's trace for `ask`, which may take `memory_bytes` besides its reader. */
void fuzz_trace_ask(const uint8_t *data, size_t size, uint64_t memory_bytes,
                    void (*ask)(ttape_reader *reader, struct fuzz_input *parameters));

/* What a command line can name, and how much a verb that prints every event has to do. */
#define FUZZ_PRINTED_EVENTS 10000u
struct fuzz_look {
    uint64_t event_count; /* as the trace says, 0 where it cannot be opened */
    const char *symbol;   /* of a site, "main" where there is none; of fuzz_take */
};
struct fuzz_look fuzz_trace_look(struct fuzz_input trace, uint32_t site);

/* Findings of verify, of memory and limits apart: the trace's own. */
uint64_t fuzz_trace_verify(const ttape_source *source, const ttape_reader_options *options);

/* What recovery tells of a piece: a fate and a kind that there are, and why where it is lost. */
void fuzz_require_piece(const ttape_recover_piece *piece);

#endif
