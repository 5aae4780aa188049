/* From a partition's stored sections to codes, times and values in memory. */
#ifndef TTP_READER_PARTITION_DECODER_H
#define TTP_READER_PARTITION_DECODER_H

#include "format/chain/chain_calls.h"
#include "reader/partition/section_reader.h"

/* Each fills the fields of *p that the next stage has. On failure those of that stage may be partly
 * filled: ttp_loaded_drop frees them. */
ttape_status ttp_loaded_read_light(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                   ttape_error *err);
/* Of the light sections only segments and start frames, once the head is read: models have no
 * more. */
ttape_status ttp_loaded_read_segments(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                      ttape_error *err);
ttape_status ttp_loaded_prepare(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                ttape_error *err);
/* The first step of ttp_loaded_prepare: codes and symbols. */
ttape_status ttp_loaded_read_order(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                   ttape_error *err);
/* Of a partition at any stage; at LIGHT, whoever reads them drops them. */
ttape_status ttp_loaded_read_switches(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                      ttape_error *err);
void ttp_loaded_drop_switches(struct ttp_memory *m, struct ttp_loaded *p);
ttape_status ttp_loaded_read_values(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                    ttape_error *err);
/* Of a partition at LIGHT, for who needs no times; ttp_loaded_drop to LIGHT frees what they fill.
 * Codes, symbols and views, all checked, and open stacks. */
ttape_status ttp_loaded_check_untimed(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                      ttape_error *err);
/* Symbols and views, and the calls of an order with chains, counted. */
bool ttp_loaded_has_chains(const struct ttp_loaded *p);
ttape_status ttp_loaded_count_calls(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                    struct ttp_chain_call_sink to, ttape_error *err);
/* At stage ORDER or behind it: the chains that the order is made of. */
ttape_status ttp_loaded_list_chains(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                    struct ttp_order_chain_sink to, ttape_error *err);
/* Within stage ORDER: times and checks of a range. */
ttape_status ttp_loaded_extend(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                               const struct ttp_range *range, ttape_error *err);
/* From stage ORDER to EVENTS. */
ttape_status ttp_loaded_complete(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                 ttape_error *err);
bool ttp_loaded_covers(const struct ttp_loaded *p, const struct ttp_range *range);
/* Frees everything behind `stage` (0: everything but *p itself). */
void ttp_loaded_drop(struct ttp_trace_decoder *d, struct ttp_loaded *p, int stage);

/* Verifies what the codes up to event `end` do to the stacks, and notes checkpoints and specials.
 * Goes on where it left
 * off. */
ttape_status ttp_loaded_check_open(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                   ttape_error *err);
ttape_status ttp_loaded_check(struct ttp_trace_decoder *d, struct ttp_loaded *p, uint32_t end,
                              ttape_error *err);

/* The first wide difference at or behind an event. */
uint32_t ttp_loaded_wide_from(const struct ttp_loaded *p, uint32_t event);
/* Whether all differences of its ticks, which durations of its summary are, fit 64 bits in
 * nanoseconds; it has times. */
bool ttp_loaded_durations_fit(const struct ttp_loaded *p);

/* What codes mean, as a table: loaded->views. */
ttape_status ttp_loaded_make_views(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                   ttape_error *err);

#endif
