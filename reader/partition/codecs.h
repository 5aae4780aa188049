/* The one file where reader/ calls the order and time codecs of format/. */
#ifndef TTP_READER_CODECS_H
#define TTP_READER_CODECS_H

#include "base/task.h"
#include "format/chain/chain_calls.h"
#include "format/times/times.h"
#include "reader/partition/section_reader.h"

/* Decodes the partition's order, whatever its form; errors have file offsets. */
ttape_status ttp_codecs_order(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                              struct ttp_order_out *out, ttape_error *err);

/* Counts the calls of a partition whose order is of the full form; `out` needs no codes. */
ttape_status ttp_codecs_calls(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                              struct ttp_order_out *out, struct ttp_chain_call_sink to,
                              ttape_error *err);

/* Lists the chains of a partition; the raw form has none. `out` needs no codes. */
ttape_status ttp_codecs_chains(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                               struct ttp_order_out *out, struct ttp_order_chain_sink to,
                               ttape_error *err);

/* Opens p->times, whatever its form: the two below need it. */
ttape_status ttp_codecs_times_open(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                   ttape_error *err);
/* Ticks before every block's first event, from the base of its segment, and the rule that says so.
 * */
ttape_status ttp_codecs_times_directory(const struct ttp_loaded *p, int64_t *ticks,
                                        const char **rule, ttape_error *err);
/* Decodes the times of the blocks [first, end); io->wide gets just theirs. What was made for this
 * is kept for other blocks, in p->times_decoder. */
ttape_status ttp_codecs_times(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                              struct ttp_times *io, uint32_t first, uint32_t end, ttape_error *err);
/* Opens the decoder, where that takes long. A failure is found again when times are asked for. */
void ttp_codecs_times_ready(struct ttp_trace_decoder *d, struct ttp_loaded *p);
/* The same beside the caller, with jobs; it must end before anything else is done about times. */
struct ttp_times_opening {
    struct ttp_task task;
    struct ttp_times io;
    const struct ttp_content *content;
    struct ttp_workspace workspace; /* without memory nothing is being done */
    ttape_status status;
};
void ttp_codecs_times_begin(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                            struct ttp_times_opening *o);
void ttp_codecs_times_end(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                          struct ttp_times_opening *o);
/* True for a form that has to decode all blocks before those that are wanted. */
bool ttp_codecs_times_from_start(const struct ttp_loaded *p);
void ttp_codecs_times_close(struct ttp_trace_decoder *d, struct ttp_loaded *p);

#endif
