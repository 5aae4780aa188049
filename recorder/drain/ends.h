/* Ends of threads and processes, as the draining thread finds them. */
#ifndef TTP_WRITER_RECORDING_DRAIN_ENDS_H
#define TTP_WRITER_RECORDING_DRAIN_ENDS_H

#include "recorder/state/recording_internal.h"

/* What is to be said behind the block's records; false: nothing. */
bool ttp_end_find(struct ttp_drain *d, const struct ttp_candidate *c, bool is_over, bool at_end,
                  struct ttp_end_word *word);
/* Adds it to the slot's records; false: there is no room. */
bool ttp_end_add(struct ttp_slot *slot, const struct ttp_end_word *word);
/* Makes the slot one that has only this; false: its thread may take that place. */
bool ttp_end_alone(struct ttp_slot *slot, const struct ttp_end_word *word);
/* The end of a thread comes when it has no block; it was told after all. */
void ttp_end_later(struct ttp_drain *d, const struct ttp_block_head *last, bool is_done);
void ttp_end_told(struct ttp_drain *d, uint64_t serial);
void ttp_ends_follow(struct ttp_drain *d); /* their processes are looked at */
/* Makes d->slot the next such end; false: there is none. */
bool ttp_end_next(struct ttp_drain *d, bool checks_threads, bool at_end);

#endif
